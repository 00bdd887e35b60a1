// SPDX-License-Identifier: Apache-2.0
#include "core/nic/exanet/gateware_reductions.hpp"

#include <algorithm>

namespace exanet {

GatewareReductions::GatewareReductions(NicContext& context, std::size_t nodes, GatewareInterfaces& interfaces)
    : context_(context), interfaces_(interfaces), nodes_(nodes) {
  on_end_ = context.events.add_handler(
      [](void* self, Time now, std::uint32_t status, std::uint64_t user) {
        static_cast<GatewareReductions*>(self)->context_.listener.reduction_completed(user, static_cast<Status>(status),
                                                                                      now);
      },
      this);
}

// The cycle in which the first of so many stores is at the unit.
Cycle GatewareReductions::take(NodeId id, std::uint32_t beats) {
  Node& node = nodes_[id];
  const Time cycle = context_.router.cycle;
  const Cycle first = std::max(cycle_of(next_edge(cycle, context_.events.now()), cycle), node.free);
  node.free = first + beats;
  return first + 1;
}

void GatewareReductions::open(NodeId node, std::uint8_t tree, const ReductionPlace& place) {
  // While time stands still it takes none.
  const std::uint32_t beats = context_.zero_cost ? 0 : GatewareInterfaces::beats(place);
  interfaces_.open(node, tree, place, take(node, beats));
}

void GatewareReductions::post(const ReductionCall& call) {
  nodes_[call.node].users[call.tree][call.branch] = call.user;
  interfaces_.call(call, take(call.node, GatewareInterfaces::beats(call)));
}

// A tree that breaks notifies those who have not called, too, and again when they do.
void GatewareReductions::ended(const ReductionEnd& end) {
  std::optional<std::uint64_t>& user = nodes_[end.node].users[end.tree][end.branch];
  if (!user) return;
  const Time visible = visible_at(context_, end.at, context_.config.mailbox);
  context_.events.schedule(visible, on_end_, static_cast<std::uint32_t>(status_of(end.ending)), *user);
  user.reset();
}

}  // namespace exanet
