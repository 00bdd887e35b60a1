// SPDX-License-Identifier: Apache-2.0
// Can a routing function deadlock? Virtual cut-through with deterministic routing is free of deadlock exactly when the graph of channel
// dependencies has no cycle: its vertices are virtual channels of links, and an edge says that some packet holds the first while it asks
// for the second (Dally and Seitz 1987).
#pragma once

#include <functional>
#include <vector>

#include "core/topology/topology.hpp"

namespace exanet {

struct Channel {
  NodeId node;
  std::uint16_t port;
  std::uint8_t vc;
  bool operator==(const Channel&) const = default;
};

// A cycle of channels in the order of dependency, or nothing when there is none. `route` defaults to the topology's own next_hop().
// Looks at every pair of nodes: meant for up to some thousands of nodes.
std::vector<Channel> find_dependency_cycle(const Topology& topology, const std::function<Hop(NodeId, NodeId)>& route = {});

}  // namespace exanet
