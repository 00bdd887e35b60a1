// SPDX-License-Identifier: Apache-2.0
// Two networks joined by gateways: nodes that are an endpoint of each and pass messages on from one to the other.
//
// Nodes are the endpoints of the first network, those of the second one, then the switches of both in the same order.
// A gateway is two of these endpoints, one in each network, with a port more each, behind which the other one is. The
// kinds of links are those of the first network, those of the second one, and the gateways' port. next_hop() leads to
// the other network through one gateway for each destination.
//
// Limits: endpoints of one rail; no routing of the whole, as each network has its own.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/topology/topology.hpp"

namespace exanet {

class BridgedTopology final : public Topology {
 public:
  struct Part {
    std::string name;  // stands before those of its nodes
    std::unique_ptr<Topology> topology;
    std::uint8_t link_kinds;
  };
  // `gateways`: an endpoint of each network. Throws ConfigError where there is none, or one is in two of them.
  BridgedTopology(std::array<Part, 2> parts, std::vector<std::pair<NodeId, NodeId>> gateways);

  const Topology& network(std::uint32_t number) const { return *parts_[number].topology; }
  std::uint32_t network_of(NodeId node) const;
  NodeId within(NodeId node) const;  // its number in its network
  NodeId node(std::uint32_t network, NodeId within) const;
  std::uint32_t gateways() const { return static_cast<std::uint32_t>(gateways_.size()); }
  NodeId gateway(std::uint32_t number, std::uint32_t network) const;  // its endpoint's number in that network
  // The one that leads to `dst`, an endpoint of the other network.
  std::uint32_t gateway_to(NodeId dst) const { return within(dst) % gateways(); }
  std::uint32_t gateway_at(NodeId node) const;  // kNoNode: none
  bool is_gateway_port(NodeId node, std::uint16_t port) const;

  const BridgedTopology* bridged() const override { return this; }
  std::uint32_t node_count() const override { return endpoint_count() + switches_[0] + switches_[1]; }
  std::uint32_t endpoint_count() const override { return endpoints_[0] + endpoints_[1]; }
  std::uint16_t port_count(NodeId node) const override;
  PortRef neighbour(NodeId node, std::uint16_t port) const override;
  Hop next_hop(NodeId at, NodeId dst) const override;
  bool shortest() const override { return false; }
  std::uint8_t virtual_channels() const override;
  bool alive(NodeId node) const override { return of(node).alive(within(node)); }
  std::uint8_t link_class(NodeId node, std::uint16_t port) const override;
  std::string node_name(NodeId node) const override;
  std::string port_name(NodeId node, std::uint16_t port) const override;
  void position(NodeId node, float xyz[3]) const override;
  bool upper_half(NodeId node) const override;

 private:
  const Topology& of(NodeId node) const { return network(network_of(node)); }

  std::array<Part, 2> parts_;
  std::array<std::uint32_t, 2> endpoints_, switches_;
  std::vector<std::pair<NodeId, NodeId>> gateways_;
  std::unordered_map<NodeId, std::uint32_t> at_;  // by node
  float shift_ = 0;  // of the second network, to the right of the first
};

}  // namespace exanet
