// SPDX-License-Identifier: Apache-2.0
// Any graph, as a file says it: each vertex is a router with endpoints of its own (none, one, or more), each edge a
// link. Endpoints are numbered router by router.
//
// Routing is by shortest routes with distance classes where the graph is at most `kWidest` links wide. Where it is
// wider, it is by shortest routes in one virtual channel if those close no cycle, else by up*/down* in one
// (core/topology/route_tables.hpp).
//
// Parallel links and other ports that are equally good are all used: the endpoints of a router, as destinations, take
// them in turn, beginning with one that a hash draws for both routers. So a flow has one route, and what a router sends
// to all endpoints of another is spread evenly.
//
// Two halves of the graph are looked for when somebody asks (core/topology/halves.hpp).
#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "core/topology/halves.hpp"
#include "core/topology/registry.hpp"
#include "core/topology/route_tables.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kWidest = 2;  // as many as the published router has virtual channels
constexpr std::uint32_t kWidestAtAll = 8;  // as many as any router has; for those who ask for shortest routes

class GraphTopology final : public Topology {
 public:
  GraphTopology(const GraphSpec& graph, std::uint32_t widest) : names_(graph.names) {
    for (const std::uint32_t hosts : graph.hosts) {
      first_host_.push_back(endpoints_);
      for (std::uint32_t h = 0; h < hosts; ++h)
        router_of_.push_back(static_cast<std::uint32_t>(first_host_.size() - 1));
      endpoints_ += hosts;
    }
    first_host_.push_back(endpoints_);
    links_.resize(names_.size());
    for (const auto& [a, b] : graph.links) {
      if (a >= names_.size() || b >= names_.size())
        throw std::invalid_argument("a link of the graph leads to a router that the graph does not have");
      if (a == b)
        throw std::invalid_argument("router '" + names_[a] + "' of the graph is linked to itself: remove that link");
      const auto port_a = static_cast<std::uint16_t>(links_[a].size()),
                 port_b = static_cast<std::uint16_t>(links_[b].size());
      links_[a].push_back({b, port_b});
      links_[b].push_back({a, port_a});
      if (port_a > 1024 || port_b > 1024) throw std::invalid_argument("a router of the graph has more than 1024 links");
    }
    shortest_ = tables_.find_shortest(links_, widest);
    if (!shortest_ && widest == kWidestAtAll)
      throw std::invalid_argument("the graph is not connected, or its diameter is more than " +
                                  std::to_string(kWidestAtAll) +
                                  " links, too many for shortest routes: use the routing up-down");
    std::vector<std::uint32_t> ends;
    for (std::uint32_t r = 0; r < names_.size(); ++r)
      if (hosts(r) > 0) ends.push_back(r);
    if (!shortest_) shortest_ = tables_.find_shortest_in_one_channel(links_, ends);
    if (!shortest_ && !tables_.find_up_down(links_))
      throw std::invalid_argument(
          "the graph consists of parts that no link connects: connect them, or remove all but one");
    list_choices(ends);
  }

  std::uint32_t node_count() const override { return endpoints_ + static_cast<std::uint32_t>(names_.size()); }
  std::uint32_t endpoint_count() const override { return endpoints_; }
  std::uint8_t virtual_channels() const override { return tables_.virtual_channels(); }
  bool shortest() const override { return shortest_; }
  std::uint8_t link_class(NodeId, std::uint16_t) const override { return 0; }

  std::uint16_t port_count(NodeId node) const override {
    return static_cast<std::uint16_t>(node < endpoints_ ? 1
                                                        : hosts(node - endpoints_) + links_[node - endpoints_].size());
  }

  PortRef neighbour(NodeId node, std::uint16_t port) const override {
    if (node < endpoints_) {
      const std::uint32_t router = router_of_[node];
      return {endpoints_ + router, static_cast<std::uint16_t>(node - first_host_[router])};
    }
    const std::uint32_t router = node - endpoints_;
    if (port < hosts(router)) return {first_host_[router] + port, 0};
    const PortRef far = links_[router][port - hosts(router)];
    return {endpoints_ + far.node, static_cast<std::uint16_t>(hosts(far.node) + far.port)};
  }

  Hop next_hop(NodeId at, NodeId dst) const override {
    if (at < endpoints_) return {0, 0};
    const std::uint32_t here = at - endpoints_, there = router_of_[dst];
    if (here == there) return {static_cast<std::uint16_t>(dst - first_host_[here]), 0};
    Hop hop = tables_.towards(here, there);
    if (const std::uint32_t choice = choice_[std::size_t{here} * names_.size() + there]; choice != 0) {
      const std::vector<std::uint16_t>& ports = choices_[choice];
      hop.port = ports[(dst - first_host_[there]) % ports.size()];
    }
    return {static_cast<std::uint16_t>(hosts(here) + hop.port), hop.vc};
  }

  void minimal_ports(NodeId at, NodeId dst, PortList& out) const override {
    const std::uint32_t here = at - endpoints_, there = router_of_[dst], first = out.count;
    if (at < endpoints_ || here == there) return out.add(next_hop(at, dst).port);
    tables_.minimal(links_, here, there, out);
    for (std::uint32_t i = first; i < out.count; ++i)
      out.port[i] = static_cast<std::uint16_t>(out.port[i] + hosts(here));
  }

  bool any_equal_port() const override { return true; }
  void equal_ports(NodeId at, NodeId dst, PortList& out) const override {
    const std::uint32_t here = at - endpoints_, there = router_of_[dst], first = out.count;
    if (at < endpoints_ || here == there) return out.add(next_hop(at, dst).port);
    tables_.equal(links_, here, there, out);
    for (std::uint32_t i = first; i < out.count; ++i)
      out.port[i] = static_cast<std::uint16_t>(out.port[i] + hosts(here));
  }

