// SPDX-License-Identifier: Apache-2.0
// The route of a packet that meets no other in the network.
#pragma once

#include "core/routing/routing.hpp"

namespace exanet {

// Calls visit(NodeId at, Hop hop) for each hop from `src` to `dst`; none when they are the same. `draw` is the packet's
// own, as in RouteRequest.
template <class Visit>
void zero_load_route(const Topology& topology, NodeId src, NodeId dst, std::uint32_t payload_words, std::uint64_t draw,
                     const Visit& visit) {
  class NoQueues final : public CongestionView {
   public:
    std::uint32_t queued_words(NodeId, std::uint16_t) const override { return 0; }
    std::uint32_t channel_words(NodeId, Hop) const override { return 0; }
    bool has_credit(NodeId, Hop) const override { return true; }
  };
  const Routing* routing = topology.routing();
  std::uint32_t state = 0;
  for (NodeId at = src; at != dst;) {
    const Hop hop = routing == nullptr ? topology.next_hop(at, dst)
                                       : routing->choose({at, dst, payload_words, draw}, state, NoQueues());
    visit(at, hop);
    at = topology.neighbour(at, hop.port).node;
  }
}

}  // namespace exanet
