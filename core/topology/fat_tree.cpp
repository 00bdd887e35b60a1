// SPDX-License-Identifier: Apache-2.0
// Fat trees: k-ary n-trees (Petrini and Vanneschi 1997) and extended generalized fat trees (XGFT: Öhring and others
// 1995), thin and slimmed ones among them.
//
// The shape [m1, m2, ..., mn] of a fat-tree gives the children of a switch of each level, endpoints first: [4, 4, 4] is
// the 4-ary 3-tree of 64 endpoints (also [4, 3] of the kind k-ary-n-tree), [8, 8, 16] the three-level fat tree of 1024
// endpoints and switches of 16 ports. A switch has as many parents as children, but for the top level, which has none:
// full bisection. The shape [m1, ..., mn, w1, ..., wn] of an xgft gives the parents, too, those of an endpoint first:
// [8, 8, 16, 1, 4, 4] is the tree of 1024 with half the links above its first switches, [4, 4, 1, 1] a plain tree. A
// switch of level l is named by the subtree that it serves (endpoint / (m1...ml)) and by a number within the subtree's
// switches of that level.
//
// Routing is up to the nearest common ancestor and down; each of the equal routes up is chosen by digits of the
// destination (D-mod-k: Zahavi 2010), so packets to one endpoint meet only in a tree towards it, and a shift
// permutation meets nobody. Where an endpoint has several parents, which of them is its turn as with rails (rails.hpp),
// or each destination would receive by one of its links alone. Up before down closes no cycle: one virtual channel is
// enough.
//
// A packet to a group of nodes (docs/adr/0018-multicast-groups.md) goes up until all members are below, by digits of
// its source, and from each switch on its way down to those below that it does not come from. So copies, too, go up and
// then down.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/topology/node_groups.hpp"
#include "core/topology/rails.hpp"
#include "core/topology/registry.hpp"

namespace exanet {

namespace {

class FatTree final : public Topology {
 public:
  // By level from below: children of its switches, and parents of what is beneath it.
  FatTree(const std::vector<std::uint32_t>& children, const std::vector<std::uint32_t>& parents) {
    std::uint64_t endpoints = 1;
    for (std::size_t l = 0; l < children.size(); ++l) {
      const std::uint32_t m = children[l];
      if (m < 1 || m > 4096 || parents[l] < 1 || parents[l] > 4096)
        throw std::invalid_argument(
            "a switch of a fat tree must have from 1 to 4096 children, and from 1 to 4096 parents");
      endpoints *= m;
      if (endpoints > kMostNodes)
        throw std::invalid_argument("more than " + std::to_string(kMostNodes) + " endpoints: make it smaller");
    }
    std::uint64_t first = 0, below = 1, width = 1;
    for (std::size_t l = 0; l <= children.size(); ++l) {
      if (l > 0) below *= children[l - 1];
      if (l > 0) width = std::min<std::uint64_t>(width * parents[l - 1], kMostNodes + 1);
      const std::uint32_t down = l == 0 ? 0 : children[l - 1];
      const std::uint32_t up = l == children.size() ? 0 : parents[l];
      levels_.resize(l + 1);
      levels_[l] = {below, width, l == 0 ? 1 : width / parents[0], static_cast<std::uint32_t>(first), down, up};
      first += endpoints / below * width;
      if (first > kMostNodes)
        throw std::invalid_argument("more than " + std::to_string(kMostNodes) + " nodes: make it smaller");
    }
    nodes_ = static_cast<std::uint32_t>(first);
    endpoints_ = static_cast<std::uint32_t>(endpoints);
    top_ = static_cast<std::uint32_t>(children.size());
  }

  std::uint32_t node_count() const override { return nodes_; }
  std::uint32_t endpoint_count() const override { return endpoints_; }
  std::uint16_t rails() const override { return static_cast<std::uint16_t>(levels_[0].up); }
  std::uint8_t virtual_channels() const override { return 1; }
  bool any_equal_port() const override { return true; }  // up, and then down
  std::uint8_t link_class(NodeId, std::uint16_t) const override { return 0; }

  std::uint16_t port_count(NodeId node) const override {
    const Level& level = levels_[place(node).level];
    return static_cast<std::uint16_t>(level.down + level.up);
  }

