// SPDX-License-Identifier: Apache-2.0
// Are two networks that gateways join one topology: each node in its network, each link both ways, every route there?
#include "core/topology/bridged.hpp"

#include <doctest/doctest.h>

#include <set>

#include "core/config/error.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

TopologySpec two(std::vector<std::pair<NodeId, NodeId>> gateways) {
  TopologySpec spec{"bridged", {}};
  spec.networks = {{"torus", {3, 3}}, {"fat-tree", {4, 4}}};
  spec.network_names = {"a", "b"};
  spec.gateways = std::move(gateways);
  return spec;
}

}  // namespace

TEST_CASE("two networks that gateways join: nodes, links and routes") {
  const auto made = make_topology(two({{0, 5}, {4, 0}}));
  const BridgedTopology& t = *made->bridged();
  REQUIRE(t.endpoint_count() == 9 + 16);
  REQUIRE(t.node_count() == t.network(0).node_count() + t.network(1).node_count());
  std::set<std::string> names;
  for (NodeId n = 0; n < t.node_count(); ++n) {
    CHECK(t.node(t.network_of(n), t.within(n)) == n);
    CHECK((n < t.endpoint_count()) == (t.within(n) < t.network(t.network_of(n)).endpoint_count()));
    CHECK(names.insert(t.node_name(n)).second);
    for (std::uint16_t p = 0; p < t.port_count(n); ++p) {
      const PortRef to = t.neighbour(n, p);
      if (to.node == kNoNode) continue;
      const PortRef back = t.neighbour(to.node, to.port);
      CHECK((back.node == n && back.port == p));
      const bool crosses = t.network_of(to.node) != t.network_of(n);
      CHECK(crosses == t.is_gateway_port(n, p));
      CHECK((t.link_class(n, p) == 2) == crosses);  // one kind of link in each network
      if (!crosses) CHECK(t.link_class(n, p) == t.network_of(n));
    }
  }
  for (NodeId src = 0; src < t.endpoint_count(); ++src) {
    for (NodeId dst = 0; dst < t.endpoint_count(); ++dst) {
      NodeId at = src;
      std::uint32_t crossed = 0, steps = 0;
      while (at != dst && ++steps < 20) {
        const Hop hop = t.next_hop(at, dst);
        if (t.is_gateway_port(at, hop.port)) {
          ++crossed;
          CHECK(t.gateway_at(at) == t.gateway_to(dst));
        }
        at = t.neighbour(at, hop.port).node;
      }
      CHECK(at == dst);
      CHECK(crossed == (t.network_of(src) != t.network_of(dst) ? 1 : 0));
    }
  }
}

TEST_CASE("networks that gateways join: what does not fit is refused") {
  CHECK_THROWS_AS(make_topology(two({})), ConfigError);
  CHECK_THROWS_AS(make_topology(two({{9, 0}})), ConfigError);  // a torus of 9
  CHECK_THROWS_AS(make_topology(two({{0, 16}})), ConfigError);
  CHECK_THROWS_AS(make_topology(two({{0, 1}, {0, 2}})), ConfigError);
  TopologySpec rails = two({{0, 0}});
  rails.networks[1].rails = 2;
  CHECK_THROWS_AS(make_topology(rails), ConfigError);
}
