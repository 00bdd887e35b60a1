// SPDX-License-Identifier: Apache-2.0
// Do packets go round disabled ports as the gateware's routers send them, and never wait for each other in a cycle?
#include "core/topology/disabled_ports.hpp"

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "core/routing/make_topology.hpp"
#include "core/topology/multicast.hpp"

using namespace exanet;

namespace {

using Channel = std::array<std::uint32_t, 3>;  // node, port, virtual channel

// The channels that a packet takes; its last node, or kNoNode where it is discarded.
NodeId walk(const Topology& topology, NodeId src, NodeId dst, std::vector<Channel>& channels) {
  NodeId at = src;
  std::uint16_t from = kFromInterface;
  while (at != dst) {
    REQUIRE(channels.size() <= topology.node_count());
    const Hop hop = topology.route(at, from, dst);
    if (hop.port == kNoRoute) return kNoNode;
    channels.push_back({at, hop.port, hop.vc});
    const PortRef far = topology.neighbour(at, hop.port);
    at = far.node;
    from = far.port;
  }
  return at;
}

bool has_cycle(const Topology& topology) {
  std::map<Channel, std::set<Channel>> behind;
  for (NodeId src = 0; src < topology.node_count(); ++src)
    for (NodeId dst = 0; dst < topology.node_count(); ++dst) {
      std::vector<Channel> channels;
      walk(topology, src, dst, channels);
      for (std::size_t i = 1; i < channels.size(); ++i) behind[channels[i - 1]].insert(channels[i]);
    }
  std::map<Channel, int> state;
  const std::function<bool(const Channel&)> closes = [&](const Channel& channel) {
    if (state[channel] != 0) return state[channel] == 1;
    state[channel] = 1;
    for (const Channel& next : behind[channel])
      if (closes(next)) return true;
    state[channel] = 2;
    return false;
  };
  for (const auto& [channel, next] : behind)
    if (closes(channel)) return true;
  return false;
}

}  // namespace

TEST_CASE("disabled ports: a ring without a link") {
  const auto ring = make_topology({.kind = "torus", .shape = {5}, .disabled = {{0, 0}, {1, 1}}});  // between 0 and 1
  std::vector<Channel> channels;
  CHECK(walk(*ring, 0, 1, channels) == 1);
  CHECK(channels.size() == 4);  // the other way round, and all the way
  channels.clear();
  CHECK(walk(*ring, 0, 4, channels) == 4);
  CHECK(channels.size() == 1);
  channels.clear();
  CHECK(walk(*ring, 4, 1, channels) == kNoNode);  // meets the gap further on
  CHECK(channels.size() == 1);
  CHECK(ring->copies(0, kFromInterface, 0, multicast_box(2)).ports == 2);  // upwards nothing goes
}

TEST_CASE("disabled ports: a mesh has no other way") {
  const auto mesh = make_topology({.kind = "mesh", .shape = {3}, .disabled = {{1, 0}}});
  std::vector<Channel> channels;
  CHECK(walk(*mesh, 0, 2, channels) == kNoNode);
  channels.clear();
  CHECK(walk(*mesh, 2, 0, channels) == 0);  // the other direction goes on
}

TEST_CASE("disabled ports: no cycle of channels") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    TopologySpec spec{"torus", {static_cast<std::uint32_t>(2 + random() % 6)}};
    if (random() % 2 == 0) spec = {"qfdb-torus", {static_cast<std::uint32_t>(1 + random() % 5), 2, 1}};
    const auto whole = make_topology(spec);
    for (unsigned i = 0; i < 1 + seed % 3; ++i) {
      const auto node = static_cast<NodeId>(random() % whole->node_count());
      spec.disabled.emplace_back(node, static_cast<std::uint32_t>(random() % whole->port_count(node)));
    }
    CAPTURE(seed);
    CHECK_FALSE(has_cycle(*make_topology(spec)));
  }
}

TEST_CASE("disabled ports: what cannot be") {
  CHECK_THROWS((void)make_topology({.kind = "torus", .shape = {5}, .disabled = {{5, 0}}}));
  CHECK_THROWS((void)make_topology({.kind = "torus", .shape = {5}, .disabled = {{0, 2}}}));
  CHECK_THROWS((void)make_topology({.kind = "full-mesh", .shape = {5}, .disabled = {{0, 0}}}));
  CHECK_THROWS((void)make_topology({.kind = "torus", .shape = {5}, .failed = {"nodes:1"}, .disabled = {{0, 0}}}));
}
