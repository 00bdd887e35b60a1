// SPDX-License-Identifier: Apache-2.0
// Renumbers the links of a topology by the kinds that a machine names.
//
// Problem: a machine may give links to hosts, or of each level, a rate of their own, which topologies do not
// distinguish. Model: a wrapper with a table of classes, and none where no such kind is named. Limits: 127 kinds; a
// graph's file names a kind for each link, or none.
#include "core/topology/link_kinds.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/config/error.hpp"
#include "core/topology/registry.hpp"
#include "core/topology/slices.hpp"
#include "core/topology/wrapped.hpp"

namespace exanet {

namespace {

constexpr const char* kHost = "host";
constexpr std::size_t kMostClasses = 127;  // the network has numbers for twice as many: links to endpoints differ

class Classed final : public WrappedTopology {
 public:
  Classed(std::unique_ptr<Topology> inner, LinkClasses classes)
      : WrappedTopology(std::move(inner)), classes_(std::move(classes)) {}
  std::uint8_t link_class(NodeId node, std::uint16_t port) const override { return classes_[node][port]; }
  const Routing* routing() const override { return inner_->routing(); }
  bool multicasts() const override { return inner_->multicasts(); }
  Copies copies(NodeId at, std::uint16_t from, NodeId src, NodeId to) const override {
    return inner_->copies(at, from, src, to);
  }
  NodeId multicast_to(NodeId src, const std::vector<NodeId>& members) override {
    return inner_->multicast_to(src, members);
  }
  std::vector<std::unique_ptr<Topology>> miniatures() const override { return inner_->miniatures(); }

 private:
  LinkClasses classes_;
};

std::vector<std::uint32_t> level_of_nodes(const Topology& topology) {
  std::vector<std::uint32_t> level(topology.node_count());
  const auto found = levels(topology);
  for (std::uint32_t l = 0; l < found.size(); ++l)
    for (const NodeId node : found[l]) level[node] = l;
  return level;
}

// By node, the kind of each port's link as the graph's file says it: 0 where it says none, else one more than its place
// in `link_kinds`.
std::vector<std::vector<std::uint32_t>> edge_kinds(const Topology& topology, const GraphSpec& graph) {
  std::vector<std::vector<std::uint32_t>> found(topology.node_count());
  if (graph.kinds.empty()) return found;
  if (graph.kinds.size() != graph.links.size())
    throw ConfigError("topology.graph", "give a kind for each link of the graph, or for none");
  const NodeId first = topology.endpoint_count();
  for (std::size_t router = 0; router < graph.hosts.size(); ++router) found[first + router].resize(graph.hosts[router]);
  for (std::size_t link = 0; link < graph.links.size(); ++link)
    for (const std::uint32_t end : {graph.links[link].first, graph.links[link].second})
      found[first + end].push_back(graph.kinds[link]);
  return found;
}

}  // namespace

LinkClasses link_classes(const Topology& topology, const TopologySpec& spec) {
  const auto& kinds = spec.link_kinds;
  const auto described = std::find_if(topology_kinds().begin(), topology_kinds().end(),
                                      [&](const TopologyKind& kind) { return kind.name == spec.kind; });
  const bool host_first = std::find(kinds.begin(), kinds.end(), kHost) != kinds.end();
  const std::size_t own = described->links.size();
  if (own + kinds.size() > kMostClasses)
    throw ConfigError("links", "more than " + std::to_string(kMostClasses) + " kinds of links: remove some");
  std::vector<std::uint8_t> class_of(kinds.size());  // by its place in `link_kinds`
  for (std::size_t k = 0, next = own + host_first; k < kinds.size(); ++k)
    class_of[k] = kinds[k] == kHost ? 0 : static_cast<std::uint8_t>(next++);
  const auto level = level_of_nodes(topology);
  const auto edges = edge_kinds(topology, spec.graph);
  const NodeId endpoints = topology.endpoint_count();

  std::vector<std::uint64_t> links(kinds.size());
  LinkClasses classes(topology.node_count());
  for (NodeId node = 0; node < topology.node_count(); ++node)
    for (std::uint16_t port = 0; port < topology.port_count(node); ++port) {
      classes[node].push_back(static_cast<std::uint8_t>(topology.link_class(node, port) + host_first));
      const NodeId far = topology.neighbour(node, port).node;
      if (far == kNoNode) continue;
      const bool host = (node < endpoints) != (far < endpoints);
      const std::string up =
          level[node] != level[far] ? "level-" + std::to_string(std::max(level[node], level[far])) : "";
      for (std::size_t k = 0; k < kinds.size(); ++k) {
        const bool named = port < edges[node].size() && edges[node][port] == k + 1;
        if (!(kinds[k] == kHost ? host : named || (!host && kinds[k] == up))) continue;
        classes[node].back() = class_of[k];
        ++links[k];
      }
    }
  for (std::size_t k = 0; k < kinds.size(); ++k)
    if (links[k] == 0)
      throw ConfigError("links." + kinds[k], "this " + spec.kind + " has no links of the kind '" + kinds[k] +
                                                 "': remove it, or set it to null");
  return classes;
}

LinkClasses on_all_rails(LinkClasses classes, std::uint32_t endpoints, std::uint32_t rails) {
  const LinkClasses plane = classes;
  for (std::uint32_t rail = 1; rail < rails; ++rail) {
    for (NodeId e = 0; e < endpoints; ++e) classes[e].insert(classes[e].end(), plane[e].begin(), plane[e].end());
    classes.insert(classes.end(), plane.begin() + endpoints, plane.end());
  }
  return classes;
}

std::unique_ptr<Topology> with_link_classes(std::unique_ptr<Topology> inner, LinkClasses classes) {
  return std::make_unique<Classed>(std::move(inner), std::move(classes));
}

}  // namespace exanet
