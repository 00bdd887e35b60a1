// SPDX-License-Identifier: Apache-2.0
// Two networks without switches: the hypercube (shape [dimensions]; a link for each bit of the node's number) and the
// full mesh (shape [nodes]). On the hypercube the highest differing bit is corrected first (e-cube); on the full mesh
// every way is one link. Neither closes a cycle of channels, with one virtual channel.
#include <bit>
#include <stdexcept>

#include "core/topology/registry.hpp"

namespace exanet {

namespace {

std::uint32_t only_figure(const TopologySpec& spec, std::uint32_t most, const char* what) {
  if (spec.shape.size() != 1 || spec.shape[0] < 1 || spec.shape[0] > most)
    throw std::invalid_argument("a " + spec.kind + " takes one parameter, its number of " + what + ", from 1 to " +
                                std::to_string(most));
  return spec.shape[0];
}

class Hypercube final : public Topology {
 public:
  explicit Hypercube(std::uint32_t bits) : bits_(bits) {}
  std::uint32_t node_count() const override { return 1u << bits_; }
  std::uint16_t port_count(NodeId) const override { return static_cast<std::uint16_t>(bits_); }
  PortRef neighbour(NodeId node, std::uint16_t port) const override { return {node ^ (1u << port), port}; }
  Hop next_hop(NodeId at, NodeId dst) const override {
    return {static_cast<std::uint16_t>(std::bit_width(at ^ dst) - 1), 0};
  }
  void minimal_ports(NodeId at, NodeId dst, PortList& out) const override {
    for (std::uint16_t bit = 0; bit < bits_; ++bit)
      if ((at ^ dst) >> bit & 1u) out.add(bit);
  }
  std::uint8_t virtual_channels() const override { return 1; }
  std::uint8_t link_class(NodeId, std::uint16_t) const override { return 0; }
  std::string node_name(NodeId node) const override { return std::to_string(node).insert(0, "node"); }
  std::string port_name(NodeId, std::uint16_t port) const override { return std::to_string(port).insert(0, "bit "); }
  void position(NodeId node, float xyz[3]) const override {
    // Bits in turn along x, y and z, each pair of copies further apart than those before it.
    float scale[3] = {1, 1, 1};
    xyz[0] = xyz[1] = xyz[2] = 0;
    for (std::uint32_t b = 0; b < bits_; ++b) {
      xyz[b % 3] += scale[b % 3] * static_cast<float>(node >> b & 1u);
      scale[b % 3] *= 2.5f;
    }
  }
  bool upper_half(NodeId node) const override { return node >> (bits_ - 1) & 1u; }

 private:
  std::uint32_t bits_;
};

class FullMesh final : public Topology {
 public:
  explicit FullMesh(std::uint32_t nodes) : nodes_(nodes) {}
  std::uint32_t node_count() const override { return nodes_; }
  std::uint16_t port_count(NodeId) const override { return static_cast<std::uint16_t>(nodes_ - 1); }
  PortRef neighbour(NodeId node, std::uint16_t port) const override {
    const NodeId other = port < node ? port : port + 1u;
    return {other, port_to(other, node)};
  }
  Hop next_hop(NodeId at, NodeId dst) const override { return {port_to(at, dst), 0}; }
  std::uint8_t virtual_channels() const override { return 1; }
  std::uint8_t link_class(NodeId, std::uint16_t) const override { return 0; }
  std::string node_name(NodeId node) const override { return std::to_string(node).insert(0, "node"); }
  std::string port_name(NodeId node, std::uint16_t port) const override {
    return std::to_string(neighbour(node, port).node).insert(0, "to ");
  }
  void position(NodeId node, float xyz[3]) const override {
    xyz[0] = static_cast<float>(node % 8);
    xyz[1] = static_cast<float>(node / 8 % 8);
    xyz[2] = static_cast<float>(node / 64);
  }
  bool upper_half(NodeId node) const override { return node >= nodes_ / 2; }

 private:
  static std::uint16_t port_to(NodeId own, NodeId other) {
    return static_cast<std::uint16_t>(other < own ? other : other - 1);
  }
  std::uint32_t nodes_;
};

std::unique_ptr<Topology> make_hypercube(const TopologySpec& spec) {
  return std::make_unique<Hypercube>(only_figure(spec, 22, "dimensions"));
}
std::unique_ptr<Topology> make_full_mesh(const TopologySpec& spec) {
  return std::make_unique<FullMesh>(only_figure(spec, 1024, "nodes"));
}

}  // namespace

namespace topologies {

TopologyKind hypercube() {
  return {.name = "hypercube",
          .help = "a link for each bit of the node's number",
          .shape = "[dimensions]",
          .links = {"link"},
          .samples = {{{4}}, {{1}}, {{6}}},
          .make = make_hypercube};
}

TopologyKind full_mesh() {
  return {.name = "full-mesh",
          .help = "every node linked to every other",
          .shape = "[nodes]",
          .links = {"link"},
          .samples = {{{6}}, {{2}}, {{17}}},
          .make = make_full_mesh};
}

}  // namespace topologies

}  // namespace exanet
