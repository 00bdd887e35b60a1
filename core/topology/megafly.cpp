// SPDX-License-Identifier: Apache-2.0
// Megafly (Flajslik, Borch and Parker 2018), which is Dragonfly+ (Shpiner and others 2017): groups of leaf switches
// with endpoints and spine switches with links to other groups, each leaf linked to each spine of its group, and one
// link between each two groups.
//
// The shape is [endpoints a leaf, leaves a group, spines a group, links of a spine to other groups]; there are spines *
// links + 1 groups. [8, 4, 4, 2] has 9 groups and 288 endpoints. Group G's links to other groups, counted through its
// spines, lead to groups 0, 1, ... without G.
//
// Routing is minimal: up to the spine that has the link to the destination's group, over it, and down; inside a group
// up to the spine that the destination's number says, and down. Every way is up, across, down: one virtual channel is
// enough.
#include <stdexcept>

#include "core/topology/halves.hpp"
#include "core/topology/registry.hpp"

namespace exanet {

namespace {

class Megafly final : public Topology {
 public:
  Megafly(std::uint32_t hosts, std::uint32_t leaves, std::uint32_t spines, std::uint32_t global)
      : hosts_(hosts), leaves_(leaves), spines_(spines), global_(global), groups_(spines * global + 1) {
    endpoints_ = groups_ * leaves_ * hosts_;
    first_spine_ = endpoints_ + groups_ * leaves_;
  }

  std::uint32_t node_count() const override { return first_spine_ + groups_ * spines_; }
  std::uint32_t endpoint_count() const override { return endpoints_; }
  std::uint8_t virtual_channels() const override { return 1; }

  std::uint16_t port_count(NodeId node) const override {
    return static_cast<std::uint16_t>(node < endpoints_     ? 1
                                      : node < first_spine_ ? hosts_ + spines_
                                                            : leaves_ + global_);
  }

  // A leaf's ports: endpoints, then spines. A spine's: leaves, then other groups.
  PortRef neighbour(NodeId node, std::uint16_t port) const override {
    if (node < endpoints_) return {endpoints_ + node / hosts_, static_cast<std::uint16_t>(node % hosts_)};
    if (node < first_spine_) {
      const std::uint32_t leaf = node - endpoints_;
      if (port < hosts_) return {leaf * hosts_ + port, 0};
      return {first_spine_ + leaf / leaves_ * spines_ + (port - hosts_), static_cast<std::uint16_t>(leaf % leaves_)};
    }
    const std::uint32_t spine = node - first_spine_, group = spine / spines_;
    if (port < leaves_)
      return {endpoints_ + group * leaves_ + port, static_cast<std::uint16_t>(hosts_ + spine % spines_)};
    const std::uint32_t link = spine % spines_ * global_ + (port - leaves_);
    const std::uint32_t far_group = link < group ? link : link + 1, back = link_to(far_group, group);
    return {first_spine_ + far_group * spines_ + back / global_, static_cast<std::uint16_t>(leaves_ + back % global_)};
  }

  Hop next_hop(NodeId at, NodeId dst) const override {
    if (at < endpoints_) return {0, 0};
    const std::uint32_t far_leaf = dst / hosts_, far_group = far_leaf / leaves_;
    if (at < first_spine_) {
      const std::uint32_t leaf = at - endpoints_, group = leaf / leaves_;
      if (leaf == far_leaf) return {static_cast<std::uint16_t>(dst % hosts_), 0};
      const std::uint32_t spine = group == far_group ? dst % spines_ : link_to(group, far_group) / global_;
      return {static_cast<std::uint16_t>(hosts_ + spine), 0};
    }
    const std::uint32_t spine = at - first_spine_, group = spine / spines_;
    if (group == far_group) return {static_cast<std::uint16_t>(far_leaf % leaves_), 0};
    const std::uint32_t link = link_to(group, far_group);
    if (link / global_ == spine % spines_) return {static_cast<std::uint16_t>(leaves_ + link % global_), 0};
    return {0, 0};  // no minimal way leads here; down to a leaf, and up again to the right spine
  }

