// SPDX-License-Identifier: Apache-2.0
#include "core/topology/metrics.hpp"

#include <algorithm>
#include <vector>

namespace exanet {

Distances distances(const Topology& topology, std::uint32_t most_sources) {
  const NodeId nodes = topology.node_count(), endpoints = topology.endpoint_count();
  const std::uint32_t sources = std::min(endpoints, std::max(most_sources, 1u));
  Distances result;
  result.exact = sources == endpoints;
  std::uint64_t total = 0;
  std::vector<std::uint32_t> distance(nodes);
  std::vector<NodeId> reached;
  for (std::uint32_t i = 0; i < sources; ++i) {
    const auto source = static_cast<NodeId>(std::uint64_t{i} * endpoints / sources);
    std::fill(distance.begin(), distance.end(), UINT32_MAX);
    distance[source] = 0;
    reached.assign(1, source);
    for (std::size_t next = 0; next < reached.size(); ++next) {
      const NodeId node = reached[next];
      if (node < endpoints) {
        total += distance[node];
        result.diameter = std::max(result.diameter, distance[node]);
      }
      for (std::uint16_t port = 0; port < topology.port_count(node); ++port) {
        const NodeId other = topology.neighbour(node, port).node;
        if (other == kNoNode || distance[other] != UINT32_MAX) continue;
        distance[other] = distance[node] + 1;
        reached.push_back(other);
      }
    }
  }
  if (endpoints > 1) result.mean = static_cast<double>(total) / (static_cast<double>(sources) * (endpoints - 1));
  return result;
}

std::uint32_t hop_count(const Topology& topology, NodeId from, NodeId to) {
  std::uint32_t count = 0;
  for (NodeId at = from; at != to; ++count) at = topology.neighbour(at, topology.next_hop(at, to).port).node;
  return count;
}

std::uint64_t link_count(const Topology& topology) {
  std::uint64_t links = 0;
  for (NodeId n = 0; n < topology.node_count(); ++n)
    for (std::uint16_t p = 0; p < topology.port_count(n); ++p) links += topology.neighbour(n, p).node != kNoNode;
  return links;
}

std::uint64_t bisection_links(const Topology& topology) {
  std::uint64_t links = 0;
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    if (topology.upper_half(node)) continue;
    for (std::uint16_t port = 0; port < topology.port_count(node); ++port) {
      const NodeId other = topology.neighbour(node, port).node;
      links += other != kNoNode && topology.upper_half(other);
    }
  }
  return links;
}

}  // namespace exanet
