// SPDX-License-Identifier: Apache-2.0
// Configures the reduction units as gateware/ni is built and as its registers say, and what they carry in packets.
#pragma once

#include <array>
#include <cstdint>

#include "core/nic/messages/cycle.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

inline constexpr std::uint32_t kReductionTrees = 16, kReductionBranches = 8, kReductionBytes = 512;

struct ReductionsConfig {
  Time cycle = Time::ps(6400);  // of the router's clock
  std::uint8_t port = 3;  // intra-tile, of the router
  std::uint32_t timeout = 16;  // rounds of 256 cycles until a part is sent again; 0: never
  std::uint32_t limit = 0;  // rounds until a reduction has failed; 0: it waits for ever
  Cycle memory_answer = 1;  // a result's last beat to memory's answer
};

// As nack_reason of spec/packet.yaml, of those that a reduction ends with.
enum class ReductionEnding : std::uint8_t { kWhole = 0, kSilent = 5, kMismatch = 7 };

// As reduce_operation and reduce_type there.
struct ReductionShape {
  std::uint8_t operation, element;
  std::uint16_t bytes;
  bool operator==(const ReductionShape&) const = default;
  bool legal() const {
    const bool wide = element == 1 || element == 3 || element == 5, is_float = element >= 4;
    return bytes <= kReductionBytes && bytes % (wide ? 8 : 4) == 0 && element <= 5 && operation <= (is_float ? 2 : 5);
  }
};

// A node's place in a tree, as the kernel writes it.
struct ReductionPlace {
  struct Neighbour {
    NodeId node;
    std::uint8_t tree;  // its number there
    std::uint8_t branch;  // of the node above: which of its branches this one is
  };
  std::uint8_t epoch = 0;
  std::uint8_t branches = 0, locals = 0;  // a bit each
  bool root = false;
  std::array<Neighbour, kReductionBranches> below{};
  Neighbour above{};

  std::uint8_t remote() const { return branches & static_cast<std::uint8_t>(~locals); }
};

// What a packet of a reduction says beside source and destination; carried in Packet::user, whose two top bits stay 0.
struct ReductionWord {
  std::uint32_t number;  // 24 bits: the tree's epoch, and its round
  std::uint8_t tree, branch;
  bool result;
  std::uint8_t reason;
  ReductionShape shape;

  std::uint64_t packed() const {
    return number | std::uint64_t{tree} << 24 | std::uint64_t{branch} << 28 | std::uint64_t{result} << 31 |
           std::uint64_t{reason} << 32 | std::uint64_t{shape.operation} << 36 | std::uint64_t{shape.element} << 39 |
           std::uint64_t{shape.bytes} << 42;
  }
  static ReductionWord unpack(std::uint64_t word) {
    const auto bits = [word](int from, std::uint32_t mask) { return static_cast<std::uint32_t>(word >> from) & mask; };
    return {bits(0, 0xffffff),
            static_cast<std::uint8_t>(bits(24, 15)),
            static_cast<std::uint8_t>(bits(28, 7)),
            bits(31, 1) != 0,
            static_cast<std::uint8_t>(bits(32, 15)),
            {static_cast<std::uint8_t>(bits(36, 7)), static_cast<std::uint8_t>(bits(39, 7)),
             static_cast<std::uint16_t>(bits(42, 1023))}};
  }
};

}  // namespace exanet
