// SPDX-License-Identifier: Apache-2.0
#include "core/topology/bridged.hpp"

#include <algorithm>

#include "core/config/error.hpp"

namespace exanet {

BridgedTopology::BridgedTopology(std::array<Part, 2> parts, std::vector<std::pair<NodeId, NodeId>> gateways)
    : parts_(std::move(parts)), gateways_(std::move(gateways)) {
  for (std::uint32_t i = 0; i < 2; ++i) {
    require(network(i).rails() == 1, "topology.gateways",
            "endpoints of '" + parts_[i].name + "' have several rails: a network that gateways join has one");
    endpoints_[i] = network(i).endpoint_count();
    switches_[i] = network(i).node_count() - endpoints_[i];
  }
  require(!gateways_.empty(), "topology.gateways", "two networks are joined by a gateway at least");
  for (std::uint32_t g = 0; g < gateways_.size(); ++g) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      const NodeId here = gateway(g, i);
      require(here < endpoints_[i] && network(i).alive(here), "topology.gateways",
              "node " + std::to_string(here) + " of a gateway is no endpoint of '" + parts_[i].name + "' that works");
      require(at_.emplace(node(i, here), g).second, "topology.gateways",
              "node " + std::to_string(here) + " of '" + parts_[i].name + "' is in two gateways");
    }
  }
  float least[2] = {0, 0}, most[2] = {0, 0};
  for (std::uint32_t i = 0; i < 2; ++i) {
    for (NodeId n = 0; n < network(i).node_count(); ++n) {
      float xyz[3];
      network(i).position(n, xyz);
      least[i] = n == 0 ? xyz[0] : std::min(least[i], xyz[0]);
      most[i] = n == 0 ? xyz[0] : std::max(most[i], xyz[0]);
    }
  }
  shift_ = most[0] - least[1] + std::max(1.0F, (most[0] - least[0] + most[1] - least[1]) / 10);
}

std::uint32_t BridgedTopology::network_of(NodeId node) const {
  if (node < endpoint_count()) return node < endpoints_[0] ? 0 : 1;
  return node < endpoint_count() + switches_[0] ? 0 : 1;
}

NodeId BridgedTopology::within(NodeId node) const {
  if (node < endpoint_count()) return node < endpoints_[0] ? node : node - endpoints_[0];
  return network_of(node) == 0 ? node - endpoints_[1] : node - endpoints_[0] - switches_[0];
}

NodeId BridgedTopology::node(std::uint32_t network, NodeId within) const {
  if (network == 0) return within < endpoints_[0] ? within : within + endpoints_[1];
  return within < endpoints_[1] ? within + endpoints_[0] : within + endpoints_[0] + switches_[0];
}

NodeId BridgedTopology::gateway(std::uint32_t number, std::uint32_t network) const {
  return network == 0 ? gateways_[number].first : gateways_[number].second;
}

std::uint32_t BridgedTopology::gateway_at(NodeId node) const {
  const auto found = at_.find(node);
  return found == at_.end() ? kNoNode : found->second;
}

bool BridgedTopology::is_gateway_port(NodeId node, std::uint16_t port) const {
  return port == of(node).port_count(within(node)) && at_.contains(node);
}

std::uint16_t BridgedTopology::port_count(NodeId node) const {
  return static_cast<std::uint16_t>(of(node).port_count(within(node)) + (at_.contains(node) ? 1 : 0));
}

PortRef BridgedTopology::neighbour(NodeId node, std::uint16_t port) const {
  const std::uint32_t here = network_of(node);
  if (is_gateway_port(node, port)) {
    const NodeId far = gateway(at_.at(node), 1 - here);
    return {this->node(1 - here, far), network(1 - here).port_count(far)};
  }
  const PortRef to = of(node).neighbour(within(node), port);
  return to.node == kNoNode ? to : PortRef{this->node(here, to.node), to.port};
}

Hop BridgedTopology::next_hop(NodeId at, NodeId dst) const {
  const std::uint32_t here = network_of(at);
  const Topology& own = network(here);
  if (network_of(dst) == here) return own.next_hop(within(at), within(dst));
  const NodeId gate = gateway(gateway_to(dst), here);
  if (within(at) == gate) return {own.port_count(gate), 0};
  return own.next_hop(within(at), gate);
}

std::uint8_t BridgedTopology::virtual_channels() const {
  return std::max(network(0).virtual_channels(), network(1).virtual_channels());
}

std::uint8_t BridgedTopology::link_class(NodeId node, std::uint16_t port) const {
  const std::uint32_t here = network_of(node);
  if (is_gateway_port(node, port)) return static_cast<std::uint8_t>(parts_[0].link_kinds + parts_[1].link_kinds);
  return static_cast<std::uint8_t>(of(node).link_class(within(node), port) + (here == 0 ? 0 : parts_[0].link_kinds));
}

std::string BridgedTopology::node_name(NodeId node) const {
  return parts_[network_of(node)].name + ":" + of(node).node_name(within(node));
}

std::string BridgedTopology::port_name(NodeId node, std::uint16_t port) const {
  return is_gateway_port(node, port) ? "gateway" : of(node).port_name(within(node), port);
}

void BridgedTopology::position(NodeId node, float xyz[3]) const {
  of(node).position(within(node), xyz);
  if (network_of(node) == 1) xyz[0] += shift_;
}

bool BridgedTopology::upper_half(NodeId node) const {
  const bool second_is_larger = network(1).node_count() >= network(0).node_count();
  return network_of(node) == (second_is_larger ? 1U : 0U);
}

}  // namespace exanet
