// SPDX-License-Identifier: Apache-2.0
// Which nodes and links of a machine work: a bit for each port, so that whoever looks for routes can ask cheaply.
//
// Model: a link works or it does not, in both directions alike; it works while neither it nor one of the nodes at its
// ends has failed. What a state means for packets is the network's (Network::set_link), what it means for routes the
// topology's (core/routing/rerouted.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "core/topology/topology.hpp"

namespace exanet {

class LinkStates {
 public:
  LinkStates() = default;
  explicit LinkStates(const Topology& shape) : dead_(shape.node_count()) {
    std::uint32_t ports = 0;
    for (NodeId node = 0; node < shape.node_count(); ++node) {
      first_port_.push_back(ports);
      ports += shape.port_count(node);
    }
    cut_.resize(ports);
  }

  static constexpr std::uint16_t kNode = 0xffff;  // in place of a port: the node itself

  // A node, or the link at a port of it, fails or works again. Contract: `shape` is the one that the states were made
  // for.
  void change(const Topology& shape, NodeId node, std::uint16_t port, bool up) {
    if (port == kNode)
      dead_[node] = !up;
    else
      set_link(shape, node, port, up);
  }

  bool alive(NodeId node) const { return !dead_[node]; }
  bool works(const Topology& shape, NodeId node, std::uint16_t port) const {
    const PortRef far = shape.neighbour(node, port);
    return far.node != kNoNode && !cut_[first_port_[node] + port] && !dead_[node] && !dead_[far.node];
  }

 private:
  void set_link(const Topology& shape, NodeId node, std::uint16_t port, bool up) {
    const PortRef far = shape.neighbour(node, port);
    if (far.node == kNoNode) return;
    cut_[first_port_[node] + port] = !up;
    cut_[first_port_[far.node] + far.port] = !up;
  }

  std::vector<bool> dead_;  // by node
  std::vector<std::uint32_t> first_port_;  // by node
  std::vector<bool> cut_;  // by port of all nodes
};

}  // namespace exanet
