// SPDX-License-Identifier: Apache-2.0
// Base of topologies whose every switch carries the same number of endpoints: dragonfly, HyperX, jellyfish.
//
// Endpoint e hangs by its only port on switch e / hosts, at that switch's port e % hosts; behind these come the ports
// between switches, which a derived class numbers from 0 ("fabric ports"). Endpoint nodes come first, then switches.
// The links of endpoints are of class 0 and use virtual channel 0: nothing follows a link to an endpoint and nothing
// precedes one from it, so they close no cycle.
#pragma once

#include <stdexcept>

#include "core/topology/halves.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

class HostedTopology : public Topology {
 public:
  std::uint32_t node_count() const final { return endpoints_ + switches_; }
  std::uint32_t endpoint_count() const final { return endpoints_; }
  std::uint16_t port_count(NodeId node) const final {
    return static_cast<std::uint16_t>(node < endpoints_ ? 1 : hosts_ + fabric_ports_);
  }

  PortRef neighbour(NodeId node, std::uint16_t port) const final {
    if (node < endpoints_) return {endpoints_ + node / hosts_, static_cast<std::uint16_t>(node % hosts_)};
    const std::uint32_t here = node - endpoints_;
    if (port < hosts_) return {here * hosts_ + port, 0};
    const PortRef far = beyond(here, static_cast<std::uint16_t>(port - hosts_));
    if (far.node == kNoNode) return far;
    return {endpoints_ + far.node, static_cast<std::uint16_t>(hosts_ + far.port)};
  }

  Hop next_hop(NodeId at, NodeId dst) const final {
    if (at < endpoints_) return {0, 0};
    const std::uint32_t here = at - endpoints_, there = dst / hosts_;
    if (here == there) return {static_cast<std::uint16_t>(dst % hosts_), 0};
    const Hop hop = towards(here, there);
    return {static_cast<std::uint16_t>(hosts_ + hop.port), hop.vc};
  }

  void minimal_ports(NodeId at, NodeId dst, PortList& out) const final {
    const std::uint32_t first = out.count;
    if (at < endpoints_ || at - endpoints_ == dst / hosts_) return out.add(next_hop(at, dst).port);
    minimal_towards(at - endpoints_, dst / hosts_, out);
    for (std::uint32_t i = first; i < out.count; ++i) out.port[i] = static_cast<std::uint16_t>(out.port[i] + hosts_);
  }

  bool routes_by_switch() const final { return true; }

  std::uint8_t link_class(NodeId node, std::uint16_t port) const final {
    return node < endpoints_ || port < hosts_ ? 0 : fabric_link_class(static_cast<std::uint16_t>(port - hosts_));
  }

  std::string node_name(NodeId node) const final {
    if (node >= endpoints_) return switch_name(node - endpoints_);
    return switch_name(node / hosts_).append(".").append(std::to_string(node % hosts_));
  }

  std::string port_name(NodeId node, std::uint16_t port) const final {
    if (node < endpoints_) return "switch";
    if (port < hosts_) return std::to_string(port).insert(0, "host ");
    return fabric_port_name(node - endpoints_, static_cast<std::uint16_t>(port - hosts_));
  }

  // Endpoints stand in a short row beside their switch; switches are at least one unit apart.
  void position(NodeId node, float xyz[3]) const final {
    switch_position(node < endpoints_ ? node / hosts_ : node - endpoints_, xyz);
    if (node < endpoints_) xyz[1] += 0.5f * static_cast<float>(node % hosts_ + 1) / static_cast<float>(hosts_);
  }

  bool upper_half(NodeId node) const final {
    return switch_upper_half(node < endpoints_ ? node / hosts_ : node - endpoints_);
  }

 protected:
  HostedTopology(std::uint64_t hosts, std::uint64_t switches, std::uint64_t fabric_ports)
      : hosts_(static_cast<std::uint32_t>(hosts)),
        switches_(static_cast<std::uint32_t>(switches)),
        fabric_ports_(static_cast<std::uint32_t>(fabric_ports)),
        endpoints_(static_cast<std::uint32_t>(hosts * switches)) {
    if (hosts == 0 || switches == 0)
      throw std::invalid_argument("a switch needs at least one endpoint, and the network at least one switch");
    if (hosts > 65535 || switches > kMostNodes || (hosts + 1) * switches > kMostNodes || hosts + fabric_ports > 65535)
      throw std::invalid_argument("endpoints and switches together are more than " + std::to_string(kMostNodes) +
                                  ": make it smaller");
  }

  // Switches and their fabric ports, both counted from 0.
  virtual PortRef beyond(std::uint32_t here, std::uint16_t port) const = 0;
  virtual Hop towards(std::uint32_t here, std::uint32_t there) const = 0;  // here != there
  virtual void minimal_towards(std::uint32_t here, std::uint32_t there, PortList& out) const {
    out.add(towards(here, there).port);
  }
  virtual std::uint8_t fabric_link_class(std::uint16_t) const { return 0; }
  virtual std::string switch_name(std::uint32_t number) const = 0;
  virtual std::string fabric_port_name(std::uint32_t number, std::uint16_t port) const = 0;
  virtual void switch_position(std::uint32_t number, float xyz[3]) const = 0;
  // Whoever knows the halves with the fewest links between them says so; else they are looked for.
  virtual bool switch_upper_half(std::uint32_t number) const { return halves_.upper(*this, endpoints_ + number); }

  const std::uint32_t hosts_, switches_, fabric_ports_, endpoints_;

 private:
  SearchedHalves halves_;
};

}  // namespace exanet
