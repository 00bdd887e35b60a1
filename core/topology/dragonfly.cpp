// SPDX-License-Identifier: Apache-2.0
// Dragonfly (Kim, Dally, Scott and Abts 2008): groups of `a` switches in a full mesh, each switch with `p` endpoints
// and `h` links to other groups, and one link between each two of the a*h + 1 groups. The shape [h] is the balanced
// one, p = h and a = 2h (h = 3: 342 endpoints, h = 13: 114,582); the shape [p, a, h] any other. In the shape [p, a, h,
// g] there are g groups, and the a*h links of a group are divided equally among the g - 1 others, as machines are built
// that are smaller than the largest dragonfly of their switches (Slingshot). What is left of the division are ports
// without a link.
//
// Group G's links to other groups are counted through its switches. The first g - 1 lead to one group each, and so do
// the next ones: links between two groups are spread over their switches. In which order is the arrangement. absolute:
// groups 0, 1, ... without G (Kim's; "consecutive" of Hastings and others 2015). relative: G + 1, G + 2, ...
// ("relative" of SST's merlin). palmtree: G - 1, G - 2, ... (Camarero and others 2014). circulant: G + 1, G - 1, G + 2,
// ... (Hastings and others; "circulant" of SST's merlin).
//
// Routing is minimal: over the link to the destination's group with the fewest links inside both groups, of several
// such links that of the switches' numbers. Links inside the source's group use virtual channel 0, those inside the
// destination's channel 1, links between groups channel 0: each way climbs (local 0, global 0, local 1), so there is no
// cycle, whichever of these links is taken at each switch. A way over two global links is sometimes shorter in links;
// it is not taken.
//
// A packet to a group of nodes (docs/adr/0018-multicast-groups.md) goes from its source's switch to all switches of its
// group that have members or a link to a group that has, by channel 0; from there over each such link, once; and in the
// other groups to the switches that have members, by channel 1. So copies climb as well, by the same channels. Only
// where each link leads to another group.
#include <algorithm>
#include <array>
#include <utility>

#include "core/config/names.hpp"
#include "core/topology/hosted.hpp"
#include "core/topology/node_groups.hpp"
#include "core/topology/registry.hpp"

namespace exanet {

namespace {

struct Parameters {
  std::uint64_t hosts, group, global, groups;
};

Parameters parameters(const std::vector<std::uint32_t>& shape) {
  if (shape.size() != 1 && shape.size() != 3 && shape.size() != 4)
    throw std::invalid_argument(
        "a dragonfly takes [h], the links of a switch to other groups (balanced: h endpoints a switch, 2h switches a "
        "group), or all three of [endpoints a switch, switches a group, links of a switch to other groups], or these "
        "and the number of groups");
  for (const std::uint32_t n : shape)
    if (n < 1 || n > 1024) throw std::invalid_argument("each parameter of a dragonfly must be from 1 to 1024");
  const std::uint64_t global = shape.size() == 1 ? shape[0] : shape[2];
  const std::uint64_t group = shape.size() == 1 ? 2 * global : shape[1], links = group * global;
  if (shape.size() < 4) return {shape[0], group, global, links + 1};
  if (shape[3] >= 2 && shape[3] <= links + 1) return {shape[0], group, global, shape[3]};
  throw std::invalid_argument("a dragonfly with " + std::to_string(links) + " links a group to others has from 2 to " +
                              std::to_string(links + 1) +
                              " groups: change the number of groups, or the links of a switch");
}

// Which group a group's link leads to, of `groups` in all, and the number of the same link among those of that group,
// both of links 0 to groups - 2.
struct Arrangement {
  const char* name;
  std::uint32_t (*far)(std::uint32_t group, std::uint32_t link, std::uint32_t groups);
  std::uint32_t (*link)(std::uint32_t group, std::uint32_t far, std::uint32_t groups);
};

constexpr std::array kArrangements{
    Arrangement{"absolute",
                [](std::uint32_t group, std::uint32_t link, std::uint32_t) { return link < group ? link : link + 1; },
                [](std::uint32_t group, std::uint32_t far, std::uint32_t) { return far < group ? far : far - 1; }},
    Arrangement{"relative",
                [](std::uint32_t group, std::uint32_t link, std::uint32_t n) { return (group + link + 1) % n; },
                [](std::uint32_t group, std::uint32_t far, std::uint32_t n) { return (far + n - group - 1) % n; }},
    Arrangement{"palmtree",
                [](std::uint32_t group, std::uint32_t link, std::uint32_t n) { return (group + n - link - 1) % n; },
                [](std::uint32_t group, std::uint32_t far, std::uint32_t n) { return (group + n - far - 1) % n; }},
    Arrangement{"circulant",
                [](std::uint32_t group, std::uint32_t link, std::uint32_t n) {
                  return (group + (link % 2 == 0 ? link / 2 + 1 : n - link / 2 - 1)) % n;
                },
                [](std::uint32_t group, std::uint32_t far, std::uint32_t n) {
                  const std::uint32_t up = (far + n - group) % n, down = n - up;
                  return up <= down ? 2 * up - 2 : 2 * down - 1;
                }},
};

const Arrangement& arrangement(const std::string& name) {
  std::string known;
  for (const Arrangement& a : kArrangements) {
    if (name == a.name || (name.empty() && &a == kArrangements.data())) return a;
    known.append(known.empty() ? "" : ", ").append(a.name);
  }
  reject_name("topology.arrangement", "is no arrangement", name, known);
}

class Dragonfly final : public HostedTopology {
 public:
  Dragonfly(const Parameters& p, const Arrangement& arranged)
      : HostedTopology(p.hosts, p.group * p.groups, p.group - 1 + p.global),
        arranged_(arranged),
        group_(static_cast<std::uint32_t>(p.group)),
        global_(static_cast<std::uint32_t>(p.global)),
        groups_(static_cast<std::uint32_t>(p.groups)),
        links_each_(group_ * global_ / (groups_ - 1)) {}

