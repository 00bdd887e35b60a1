// SPDX-License-Identifier: Apache-2.0
// Does every topology obey the interface, and is its routing free of deadlock?
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/routing/channel_graph.hpp"
#include "core/routing/routing_harness.hpp"
#include "core/topology/metrics.hpp"
#include "core/topology/registry.hpp"

using namespace exanet;
using testing::complaint;
using testing::describe;
using testing::on_rails;

namespace {

// Samples of every topology in the registry, those with switches on two and three rails as well, and all tori of up to
// five nodes a side.
std::vector<TopologySpec> all_small() {
  std::vector<TopologySpec> specs;
  for (const TopologyKind& kind : topology_kinds())
    for (const TopologySample& sample : kind.samples) specs.push_back(spec_of(kind, sample));
  for (const TopologySpec& spec : on_rails({specs.begin(), specs.end()}, 2)) specs.push_back(spec);
  for (const TopologyKind& kind : topology_kinds())
    for (const TopologySpec& spec : on_rails({spec_of(kind, kind.samples.at(0))}, 3)) specs.push_back(spec);
  for (std::uint32_t x = 1; x <= 5; ++x)
    for (std::uint32_t y = 1; y <= 5; ++y)
      for (std::uint32_t z = 1; z <= 5; ++z) {
        specs.push_back({"torus", {x, y, z}});
        if (x * y * z <= 36) specs.push_back({"qfdb-torus", {x, y, z}});
      }
  return specs;
}

std::vector<std::uint32_t> shortest_distances(const Topology& topology, NodeId source) {
  std::vector<std::uint32_t> distance(topology.node_count(), UINT32_MAX);
  std::vector<NodeId> reached{source};
  distance[source] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (std::uint16_t port = 0; port < topology.port_count(reached[i]); ++port) {
      const NodeId other = topology.neighbour(reached[i], port).node;
      if (other == kNoNode || distance[other] != UINT32_MAX) continue;
      distance[other] = distance[reached[i]] + 1;
      reached.push_back(other);
    }
  return distance;
}

// Number of the (source, destination) pairs of endpoints whose route fails to arrive through plugged ports and known
// channels.
std::uint32_t broken_routes(const Topology& topology) {
  std::uint32_t broken = 0;
  for (NodeId src = 0; src < topology.endpoint_count(); ++src) {
    const auto distance = shortest_distances(topology, src);
    for (NodeId dst = 0; dst < topology.endpoint_count(); ++dst) {
      const std::uint32_t most = topology.shortest() ? distance[dst] : topology.node_count();
      NodeId at = src;
      std::uint32_t steps = 0;
      for (; at != dst && steps <= most; ++steps) {
        const Hop hop = topology.next_hop(at, dst);
        if (hop.port >= topology.port_count(at) || hop.vc >= topology.virtual_channels()) break;
        at = topology.neighbour(at, hop.port).node;
        if (at == kNoNode) break;
      }
      broken += at != dst || steps < distance[dst] || steps > most;
    }
  }
  return broken;
}

}  // namespace

TEST_CASE("links are bidirectional, names and positions distinguish nodes, routes are shortest") {
  for (const TopologySpec& spec : all_small()) {
    CAPTURE(describe(spec));
    const auto topology = make_topology(spec);
    std::set<std::string> names;
    std::set<std::vector<float>> positions;
    for (NodeId node = 0; node < topology->node_count(); ++node) {
      std::set<std::string> ports;
      for (std::uint16_t port = 0; port < topology->port_count(node); ++port) {
        ports.insert(topology->port_name(node, port));
        const PortRef far = topology->neighbour(node, port);
        if (far.node == kNoNode) continue;
        const PortRef back = topology->neighbour(far.node, far.port);
        const bool returns = back.node == node && back.port == port && far.node != node;
        REQUIRE(returns);
        REQUIRE(topology->link_class(node, port) == topology->link_class(far.node, far.port));
      }
      REQUIRE(ports.size() == topology->port_count(node));
      names.insert(topology->node_name(node));
      float xyz[3];
      topology->position(node, xyz);
      positions.insert({xyz[0], xyz[1], xyz[2]});
    }
    CHECK(names.size() == topology->node_count());
    CHECK(positions.size() == topology->node_count());
    CHECK(broken_routes(*topology) == 0);
  }
}

