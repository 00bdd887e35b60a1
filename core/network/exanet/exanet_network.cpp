// SPDX-License-Identifier: Apache-2.0
// The path of a packet: injection, arbitration, crossbar, link, delivery. See exanet_network.hpp for the model,
// state.hpp for the data and docs/microarchitecture.md for the rules; how space comes back is in credits.cpp.
//
// When the front of an input will ask for its output is known in advance, so requests are registered ahead of their
// time. Which control word returns a packet's space, and so when the sender has it, depends on the packets that go the
// same way; it is settled when the next of them is granted or when the sender runs short. Neither costs an event of its
// own. An output is looked at (the "arbitrate" event) only at times at which a grant may be possible, and one look is
// pending at a time: each sees to the next. All requests and all space of one instant are known before it begins, so
// the result does not depend on the order of events within an instant.
#include <algorithm>
#include <bit>

#include "core/network/common/injection.hpp"
#include "core/network/exanet/state.hpp"
#include "core/units/check.hpp"

namespace exanet {

using namespace exanet_state;

namespace {

// As in gateware/router/rtl/router_output.sv. With fewer, long rings that are offered more than they carry lose
// throughput: docs/microarchitecture.md.
constexpr std::uint8_t kMostPassed = 15;

}  // namespace

bool Part::inject(const Packet& packet) {
  const Time now = events_.now();
  const std::uint32_t words =
      checked_payload_words(packet, net_.endpoints_, intra_ports_, router_, now, net_.multicasts_);
  EXANET_CHECK(packet.priority == kBulk || (packet.priority == kPriority && priority_offset_ != 0),
               "priority where the fabric was built without", now.ps(), packet.src, packet.priority);
  const std::uint32_t input_index = net_.first_input_[packet.src + 1] - intra_ports_ + packet.intra_port;
  Input& bulk = inputs_[input_index];
  CreditPool& pool = pools_[bulk.pool];
  const std::size_t port_index = std::size_t{packet.src} * intra_ports_ + packet.intra_port;
  InjectionPort& port = injection_ports_[port_index];
  reclaim(pool, now);
  if (!fits(pool, packet.priority, words)) {
    refuse(port, pool, input_index, packet.priority, words);
    return false;
  }
  ++in_flight_;
  const Time span = router_.cycle * router_.packet_words(words);
  Time start = max(now, port.busy_until);
  port.busy_until = start + span;
  if (packet.priority == kPriority && start > now) start = overtake(now, bulk, start, span);
  take(pool, words);
  const std::uint32_t index = packets_.take();
  PacketInFlight& taken = packets_[index];  // field by field, as in add_return()
  taken.time = start + router_.head + net_.endpoint_to_request_;
  taken.tail_in = start + span - router_.cycle + net_.endpoint_to_request_;
  taken.next = kNone;
  taken.dst = packet.dst;
  taken.payload_bytes = packet.payload_bytes;
  taken.intra_port = packet.intra_port;
  taken.priority = packet.priority;
  taken.src = packet.src;
  taken.user = packet.user;
  taken.injected = now;
  taken.route = 0;
  taken.output = kNone;
  taken.vc = 0;
  taken.marked = 0;
  taken.stuffed = static_cast<std::uint8_t>(packet.magic_lower + (net_.stuffs_halves_ ? packet.magic_upper : 0)) & 0x7f;
  taken.copies = taken.copies_vc = taken.copies_due = 0;
  if (routing_ != nullptr) taken.number = numberings_[port_index].next(now);
  if (carries_notes_) [[unlikely]]
    keep_notes(index, {packet.stamp, packet.notes});
  plan(taken, bulk);
  if (rail_ports_ != 0 && taken.output < bulk.first_intra_output) [[unlikely]]
    taken.output = bulk.first_output + packet.intra_port / rail_ports_;
  EXANET_CHECK(taken.output != kDiscard || !plain_, "a packet to no node", now.ps(), packet.src, packet.dst);
  arrive(inputs_[input_index + packet.priority * priority_offset_], index);
  return true;
}

// A priority packet goes to the port's wire before the packets of bulk that have been taken and have not begun: all
// that are to begin from `now` on follow each other without a gap up to `end`, and move by its `span`. Returns when it
// begins.
Time Part::overtake(Time now, Input& bulk, Time end, Time span) {
  const Time begun = now + router_.head + net_.endpoint_to_request_;
  for (std::uint32_t p = bulk.front; p != kNone; p = packets_[p].next) {
    PacketInFlight& packet = packets_[p];
    if (packet.time < begun) continue;
    end = end - router_.cycle * router_.packet_words(router_.payload_words(packet.payload_bytes));
    packet.time += span;
    packet.tail_in += span;
    if (may_reroute_) packet_behind(bulk, packet);
    if (p != bulk.front) continue;
    bulk.request = max(packet.time, bulk.idle_at);
    if (bulk.output == kDiscard) {
      discard_later(bulk);
    } else if (bulk.multicast) {
      ask_copies(bulk);
    } else if (bulk.output != kNone) {
      wake(outputs_[bulk.output], bulk.output, max(bulk.request, outputs_[bulk.output].free_at));
    } else {
      cancel_decision(static_cast<std::uint32_t>(&bulk - inputs_));
      schedule_decision(bulk.request, static_cast<std::uint32_t>(&bulk - inputs_));
    }
  }
  return end;
}

// A packet is going to arrive in `input`, whose space it has taken.
void Part::arrive(Input& input, std::uint32_t packet_index) {
  if (input.front != kNone) {
    packets_[input.last].next = packet_index;
    input.last = packet_index;
    if (may_reroute_) packet_behind(input, packets_[packet_index]);
    return;
  }
  input.front = input.last = packet_index;
  reached_[input.node / 64 % reached_.size()] |= std::uint64_t{1} << (input.node % 64);
  register_front(input);
}

void Part::plan_by_port(PacketInFlight& packet, const Input& input) const {
  const auto from = input.link_class == kIntraTile
                        ? kFromInterface
                        : static_cast<std::uint16_t>(input.credit_output - input.first_output);
  const Hop hop = topology_.route(input.node, from, packet.dst);
  packet.output = hop.port == kNoRoute ? kDiscard : input.first_output + hop.port;
  packet.vc = hop.vc;
}

// The front of `input` will ask for its output as soon as its header is there and the packet before it has gone.
void Part::register_front(Input& input) {
  const PacketInFlight& packet = packets_[input.front];
  input.front_words = static_cast<std::uint16_t>(router_.payload_words(packet.payload_bytes));
  input.request = max(packet.time, input.idle_at);
  input.multicast = packet.output == kCopies;
  if (packet.output >= kDiscard) {
    if (packet.output == kNone) return steer(input);
    return input.multicast ? ask_copies(input) : discard_later(input);
  }
  ask(input, packet.output, packet.vc, input.request);
}

// The front has no route. It asks for nothing, and is read out as one that is granted as soon as it asks.
void Part::discard_later(Input& input) {
  input.output = kDiscard;
  events_.schedule(input.request, discard_event_, static_cast<std::uint32_t>(&input - inputs_));
}

void Part::discard(Time now, std::uint32_t input_index) {
  Input& input = inputs_[input_index];
  if (input.front == kNone || input.output != kDiscard || input.request != now)
    return;  // a priority packet overtook it
  const Time left = max(now + router_.cycle * router_.packet_words(input.front_words), packets_[input.front].tail_in);
  ++net_.discarded_[input.node];
  read_out(input, left, Status::kUnreachable);
}

void Part::arbitrate(Time now, std::uint32_t output_index) {
  Output& output = outputs_[output_index];
  __builtin_prefetch(&pools_[output_index * channels_], 1);
  if (output.wake_at != now) return;  // an earlier look came in between
  output.wake_at = Time::never();
  if (adaptive_) decide_all(now, inputs_[output.first_input].node);
  if ((output.waiting[0] | output.waiting[1]) == 0) return;
  if (now < output.free_at) return wake(output, output_index, output.free_at);
  Time next = Time::never();
  const std::uint32_t chosen = choose(now, output, output_index, next);
  if (chosen != kNone) grant(now, output, output_index, output.first_input + chosen);
  if (may_reroute_) reroute_those_left(now, output, output_index);
  if (next != Time::never()) wake(output, output_index, max(next, output.free_at));
}

// Fetches what arbitrate() is going to touch: the output and the space beyond it; the first input that asks; and its
// packet, its space and the far input. The output that the packet will ask for there is not worth the route that would
// have to be worked out for it.
void Part::peek(std::uint32_t output_index, unsigned step) const {
  const Output& output = outputs_[output_index];
  if (step == 0) {
    __builtin_prefetch(&output, 1);
    __builtin_prefetch(&pools_[output_index * channels_], 1);
    __builtin_prefetch(&stats_[output_index], 1);
    return;
  }
  if ((output.waiting[0] | output.waiting[1]) == 0) return;
  if (wide_words_ != 0) return;
  const auto first = static_cast<std::uint32_t>(output.waiting[0] != 0 ? std::countr_zero(output.waiting[0])
                                                                       : 64 + std::countr_zero(output.waiting[1]));
  const Input& input =
      inputs_[output.first_input + (mask_words_ == 1 && first >= 64 ? first - 64 + priority_offset_ : first)];
  if (step == 1) return __builtin_prefetch(&input, 1);
  __builtin_prefetch(&packets_[input.front], 1);
  __builtin_prefetch(&pools_[input.pool], 1);
  if (output.link_class == kIntraTile || output.border) return;
  __builtin_prefetch(&inputs_[output.far_input + input.front_vc], 1);
  if (channel_step_ < channels_) __builtin_prefetch(&outputs_[far_outputs_[output_index]], 1);  // emptiest_channel()
}

// Priority packets go before bulk. `next` becomes the time from which on somebody else could go as well, as far as that
// is not a matter of space.
inline std::uint32_t Part::choose(Time now, Output& output, std::uint32_t output_index, Time& next) {
  // Somebody waits, most of the time alone. Where there are two classes the second word is that of priority.
  const std::uint64_t first = output.waiting[0], second = priority_offset_ != 0 ? output.waiting[1] : 0;
  const bool alone = ((first | second) & ((first | second) - 1)) == 0 && (first & second) == 0;
  if (wide_words_ == 0 && alone && (priority_offset_ != 0 || output.waiting[1] == 0)) {
    const auto only = static_cast<std::uint32_t>(std::countr_zero(first | second));
    const std::uint32_t chosen = only + (second != 0 ? priority_offset_ : 0);
    const Input& input = inputs_[output.first_input + chosen];
    __builtin_prefetch(&packets_[input.front], 1);
    const Time from = asks_from(now, input);
    if (from > now) next = from;
    if (from > now || !may_go(now, output, output_index, input)) return kNone;
    if (input.link_class == kIntraTile) output.passed = 0;
    output.granted = only & (kMostInputs - 1);
    return chosen;
  }
  if (priority_offset_ != 0 && (wide_words_ != 0 || second != 0)) {
    const std::uint32_t chosen = choose_of(now, output, output_index, kPriority, next);
    if (chosen != kNone) {
      const std::uint64_t* const bulk = masks(output, output_index, kBulk);
      if (std::any_of(bulk, bulk + mask_words_, [](std::uint64_t word) { return word != 0; })) next = now;
      return chosen;
    }
  }
  return choose_of(now, output, output_index, kBulk, next);
}

// Within a class, with `links_first`, packets from links go before those of network interfaces but for one in 16
// (kMostPassed); among them those that are due before others; and of these the first one behind the input that was
// granted last. Where nobody of the chosen kind is due, all that could have gone become due.
std::uint32_t Part::choose_of(Time now, Output& output, std::uint32_t output_index, std::uint8_t priority, Time& next) {
  Input* const inputs = inputs_ + output.first_input + priority * priority_offset_;
  const bool links_turn = output.passed < kMostPassed;
  std::uint32_t chosen = kNone;
  int best = -1;
  bool own = false;  // a network interface's packet could go
  bool others = false;  // than the chosen one
  const auto first_kind = [&](const Input& input) {
    return !links_first_ || (input.link_class != kIntraTile) == links_turn;
  };
  const auto consider = [&](std::uint32_t index) {
    const Input& input = inputs[index];
    __builtin_prefetch(&packets_[input.front], 1);
    const Time from = asks_from(now, input);
    if (from > now) next = min(next, from);
    if (from > now || !may_go(now, output, output_index, input)) return;
    others = best >= 0;
    own |= input.link_class == kIntraTile;
    const int its =
        fixed_priority_ ? 0 : first_kind(input) * 4 + is_due(output_index, input) * 2 + (index > output.granted);
    if (its <= best) return;
    best = its;
    chosen = index;
  };
  each_waiting(output, output_index, priority, consider);
  if (chosen == kNone) return kNone;
  if (others) next = now;
  const Input& input = inputs[chosen];
  if (others && !is_due(output_index, input) && !fixed_priority_)
    each_waiting(output, output_index, priority, [&](std::uint32_t index) {
      Input& other = inputs[index];
      const bool pool = output.link_class == kIntraTile || has_credit_in_any(output_index, other);
      if (asks_from(now, other) <= now && first_kind(other) == first_kind(input) && pool) set_due(output_index, other);
    });
  if (input.link_class == kIntraTile)
    output.passed = 0;
  else if (links_first_ && own)
    output.passed = (output.passed + 1) & 15;
  output.granted = chosen & (kMostInputs - 1);
  return chosen + priority * priority_offset_;
}

// Whether one of the next buffers takes the front of `input`.
bool Part::may_go(Time now, const Output& output, std::uint32_t output_index, const Input& input) {
  if (output.link_class >= down_) return true;
  for (std::uint32_t vc = channel_to(output_index, input); vc < channels_; vc += channel_step_)
    if (has_credit_beyond(now, output, output_index, vc, input.priority)) return true;
  return false;
}

// The same, as far as is known.
bool Part::has_credit_in_any(std::uint32_t output_index, const Input& input) const {
  for (std::uint32_t vc = channel_to(output_index, input); vc < channels_; vc += channel_step_)
    if (has_credit(pools_[output_index * channels_ + vc], input.priority)) return true;
  return false;
}

// Of the channels that may stand for that of the front of `input`, and have credit for it, the one with the most space,
// the first of equals. Contract: there is one.
std::uint8_t Part::emptiest_channel(Time now, const Output& output, std::uint32_t output_index, const Input& input) {
  receive_credits(now, output);
  std::uint8_t best = channel_to(output_index, input);
  std::int32_t most = -1;
  for (std::uint32_t vc = best; vc < channels_; vc += channel_step_) {
    CreditPool& pool = pools_[output_index * channels_ + vc];
    reclaim(pool, now);
    if (has_credit(pool, input.priority) && pool.free_words > most)
      most = pool.free_words, best = static_cast<std::uint8_t>(vc);
  }
  return best;
}

// Whether the next buffer takes a packet, the largest whatever this one's length: by its own length a short one would
// go whenever a long one of the same channel waits, and might do so for ever. If not, sees to it that the output is
// looked at again when a credit arrives.
bool Part::has_credit_beyond(Time now, const Output& output, std::uint32_t output_index, std::uint32_t vc,
                             std::uint8_t priority) {
  CreditPool& far = pools_[output_index * channels_ + vc];
  reclaim(far, now);
  if (has_credit(far, priority)) return true;
  if (!far.starved()) {
    receive_credits(now, output);
    reclaim(far, now);
    if (has_credit(far, priority)) return true;
  }
  if (far.starved()) return false;
  Time next = next_credit(output, output_index * channels_ + vc);
  // Space of lost packets comes back unasked.
  if (faulty_ && next == Time::never()) next = now + links_[output.link_class].to_wire + links_[output.link_class].back;
  if (next != Time::never()) {
    wake(outputs_[output_index], output_index, max(next, now + Time::ps(1)));
  } else {
    far.last = CreditPool::kStarved;
    if (!output.border) outputs_[far_outputs_[output_index]].starves = true;
  }
  return false;
}

void Part::grant(Time now, Output& output, std::uint32_t output_index, std::uint32_t input_index) {
  Input& input = inputs_[input_index];
  if (may_reroute_ && output.link_class != kIntraTile) port_granted(now, output_index, input.node);
  if (net_.has_failed_) [[unlikely]] {
    const bool on_link = output.link_class != kIntraTile;
    if (on_link && output.link_class >= down_)
      return lose_front(now, output, output_index, input_index, Status::kLinkDown);
    if (on_link && !net_.lossy_.empty() &&
        net_.lossy_[output_index].loses(output_index,
                                        router_.packet_words(input.front_words) * (8u << router_.word_shift)))
      return lose_front(now, output, output_index, input_index, Status::kLost);
    if (!net_.silent_.empty() && is_silenced(output, input))
      return lose_front(now, output, output_index, input_index, Status::kNodeDown);
  }
  if (input.multicast) return grant_copy(now, output, output_index, input_index);
  const std::uint32_t index = input.front, words = input.front_words;
  PacketInFlight& packet = packets_[index];
  if (output.link_class != kIntraTile) {
    __builtin_prefetch(&stats_[output_index], 1);
    EXANET_CHECK(output.far_input != kNone, "route through a port without a link", now.ps(), input.node, output_index);
    if (channel_step_ < channels_) input.front_vc = emptiest_channel(now, output, output_index, input);
    if (!output.border) plan(packet, inputs_[output.far_input + input.front_vc]);
  }
  if (input.link_class != kIntraTile) __builtin_prefetch(&outputs_[input.credit_output], 1);
  if (action_) [[unlikely]]
    act(now, output, output_index, input);
  const std::uint32_t next = packet.next;
  forget(output, output_index, input);
  if (may_reroute_) unblock(input_index);
  input.due = false;
  // The crossbar reads a word a cycle, the first in the cycle after the grant, and the last one not before it can be
  // read.
  const Time left = max(now + router_.cycle * router_.packet_words(words), packet.tail_in);
  if (output.link_class == kIntraTile) {
    send_out(output, index, left);
  } else {
    cross_link(now, output, output_index, input, index, left, input.front_vc);
  }
  input.idle_at = left + router_.input_gap;
  input.front = next;
  if (adaptive_) uncount_front(input);
  return_credit(input, words, left);
  if (next != kNone) register_front(input);
}

// Hands the packet to the network interface behind the output, whose last word leaves the input at `left`.
void Part::send_out(Output& output, std::uint32_t packet_index, Time left) {
  output.free_at = left + router_.output_gap;
  if (has_slots_) [[unlikely]]
    take_slot(output, left);
  if (sink_.early)
    deliver(left + router_.to_output, packet_index);
  else
    events_.schedule(left + router_.to_output, deliver_event_, packet_index);
}

// The packet takes a slot of the interface, which gives it back when the last word is there, one a cycle; while it
// stalls, none.
void Part::take_slot(Output& output, Time left) {
  Slots& slots = net_.slots_[static_cast<std::size_t>(&output - outputs_)];
  const auto size = static_cast<std::uint32_t>(slots.given_back.size());
  Time& taken = slots.given_back[slots.next];
  const Time before = slots.given_back[(slots.next + size - 1) % size];
  if (slots.by_interface) {
    taken = Time::never();
    slots.next = (slots.next + 1) % size;
    slots.output_free = output.free_at;
    return free_with_slot(output, slots);
  }
  taken = max(left + router_.to_output - router_.cycle, max(before + router_.cycle, slots.stalled_until));
  slots.next = (slots.next + 1) % size;
  output.free_at = max(output.free_at, slots.given_back[slots.next] + router_.slot_back);
}

// The output grants again when it is free and there is a slot; if nobody knows when, not before give_back().
void Part::free_with_slot(Output& output, const Slots& slots) const {
  const Time slot = slots.given_back[slots.next];
  output.free_at = slot == Time::never() ? slot : max(slots.output_free, slot + router_.slot_back);
}

void Part::give_back(NodeId node, std::uint8_t intra_port, Time at) {
  const std::uint32_t index = net_.first_output_[node + 1] - intra_ports_ + intra_port;
  if (!has_slots_ || !net_.slots_[index].by_interface) return;
  Slots& slots = net_.slots_[index];
  const auto size = static_cast<std::uint32_t>(slots.given_back.size());
  // One a cycle, the earliest first, in whatever order they are reported.
  Time before = Time() - router_.cycle;
  for (std::uint32_t place = slots.next; at != Time::never(); place = (place + 1) % size) {
    Time& time = slots.given_back[place];
    at = max(at, before + router_.cycle);
    if (at <= time) std::swap(at, time);
    before = time;
  }
  Output& output = outputs_[index];
  const Time known = output.free_at;
  free_with_slot(output, slots);
  // Whoever waits is looked at when the output is free as far as was known.
  if (output.free_at < known) wake(output, index, max(events_.now(), output.free_at));
}

void Part::stall(Time now, NodeId node, std::uint8_t intra_port, Time until) {
  if (!has_slots_) return;
  const std::uint32_t index = net_.first_output_[node + 1] - intra_ports_ + intra_port;
  Slots& slots = net_.slots_[index];
  slots.stalled_until = max(slots.stalled_until, until);
  Time before = now;
  for (std::size_t i = 0; i < slots.given_back.size(); ++i) {
    Time& time = slots.given_back[(slots.next + i) % slots.given_back.size()];
    if (time <= now) continue;
    time = max(time, max(before + router_.cycle, slots.stalled_until));
    before = time;
  }
  outputs_[index].free_at = max(outputs_[index].free_at, slots.given_back[slots.next] + router_.slot_back);
}

// Sends the packet over the output's link into the far buffer, whose space has been checked. It waits in the link's
// buffer while the packet before it is on the wire; nothing else is granted until its Start has gone out.
void Part::cross_link(Time now, Output& output, std::uint32_t output_index, const Input& input,
                      std::uint32_t packet_index, Time left, std::uint8_t vc) {
  const LinkTiming& link = links_[output.link_class];
  if (output.pending != kNone || paced_) send_credits(now, output);
  const Time ready = now + link.to_wire, start = max(ready, output.wire_free);
  // A link that has been idle for a word time has had its pause by then.
  const std::uint32_t phase = output.idle_phase * (start < output.wire_free + link.word_time);
  std::uint32_t after_control = phase, after_head = phase, after_packet = phase;
  const Time head_out = start + link.word_time * link.slots(link.head_words, after_head);
  PacketInFlight& packet = packets_[packet_index];
  const Time busy = link.word_time * link.slots(link.packet_words[input.front_words] + packet.stuffed, after_packet);
  const Time advertised = start + link.to_control(phase);
  settle_control(output, link, advertised, start + link.word_time * link.slots(link.control_words, after_control));
  output.wire_free = max(start + busy, left + link.tail_to_wire + link.last_word);
  output.free_at = max(left + router_.output_gap, advertised + link.slot_back);
  output.idle_phase = static_cast<std::uint8_t>(after_packet);

  LinkStats& stats = stats_[output_index];
  stats.packets += 1;
  stats.payload_bytes += packet.payload_bytes;
  stats.busy += busy;
  stats.waited += now - input.request + (start - ready);
  ++hops_;
  take(pools_[output_index * channels_ + vc], input.front_words);
  packet.time = head_out + link.across;
  packet.tail_in = output.wire_free + link.across;
  if (packet.stuffed != 0) [[unlikely]]
    packet.tail_in += link.behind_payload;
  packet.next = kNone;
  if (faulty_) [[unlikely]] {
    const Time first_word = advertised + link.to_line - link.word_time * (link.control_words - 1);
    if (is_lost(output, packet, input.front_words, vc, first_word)) return packets_.free(packet_index);
  }
  const std::uint32_t far_input = output.far_input + vc + input.priority * priority_offset_;
  if (!output.border) return arrive(inputs_[far_input], packet_index);
  Mail& mail = mail_.to(far_part(output), packet.time);
  mail.arrivals.push_back({far_input, packet});
  if (carries_notes_) [[unlikely]]
    mail.notes.push_back(notes_[packet_index]);
  packets_.free(packet_index);
}

// Whether the packet, which has just been sent over the output's link, does not come out of it. Its space is given back
// when reports name it.
bool Part::is_lost(Output& output, PacketInFlight& packet, std::uint32_t words, std::uint8_t vc, Time first_word) {
  const auto index = static_cast<std::uint32_t>(&output - outputs_);
  const LineFault fault = fault_on(output, stats_[index].packets - 1, false, first_word);
  hear(output, fault);
  packet.marked |= fault == LineFault::kPayload;
  if (fault != LineFault::kControl && fault != LineFault::kHeader) return false;
  FarEnd& end = net_.far_ends_[index];
  end.lost_words[vc] += words;
  ++end.lost_packets[vc];
  ++lost_;
  --in_flight_;
  return true;
}

void Part::deliver(Time tail, std::uint32_t packet_index) {
  const PacketInFlight& c = packets_[packet_index];
  Packet packet{c.src, c.dst, c.payload_bytes, c.intra_port, c.priority, c.user, 0, 0, c.marked};
  if (carries_notes_) [[unlikely]] {
    packet.notes = notes_[packet_index].notes;
    packet.stamp = notes_[packet_index].stamp;
  }
  const Time injected = c.injected;
  packets_.free(packet_index);
  --in_flight_;
  if (sink_.delivered != nullptr) sink_.delivered(sink_.self, packet, injected, tail);
}

void Part::collect() {
  mail_.collect(net_.parts_, number_, [&](Mail& mail) {
    for (std::size_t i = 0; i < mail.arrivals.size(); ++i) {
      const Arrival& a = mail.arrivals[i];
      const std::uint32_t index = packets_.add(a.in_flight);
      if (carries_notes_) [[unlikely]]
        keep_notes(index, mail.notes[i]);
      plan(packets_[index], inputs_[a.input]);
      arrive(inputs_[a.input], index);
    }
    for (const Credit& c : mail.credits) {
      const bool starved = pools_[c.pool].starved();
      accept_credit(pools_[c.pool], events_.now(), add_return(c.time, c.pool, c.payload_words));
      const std::uint32_t output = c.pool / channels_;
      if (starved) wake(outputs_[output], output, c.time);
      if (may_reroute_) credit_comes(c.pool, c.time);
    }
  });
}

// Sends the credits that no packet of a later window can carry. What is left matters a lookahead after the window at
// the earliest.
void Part::finish(Time now) {
  for (const std::uint32_t index : borders_) {
    Output& output = outputs_[index];
    send_credits(now, output);
    if (output.pending == kNone) continue;
    const Time matters = credit_arrival(output, returns_[returns_[output.pending].next].time) - net_.lookahead_;
    mail_.matters_at(max(matters, now + Time::ps(1)));
  }
}

}  // namespace exanet
