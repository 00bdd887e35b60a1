// SPDX-License-Identifier: Apache-2.0
// Looks for a bisection of a graph: two halves with as many endpoints each and few links between them.
//
// The least cut is NP-hard to find, so this is an upper bound. Model: several beginnings (the order of the routers, and
// breadth-first from some of them), each improved by passes that move every router once, the most useful first, and
// keep the best moment (Fiduccia and Mattheyses 1982). Limits: a pass costs the square of the routers, so there are
// fewer beginnings on large graphs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/topology/route_tables.hpp"

namespace exanet {

// By router, whether it is in the upper half: the one with no fewer endpoints. `hosts`: endpoints of each router. The
// same for the same graph.
std::vector<bool> find_halves(const Adjacency& graph, const std::vector<std::uint32_t>& hosts);

}  // namespace exanet
