// SPDX-License-Identifier: Apache-2.0
// Dragonfly (Kim, Dally, Scott and Abts 2008): groups of `a` switches in a full mesh, each switch with `p` endpoints
// and `h` links to other groups, and one link between each two of the a*h + 1 groups. The shape [h] is the balanced
// one, p = h and a = 2h (h = 3: 342 endpoints, h = 13: 114,582); the shape [p, a, h] any other.
//
// Group G's links to other groups, counted through its switches, lead to groups 0, 1, ... without G (the "absolute"
// arrangement). Routing is minimal: to the switch of this group that has the link to the destination's group, over it,
// and to the destination's switch. Links inside the source's group use virtual channel 0, those inside the
// destination's channel 1, links between groups channel 0: each way climbs (local 0, global 0, local 1), so there is no
// cycle. A way over two global links is sometimes shorter in links; it is not taken.
//
// A packet to a group of nodes (docs/adr/0018-multicast-groups.md) goes from its source's switch to all switches of its
// group that have members or a link to a group that has, by channel 0; from there over each such link, once; and in the
// other groups to the switches that have members, by channel 1. So copies climb as well, by the same channels.
#include <utility>

#include "core/topology/hosted.hpp"
#include "core/topology/node_groups.hpp"
#include "core/topology/registry.hpp"

namespace exanet {

namespace {

struct Parameters {
  std::uint64_t hosts, group, global;
  std::uint64_t groups() const { return group * global + 1; }
};

Parameters parameters(const std::vector<std::uint32_t>& shape) {
  if (shape.size() != 1 && shape.size() != 3)
    throw std::invalid_argument(
        "a dragonfly takes [h], the links of a switch to other groups (balanced: h endpoints a switch, 2h switches a "
        "group), or all three "
        "of "
        "[endpoints a switch, switches a group, links of a switch to other groups]");
  for (const std::uint32_t n : shape)
    if (n < 1 || n > 1024) throw std::invalid_argument("the figures of a dragonfly are from 1 to 1024");
  if (shape.size() == 1) return {shape[0], 2 * std::uint64_t{shape[0]}, shape[0]};
  return {shape[0], shape[1], shape[2]};
}

class Dragonfly final : public HostedTopology {
 public:
  explicit Dragonfly(const Parameters& p)
      : HostedTopology(p.hosts, p.group * p.groups(), p.group - 1 + p.global),
        group_(static_cast<std::uint32_t>(p.group)),
        global_(static_cast<std::uint32_t>(p.global)),
        groups_(static_cast<std::uint32_t>(p.groups())) {}

  bool shortest() const override { return false; }

  bool multicasts() const override { return hosts_ + fabric_ports_ <= kMostCopyPorts; }

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
    const std::uint32_t far_group = link < group ? link : link + 1, back = link_to(far_group, group);
    return {far_group * group_ + back / global_, static_cast<std::uint16_t>(group_ - 1 + back % global_)};
  }

  Hop towards(std::uint32_t here, std::uint32_t there) const override {
    const std::uint32_t group = here / group_, far_group = there / group_, member = here % group_;
    if (group == far_group) return {local_port(member, there % group_), 1};
    const std::uint32_t link = link_to(group, far_group), exit = link / global_;
    if (exit == member) return {static_cast<std::uint16_t>(group_ - 1 + link % global_), 0};
    return {local_port(member, exit), 0};
  }

  std::uint8_t fabric_link_class(std::uint16_t port) const override { return port < group_ - 1 ? 0 : 1; }

  std::string switch_name(std::uint32_t number) const override {
    std::string name = "group" + std::to_string(number / group_);
    return name.append(".s").append(std::to_string(number % group_));
  }

  std::string fabric_port_name(std::uint32_t number, std::uint16_t port) const override {
    const PortRef far = beyond(number, port);
    return port < group_ - 1 ? std::to_string(far.node % group_).insert(0, "s")
                             : std::to_string(far.node / group_).insert(0, "group");
  }

  void switch_position(std::uint32_t number, float xyz[3]) const override {
    xyz[0] = static_cast<float>(number % group_);
    xyz[1] = static_cast<float>(number / group_) * 2;
    xyz[2] = 0;
  }

  bool switch_upper_half(std::uint32_t number) const override { return number / group_ >= groups_ / 2; }

 private:
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
    return number < here / group_ ? number : number + 1;
  }
  static std::uint16_t local_port(std::uint32_t member, std::uint32_t other) {
    return static_cast<std::uint16_t>(other < member ? other : other - 1);
  }
  static std::uint32_t link_to(std::uint32_t group, std::uint32_t other) { return other < group ? other : other - 1; }

  std::uint32_t group_, global_, groups_;
  NodeGroups<Members> members_;
};

std::unique_ptr<Topology> make_dragonfly(const TopologySpec& spec) {
  return std::make_unique<Dragonfly>(parameters(spec.shape));
}

}  // namespace

namespace topologies {

TopologyKind dragonfly() {
  return {.name = "dragonfly",
          .help = "groups of fully meshed switches, and a link between each two groups",
          .shape = "[h] or [endpoints a switch, switches a group, links of a switch to other groups]",
          .links = {"local", "global"},
          .samples = {{{2}}, {{1}}, {{3}}, {{2, 3, 1}}, {{1, 1, 4}}},
          .make = make_dragonfly};
}

}  // namespace topologies

}  // namespace exanet