  // Ports down come first, then ports up.
  PortRef neighbour(NodeId node, std::uint16_t port) const override {
    const Place here = place(node);
    const Level& level = levels_[here.level];
    if (port < level.down) {
      const Level& lower = levels_[here.level - 1];
      const std::uint64_t tree = here.tree * level.down + port, number = here.number % lower.width;
      return {at(here.level - 1, tree, number), static_cast<std::uint16_t>(lower.down + here.number / lower.width)};
    }
    const Level& upper = levels_[here.level + 1];
    const std::uint64_t number = here.number + level.width * (port - level.down);
    return {at(here.level + 1, here.tree / upper.down, number), static_cast<std::uint16_t>(here.tree % upper.down)};
  }

  Hop next_hop(NodeId node, NodeId dst) const override {
    const Place here = place(node);
    const Level& level = levels_[here.level];
    if (dst / level.below == here.tree)
      return {static_cast<std::uint16_t>(dst / levels_[here.level - 1].below % level.down), 0};
    if (here.level == 0 && level.up > 1) return {static_cast<std::uint16_t>(rail_of_pair(node, dst, level.up)), 0};
    return {static_cast<std::uint16_t>(level.down + dst / level.each % level.up), 0};
  }

  void minimal_ports(NodeId node, NodeId dst, PortList& out) const override {
    const Place here = place(node);
    const Level& level = levels_[here.level];
    if (dst / level.below == here.tree) return out.add(next_hop(node, dst).port);
    for (std::uint32_t up = 0; up < level.up; ++up) out.add(static_cast<std::uint16_t>(level.down + up));
  }

  bool multicasts() const override {
    return rails() == 1 && std::all_of(levels_.begin(), levels_.end(),
                                       [](const Level& level) { return level.down + level.up <= kMostCopyPorts; });
  }

  Copies copies(NodeId node, std::uint16_t from, NodeId src, NodeId to) const override {
    Copies out;
    const Place here = place(node);
    const Level& level = levels_[here.level];
    const bool climbs = from == kFromInterface || from < level.down;
    const Members& members = members_[to];
    out.here = here.level == 0 && !climbs;
    for (std::uint32_t child = 0; child < level.down; ++child)
      if (child != from && members[here.level - 1][here.tree * level.down + child] > 0) out.add(child, 0);
    if (climbs && members[here.level][here.tree] < members[top_][0])
      out.add(static_cast<std::uint32_t>(level.down + src / level.each % std::max(level.up, 1u)), 0);
    return out;
  }

  NodeId multicast_to(NodeId src, const std::vector<NodeId>& nodes) override {
    std::vector<bool> all(endpoints_);
    all[src] = true;
    for (const NodeId node : nodes) all[node] = true;
    return members_.to(std::move(all), [this](const std::vector<bool>& these) {
      Members members(levels_.size());
      for (std::size_t l = 0; l < levels_.size(); ++l) {
        members[l].resize(endpoints_ / levels_[l].below);
        for (NodeId node = 0; node < endpoints_; ++node) members[l][node / levels_[l].below] += these[node];
      }
      return members;
    });
  }

  std::string node_name(NodeId node) const override {
    const Place here = place(node);
    if (here.level == 0) return std::to_string(node).insert(0, "host");
    std::string name = "switch(" + std::to_string(here.level);
    name.append(",").append(std::to_string(here.tree)).append(",").append(std::to_string(here.number)).append(")");
    return name;
  }

  std::string port_name(NodeId node, std::uint16_t port) const override {
    const Level& level = levels_[place(node).level];
    return port < level.down ? std::to_string(port).insert(0, "down ")
                             : std::to_string(port - level.down).insert(0, "up ");
  }

  // Levels one above the other, each spread over the width of the row of endpoints.
  void position(NodeId node, float xyz[3]) const override {
    const Place here = place(node);
    const Level& level = levels_[here.level];
    const double step = static_cast<double>(level.below) / static_cast<double>(level.width);
    xyz[0] = static_cast<float>(static_cast<double>(here.tree * level.below) +
                                (static_cast<double>(here.number) + 0.5) * step);
    xyz[1] = static_cast<float>(here.level) * static_cast<float>(endpoints_) * 0.25f;
    xyz[2] = 0;
  }

