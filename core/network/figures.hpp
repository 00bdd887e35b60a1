// SPDX-License-Identifier: Apache-2.0
// A network's figures at the end of a run, apart from the network.
#pragma once

#include <cstdint>
#include <vector>

#include "core/network/network.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

// Of links in the order of their nodes and ports, where there is one.
struct NetworkFigures {
  std::vector<LinkStats> links;
  std::uint64_t packet_hops = 0, cycles = 0;
};

inline NetworkFigures network_figures(const Topology& topology, const Network& network) {
  NetworkFigures figures{{}, network.packet_hops(), network.cycles()};
  for (NodeId n = 0; n < topology.node_count(); ++n) {
    for (std::uint16_t p = 0; p < topology.port_count(n); ++p)
      if (topology.neighbour(n, p).node != kNoNode) figures.links.push_back(network.link_stats(n, p));
  }
  return figures;
}

template <typename V>
void visit(NetworkFigures& f, V&& v) {
  v("links", f.links);
  v("packet_hops", f.packet_hops);
  v("cycles", f.cycles);
}

}  // namespace exanet
