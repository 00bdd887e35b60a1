// SPDX-License-Identifier: Apache-2.0
// When a packet at the front of a queue that is blocked, and may be rerouted, chooses again.
//
// Problem: a front that looks again and again costs events without an end in overload, where most stand still. Model: a
// front that is refused for want of space chooses again after the time that it takes through the crossbar. From then on
// it notes what it saw of which ports (Seen), and chooses again when one of these may have changed, at the earliest
// that time after its last choice. A grant changes space and queues of its port, a credit space, a packet that comes or
// chooses another output the queues. A front that found no space does not care for what is queued.
//
// Limits: ports are distinguished modulo 64.
#include "core/network/cut_through/state.hpp"

namespace exanet {

using namespace cut_through_state;

// The front has been refused for the first time. Its choice may be as old as its arrival.
void Part::block(Time now, std::uint32_t port, std::uint32_t front) {
  if (blocked_.size() <= front) blocked_.resize(front + 1);
  Blocked& blocked = blocked_[front];
  blocked = {};
  blocked.chosen = now;
  blocked.port = port;
  entries_[front].blocked = true;
  std::uint32_t& first = net_.blocked_lists_[net_.node_of_[port]];
  blocked.after = first;
  if (first != kNone) blocked_[first].before = front;
  first = front;
  reconsider(front, now);
}

// The front is granted, or stands behind another one now.
void Part::unblock(NodeId node, std::uint32_t front) {
  const Blocked& blocked = blocked_[front];
  entries_[front].blocked = false;
  (blocked.before == kNone ? net_.blocked_lists_[node] : blocked_[blocked.before].after) = blocked.after;
  if (blocked.after != kNone) blocked_[blocked.after].before = blocked.before;
}

// The front chooses again from `from` on, unless it does so before.
void Part::reconsider(std::uint32_t front, Time from) {
  Blocked& blocked = blocked_[front];
  const Time at = max(from, blocked.chosen + net_.timing_.on_crossbar(entries_[front].words));
  if (blocked.next != kNever && blocked.next <= at) return;
  blocked.next = at;
  events_.schedule(at, reroute_event_, blocked.port, front);
}

// Those of the switch's fronts whose choice saw what changes.
template <typename Saw>
void Part::reconsider_all(NodeId node, Time from, Saw saw) {
  for (std::uint32_t i = net_.blocked_lists_[node]; i != kNone; i = blocked_[i].after)
    if (saw(i, blocked_[i].seen)) reconsider(i, from);
}

// More or less is queued for these ports, by what the entry `by` did.
void Part::queue_changes(NodeId node, Time now, std::uint64_t ports, std::uint32_t by) {
  reconsider_all(node, now, [&](std::uint32_t i, const Seen& seen) { return (seen.queues & ports) != 0 && i != by; });
}

// An output has taken a packet: less space beyond, and less that waits here.
void Part::port_granted(NodeId node, Time now, std::uint32_t port) {
  const std::uint64_t bit = Seen::bit(port - net_.nodes_[node].first_port);
  reconsider_all(node, now, [&](std::uint32_t, const Seen& seen) { return ((seen.credits | seen.queues) & bit) != 0; });
}

// Space beyond a port comes back at `at`.
void Part::credit_comes(std::uint32_t sender, Time at) {
  const NodeId node = net_.node_of_[sender];
  const std::uint64_t bit = Seen::bit(sender - net_.nodes_[node].first_port);
  reconsider_all(node, at, [&](std::uint32_t, const Seen& seen) { return ((seen.none | seen.queues) & bit) != 0; });
}

// A link goes down or comes up, or a lane of it is paused or goes on.
void Part::link_changes(std::uint32_t sender, Time now) {
  if (!net_.may_reroute_) return;
  const NodeId node = net_.node_of_[sender];
  const std::uint64_t bit = Seen::bit(sender - net_.nodes_[node].first_port);
  reconsider_all(node, now, [&](std::uint32_t, const Seen& seen) {
    return ((seen.credits | seen.none | seen.queues) & bit) != 0;
  });
}

}  // namespace exanet
