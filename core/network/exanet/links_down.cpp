// SPDX-License-Identifier: Apache-2.0
// Links that go down, come up again or change their rate while packets are on their way, and interfaces that stop.
//
// Problem: a packet's passage over a link is settled when it is granted, and it stands in the next buffer's list from
// then on, so a link that goes down has to take packets back. Model: a link that is down is one of a class of its own
// (State::down_), whose outputs grant without credits and lose what they grant, as long as it takes to read it out.
// What has been granted and is not whole at the other end by then is taken out of the list there; nobody behind it is,
// for a line is a FIFO. Its space is free at once: nobody can use it before the link is up, and then both ends count
// anew. Credits that are pending stay so, and go with the first control words of the line. Limits: a packet whose
// beginning the next router has granted comes whole; the gateware fills it up, and marks it. A network whose links may
// fail makes no copies of packets, for nobody could say whom a lost one would have reached.
#include <utility>

#include "core/network/exanet/state.hpp"

namespace exanet {

using namespace exanet_state;

void Part::set_output(Time now, std::uint32_t output_index, bool up) {
  Output& output = outputs_[output_index];
  if (up == (output.link_class < down_)) return;
  send_credits(now, output);  // those that would be settled later, as of now
  if (may_reroute_) links_change(inputs_[output.first_input].node, now);
  output.link_class = static_cast<std::uint8_t>(output.link_class + (up ? -down_ : down_));
  if (up)
    output.wire_free = max(output.wire_free, now);
  else
    net_.parts_[far_part(output)]->lose_on_line(now, output.far_input);
  for (std::uint32_t vc = 0; vc < channels_; ++vc)
    if (CreditPool& pool = pools_[output_index * channels_ + vc]; pool.starved()) pool.last = kNone;
  if ((output.waiting[0] | output.waiting[1]) != 0) wake(output, output_index, max(now, output.free_at));
}

// Credits that are pending go as of now at the rate that was; what follows has the new one.
void Part::set_rate(Time now, std::uint32_t output_index, std::uint32_t rate) {
  Output& output = outputs_[output_index];
  const std::size_t each = net_.kinds_and_rates_, group = output.link_class / each * each;
  const auto changed = static_cast<std::uint8_t>(
      group + kind_at_rate(static_cast<std::uint8_t>(output.link_class - group), rate, net_.link_kinds_));
  if (changed == output.link_class) return;
  send_credits(now, output);
  output.link_class = changed;
  for (std::uint32_t vc = 0; vc < channels_; ++vc)
    if (CreditPool& pool = pools_[output_index * channels_ + vc]; pool.starved()) pool.last = kNone;
  if ((output.waiting[0] | output.waiting[1]) != 0) wake(output, output_index, max(now, output.free_at));
}

// Whether a packet goes to the interface of its node, or comes from it, and that has stopped.
bool Part::is_silenced(const Output& output, const Input& input) const {
  const bool interface = output.link_class == kIntraTile || input.link_class == kIntraTile;
  return interface && input.node < net_.endpoints_ && net_.silent_[input.node];
}

// Of the buffers behind a link: what has not come whole.
void Part::lose_on_line(Time now, std::uint32_t far_input) {
  if (may_reroute_) links_change(inputs_[far_input].node, now);
  for (std::uint32_t i = 0; i < channels_ * (priority_offset_ == 0 ? 1 : 2); ++i) {
    Input& input = inputs_[far_input + i % channels_ + i / channels_ * priority_offset_];
    std::uint32_t before = kNone, index = input.front;
    while (index != kNone && packets_[index].tail_in <= now) before = std::exchange(index, packets_[index].next);
    if (index == kNone) continue;
    if (before == kNone)
      withdraw(input);
    else
      packets_[before].next = kNone;
    input.last = before;
    if (adaptive_) count_again(input);
    CreditPool& pool = pools_[input.pool];
    while (index != kNone) {
      const std::uint32_t next = packets_[index].next;
      pool.free_words += static_cast<std::int32_t>(router_.payload_words(packets_[index].payload_bytes));
      ++pool.free_packets;
      ++lost_;
      report_lost(index, Status::kLinkDown);
      index = next;
    }
  }
}

// The front asks for nothing any more, and is gone.
void Part::withdraw(Input& input) {
  if (input.output < kDiscard) forget(outputs_[input.output], input.output, input);
  if (adaptive_) cancel_decision(static_cast<std::uint32_t>(&input - inputs_));
  if (may_reroute_) unblock(static_cast<std::uint32_t>(&input - inputs_));
  input.front = input.output = kNone;
  input.due = false;
}

// The front of an input is granted an output whose link is down, or loses it.
void Part::lose_front(Time now, Output& output, std::uint32_t output_index, std::uint32_t input_index, Status why) {
  Input& input = inputs_[input_index];
  const Time left = max(now + router_.cycle * router_.packet_words(input.front_words), packets_[input.front].tail_in);
  output.free_at = left + router_.output_gap;
  forget(output, output_index, input);
  if (may_reroute_) unblock(input_index);
  input.due = false;
  ++lost_;
  read_out(input, left, why);
}

// The front of `input` leaves it for nowhere; its last word is read at `left`.
void Part::read_out(Input& input, Time left, Status why) {
  const std::uint32_t index = input.front, words = input.front_words;
  input.idle_at = left + router_.input_gap;
  input.front = packets_[index].next;
  if (adaptive_) uncount_front(input);
  report_lost(index, why);
  return_credit(input, words, left);
  if (input.front != kNone) register_front(input);
}

void Part::report_lost(std::uint32_t packet_index, Status why) {
  const PacketInFlight& c = packets_[packet_index];
  const Packet packet{c.src, c.dst, c.payload_bytes, c.intra_port, c.priority, c.user, 0, 0, c.marked};
  packets_.free(packet_index);
  --in_flight_;
  if (net_.links_fail_ && sink_.lost != nullptr) sink_.lost(sink_.self, packet, why, events_.now());
}

}  // namespace exanet
