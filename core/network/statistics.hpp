// SPDX-License-Identifier: Apache-2.0
// A network's statistics at the end of a run, apart from the network.
#pragma once

#include <cstdint>
#include <vector>

#include "core/network/network.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

// Of links in the order of their nodes and ports, where there is one.
struct NetworkStatistics {
  std::vector<LinkCount> links;
  std::uint64_t packet_hops = 0, cycles = 0;
};

// At `now`, after which nothing has gone by a link.
inline NetworkStatistics network_statistics(const Topology& topology, const Network& network, Time now) {
  NetworkStatistics statistics{{}, network.packet_hops(), network.cycles()};
  for (NodeId n = 0; n < topology.node_count(); ++n) {
    for (std::uint16_t p = 0; p < topology.port_count(n); ++p)
      if (topology.neighbour(n, p).node != kNoNode) statistics.links.push_back(network.link_count(n, p, now));
  }
  return statistics;
}

template <typename V>
void visit(NetworkStatistics& f, V&& v) {
  v("links", f.links);
  v("packet_hops", f.packet_hops);
  v("cycles", f.cycles);
}

}  // namespace exanet