TEST_CASE("routing closes no cycle of channel dependencies") {
  for (const TopologySpec& spec : all_small()) {
    CAPTURE(describe(spec));
    CHECK(find_dependency_cycle(*make_topology(spec)).empty());
  }
}

TEST_CASE("without the upper channel a ring closes a cycle, and a mesh does not") {
  for (const TopologySpec& spec : {TopologySpec{"torus", {5}}, TopologySpec{"torus", {3, 6}},
                                   TopologySpec{"qfdb-torus", {5, 1, 1}}, TopologySpec{"mesh", {6, 5}}}) {
    CAPTURE(describe(spec));
    const auto topology = make_topology(spec);
    const auto lower_only = [&](NodeId at, NodeId dst) { return Hop{topology->next_hop(at, dst).port, 0}; };
    const auto cycle = find_dependency_cycle(*topology, lower_only);
    CHECK(cycle.empty() == (spec.kind == "mesh"));
    for (std::size_t i = 0; i < cycle.size(); ++i)  // each channel leads to the router that holds the next one
      CHECK(topology->neighbour(cycle[i].node, cycle[i].port).node == cycle[(i + 1) % cycle.size()].node);
  }
}

TEST_CASE("all-to-all traffic loads both directions of even rings alike") {
  for (const TopologySpec& spec :
       {TopologySpec{"torus", {4}}, TopologySpec{"torus", {8, 8}}, TopologySpec{"torus", {4, 4, 4}}}) {
    const auto topology = make_topology(spec);
    std::map<std::string, std::uint64_t> load;
    for (NodeId src = 0; src < topology->node_count(); ++src)
      for (NodeId dst = 0; dst < topology->node_count(); ++dst)
        for (NodeId at = src; at != dst;) {
          const Hop hop = topology->next_hop(at, dst);
          ++load[topology->port_name(at, hop.port)];
          at = topology->neighbour(at, hop.port).node;
        }
    for (const auto& [port, hops] : load) CHECK(hops == load["X+"]);
    CHECK(load.size() == 2 * spec.shape.size());
  }
}

