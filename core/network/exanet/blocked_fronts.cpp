// SPDX-License-Identifier: Apache-2.0
// When a front that is blocked, and may be rerouted, decides again.
//
// Problem: a front decides again at every multiple of the time that its packet takes through the crossbar. In overload
// most of them stand still, and their decisions cost events without an end, however few packets move. Model: a decision
// notes what it saw of which ports (Seen), and the front sleeps until one of these may have changed: space by a grant,
// by a credit, which is announced when the buffer beyond returns it, or by its link; what is queued also by another
// front that decides, or by a packet that comes. Then it decides at the first multiple at which it sees the change, so
// that results are those of fronts that never sleep. A front that found no space does not care for what is queued.
//
// Limits: ports are distinguished modulo 64. While a packet is on its way to a FIFO, and the topology's own route takes
// it to a port, fronts that saw that port's queue decide at every multiple.
#include "core/network/exanet/state.hpp"

namespace exanet {

using namespace exanet_state;

// The front of the input has decided at `now`.
void Part::block(Time now, std::uint32_t input_index, const Seen& seen) {
  Blocked& front = blocked_[input_index];
  front.decided = now;
  front.seen = seen;
  front.settled = false;
  if (front.listed) return;
  front.listed = true;
  std::uint32_t& first = blocked_lists_[inputs_[input_index].node];
  front.before = kNone;
  front.next = first;
  if (first != kNone) blocked_[first].before = input_index;
  first = input_index;
}

// The front is granted, or lost.
void Part::unblock(std::uint32_t input_index) {
  cancel_decision(input_index);
  Blocked& front = blocked_[input_index];
  if (!front.listed) return;
  front.listed = front.settled = false;
  (front.before == kNone ? blocked_lists_[inputs_[input_index].node] : blocked_[front.before].next) = front.next;
  if (front.next != kNone) blocked_[front.next].before = front.before;
}

// The front is not granted when it has decided. From now on what changes schedules the next one.
void Part::settle_blocked(std::uint32_t input_index) {
  Blocked& front = blocked_[input_index];
  front.settled = true;
  if (front.seen.until != Time::never()) reconsider(input_index, front.seen.until);
}

// The front decides again from `from` on, unless it does so before.
void Part::reconsider(std::uint32_t input_index, Time from) {
  Blocked& front = blocked_[input_index];
  if (!front.settled) {
    front.seen.until = min(front.seen.until, from);
    return;
  }
  const Time step = router_.cycle * router_.packet_words(inputs_[input_index].front_words);
  const Time at = front.decided + step * ((max(from - front.decided, step).ps() + step.ps() - 1) / step.ps());
  if (decisions_[input_index].at != kNotScheduled) {
    if (decisions_[input_index].at <= at) return;
    cancel_decision(input_index);
  }
  schedule_decision(at, input_index);
}

// Those of the router's fronts whose decision saw what changes.
template <typename Saw>
void Part::reconsider_all(NodeId node, Time from, Saw saw) {
  for (std::uint32_t i = blocked_lists_[node]; i != kNone; i = blocked_[i].next)
    if (saw(blocked_[i].seen)) reconsider(i, from);
}

// An output grants: behind all decisions of this instant there is less space beyond it, and less that waits here.
void Part::port_granted(Time now, std::uint32_t output_index, NodeId node) {
  const std::uint64_t port = port_bit(node, output_index);
  reconsider_all(node, now + Time::ps(1), [&](const Seen& seen) { return ((seen.credits | seen.queues) & port) != 0; });
}

// The front of the input asks for something else: those behind it in the order of inputs see that in this instant.
void Part::front_decided(Time now, std::uint32_t input_index, std::uint64_t ports) {
  for (std::uint32_t i = blocked_lists_[inputs_[input_index].node]; i != kNone; i = blocked_[i].next)
    if ((blocked_[i].seen.queues & ports) != 0) reconsider(i, i > input_index ? now : now + Time::ps(1));
}

// A packet has come, or is going to, that stands behind a front.
void Part::packet_behind(const Input& input, const PacketInFlight& packet) {
  if (packet.dst == input.node) return;
  const std::uint32_t output = input.first_output + topology_.next_hop(input.node, packet.dst).port;
  coming_[output] = max(coming_[output], packet.time);
  const std::uint64_t port = port_bit(input.node, output);
  reconsider_all(input.node, packet.time, [&](const Seen& seen) { return (seen.queues & port) != 0; });
}

// Space of a buffer beyond a port comes back, not before `at`.
void Part::credit_comes(std::uint32_t pool_index, Time at) {
  const std::uint32_t output = pool_index / channels_;
  const NodeId node = inputs_[outputs_[output].first_input].node;
  const std::uint64_t port = port_bit(node, output);
  reconsider_all(node, at, [&](const Seen& seen) { return ((seen.none | seen.queues) & port) != 0; });
}

void Part::links_change(NodeId node, Time now) {
  reconsider_all(node, now, [](const Seen&) { return true; });
}

}  // namespace exanet