  bool shortest() const override { return false; }

  // Links to one group may be taken in any combination: routes climb by any of them.
  bool any_equal_port() const override { return links_each_ > 1; }

  bool multicasts() const override {
    return links_each_ == 1 && groups_ == group_ * global_ + 1 && hosts_ + fabric_ports_ <= kMostCopyPorts;
  }

  Copies copies(NodeId at, std::uint16_t from, NodeId src, NodeId to) const override {
    Copies out;
    const bool fresh = from == kFromInterface;
    if (at < endpoints_) {
      out.here = !fresh;
      if (fresh) out.add(0, 0);
      return out;
    }
    const Members& members = members_[to];
    const std::uint32_t here = at - endpoints_, group = here / group_, member = here % group_;
    const bool first = from < hosts_, from_afar = from >= hosts_ + group_ - 1, local = src / hosts_ / group_ == group;
    for (std::uint32_t host = 0; host < hosts_; ++host)
      if (const NodeId node = here * hosts_ + host; node != src && members.nodes[node]) out.add(host, 0);
    for (std::uint32_t other = 0; other < group_ && (first || from_afar); ++other) {
      const std::uint32_t there = group * group_ + other;
      if (other != member && (members.switches[there] || (first && members.beyond[there])))
        out.add(hosts_ + local_port(member, other), first ? 0 : 1);
    }
    if (!first && (from_afar || !local)) return out;
    for (std::uint32_t link = 0; link < global_; ++link)
      if (members.groups[far_group(here, link)]) out.add(hosts_ + group_ - 1 + link, 0);
    return out;
  }

  NodeId multicast_to(NodeId src, const std::vector<NodeId>& nodes) override {
    std::vector<bool> all(endpoints_);
    all[src] = true;
    for (const NodeId node : nodes) all[node] = true;
    return members_.to(std::move(all), [this](const std::vector<bool>& these) { return members_of(these); });
  }

 protected:
  PortRef beyond(std::uint32_t here, std::uint16_t port) const override {
    const std::uint32_t group = here / group_, member = here % group_;
    if (port < group_ - 1) {
      const std::uint32_t other = port < member ? port : port + 1u;
      return {group * group_ + other, local_port(other, member)};
    }
    const std::uint32_t link = member * global_ + (port - (group_ - 1));
    if (link >= links_each_ * (groups_ - 1)) return {};
    const std::uint32_t far = far_group(here, port - (group_ - 1)), back = link_to(far, group, link / (groups_ - 1));
    return {far * group_ + back / global_, static_cast<std::uint16_t>(group_ - 1 + back % global_)};
  }

  Hop towards(std::uint32_t here, std::uint32_t there) const override {
    const std::uint32_t group = here / group_, far_group = there / group_, member = here % group_;
    if (group == far_group) return {local_port(member, there % group_), 1};
    std::uint32_t least = kMostCost, equal = 0;
    for (std::uint32_t copy = 0; copy < links_each_; ++copy) {
      const std::uint32_t cost = cost_of(here, there, copy);
      equal = cost < least ? 1 : equal + (cost == least);
      least = std::min(least, cost);
    }
    std::uint32_t chosen = equal == 1 ? 0 : (here + there) % equal;  // a link for each pair of switches
    for (std::uint32_t copy = 0;; ++copy)
      if (cost_of(here, there, copy) == least && chosen-- == 0)
        return {first_port(member, link_to(group, far_group, copy)), 0};
  }

  void minimal_towards(std::uint32_t here, std::uint32_t there, PortList& out) const override {
    const std::uint32_t group = here / group_, far_group = there / group_, first = out.count;
    if (group == far_group || links_each_ == 1) return out.add(towards(here, there).port);
    std::uint32_t least = kMostCost;
    for (std::uint32_t copy = 0; copy < links_each_; ++copy) least = std::min(least, cost_of(here, there, copy));
    for (std::uint32_t copy = 0; copy < links_each_; ++copy) {
      if (cost_of(here, there, copy) != least) continue;
      const std::uint16_t port = first_port(here % group_, link_to(group, far_group, copy));
      if (std::find(out.port + first, out.port + out.count, port) == out.port + out.count) out.add(port);
    }
  }

