// SPDX-License-Identifier: Apache-2.0
// Several network interfaces a node, one for each of its rails, as if each were a node of its own: what engines keep by
// node is by interface then.
//
// Interface i of node n is node n * rails + i here. It has the intra-tile ports of its rail, and what it sends arrives
// at interface i of the other node, for a packet leaves by the port of the number by which it has entered. A descriptor
// goes between the interfaces of one rail, which a policy chooses (core/nic/rail_policy.hpp). Answers come back to the
// interface that has sent, by the link of the way back.
//
// Limits: a transfer goes by one rail unless it is cut (stripes.hpp). Interfaces of a node do not wait for each other
// at its memory.
#pragma once

#include <memory>
#include <utility>

#include "core/network/network.hpp"
#include "core/nic/nic.hpp"
#include "core/nic/rail_policy.hpp"
#include "core/topology/rails.hpp"

namespace exanet {

// The network as these interfaces meet it.
class RailInterfaces final : public Network {
 public:
  RailInterfaces(Network& network, const Topology& topology, const RouterConfig& router, const RailPolicyKind& policy,
                 RailLoad load)
      : network_(network),
        topology_(topology),
        rails_(topology.rails()),
        each_(static_cast<std::uint32_t>(router.intra_ports)),
        policy_(policy.spreads ? policy.make(topology.endpoint_count()) : nullptr),
        load_(std::move(load)) {}

  std::uint32_t rail(NodeId src, NodeId dst) const { return rail_of(topology_, src, dst); }
  // Of a descriptor of so many bytes that is posted now.
  std::uint32_t chosen_rail(NodeId src, NodeId dst, std::uint64_t bytes) {
    const std::uint32_t own = rail(src, dst);
    if (!policy_) return own;
    return policy_->choose({src, dst, bytes, own, (1u << rails_) - 1}, load_);
  }
  NodeId interface_of(NodeId node, std::uint32_t rail = 0) const { return node * rails_ + rail; }
  NodeId interface_at(NodeId node, std::uint8_t port) const { return interface_of(node, port / each_); }
  std::uint8_t port_of_interface(std::uint8_t port) const { return static_cast<std::uint8_t>(port % each_); }

  // What goes from node to node, by the interfaces of a rail.
  template <typename What>
  What by(std::uint32_t rail, What what) const {
    what.src = interface_of(what.src, rail);
    what.dst = interface_of(what.dst, rail);
    return what;
  }
  // By the rail that the policy chooses.
  template <typename What>
  What by_choice(const What& what) {
    return by(chosen_rail(what.src, what.dst, what.bytes), what);
  }
  // A packet that the network has delivered.
  Packet arrived(Packet packet) const {
    const std::uint32_t rail = packet.intra_port / each_;
    packet.intra_port = port_of_interface(packet.intra_port);
    return by(rail, packet);
  }
  // A node's unit that reduces is at its first interface.
  ReductionPlace of_units(ReductionPlace place) const {
    for (ReductionPlace::Neighbour& below : place.below) below.node = interface_of(below.node);
    place.above.node = interface_of(place.above.node);
    return place;
  }

  bool inject(const Packet& packet) override {
    Packet at_nodes = packet;
    at_nodes.src = packet.src / rails_;
    at_nodes.dst = packet.dst / rails_;
    at_nodes.intra_port = port_at_node(packet.src, packet.intra_port);
    return network_.inject(at_nodes);
  }
  void stall(NodeId interface, std::uint8_t port, Time until) override {
    network_.stall(interface / rails_, port_at_node(interface, port), until);
  }
  void give_back(NodeId interface, std::uint8_t port, Time at) override {
    network_.give_back(interface / rails_, port_at_node(interface, port), at);
  }
  bool keeps_order() const override { return network_.keeps_order(); }
  bool may_lose() const override { return network_.may_lose(); }
  const LinkStats& link_stats(NodeId node, std::uint16_t port) const override {
    return network_.link_stats(node, port);
  }
  Time asleep(NodeId node, std::uint16_t port, Time now) const override { return network_.asleep(node, port, now); }
  std::uint64_t packet_hops() const override { return network_.packet_hops(); }
  std::uint64_t in_flight() const override { return network_.in_flight(); }

 private:
  std::uint8_t port_at_node(NodeId interface, std::uint8_t port) const {
    return static_cast<std::uint8_t>(interface % rails_ * each_ + port);
  }

  Network& network_;
  const Topology& topology_;
  const std::uint32_t rails_, each_;  // links of a node, and intra-tile ports for each of them
  std::unique_ptr<RailPolicy> policy_;  // null: each pair has its rail
  RailLoad load_;
};

}  // namespace exanet
