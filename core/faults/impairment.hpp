// SPDX-License-Identifier: Apache-2.0
// What happens to packets on their last stretch to a node's interface: wrong bits, a second copy, or a delay in which
// later packets overtake.
//
// Problem: which packets are concerned must not depend on what else is drawn. Model: each packet that arrives while a
// node is impaired has a number, and its fate is a function of the seed, the node and that number. A packet has one of
// the three fates, or none. Limits: fates are independent of each other; the copy comes right behind the packet.
#pragma once

#include <cstdint>

#include "core/engine/random.hpp"
#include "core/units/time.hpp"

namespace exanet {

struct Impairment {
  double corrupted = 0, duplicated = 0, reordered = 0;  // shares of packets; together at most 1
  Time delay;  // of reordered ones
  std::uint64_t seed = 1;

  bool any() const { return corrupted > 0 || duplicated > 0 || reordered > 0; }
};

// Packets that the first leaves as they are meet the second. Both delay by the longer time, and draw from the seed of
// the first that impairs any.
inline Impairment either(const Impairment& a, const Impairment& b) {
  if (!a.any()) return b;
  const double left = 1 - a.corrupted - a.duplicated - a.reordered;
  return {a.corrupted + left * b.corrupted, a.duplicated + left * b.duplicated, a.reordered + left * b.reordered,
          max(a.delay, b.delay), a.seed};
}

enum class Fate : std::uint8_t { kNone, kCorrupted, kDuplicated, kReordered };

// A node to which packets come.
struct ImpairedNode {
  Impairment impairment;
  std::uint64_t arrived = 0;  // packets, while impaired

  // Of the next packet. `node`: its number.
  Fate draw(std::uint64_t node) {
    if (!impairment.any()) return Fate::kNone;
    Random random(impairment.seed, (node + 1) * 0xbf58476d1ce4e5b9u ^ arrived++);
    double left = random.unit();
    if ((left -= impairment.corrupted) < 0) return Fate::kCorrupted;
    if ((left -= impairment.duplicated) < 0) return Fate::kDuplicated;
    return left - impairment.reordered < 0 ? Fate::kReordered : Fate::kNone;
  }
};

}  // namespace exanet
