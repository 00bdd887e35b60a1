// SPDX-License-Identifier: Apache-2.0
// Answers for a torus of QFDBs: the full mesh inside by arithmetic on F1 to F4, the torus between the F1 by
// DimensionOrder. Sources: qfdb_torus.hpp.
#include "core/topology/qfdb_torus.hpp"

#include <stdexcept>

#include "core/topology/multicast.hpp"
#include "core/topology/registry.hpp"

namespace exanet {

namespace {

const std::vector<std::uint32_t>& three_sides(const std::vector<std::uint32_t>& shape) {
  if (shape.size() != 3)
    throw std::invalid_argument(
        "qfdb-torus needs three sides, the number of QFDBs in x, y and z, e.g. [4, 4, 2]; use 1 for a dimension "
        "that has no links");
  return shape;
}

}  // namespace

QfdbTorus::QfdbTorus(const std::vector<std::uint32_t>& shape, const std::vector<std::uint32_t>& order)
    : qfdbs_(three_sides(shape), true, kMostNodes / kPerQfdb), routing_(shape, true, order) {}

PortRef QfdbTorus::neighbour(NodeId node, std::uint16_t port) const {
  const std::uint32_t qfdb = node / kPerQfdb, f = node % kPerQfdb;
  if (port < kMeshPorts) {
    const std::uint32_t other = beyond_mesh_port(f, port);
    return {qfdb * kPerQfdb + other, mesh_port_to(other, f)};
  }
  const std::uint32_t torus_port = port - kMeshPorts, other = qfdbs_.neighbour(qfdb, torus_port);
  if (other == Grid::kNone) return {};
  return {other * kPerQfdb, static_cast<std::uint16_t>(kMeshPorts + (torus_port ^ 1u))};
}

Hop QfdbTorus::next_hop(NodeId at, NodeId dst) const {
  const std::uint32_t here = at / kPerQfdb, there = dst / kPerQfdb, f = at % kPerQfdb;
  if (here != there && f == 0) {
    const GridStep step = routing_.next(qfdbs_.coordinates(here), qfdbs_.coordinates(there), dst % kPerQfdb);
    return {static_cast<std::uint16_t>(kMeshPorts + 2 * step.dimension + (step.plus ? 0 : 1)), step.vc};
  }
  const std::uint32_t target = here == there ? dst % kPerQfdb : 0;
  return {mesh_port_to(f, target), static_cast<std::uint8_t>(target > f)};
}

Copies QfdbTorus::copies(NodeId at, std::uint16_t from, NodeId src, NodeId box) const {
  const std::uint32_t f = at % kPerQfdb;
  Copies copies;
  copies.here = from != kFromInterface;
  if (from >= kMeshPorts)  // not by a link inside the QFDB
    for (std::uint32_t port = 0; port < kMeshPorts; ++port) copies.add(port, beyond_mesh_port(f, port) > f);
  if (f == 0)
    routing_.add_copies(qfdbs_.coordinates(at / kPerQfdb), qfdbs_.coordinates(src / kPerQfdb), box, from, kMeshPorts,
                        copies);
  return copies;
}

NodeId QfdbTorus::multicast_to(NodeId src, const std::vector<NodeId>& members) {
  std::uint32_t hops[kBoxDimensions] = {};
  for (const NodeId node : members)
    routing_.widen_box(qfdbs_.coordinates(src / kPerQfdb), qfdbs_.coordinates(node / kPerQfdb), hops);
  return multicast_box(hops[0], hops[1], hops[2]);
}

std::string QfdbTorus::node_name(NodeId node) const {
  std::string name = qfdbs_.name(node / kPerQfdb).insert(0, "qfdb");
  return name.append(".F").append(std::to_string(node % kPerQfdb + 1));
}

std::string QfdbTorus::port_name(NodeId node, std::uint16_t port) const {
  if (port < kMeshPorts) return std::to_string(beyond_mesh_port(node % kPerQfdb, port) + 1).insert(0, 1, 'F');
  return Grid::port_name(port - kMeshPorts, 3);
}

void QfdbTorus::position(NodeId node, float xyz[3]) const {
  // The four MPSoCs are the corners of a unit square, and QFDBs stand three units apart.
  qfdbs_.position(node / kPerQfdb, xyz);
  for (int axis = 0; axis < 3; ++axis) xyz[axis] *= 3;
  xyz[0] += static_cast<float>(node % 2);
  xyz[1] += static_cast<float>(node % kPerQfdb / 2);
}

namespace topologies {

TopologyKind qfdb_torus() {
  return {.name = "qfdb-torus",
          .help = "fully meshed groups of four nodes (QFDBs) in a 3-D torus whose links end at each group's first node",
          .shape = "[groups in x, in y, in z]",
          .links = {"intra-qfdb", "inter-qfdb"},
          .samples = {{{3, 2, 2}}, {{4, 4, 2}}, {{5, 5, 1}, {0, 1, 2}}},
          .make = [](const TopologySpec& s) -> std::unique_ptr<Topology> {
            return std::make_unique<QfdbTorus>(s.shape, s.order);
          },
          .ordered = true};
}

}  // namespace topologies

}  // namespace exanet
