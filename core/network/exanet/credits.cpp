// SPDX-License-Identifier: Apache-2.0
// Credits: what a sender knows of the buffer beyond its link or port, how the credit for a packet comes back when the
// packet has been read, and which control word carries it. See docs/microarchitecture.md, "Credits".
#include <algorithm>

#include "core/network/common/injection.hpp"
#include "core/network/exanet/state.hpp"
#include "core/units/check.hpp"

namespace exanet {

using namespace exanet_state;

void Part::take(CreditPool& pool, std::uint32_t words) {
  pool.free_words -= static_cast<std::int32_t>(words);
  --pool.free_packets;
  EXANET_DCHECK((pool.free_words | pool.free_packets) >= 0, "a packet goes where there is no space", events_.now().ps(),
                words, static_cast<std::uint64_t>(&pool - pools_));
}

void Part::reclaim(CreditPool& pool, Time now) {
  while (pool.oldest != kNone) {
    const std::uint32_t index = pool.oldest;
    const CreditReturn& returned = returns_[index];
    if (returned.time > now) return;
    pool.free_words += static_cast<std::int32_t>(returned.payload_words);
    pool.free_packets += returned.packets;
    pool.oldest = returned.next;
    returns_.free(index);
  }
}

// A packet of so many words has been read out of `input` at `left`.
void Part::return_credit(const Input& input, std::uint32_t payload_words, Time left) {
  if (input.link_class == kIntraTile) {
    CreditPool& pool = pools_[input.pool];
    const Time time = left + router_.to_sender;
    const bool look = pool.starved() || (priority_offset_ != 0 && injection_port(input).offers_at > time);
    insert_return(pool, add_return(time, input.pool, payload_words));
    if (look) await_credit(injection_port(input), pool, static_cast<std::uint32_t>(&input - inputs_));
    return;
  }
  const Time time = left + router_.to_credit;
  Output& sender = outputs_[input.credit_output];
  const std::uint32_t returned = add_return(time, input.pool, payload_words);
  queue_credit(sender, returned);
  if (priority_offset_ != 0 && !sender.border && overtakes_others(sender, returned))
    wake(outputs_[input.pool / channels_], input.pool / channels_, credit_arrival(sender, time));
  if (!sender.starves || !pools_[input.pool].starved()) return;
  pools_[input.pool].last = kNone;
  sender.starves = false;
  for (std::uint32_t vc = 0, first = input.pool / channels_ * channels_; vc < channels_; ++vc)
    if (pools_[first + vc].starved()) sender.starves = true;
  wake(outputs_[input.pool / channels_], input.pool / channels_, credit_arrival(sender, time));
}

// Whether space that was returned before is going to be free later, and so its sender may be waiting for too long: a
// packet that is granted after one of the other class may be the first to have gone.
bool Part::overtakes_others(const Output& sender, std::uint32_t return_index) const {
  for (std::uint32_t i = return_index; i != sender.pending;) {
    i = returns_[i].next;
    if (returns_[i].pool == returns_[return_index].pool) return true;
  }
  return false;
}

void Part::queue_credit(Output& output, std::uint32_t return_index) {
  CreditReturn& returned = returns_[return_index];
  returned.next = return_index;
  std::uint32_t before = output.pending == kNone ? return_index : output.pending;  // alone it is a ring
  if (returned.time >= returns_[before].time) [[likely]] {
    output.pending = return_index;
  } else {
    while (returns_[returns_[before].next].time <= returned.time) before = returns_[before].next;
  }
  returned.next = returns_[before].next;
  returns_[before].next = return_index;
  if (may_reroute_ && !output.border) credit_comes(returned.pool, credit_arrival(output, returned.time));
}

// The oldest of the pending credits goes with the last control word that is settled.
inline void Part::hand_over(Time now, Output& output, const LinkTiming& link) {
  const std::uint32_t last = output.pending, index = returns_[last].next;
  CreditReturn& returned = returns_[index];
  returns_[last].next = returned.next;
  output.pending = index == last ? kNone : last;
  returned.time = control_end(output, link) + link.back;
  if (!output.border) {
    accept_credit(pools_[returned.pool], now, index);
  } else {
    mail_.to(far_part(output), returned.time).credits.push_back({returned.time, returned.pool, returned.payload_words});
    returns_.free(index);
  }
}

// Settles which control words of `output`'s link carry the pending credits of its port's FIFOs: the first that the
// line's register takes not before the space is known, Start of a packet or, in an idle link, a credit of its own. No
// credit is begun where a packet can come to the wire before its end: that packet's Start carries it. So what lies
// beyond the reach of packets that may yet be granted is left for later. Written with choices in place of branches:
// which of two cases holds is chance, and a wrong guess costs more than working out both.
void Part::send_credits(Time now, Output& output) {
  if (paced_) return send_paced(now, output);
  const LinkTiming& link = links_[output.link_class];
  while (output.pending != kNone) {
    const std::uint32_t last = output.pending, index = returns_[last].next;
    CreditReturn& returned = returns_[index];
    const bool another = returned.time > output.advertised;  // control word than the one of which is known
    const Time magic = max(returned.time + link.to_line, output.wire_free);
    const std::uint32_t phase = output.idle_phase * (magic < output.wire_free + link.word_time);
    std::uint32_t both = phase;
    if (another & (magic + link.word_time * link.control_words > now + link.to_wire)) return;
    const Time end = magic + link.word_time * link.slots(link.control_words, both);
    const Time advertised = magic + link.to_control(phase);
    settle_control(output, link, another ? advertised : output.advertised, another ? end : control_end(output, link));
    output.wire_free = another ? end : output.wire_free;
    output.idle_phase = static_cast<std::uint8_t>(another ? both : output.idle_phase);
    hand_over(now, output, link);
  }
}

// The same where an idle link waits until enough has come back (credit_threshold_words), and repeats what it has
// advertised (credit_interval_cycles). Each control word advertises all that has come back, and begins the interval
// anew.
void Part::send_paced(Time now, Output& output) {
  if (faulty_) return settle_both(now, output);
  const LinkTiming& link = links_[output.link_class];
  const Time limit =
      now + link.to_wire - link.word_time * link.control_words;  // a Magic behind it gives way to packets
  while (true) {
    while (output.pending != kNone && returns_[returns_[output.pending].next].time <= output.advertised)
      hand_over(now, output, link);
    Time magic = next_control(output) + link.to_line;
    if (magic > limit) return;
    // Where nothing else is to be advertised one repetition follows the other, each on a line that is idle.
    const Time period = net_.interval_ + link.to_line + link.to_control(0);
    if (output.pending == kNone && magic >= output.wire_free + link.word_time && net_.interval_ > link.word_time * 2)
      magic = magic + period * ((limit - magic).ps() / period.ps());
    send_next(output, magic);
  }
}

// Returns when its first word is on the line.
Time Part::send_next(Output& output, Time magic) {
  const LinkTiming& link = links_[output.link_class];
  std::uint32_t phase = output.idle_phase * (magic < output.wire_free + link.word_time);
  const Time advertised = magic + link.to_control(phase);
  const Time end = magic + link.word_time * link.slots(link.control_words, phase);
  settle_control(output, link, advertised, end);
  output.wire_free = end;
  output.idle_phase = static_cast<std::uint8_t>(phase);
  return advertised + link.to_line - link.word_time * (link.control_words - 1);
}

// The same on lines with faults, for both directions of a link in the order of time: a control word of the one may give
// back space that the other reports.
void Part::settle_both(Time now, Output& output) {
  Output* const ends[2] = {&output, &outputs_[far_outputs_[static_cast<std::size_t>(&output - outputs_)]]};
  while (true) {
    Time next[2];
    for (int i = 0; i < 2; ++i) {
      const LinkTiming& link = links_[ends[i]->link_class];
      while (ends[i]->pending != kNone && returns_[returns_[ends[i]->pending].next].time <= ends[i]->advertised &&
             heard(*ends[i]))
        hand_over(now, *ends[i], link);
      next[i] = next_control(*ends[i]) + link.to_line;
      if (next[i] > now + link.to_wire - link.word_time * link.control_words) next[i] = Time::never();
    }
    if (min(next[0], next[1]) == Time::never()) return;
    const int first = next[1] < next[0];
    const Time first_word = send_next(*ends[first], next[first]);
    FarEnd& end = net_.far_ends_[static_cast<std::size_t>(ends[first] - outputs_)];
    hear(*ends[first], fault_on(*ends[first], end.credits++, true, first_word));
  }
}

LineFault Part::fault_on(const Output& output, std::uint64_t number, bool credit, Time first_word) const {
  const NodeId node = inputs_[output.first_input].node;
  const auto port = static_cast<std::uint32_t>(&output - outputs_) - net_.first_output_[node];
  if (net_.faults_.is_down(node, port, first_word.ps() / router_.cycle.ps())) return LineFault::kControl;
  return net_.faults_.of(node, port, number, credit);
}

// The far end gets the control word that was settled last: what it reports and has not come is lost, and the space goes
// back with the credits of the other direction.
void Part::hear(Output& output, LineFault fault) {
  const auto index = static_cast<std::uint32_t>(&output - outputs_);
  FarEnd& end = net_.far_ends_[index];
  const std::uint32_t report = end.report;
  end.report = report == 4 ? 0 : report + 1;
  end.unheard = fault == LineFault::kControl;
  if (end.unheard || report == 0) return;
  const std::uint32_t vc = (report - 1) % 2;
  std::uint32_t& lost = report <= 2 ? end.lost_words[vc] : end.lost_packets[vc];
  if (lost == 0) return;
  const LinkTiming& link = links_[output.link_class];
  const std::uint32_t returned =
      add_return(control_end(output, link) + link.back - router_.cycle, index * channels_ + vc, report <= 2 ? lost : 0);
  returns_[returned].packets = static_cast<std::uint16_t>(report <= 2 ? 0 : lost);
  returns_[returned].reclaimed = true;
  lost = 0;
  queue_credit(outputs_[far_outputs_[index]], returned);
}

// The cycle in which the register of an idle line takes the Magic of the next control word. With a Magic of its own a
// repetition is not begun in a cycle in which space comes back.
Time Part::next_control(const Output& output) const {
  const LinkTiming& link = links_[output.link_class];
  const Time line = output.wire_free - link.to_line;
  Time repeated = max(output.advertised + net_.interval_, line);
  if (output.pending == kNone) return repeated;
  std::int32_t words = 0, packets = 0;
  std::uint32_t index = output.pending;
  do {
    index = returns_[index].next;
    const CreditReturn& returned = returns_[index];
    if (returned.time <= output.advertised) continue;  // advertised, but lost
    words += static_cast<std::int32_t>(returned.payload_words);
    packets += returned.packets;
    if (link.control_words > 1 && returned.time == repeated + router_.cycle && !returned.reclaimed)
      repeated += router_.cycle;
    if (packets == 0) continue;
    if (words >= net_.advertise_words_ || words >= net_.advertise_always_ || packets >= net_.advertise_packets_)
      return min(repeated, max(returned.time, line));
  } while (index != output.pending);
  return repeated;
}

// When the sender can have the credit at the earliest that is pending since `returned`.
Time Part::credit_arrival(const Output& output, Time returned) const {
  const LinkTiming& link = links_[output.link_class];
  if (returned <= output.advertised && heard(output)) return control_end(output, link) + link.back;
  // ... or much later, but not before packets yet to be granted can be on the wire.
  if (paced_) returned = max(returned, events_.now() + link.to_wire - link.to_line - link.word_time);
  // Start of a packet yet to be granted may carry it in the same cycle.
  return max(returned + link.to_line + link.word_time, output.wire_free + link.word_time * link.control_words) +
         link.back;
}

// Settles which credits the far end of `output` has sent by now. Another partition sends them by mail.
void Part::receive_credits(Time now, const Output& output) {
  if (!output.border && output.far_input != kNone) send_credits(now, outputs_[far_outputs_[&output - outputs_]]);
}

// When the next credit comes to `output`, at the earliest; never when no packet is on its way out of the buffer beyond.
Time Part::next_credit(const Output& output, std::uint32_t pool_index) const {
  if (pools_[pool_index].oldest != kNone) return returns_[pools_[pool_index].oldest].time;
  if (output.border) return Time::never();
  const Output& sender = outputs_[far_outputs_[pool_index / channels_]];
  if (sender.pending == kNone) return Time::never();
  std::uint32_t index = sender.pending;
  do {
    index = returns_[index].next;
    if (returns_[index].pool == pool_index) return credit_arrival(sender, returns_[index].time);
  } while (index != sender.pending);
  return Time::never();
}

// Gives the sender the credit that a control word carries: at once where it has plenty until then, for nobody can
// notice, and nothing needs to be kept.
void Part::accept_credit(CreditPool& pool, Time now, std::uint32_t return_index) {
  const CreditReturn& returned = returns_[return_index];
  if (!plenty(pool, returned.time - now)) return append_return(pool, return_index);
  pool.free_words += static_cast<std::int32_t>(returned.payload_words);
  pool.free_packets += returned.packets;
  returns_.free(return_index);
}

// In the order of time, which for a port of both classes need not be that of grants.
void Part::insert_return(CreditPool& pool, std::uint32_t return_index) {
  CreditReturn& returned = returns_[return_index];
  if (priority_offset_ == 0 || pool.oldest == kNone || returns_[pool.last].time <= returned.time)
    return append_return(pool, return_index);
  std::uint32_t* at = &pool.oldest;
  while (returns_[*at].time <= returned.time) at = &returns_[*at].next;
  returned.next = *at;
  *at = return_index;
}

void Part::append_return(CreditPool& pool, std::uint32_t return_index) {
  returns_[return_index].next = kNone;
  const bool only = pool.oldest == kNone;
  std::uint32_t* const behind = &returns_[only ? return_index : pool.last].next;
  *(only ? &pool.oldest : behind) = return_index;
  pool.last = return_index;
}

void Part::refuse(InjectionPort& port, CreditPool& pool, std::uint32_t input_index, std::uint8_t priority,
                  std::uint32_t words) {
  port.need[priority] = std::max(port.need[priority], static_cast<std::uint16_t>(words));
  ++port.refused[priority];
  if (port.offers_at == kNotScheduled && !pool.starved()) await_credit(port, pool, input_index);
}

void Part::await_credit(InjectionPort& port, CreditPool& pool, std::uint32_t input_index) {
  if (pool.oldest == kNone) {
    pool.last = CreditPool::kStarved;
    return;
  }
  port.offers_at = returns_[pool.oldest].time;
  events_.schedule(port.offers_at, offer_event_, input_index);
}

// An intra-tile port that had no space for packets gets space back.
void Part::offer_credit(Time now, std::uint32_t input_index) {
  Input& input = inputs_[input_index];
  CreditPool& pool = pools_[input.pool];
  InjectionPort& port = injection_port(input);
  if (port.offers_at != now) return;  // space came back before what was waited for, and was looked at
  port.offers_at = kNotScheduled;
  reclaim(pool, now);
  const auto intra_port = static_cast<std::uint8_t>(input.pool / channels_ - input.first_intra_output);
  offer_space(sink_, port, input.node, intra_port, now,
              [&](std::uint8_t priority, std::uint32_t need) { return fits(pool, priority, need); });
  if (port.refused[kPriority] + port.refused[kBulk] > 0 && port.offers_at == kNotScheduled && !pool.starved())
    await_credit(port, pool, input_index);
}

}  // namespace exanet