  // The lower half has the first endpoints and the switches that serve no others: the cut goes through the links above
  // them.
  bool upper_half(NodeId node) const override {
    const Place here = place(node);
    return (here.tree + 1) * levels_[here.level].below > endpoints_ / 2;
  }

 private:
  struct Level {
    std::uint64_t below;  // endpoints below a switch
    std::uint64_t width;  // switches that serve the same endpoints
    std::uint64_t each;  // of these, by one of an endpoint's links
    std::uint32_t first;  // node
    std::uint32_t down, up;
  };
  using Members = std::vector<std::vector<std::uint32_t>>;  // of a multicast group: how many, by level and subtree
  struct Place {
    std::uint32_t level;
    std::uint64_t tree, number;
  };

  Place place(NodeId node) const {
    std::uint32_t level = 0;
    while (level < top_ && node >= levels_[level + 1].first) ++level;
    const std::uint64_t within = node - levels_[level].first, width = levels_[level].width;
    return {level, within / width, within % width};
  }

  NodeId at(std::uint32_t level, std::uint64_t tree, std::uint64_t number) const {
    return static_cast<NodeId>(levels_[level].first + tree * levels_[level].width + number);
  }

  std::vector<Level> levels_;
  std::uint32_t nodes_ = 0, endpoints_ = 0, top_ = 0;
  NodeGroups<Members> members_;
};

std::unique_ptr<Topology> make_fat_tree(const TopologySpec& spec) {
  const auto& children = spec.shape;
  if (children.empty())
    throw std::invalid_argument("a fat tree needs its switches' children by level, endpoints first, e.g. [4, 4, 4]");
  std::vector<std::uint32_t> parents{1};
  parents.insert(parents.end(), children.begin(), children.end() - 1);
  return std::make_unique<FatTree>(children, parents);
}

std::unique_ptr<Topology> make_k_ary_n_tree(const TopologySpec& spec) {
  if (spec.shape.size() != 2 || spec.shape[1] < 1 || spec.shape[1] > 16)
    throw std::invalid_argument(
        "a k-ary-n-tree takes [k, n]: the children of a switch, and from 1 to 16 levels, e.g. [4, 3] for 64 endpoints");
  TopologySpec tree = spec;
  tree.shape.assign(spec.shape[1], spec.shape[0]);
  return make_fat_tree(tree);
}

std::unique_ptr<Topology> make_xgft(const TopologySpec& spec) {
  const auto half = static_cast<std::ptrdiff_t>(spec.shape.size() / 2);
  if (spec.shape.empty() || spec.shape.size() % 2 != 0)
    throw std::invalid_argument(
        "an xgft takes the children of the switches of each level, then the parents of what is beneath each level, "
        "both from below, e.g. "
        "[8, 8, 16, 1, 4, 4]");
  return std::make_unique<FatTree>(std::vector<std::uint32_t>(spec.shape.begin(), spec.shape.begin() + half),
                                   std::vector<std::uint32_t>(spec.shape.begin() + half, spec.shape.end()));
}

}  // namespace

namespace topologies {

TopologyKind fat_tree() {
  return {.name = "fat-tree",
          .help = "a tree of switches with as many parents as children",
          .shape = "[children of a switch by level, endpoints first, ...]",
          .links = {"link"},
          .samples = {{{4, 4}}, {{4}}, {{4, 4, 4}}, {{3, 2, 4, 2}}, {{8, 5}}},
          .make = make_fat_tree};
}

TopologyKind k_ary_n_tree() {
  return {.name = "k-ary-n-tree",
          .help = "a fat-tree of n levels of switches with k children each",
          .shape = "[k, n]",
          .links = {"link"},
          .samples = {{{3, 3}}},
          .make = make_k_ary_n_tree};
}

TopologyKind xgft() {
  return {.name = "xgft",
          .help = "an extended generalized fat tree: thin and slimmed ones as well",
          .shape = "[children by level as for a fat-tree, ..., parents of what is beneath each level, ...]",
          .links = {"link"},
          .samples = {{{3, 4, 2, 1, 2, 2}}, {{4, 4, 4, 1, 2, 2}}, {{3, 2, 4, 1, 3, 1}}, {{4, 4, 2, 1}}},
          .make = make_xgft};
}

}  // namespace topologies

}  // namespace exanet
