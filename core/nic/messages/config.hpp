// SPDX-License-Identifier: Apache-2.0
// Configures the messages of the network interfaces as gateware/ni is built and as its registers say, and what they
// carry in packets.
#pragma once

#include <cstdint>

#include "core/nic/messages/cycle.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

// The intra-tile ports of the router for messages, and for answers to them, which have priority.
inline constexpr std::uint8_t kMessagePort = 0, kAnswerPort = 1;

struct MessagesConfig {
  Time cycle = Time::ps(6400);  // of the router's clock
  std::uint32_t contexts = 256;  // of a node, four slots each
  std::uint32_t timeout = 16;  // rounds of the slots until a message that is not answered is sent again
  std::uint32_t tries = 0;  // repetitions until it is given up; 0: for ever
  Cycle begins = 0;  // the tables are clear from this cycle on, and rounds are counted
  Cycle memory_answer = 1;  // an entry's last beat to the cycle in which memory answers

  std::uint32_t slots() const { return 4 * contexts; }
};

// As nack_reason of spec/packet.yaml, of those that an interface gives.
enum class MessageAnswer : std::uint8_t {
  kStored = 0,
  kFull = 1,
  kClosed = 2,
  kDomain = 3,
  kSilent = 5,
  kUnmapped = 8,
  kReadOnly = 9
};

// What a message's packet, and its answer's, say beside source and destination; carried in Packet::user, whose two top
// bits stay 0.
struct MessageWord {
  std::uint32_t number;  // 24 bits
  std::uint32_t slot;  // of its sender, 10 bits
  std::uint32_t mailbox;  // 16 bits; of an answer what it says
  std::uint32_t pdid;  // 10 bits

  std::uint64_t packed() const {
    return number | std::uint64_t{slot} << 24 | std::uint64_t{mailbox} << 34 | std::uint64_t{pdid} << 50;
  }
  static MessageWord unpack(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word & 0xffffff), static_cast<std::uint32_t>(word >> 24 & 0x3ff),
            static_cast<std::uint32_t>(word >> 34 & 0xffff), static_cast<std::uint32_t>(word >> 50 & 0x3ff)};
  }
};

}  // namespace exanet
