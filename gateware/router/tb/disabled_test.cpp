// SPDX-License-Identifier: Apache-2.0
// Disabled ports: packets go round them, or are discarded and counted, and none goes to and fro. The Verilated routers
// do what the rule in C++ says, and that rule closes no cycle of channels on rings, tori and machines of QFDBs without
// some of their links.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/routing/channel_graph.hpp"
#include "core/topology/grid_topology.hpp"
#include "core/topology/qfdb_torus.hpp"
#include "gateware/router/tb/router_network.hpp"
#include "gateware/tb/route_rule.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

// Registers of each node of a grid, or of a torus of QFDBs: port 2d upwards in dimension d, 2d + 1 downwards, behind
// those inside a QFDB; last dimension first.
std::vector<spec::RouterConfig> registers_of(const std::vector<std::uint32_t>& shape, bool wraps, bool qfdb = false) {
  const std::uint32_t each = qfdb ? spec::kQfdbNodes : 1;
  std::uint32_t nodes = each;
  for (const auto side : shape) nodes *= side;
  std::vector<spec::RouterConfig> configs(nodes);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    spec::RouterConfig& config = configs[n];
    config.set_enabled(1);
    config.set_wraps(wraps);
    config.set_qfdb_node(n % each);
    std::uint32_t rest = n / each;
    for (unsigned d = 0; d < 3; ++d) {
      const std::uint32_t side = d < shape.size() ? shape[d] : 1;
      config.set_side(d, side);
      config.set_coordinate(d, rest % side);
      config.set_order(d, 2 - d);
      config.set_plus_port(d, 2 * d + (qfdb ? kMeshPorts : 0));
      config.set_minus_port(d, 2 * d + 1 + (qfdb ? kMeshPorts : 0));
      rest /= side;
    }
    for (unsigned kind = 0; kind < 16; ++kind) config.set_type_port(kind, kind % 3);
  }
  return configs;
}

std::uint32_t place(const spec::RouterConfig& config, bool qfdb) {
  const unsigned coordinates[3] = {static_cast<unsigned>(config.coordinate(0)),
                                   static_cast<unsigned>(config.coordinate(1)),
                                   static_cast<unsigned>(config.coordinate(2))};
  return address(qfdb, static_cast<unsigned>(config.qfdb_node()), coordinates);
}

struct Link {
  NodeId node;
  std::uint16_t port;
};

// Routers with their registers, and how they are linked.
struct Machine {
  std::unique_ptr<Topology> topology;
  std::vector<spec::RouterConfig> configs;
  RuleShape shape;

  void disable(Link link) {
    const PortRef far = topology->neighbour(link.node, link.port);
    for (const Link& end : {link, Link{far.node, far.port}})
      configs[end.node].set_disabled(configs[end.node].disabled() | 1u << end.port);
  }
  // Every link once.
  std::vector<Link> links() const {
    std::vector<Link> all;
    for (NodeId n = 0; n < configs.size(); ++n)
      for (std::uint16_t p = 0; p < topology->port_count(n); ++p) {
        const PortRef far = topology->neighbour(n, p);
        if (far.node != kNoNode && std::pair(n, p) < std::pair(far.node, far.port)) all.push_back({n, p});
      }
    return all;
  }
};

Machine grid(const std::vector<std::uint32_t>& shape, bool wraps) {
  return {std::make_unique<GridTopology>(shape, wraps, std::vector<std::uint32_t>{}), registers_of(shape, wraps), {6}};
}

Machine qfdbs(const std::vector<std::uint32_t>& shape) {
  return {std::make_unique<QfdbTorus>(shape, std::vector<std::uint32_t>{}), registers_of(shape, true, true), {9, true}};
}

// Shapes of grids, as meshes and as tori.
std::vector<Machine> grids(const std::vector<std::vector<std::uint32_t>>& shapes) {
  std::vector<Machine> machines;
  for (const bool wraps : {false, true})
    for (const auto& shape : shapes) machines.push_back(grid(shape, wraps));
  return machines;
}

std::vector<Machine> qfdbs(const std::vector<std::vector<std::uint32_t>>& shapes) {
  std::vector<Machine> machines;
  for (const auto& shape : shapes) machines.push_back(qfdbs(shape));
  return machines;
}

struct Trace {
  bool arrives = false;
  std::vector<Channel> channels;
};

