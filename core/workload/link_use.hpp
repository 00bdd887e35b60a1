// SPDX-License-Identifier: Apache-2.0
// Records what each link carried between two moments: the same rows of every kind of measurement, node by node and port
// by port.
#pragma once

#include <cstdint>
#include <vector>

#include "core/network/network.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

struct LinkUse {
  NodeId node, to_node;
  std::uint16_t port;
  std::uint8_t link_class;
  std::uint64_t packets, payload_bytes;  // granted to it in that time
  double use;  // share of that time in which it carried words; all of it where it was granted more than it could carry
  double asleep;  // share of that time in which it slept
};

// Calls visit(node, port, far node) for each direction of each link.
template <typename Visit>
void each_link(const Topology& topology, Visit visit) {
  for (NodeId node = 0; node < topology.node_count(); ++node)
    for (std::uint16_t port = 0; port < topology.port_count(node); ++port) {
      const NodeId far = topology.neighbour(node, port).node;
      if (far != kNoNode) visit(node, port, far);
    }
}

// The counts of all links at `now`, after which nothing has gone by one, in the order of each_link().
std::vector<LinkCount> link_counts(const Topology& topology, const Network& network, Time now);

// `before` is empty if counting began with the run.
std::vector<LinkUse> link_use(const Topology& topology, const std::vector<LinkCount>& before,
                              const std::vector<LinkCount>& after, Time between);

// Measures the use of each link from one sample to the next. A network is sampled hundreds of times while it runs, so
// links are found once, and no more of them is read than how long they were busy.
class LinkMeter {
 public:
  // From `now` on. Contract: the network outlives the meter.
  LinkMeter(const Topology& topology, const Network& network, Time now);

  // Appends to `use` what share of the time since the last sample each link carried words, in the order of each_link().
  // A network counts words when it grants a packet: those that a link can only have carried later count in the next
  // sample.
  void sample(Time now, std::vector<float>& use);

 private:
  struct Link {
    const LinkStats* stats;
    Time busy;  // as far as samples have shown it
  };
  std::vector<Link> links_;
  Time sampled_at_;
};

}  // namespace exanet
