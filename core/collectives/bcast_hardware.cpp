// SPDX-License-Identifier: Apache-2.0
// Broadcasts whose packets the routers copy (docs/adr/0018-multicast-groups.md).
//
// Problem: a copy is written to memory as it comes, and nothing asks for it again. Model: what fits an eager message
// goes at once, into mailboxes. For what is longer each rank posts its buffer first, and a binomial tree of empty
// messages signals to the root that all have. One rank of each node takes part, and sends to those beside it when it
// has all. Limits: a lost packet is lost, as nobody acknowledges.
#include <utility>

#include "core/collectives/network_trees.hpp"
#include "core/collectives/registry.hpp"
#include "core/topology/multicast.hpp"

namespace exanet {

Multicasts make_multicasts(Topology& topology, const std::vector<NodeId>& placement, RankId first,
                           const NiConfig& interface, std::function<std::uint32_t(RankGroup)> add_group) {
  const auto add = [&topology, &placement, first, add_group = std::move(add_group)](
                       std::uint32_t root, const std::vector<std::uint32_t>& members) {
    RankGroup group;
    group.from = first + root;
    std::vector<NodeId> nodes;
    for (const std::uint32_t rank : members) {
      group.members.push_back(first + rank);
      nodes.push_back(placement[rank]);
    }
    const NodeId from = placement[root];
    group.to = topology.multicast_to(from, nodes);
    group.copies = static_cast<std::uint32_t>(multicast_destinations(topology, from, group.to).size());
    return add_group(std::move(group));
  };
  return {static_cast<std::uint64_t>(interface.eager_max_bytes), add};
}

const BroadcastGroup& RankPlaces::broadcast_group(const CollectiveCall& call) {
  BroadcastGroup& group = groups_[{call.members, call.root}];
  if (group.leader_of.size() == call.ranks) return group;
  members_ = call.members;
  const auto world = [&](std::uint32_t rank) {
    return call.members == nullptr ? rank : static_cast<std::uint32_t>((*call.members)[rank]);
  };
  group = {0, {}, Ranks(call.ranks)};
  std::map<NodeId, std::uint32_t> at;
  for (std::uint32_t i = 0; i < call.ranks; ++i) {
    const std::uint32_t rank = call.absolute(i);
    const auto [place, is_new] = at.try_emplace(node(rank), static_cast<std::uint32_t>(group.leaders.size()));
    if (is_new) group.leaders.push_back(rank);
    group.leader_of[rank] = place->second;
  }
  Ranks others;
  for (std::size_t i = 1; i < group.leaders.size(); ++i) others.push_back(world(group.leaders[i]));
  if (!others.empty()) group.number = multicasts_->add_group(world(call.root), others);
  return group;
}

namespace {

void bcast_hardware(const CollectiveCall& c, Schedule& out) {
  if (c.places == nullptr || !c.places->multicasts()) return plan_algorithm("bcast", "binomial", c, out);
  const BroadcastGroup& group = c.places->broadcast_group(c);
  const std::uint32_t place = group.leader_of[c.me], leaders = static_cast<std::uint32_t>(group.leaders.size());
  if (group.leaders[place] != c.me) return out.receive_alone(group.leaders[place]);
  const bool asks = c.bytes > c.places->multicasts()->eager_max_bytes;
  std::uint32_t bit = 1;
  for (; asks && bit < leaders && (place & bit) == 0; bit *= 2)
    if (place + bit < leaders) out.hear(group.leaders[place + bit]);
  out.stage();
  if (place == 0 && leaders > 1) out.send_to_group(group.number, c.bytes);
  if (place != 0) {
    out.receive_copy(c.root);
    if (asks) out.signal(group.leaders[place - bit]);
  }
  out.stage();
  for (std::uint32_t rank = 0; rank < c.ranks; ++rank)
    if (rank != c.me && group.leader_of[rank] == place) out.send(rank, c.bytes);
  out.stage();
}

}  // namespace

namespace collectives {

std::vector<CollectiveAlgorithm> copies() {
  return {{.collective = "bcast",
           .name = "hardware",
           .help = "packets that routers copy",
           .plan = bcast_hardware,
           .by = CarriedOutBy::copies,
           .knows_network = true,
           .for_programs = true}};
}

}  // namespace collectives

}  // namespace exanet