Trace trace(const Machine& machine, NodeId src, NodeId dst) {
  Trace trace;
  NodeId at = src;
  unsigned from = kNoPort;
  const std::uint32_t dcid = place(machine.configs[dst], machine.shape.qfdb);
  while (at != dst) {
    const auto step = route_rule(machine.configs[at], machine.shape, dcid, from);
    if (!step) return trace;
    REQUIRE(trace.channels.size() <= machine.configs.size());  // longer than any route through each node once
    trace.channels.push_back({at, static_cast<std::uint16_t>(step->port), static_cast<std::uint8_t>(step->vc)});
    const auto next = machine.topology->neighbour(at, static_cast<std::uint16_t>(step->port));
    REQUIRE(next.node != kNoNode);
    at = next.node, from = next.port;
  }
  trace.arrives = true;
  return trace;
}

struct Ways {
  unsigned arrive = 0, discarded = 0;
  bool cycle = false;
};

Ways all_ways(const Machine& machine) {
  Ways ways;
  ChannelGraph graph(*machine.topology, 2);
  for (NodeId src = 0; src < machine.configs.size(); ++src)
    for (NodeId dst = 0; dst < machine.configs.size(); ++dst) {
      if (src == dst) continue;
      const Trace way = trace(machine, src, dst);
      ++(way.arrives ? ways.arrive : ways.discarded);
      for (std::size_t i = 1; i < way.channels.size(); ++i) {
        const Channel &held = way.channels[i - 1], &wanted = way.channels[i];
        graph.depends(graph.channel(held.node, {held.port, held.vc}),
                      graph.channel(wanted.node, {wanted.port, wanted.vc}));
      }
    }
  ways.cycle = !graph.find_cycle().empty();
  return ways;
}

// Steps of the rule that are not next_hop()'s, over all pairs of nodes.
unsigned differences(const Machine& machine) {
  unsigned differ = 0;
  for (NodeId src = 0; src < machine.configs.size(); ++src)
    for (NodeId dst = 0; dst < machine.configs.size(); ++dst) {
      if (src == dst) continue;
      const Trace way = trace(machine, src, dst);
      REQUIRE(way.arrives);
      for (const Channel& channel : way.channels) {
        const Hop hop = machine.topology->next_hop(channel.node, dst);
        differ += hop.port != channel.port || hop.vc != (channel.vc & (machine.topology->virtual_channels() - 1));
      }
    }
  return differ;
}

struct Lamed {
  unsigned machines = 0, cyclic = 0, whole = 0;  // whole: all packets arrive
};

// Each machine without each link, and without each two.
Lamed without_one_link_or_two(std::vector<Machine> machines) {
  Lamed found;
  for (Machine& machine : machines) {
    const auto sound = machine.configs;
    const auto all = machine.links();
    for (std::size_t a = 0; a < all.size(); ++a)
      for (std::size_t b = a; b < all.size(); ++b) {
        machine.configs = sound;
        machine.disable(all[a]);
        machine.disable(all[b]);
        const Ways ways = all_ways(machine);
        ++found.machines;
        found.cyclic += ways.cycle;
        found.whole += ways.discarded == 0;
      }
  }
  return found;
}

}  // namespace

TEST_CASE("disabled ports: the rule is dimension order where none is") {
  for (const Machine& machine : grids({{2}, {5}, {8}, {4, 4}, {3, 5}, {4, 3, 2}, {5, 4, 6}}))
    CHECK(differences(machine) == 0);
}

TEST_CASE("QFDBs: the rule is the topology's where no port is disabled") {
  for (const Machine& machine :
       qfdbs({{1, 1, 1}, {2, 1, 1}, {4, 1, 1}, {7, 1, 1}, {1, 1, 5}, {2, 2, 1}, {2, 2, 2}, {4, 4, 2}, {3, 5, 4}}))
    CHECK(differences(machine) == 0);
}

TEST_CASE("disabled ports: no cycle of channels on rings and tori without one link or two") {
  const Lamed found = without_one_link_or_two(grids({{3}, {5}, {8}, {4, 4}, {3, 5}, {3, 3, 3}, {4, 3, 2}}));
  MESSAGE(found.machines << " grids without a link or two, " << found.cyclic << " with a cycle");
  CHECK(found.machines > 4000);
  CHECK(found.cyclic == 0);
}

