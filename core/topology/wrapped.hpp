// SPDX-License-Identifier: Apache-2.0
// A topology that is another one but for some of its answers.
#pragma once

#include "core/topology/topology.hpp"

namespace exanet {

class WrappedTopology : public Topology {
 public:
  explicit WrappedTopology(std::unique_ptr<Topology> inner) : inner_(std::move(inner)) {}

  std::uint32_t node_count() const override { return inner_->node_count(); }
  std::uint32_t endpoint_count() const override { return inner_->endpoint_count(); }
  std::uint16_t rails() const override { return inner_->rails(); }
  std::uint16_t port_count(NodeId node) const override { return inner_->port_count(node); }
  PortRef neighbour(NodeId node, std::uint16_t port) const override { return inner_->neighbour(node, port); }
  Hop next_hop(NodeId at, NodeId dst) const override { return inner_->next_hop(at, dst); }
  bool routes_by_port() const override { return inner_->routes_by_port(); }
  Hop route(NodeId at, std::uint16_t from, NodeId dst) const override { return inner_->route(at, from, dst); }
  void minimal_ports(NodeId at, NodeId dst, PortList& out) const override { inner_->minimal_ports(at, dst, out); }
  bool any_equal_port() const override { return inner_->any_equal_port(); }
  void equal_ports(NodeId at, NodeId dst, PortList& out) const override { inner_->equal_ports(at, dst, out); }
  bool shortest() const override { return inner_->shortest(); }
  std::uint8_t virtual_channels() const override { return inner_->virtual_channels(); }
  std::uint8_t link_class(NodeId node, std::uint16_t port) const override { return inner_->link_class(node, port); }
  bool alive(NodeId node) const override { return inner_->alive(node); }
  bool follows() const override { return inner_->follows(); }
  void follow(const LinkStates& states) override { inner_->follow(states); }
  bool routes_by_switch() const override { return inner_->routes_by_switch(); }
  std::string node_name(NodeId node) const override { return inner_->node_name(node); }
  std::string port_name(NodeId node, std::uint16_t port) const override { return inner_->port_name(node, port); }
  void position(NodeId node, float xyz[3]) const override { inner_->position(node, xyz); }
  bool upper_half(NodeId node) const override { return inner_->upper_half(node); }

 protected:
  std::unique_ptr<Topology> inner_;
};

}  // namespace exanet
