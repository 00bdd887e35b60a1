// SPDX-License-Identifier: Apache-2.0
// Plans a tree of reductions among nodes of a machine.
//
// Problem: a reduction takes as long as the way from its furthest node to the root, in hops and in units passed. Model:
// the root is the node from which the furthest other is least far; the others, nearest first, are joined where they are
// least far from the root over nodes that have a branch to spare. Limits: greedy, no optimum; of more than 1024 nodes a
// part is weighed as the root.
#include "core/protocol/reduction_tree.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "core/topology/metrics.hpp"

namespace exanet {
namespace {

constexpr std::uint32_t kStepHops = 1;  // what a unit between two ways costs, in hops
constexpr std::size_t kWeighed = 1024;  // of more nodes not each is weighed as the root

// From which the furthest of the others is least far; the first of several.
std::size_t middle(const Topology& topology, const std::vector<ReductionTree::Node>& nodes) {
  std::size_t best = 0;
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  const std::size_t stride = 1 + nodes.size() / kWeighed;
  for (std::size_t i = 0; i < nodes.size(); i += stride) {
    std::uint32_t furthest = 0;
    for (std::size_t j = 0; j < nodes.size() && furthest < least; j += stride)
      furthest = std::max(furthest, hop_count(topology, nodes[i].node, nodes[j].node));
    if (furthest < least) least = furthest, best = i;
  }
  return best;
}

}  // namespace

std::optional<ReductionTree> plan_reduction(const Topology& topology, const std::vector<NodeId>& placement,
                                            std::vector<RankId> members) {
  std::sort(members.begin(), members.end());
  std::map<NodeId, std::vector<RankId>> by_node;
  for (const RankId rank : members) by_node[placement[rank]].push_back(rank);
  std::vector<ReductionTree::Node> found;
  for (auto& [node, ranks] : by_node) {
    if (ranks.size() + (by_node.size() > 1) > ReductionTree::kBranches) return std::nullopt;
    found.push_back({node, 0, std::move(ranks), {}});
  }
  const std::size_t root = middle(topology, found);
  struct Waiting {
    std::uint32_t far;
    std::size_t at;
  };
  std::vector<Waiting> order;  // nearest first
  for (std::size_t i = 0; i < found.size(); ++i)
    if (i != root) order.push_back({hop_count(topology, found[root].node, found[i].node), i});
  std::stable_sort(order.begin(), order.end(), [](const Waiting& a, const Waiting& b) { return a.far < b.far; });

  ReductionTree tree;
  std::map<std::uint32_t, std::vector<std::uint32_t>> open;  // nodes with a branch to spare, by how far they are
  std::vector<std::uint32_t> far{0};
  tree.nodes.push_back(std::move(found[root]));
  open[0].push_back(0);
  for (const Waiting& waiting : order) {
    std::uint32_t best = std::numeric_limits<std::uint32_t>::max(), above = 0;
    for (const auto& [depth, candidates] : open) {
      if (depth + kStepHops + 1 >= best) break;
      for (const std::uint32_t candidate : candidates) {
        const std::uint32_t reached =
            depth + kStepHops + hop_count(topology, tree.nodes[candidate].node, found[waiting.at].node);
        if (reached < best) best = reached, above = candidate;
      }
    }
    if (best == std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    const auto number = static_cast<std::uint32_t>(tree.nodes.size());
    ReductionTree::Node& parent = tree.nodes[above];
    parent.below.push_back(number);
    if (parent.branches() == ReductionTree::kBranches) {
      std::vector<std::uint32_t>& list = open[far[above]];
      list.erase(std::find(list.begin(), list.end(), above));
    }
    far.push_back(best);
    tree.nodes.push_back(std::move(found[waiting.at]));
    tree.nodes.back().above = above;
    if (tree.nodes.back().branches() < ReductionTree::kBranches) open[best].push_back(number);
  }
  return tree;
}

}  // namespace exanet
