// SPDX-License-Identifier: Apache-2.0
// Builds the graph of channel dependencies by walking all routes, and looks for a cycle in it: theory and limits are in
// channel_graph.hpp.
#include "core/routing/channel_graph.hpp"

#include <algorithm>
#include <utility>

#include "core/routing/routing.hpp"
#include "core/topology/multicast.hpp"

namespace exanet {

ChannelGraph::ChannelGraph(const Topology& topology, std::uint8_t virtual_channels)
    : virtual_channels_(virtual_channels) {
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    first_.push_back(channels_);
    channels_ += static_cast<std::uint32_t>(topology.port_count(node)) * virtual_channels;
  }
  next_.resize(channels_);
}

std::uint32_t ChannelGraph::junction() {
  next_.emplace_back();
  return static_cast<std::uint32_t>(next_.size() - 1);
}

void ChannelGraph::depends(std::uint32_t holds, std::uint32_t asks_for) {
  std::vector<std::uint32_t>& out = next_[holds];
  if (std::find(out.begin(), out.end(), asks_for) == out.end()) out.push_back(asks_for);
}

Channel ChannelGraph::at(std::uint32_t channel) const {
  const auto node = static_cast<NodeId>(std::upper_bound(first_.begin(), first_.end(), channel) - first_.begin() - 1);
  const std::uint32_t own = channel - first_[node];
  return {node, static_cast<std::uint16_t>(own / virtual_channels_),
          static_cast<std::uint8_t>(own % virtual_channels_)};
}

std::vector<Channel> ChannelGraph::find_cycle() const {
  enum : char { kUnseen, kOnPath, kDone };
  std::vector<char> state(next_.size(), kUnseen);
  struct Step {
    std::uint32_t vertex;
    std::size_t follower;
  };
  for (std::uint32_t start = 0; start < next_.size(); ++start) {
    if (state[start] != kUnseen) continue;
    std::vector<Step> path{{start, 0}};
    state[start] = kOnPath;
    while (!path.empty()) {
      Step& top = path.back();
      if (top.follower == next_[top.vertex].size()) {
        state[top.vertex] = kDone;
        path.pop_back();
        continue;
      }
      const std::uint32_t follower = next_[top.vertex][top.follower++];
      if (state[follower] == kUnseen) {
        state[follower] = kOnPath;
        path.push_back({follower, 0});
      } else if (state[follower] == kOnPath) {
        std::vector<Channel> cycle;
        const auto begin = std::find_if(path.begin(), path.end(), [&](const Step& s) { return s.vertex == follower; });
        for (auto step = begin; step != path.end(); ++step)
          if (step->vertex < channels_) cycle.push_back(at(step->vertex));
        return cycle;
      }
    }
  }
  return {};
}

std::vector<NodeId> representative_endpoints(const Topology& topology) {
  std::vector<NodeId> found;
  std::vector<bool> seen(topology.node_count());
  for (NodeId e = 0; e < topology.endpoint_count(); ++e) {
    if (!topology.alive(e)) continue;
    const NodeId beyond = topology.port_count(e) == topology.rails() ? topology.neighbour(e, 0).node : kNoNode;
    const NodeId router =
        beyond != kNoNode && beyond >= topology.endpoint_count() && topology.routes_by_switch() ? beyond : e;
    if (!seen[router]) found.push_back(e);
    seen[router] = true;
  }
  return found;
}

void report_share(const CheckProgress& progress, std::size_t done, std::size_t all) {
  if (progress && done * 100 / all != (done + 1) * 100 / all)
    progress(static_cast<double>(done + 1) / static_cast<double>(all));
}

namespace {

void add_routes(ChannelGraph& graph, const Topology& topology, const std::function<Hop(NodeId, NodeId)>& route,
                const CheckProgress& progress) {
  const std::vector<NodeId> ends = representative_endpoints(topology);
  const auto next = [&](NodeId at, NodeId dst) { return route ? route(at, dst) : topology.next_hop(at, dst); };
  const bool by_switch = topology.routes_by_switch() && topology.rails() > 1;
  std::vector<NodeId> seen(topology.node_count(),
                           kNoNode);  // the last destination for which a route has led through this node
  for (std::size_t number = 0; number < ends.size(); report_share(progress, number++, ends.size())) {
    const NodeId dst = ends[number];
    const auto follow = [&](NodeId at, Hop hop) {
      for (seen[at] = dst;;) {
        const NodeId beyond = topology.neighbour(at, hop.port).node;
        if (beyond == dst) break;
        const Hop follower = next(beyond, dst);
        graph.depends(graph.channel(at, hop), graph.channel(beyond, follower));
        at = beyond;
        hop = follower;
        if (std::exchange(seen[at], dst) == dst) break;
      }
    };
    for (const NodeId src : ends) {
      if (src == dst || seen[src] == dst) continue;
      const Hop first = next(src, dst);
      if (!by_switch) {
        follow(src, first);
        continue;
      }
      // It stands for all endpoints of its switches, which together may take any rail.
      for (std::uint16_t rail = 0; rail < topology.rails(); ++rail) follow(src, {rail, first.vc});
    }
  }
}

// What a copy that comes to `at` by a port, holding a channel, waits for, and so on to the leaves. None is held at the
// source.
void add_tree(ChannelGraph& graph, const Topology& trees, NodeId src, NodeId box, NodeId at, std::uint16_t from,
              std::uint32_t holds) {
  const Copies copies = trees.copies(at, from, src, box);
  for (std::uint16_t port = 0; port < 16; ++port) {
    if ((copies.ports >> port & 1) == 0) continue;
    const std::uint32_t channel = graph.channel(at, {port, static_cast<std::uint8_t>(copies.channels >> port & 1)});
    if (from != kFromInterface) graph.depends(holds, channel);
    const PortRef far = trees.neighbour(at, port);
    add_tree(graph, trees, src, box, far.node, far.port, channel);
  }
}

}  // namespace

