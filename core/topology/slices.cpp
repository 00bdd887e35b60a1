// SPDX-License-Identifier: Apache-2.0
#include "core/topology/slices.hpp"

#include <stdexcept>

namespace exanet {

namespace {

constexpr std::uint32_t kMostParts = 64;

}  // namespace

std::vector<std::vector<NodeId>> levels(const Topology& topology) {
  std::vector<std::vector<NodeId>> found(1);
  std::vector<bool> seen(topology.node_count(), false);
  for (NodeId node = 0; node < topology.endpoint_count(); ++node) found[0].push_back(node), seen[node] = true;
  for (std::size_t level = 0; !found[level].empty(); ++level) {
    std::vector<bool> next(topology.node_count(), false);
    for (const NodeId node : found[level])
      for (std::uint16_t port = 0; port < topology.port_count(node); ++port) {
        const NodeId far = topology.neighbour(node, port).node;
        if (far != kNoNode && !seen[far]) next[far] = seen[far] = true;
      }
    found.emplace_back();
    for (NodeId node = topology.endpoint_count(); node < topology.node_count(); ++node)
      if (next[node]) found.back().push_back(node);
  }
  for (NodeId node = 0; node < topology.node_count(); ++node)
    if (!seen[node]) found.back().push_back(node);
  return found;
}

std::vector<std::uint8_t> slices(const Topology& topology, std::uint32_t parts) {
  const std::uint32_t most = topology.endpoint_count() < kMostParts ? topology.endpoint_count() : kMostParts;
  if (parts < 1 || parts > most)
    throw std::invalid_argument(std::to_string(parts) + " threads: give from 1 to " + std::to_string(most) +
                                " for this machine of " + std::to_string(topology.endpoint_count()) + " endpoints");
  std::vector<std::uint8_t> part_of(topology.node_count(), 0);
  if (parts == 1) return part_of;
  for (const std::vector<NodeId>& level : levels(topology))
    for (std::size_t i = 0; i < level.size(); ++i)
      part_of[level[i]] = static_cast<std::uint8_t>(i * parts / level.size());
  return part_of;
}

}  // namespace exanet
