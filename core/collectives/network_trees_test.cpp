// SPDX-License-Identifier: Apache-2.0
// Does a tree that knows the network reach every rank once, enter each unit of the network once, and send in its order?
#include "core/collectives/network_trees.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <set>

#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

std::vector<NodeId> every(std::uint32_t stride, std::uint32_t count) {
  std::vector<NodeId> nodes(count);
  for (std::uint32_t i = 0; i < count; ++i) nodes[i] = i * stride % count;
  return nodes;
}

struct Case {
  TopologySpec spec;
  std::uint32_t of_group;  // endpoints
};
const std::vector<Case> kCases{{{"dragonfly", {2}}, 8},        {{"dragonfly", {2, 3, 1}}, 6},
                               {{"qfdb-torus", {3, 2, 1}}, 4}, {{"qfdb-torus", {1, 1, 1}}, 4},
                               {{"torus", {4, 3}}, 1},         {{"fat-tree", {4, 2}}, 4}};

CollectiveCall call_of(std::uint32_t ranks, std::uint32_t root) {
  CollectiveCall c;
  c.ranks = ranks;
  c.root = root;
  c.bytes = 8;
  return c;
}

// Links of the tree between ranks whose units differ.
template <typename Unit>
std::uint32_t crossings(const NetworkTree& tree, Unit unit) {
  std::uint32_t count = 0;
  for (std::uint32_t rank = 0; rank < tree.parent.size(); ++rank) count += unit(rank) != unit(tree.parent[rank]);
  return count;
}

}  // namespace

TEST_CASE("a tree reaches each rank once, and enters each group of switches once") {
  for (const Case& c : kCases) {
    const auto topology = make_topology(c.spec);
    const std::uint32_t n = topology->endpoint_count();
    for (const std::uint32_t stride : {1u, 5u}) {
      const std::vector<NodeId> placement = every(std::gcd(stride, n) == 1 ? stride : 1, n);
      RankPlaces places(*topology, placement);
      for (const LinkOrder order : {LinkOrder::local_first, LinkOrder::global_first}) {
        for (const std::uint32_t root : {0u, n / 2, n - 1}) {
          INFO(c.spec.kind << " of " << n << " endpoints, root " << root << ", order " << static_cast<int>(order));
          const NetworkTree& tree = places.tree(order, call_of(n, root));
          std::set<std::uint32_t> reached{root};
          std::vector<std::uint32_t> next{root};
          while (!next.empty()) {
            const std::uint32_t rank = next.back();
            next.pop_back();
            for (const std::uint32_t child : tree.children[rank]) {
              CHECK(reached.insert(child).second);
              CHECK(tree.parent[child] == rank);
              next.push_back(child);
            }
          }
          CHECK(reached.size() == n);
          const auto group = [&](std::uint32_t rank) { return placement[rank] / c.of_group; };
          CHECK(crossings(tree, group) == n / c.of_group - 1);
        }
      }
    }
  }
}

TEST_CASE(
    "local first serves the own group before others, and nobody sends more than twice; global first the other way "
    "round") {
  const auto topology = make_topology({"dragonfly", {3}});
  std::vector<NodeId> placement(342);
  std::iota(placement.begin(), placement.end(), 0u);
  RankPlaces places(*topology, placement);
  const auto group = [](std::uint32_t rank) { return rank / 18; };
  for (const LinkOrder order : {LinkOrder::local_first, LinkOrder::global_first}) {
    const NetworkTree& tree = places.tree(order, call_of(342, 100));
    std::size_t most = 0;
    for (std::uint32_t rank = 0; rank < 342; ++rank) {
      most = std::max(most, tree.children[rank].size());
      bool before = false;
      for (const std::uint32_t child : tree.children[rank]) {
        const bool leaves = group(child) != group(rank);
        CHECK(!(before && (order == LinkOrder::local_first) != leaves));
        before = before || (order == LinkOrder::local_first) == leaves;
      }
    }
    CHECK(most == (order == LinkOrder::local_first ? 2 : 6));
  }
}

TEST_CASE("ranks of one node, and of a part of the program, have a tree of their own") {
  const auto topology = make_topology({"qfdb-torus", {2, 1, 1}});
  std::vector<NodeId> placement(32);
  for (std::uint32_t rank = 0; rank < 32; ++rank) placement[rank] = rank / 4;
  RankPlaces places(*topology, placement);
  const NetworkTree& tree = places.tree(LinkOrder::local_first, call_of(32, 31));
  CHECK(crossings(tree, [&](std::uint32_t rank) { return placement[rank]; }) == 7);
  const std::vector<std::uint64_t> members{31, 2, 3, 17, 0};
  CollectiveCall some = call_of(5, 1);
  some.members = &members;
  const NetworkTree& part = places.tree(LinkOrder::global_first, some);
  CHECK(part.parent.size() == 5);
  CHECK(crossings(part, [&](std::uint32_t rank) { return placement[members[rank]]; }) == 2);
  CHECK(places.tree(LinkOrder::local_first, call_of(32, 31)).parent.size() == 32);
}
