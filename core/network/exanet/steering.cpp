// SPDX-License-Identifier: Apache-2.0
// Packets that follow a routing of their own (core/routing/routing.hpp): the fabric's side. An adaptive routing decides
// when the header is there and the packet before it has gone, by an event of its own; one that does not decides ahead,
// as dimension order does.
//
// A packet that still stands there after the time that it takes through the crossbar decides again, if it may be
// rerouted: see blocked_fronts.cpp.
//
// A decision depends on those of the router's other packets and on what has been granted. So in each instant all of a
// router's decisions come first, in the order of its inputs, and then its grants: the order of events within an instant
// does not matter, nor how the nodes are divided among threads. All decisions of an instant are known before it begins.
// Who looks at other routers' queues (UGAL-G) does depend on that order, and is refused in parts.
#include <algorithm>

#include "core/engine/random.hpp"
#include "core/network/exanet/state.hpp"
#include "core/units/check.hpp"

namespace exanet {

using namespace exanet_state;

// Shows routing this partition's routers, and, without parts, of all.
class Part::View final : public CongestionView {
 public:
  View(Part& part, Time now, std::uint8_t priority) : part_(part), now_(now), priority_(priority) {}

  std::uint32_t queued_words(NodeId node, std::uint16_t port) const override {
    seen_.queues |= Seen::bit(port);
    if (is_down(node, port)) return kFull;
    return waiting_words(node, port, kAnyChannel) + taken_words(node, {port, 0}, 1);
  }

  std::uint32_t channel_words(NodeId node, Hop hop) const override {
    seen_.queues |= Seen::bit(hop.port);
    if (is_down(node, hop.port)) return kFull;
    return waiting_words(node, hop.port, hop.vc) + taken_words(node, hop, part_.channel_step_);
  }

  // For the largest packet of its class: else an output would not grant it.
  bool has_credit(NodeId node, Hop hop) const override {
    const bool credit = !is_down(node, hop.port) && find_credit(part_.net_.first_output_[node] + hop.port, hop.vc);
    (credit ? seen_.credits : seen_.none) |= Seen::bit(hop.port);
    return credit;
  }

  const Seen& seen() const { return seen_; }

 private:
  static constexpr std::uint8_t kAnyChannel = 0xff;
  static constexpr std::uint32_t kFull = 1 << 24;  // words; more than any buffers hold

  bool is_down(NodeId node, std::uint16_t port) const {
    return part_.outputs_[part_.net_.first_output_[node] + port].link_class >= part_.down_;
  }

  bool find_credit(std::uint32_t index, std::uint8_t first) const {
    part_.receive_credits(now_, part_.outputs_[index]);
    for (std::uint32_t vc = first; vc < part_.channels_; vc += part_.channel_step_)
      if (part_.has_credit(space(index, vc), priority_)) return true;
    for (std::uint32_t vc = first; vc < part_.channels_; vc += part_.channel_step_) await_credit(index, vc);
    return false;
  }

  // Of the buffers beyond a port: its channel's, and those's that are `step`, two, ... further.
  std::uint32_t taken_words(NodeId node, Hop hop, std::uint32_t step) const {
    const std::uint32_t index = part_.net_.first_output_[node] + hop.port;
    part_.receive_credits(now_, part_.outputs_[index]);
    std::uint32_t words = 0;
    for (std::uint32_t vc = hop.vc; vc < part_.channels_; vc += step) {
      words += static_cast<std::uint32_t>(part_.net_.words_each_ - space(index, vc).free_words);
      await_credit(index, vc);
    }
    return words;
  }

  const CreditPool& space(std::uint32_t index, std::uint32_t vc) const {
    CreditPool& pool = part_.pools_[index * part_.channels_ + vc];
    part_.reclaim(pool, now_);
    return pool;
  }

  // Notes when the next credit of a channel comes at the earliest.
  void await_credit(std::uint32_t index, std::uint32_t vc) const {
    if (!part_.may_reroute_) return;
    const Output& output = part_.outputs_[index];
    if (output.far_input != kNone)
      seen_.until = min(seen_.until, part_.next_credit(output, index * part_.channels_ + vc));
  }

  // In the FIFOs whose fronts ask for a port: the fronts, and those behind them whom the topology's own way leads there
  // as well.
  std::uint32_t waiting_words(NodeId node, std::uint16_t port, std::uint8_t vc) const {
    const std::uint32_t index = part_.net_.first_output_[node] + port;
    const Output& output = part_.outputs_[index];
    if (part_.may_reroute_ && part_.coming_[index] > now_) seen_.until = now_;
    std::uint32_t words = 0;
    const auto count = [&](std::uint32_t input_index) {
      const Input& input = part_.inputs_[input_index];
      if (vc != kAnyChannel && input.front_vc != vc) return;
      words += input.front_words + part_.words_behind(now_, input_index, port);
    };
    part_.each_waiting(output, index, kBulk, [&](std::uint32_t i) { count(output.first_input + i); });
    if (part_.priority_offset_ != 0)
      part_.each_waiting(output, index, kPriority,
                         [&](std::uint32_t i) { count(output.first_input + part_.priority_offset_ + i); });
    return words;
  }

