// SPDX-License-Identifier: Apache-2.0
// Chooses what a unit that reduces sends or writes next, trees by turns, in an event of its own cycle, and works out
// its words at once. Model and limits: reduction_sender.hpp.
#include "core/nic/reductions/reduction_sender.hpp"

#include <algorithm>
#include <bit>

namespace exanet {

ReductionSender::ReductionSender(EventQueue& events, const ReductionsConfig& config, std::size_t nodes, void* self,
                                 Ended ended)
    : events_(events),
      config_(config),
      self_(self),
      on_ended_(ended),
      inject_(events, config.cycle, nodes, this,
              [](void* its, NodeId node) {
                ReductionSender& sender = *static_cast<ReductionSender*>(its);
                if (Node& n = sender.nodes_[node]; n.state == State::kFrame) sender.frame(node, n);
              }),
      nodes_(nodes) {
  config_.memory_answer = std::max<Cycle>(config.memory_answer, 1);
  on_step_ = events.add_handler(
      [](void* its, Time, std::uint32_t node, std::uint64_t) { static_cast<ReductionSender*>(its)->step(node); }, this);
}

void ReductionSender::request(NodeId node, const Request& request) {
  Node& n = nodes_[node];
  n.requests.push_back(request);
  if (n.state == State::kIdle) wake(node, n, std::max(request.at + 1, n.idle_from) + 1);
}

// Looks again in this cycle.
void ReductionSender::wake(NodeId node, Node& n, Cycle cycle) {
  if (cycle >= n.event) return;
  n.event = cycle;
  events_.schedule(time_of(cycle, config_.cycle), on_step_, node);
}

void ReductionSender::take_in(Node& n, Cycle until) {
  for (; !n.requests.empty() && n.requests.front().at <= until; n.requests.pop_front()) {
    const Request& request = n.requests.front();
    Tree& tree = n.trees[request.tree];
    if (request.instead) {
      tree.pending = request.targets;
      tree.letter = request.letter;
    } else {
      tree.pending.up |= request.targets.up;
      tree.pending.down |= request.targets.down;
      tree.pending.locals |= request.targets.locals;
    }
  }
}

bool ReductionSender::requested_in(const Node& n, Cycle cycle) {
  return std::any_of(n.requests.begin(), n.requests.end(), [&](const Request& request) { return request.at == cycle; });
}

// In the cycle in which a tree's bits are read: the cycle before it was idle, and the next one picks.
void ReductionSender::step(NodeId node) {
  Node& n = nodes_[node];
  const Cycle now = cycle_of(events_.now(), config_.cycle);
  if (now != n.event) return;  // an earlier one came between
  n.event = kUnknown;
  if (n.state == State::kFrame) return;
  if (n.state == State::kIdle && !choose(node, n, now - 1)) return;
  n.state = State::kRead;
  if (requested_in(n, now)) return wake(node, n, now + 1);
  if (requested_in(n, now + 1)) return wake(node, n, now + 2);
  take_in(n, now - 1);
  pick(node, n, now + 1);
}

// The next tree behind the last one that has something to do. False where none has, in this cycle.
bool ReductionSender::choose(NodeId node, Node& n, Cycle idle) {
  take_in(n, idle - 1);
  bool waits_for_memory = false;
  for (std::uint32_t i = 1; i <= kReductionTrees; ++i) {
    const auto t = static_cast<std::uint8_t>((n.tree + i) % kReductionTrees);
    const Targets& pending = n.trees[t].pending;
    if (pending.packets() || (pending.locals != 0 && idle >= n.memory_free)) {
      n.tree = t;
      return true;
    }
    waits_for_memory |= pending.locals != 0;
  }
  if (waits_for_memory) wake(node, n, n.memory_free + 1);
  if (!n.requests.empty()) wake(node, n, n.requests.front().at + 2);
  return false;
}

void ReductionSender::pick(NodeId node, Node& n, Cycle pick) {
  Tree& tree = n.trees[n.tree];
  Targets& pending = tree.pending;
  const Letter& letter = tree.letter;
  if (!pending.packets() && (pending.locals == 0 || pick < n.memory_free)) return idle(node, n, pick + 1);
  const std::uint32_t words = words_of(letter.shape.bytes);
  const Cycle begins = pick + 2;
  if (!pending.packets()) {
    const auto branch = static_cast<std::uint8_t>(std::countr_zero(pending.locals));
    pending.locals &= pending.locals - 1;
    const Cycle last = begins + words;
    n.memory_free = last + config_.memory_answer + 1;
    on_ended_(self_, {node, n.tree, branch, letter.number, letter.ending, letter.shape.bytes, last});
    return idle(node, n, last + 1);
  }
  const bool up = pending.up;
  const auto branch = static_cast<std::uint8_t>(up ? 0 : std::countr_zero(pending.down));
  const ReductionPlace::Neighbour& to = up ? tree.place.above : tree.place.below[branch];
  if (up)
    pending.up = false;
  else
    pending.down &= pending.down - 1;
  const ReductionWord word{letter.number,
                           to.tree,
                           static_cast<std::uint8_t>(up ? to.branch : 0),
                           !up,
                           static_cast<std::uint8_t>(letter.ending),
                           letter.shape};
  n.packet = {node, to.node, letter.shape.bytes, config_.port, 1, word.packed()};
  n.beat = 0;
  n.offered = begins;
  n.last = kLongAgo;
  n.state = State::kFrame;
  frame(node, n);
}

// The packet's beats, as far as the port is known.
void ReductionSender::frame(NodeId node, Node& n) {
  const std::uint32_t words = words_of(n.packet.payload_bytes), beats = std::max(words, 1u);
  for (; n.beat < beats; ++n.beat) {
    const Cycle taken = inject_.taken_from(node, n.offered, n.beat, n.last);
    if (taken == kUnknown) return;
    n.last = taken;
    n.offered = taken + 1;
  }
  inject_.hand_over(node, n.packet, n.last);
  idle(node, n, n.last + 1);
}

void ReductionSender::idle(NodeId node, Node& n, Cycle from) {
  n.state = State::kIdle;
  n.idle_from = from;
  wake(node, n, from + 1);
}

}  // namespace exanet
