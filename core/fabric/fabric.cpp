// SPDX-License-Identifier: Apache-2.0
// The path of a packet: injection, arbitration, crossbar, link, delivery. See fabric.hpp for the model, state.hpp for the data and
// docs/microarchitecture.md for the rules.
//
// Both when the front of an input will ask for its output and when credits will be back is known in advance, so requests are registered
// ahead of their time and credits are collected when somebody looks: neither costs an event of its own. An output is looked at (the
// "arbitrate" event) only at times at which a grant may be possible. All requests of one instant are registered before it begins, so the
// result does not depend on the order of events within an instant.
#include <bit>

#include "core/fabric/state.hpp"
#include "core/units/check.hpp"

namespace exanet {

using namespace fabric_state;

bool Fabric::State::inject(const Packet& packet) {
  const Time now = events_.now();
  EXANET_CHECK(packet.src < endpoints_ && packet.dst < endpoints_ && packet.intra_port < intra_ports_,
               "packet from or to nowhere", now.ps(), packet.src, packet.dst);
  const std::uint32_t words = router_.payload_words(packet.payload_bytes);
  EXANET_CHECK(words <= router_.most_payload_words, "payload above the maximum", now.ps(), packet.payload_bytes, packet.src);
  const std::uint32_t input_index = first_input_[packet.src + 1] - intra_ports_ + packet.intra_port;
  Input& input = inputs_[input_index];
  Entrance& port = entrances_[std::size_t{packet.src} * intra_ports_ + packet.intra_port];
  reclaim(input, now);
  if (input.free_words < static_cast<std::int32_t>(words) || input.free_packets < 1) {
    port.need = words > port.need ? words : port.need;
    if (port.refused++ == 0) {
      input.starved = input.oldest == input.front;
      if (!input.starved) events_.schedule(entries_[input.oldest].time, room_event_, input_index);
    }
    return false;
  }
  std::uint32_t index = free_packet_;
  if (index == kNone) {
    index = static_cast<std::uint32_t>(packets_.size());
    packets_.emplace_back();
  } else {
    free_packet_ = packets_[index].next_free;
  }
  packets_[index] = {packet, now, kNone};
  ++in_flight_;
  const Time start = max(now, port.busy_until);
  port.busy_until = start + router_.cycle * router_.packet_words(words);
  append(input,
         {start + router_.head, port.busy_until, index, kNone, packet.dst, packet.payload_bytes, packet.intra_port, packet.priority});
  return true;
}

// Takes room in `input` for a packet that is going to arrive there.
void Fabric::State::append(Input& input, const Entry& entry) {
  std::uint32_t index = free_entry_;
  if (index == kNone) {
    index = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    free_entry_ = entries_[index].next;
  }
  entries_[index] = entry;
  input.free_words -= static_cast<std::int32_t>(router_.payload_words(entry.payload_bytes));
  input.free_packets -= 1;
  if (input.oldest == kNone)
    input.oldest = index;
  else
    entries_[input.last].next = index;
  input.last = index;
  if (input.front == kNone) {
    input.front = index;
    register_front(input);
  }
}

void Fabric::State::reclaim(Input& input, Time now) {
  while (input.oldest != input.front) {
    Entry& entry = entries_[input.oldest];
    if (entry.time > now) return;
    input.free_words += static_cast<std::int32_t>(router_.payload_words(entry.payload_bytes));
    input.free_packets += 1;
    const std::uint32_t next = entry.next;
    entry.next = free_entry_;
    free_entry_ = input.oldest;
    input.oldest = next;
  }
}

// The front of `input` will ask for its output as soon as its header is there and the packet before it has gone.
void Fabric::State::register_front(Input& input) {
  const Entry& entry = entries_[input.front];
  if (entry.dst == input.node) {
    input.output = first_output_[input.node + 1] - intra_ports_ + entry.intra_port;
    input.front_vc = 0;
  } else {
    const Hop hop = topology_.next_hop(input.node, entry.dst);
    input.output = first_output_[input.node] + hop.port;
    input.front_vc = hop.vc;
  }
  input.front_words = static_cast<std::uint16_t>(router_.payload_words(entry.payload_bytes));
  input.front_priority = entry.priority;
  input.request = max(entry.time, input.idle_at);
  Output& output = outputs_[input.output];
  output.waiting[input.index / 64] |= std::uint64_t{1} << (input.index % 64);
  wake(output, input.output, max(input.request, output.free_at));
}

void Fabric::State::wake(Output& output, std::uint32_t output_index, Time at) {
  if (output.wake_at == at) return;
  output.wake_at = at;
  events_.schedule(at, arbitrate_event_, output_index);
}

void Fabric::State::arbitrate(Time now, std::uint32_t output_index) {
  Output& output = outputs_[output_index];
  if (output.wake_at == now) output.wake_at = kNotScheduled;
  if ((output.waiting[0] | output.waiting[1]) == 0) return;
  if (now < output.free_at) return wake(output, output_index, output.free_at);
  bool others = false;
  const std::uint32_t chosen = choose(now, output, output_index, others);
  if (chosen == kNone) return;
  grant(now, output, output.first_input + chosen);
  if (others) wake(output, output_index, output.free_at);
}

// Round robin from the input after the last one granted; priority 1 goes before 0. `others` tells whether somebody else could go as well.
std::uint32_t Fabric::State::choose(Time now, Output& output, std::uint32_t output_index, bool& others) {
  std::uint32_t chosen = kNone;
  std::uint8_t priority = 0;
  const auto look_at = [&](std::uint32_t index) {
    const Input& input = inputs_[output.first_input + index];
    if (input.request > now || !room_beyond(now, output, output_index, input)) return;
    others = chosen != kNone;
    if (chosen != kNone && input.front_priority <= priority) return;
    chosen = index;
    priority = input.front_priority;
  };
  const unsigned first = (output.last_granted + 1u) % kMostInputs;
  if (output.waiting[1] == 0 && first <= 64) {  // most routers have 64 inputs at most
    std::uint64_t rest = std::rotr(output.waiting[0], static_cast<int>(first % 64));
    for (; rest != 0; rest &= rest - 1) look_at((static_cast<unsigned>(std::countr_zero(rest)) + first) % 64);
    return chosen;
  }
  for (unsigned step = 0; step < 3; ++step) {  // from `first` to the end of its word, the other word, and the word's beginning
    const unsigned word = (first / 64 + step) % 2;
    const std::uint64_t from_first = ~std::uint64_t{0} << (first % 64);
    std::uint64_t rest = output.waiting[word] & (step == 0 ? from_first : step == 2 ? ~from_first : ~std::uint64_t{0});
    for (; rest != 0; rest &= rest - 1) look_at(word * 64 + static_cast<unsigned>(std::countr_zero(rest)));
  }
  return chosen;
}

// Whether the next buffer takes the whole packet. If not, sees to it that the output is looked at again when a credit arrives.
bool Fabric::State::room_beyond(Time now, const Output& output, std::uint32_t output_index, const Input& input) {
  if (output.link_class == kIntraTile) return true;
  Input& far = inputs_[output.far_input + input.front_vc];
  reclaim(far, now);
  if (far.free_words >= input.front_words && far.free_packets >= 1) return true;
  if (far.starved) return false;
  far.starved = far.oldest == far.front;
  if (!far.starved) wake(outputs_[output_index], output_index, entries_[far.oldest].time);
  return false;
}

void Fabric::State::grant(Time now, Output& output, std::uint32_t input_index) {
  Input& input = inputs_[input_index];
  const Entry entry = entries_[input.front];
  const std::uint32_t words = router_.payload_words(entry.payload_bytes);
  output.waiting[input.index / 64] &= ~(std::uint64_t{1} << (input.index % 64));
  output.last_granted = input.index;
  // The crossbar takes a word a cycle, and the last one not before it is here.
  const Time left = max(now + router_.cycle * (router_.packet_words(words) - 1), entry.tail_in) + router_.cycle;
  if (output.link_class == kIntraTile) {
    output.free_at = left + router_.output_gap;
    events_.schedule(left + router_.latency, deliver_event_, entry.packet);
  } else {
    cross_link(now, output, input, entry, left);
  }
  input.idle_at = left + router_.input_gap;
  const Time credit = input.link_class == kIntraTile ? left : left + links_[input.link_class].latency;
  entries_[input.front].time = credit;
  input.front = entries_[input.front].next;
  if (input.starved) {
    input.starved = false;
    if (input.link_class == kIntraTile)
      events_.schedule(credit, room_event_, input_index);
    else
      wake(outputs_[input.upstream], input.upstream, credit);
  }
  if (input.front != kNone) register_front(input);
}

// Sends the packet over the output's link into the far buffer, whose room has been checked. It waits behind the crossbar while the packet
// before it is on the wire; nothing else is granted until it gets there itself.
void Fabric::State::cross_link(Time now, Output& output, const Input& input, const Entry& entry, Time left) {
  const auto output_index = static_cast<std::size_t>(&output - outputs_.data());
  EXANET_CHECK(output.far_input != kNone, "route through a port without a link", now.ps(), output.node, output_index);
  const LinkPace& link = links_[output.link_class];
  const Time through = now + router_.latency, out = max(through, output.tail_out);
  // A link that has been idle for a word time has had its pause by then.
  if (out >= output.tail_out + link.word_time) output.pause_phase = 0;
  std::uint32_t head_phase = output.pause_phase;
  const Time head_busy = link.word_time * link.slots(link.head_words, head_phase);
  const Time busy = link.word_time * link.slots(link.packet_words[input.front_words], output.pause_phase);
  output.tail_out = max(out + busy, left - router_.cycle + router_.latency + link.last_word);
  output.free_at = max(left + router_.output_gap, out);

  LinkStats& stats = output.stats;
  stats.packets += 1;
  stats.payload_bytes += entry.payload_bytes;
  stats.busy += busy;
  stats.waited += now - input.request + (out - through);
  ++hops_;
  append(inputs_[output.far_input + input.front_vc], {out + head_busy + link.latency, output.tail_out + link.latency, entry.packet, kNone,
                                                      entry.dst, entry.payload_bytes, entry.intra_port, entry.priority});
}

void Fabric::State::deliver(Time now, std::uint32_t packet_index) {
  const Carried carried = packets_[packet_index];
  packets_[packet_index].next_free = free_packet_;
  free_packet_ = packet_index;
  --in_flight_;
  if (sink_.delivered != nullptr) sink_.delivered(sink_.self, carried.packet, carried.injected, now);
}

// An intra-tile port that refused packets gets room back.
void Fabric::State::offer_room(Time now, std::uint32_t input_index) {
  Input& input = inputs_[input_index];
  Entrance& port = entrance(input);
  reclaim(input, now);
  if (input.free_words < static_cast<std::int32_t>(port.need) || input.free_packets < 1) {
    input.starved = input.oldest == input.front;
    if (!input.starved) events_.schedule(entries_[input.oldest].time, room_event_, input_index);
    return;
  }
  const std::uint32_t calls = port.refused;
  port.refused = port.need = 0;
  const auto intra_port = static_cast<std::uint8_t>(input.index - intra_index(input.node));
  for (std::uint32_t i = 0; i < calls && sink_.ready != nullptr; ++i) sink_.ready(sink_.self, input.node, intra_port, now);
}

}  // namespace exanet
