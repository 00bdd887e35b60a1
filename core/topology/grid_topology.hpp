// SPDX-License-Identifier: Apache-2.0
// Meshes and tori of any number of dimensions, sides unequal if need be: every node is a point of the lattice, all
// links are of class 0.
#pragma once

#include "core/topology/grid.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

class GridTopology final : public Topology {
 public:
  // Throws std::invalid_argument on a bad shape or order of dimensions.
  GridTopology(const std::vector<std::uint32_t>& shape, bool wraps, const std::vector<std::uint32_t>& order,
               bool both_channels = false);

  std::uint32_t node_count() const override { return grid_.size(); }
  std::uint16_t port_count(NodeId) const override { return static_cast<std::uint16_t>(2 * grid_.dimensions()); }
  PortRef neighbour(NodeId node, std::uint16_t port) const override;
  Hop next_hop(NodeId at, NodeId dst) const override;
  void minimal_ports(NodeId at, NodeId dst, PortList& out) const override {
    routing_.minimal(grid_.coordinates(at), grid_.coordinates(dst), 0, out);
  }
  bool multicasts() const override { return routing_.multicasts(); }
  Copies copies(NodeId at, std::uint16_t from, NodeId src, NodeId box) const override;
  NodeId multicast_to(NodeId src, const std::vector<NodeId>& members) override;
  // A packet for which a ring is no more than one hop waits for no other hop of it.
  std::uint8_t virtual_channels() const override { return channels_; }
  std::uint8_t link_class(NodeId, std::uint16_t) const override { return 0; }
  std::string node_name(NodeId node) const override { return grid_.name(node); }
  std::string port_name(NodeId, std::uint16_t port) const override { return Grid::port_name(port, grid_.dimensions()); }
  void position(NodeId node, float xyz[3]) const override { grid_.position(node, xyz); }
  bool upper_half(NodeId node) const override { return grid_.place(node) >= grid_.size() / 2; }

  // One for each dimension, with at most two points in all others. Packets go through dimensions in one order, so a
  // cycle lies within one ring, and what packets do in a ring depends on their destination's place in it and on the
  // parity of its other coordinates alone.
  std::vector<std::unique_ptr<Topology>> miniatures() const override;

 private:
  bool wraps_;
  std::uint8_t channels_;
  std::vector<std::uint32_t> order_;
  Grid grid_;
  DimensionOrder routing_;
};

}  // namespace exanet
