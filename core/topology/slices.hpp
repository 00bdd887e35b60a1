// SPDX-License-Identifier: Apache-2.0
// Divides a machine's nodes into parts that run on a thread each.
#pragma once

#include <cstdint>
#include <vector>

#include "core/topology/topology.hpp"

namespace exanet {

// The nodes by their distance from the nearest endpoint, each level by number; what no endpoint reaches comes last.
std::vector<std::vector<NodeId>> levels(const Topology& topology);

// By node, the part that it belongs to. Endpoints, the switches next to them, those next to these and so on are each
// cut into `parts` equal ranges by number: slabs of a torus, runs of groups of a dragonfly with their endpoints, a
// share of each level of a fat tree. Throws std::invalid_argument when there are more parts than endpoints, or more
// than 64.
std::vector<std::uint8_t> slices(const Topology& topology, std::uint32_t parts);

}  // namespace exanet
