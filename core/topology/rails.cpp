// SPDX-License-Identifier: Apache-2.0
// A topology whose switches are there several times, with its endpoints in all planes.
//
// No deadlock where the inner topology has none: planes have no link in common, and nobody passes an endpoint. An
// endpoint's port is the number of its plane.
#include "core/topology/rails.hpp"

#include <algorithm>

#include "core/config/error.hpp"
#include "core/topology/wrapped.hpp"

namespace exanet {

namespace {

class Railed final : public WrappedTopology {
 public:
  Railed(std::unique_ptr<Topology> inner, std::uint32_t planes)
      : WrappedTopology(std::move(inner)),
        planes_(planes),
        endpoints_(inner_->endpoint_count()),
        switches_(inner_->node_count() - endpoints_) {
    for (NodeId node = 0; node < inner_->node_count(); ++node) {
      float xyz[3];
      inner_->position(node, xyz);
      lowest_ = std::min(lowest_, xyz[2]);
      highest_ = std::max(highest_, xyz[2]);
    }
  }

  NodeId node_count() const override { return endpoints_ + planes_ * switches_; }
  std::uint16_t rails() const override { return static_cast<std::uint16_t>(planes_); }
  std::uint16_t port_count(NodeId node) const override {
    return node < endpoints_ ? rails() : inner_->port_count(in_plane(node));
  }

  PortRef neighbour(NodeId node, std::uint16_t port) const override {
    const std::uint32_t plane = plane_of(node, port);
    const PortRef far = inner_->neighbour(in_plane(node), in_plane(node, port));
    if (far.node == kNoNode) return far;
    if (far.node < endpoints_) return {far.node, static_cast<std::uint16_t>(plane)};
    return {far.node + plane * switches_, far.port};
  }

  Hop next_hop(NodeId at, NodeId dst) const override {
    if (at >= endpoints_) return inner_->next_hop(in_plane(at), dst);
    return {static_cast<std::uint16_t>(rail_of_pair(at, dst, planes_)), inner_->next_hop(at, dst).vc};
  }

  // From an endpoint those into all planes.
  void minimal_ports(NodeId at, NodeId dst, PortList& out) const override {
    if (at >= endpoints_) return inner_->minimal_ports(in_plane(at), dst, out);
    for (std::uint32_t plane = 0; plane < planes_; ++plane) out.add(static_cast<std::uint16_t>(plane));
  }
  void equal_ports(NodeId at, NodeId dst, PortList& out) const override {
    if (at >= endpoints_) return inner_->equal_ports(in_plane(at), dst, out);
    minimal_ports(at, dst, out);
  }

  std::uint8_t link_class(NodeId node, std::uint16_t port) const override {
    return inner_->link_class(in_plane(node), in_plane(node, port));
  }
  bool alive(NodeId node) const override { return inner_->alive(in_plane(node)); }

  std::string node_name(NodeId node) const override {
    if (node < endpoints_) return inner_->node_name(node);
    return "rail" + std::to_string(plane_of(node, 0)) + "." + inner_->node_name(in_plane(node));
  }
  std::string port_name(NodeId node, std::uint16_t port) const override {
    return node < endpoints_ ? "rail" + std::to_string(port) : inner_->port_name(in_plane(node), port);
  }

  // Planes lie one above the other, endpoints beside the first.
  void position(NodeId node, float xyz[3]) const override {
    inner_->position(in_plane(node), xyz);
    if (node >= endpoints_) xyz[2] += static_cast<float>(plane_of(node, 0)) * (highest_ - lowest_ + 1);
  }
  bool upper_half(NodeId node) const override { return inner_->upper_half(in_plane(node)); }

 private:
  std::uint32_t plane_of(NodeId node, std::uint16_t port) const {
    return node < endpoints_ ? port : (node - endpoints_) / switches_;
  }
  NodeId in_plane(NodeId node) const { return node < endpoints_ ? node : endpoints_ + (node - endpoints_) % switches_; }
  std::uint16_t in_plane(NodeId node, std::uint16_t port) const { return node < endpoints_ ? std::uint16_t{0} : port; }

  std::uint32_t planes_, endpoints_, switches_;
  float lowest_ = 0, highest_ = 0;
};

}  // namespace

std::unique_ptr<Topology> with_rails(std::unique_ptr<Topology> inner, std::uint32_t rails) {
  constexpr const char* kPath = "topology.rails";
  require_in_range(rails, 1, kMostRails, kPath, "rails");
  if (rails == 1) return inner;
  require(inner->switched(), kPath,
          "this topology links endpoints to each other and has no switches to repeat: remove 'rails', or use a "
          "topology with switches, e.g. a fat-tree");
  const std::uint64_t nodes =
      std::uint64_t{rails} * (inner->node_count() - inner->endpoint_count()) + inner->endpoint_count();
  require(nodes <= kMostNodes, kPath,
          std::to_string(rails) + " planes of switches make " + std::to_string(nodes) + " nodes, more than " +
              std::to_string(kMostNodes) + ": take fewer rails, or a smaller shape");
  require(inner->port_count(0) == 1, kPath,
          "each endpoint of this shape has " + std::to_string(inner->port_count(0)) +
              " links of its own: take 'rails' out, or a shape in which it has one");
  return std::make_unique<Railed>(std::move(inner), rails);
}

}  // namespace exanet
