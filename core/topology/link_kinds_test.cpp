// SPDX-License-Identifier: Apache-2.0
// Is each link of the kind that the machine says, and nothing else changed by it?
#include "core/topology/link_kinds.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/config/error.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

TopologySpec with_kinds(TopologySpec spec, std::vector<std::string> kinds) {
  spec.link_kinds = std::move(kinds);
  return spec;
}

// How many ports have a link of each class.
std::vector<std::uint32_t> count(const TopologySpec& spec) {
  const auto topology = make_topology(spec);
  std::vector<std::uint32_t> found;
  for (NodeId node = 0; node < topology->node_count(); ++node)
    for (std::uint16_t port = 0; port < topology->port_count(node); ++port) {
      const PortRef far = topology->neighbour(node, port);
      if (far.node == kNoNode) continue;
      const std::uint8_t of = topology->link_class(node, port);
      CHECK(of == topology->link_class(far.node, far.port));
      if (of >= found.size()) found.resize(of + 1u);
      ++found[of];
    }
  return found;
}

std::string blamed(const TopologySpec& spec) {
  try {
    make_topology(spec);
  } catch (const ConfigError& error) {
    return error.problems().at(0).path;
  }
  return "";
}

}  // namespace

TEST_CASE("levels of a fat tree") {
  const TopologySpec tree{"fat-tree", {4, 4, 4}};
  CHECK(count(tree) == std::vector<std::uint32_t>{384});
  CHECK(count(with_kinds(tree, {"level-3"})) == std::vector<std::uint32_t>{256, 128});
  CHECK(count(with_kinds(tree, {"level-3", "level-2"})) == std::vector<std::uint32_t>{128, 128, 128});
  // Hosts come first: a load of 1 fills their links.
  CHECK(count(with_kinds(tree, {"level-3", "host"})) == std::vector<std::uint32_t>{128, 128, 128});
  const auto topology = make_topology(with_kinds(tree, {"level-3", "host"}));
  CHECK(topology->link_class(0, 0) == 0);
  CHECK(topology->link_class(64, 4) == 1);
  CHECK(topology->link_class(64 + 16, 4) == 2);
  CHECK(blamed(with_kinds(tree, {"level-4"})) == "links.level-4");
  CHECK(blamed(with_kinds(tree, {"level-1"})) == "links.level-1");
}

TEST_CASE("hosts of a dragonfly, whose own kinds stay in their order behind them") {
  const TopologySpec fly{"dragonfly", {2}};
  const auto own = count(fly);
  CHECK(own.size() == 2);
  CHECK(count(with_kinds(fly, {"host"})) == std::vector<std::uint32_t>{144, own[0] - 144, own[1]});
  CHECK(blamed(with_kinds({"torus", {4, 4}}, {"host"})) == "links.host");
}

TEST_CASE("edges of a graph, with failures, and with routing that goes by groups") {
  const GraphSpec graph{{"a", "b", "c"}, {1, 2, 1}, {{0, 1}, {1, 2}, {0, 2}}, {0, 1, 2}};
  TopologySpec spec{.kind = "graph", .shape = {1}, .graph = graph, .link_kinds = {"fibre", "long"}};
  CHECK(count(spec) == std::vector<std::uint32_t>{10, 2, 2});
  const auto topology = make_topology(spec);
  CHECK(topology->link_class(4 + 1, 3) == 1);  // of b the link to c
  CHECK(topology->link_class(4 + 0, 2) == 2);  // of a that to c
  spec.failed = {"a to b"};
  CHECK(count(spec) == std::vector<std::uint32_t>{8, 2, 2});
  spec.failed = {};
  spec.routing = "valiant";
  CHECK(make_topology(spec)->routing() != nullptr);
  spec.graph.kinds = {0, 1, 1};
  CHECK(blamed(spec) == "links.long");
}
