// SPDX-License-Identifier: Apache-2.0
// Do graphs use all their links: parallel ones, equally short routes at any width, and is their bisection a cut that
// was looked for?
#include <doctest/doctest.h>

#include <map>

#include "core/engine/random.hpp"
#include "core/routing/channel_graph.hpp"
#include "core/routing/routing_harness.hpp"
#include "core/topology/metrics.hpp"

using namespace exanet;
using namespace exanet::testing;

namespace {

TopologySpec graph_of(std::vector<std::uint32_t> hosts, std::vector<std::pair<std::uint32_t, std::uint32_t>> links) {
  TopologySpec spec{"graph", {}};
  for (std::size_t r = 0; r < hosts.size(); ++r) spec.graph.names.push_back("r" + std::to_string(r));
  spec.graph.hosts = std::move(hosts);
  spec.graph.links = std::move(links);
  return spec;
}

// `pods` of four switches, and four at the top: a fat tree of three levels whose every leaf has two endpoints.
TopologySpec clos(std::uint32_t pods) {
  std::vector<std::uint32_t> hosts;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links;
  for (std::uint32_t p = 0; p < pods; ++p) {
    const std::uint32_t first = 4 * p;
    for (const std::uint32_t count : {2u, 2u, 0u, 0u}) hosts.push_back(count);
    for (std::uint32_t leaf = 0; leaf < 2; ++leaf)
      for (std::uint32_t above = 2; above < 4; ++above) links.push_back({first + leaf, first + above});
    for (std::uint32_t top = 0; top < 4; ++top) links.push_back({first + 2 + top / 2, 4 * pods + top});
  }
  hosts.insert(hosts.end(), 4, 0);
  return graph_of(hosts, links);
}

TopologySpec leaf_spine(std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts) {
  std::vector<std::uint32_t> of(leaves, hosts);
  of.insert(of.end(), spines, 0);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links;
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf)
    for (std::uint32_t spine = 0; spine < spines; ++spine) links.push_back({leaf, leaves + spine});
  return graph_of(of, links);
}

}  // namespace

TEST_CASE("flows between two routers take their parallel links in turn") {
  const auto topology = make_topology(graph_of({8, 8}, {{0, 1}, {0, 1}, {0, 1}, {0, 1}}));
  std::map<std::uint16_t, int> flows;
  for (NodeId dst = 8; dst < 16; ++dst) ++flows[topology->next_hop(16, dst).port];
  CHECK(flows.size() == 4);
  for (const auto& [port, count] : flows) CHECK(count == 2);
}

TEST_CASE("a leaf-spine from a file carries what the fat tree of its shape does") {
  for (const char* pattern : {"uniform", "next-group:4"}) {
    CAPTURE(pattern);
    for (const char* routing : {"", "random", "spray", "adaptive"}) {
      CAPTURE(routing);
      const TopologySpec file = with(leaf_spine(4, 4, 4), routing);
      CHECK(find_dependency_cycle(*make_topology(file)).empty());
      const double tree = measure(with({"fat-tree", {4, 4}}, routing), pattern, 0.9).accepted_load;
      const double carried = measure(file, pattern, 0.9).accepted_load;
      MESSAGE(pattern << " " << routing << " " << carried << ", fat tree " << tree);
      if (routing != std::string("random")) CHECK(carried > 0.95 * tree);  // which draws others
    }
  }
}

TEST_CASE("a tree of switches with several roots takes shortest routes in one channel, all of them, at any width") {
  const auto topology = make_topology(clos(4));
  CHECK(topology->shortest());
  CHECK(topology->virtual_channels() == 1);
  CHECK(find_equal_cycle(*topology).empty());
  PortList ports;
  topology->equal_ports(topology->endpoint_count(), 15, ports);  // the first leaf's, to another pod
  CHECK(ports.count == 2);
  const double own = measure(clos(4), "permutation", 0.9).accepted_load,
               spray = measure(with(clos(4), "spray"), "permutation", 0.9).accepted_load;
  MESSAGE("own " << own << ", spray " << spray);
  CHECK(spray > own);
}

TEST_CASE("on wide rings of routers up*/down* remains, and every routing that is not refused closes no cycle") {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links;
  for (std::uint32_t r = 0; r < 9; ++r) links.push_back({r, (r + 1) % 9});
  links.push_back({0, 1});
  for (const char* name : {"", "random", "spray", "adaptive", "valiant", "ugal-l"}) {
    CAPTURE(name);
    const TopologySpec ring = with(graph_of(std::vector<std::uint32_t>(9, 2), links), name);
    CHECK(find_dependency_cycle(*make_topology(ring)).empty());
    CHECK(measure(ring, "uniform", 1.5, Time::us(10)).packets > 100);
  }
}

TEST_CASE("the two halves of a graph are looked for, whatever the order of its routers") {
  // Two cliques of ten that two links join, numbered at random.
  std::vector<std::uint32_t> number(20);
  for (std::uint32_t r = 0; r < 20; ++r) number[r] = r;
  Random random(5);
  for (std::uint32_t r = 19; r > 0; --r) std::swap(number[r], number[random.below(r + 1)]);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links{{number[0], number[10]}, {number[5], number[15]}};
  for (std::uint32_t half = 0; half < 2; ++half)
    for (std::uint32_t a = 0; a < 10; ++a)
      for (std::uint32_t b = 0; b < a; ++b) links.push_back({number[10 * half + a], number[10 * half + b]});
  const auto topology = make_topology(graph_of(std::vector<std::uint32_t>(20, 3), links));
  CHECK(bisection_links(*topology) == 2);
  std::uint32_t upper = 0;
  for (NodeId e = 0; e < topology->endpoint_count(); ++e) upper += topology->upper_half(e);
  CHECK(upper == 30);
  CHECK(bisection_links(*make_topology(clos(4))) == 8);
}