TEST_CASE("QFDBs: no cycle of channels without one link or two") {
  const Lamed found = without_one_link_or_two(qfdbs({{4, 1, 1}, {5, 1, 1}, {2, 2, 1}, {3, 2, 1}, {2, 2, 2}}));
  MESSAGE(found.machines << " machines of QFDBs without a link or two, " << found.cyclic << " with a cycle");
  CHECK(found.machines > 3000);
  CHECK(found.cyclic == 0);
  CHECK(found.whole > 0);  // where two QFDBs make a ring, the other one of their links takes all
}

TEST_CASE("disabled ports: each packet arrives or is discarded and counted, as the rule says") {
  struct Case {
    unsigned side;
    bool wraps;
  };
  for (const auto [side, wraps] : {Case{5, true}, Case{8, true}, Case{3, false}, Case{2, true}})
    for (unsigned off = 0; off < side; ++off)
      for (const unsigned ends : {1u, 2u, 3u}) {  // of the link, at which it is disabled
        Machine machine = grid({side}, wraps);
        const Topology& topology = *machine.topology;
        if (topology.neighbour(off, 0).node == kNoNode) continue;
        auto& configs = machine.configs;
        if ((ends & 1) != 0) configs[off].set_disabled(configs[off].disabled() | 1);
        const auto far = topology.neighbour(off, 0);
        if ((ends & 2) != 0) configs[far.node].set_disabled(configs[far.node].disabled() | 1u << far.port);
        RouterNetwork network(configs);
        for (unsigned x = 0; x < side; ++x)
          if (topology.neighbour(x, 0).node != kNoNode) network.connect({x, 0}, {topology.neighbour(x, 0).node, 1});
        std::mt19937_64 random{6};
        std::size_t arrive = 0, discarded = 0;
        std::vector<std::size_t> expected(side, 0);
        for (unsigned src = 0; src < side; ++src)
          for (unsigned dst = 0; dst < side; ++dst) {
            network.node(src).senders[0].push(make_packet(src, dst, 0, 16, 0, random));
            const bool arrives = src == dst || trace(machine, src, dst).arrives;
            ++(arrives ? arrive : discarded);
            expected[dst] += arrives;
          }
        network.run(600);
        std::size_t counted = 0;
        for (unsigned x = 0; x < side; ++x) {
          counted += network.node(x).model->discarded_o;
          CHECK(network.node(x).receivers[0].arrivals.size() == expected[x]);
        }
        CAPTURE(side);
        CAPTURE(off);
        CHECK(counted == discarded);
        if (wraps && ends == 3) CHECK(arrive > discarded);
      }
}

TEST_CASE(
    "router: what is not of this machine is discarded: before it is enabled, in a dimension that is not built, without "
    "an order, by no port") {
  struct Case {
    const char* what;
    std::uint32_t destination;
    void (*change)(spec::RouterConfig&);
    unsigned arrive;
  };
  const Case cases[] = {
      {"as it is", dcid(0, 0), [](spec::RouterConfig&) {}, 1},
      {"not enabled", dcid(0, 0), [](spec::RouterConfig& config) { config.set_enabled(0); }, 0},
      {"a third coordinate", dcid(0, 0) | 1u << 15, [](spec::RouterConfig&) {}, 0},
      {"a third coordinate at its highest bit", dcid(0, 0) | 1u << 21, [](spec::RouterConfig&) {}, 0},
      {"no order, which leaves the second dimension out", dcid(0, 1),
       [](spec::RouterConfig& config) {
         for (unsigned d = 0; d < 3; ++d) config.set_order(d, 0);
       },
       0},
      {"a port beyond those there are", dcid(1, 0), [](spec::RouterConfig& config) { config.set_plus_port(0, 5); }, 0},
      {"an intra-tile port beyond those there are", dcid(0, 0),
       [](spec::RouterConfig& config) { config.set_type_port(0, 3); }, 0},
  };
  for (const Case& c : cases) {
    spec::RouterConfig config = two_by_two(0, 0);
    c.change(config);
    RouterNetwork network{std::vector{config}};
    std::mt19937_64 random{7};
    network.node(0).senders[0].push(make_packet(0, c.destination, 0, 64, 0, random));
    network.run(60);
    CAPTURE(c.what);
    CHECK(network.node(0).receivers[0].arrivals.size() == c.arrive);
    CHECK(network.node(0).model->discarded_o == 1 - c.arrive);
    CHECK(network.node(0).senders[0].idle());
  }
}
