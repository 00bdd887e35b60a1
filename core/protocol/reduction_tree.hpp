// SPDX-License-Identifier: Apache-2.0
// Trees of reductions: which node's interface combines what, and hands it to whom.
//
// A node's unit has eight branches (gateware/ni/rtl/ni_reduce_pkg.sv): ranks of the node, and nodes below it. Parts are
// combined in the order of the branches, ranks first, by number, then nodes below, in the order in which they were
// joined: a pure function of the machine, the placement and the members, so that floating-point sums have the same bits
// in every run, and on every rank.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/protocol/host.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

struct ReductionTree {
  static constexpr std::size_t kBranches = 8;
  struct Node {
    NodeId node = 0;
    std::uint32_t above = 0;  // its place in `nodes`; of the root its own
    std::vector<RankId> ranks;
    std::vector<std::uint32_t> below;
    std::size_t branches() const { return ranks.size() + below.size(); }
  };
  std::vector<Node> nodes;  // the root first, each behind the one above it

  // Which branch of the node above one is.
  std::uint8_t branch_above(std::uint32_t node) const {
    const Node& above = nodes[nodes[node].above];
    const auto below = std::find(above.below.begin(), above.below.end(), node) - above.below.begin();
    return static_cast<std::uint8_t>(above.ranks.size() + static_cast<std::size_t>(below));
  }
};

// The tree of these ranks, each once; none where units have too few branches. Low rather than narrow: each node is
// joined where it is reached soonest, in hops and steps.
std::optional<ReductionTree> plan_reduction(const Topology& topology, const std::vector<NodeId>& placement,
                                            std::vector<RankId> members);

}  // namespace exanet
