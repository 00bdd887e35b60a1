// SPDX-License-Identifier: Apache-2.0
#include "core/nic/exanet/gateware_reductions.hpp"

#include <algorithm>

namespace exanet {

ReductionsConfig GatewareReductions::config() const {
  const Time cycle = context_.router.cycle;
  ReductionsConfig config;
  config.cycle = cycle;
  config.port = kReductionPort;
  config.patience = 0;  // nothing is lost, and a part that waits for others need not be sent again and again
  config.memory_answer = std::max<Cycle>(1, cycle_of(next_edge(cycle, context_.config.mailbox), cycle));
  return config;
}

GatewareReductions::GatewareReductions(NicContext& context, std::size_t nodes)
    : context_(context),
      nodes_(nodes),
      units_(context.events, config(), nodes, this,
             [](void* self, const ReductionEnd& end) { static_cast<GatewareReductions*>(self)->ended(end); }) {
  on_store_ = context.events.add_handler(
      [](void* self, Time, std::uint32_t node, std::uint64_t) { static_cast<GatewareReductions*>(self)->store(node); },
      this);
  on_end_ = context.events.add_handler(
      [](void* self, Time now, std::uint32_t failed, std::uint64_t user) {
        static_cast<GatewareReductions*>(self)->context_.listener.reduction_ended(user, failed == 0, now);
      },
      this);
  units_.attach(*context.network);
}

void GatewareReductions::post(const ReductionCall& call) {
  Node& node = nodes_[call.node];
  node.users[call.tree][call.branch] = call.user;
  const Time cycle = context_.router.cycle;
  const Cycle now = cycle_of(next_edge(cycle, context_.events.now()), cycle);
  if (node.waiting.empty())
    context_.events.schedule(time_of(std::max(now, node.last) + 1, cycle), on_store_, call.node);
  node.last = std::max(now, node.last) + words_of(call.shape.bytes) + 1;
  node.waiting.push_back(call);
}

// The store that is at the unit in this cycle.
void GatewareReductions::store(NodeId id) {
  Node& node = nodes_[id];
  const ReductionCall& call = node.waiting.front();
  if (node.word++ < words_of(call.shape.bytes)) {
    units_.store(id);
  } else {
    units_.call(id, call.tree, call.branch, call.shape);
    node.waiting.pop_front();
    node.word = 0;
  }
  if (!node.waiting.empty()) context_.events.schedule(context_.events.now() + context_.router.cycle, on_store_, id);
}

void GatewareReductions::delivered(const Packet& packet, Time now) {
  context_.count(packet);
  units_.arrived(packet, cycle_of(now, context_.router.cycle) - 1);
}

// A tree that breaks tells those who have not called, too, and again when they do.
void GatewareReductions::ended(const ReductionEnd& end) {
  std::optional<std::uint64_t>& user = nodes_[end.node].users[end.tree][end.branch];
  if (!user) return;
  const Time visible = time_of(end.at, context_.router.cycle) + context_.config.mailbox;
  context_.events.schedule(visible, on_end_, end.ending == ReductionEnding::kWhole ? 0 : 1, *user);
  user.reset();
}

}  // namespace exanet
