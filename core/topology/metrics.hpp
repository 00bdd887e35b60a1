// SPDX-License-Identifier: Apache-2.0
// Measures of a topology's shape, in links. Distances are those between endpoints.
#pragma once

#include <cstdint>

#include "core/topology/topology.hpp"

namespace exanet {

struct Distances {
  std::uint32_t diameter = 0;  // longest of the shortest routes
  double mean = 0;             // over all ordered pairs of different endpoints; 0 when there is one only
  bool exact = true;           // false: taken from evenly spaced sources only, so that `diameter` is a lower bound
};

// Breadth-first search from every endpoint, or from `most_sources` evenly spaced ones where there are more.
Distances distances(const Topology& topology, std::uint32_t most_sources = 1024);

// Links, each direction for itself.
std::uint64_t link_count(const Topology& topology);
// Links on the way that packets take from one node to another.
std::uint32_t hop_count(const Topology& topology, NodeId from, NodeId to);

// Links (both directions counted as one) between the halves that Topology::upper_half() separates.
std::uint64_t bisection_links(const Topology& topology);

}  // namespace exanet
