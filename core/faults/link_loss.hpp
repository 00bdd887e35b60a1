// SPDX-License-Identifier: Apache-2.0
// Links that lose packets one by one, by a share of packets or by a bit-error rate.
//
// Problem: which packets are lost must not depend on threads, or on what else is drawn. Model: each packet that a link
// carries while it is lossy has a number, and is lost or not by a function of the seed, the link and that number. A
// wrong bit anywhere in a packet loses all of it, as its check at the next router would. Limits: losses are independent
// of each other; control words and credits of the line are never lost.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/engine/random.hpp"

namespace exanet {

struct LinkLoss {
  double packets = 0;  // share of packets that are lost
  double bits = 0;  // bit-error rate
  std::uint64_t seed = 1;

  bool any() const { return packets > 0 || bits > 0; }
};

// What either loses, drawn from the seed of the first that loses any.
inline LinkLoss either(const LinkLoss& a, const LinkLoss& b) {
  if (!a.any()) return b;
  return {a.packets + (1 - a.packets) * b.packets, a.bits + (1 - a.bits) * b.bits, a.seed};
}

// One direction of a link.
struct LossyLink {
  LinkLoss loss;
  std::uint64_t sent = 0;  // packets, while lossy

  // Whether the next packet, of so many bits, is lost. `line`: a number of the direction.
  bool loses(std::uint64_t line, std::uint32_t packet_bits) {
    if (!loss.any()) return false;
    Random random(loss.seed, (line + 1) * 0x9e3779b97f4a7c15u ^ sent++);
    const double whole = (1 - loss.packets) * std::pow(1 - loss.bits, packet_bits);
    return random.unit() >= whole;
  }
};

}  // namespace exanet