  std::uint8_t fabric_link_class(std::uint16_t port) const override { return port < group_ - 1 ? 0 : 1; }

  std::string switch_name(std::uint32_t number) const override {
    std::string name = "group" + std::to_string(number / group_);
    return name.append(".s").append(std::to_string(number % group_));
  }

  std::string fabric_port_name(std::uint32_t number, std::uint16_t port) const override {
    const PortRef far = beyond(number, port);
    if (far.node == kNoNode) return std::to_string(port - (group_ - 1)).insert(0, "unused ");
    return port < group_ - 1 ? std::to_string(far.node % group_).insert(0, "s")
                             : std::to_string(far.node / group_).insert(0, "group") + copy_name(number, port);
  }

  void switch_position(std::uint32_t number, float xyz[3]) const override {
    xyz[0] = static_cast<float>(number % group_);
    xyz[1] = static_cast<float>(number / group_) * 2;
    xyz[2] = 0;
  }

 private:
  static constexpr std::uint32_t kMostCost = 3;

  // Links inside the two groups of a route by this one of the links between them.
  std::uint32_t cost_of(std::uint32_t here, std::uint32_t there, std::uint32_t copy) const {
    const std::uint32_t group = here / group_, far = there / group_;
    return (link_to(group, far, copy) / global_ != here % group_) +
           (link_to(far, group, copy) / global_ != there % group_);
  }
  // Of the switch, towards this link of its group.
  std::uint16_t first_port(std::uint32_t member, std::uint32_t link) const {
    if (link / global_ == member) return static_cast<std::uint16_t>(group_ - 1 + link % global_);
    return local_port(member, link / global_);
  }
  // Distinguishes links of one switch to the same group.
  std::string copy_name(std::uint32_t here, std::uint16_t port) const {
    if (links_each_ == 1) return "";
    const std::uint32_t link = here % group_ * global_ + (port - (group_ - 1));
    return "." + std::to_string(link / (groups_ - 1));
  }

  // Nodes of a multicast group, the switches and groups of switches in which any of them is, and the switches with a
  // link to such a group.
  struct Members {
    std::vector<bool> nodes, switches, groups, beyond;
  };

  Members members_of(const std::vector<bool>& nodes) const {
    Members members{nodes, std::vector<bool>(switches_), std::vector<bool>(groups_), std::vector<bool>(switches_)};
    for (NodeId node = 0; node < endpoints_; ++node) {
      if (!nodes[node]) continue;
      members.switches[node / hosts_] = true;
      members.groups[node / hosts_ / group_] = true;
    }
    for (std::uint32_t here = 0; here < switches_; ++here)
      for (std::uint32_t link = 0; link < global_; ++link)
        if (members.groups[far_group(here, link)]) members.beyond[here] = true;
    return members;
  }
  // Where a switch's link to another group leads.
  std::uint32_t far_group(std::uint32_t here, std::uint32_t link) const {
    const std::uint32_t number = here % group_ * global_ + link;
    return arranged_.far(here / group_, number % (groups_ - 1), groups_);
  }
  static std::uint16_t local_port(std::uint32_t member, std::uint32_t other) {
    return static_cast<std::uint16_t>(other < member ? other : other - 1);
  }
  // The number of a group's link to another one, of which there are links_each_.
  std::uint32_t link_to(std::uint32_t group, std::uint32_t other, std::uint32_t copy) const {
    return copy * (groups_ - 1) + arranged_.link(group, other, groups_);
  }

  const Arrangement& arranged_;
  std::uint32_t group_, global_, groups_, links_each_;
  NodeGroups<Members> members_;
};

std::unique_ptr<Topology> make_dragonfly(const TopologySpec& spec) {
  return std::make_unique<Dragonfly>(parameters(spec.shape), arrangement(spec.arrangement));
}

}  // namespace

namespace topologies {

TopologyKind dragonfly() {
  return {.name = "dragonfly",
          .help = "groups of fully meshed switches, and a link or several between each two groups",
          .shape =
              "[h] or [endpoints a switch, switches a group, links of a switch to other groups], or these and the "
              "number of groups",
          .links = {"local", "global"},
          .samples = {{{2}},
                      {{1}},
                      {{3}},
                      {{2, 3, 1}},
                      {{1, 1, 4}},
                      {{1, 4, 3, 3}},
                      {{1, 3, 3, 5}},
                      {{1, 2, 4, 2}},
                      {.shape = {2, 4, 2}, .arrangement = "palmtree"},
                      {.shape = {2, 4, 2, 5}, .arrangement = "relative"},
                      {.shape = {1, 3, 3, 4}, .arrangement = "circulant"}},
          .make = make_dragonfly};
}

}  // namespace topologies

}  // namespace exanet