TEST_CASE("diameter, mean distance and bisection of known shapes") {
  struct Known {
    TopologySpec spec;
    std::uint32_t diameter;
    double mean;
    std::uint64_t bisection;
  };
  const Known known[] = {
      {{"mesh", {2, 2}}, 2, 4.0 / 3, 2},
      {{"mesh", {4, 3}}, 5, (1.25 + 8.0 / 9) * 12 / 11, 3},  // means along the sides, a node and itself included
      {{"torus", {8, 8, 8}}, 12, 6.0 * 512 / 511, 128},  // a quarter of the side in each dimension; 2 * 8 * 8
      {{"torus", {2}}, 1, 1, 2},
      {{"hypercube", {5}}, 5, 2.5 * 32 / 31, 16},
      {{"full-mesh", {9}}, 1, 1, 20},
      {{"fat-tree", {4, 4, 4}}, 6, (3 * 2 + 12 * 4 + 48 * 6) / 63.0, 32},  // up and down; half of 64 endpoints
      {{"fat-tree", {8, 8, 16}}, 6, (7 * 2 + 56 * 4 + 960 * 6) / 1023.0, 512},  // 1024 endpoints, switches of 16 ports
      {{"hyperx", {3, 4, 4}},
       4,
       (2 * 2 + 3 * 6 * 3 + 3 * 9 * 4) / 47.0,
       16},  // in the row or column one link more, elsewhere two
      {{"flattened-butterfly", {8, 3}},
       4,
       (7 * 2 + 8 * (14 * 3 + 49 * 4)) / 511.0,
       128},  // the figures of its paper: 64 switches of 22 ports
      {{"dragonfly", {2, 2, 1}}, 5, (1 * 2 + 2 * 3 + 2 * (3 + 4 + 4 + 5)) / 11.0, 2},
      {{"qfdb-torus", {1, 1, 1}}, 1, 1, 4},
      {{"slim-fly", {5, 1}}, 4, (7 * 3 + 42 * 4) / 49.0, 65},  // Hoffman and Singleton's graph: 50 switches, degree 7
      {{"slim-fly", {7, 1}}, 4, (11 * 3 + 86 * 4) / 97.0, 175},  // 98 switches of degree 11
      {{"xgft", {4, 4, 4, 1, 2, 2}},
       6,
       (3 * 2 + 12 * 4 + 48 * 6) / 63.0,
       8},  // a quarter of the links of the full tree at the top
      {{"megafly", {8, 4, 4, 2}},
       5,
       (7 * 2 + 24 * 4 + 256 * 5) / 287.0,
       24},  // up, across, down; 4 * 4 pairs of groups, and 2 * 4 links inside the ninth
      // To F1, 2 + 2 + 1, from F1. A node's 127 routes: 2.5 on the torus, 0.75 at either end or, in its own QFDB,
      // altogether.
      {{"qfdb-torus", {4, 4, 2}}, 7, (128 * 2.5 + 124 * 1.5 + 4 * 0.75) / 127, 16},
  };
  for (const Known& k : known) {
    CAPTURE(describe(k.spec));
    const auto topology = make_topology(k.spec);
    const Distances d = distances(*topology);
    CHECK(d.diameter == k.diameter);
    CHECK(d.exact);
    CHECK(d.mean == doctest::Approx(k.mean));
    CHECK(bisection_links(*topology) == k.bisection);
  }
  CHECK_FALSE(distances(*make_topology({"torus", {8, 8, 8}}), 100).exact);
  CHECK(distances(*make_topology({"torus", {8, 8, 8}}), 100).diameter == 12);
}

TEST_CASE("bisections are between halves of equal size, and no half that is known has fewer links to the other") {
  struct Known {
    TopologySpec spec;
    std::uint64_t bisection;
    std::uint32_t switch_endpoints = 1;  // by as many halves may differ
  };
  const Known known[] = {
      {{"torus", {3, 2}}, 6},  // not the 4 that cut two nodes off
      {{"torus", {3, 3}}, 8},
      {{"torus", {5, 1}}, 2},
      {{"torus", {4, 3}}, 6},
      {{"mesh", {3, 3}}, 4},
      {{"mesh", {2, 5, 3}}, 9},
      {{"hyperx", {8, 2, 8}}, 8, 8},  // across the shortest side: 1 * 1 * 8
      {{"hyperx", {1, 2, 16}}, 16},
      {{"hyperx", {1, 3, 3, 2}}, 9},
      {{"hyperx", {1, 3, 3}}, 8},
      {{"slim-fly", {5, 4}}, 65, 4},  // at least 62.5, by the second eigenvalue of the graph
      {{"jellyfish", {128, 12, 4, 1}}, 230, 4},
      {{"dragonfly", {2, 2, 1}}, 2, 2},  // a ring of six switches
      {{"fat-tree", {4, 3}}, 6},
      {{"qfdb-torus", {3, 1, 1}}, 6},  // through the mesh of the middle one: 2 + 2 * 2
  };
  for (const Known& k : known) {
    CAPTURE(describe(k.spec));
    const auto topology = make_topology(k.spec);
    CHECK(bisection_links(*topology) == k.bisection);
    std::uint32_t upper = 0;
    for (NodeId e = 0; e < topology->endpoint_count(); ++e) upper += topology->upper_half(e);
    CHECK(2 * upper >= topology->endpoint_count());
    CHECK(2 * upper - topology->endpoint_count() <= k.switch_endpoints);
  }
}

