// SPDX-License-Identifier: Apache-2.0
// Do routes that follow states of links lead round what is down, and stay free of deadlock when a node is cut off, to
// which packets still go?
#include "core/routing/rerouted.hpp"

#include <doctest/doctest.h>

#include "core/faults/plan.hpp"
#include "core/routing/channel_graph.hpp"
#include "core/routing/make_topology.hpp"
#include "core/routing/routing.hpp"

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

TEST_CASE("routings that choose among ports follow states of links, and are as without them while all works") {
  for (TopologySpec spec : {TopologySpec{"torus", {4, 4}}, TopologySpec{"fat-tree", {4, 4}}}) {
    spec.routing = "adaptive";
    const auto plain = make_topology(spec);
    spec.follows = true;
    const auto topology = make_topology(spec);
    REQUIRE(topology->follows());
    FaultPlan plan;
    plan.fail(*topology, "links:3:1", Time::us(1));
    const auto ports = [](const Topology& shape, NodeId at, NodeId dst) {
      PortList list;
      shape.minimal_ports(at, dst, list);
      return std::vector<std::uint16_t>(list.port, list.port + list.count);
    };
    for (const Time at : {Time(), Time::us(1), Time()}) {
      const LinkStates states = plan.states_at(*topology, at);
      topology->follow(states);
      CHECK(topology->routing()->find_cycle([](double) {}).empty());
      for (NodeId from = 0; from < topology->node_count(); ++from)
        for (NodeId to = 0; to < topology->endpoint_count(); ++to) {
          if (from == to) continue;
          const auto found = ports(*topology, from, to);
          CHECK(!found.empty());
          for (const std::uint16_t port : found) CHECK(states.works(*topology, from, port));
          CHECK(states.works(*topology, from, topology->next_hop(from, to).port));
          if (at == Time()) CHECK(found == ports(*plain, from, to));
        }
    }
  }
}
