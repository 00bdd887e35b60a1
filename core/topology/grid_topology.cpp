// SPDX-License-Identifier: Apache-2.0
#include "core/topology/grid_topology.hpp"

namespace exanet {

GridTopology::GridTopology(const std::vector<std::uint32_t>& shape, bool wraps, const std::vector<std::uint32_t>& order)
    : grid_(shape, wraps, kMostNodes), routing_(shape, wraps, order) {}

PortRef GridTopology::neighbour(NodeId node, std::uint16_t port) const {
  const std::uint32_t other = grid_.neighbour(node, port);
  if (other == Grid::kNone) return {};
  return {other, static_cast<std::uint16_t>(port ^ 1u)};
}

Hop GridTopology::next_hop(NodeId at, NodeId dst) const {
  const GridStep step = routing_.next(grid_.coordinates(at), grid_.coordinates(dst));
  return {static_cast<std::uint16_t>(2 * step.dimension + (step.plus ? 0 : 1)), step.vc};
}

}  // namespace exanet
