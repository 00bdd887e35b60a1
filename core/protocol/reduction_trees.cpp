// SPDX-License-Identifier: Apache-2.0
// Opens and closes trees of reductions. Who opens one has the members' word for it that they will take part; it takes
// no time of the network's, as what the kernels of the nodes do for it is not modelled.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "core/protocol/state_machine.hpp"

namespace exanet {

std::int64_t Context::open_reduction(std::vector<RankId> members) {
  if (!nic->reduces()) return -EOPNOTSUPP;
  std::sort(members.begin(), members.end());
  if (members.empty() || members.back() >= ranks() ||
      std::adjacent_find(members.begin(), members.end()) != members.end())
    return -EINVAL;
  std::optional<ReductionTree> tree = plan_reduction(topology, placement, std::move(members));
  if (!tree) return -EOPNOTSUPP;
  for (const ReductionTree::Node& node : tree->nodes)
    if (open_reductions[node.node] >= config.reduction_trees) return -ENOSPC;
  for (const ReductionTree::Node& node : tree->nodes) ++open_reductions[node.node];
  reductions.push_back(std::make_unique<Reduction>(*std::move(tree)));
  if (nic->has_trees()) open_trees(*reductions.back());
  return static_cast<std::int64_t>(reductions.size()) - 1;
}

// Gives each node a number for its place, and gives its unit who the neighbours are and which numbers they have.
void Context::open_trees(Reduction& reduction) {
  const std::vector<ReductionTree::Node>& nodes = reduction.tree.nodes;
  for (const ReductionTree::Node& node : nodes) {
    reduction.numbers.push_back(static_cast<std::uint8_t>(std::countr_one(tree_numbers[node.node])));
    tree_numbers[node.node] |= 1u << reduction.numbers.back();
  }
  ++epoch;
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    const ReductionTree::Node& node = nodes[n];
    ReductionPlace place;
    place.epoch = epoch;
    place.root = n == 0;
    place.branches = static_cast<std::uint8_t>((1u << node.branches()) - 1);
    place.locals = static_cast<std::uint8_t>((1u << node.ranks.size()) - 1);
    for (std::size_t b = 0; b < node.below.size(); ++b)
      place.below[node.ranks.size() + b] = {nodes[node.below[b]].node, reduction.numbers[node.below[b]], 0};
    if (n != 0) place.above = {nodes[node.above].node, reduction.numbers[node.above], reduction.tree.branch_above(n)};
    nic->open_tree(node.node, reduction.numbers[n], place);
  }
}

void Context::close_reduction(std::uint32_t tree) {
  const Reduction& reduction = *reductions[tree];
  for (std::size_t n = 0; n < reduction.tree.nodes.size(); ++n) {
    const NodeId node = reduction.tree.nodes[n].node;
    --open_reductions[node];
    if (!reduction.numbers.empty()) tree_numbers[node] &= ~(1u << reduction.numbers[n]);
  }
  reductions[tree].reset();
}

namespace {

class ReductionOpenings final : public OperationMachine<Operation<ReductionOpenDescriptor>> {
 public:
  using OperationMachine::OperationMachine;

 private:
  void execute(std::uint32_t id, Time now) override {
    const auto& op = (*this)[id];
    const std::int64_t tree = open(op.rank, op.d);
    auto done =
        context_.completion<ReductionOpenCompletion>(op.rank, op.d, context_.zero_cost ? now : op.d.time,
                                                     static_cast<std::int32_t>(std::min<std::int64_t>(tree, 0)));
    done.cookie = op.d.cookie;
    done.tree = static_cast<std::uint32_t>(std::max<std::int64_t>(tree, 0));
    context_.host.complete(op.rank, done, {});
    finish(id);
  }

  std::int64_t open(RankId rank, const ReductionOpenDescriptor& d) {
    if (d.count == 0 || d.count > context_.ranks()) return -EINVAL;
    std::vector<RankId> members(d.count);
    if (!context_.host.read(rank, d.members, reinterpret_cast<std::byte*>(members.data()), d.count * sizeof(RankId)))
      return -EFAULT;
    if (std::find(members.begin(), members.end(), rank) == members.end()) return -EINVAL;
    return context_.open_reduction(std::move(members));
  }
};

class ReductionClosings final : public OperationMachine<Operation<ReductionCloseDescriptor>> {
 public:
  using OperationMachine::OperationMachine;

 private:
  void execute(std::uint32_t id, Time) override {
    const auto& op = (*this)[id];
    Reduction* const reduction = context_.reduction(op.d.tree);
    if (reduction && reduction->takes(op.rank)) {
      reduction->places.at(op.rank).closed = true;
      if (--reduction->open == 0) context_.close_reduction(op.d.tree);
    }
    finish(id);
  }
};

}  // namespace

std::unique_ptr<StateMachine> make_reduction_open(Context& context) {
  return std::make_unique<ReductionOpenings>(context);
}
std::unique_ptr<StateMachine> make_reduction_close(Context& context) {
  return std::make_unique<ReductionClosings>(context);
}

}  // namespace exanet