TEST_CASE("names a person would use") {
  const auto machine = make_topology({"qfdb-torus", {4, 4, 2}});
  CHECK(machine->node_count() == 128);
  CHECK(machine->node_name(4 * (1 + 4 * (0 + 4 * 1)) + 2) == "qfdb(1,0,1).F3");
  CHECK(machine->port_name(2, 0) == "F1");
  CHECK(machine->port_name(2, 2) == "F4");
  CHECK(machine->port_name(4, 3) == "X+");
  CHECK(machine->port_name(4, 8) == "Z-");
  CHECK(machine->port_count(5) == 3);
  CHECK(machine->link_class(4, 2) == 0);
  CHECK(machine->link_class(4, 3) == 1);
  CHECK(make_topology({"torus", {2, 2, 2, 2}})->port_name(0, 7) == "D3-");
}

TEST_CASE("packets go Z, then Y, then X, and the short way round") {
  const auto torus = make_topology({"torus", {5, 5, 5}});
  const auto at = [](std::uint32_t x, std::uint32_t y, std::uint32_t z) { return x + 5 * (y + 5 * z); };
  CHECK(torus->port_name(0, torus->next_hop(0, at(1, 1, 1)).port) == "Z+");
  CHECK(torus->port_name(0, torus->next_hop(0, at(1, 4, 0)).port) == "Y-");
  CHECK(torus->next_hop(0, at(1, 4, 0)).vc ==
        1);  // the offset is positive although the way leads through the wrap-around
  CHECK(torus->next_hop(at(0, 4, 0), at(0, 0, 0)).vc == 0);
  const auto x_first = make_topology({"torus", {5, 5, 5}, {0, 1, 2}});
  CHECK(x_first->port_name(0, x_first->next_hop(0, at(1, 1, 1)).port) == "X+");
}

TEST_CASE("bad specifications are refused with advice") {
  CHECK(complaint({"ring", {4}}).find("qfdb-torus, mesh, torus, fat-tree") != std::string::npos);
  CHECK(complaint({"qfdb-torus", {4, 4}}).find("three sides") != std::string::npos);
  CHECK(complaint({"torus", {}}).find("no shape") != std::string::npos);
  CHECK(complaint({"torus", {4, 0}}).find("from 1 to 65535") != std::string::npos);
  CHECK(complaint({"mesh", {4000, 4000}}).find("make it smaller") != std::string::npos);
  CHECK(complaint({"mesh", {4, 4}, {0, 0}}).find("order of dimensions") != std::string::npos);
  CHECK(complaint({"slim-fly", {6}}).find("prime power") != std::string::npos);
  CHECK(complaint({"megafly", {4, 4, 4}}).find("endpoints a leaf") != std::string::npos);
  CHECK(complaint({"xgft", {4, 4, 4}}).find("children of the switches") != std::string::npos);
  CHECK(complaint({"qfdb-dragonfly", {4}}).find("QFDBs a mezzanine") != std::string::npos);
  CHECK(complaint({"flattened-butterfly", {8, 1}}).find("n from 2 to 16") != std::string::npos);
  CHECK(complaint({"graph", {}}).find("name the file") != std::string::npos);
  CHECK(complaint({"graph", {}, {}, {{"a", "b"}, {1, 1}, {}}}).find("consists of parts") != std::string::npos);
  CHECK(complaint({"graph", {}, {}, {{"a", "b"}, {1, 1}, {{0, 0}}}}).find("'a' of the graph is linked to itself") !=
        std::string::npos);
  CHECK(complaint({"graph", {}, {}, {{"a", "b"}, {0, 0}, {{0, 1}}}}).find("no router of the graph has an endpoint") !=
        std::string::npos);
  CHECK(complaint({"mesh", {2048, 2048}}).empty());
  CHECK_FALSE(complaint({"mesh", {2048, 2049}}).empty());
}
