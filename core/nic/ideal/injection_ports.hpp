// SPDX-License-Identifier: Apache-2.0
// By which of an endpoint's ports an ideal interface hands over its packets, where the endpoint has several rails.
//
// A rail has a port and a queue of its own at each endpoint, and a packet waits in that of its pair's rail: whoever
// waits holds up nobody who goes by another rail. Where routing spreads the packets of a pair over the rails
// (Routing::spreads) there is one queue, whose packets take the ports in turn, whether or not another one has space:
// which one has it first within an instant must not matter.
#pragma once

#include <cstdint>

#include "core/network/config.hpp"
#include "core/routing/routing.hpp"
#include "core/topology/rails.hpp"

namespace exanet {

class InjectionPorts {
 public:
  InjectionPorts(const Topology& topology, const RouterConfig& router)
      : topology_(topology),
        rails_(topology.rails()),
        each_(static_cast<std::uint32_t>(router.intra_ports)),
        spreads_(rails_ > 1 && topology.routing() != nullptr && topology.routing()->spreads()) {}

  std::uint32_t queues() const { return spreads_ ? 1 : rails_; }  // of an endpoint
  std::uint32_t queue_of(NodeId src, NodeId dst) const { return queues() == 1 ? 0 : rail_of(topology_, src, dst); }
  // Whether all packets of a pair enter, and leave, by the same port.
  bool one_for_a_pair() const { return !spreads_; }
  // The queue that waits for this port.
  std::uint32_t queue_at(std::uint8_t intra_port) const { return queues() == 1 ? 0 : intra_port / each_; }

  // Of a queue's next packet. `turn` counts the rails' turns in that queue.
  std::uint8_t port(std::uint32_t queue, std::uint32_t turn) const {
    return static_cast<std::uint8_t>((queue + turn) * each_);
  }
  void pass(std::uint32_t& turn) const {
    if (spreads_) turn = (turn + 1) % rails_;
  }

 private:
  const Topology& topology_;
  std::uint32_t rails_, each_;
  bool spreads_;
};

}  // namespace exanet