std::vector<Channel> find_dependency_cycle(const Topology& topology, const std::function<Hop(NodeId, NodeId)>& route,
                                           const CheckProgress& progress) {
  if (!route && topology.routing() != nullptr) return topology.routing()->find_cycle(progress);
  ChannelGraph graph(topology, topology.virtual_channels());
  add_routes(graph, topology, route, progress);
  return graph.find_cycle();
}

std::vector<Channel> find_multicast_cycle(const Topology& topology, const Topology& trees,
                                          const std::vector<std::pair<NodeId, NodeId>>& packets) {
  ChannelGraph graph(topology, topology.virtual_channels());
  add_routes(graph, topology, {}, {});
  for (const auto& [src, to] : packets) add_tree(graph, trees, src, to, src, kFromInterface, 0);
  return graph.find_cycle();
}

std::vector<Channel> find_multicast_cycle(const Topology& topology, const Topology& trees) {
  // As many hops as a packet to one node makes in each dimension are all that copies can make.
  std::uint32_t most[kBoxDimensions] = {};
  const NodeId nodes = topology.node_count();
  for (std::uint32_t d = 0; d < kBoxDimensions; ++d) {
    std::size_t before = 0;
    for (std::uint32_t hops = 1; hops <= kMostHops; ++hops) {
      std::size_t reached = 0;
      for (NodeId src = 0; src < nodes; ++src)
        reached += multicast_destinations(trees, src, kMulticast | hops << 8 * d).size();
      if (reached == before) break;
      before = reached;
      most[d] = hops;
    }
  }
  std::vector<std::pair<NodeId, NodeId>> packets;
  for (NodeId src = 0; src < nodes; ++src)
    for (std::uint32_t x = 0; x <= most[0]; ++x)
      for (std::uint32_t y = 0; y <= most[1]; ++y)
        for (std::uint32_t z = 0; z <= most[2]; ++z) packets.emplace_back(src, multicast_box(x, y, z));
  return find_multicast_cycle(topology, trees, packets);
}

namespace {

using Ports = void (Topology::*)(NodeId, NodeId, PortList&) const;

// Calls visit(at) for each node from which packets to `dst` go on, when they take any of `these` ports, or
// next_hop()'s. `seen` has, by node, the last destination for which it was called.
template <typename Visit>
void each_on_routes(const Topology& topology, Ports these, const std::vector<NodeId>& ends, NodeId dst,
                    std::vector<NodeId>& seen, const Visit& visit) {
  std::vector<NodeId> open;
  const auto reach = [&](NodeId node) {
    if (node == dst || seen[node] == dst) return;
    seen[node] = dst;
    open.push_back(node);
  };
  for (const NodeId src : ends) reach(src);
  while (!open.empty()) {
    const NodeId at = open.back();
    open.pop_back();
    visit(at);
    PortList ports;
    (topology.*these)(at, dst, ports);
    ports.add(topology.next_hop(at, dst).port);
    for (std::uint32_t i = 0; i < ports.count; ++i) reach(topology.neighbour(at, ports.port[i]).node);
  }
}

}  // namespace

std::vector<Channel> find_equal_cycle(const Topology& topology, const CheckProgress& progress) {
  ChannelGraph graph(topology, topology.virtual_channels());
  const std::vector<NodeId> ends = representative_endpoints(topology);
  std::vector<NodeId> seen(topology.node_count(), kNoNode);
  const auto channels_at = [&](NodeId at, NodeId dst, const auto& each) {
    const std::uint8_t vc = topology.next_hop(at, dst).vc;
    PortList ports;
    topology.equal_ports(at, dst, ports);
    for (std::uint32_t i = 0; i < ports.count; ++i) each(Hop{ports.port[i], vc});
  };
  for (std::size_t number = 0; number < ends.size(); report_share(progress, number++, ends.size())) {
    const NodeId dst = ends[number];
    each_on_routes(topology, &Topology::equal_ports, ends, dst, seen, [&](NodeId at) {
      channels_at(at, dst, [&](Hop hop) {
        const NodeId beyond = topology.neighbour(at, hop.port).node;
        if (beyond == dst) return;
        channels_at(beyond, dst, [&](Hop next) { graph.depends(graph.channel(at, hop), graph.channel(beyond, next)); });
      });
    });
  }
  return graph.find_cycle();
}

std::vector<Channel> find_escape_cycle(const Topology& topology, const CheckProgress& progress) {
  ChannelGraph graph(topology, topology.virtual_channels());
  const std::vector<NodeId> ends = representative_endpoints(topology);
  std::vector<NodeId> seen(topology.node_count(), kNoNode);
  for (std::size_t number = 0; number < ends.size(); report_share(progress, number++, ends.size())) {
    const NodeId dst = ends[number];
    each_on_routes(topology, &Topology::minimal_ports, ends, dst, seen, [&](NodeId at) {
      const Hop escape = topology.next_hop(at, dst);
      const NodeId beyond = topology.neighbour(at, escape.port).node;
      if (beyond != dst)
        graph.depends(graph.channel(at, escape), graph.channel(beyond, topology.next_hop(beyond, dst)));
    });
  }
  return graph.find_cycle();
}

}  // namespace exanet
