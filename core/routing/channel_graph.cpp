// SPDX-License-Identifier: Apache-2.0
#include "core/routing/channel_graph.hpp"

#include <algorithm>

namespace exanet {

namespace {

struct Graph {
  std::vector<std::uint32_t> first;  // by node: number of its first channel
  std::vector<Channel> channels;
  std::vector<std::vector<std::uint32_t>> next;  // by channel
};

Graph dependencies(const Topology& topology, const std::function<Hop(NodeId, NodeId)>& route) {
  Graph graph;
  const NodeId nodes = topology.node_count();
  const std::uint8_t vcs = topology.virtual_channels();
  for (NodeId node = 0; node < nodes; ++node) {
    graph.first.push_back(static_cast<std::uint32_t>(graph.channels.size()));
    for (std::uint16_t port = 0; port < topology.port_count(node); ++port)
      for (std::uint8_t vc = 0; vc < vcs; ++vc) graph.channels.push_back({node, port, vc});
  }
  graph.next.resize(graph.channels.size());
  const auto number = [&](NodeId node, Hop hop) { return graph.first[node] + hop.port * vcs + hop.vc; };
  std::vector<NodeId> seen(nodes, kNoNode);  // the last destination for which a way has led through this node
  for (NodeId dst = 0; dst < topology.endpoint_count(); ++dst)
    for (NodeId src = 0; src < topology.endpoint_count(); ++src)
      for (NodeId at = src; at != dst && seen[at] != dst;) {
        seen[at] = dst;
        const Hop hop = route(at, dst);
        const NodeId beyond = topology.neighbour(at, hop.port).node;
        if (beyond == dst) break;
        std::vector<std::uint32_t>& out = graph.next[number(at, hop)];
        const std::uint32_t follower = number(beyond, route(beyond, dst));
        if (std::find(out.begin(), out.end(), follower) == out.end()) out.push_back(follower);
        at = beyond;
      }
  return graph;
}

}  // namespace

std::vector<Channel> find_dependency_cycle(const Topology& topology, const std::function<Hop(NodeId, NodeId)>& route) {
  const Graph graph = dependencies(topology, route ? route : [&](NodeId at, NodeId dst) { return topology.next_hop(at, dst); });
  enum : char { kUnseen, kOnPath, kDone };
  std::vector<char> state(graph.channels.size(), kUnseen);
  struct Step {
    std::uint32_t channel;
    std::size_t follower;
  };
  for (std::uint32_t start = 0; start < graph.channels.size(); ++start) {
    if (state[start] != kUnseen) continue;
    std::vector<Step> path{{start, 0}};
    state[start] = kOnPath;
    while (!path.empty()) {
      Step& top = path.back();
      if (top.follower == graph.next[top.channel].size()) {
        state[top.channel] = kDone;
        path.pop_back();
        continue;
      }
      const std::uint32_t follower = graph.next[top.channel][top.follower++];
      if (state[follower] == kUnseen) {
        state[follower] = kOnPath;
        path.push_back({follower, 0});
      } else if (state[follower] == kOnPath) {
        std::vector<Channel> cycle;
        const auto begin = std::find_if(path.begin(), path.end(), [&](const Step& s) { return s.channel == follower; });
        for (auto step = begin; step != path.end(); ++step) cycle.push_back(graph.channels[step->channel]);
        return cycle;
      }
    }
  }
  return {};
}

}  // namespace exanet
