// SPDX-License-Identifier: Apache-2.0
// Disabled ports: packets go round them, or are discarded and counted, and none goes to and fro. The Verilated routers do what the rule in C++
// says, and that rule closes no cycle of channels on rings and tori without some of their links.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/routing/channel_graph.hpp"
#include "core/topology/grid_topology.hpp"
#include "gateware/router/tb/router_network.hpp"
#include "gateware/tb/route_rule.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

// Registers of each node of a grid: port 2d upwards in dimension d, 2d + 1 downwards, last dimension first.
std::vector<spec::RouterConfig> on_grid(const std::vector<std::uint32_t>& shape, bool wraps) {
  std::uint32_t nodes = 1;
  for (const auto side : shape) nodes *= side;
  std::vector<spec::RouterConfig> configs(nodes);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    spec::RouterConfig& config = configs[n];
    config.set_enabled(1);
    config.set_wraps(wraps);
    std::uint32_t rest = n;
    for (unsigned d = 0; d < 3; ++d) {
      const std::uint32_t side = d < shape.size() ? shape[d] : 1;
      config.set_side(d, side);
      config.set_coordinate(d, rest % side);
      config.set_order(d, 2 - d);
      config.set_plus_port(d, 2 * d);
      config.set_minus_port(d, 2 * d + 1);
      rest /= side;
    }
    for (unsigned kind = 0; kind < 16; ++kind) config.set_type_port(kind, kind % 3);
  }
  return configs;
}

std::uint32_t place(const spec::RouterConfig& config) {
  return static_cast<std::uint32_t>(config.coordinate(0) | config.coordinate(1) << 8 | config.coordinate(2) << 15);
}

struct Link {
  NodeId node;
  std::uint16_t port;
};

void disable(std::vector<spec::RouterConfig>& configs, const GridTopology& grid, Link link) {
  const Link ends[] = {link, {grid.neighbour(link.node, link.port).node, grid.neighbour(link.node, link.port).port}};
  for (const Link& end : ends) configs[end.node].set_disabled(configs[end.node].disabled() | 1u << end.port);
}

struct Trace {
  bool arrives = false;
  std::vector<Channel> channels;
};

Trace trace(const std::vector<spec::RouterConfig>& configs, const GridTopology& grid, NodeId src, NodeId dst) {
  Trace trace;
  NodeId at = src;
  unsigned from = kNoPort;
  while (at != dst) {
    const auto step = route_rule(configs[at], 6, place(configs[dst]), from);
    if (!step) return trace;
    REQUIRE(trace.channels.size() <= configs.size());  // longer than any way that visits each node once
    trace.channels.push_back({at, static_cast<std::uint16_t>(step->port), static_cast<std::uint8_t>(step->vc)});
    const auto next = grid.neighbour(at, static_cast<std::uint16_t>(step->port));
    at = next.node, from = next.port;
  }
  trace.arrives = true;
  return trace;
}

struct Ways {
  unsigned arrive = 0, discarded = 0;
  bool cycle = false;
};

Ways all_ways(const std::vector<spec::RouterConfig>& configs, const GridTopology& grid) {
  Ways ways;
  ChannelGraph graph(grid, 2);
  for (NodeId src = 0; src < configs.size(); ++src)
    for (NodeId dst = 0; dst < configs.size(); ++dst) {
      if (src == dst) continue;
      const Trace way = trace(configs, grid, src, dst);
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

// Every link once: each is that of the port upwards of one node.
std::vector<Link> links(const std::vector<std::uint32_t>& shape, NodeId nodes) {
  std::vector<Link> all;
  for (NodeId n = 0; n < nodes; ++n)
    for (std::uint16_t d = 0; d < shape.size(); ++d) all.push_back({n, static_cast<std::uint16_t>(2 * d)});
  return all;
}

}  // namespace

TEST_CASE("disabled ports: the rule is dimension order where none is") {
  for (const bool wraps : {false, true})
    for (const std::vector<std::uint32_t>& shape :
         {std::vector<std::uint32_t>{2}, {5}, {8}, {4, 4}, {3, 5}, {4, 3, 2}, {5, 4, 6}}) {
      const GridTopology grid(shape, wraps, {});
      const auto configs = on_grid(shape, wraps);
      unsigned differ = 0;
      for (NodeId src = 0; src < configs.size(); ++src)
        for (NodeId dst = 0; dst < configs.size(); ++dst) {
          if (src == dst) continue;
          const Trace way = trace(configs, grid, src, dst);
          REQUIRE(way.arrives);
          for (const Channel& channel : way.channels) {
            const Hop hop = grid.next_hop(channel.node, dst);
            differ += hop.port != channel.port || hop.vc != (channel.vc & (grid.virtual_channels() - 1));
          }
        }
      CHECK(differ == 0);
    }
}

TEST_CASE("disabled ports: no cycle of channels on rings and tori without one link or two") {
  unsigned grids = 0, cyclic = 0;
  for (const bool wraps : {false, true})
    for (const std::vector<std::uint32_t>& shape :
         {std::vector<std::uint32_t>{3}, {5}, {8}, {4, 4}, {3, 5}, {3, 3, 3}, {4, 3, 2}}) {
      const GridTopology grid(shape, wraps, {});
      const auto sound = on_grid(shape, wraps);
      const auto all = links(shape, static_cast<NodeId>(sound.size()));
      const auto there = [&](Link link) { return grid.neighbour(link.node, link.port).node != kNoNode; };
      for (std::size_t a = 0; a < all.size(); ++a)
        for (std::size_t b = a; b < all.size(); ++b) {
          if (!there(all[a]) || !there(all[b])) continue;
          auto configs = sound;
          disable(configs, grid, all[a]);
          disable(configs, grid, all[b]);
          ++grids;
          cyclic += all_ways(configs, grid).cycle;
        }
    }
  MESSAGE(grids << " grids without a link or two, " << cyclic << " with a cycle");
  CHECK(grids > 4000);
  CHECK(cyclic == 0);
}

TEST_CASE("disabled ports: each packet arrives or is discarded and counted, as the rule says") {
  struct Case {
    unsigned side;
    bool wraps;
  };
  for (const auto [side, wraps] : {Case{5, true}, Case{8, true}, Case{3, false}, Case{2, true}})
    for (unsigned off = 0; off < side; ++off)
      for (const unsigned ends : {1u, 2u, 3u}) {  // of the link, at which it is disabled
        const GridTopology grid({side}, wraps, {});
        if (grid.neighbour(off, 0).node == kNoNode) continue;
        auto configs = on_grid({side}, wraps);
        if ((ends & 1) != 0) configs[off].set_disabled(configs[off].disabled() | 1);
        const auto far = grid.neighbour(off, 0);
        if ((ends & 2) != 0) configs[far.node].set_disabled(configs[far.node].disabled() | 1u << far.port);
        RouterNetwork network(configs);
        for (unsigned x = 0; x < side; ++x)
          if (grid.neighbour(x, 0).node != kNoNode) network.connect({x, 0}, {grid.neighbour(x, 0).node, 1});
        std::mt19937_64 random{6};
        std::size_t arrive = 0, discarded = 0;
        std::vector<std::size_t> expected(side, 0);
        for (unsigned src = 0; src < side; ++src)
          for (unsigned dst = 0; dst < side; ++dst) {
            network.node(src).senders[0].push(make_packet(src, dst, 0, 16, 0, random));
            const bool arrives = src == dst || trace(configs, grid, src, dst).arrives;
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
