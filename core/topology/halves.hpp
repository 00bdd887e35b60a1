// SPDX-License-Identifier: Apache-2.0
// Looks for a bisection of a graph: two halves with as many endpoints each and few links between them.
//
// The least cut is NP-hard to find, so this is an upper bound. Model: several beginnings (the order of the routers, and
// breadth-first from some of them), each improved by passes that move every router once, the most useful first, and
// keep the best moment (Fiduccia and Mattheyses 1982). Limits: a pass costs the square of the routers, so there are
// fewer beginnings on large graphs; of more than 8192 routers the halves are those of the order.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "core/topology/route_tables.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

// By router, whether it is in the upper half: the one with no fewer endpoints. `hosts`: endpoints of each router. The
// same for the same graph.
std::vector<bool> find_halves(const Adjacency& graph, const std::vector<std::uint32_t>& hosts);

// The same of a topology, by node: an endpoint behind a switch is in the half of that.
std::vector<bool> find_halves(const Topology& topology);

// Those of a topology, which are looked for when somebody asks first.
class SearchedHalves {
 public:
  bool upper(const Topology& topology, NodeId node) const {
    std::call_once(searched_, [&] { upper_ = find_halves(topology); });
    return upper_[node];
  }

 private:
  mutable std::once_flag searched_;
  mutable std::vector<bool> upper_;
};

}  // namespace exanet
