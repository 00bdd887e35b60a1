// SPDX-License-Identifier: Apache-2.0
// The processors of the gateways between two networks, and what waits for them.
//
// Problem: a gateway of ParaStation's kind is a process on a node with an interface in each network, which takes what
// comes by one and sends it by the other; what it costs limits what crosses. Model: each gateway has one processor for
// both directions. It takes messages, and fragments of transfers, in the order in which they come, each for a fixed
// time and for that of its bytes at the rate at which it copies. Source: the RED-SEA project's final report, section
// 10.3, which has no figures; those of a machine file are its author's.
//
// Limits: its memory holds all that waits. Its interfaces' costs are theirs (core/nic).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/nic/config.hpp"
#include "core/nic/gateway_use.hpp"
#include "core/units/time.hpp"

namespace exanet {

class Gateways {
 public:
  Gateways(const GatewayConfig& config, std::size_t count) : config_(config), gateways_(count) {}

  Time cost(std::uint64_t bytes) const {
    const double bits = static_cast<double>(bytes) * 8;
    return config_.message +
           Time::ps(static_cast<std::int64_t>(bits * 1e12 / static_cast<double>(config_.rate_bit_per_s)));
  }

  // Takes what has come from a network; returns when it is to be sent by the other one. Then done() is called.
  Time take(std::uint32_t number, std::uint32_t from, std::uint64_t bytes, Time now, bool zero_cost) {
    Gateway& gateway = gateways_[number];
    GatewayUse& use = gateway.use;
    use.most_queue = std::max(use.most_queue, ++gateway.queue);
    use.most_queue_bytes = std::max(use.most_queue_bytes, gateway.queue_bytes += bytes);
    if (zero_cost) return now;
    const Time begins = max(now, gateway.free), ends = begins + cost(bytes);
    gateway.free = ends;
    LinkStats& stats = (from == 0 ? use.from_first : use.from_second);
    ++stats.packets;
    stats.payload_bytes += bytes;
    stats.busy += ends - begins;
    stats.waited += begins - now;
    use.longest_wait = max(use.longest_wait, begins - now);
    return ends;
  }

  void done(std::uint32_t number, std::uint64_t bytes) {
    --gateways_[number].queue;
    gateways_[number].queue_bytes -= bytes;
  }

  // Bytes on their way to a gateway, or in it, of those that were promised to it.
  void promise(std::uint32_t number, std::uint64_t bytes) { gateways_[number].promised += bytes; }
  void passed(std::uint32_t number, std::uint64_t bytes) { gateways_[number].promised -= bytes; }
  // The one with the least before it; `first` among equals.
  std::uint32_t least_busy(std::uint32_t first) const {
    std::uint32_t best = first;
    for (std::uint32_t g = 0; g < gateways_.size(); ++g)
      if (gateways_[g].promised < gateways_[best].promised) best = g;
    return best;
  }

  const GatewayUse& use(std::uint32_t number) const { return gateways_[number].use; }
  std::size_t size() const { return gateways_.size(); }

 private:
  struct Gateway {
    GatewayUse use;
    std::uint64_t promised = 0, queue = 0, queue_bytes = 0;
    Time free;
  };
  const GatewayConfig config_;
  std::vector<Gateway> gateways_;
};

}  // namespace exanet