  std::string node_name(NodeId node) const override {
    if (node >= endpoints_) return names_[node - endpoints_];
    std::string name = names_[router_of_[node]];
    return name.append(".host").append(std::to_string(node - first_host_[router_of_[node]]));
  }

  std::string port_name(NodeId node, std::uint16_t port) const override {
    if (node < endpoints_) return "router";
    const std::uint32_t router = node - endpoints_;
    if (port < hosts(router)) return std::to_string(port).insert(0, "host ");
    const auto& links = links_[router];
    const std::uint32_t own = port - hosts(router), far = links[own].node;
    std::uint32_t same = 1;  // of several links to one router
    for (std::uint32_t p = 0; p < own; ++p) same += links[p].node == far;
    std::string name = "to " + names_[far];
    return same == 1 ? name : name.append(" ").append(std::to_string(same));
  }

  // On a ring, endpoints further out.
  void position(NodeId node, float xyz[3]) const override {
    const std::uint32_t router = node < endpoints_ ? router_of_[node] : node - endpoints_;
    const double radius = static_cast<double>(names_.size()) * 0.5,
                 angle = 2 * M_PI * router / static_cast<double>(names_.size());
    const double out = node < endpoints_ ? 1 + 0.4 * (node - first_host_[router] + 1) : 0;
    xyz[0] = static_cast<float>((radius + out) * std::cos(angle));
    xyz[1] = static_cast<float>((radius + out) * std::sin(angle));
    xyz[2] = 0;
  }

  bool upper_half(NodeId node) const override { return halves_.upper(*this, node); }

 private:
  // Of each pair of routers between which there are several, beginning with the one of the tables.
  void list_choices(const std::vector<std::uint32_t>& ends) {
    choice_.assign(names_.size() * names_.size(), 0);
    choices_.resize(1);
    std::map<std::vector<std::uint16_t>, std::uint32_t> known;
    for (const std::uint32_t there : ends)
      for (std::uint32_t here = 0; here < names_.size(); ++here) {
        PortList equal;
        if (here != there) tables_.equal(links_, here, there, equal);
        if (equal.count < 2) continue;
        std::vector<std::uint16_t> ports(equal.port, equal.port + equal.count);
        std::ranges::rotate(ports, std::ranges::find(ports, tables_.towards(here, there).port));
        const auto [place, added] = known.try_emplace(ports, static_cast<std::uint32_t>(choices_.size()));
        if (added) choices_.push_back(std::move(ports));
        choice_[std::size_t{here} * names_.size() + there] = place->second;
      }
  }

  std::uint32_t hosts(std::uint32_t router) const { return first_host_[router + 1] - first_host_[router]; }

  std::vector<std::string> names_;
  std::vector<std::uint32_t> first_host_;  // by router, and one beyond
  std::vector<std::uint32_t> router_of_;  // by endpoint
  Adjacency links_;
  RouteTables tables_;
  std::vector<std::uint32_t> choice_;  // [here][there]: of choices_, 0 where the tables' port is the only one
  std::vector<std::vector<std::uint16_t>> choices_;
  SearchedHalves halves_;
  std::uint32_t endpoints_ = 0;
  bool shortest_ = false;
};

std::unique_ptr<Topology> make_graph(const TopologySpec& spec) {
  const GraphSpec& graph = spec.graph;
  if (graph.names.empty() || graph.names.size() != graph.hosts.size())
    throw std::invalid_argument("a graph needs at least one router: name the file that describes it");
  if (graph.names.size() > kMostRouters)
    throw std::invalid_argument("the graph has " + std::to_string(graph.names.size()) + " routers; at most " +
                                std::to_string(kMostRouters) + " can be routed by tables");
  std::uint64_t endpoints = 0;
  for (const std::uint32_t hosts : graph.hosts) {
    if (hosts > 1024) throw std::invalid_argument("a router of the graph has more than 1024 endpoints");
    endpoints += hosts;
  }
  if (endpoints == 0)
    throw std::invalid_argument("no router of the graph has an endpoint: give at least one router hosts");
  return std::make_unique<GraphTopology>(graph, spec.routing == "shortest" ? kWidestAtAll : kWidest);
}

// Samples for the tests.

// Ten routers, each two links from each other at most; every second one with two endpoints, the others with one.
GraphSpec petersen() {
  GraphSpec graph;
  for (std::uint32_t v = 0; v < 10; ++v) {
    graph.names.push_back(std::to_string(v).insert(0, "v"));
    graph.hosts.push_back(1 + v % 2);
  }
  for (std::uint32_t v = 0; v < 5; ++v) {
    graph.links.push_back({v, (v + 1) % 5});
    graph.links.push_back({v, v + 5});
    graph.links.push_back({v + 5, (v + 2) % 5 + 5});
  }
  return graph;
}

// Routers in a row with a ring at its end, and two links between the first two; endpoints at some of them. Too wide for
// distance classes.
GraphSpec string_of(std::uint32_t routers) {
  GraphSpec graph;
  for (std::uint32_t v = 0; v < routers; ++v) {
    graph.names.push_back(std::to_string(v).insert(0, "r"));
    graph.hosts.push_back(v % 3);
    if (v > 0) graph.links.push_back({v - 1, v});
  }
  graph.links.push_back({0, 1});
  graph.links.push_back({routers - 1, routers - 4});
  return graph;
}

}  // namespace

namespace topologies {

TopologyKind graph() {
  return {.name = "graph",
          .help = "routers and links as a file describes them",
          .shape = "[endpoints of a router that has no number of its own]",
          .links = {"link"},
          .samples = {{{}, {}, petersen()}, {{}, {}, string_of(9)}},
          .make = make_graph};
}

}  // namespace topologies

}  // namespace exanet
