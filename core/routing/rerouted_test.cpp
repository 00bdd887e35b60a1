// SPDX-License-Identifier: Apache-2.0
// Do routes that follow states of links stay free of deadlock when a node is cut off, to which packets still go?
#include "core/routing/rerouted.hpp"

#include <doctest/doctest.h>

#include "core/faults/plan.hpp"
#include "core/routing/channel_graph.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

TEST_CASE("routes that follow states of links close no cycle with a node cut off, in rings, either") {
  for (const std::vector<std::uint32_t>& shape : {std::vector<std::uint32_t>{6}, {6, 6}}) {
    TopologySpec spec{"torus", shape};
    spec.follows = true;
    const auto topology = make_topology(spec);
    REQUIRE(topology->follows());
    for (const char* what : {"nodes:1:1", "nodes:2:7", "links:1:1", "links:2:5"}) {
      FaultPlan plan;
      plan.fail(*topology, what, Time::us(1));
      topology->follow(plan.states_at(*topology, Time::us(1)));
      CHECK(find_dependency_cycle(*topology).empty());
      topology->follow(plan.states_at(*topology, Time()));
      CHECK(find_dependency_cycle(*topology).empty());
    }
  }
}

TEST_CASE("routes that follow states of links outlast a time at which everything is down") {
  TopologySpec spec{"torus", {4, 4}};
  spec.follows = true;
  const auto topology = make_topology(spec), whole = make_topology(spec);
  FaultPlan plan;
  plan.fail(*topology, "nodes:16", Time::us(1));
  topology->follow(plan.states_at(*topology, Time::us(1)));
  for (NodeId at = 0; at < 16; ++at)
    for (NodeId dst = 0; dst < 16; ++dst)
      if (at != dst) CHECK(topology->next_hop(at, dst).port < topology->port_count(at));
  topology->follow(plan.states_at(*topology, Time()));
  for (NodeId at = 0; at < 16; ++at)
    for (NodeId dst = 0; dst < 16; ++dst)
      if (at != dst) CHECK(topology->next_hop(at, dst).port == whole->next_hop(at, dst).port);
}
