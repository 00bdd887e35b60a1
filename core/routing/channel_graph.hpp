// SPDX-License-Identifier: Apache-2.0
// Can a routing function deadlock? Virtual cut-through with deterministic routing is free of deadlock exactly when the
// graph of channel dependencies has no cycle: its vertices are virtual channels of links, and an edge says that some
// packet holds the first while it asks for the second (Dally and Seitz 1987). Only what packets from endpoints to
// endpoints can meet counts.
//
// With adaptive routing it is enough that a part of the channels, the escape, has no cycle, that every packet may ask
// for one of them wherever it waits, and that a packet which waits sits in one buffer (Duato 1996: virtual cut-through
// needs no indirect dependencies).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/topology/topology.hpp"

namespace exanet {

struct Channel {
  NodeId node;
  std::uint16_t port;
  std::uint8_t vc;
  bool operator==(const Channel&) const = default;
};

// Called with the share of a check that is done, now and then. What it throws ends the check.
using CheckProgress = std::function<void(double)>;

// Channels of a topology's links, and which of them may wait for which.
class ChannelGraph {
 public:
  ChannelGraph(const Topology& topology, std::uint8_t virtual_channels);

  std::uint32_t channel(NodeId node, Hop hop) const { return first_[node] + hop.port * virtual_channels_ + hop.vc; }
  // A vertex that is no channel: a packet that holds what leads to it may ask for all that it leads to.
  std::uint32_t junction();
  void depends(std::uint32_t holds, std::uint32_t asks_for);
  std::vector<Channel> find_cycle() const;  // without junctions

 private:
  Channel at(std::uint32_t channel) const;

  std::uint8_t virtual_channels_;
  std::vector<std::uint32_t> first_;  // by node: number of its first channel
  std::vector<std::vector<std::uint32_t>> next_;  // by vertex
  std::uint32_t channels_ = 0;
};

// Reports progress after each hundredth of `all` steps, of which one more than `done` have been done.
void report_share(const CheckProgress& progress, std::size_t done, std::size_t all);

// Endpoints to which routes differ from switch to switch: one of those that hang on the same switch stands for all, for
// nothing follows its link and nothing precedes it. All endpoints where they are routers themselves.
std::vector<NodeId> representative_endpoints(const Topology& topology);

// Of the routes by next_hop(), or by `route`; by the topology's routing() where it has one and no `route` is given. A
// cycle of channels in the order of dependency, or nothing when there is none. Looks at every pair of routers: seconds
// for ten thousand.
std::vector<Channel> find_dependency_cycle(const Topology& topology,
                                           const std::function<Hop(NodeId, NodeId)>& route = {},
                                           const CheckProgress& progress = {});

// Of the routes by next_hop() and of the trees of all multicast packets together: of each source and each box
// (core/topology/multicast.hpp), as `trees`, which has the same links, lays them. A packet that waits for several
// outputs leaves its buffer when all have taken it, so what it holds waits for each. Contract: trees.multicasts().
std::vector<Channel> find_multicast_cycle(const Topology& topology, const Topology& trees);

// The same, of the trees of packets with these sources and destinations.
std::vector<Channel> find_multicast_cycle(const Topology& topology, const Topology& trees,
                                          const std::vector<std::pair<NodeId, NodeId>>& packets);

// Of all routes by equal_ports() together, each in next_hop()'s channels.
std::vector<Channel> find_equal_cycle(const Topology& topology, const CheckProgress& progress = {});

// Both the route that next_hop() says and all minimal ones lead on, but only next_hop()'s channels can be waited for:
// the check of an escape.
std::vector<Channel> find_escape_cycle(const Topology& topology, const CheckProgress& progress = {});

}  // namespace exanet
