// SPDX-License-Identifier: Apache-2.0
// Opens and closes trees of reductions. Who opens one has the members' word for it that they will take part; it takes no time of the network's,
// as what the kernels of the nodes do for it is not modelled.
#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "core/protocol/state_machine.hpp"

namespace exanet {
namespace {

class ReductionOpenings final : public OperationMachine<Operation<ReductionOpenDescriptor>> {
 public:
  using OperationMachine::OperationMachine;

 private:
  void execute(std::uint32_t id, Time now) override {
    const auto& op = (*this)[id];
    auto done = context_.completion<ReductionOpenCompletion>(op.d, now, open(op.rank, op.d));
    done.cookie = op.d.cookie;
    done.tree = done.status == 0 ? static_cast<std::uint32_t>(context_.reductions.size() - 1) : 0;
    context_.host.complete(op.rank, done, {});
    finish(id);
  }

  // 0, or why there is none: a negative errno value.
  std::int32_t open(RankId rank, const ReductionOpenDescriptor& d) {
    if (!context_.nic->reduces()) return -EOPNOTSUPP;
    if (d.count == 0 || d.count > context_.ranks()) return -EINVAL;
    std::vector<RankId> members(d.count);
    if (!context_.host.read(rank, d.members, reinterpret_cast<std::byte*>(members.data()), d.count * sizeof(RankId)))
      return -EFAULT;
    std::sort(members.begin(), members.end());
    if (members.back() >= context_.ranks() || std::adjacent_find(members.begin(), members.end()) != members.end() ||
        !std::binary_search(members.begin(), members.end(), rank))
      return -EINVAL;
    std::optional<ReductionTree> tree = plan_reduction(context_.topology, context_.placement, std::move(members));
    if (!tree) return -EOPNOTSUPP;
    for (const ReductionTree::Node& node : tree->nodes)
      if (context_.open_reductions[node.node] >= context_.config.reduction_trees) return -ENOSPC;
    for (const ReductionTree::Node& node : tree->nodes) ++context_.open_reductions[node.node];
    context_.reductions.push_back(std::make_unique<Reduction>(*std::move(tree)));
    return 0;
  }
};

class ReductionClosings final : public OperationMachine<Operation<ReductionCloseDescriptor>> {
 public:
  using OperationMachine::OperationMachine;

 private:
  void execute(std::uint32_t id, Time) override {
    const auto& op = (*this)[id];
    const std::uint32_t number = op.d.tree;
    Reduction* const reduction = number < context_.reductions.size() ? context_.reductions[number].get() : nullptr;
    if (reduction && reduction->takes(op.rank)) {
      reduction->places.at(op.rank).closed = true;
      if (--reduction->open == 0) {
        for (const ReductionTree::Node& node : reduction->tree.nodes) --context_.open_reductions[node.node];
        context_.reductions[number].reset();
      }
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
