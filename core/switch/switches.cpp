// SPDX-License-Identifier: Apache-2.0
// The path of a packet: into an input's buffer, through the crossbar when it is granted, over the link, delivery. See switches.hpp for the
// model and docs/switches.md for the rules.
//
// Where nothing looks at a buffer before its time, a packet is put into the next one's queue at its grant, with the time from which on it asks.
// With pauses, or a routing that looks at the network, an event puts it there at that time.
#include <utility>

#include "core/switch/state.hpp"
#include "core/units/check.hpp"

namespace exanet {

using namespace switch_state;

std::uint32_t Switches::State::add_entry(const Entry& entry) {
  if (free_entry_ == kNone) {
    entries_.push_back(entry);
    return static_cast<std::uint32_t>(entries_.size() - 1);
  }
  const std::uint32_t index = free_entry_;
  free_entry_ = entries_[index].next;
  entries_[index] = entry;
  return index;
}

void Switches::State::free_entry(std::uint32_t index) {
  entries_[index].next = free_entry_;
  free_entry_ = index;
}

std::uint32_t Switches::State::add_packet(const Carried& carried) {
  if (free_packet_ == kNone) {
    packets_.push_back(carried);
    return static_cast<std::uint32_t>(packets_.size() - 1);
  }
  const std::uint32_t index = free_packet_;
  free_packet_ = packets_[index].next_free;
  packets_[index] = carried;
  return index;
}

bool Switches::State::inject(const Packet& packet) {
  const Time now = events_.now();
  const std::uint32_t endpoints = topology_.endpoint_count();
  EXANET_CHECK(packet.src < endpoints && packet.dst < endpoints && packet.intra_port < intra_ports_, "packet from or to nowhere", now.ps(),
               packet.src, packet.dst);
  const std::uint32_t payload = router_.payload_words(packet.payload_bytes);
  EXANET_CHECK(payload <= router_.most_payload_words, "payload above the maximum", now.ps(), packet.payload_bytes, packet.src);
  const auto words = static_cast<std::uint16_t>(router_.packet_words(payload));
  const std::uint8_t priority_class = class_of(packet);
  const std::uint32_t port = nodes_[packet.src].first_port + topology_.port_count(packet.src) + packet.intra_port;
  Entrance* entrance = &entrances_[(std::size_t{packet.src} * intra_ports_ + packet.intra_port) * classes_];
  Room& room = rooms_[port];
  reclaim(room, now);
  if (!room.fits(priority_class, words)) {
    Entrance& own = entrance[priority_class];
    own.need = words > own.need ? words : own.need;
    const bool asked = own.refused_of[0] + own.refused_of[1] > 0;
    ++own.refused_of[packet.priority != 0];
    if (asked) return false;
    if (room.oldest != kNone)
      events_.schedule(entries_[room.oldest].request, room_event_, port);
    else
      room.starved = true;
    return false;
  }
  room.change(priority_class, words);
  ++in_flight_;
  const Time start = max(now, entrance->busy_until);
  entrance->busy_until = start + on_crossbar(words);
  Entry entry{};
  entry.request = start + pipeline_;
  entry.tail_in = entrance->busy_until + pipeline_;
  entry.packet = add_packet({packet, now, kNone});
  entry.dst = packet.dst;
  entry.payload_bytes = packet.payload_bytes;
  entry.words = words;
  entry.intra_port = packet.intra_port;
  entry.lane = static_cast<std::uint8_t>(priority_class * channels_);
  arrive(packet.src, port, add_entry(entry));
  return true;
}

Queue& Switches::State::queue_of(NodeId node, std::uint32_t port, std::uint8_t lane, std::uint32_t output) {
  const Node& at = nodes_[node];
  const std::uint32_t lane_index = (port - at.first_port) * lanes_ + lane;
  return queues_[at.first_queue + (voq_ ? lane_index * at.ports + output : lane_index)];
}

// A packet is going to arrive at `port`, whose room it has taken.
void Switches::State::arrive(NodeId node, std::uint32_t port, std::uint32_t index) {
  if (pauses_ || looks_)
    events_.schedule(entries_[index].request, arrive_event_, port, index);
  else
    enqueue(node, port, index);
}

void Switches::State::enqueue(NodeId node, std::uint32_t port, std::uint32_t index) {
  Entry& entry = entries_[index];
  choose_way(events_.now(), node, entry);
  entry.next = kNone;
  queued_for(node, entry) += router_.payload_words(entry.payload_bytes);
  Queue& queue = queue_of(node, port, entry.lane, entry.output);
  if (queue.front != kNone) {
    entries_[queue.last].next = index;
    queue.last = index;
    return;
  }
  queue.front = queue.last = index;
  ask(node, port, entry);
  wake(node, max(entry.request, events_.now()));
}

void Switches::State::ask(NodeId node, std::uint32_t port, const Entry& front) {
  const std::uint32_t first = nodes_[node].first_port;
  nodes_[node].asked.add(front.output);
  waiting_[(first + front.output) * classes_ + lane_class_[front.lane]].add((port - first) * channels_ + lane_channel_[front.lane]);
}

void Switches::State::unask(NodeId node, std::uint32_t port, const Entry& front) {
  const std::uint32_t first = nodes_[node].first_port;
  Slots* waiting = &waiting_[(first + front.output) * classes_];
  waiting[lane_class_[front.lane]].remove((port - first) * channels_ + lane_channel_[front.lane]);
  for (std::uint32_t c = 0; c < classes_; ++c)
    if (!waiting[c].empty()) return;
  nodes_[node].asked.remove(front.output);
}

void Switches::State::reclaim(Room& room, Time now) {
  while (room.oldest != kNone && entries_[room.oldest].request <= now) {
    const std::uint32_t index = room.oldest;
    const Entry& entry = entries_[index];
    room.change(entry.lane, -std::int32_t{entry.words});
    room.closed = 0;
    room.oldest = entry.next;
    free_entry(index);
  }
}

void Switches::State::grant(Time now, NodeId node, std::uint32_t output, const Choice& choice) {
  const std::uint32_t first = nodes_[node].first_port, port = first + slot_port_[choice.slot];
  const auto lane = static_cast<std::uint8_t>(choice.priority_class * channels_ + slot_channel_[choice.slot]);
  Queue& queue = queue_of(node, port, lane, output);
  const std::uint32_t index = queue.front;
  const Entry entry = entries_[index];
  unask(node, port, entry);
  queued_for(node, entry) -= router_.payload_words(entry.payload_bytes);
  ++nodes_[node].grants;
  charge(first + output, choice.priority_class, entry.words);
  const Time left = max(now + on_crossbar(entry.words), entry.tail_in);
  in_free_[port] = left;
  if (ports_[first + output].link_class == kIntraTile) {
    out_free_[first + output] = left;
    events_.schedule(left, deliver_event_, entry.packet);
  } else {
    cross_link(now, first + output, choice.priority_class, entry, left);
    if (out_free_[first + output] > left) wake(node, out_free_[first + output]);
  }
  queue.front = entry.next;
  wake(node, left);
  if (queue.front != kNone) {
    ask(node, port, entries_[queue.front]);
    if (entries_[queue.front].request > left) wake(node, entries_[queue.front].request);
  }
  return_room(port, index, left);
}

// The packet's room has been checked. The output's line is free again when the packet is through, and when the FIFO behind it has room for
// one of the largest size.
void Switches::State::cross_link(Time now, std::uint32_t output, std::uint8_t priority_class, const Entry& entry, Time left) {
  Port& out = ports_[output];
  EXANET_CHECK(out.far != kNone, "route through a port without a link", now.ps(), node_of_[output], output);
  const LinkPace& link = links_[out.link_class];
  const Time start = max(now, out.wire_free);
  const std::uint32_t phase = start >= out.wire_free + link.word_time ? 0 : out.pause_phase;  // an idle link has had its pause
  const std::uint32_t payload = router_.payload_words(entry.payload_bytes);
  std::uint32_t after_head = phase, after_packet = phase;
  const Time head_out = start + link.word_time * link.slots(link.head_words, after_head);
  const Time busy = link.word_time * link.slots(link.packet_words[payload], after_packet);
  out.wire_free = max(start + busy, left);
  out.pause_phase = static_cast<std::uint8_t>(after_packet);
  const std::int64_t behind = (output_fifo_words_ - static_cast<std::uint32_t>(most_words_)) * crossbar_word_ps_100_ / 100;
  out_free_[output] = max(left, out.wire_free - Time::ps(behind));

  LinkStats& stats = stats_[output];
  stats.packets += 1;
  stats.payload_bytes += entry.payload_bytes;
  stats.busy += busy;
  stats.waited += start - entry.request;
  ++hops_;
  Entry far = entry;
  far.lane = static_cast<std::uint8_t>(priority_class * channels_ + entry.vc);
  if (!pauses_) rooms_[output].change(far.lane, entry.words);
  const Time on = latency_[out.link_class] + pipeline_;
  far.request = head_out + on;
  far.tail_in = out.wire_free + on;
  arrive(node_of_[out.far], out.far, add_entry(far));
}

// The packet of this entry has left the buffer of `port` at `left`. Its room is on its way to who fills that.
void Switches::State::return_room(std::uint32_t port, std::uint32_t index, Time left) {
  Port& in = ports_[port];
  Entry& entry = entries_[index];
  const bool intra = in.link_class == kIntraTile;
  if (pauses_ && !intra) {
    events_.schedule(left, drain_event_, port, std::uint64_t{entry.lane} << 32 | entry.words);
    return free_entry(index);
  }
  const std::uint32_t sender = intra ? port : in.far;
  if (intra) entry.lane = lane_class_[entry.lane];
  entry.request = left;
  if (!intra) {
    const LinkPace& link = links_[in.link_class];
    entry.request += link.word_time * link.control_words + latency_[in.link_class];
  }
  entry.next = kNone;
  Room& room = rooms_[sender];
  (room.oldest == kNone ? room.oldest : entries_[room.last].next) = index;
  room.last = index;
  if (!room.starved) return;
  room.starved = false;
  if (intra)
    events_.schedule(entry.request, room_event_, port);
  else
    wake(node_of_[sender], entry.request);
}

// An intra-tile port that refused packets gets room back.
void Switches::State::offer_room(Time now, std::uint32_t port) {
  const NodeId node = node_of_[port];
  const std::uint32_t intra_port = port - nodes_[node].first_port - topology_.port_count(node);
  Room& room = rooms_[port];
  reclaim(room, now);
  bool waits = false;
  for (std::uint32_t c = 0; c < classes_; ++c) {
    Entrance& entrance = entrances_[(std::size_t{node} * intra_ports_ + intra_port) * classes_ + c];
    if (entrance.refused_of[0] + entrance.refused_of[1] == 0) continue;
    if (!room.fits(static_cast<std::uint8_t>(c), entrance.need)) {
      waits = true;
      continue;
    }
    entrance.need = 0;
    const std::array<std::uint32_t, 2> calls = std::exchange(entrance.refused_of, {});
    for (const std::uint8_t priority : {1, 0})
      for (std::uint32_t i = 0; i < calls[priority] && sink_.ready != nullptr; ++i)
        sink_.ready(sink_.self, node, static_cast<std::uint8_t>(intra_port), priority, now);
  }
  if (!waits) return;
  room.starved = room.oldest == kNone;
  if (!room.starved) events_.schedule(entries_[room.oldest].request, room_event_, port);
}

void Switches::State::deliver(Time now, std::uint32_t packet_index) {
  const Carried carried = packets_[packet_index];
  packets_[packet_index].next_free = free_packet_;
  free_packet_ = packet_index;
  --in_flight_;
  if (sink_.delivered != nullptr) sink_.delivered(sink_.self, carried.packet, carried.injected, now);
}

}  // namespace exanet
