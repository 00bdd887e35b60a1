// SPDX-License-Identifier: Apache-2.0
// The ExaNeSt machine: QFDBs (daughter boards of four MPSoCs, F1 to F4, in a full mesh) in a torus of three dimensions.
//
// F1 is the network FPGA: all torus links of a QFDB end there, so a packet to another QFDB goes to F1 (unless it starts
// there), along the torus in dimension order, and from the other QFDB's F1 to its destination. Nodes are numbered QFDB
// by QFDB, four a QFDB, F1 first; QFDBs with x fastest. Eight blades of four QFDBs are the shape [4, 4, 2]: 32 QFDBs,
// 128 MPSoCs.
//
// Link class 0 is inside a QFDB, class 1 between QFDBs. Inside a QFDB the virtual channel follows the same rule of
// signs with F1 < F2 < F3 < F4. No channel cycle can pass through a QFDB: a link into F1 may be followed by torus
// links, those by a link out of F1, and that by nothing.
//
// Source: "The ExaNeSt prototype" (QFDB, network FPGA, torus) and the ExaNet paper at ParCo 2017 (routing).
#pragma once

#include "core/topology/grid.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

class QfdbTorus final : public Topology {
 public:
  static constexpr std::uint32_t kPerQfdb = 4;

  // Throws std::invalid_argument unless `shape` counts QFDBs in three dimensions.
  QfdbTorus(const std::vector<std::uint32_t>& shape, const std::vector<std::uint32_t>& order);

  std::uint32_t node_count() const override { return qfdbs_.size() * kPerQfdb; }
  std::uint16_t port_count(NodeId node) const override { return node % kPerQfdb == 0 ? kMeshPorts + 6 : kMeshPorts; }
  PortRef neighbour(NodeId node, std::uint16_t port) const override;
  Hop next_hop(NodeId at, NodeId dst) const override;
  void minimal_ports(NodeId at, NodeId dst, PortList& out) const override {
    if (at % kPerQfdb != 0 || at / kPerQfdb == dst / kPerQfdb) return out.add(next_hop(at, dst).port);
    routing_.minimal(qfdbs_.coordinates(at / kPerQfdb), qfdbs_.coordinates(dst / kPerQfdb), kMeshPorts, out);
  }
  // All four nodes of a QFDB belong to a box that holds it, the source's own as well.
  bool multicasts() const override { return routing_.multicasts(); }
  Copies copies(NodeId at, std::uint16_t from, NodeId src, NodeId box) const override;
  NodeId multicast_to(NodeId src, const std::vector<NodeId>& members) override;
  std::uint8_t link_class(NodeId, std::uint16_t port) const override { return port < kMeshPorts ? 0 : 1; }
  std::string node_name(NodeId node) const override;
  std::string port_name(NodeId node, std::uint16_t port) const override;
  void position(NodeId node, float xyz[3]) const override;
  // Of an odd number of QFDBs the middle one is cut through its mesh: F3 and F4 against F1 and F2.
  bool upper_half(NodeId node) const override {
    const std::uint32_t place = qfdbs_.place(node / kPerQfdb) * kPerQfdb + (kPerQfdb - 1 - node % kPerQfdb);
    return place >= node_count() / 2;
  }

 private:
  static constexpr std::uint16_t kMeshPorts = kPerQfdb - 1;

  // Ports 0..2 of an MPSoC lead to the three others of its QFDB in ascending order.
  static std::uint32_t beyond_mesh_port(std::uint32_t f, std::uint32_t port) { return port < f ? port : port + 1; }
  static std::uint16_t mesh_port_to(std::uint32_t f, std::uint32_t other) {
    return static_cast<std::uint16_t>(other < f ? other : other - 1);
  }

  Grid qfdbs_;
  DimensionOrder routing_;
};

}  // namespace exanet
