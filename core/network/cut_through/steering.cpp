// SPDX-License-Identifier: Apache-2.0
// Chooses where packets go: the topology's route, or that of a routing of its own (core/routing/routing.hpp), when the
// packet joins a queue. A packet at the front that is blocked, and may be rerouted, chooses again: see
// blocked_fronts.cpp.
#include "core/network/cut_through/state.hpp"

namespace exanet {

using namespace cut_through_state;

// Shows routing the switches, for a packet of some class. With pauses a sender knows no more than whether it may go on.
class Part::View final : public CongestionView {
 public:
  View(Part& part, Time now, std::uint32_t priority_class)
      : part_(part), net_(part.net_), now_(now), class_(priority_class) {}

  std::uint32_t queued_words(NodeId node, std::uint16_t port) const override {
    seen_.queues |= Seen::bit(port);
    std::uint32_t words = is_down(net_, node, port) ? kDownWords : 0;
    const std::uint32_t first = (net_.nodes_[node].first_port + port) * net_.channels_;
    for (std::uint32_t vc = 0; vc < net_.channels_; ++vc) words += net_.queued_words_[first + vc];
    return words + beyond(node, {port, 0}, 1);
  }

  std::uint32_t channel_words(NodeId node, Hop hop) const override {
    seen_.queues |= Seen::bit(hop.port);
    const std::uint32_t index = net_.nodes_[node].first_port + hop.port;
    return (is_down(net_, node, hop.port) ? kDownWords : 0) + net_.queued_words_[index * net_.channels_ + hop.vc] +
           beyond(node, hop, net_.channel_step_);
  }

  bool has_credit(NodeId node, Hop hop) const override {
    const bool credit = !is_down(net_, node, hop.port) && find_credit(net_.nodes_[node].first_port + hop.port, hop);
    (credit ? seen_.credits : seen_.none) |= Seen::bit(hop.port);
    return credit;
  }

  const Seen& seen() const { return seen_; }

 private:
  bool find_credit(std::uint32_t index, Hop hop) const {
    reclaim(net_.pools_[index]);
    for (std::uint32_t vc = hop.vc; vc < net_.channels_; vc += net_.channel_step_) {
      const std::uint32_t lane = class_ * net_.channels_ + vc;
      if (net_.pauses_ ? (net_.ports_[index].paused >> lane & 1) == 0
                       : net_.pools_[index].fits(static_cast<std::uint8_t>(lane), net_.most_words_))
        return true;
    }
    return false;
  }

  // Takes what has come back, and notes when the next comes.
  void reclaim(CreditPool& pool) const {
    part_.reclaim(pool, now_);
    if (pool.oldest != kNone) seen_.until = min(seen_.until, part_.entries_[pool.oldest].request);
  }

  // Of the buffers beyond a port, of all classes: its channel's, and those's that are `step`, two, ... further.
  std::uint32_t beyond(NodeId node, Hop hop, std::uint32_t step) const {
    CreditPool& pool = net_.pools_[net_.nodes_[node].first_port + hop.port];
    reclaim(pool);
    std::int32_t words = 0;
    for (std::uint32_t c = 0; c < net_.classes_; ++c)
      for (std::uint32_t vc = hop.vc; vc < net_.channels_; vc += step) words += pool.used[c * net_.channels_ + vc];
    return static_cast<std::uint32_t>(words);
  }

  Part& part_;
  State& net_;
  Time now_;
  std::uint32_t class_;
  mutable Seen seen_;
};

// Returns what the choice saw.
Seen Part::choose_route(Time now, NodeId node, Entry& entry) {
  if (entry.dst == node) {
    entry.output = static_cast<std::uint16_t>(net_.topology_.port_count(node) + entry.intra_port);
    entry.vc = 0;
    return {};
  }
  Hop hop;
  Seen seen;
  if (net_.routing_ == nullptr) {
    hop = net_.topology_.next_hop(node, entry.dst);
    if (net_.rail_ports_ != 0 && node < net_.topology_.endpoint_count())
      hop.port = static_cast<std::uint16_t>(entry.intra_port / net_.rail_ports_);
  } else {
    PacketInFlight& in_flight = packets_[entry.packet];
    const View view(*this, now, net_.lane_class_[entry.lane]);
    hop = net_.routing_->choose(request_of(in_flight, node, net_.timing_.router.payload_words(entry.payload_bytes)),
                                in_flight.route, view);
    seen = view.seen();
  }
  entry.output = hop.port;
  entry.vc = hop.vc;
  return seen;
}

// The front may have gone in the meantime, or have chosen; then this is a call for nobody. One that takes another
// output joins the end of its queue.
void Part::reroute(Time now, std::uint32_t port, std::uint32_t index) {
  const NodeId node = net_.node_of_[port];
  Entry& entry = entries_[index];
  if (!entry.blocked || blocked_[index].port != port || blocked_[index].next != now) return;
  Queue& before = queue_of(node, port, entry.queue, entry.output);
  const std::uint16_t output = entry.output;
  const std::uint8_t vc = entry.vc;
  unask(node, port, entry);
  net_.queued_for(node, entry) -= net_.timing_.router.payload_words(entry.payload_bytes);
  before.front = entry.next;
  blocked_[index].chosen = now;
  blocked_[index].next = kNever;
  const Seen seen = blocked_[index].seen = choose_route(now, node, entry);
  net_.queued_for(node, entry) += net_.timing_.router.payload_words(entry.payload_bytes);
  if (seen.until != Time::never()) reconsider(index, seen.until);
  Queue& after = queue_of(node, port, entry.queue, entry.output);
  if (&after == &before) {
    after.front = index;
  } else {
    if (before.front != kNone) ask(node, port, entries_[before.front]);
    entry.next = kNone;
    (after.front == kNone ? after.front : entries_[after.last].next) = index;
    after.last = index;
  }
  if (after.front == index)
    ask(node, port, entry);
  else
    unblock(node, index);
  if (entry.output == output && entry.vc == vc) return;
  queue_changes(node, now, Seen::bit(output) | Seen::bit(entry.output), index);
  wake(node, now);
}

}  // namespace exanet
