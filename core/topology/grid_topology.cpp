// SPDX-License-Identifier: Apache-2.0
// Answers for meshes and tori: ports by arithmetic on coordinates (Grid), routes by DimensionOrder, copies to several
// nodes by core/topology/multicast.hpp.
#include "core/topology/grid_topology.hpp"

#include <algorithm>

#include "core/topology/multicast.hpp"
#include "core/topology/registry.hpp"

namespace exanet {

GridTopology::GridTopology(const std::vector<std::uint32_t>& shape, bool wraps, const std::vector<std::uint32_t>& order,
                           bool both_channels)
    : wraps_(wraps),
      channels_(both_channels ||
                        (wraps && std::any_of(shape.begin(), shape.end(), [](std::uint32_t side) { return side > 3; }))
                    ? 2
                    : 1),
      order_(order),
      grid_(shape, wraps, kMostNodes),
      routing_(shape, wraps, order) {}

std::vector<std::unique_ptr<Topology>> GridTopology::miniatures() const {
  std::vector<std::unique_ptr<Topology>> made;
  for (std::uint32_t d = 0; d < grid_.dimensions(); ++d) {
    std::vector<std::uint32_t> shape = grid_.shape();
    for (std::uint32_t other = 0; other < grid_.dimensions(); ++other)
      if (other != d) shape[other] = std::min(shape[other], 2u);
    made.push_back(std::make_unique<GridTopology>(shape, wraps_, order_));
  }
  return made;
}

PortRef GridTopology::neighbour(NodeId node, std::uint16_t port) const {
  const std::uint32_t other = grid_.neighbour(node, port);
  if (other == Grid::kNone) return {};
  return {other, static_cast<std::uint16_t>(port ^ 1u)};
}

Hop GridTopology::next_hop(NodeId at, NodeId dst) const {
  const GridStep step = routing_.next(grid_.coordinates(at), grid_.coordinates(dst));
  return {static_cast<std::uint16_t>(2 * step.dimension + (step.plus ? 0 : 1)),
          static_cast<std::uint8_t>(step.vc & (channels_ - 1u))};
}

Copies GridTopology::copies(NodeId at, std::uint16_t from, NodeId src, NodeId box) const {
  Copies copies;
  copies.here = from != kFromInterface;
  routing_.add_copies(grid_.coordinates(at), grid_.coordinates(src), box, from, 0, copies);
  if (channels_ == 1) copies.channels = 0;
  return copies;
}

NodeId GridTopology::multicast_to(NodeId src, const std::vector<NodeId>& members) {
  std::uint32_t hops[kBoxDimensions] = {};
  for (const NodeId node : members) routing_.widen_box(grid_.coordinates(src), grid_.coordinates(node), hops);
  return multicast_box(hops[0], hops[1], hops[2]);
}

namespace topologies {

TopologyKind mesh() {
  return {.name = "mesh",
          .help = "a mesh of any number of dimensions",
          .shape = "[nodes in each dimension, ...]",
          .links = {"link"},
          .samples = {{{4, 5}}, {{1}}, {{2, 2}}, {{5, 1, 3}}, {{4, 3, 2}, {0, 2, 1}}},
          .make = [](const TopologySpec& s) -> std::unique_ptr<Topology> {
            return std::make_unique<GridTopology>(s.shape, false, s.order, s.both_channels || !s.disabled.empty());
          },
          .ordered = true};
}

TopologyKind torus() {
  return {.name = "torus",
          .help = "a torus of any number of dimensions",
          .shape = "[nodes in each dimension, ...]",
          .links = {"link"},
          .samples = {{{4, 4, 4}},
                      {{5, 3}},
                      {{2, 6}},
                      {{7}},
                      {{8}},
                      {{2, 2, 2, 2}},
                      {{3, 4, 2, 2, 2}},
                      {{16, 12}},
                      {{4, 6, 5}, {1, 0, 2}}},
          .make = [](const TopologySpec& s) -> std::unique_ptr<Topology> {
            return std::make_unique<GridTopology>(s.shape, true, s.order, s.both_channels || !s.disabled.empty());
          },
          .ordered = true};
}

}  // namespace topologies

}  // namespace exanet