  Part& part_;
  Time now_;
  std::uint8_t priority_;
  mutable Seen seen_;
};

// Of the packets behind the front those whose own way leads to the port. Each is counted once.
std::uint32_t Part::words_behind(Time now, std::uint32_t input_index, std::uint16_t port) {
  const Input& input = inputs_[input_index];
  Behind& behind = net_.behind_[input_index];
  std::uint32_t* const words = net_.behind_words_.data() + behind.words;
  for (std::uint32_t e = packets_[behind.counted == kNone ? input.front : behind.counted].next;
       e != kNone && packets_[e].time <= now; e = packets_[e].next) {
    const PacketInFlight& later = packets_[e];
    if (later.dst != input.node)
      words[topology_.next_hop(input.node, later.dst).port] += router_.payload_words(later.payload_bytes);
    behind.counted = e;
  }
  return words[port];
}

// The packet behind a front that has gone is the front now.
void Part::uncount_front(const Input& input) {
  Behind& behind = net_.behind_[static_cast<std::size_t>(&input - inputs_)];
  if (behind.counted == kNone) return;
  const PacketInFlight& front = packets_[input.front];
  if (front.dst != input.node) {
    std::uint32_t& words = net_.behind_words_[behind.words + topology_.next_hop(input.node, front.dst).port];
    EXANET_DCHECK(words >= router_.payload_words(front.payload_bytes), "a packet leaves a count that it is not in",
                  events_.now().ps(), input.node, words);
    words -= router_.payload_words(front.payload_bytes);
  }
  if (behind.counted == input.front) behind.counted = kNone;
}

// Packets have been taken out of an input.
void Part::count_again(const Input& input) {
  Behind& behind = net_.behind_[static_cast<std::size_t>(&input - inputs_)];
  behind.counted = kNone;
  std::fill_n(net_.behind_words_.begin() + static_cast<std::ptrdiff_t>(behind.words), topology_.port_count(input.node),
              0u);
}

void Part::steer(Input& input) {
  const Time now = events_.now();
  if (!adaptive_) return decide(now, input);
  input.output = kNone;
  schedule_decision(max(now, input.request), static_cast<std::uint32_t>(&input - inputs_));
}

void Part::decide(Time now, Input& input) {
  PacketInFlight& in_flight = packets_[input.front];
  const RouteRequest request{input.node, in_flight.dst, input.front_words,
                             draw_of(in_flight.src, in_flight.dst, in_flight.injected, in_flight.number)};
  const View view(*this, now, input.priority);
  const Hop hop = routing_->choose(request, in_flight.route, view);
  if (may_reroute_) block(now, static_cast<std::uint32_t>(&input - inputs_), view.seen());
  ask(input, input.first_output + hop.port, hop.vc, max(now, input.request));
}

// The front of the input decides at `at`, later than most of those that are waiting to: the list is searched from its
// end.
void Part::schedule_decision(Time at, std::uint32_t input_index) {
  const NodeId node = inputs_[input_index].node;
  DecisionList& list = decision_lists_[node];
  Decision* const decisions = decisions_;
  std::uint32_t before = list.last;
  while (before != kNone && (decisions[before].at > at || (decisions[before].at == at && before > input_index)))
    before = decisions[before].before;
  const std::uint32_t next = before == kNone ? list.first : decisions[before].next;
  decisions[input_index] = {at, before, next};
  (before == kNone ? list.first : decisions[before].next) = input_index;
  (next == kNone ? list.last : decisions[next].before) = input_index;
  list.earliest = decisions[list.first].at;
  events_.schedule(at, decide_event_, node);
}

// Takes the input from the list, if it is there.
void Part::cancel_decision(std::uint32_t input_index) {
  Decision* const decisions = decisions_;
  const Decision look = decisions[input_index];
  if (look.at == kNotScheduled) return;
  DecisionList& list = decision_lists_[inputs_[input_index].node];
  decisions[input_index].at = kNotScheduled;
  (look.before == kNone ? list.first : decisions[look.before].next) = look.next;
  (look.next == kNone ? list.last : decisions[look.next].before) = look.before;
  list.earliest = list.first == kNone ? Time::never() : decisions[list.first].at;
}

// All of a router's decisions of this instant, in the order of its inputs. Called before any grant that the router
// makes at that time.
void Part::decide_all(Time now, NodeId node) {
  DecisionList& list = decision_lists_[node];
  while (list.earliest <= now) {
    const std::uint32_t index = list.first;
    cancel_decision(index);
    Input& input = inputs_[index];
    const std::uint32_t before = input.output;
    if (before != kNone) forget(outputs_[before], before, input);
    const std::uint8_t vc = input.front_vc;
    decide(now, input);
    if (input.output != before) input.due = false;
    if (!may_reroute_) continue;
    if (input.output != before || input.front_vc != vc) {
      const std::uint64_t left = before != kNone ? port_bit(node, before) : 0;
      front_decided(now, index, left | port_bit(node, input.output));
    }
    if (outputs_[input.output].free_at > now) settle_blocked(index);
  }
}

// For the inputs that decided in this instant and have not been granted; of all others that wait here the next decision
// is settled already.
void Part::reroute_those_left(Time now, const Output& output, std::uint32_t output_index) {
  if (output.link_class == kIntraTile) return;
  for (std::uint8_t priority = kBulk; priority <= (priority_offset_ == 0 ? kBulk : kPriority); ++priority)
    each_waiting(output, output_index, priority, [&](std::uint32_t waiting) {
      const std::uint32_t index = output.first_input + priority * priority_offset_ + waiting;
      if (!blocked_[index].settled) settle_blocked(index);
    });
}

}  // namespace exanet