  void minimal_ports(NodeId at, NodeId dst, PortList& out) const override {
    const std::uint32_t leaf = at - endpoints_, far_leaf = dst / hosts_;
    if (at < endpoints_ || at >= first_spine_ || leaf == far_leaf || leaf / leaves_ != far_leaf / leaves_)
      return out.add(next_hop(at, dst).port);
    for (std::uint32_t spine = 0; spine < spines_; ++spine) out.add(static_cast<std::uint16_t>(hosts_ + spine));
  }

  std::uint8_t link_class(NodeId node, std::uint16_t port) const override {
    return node >= first_spine_ && port >= leaves_ ? 1 : 0;
  }

  std::string node_name(NodeId node) const override {
    if (node < endpoints_) {
      std::string name = node_name(endpoints_ + node / hosts_);
      return name.append(".").append(std::to_string(node % hosts_));
    }
    const bool leaf = node < first_spine_;
    const std::uint32_t number = leaf ? node - endpoints_ : node - first_spine_, size = leaf ? leaves_ : spines_;
    std::string name = "group" + std::to_string(number / size);
    return name.append(leaf ? ".leaf" : ".spine").append(std::to_string(number % size));
  }

  std::string port_name(NodeId node, std::uint16_t port) const override {
    if (node < endpoints_) return "leaf";
    if (node < first_spine_)
      return port < hosts_ ? std::to_string(port).insert(0, "host ") : std::to_string(port - hosts_).insert(0, "spine");
    if (port < leaves_) return std::to_string(port).insert(0, "leaf");
    return std::to_string((neighbour(node, port).node - first_spine_) / spines_).insert(0, "group");
  }

  // A group is a row: its spines above its leaves, and each leaf's endpoints below it.
  void position(NodeId node, float xyz[3]) const override {
    const bool spine = node >= first_spine_;
    const std::uint32_t leaf = node < endpoints_ ? node / hosts_ : node - endpoints_, number = node - first_spine_;
    xyz[0] = static_cast<float>(spine ? number % spines_ : leaf % leaves_) * 2;
    xyz[1] = static_cast<float>(spine ? number / spines_ : leaf / leaves_) * 2;
    xyz[2] = spine ? 2 : 1;
    if (node < endpoints_) xyz[2] -= 0.8f * static_cast<float>(node % hosts_ + 1) / static_cast<float>(hosts_);
  }

  bool upper_half(NodeId node) const override { return halves_.upper(*this, node); }

 private:
  static std::uint32_t link_to(std::uint32_t group, std::uint32_t other) { return other < group ? other : other - 1; }

  std::uint32_t hosts_, leaves_, spines_, global_, groups_, endpoints_ = 0, first_spine_ = 0;
  SearchedHalves halves_;
};

std::unique_ptr<Topology> make_megafly(const TopologySpec& spec) {
  const auto& s = spec.shape;
  if (s.size() != 4)
    throw std::invalid_argument(
        "a megafly takes [endpoints a leaf, leaves a group, spines a group, links of a spine to other groups], e.g. "
        "[8, 4, 4, 2]");
  for (const std::uint32_t n : s)
    if (n < 1 || n > 1024) throw std::invalid_argument("each parameter of a megafly must be from 1 to 1024");
  const std::uint64_t groups = std::uint64_t{s[2]} * s[3] + 1;
  if (groups * (std::uint64_t{s[0]} * s[1] + s[1] + s[2]) > kMostNodes)
    throw std::invalid_argument("endpoints and switches together are more than " + std::to_string(kMostNodes) +
                                ": make it smaller");
  return std::make_unique<Megafly>(s[0], s[1], s[2], s[3]);
}

}  // namespace

namespace topologies {

TopologyKind megafly() {
  return {.name = "megafly",
          .help = "a dragonfly whose groups are leaves and spines (Dragonfly+)",
          .shape = "[endpoints a leaf, leaves a group, spines a group, links of a spine to other groups]",
          .links = {"local", "global"},
          .samples = {{{2, 2, 2, 1}}, {{3, 2, 4, 2}}, {{1, 3, 1, 2}}},
          .make = make_megafly};
}

}  // namespace topologies

}  // namespace exanet
