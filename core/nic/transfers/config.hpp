// SPDX-License-Identifier: Apache-2.0
// Configures the transfers of the network interfaces as gateware/ni is built and as its registers say, and what they
// carry in packets.
#pragma once

#include <cstdint>

#include "core/network/config.hpp"
#include "core/nic/messages/cycle.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

// The intra-tile port of the router for packets of transfers; answers to them share that of messages' answers
// (kAnswerPort).
inline constexpr std::uint8_t kTransferPort = 2;
// Packets of transfers that are in the router, where one whose link is busy holds up those behind it (exanet_ni.sv:
// BlocksHeaders).
inline constexpr std::int16_t kTransferPackets = 12;
inline RouterConfig router_with_transfers(RouterConfig config) {
  config.shallow_port = kTransferPort;
  config.shallow_packets = kTransferPackets;
  return config;
}

struct TransfersConfig {
  Time cycle = Time::ps(6400);  // of the router's clock
  std::uint32_t channels = 256;  // of a node, four blocks each
  std::uint32_t timeout = 8;  // rounds of the blocks until one that is not answered is sent again
  std::uint32_t tries = 0;  // repetitions until it is given up; 0: for ever
  std::uint32_t kept_channels = 32;  // that serve other nodes' reads, and nothing else
  std::uint32_t read_timeout = 0;  // the end of a read is waited for in two to the power of this rounds; 0: for ever
  bool translate = false;  // addresses are those of protection domains (pages.hpp)
  std::uint32_t fault_tries = 0;  // how often a block comes again whose page is not to be used
  Cycle begins = 0;  // the tables are clear from this cycle on, and rounds are counted
  Cycle memory_read = 1;  // a read's address to its first beat
  Cycle memory_answer = 1;  // a write's last beat to memory's answer

  std::uint32_t slots() const { return 4 * channels; }
};

// As nack_reason of spec/packet.yaml, of those that an interface gives.
enum class TransferEnding : std::uint8_t { kWhole = 0, kSilent = 5, kUnmapped = 8, kReadOnly = 9 };

// What a block has come to at its target: kBusy is a request's alone.
enum class BlockOutcome : std::uint8_t { kGood, kBusy, kUnmapped, kReadOnly };
inline BlockOutcome outcome_of(TransferEnding fault) {
  return fault == TransferEnding::kUnmapped   ? BlockOutcome::kUnmapped
         : fault == TransferEnding::kReadOnly ? BlockOutcome::kReadOnly
                                              : BlockOutcome::kGood;
}

// What a packet of a transfer says beside source, destination and length; carried in Packet::user, whose two top bits
// stay 0.
enum class WriteKind : std::uint8_t { kWrite, kReadRequest, kReadResponse };
struct WriteWord {
  std::uint32_t number;  // of its block, 24 bits
  std::uint32_t slot;  // of its block at the sender, 10 bits
  std::uint32_t index;  // which packet of its 4 KiB it is, 3 bits
  std::uint32_t place;  // which packets its block has, or which blocks a fence is behind, 16 bits
  bool final_packet;
  std::uint32_t shift;  // of its first byte in a line of memory, 4 bits
  WriteKind kind = WriteKind::kWrite;
  TransferEnding failure = TransferEnding::kWhole;  // what a ReadResponse says

  // As block_place and fence_place of spec/packet.yaml.
  static constexpr std::uint32_t kFence = 1u << 15;
  static std::uint32_t place_of(std::uint32_t first, std::uint32_t last) { return first | last << 3; }
  bool fence() const { return (place & kFence) != 0; }
  std::uint32_t first() const { return fence() ? index : place & 7; }
  std::uint32_t last() const { return fence() ? index : place >> 3 & 7; }
  // By how much the number of a block is behind that of the fence, for each of three; 0: none.
  std::uint32_t behind(unsigned i) const { return place >> 5 * i & 31; }

  std::uint64_t packed() const {
    return number | std::uint64_t{slot} << 24 | std::uint64_t{index} << 34 | std::uint64_t{place} << 37 |
           std::uint64_t{final_packet} << 53 | std::uint64_t{shift} << 54 | static_cast<std::uint64_t>(kind) << 58 |
           std::uint64_t{code_of(failure)} << 60;
  }
  static WriteWord unpack(std::uint64_t word) {
    const auto bits = [word](int from, std::uint32_t mask) { return static_cast<std::uint32_t>(word >> from) & mask; };
    return {bits(0, 0xffffff),
            bits(24, 0x3ff),
            bits(34, 7),
            bits(37, 0xffff),
            bits(53, 1) != 0,
            bits(54, 15),
            WriteKind{static_cast<std::uint8_t>(bits(58, 3))},
            kEndings[bits(60, 3)]};
  }

 private:
  static constexpr TransferEnding kEndings[] = {TransferEnding::kWhole, TransferEnding::kSilent,
                                                TransferEnding::kUnmapped, TransferEnding::kReadOnly};
  static std::uint32_t code_of(TransferEnding ending) {
    std::uint32_t code = 0;
    while (kEndings[code] != ending) ++code;
    return code;
  }
};

// What the answer to a block says.
struct BlockAnswer {
  std::uint32_t number, slot;
  BlockOutcome outcome = BlockOutcome::kGood;

  std::uint64_t packed() const {
    return number | std::uint64_t{slot} << 24 | static_cast<std::uint64_t>(outcome) << 34;
  }
  static BlockAnswer unpack(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word & 0xffffff), static_cast<std::uint32_t>(word >> 24 & 0x3ff),
            BlockOutcome{static_cast<std::uint8_t>(word >> 34 & 3)}};
  }
};

}  // namespace exanet
