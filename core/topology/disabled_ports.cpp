// SPDX-License-Identifier: Apache-2.0
// A packet that comes along the dimension in which it goes on goes straight on. Where it enters a ring by way of a
// disabled port it goes the other way round, and all the way. One that meets a disabled port further on, or on a way
// that is no ring, has no route (docs/gateware.md, "Disabled ports"). Copies of a multicast packet leave disabled ports
// out.
//
// A channel is still left at the wrap-around link alone, so dimension order's argument against deadlock holds
// (core/topology/dimension_order.hpp); but a packet may now take more than one hop of a short ring, so rings of any
// length need both channels.
#include "core/topology/disabled_ports.hpp"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/topology/wrapped.hpp"

namespace exanet {

namespace {

class DisabledPorts final : public WrappedTopology {
 public:
  DisabledPorts(std::unique_ptr<Topology> inner, const TopologySpec& spec)
      : WrappedTopology(std::move(inner)),
        wraps_(spec.kind != "mesh"),
        first_port_(spec.kind == "qfdb-torus" ? 3 : 0),
        disabled_(inner_->node_count()) {
    if (spec.kind != "mesh" && spec.kind != "torus" && spec.kind != "qfdb-torus")
      throw std::invalid_argument("ports of a " + spec.kind +
                                  " cannot be disabled: take a mesh, a torus or a qfdb-torus");
    for (const auto& [node, port] : spec.disabled) {
      if (node >= inner_->node_count() || port >= inner_->port_count(node))
        throw std::invalid_argument("node " + std::to_string(node) + " has no port " + std::to_string(port) +
                                    " to disable: name one that it has");
      disabled_[node] |= 1u << port;
    }
  }

  bool shortest() const override { return false; }
  std::uint8_t virtual_channels() const override { return 2; }
  bool routes_by_port() const override { return true; }

  Hop route(NodeId at, std::uint16_t from, NodeId dst) const override {
    Hop hop = inner_->next_hop(at, dst);
    if (wraps_ && hop.port >= first_port_) {
      const std::uint16_t other = opposite(hop.port);
      if (from == hop.port || (from != other && disabled(at, hop.port))) hop.port = other;
    }
    if (disabled(at, hop.port)) hop.port = kNoRoute;
    return hop;
  }

  bool multicasts() const override { return inner_->multicasts(); }
  Copies copies(NodeId at, std::uint16_t from, NodeId src, NodeId box) const override {
    Copies copies = inner_->copies(at, from, src, box);
    copies.ports = static_cast<std::uint16_t>(copies.ports & ~disabled_[at]);
    return copies;
  }
  NodeId multicast_to(NodeId src, const std::vector<NodeId>& members) override {
    return inner_->multicast_to(src, members);
  }

 private:
  bool disabled(NodeId node, std::uint16_t port) const { return (disabled_[node] >> port & 1) != 0; }
  // The port that leads the other way in the same dimension.
  std::uint16_t opposite(std::uint16_t port) const {
    return static_cast<std::uint16_t>(first_port_ + ((port - first_port_) ^ 1));
  }

  bool wraps_;
  std::uint16_t first_port_;  // of those along dimensions
  std::vector<std::uint32_t> disabled_;  // by node, a bit for each port
};

}  // namespace

std::unique_ptr<Topology> with_disabled_ports(std::unique_ptr<Topology> inner, const TopologySpec& spec) {
  return std::make_unique<DisabledPorts>(std::move(inner), spec);
}

}  // namespace exanet
