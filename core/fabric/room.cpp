// SPDX-License-Identifier: Apache-2.0
// Room: what a sender knows of the buffer beyond its link or port, how a packet's room comes back when the packet has been read, and which control
// word tells of it. See docs/microarchitecture.md, "Credits".
#include <algorithm>

#include "core/fabric/state.hpp"

namespace exanet {

using namespace fabric_state;

void Fabric::Part::take(Room& room, std::uint32_t words) {
  room.free_words -= static_cast<std::int32_t>(words);
  --room.free_packets;
}

void Fabric::Part::reclaim(Room& room, Time now) {
  while (room.oldest != kNone) {
    const std::uint32_t index = room.oldest;
    const Freed& freed = freed_[index];
    if (freed.time > now) return;
    room.free_words += static_cast<std::int32_t>(freed.payload_words);
    ++room.free_packets;
    room.oldest = freed.next;
    freed_.free(index);
  }
}

// A packet of so many words has been read out of `input` at `left`.
void Fabric::Part::return_room(const Input& input, std::uint32_t payload_words, Time left) {
  if (input.link_class == kIntraTile) {
    Room& room = rooms_[input.room];
    const Time time = left + router_.to_sender;
    const bool look = room.starved() || (twin_ != 0 && entrance(input).looks_at > time);
    return_at(room, add_freed(time, input.room, payload_words));
    if (look) await_room(entrance(input), room, static_cast<std::uint32_t>(&input - inputs_));
    return;
  }
  const Time time = left + router_.to_credit;
  Output& teller = outputs_[input.tells];
  const std::uint32_t freed = add_freed(time, input.room, payload_words);
  leave_untold(teller, freed);
  if (twin_ != 0 && !teller.border && before_others(teller, freed)) wake(outputs_[input.room / channels_], input.room / channels_, told_at(teller, time));
  if (!teller.starves || !rooms_[input.room].starved()) return;
  rooms_[input.room].last = kNone;
  teller.starves = false;
  for (std::uint32_t vc = 0, first = input.room / channels_ * channels_; vc < channels_; ++vc)
    if (rooms_[first + vc].starved()) teller.starves = true;
  wake(outputs_[input.room / channels_], input.room / channels_, told_at(teller, time));
}

// Whether room that was returned before is going to be free later, and so its sender may be waiting for too long: a packet that is granted
// after one of the other class may be the first to have gone.
bool Fabric::Part::before_others(const Output& teller, std::uint32_t freed_index) const {
  for (std::uint32_t i = freed_index; i != teller.untold;) {
    i = freed_[i].next;
    if (freed_[i].room == freed_[freed_index].room) return true;
  }
  return false;
}

void Fabric::Part::leave_untold(Output& output, std::uint32_t freed_index) {
  Freed& freed = freed_[freed_index];
  freed.next = freed_index;
  std::uint32_t before = output.untold == kNone ? freed_index : output.untold;  // alone it is a ring
  if (freed.time >= freed_[before].time) [[likely]] {
    output.untold = freed_index;
  } else {
    while (freed_[freed_[before].next].time <= freed.time) before = freed_[before].next;
  }
  freed.next = freed_[before].next;
  freed_[before].next = freed_index;
}

// Settles which control words of `output`'s link tell of the room that has come back in its port's FIFOs: the first whose beginning is not
// before the room is known, Start of a packet or, in an idle link, a credit of its own. No credit is begun where a packet can come to the wire
// before its end: that packet's Start tells. So what lies beyond the reach of packets that may yet be granted is left for later. Written with
// choices in place of branches: which of two cases holds is chance, and a wrong guess costs more than working out both.
void Fabric::Part::tell(Time now, Output& output) {
  const LinkPace& link = links_[output.link_class];
  while (output.untold != kNone) {
    const std::uint32_t last = output.untold, index = freed_[last].next;
    Freed& freed = freed_[index];
    const bool another = freed.time > output.control_end - link.word_time;  // control word than the one of which is known
    const Time magic = max(freed.time, output.wire_free);
    const std::uint32_t phase = output.pause_phase * (magic < output.wire_free + link.word_time);
    std::uint32_t both = phase;
    const Time begin = link.pauses_at(phase) ? magic + link.word_time : magic;
    if (another & (begin + link.word_time * link.control_words > now + link.to_wire)) return;
    const Time end = magic + link.word_time * link.slots(link.control_words, both);
    output.control_end = another ? end : output.control_end;
    output.wire_free = another ? end : output.wire_free;
    output.pause_phase = static_cast<std::uint8_t>(another ? both : output.pause_phase);
    freed_[last].next = freed.next;
    output.untold = index == last ? kNone : last;
    freed.time = output.control_end + link.back;
    if (!output.border) {
      hand_over(rooms_[freed.room], now, index);
    } else {
      mail_[sending_][far_part(output)].credits.push_back({freed.time, freed.room, freed.payload_words});
      mailed_ = min(mailed_, freed.time);
      freed_.free(index);
    }
  }
}

// When the sender can have the room at the earliest that was free at `freed` and has not been told of.
Time Fabric::Part::told_at(const Output& output, Time freed) const {
  const LinkPace& link = links_[output.link_class];
  if (freed <= output.control_end - link.word_time) return output.control_end + link.back;
  // Start of a packet yet to be granted may tell of it in the same cycle.
  return max(freed + link.word_time, output.wire_free + link.word_time * link.control_words) + link.back;
}

// Settles of what room beyond `output` the far end has told by now. Another part tells by mail.
void Fabric::Part::hear(Time now, const Output& output) {
  if (!output.border && output.far_input != kNone) tell(now, outputs_[inputs_[output.far_input].tells]);
}

// When more room is known of beyond `output`, at the earliest; never when no packet is on its way out of there.
Time Fabric::Part::next_room(const Output& output, std::uint32_t room_index) const {
  if (rooms_[room_index].oldest != kNone) return freed_[rooms_[room_index].oldest].time;
  if (output.border) return Time::never();
  const Output& teller = outputs_[inputs_[output.far_input].tells];
  if (teller.untold == kNone) return Time::never();
  std::uint32_t index = teller.untold;
  do {
    index = freed_[index].next;
    if (freed_[index].room == room_index) return told_at(teller, freed_[index].time);
  } while (index != teller.untold);
  return Time::never();
}

// The sender gets the room of which a control word tells: at once where it has plenty until then, for nobody can notice, and nothing needs to be kept.
void Fabric::Part::hand_over(Room& room, Time now, std::uint32_t freed_index) {
  const Freed& freed = freed_[freed_index];
  if (!plenty(room, freed.time - now)) return room_returns(room, freed_index);
  room.free_words += static_cast<std::int32_t>(freed.payload_words);
  ++room.free_packets;
  freed_.free(freed_index);
}

// In the order of time, which for a port of both classes need not be that of grants.
void Fabric::Part::return_at(Room& room, std::uint32_t freed_index) {
  Freed& freed = freed_[freed_index];
  if (twin_ == 0 || room.oldest == kNone || freed_[room.last].time <= freed.time) return room_returns(room, freed_index);
  std::uint32_t* at = &room.oldest;
  while (freed_[*at].time <= freed.time) at = &freed_[*at].next;
  freed.next = *at;
  *at = freed_index;
}

void Fabric::Part::room_returns(Room& room, std::uint32_t freed_index) {
  freed_[freed_index].next = kNone;
  const bool only = room.oldest == kNone;
  std::uint32_t* const behind = &freed_[only ? freed_index : room.last].next;
  *(only ? &room.oldest : behind) = freed_index;
  room.last = freed_index;
}

void Fabric::Part::refuse(Entrance& port, Room& room, std::uint32_t input_index, std::uint8_t priority, std::uint32_t words) {
  port.need[priority] = std::max(port.need[priority], static_cast<std::uint16_t>(words));
  ++port.refused[priority];
  if (port.looks_at == kNotScheduled && !room.starved()) await_room(port, room, input_index);
}

void Fabric::Part::await_room(Entrance& port, Room& room, std::uint32_t input_index) {
  if (room.oldest == kNone) {
    room.last = Room::kStarved;
    return;
  }
  port.looks_at = freed_[room.oldest].time;
  events_.schedule(port.looks_at, room_event_, input_index);
}

// An intra-tile port that refused packets gets room back.
void Fabric::Part::offer_room(Time now, std::uint32_t input_index) {
  Input& input = inputs_[input_index];
  Room& room = rooms_[input.room];
  Entrance& port = entrance(input);
  if (port.looks_at != now) return;  // room came back before what was waited for, and was looked at
  port.looks_at = kNotScheduled;
  reclaim(room, now);
  const auto intra_port = static_cast<std::uint8_t>(input.room / channels_ - input.first_intra_output);
  for (const std::uint8_t priority : {kPriority, kBulk}) {
    if (port.refused[priority] == 0 || !fits(room, priority, port.need[priority])) continue;
    const std::uint32_t calls = port.refused[priority];
    port.refused[priority] = port.need[priority] = 0;
    for (std::uint32_t i = 0; i < calls && sink_.ready != nullptr; ++i) sink_.ready(sink_.self, input.node, intra_port, priority, now);
  }
  if (port.refused[kPriority] + port.refused[kBulk] > 0 && port.looks_at == kNotScheduled && !room.starved()) await_room(port, room, input_index);
}

}  // namespace exanet
