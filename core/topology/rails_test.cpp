// SPDX-License-Identifier: Apache-2.0
// Are rails planes of their own, does each pair keep to one, and are all of them used alike?
#include "core/topology/rails.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "core/routing/routing_harness.hpp"
#include "core/topology/metrics.hpp"

using namespace exanet;
using namespace exanet::testing;

namespace {

TopologySpec with_rails_of(TopologySpec spec, std::uint32_t rails) {
  spec.rails = rails;
  return spec;
}

// The plane that each switch of the way from `src` to `dst` is in; they are numbered behind the endpoints, plane by
// plane.
std::set<std::uint32_t> planes_on_route(const Topology& topology, std::uint32_t rails, NodeId src, NodeId dst) {
  const std::uint32_t endpoints = topology.endpoint_count(), each = (topology.node_count() - endpoints) / rails;
  std::set<std::uint32_t> found;
  for (NodeId at = src; at != dst; at = topology.neighbour(at, topology.next_hop(at, dst).port).node)
    if (at != src) found.insert((at - endpoints) / each);
  return found;
}

}  // namespace

TEST_CASE("rails: each plane is a whole copy of the switches, into which every endpoint has a link") {
  const auto one = make_topology({"dragonfly", {2}}), three = make_topology(with_rails_of({"dragonfly", {2}}, 3));
  const std::uint32_t endpoints = one->endpoint_count(), switches = one->node_count() - endpoints;
  CHECK(three->endpoint_count() == endpoints);
  CHECK(three->node_count() == endpoints + 3 * switches);
  CHECK(three->rails() == 3);
  CHECK(three->port_count(5) == 3);
  CHECK(three->node_name(5) == one->node_name(5));
  CHECK(three->node_name(endpoints + 2 * switches + 7) == "rail2." + one->node_name(endpoints + 7));
  CHECK(three->port_name(5, 1) == "rail1");
  CHECK(bisection_links(*three) == 3 * bisection_links(*one));
  CHECK(distances(*three).diameter == distances(*one).diameter);
  CHECK(distances(*three).mean == distances(*one).mean);
  for (NodeId src = 0; src < endpoints; src += 5)
    for (NodeId dst = 0; dst < endpoints; ++dst)
      if (src != dst) CHECK(planes_on_route(*three, 3, src, dst) == std::set{rail_of_pair(src, dst, 3)});
}

TEST_CASE("rails: every endpoint sends to as many by each rail, and receives so; permutations use all of them") {
  constexpr std::uint32_t kEndpoints = 60;  // a whole number of blocks for each number of rails
  for (std::uint32_t rails = 2; rails <= 6; ++rails) {
    CAPTURE(rails);
    for (NodeId a = 0; a < kEndpoints; ++a) {
      std::map<std::uint32_t, std::uint32_t> sent, received;
      for (NodeId b = 0; b < kEndpoints; ++b) ++sent[rail_of_pair(a, b, rails)], ++received[rail_of_pair(b, a, rails)];
      for (std::uint32_t rail = 0; rail < rails; ++rail) {
        CHECK(sent[rail] == kEndpoints / rails);
        CHECK(received[rail] == kEndpoints / rails);
      }
    }
  }
  for (const std::uint32_t rails : {2u, 4u})
    for (const std::uint32_t shift : {1u, 2u, 32u, 512u}) {
      std::map<std::uint32_t, std::uint32_t> used;
      for (NodeId src = 0; src < 1024; ++src) ++used[rail_of_pair(src, (src + shift) % 1024, rails)];
      for (std::uint32_t rail = 0; rail < rails; ++rail) {
        CHECK(used[rail] > 1024 / rails * 8 / 10);
        CHECK(used[rail] < 1024 / rails * 12 / 10);
      }
    }
}

TEST_CASE("rails: an endpoint of a tree with several parents uses them alike, too") {
  const auto tree = make_topology({"xgft", {4, 4, 2, 2}});
  CHECK(tree->rails() == 2);
  for (NodeId dst = 0; dst < 16; ++dst) {
    std::map<NodeId, std::uint32_t> last;  // by the switch before `dst`
    for (NodeId src = 0; src < 16; ++src)
      for (NodeId at = src; at != dst;) {
        const NodeId beyond = tree->neighbour(at, tree->next_hop(at, dst).port).node;
        if (beyond == dst) ++last[at];
        at = beyond;
      }
    REQUIRE(last.size() == 2);
    for (const auto& [at, packets] : last) CHECK(packets >= 7);
  }
  CHECK(make_topology(with({"xgft", {4, 4, 2, 2}}, "up-down"))->rails() == 1);
  CHECK(make_topology(with({"xgft", {4, 4, 2, 2}}, "", {"links:1:1"}))->rails() == 1);
}

TEST_CASE("rails: without switches to repeat they are refused, and so is what is beyond them yet") {
  CHECK(complaint(with_rails_of({"torus", {4, 4}}, 2)).find("has no switches to repeat") != std::string::npos);
  CHECK(complaint(with_rails_of({"torus", {4, 4}}, 1)).empty());
  CHECK(complaint(with_rails_of({"xgft", {4, 4, 2, 1}}, 2)).find("2 links of its own") != std::string::npos);
  CHECK(complaint(with(with_rails_of({"xgft", {4, 4, 2, 1}}, 2), "up-down")).find("2 links of its own") !=
        std::string::npos);
  CHECK(complaint(with_rails_of({"fat-tree", {4, 4}}, 9)).find("rails") != std::string::npos);
  CHECK(complaint(with_rails_of({"fat-tree", std::vector<std::uint32_t>(18, 2)}, 2)).find("take fewer rails") !=
        std::string::npos);
  CHECK(complaint(with(with_rails_of({"fat-tree", {4, 4}}, 2), "", {"links:1:1"}))
            .find("failures from the beginning are not supported") != std::string::npos);
}
