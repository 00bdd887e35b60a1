// SPDX-License-Identifier: Apache-2.0
// Builds the trees of network_trees.hpp: finds the units of the network, and links the ranks of each.
//
// Problem: a tree is to enter each node, switch and group of switches once. Model: units nest; the ranks of one are
// covered from the rank that it is entered by, recursively. Limits: the tree is made by one rank for all, and kept by
// communicator.
#include "core/collectives/network_trees.hpp"

#include <algorithm>
#include <numeric>

#include "core/collectives/registry.hpp"
#include "core/topology/metrics.hpp"

namespace exanet {

namespace {

// Numbers the parts of the network that hang together without links of the last kind, by node. With one kind of link
// each router is a part.
std::vector<std::uint32_t> parts_without_last_links(const Topology& t) {
  std::uint8_t last = 0;
  const auto each_link = [&t](auto visit) {
    for (NodeId n = 0; n < t.node_count(); ++n)
      for (std::uint16_t p = 0; p < t.port_count(n); ++p)
        if (const NodeId far = t.neighbour(n, p).node; far != kNoNode && t.alive(n) && t.alive(far))
          visit(n, far, t.link_class(n, p), n < t.endpoint_count() || far < t.endpoint_count());
  };
  each_link([&](NodeId, NodeId, std::uint8_t kind, bool to_endpoint) {
    if (!to_endpoint || !t.switched()) last = std::max(last, kind);
  });
  std::vector<std::uint32_t> part(t.node_count());
  std::iota(part.begin(), part.end(), 0u);
  const auto find = [&part](std::uint32_t n) {
    while (part[n] != n) n = part[n] = part[part[n]];
    return n;
  };
  each_link([&](NodeId a, NodeId b, std::uint8_t kind, bool to_endpoint) {
    if (kind < last || (to_endpoint && t.switched())) part[find(a)] = find(b);
  });
  for (NodeId n = 0; n < t.node_count(); ++n) part[n] = find(n);
  return part;
}

}  // namespace

RankPlaces::RankPlaces(const Topology& topology, const std::vector<NodeId>& placement,
                       std::optional<Multicasts> multicasts, std::optional<InterfaceReductions> reductions)
    : topology_(topology),
      placement_(placement),
      group_of_(parts_without_last_links(topology)),
      multicasts_(std::move(multicasts)),
      reductions_(std::move(reductions)) {
  for (NodeId endpoint = 0; endpoint < topology.endpoint_count(); ++endpoint)
    switch_of_.push_back(topology.switched() ? topology.neighbour(endpoint, 0).node : endpoint);
}

NodeId RankPlaces::node(std::uint32_t rank) const { return placement_[members_ == nullptr ? rank : (*members_)[rank]]; }

std::uint32_t RankPlaces::unit(int level, std::uint32_t rank) const {
  const NodeId at = node(rank);
  return level == 0 ? rank : level == 1 ? at : level == 2 ? switch_of_[at] : group_of_[at];
}

std::uint32_t RankPlaces::hops(std::uint32_t from, std::uint32_t to) const {
  return hop_count(topology_, node(from), node(to));
}

std::uint32_t RankPlaces::nearest(const Ranks& among, std::uint32_t to) const {
  return *std::min_element(among.begin(), among.end(),
                           [&](std::uint32_t a, std::uint32_t b) { return hops(to, a) < hops(to, b); });
}

// Of those with the fewest children the nearest one.
std::uint32_t RankPlaces::least_loaded(const Ranks& among, std::uint32_t to) const {
  std::size_t least = SIZE_MAX;
  for (const std::uint32_t rank : among) least = std::min(least, made_->children[rank].size());
  Ranks idle;
  for (const std::uint32_t rank : among)
    if (made_->children[rank].size() == least) idle.push_back(rank);
  return nearest(idle, to);
}

void RankPlaces::link(std::uint32_t from, std::uint32_t to) {
  made_->children[from].push_back(to);
  made_->parent[to] = from;
}

// The units of a level into which ranks fall, in the order of their first ranks, the one with `head` before the others.
std::vector<RankPlaces::Ranks> RankPlaces::units(const Ranks& ranks, int level, std::uint32_t head) const {
  std::map<std::uint32_t, std::size_t> place;
  std::vector<Ranks> found;
  const std::uint32_t first = unit(level, head);
  place[first] = 0;
  found.emplace_back();
  for (const std::uint32_t rank : ranks) {
    const auto [entry, is_new] = place.try_emplace(unit(level, rank), found.size());
    if (is_new) found.emplace_back();
    found[entry->second].push_back(rank);
  }
  return found;
}

// Spreads from `head` to all `ranks` of a unit of this level, along a binary tree of the units below.
void RankPlaces::cover(const Ranks& ranks, int level, std::uint32_t head) {
  if (ranks.size() < 2) return;
  const std::vector<Ranks> below = units(ranks, level - 1, head);
  Ranks heads{head};
  const bool local_first = made_->order == LinkOrder::local_first;
  if (local_first) cover(below[0], level - 1, head);
  for (std::size_t i = 1; i < below.size(); ++i) {
    const std::size_t above = (i - 1) / 2;
    const std::uint32_t from = local_first ? least_loaded(below[above], below[i].front()) : heads[above];
    heads.push_back(nearest(below[i], from));
    link(from, heads.back());
    if (local_first) cover(below[i], level - 1, heads.back());
  }
  for (std::size_t i = 0; i < below.size() && !local_first; ++i) cover(below[i], level - 1, heads[i]);
}

const NetworkTree& RankPlaces::tree(LinkOrder order, const CollectiveCall& call) {
  NetworkTree& tree = trees_[call.members];
  if (tree.parent.size() == call.ranks && tree.root == call.root && tree.order == order) return tree;
  made_ = &tree;
  members_ = call.members;
  tree = {call.root, order, Ranks(call.ranks, call.root), std::vector<Ranks>(call.ranks)};
  Ranks all(call.ranks);
  for (std::uint32_t i = 0; i < call.ranks; ++i) all[i] = call.absolute(i);
  cover(all, kLevels, call.root);
  return tree;
}

namespace {

// Without a network all ranks are alike, and both orders are the binary tree.
template <LinkOrder kOrder>
void bcast_along_links(const CollectiveCall& c, Schedule& out) {
  if (c.places == nullptr) return plan_algorithm("bcast", "binary", c, out);
  const NetworkTree& tree = c.places->tree(kOrder, c);
  if (c.me != c.root) out.receive_alone(tree.parent[c.me]);
  for (const std::uint32_t child : tree.children[c.me]) out.send_alone(child, c.bytes);
}

}  // namespace

namespace collectives {

std::vector<CollectiveAlgorithm> network_trees() {
  return {
      {.collective = "bcast",
       .name = "LLF",
       .help = "a tree that knows the network, local links first",
       .plan = bcast_along_links<LinkOrder::local_first>,
       .knows_network = true,
       .for_programs = true},
      {.collective = "bcast",
       .name = "GLF",
       .help = "a tree that knows the network, global links first",
       .plan = bcast_along_links<LinkOrder::global_first>,
       .knows_network = true,
       .for_programs = true},
  };
}

}  // namespace collectives

}  // namespace exanet
