// SPDX-License-Identifier: Apache-2.0
// The path of a packet: into an input's buffer, through the crossbar when it is granted, over the link, delivery. See
// cut_through_network.hpp for the model and docs/switches.md for the rules.
//
// Where nothing looks at a buffer before its time, a packet is put into the next one's queue at its grant, with the
// time from which on it asks. With pauses, or a routing that looks at the network, an event puts it there at that time.
#include <utility>

#include "core/network/cut_through/state.hpp"
#include "core/units/check.hpp"

namespace exanet {

using namespace cut_through_state;

bool Part::inject(const Packet& packet) {
  const Time now = events_.now();
  const RouterTiming& router = net_.timing_.router;
  const std::uint32_t payload =
      checked_payload_words(packet, net_.topology_.endpoint_count(), net_.intra_ports_, router, now);
  const auto words = static_cast<std::uint16_t>(router.packet_words(payload));
  const std::uint8_t priority_class = net_.class_of(packet);
  const std::uint32_t port =
      net_.nodes_[packet.src].first_port + net_.topology_.port_count(packet.src) + packet.intra_port;
  InjectionPort* injection_port =
      &net_.injection_ports_[(std::size_t{packet.src} * net_.intra_ports_ + packet.intra_port) * net_.classes_];
  CreditPool& pool = net_.pools_[port];
  reclaim(pool, now);
  if (!pool.fits(priority_class, words)) {
    InjectionPort& own = injection_port[priority_class];
    const bool asked = own.waits();
    own.refuse(words, packet.priority);
    if (asked) return false;
    if (pool.oldest != kNone)
      events_.schedule(entries_[pool.oldest].request, offer_event_, port);
    else
      pool.starved = true;
    return false;
  }
  pool.change(priority_class, words);
  ++in_flight_;
  const Time start = max(now, injection_port->busy_until);
  injection_port->busy_until = start + net_.timing_.on_crossbar(words);
  Entry entry{};
  entry.request = start + net_.timing_.endpoint_pipeline;
  entry.tail_in = injection_port->busy_until + net_.timing_.endpoint_pipeline;
  entry.packet = packets_.add({packet, now, kNone, injection_port->numbering.next(now)});
  entry.dst = packet.dst;
  entry.payload_bytes = packet.payload_bytes;
  entry.words = words;
  entry.intra_port = packet.intra_port;
  entry.lane = static_cast<std::uint8_t>(priority_class * net_.channels_);
  arrive(packet.src, port, entries_.add(entry));
  return true;
}

Queue& Part::queue_of(NodeId node, std::uint32_t port, std::uint8_t lane, std::uint32_t output) {
  const Node& at = net_.nodes_[node];
  const std::uint32_t lane_index = (port - at.first_port) * net_.lanes_ + lane;
  return net_.queues_[at.first_queue + (net_.voq_ ? lane_index * at.ports + output : lane_index)];
}

// A packet is going to arrive at `port`, whose space it has taken.
void Part::arrive(NodeId node, std::uint32_t port, std::uint32_t index) {
  if (net_.enters_in_time_)
    events_.schedule(entries_[index].request, arrive_event_, port, index);
  else
    enqueue(node, port, index);
}

void Part::enqueue(NodeId node, std::uint32_t port, std::uint32_t index) {
  Entry& entry = entries_[index];
  entry.queue = entry.lane;
  choose_route(events_.now(), node, entry);
  if (!net_.cuts_.empty() && net_.cuts_[port].on_line(entry.tail_in)) [[unlikely]]
    packets_[entry.packet].packet.marked = 1;
  if (action_ && !join(node, port, index)) [[unlikely]]
    return;
  entry.next = kNone;
  net_.queued_for(node, entry) += net_.timing_.router.payload_words(entry.payload_bytes);
  if (net_.may_reroute_) queue_changes(node, events_.now(), Seen::bit(entry.output), index);
  Queue& queue = queue_of(node, port, entry.queue, entry.output);
  if (queue.front != kNone) {
    entries_[queue.last].next = index;
    queue.last = index;
    return;
  }
  queue.front = queue.last = index;
  ask(node, port, entry);
  wake(node, max(entry.request, events_.now()));
}

// Lets the machine's queue action see the packet. False where that drops it: its space goes back when its tail has
// come.
bool Part::join(NodeId node, std::uint32_t port, std::uint32_t index) {
  Entry& entry = entries_[index];
  Packet& packet = packets_[entry.packet].packet;
  entry.trimmed = false;
  if ((packet.notes & Packet::kReport) != 0) return true;
  const std::uint32_t output = net_.nodes_[node].first_port + entry.output;
  std::uint32_t words = 0;
  for (std::uint32_t vc = 0; vc < net_.channels_; ++vc) words += net_.queued_words_[output * net_.channels_ + vc];
  const auto verdict = action_->join({node, entry.output, words, net_.stats_[output], events_.now()}, packet);
  if (verdict == QueueAction::Verdict::kDrop) {
    const Packet dropped = packet;
    packets_.free(entry.packet);
    --in_flight_;
    ++net_.discarded_[node];
    return_credits(port, index, entry.tail_in);
    if (sink_.lost != nullptr) sink_.lost(sink_.self, dropped, Status::kLost, events_.now());
    return false;
  }
  if (verdict == QueueAction::Verdict::kTrimFirst) {
    packet.priority = 1;
    entry.tail_in = max(events_.now(), entry.request);  // the header alone is waited for
    entry.queue = static_cast<std::uint8_t>((net_.classes_ - 1) * net_.channels_ + net_.lane_channel_[entry.lane]);
  }
  if (verdict != QueueAction::Verdict::kPass) {
    packet.notes |= Packet::kTrimmed;
    const std::uint32_t far = net_.ports_[output].far;
    if (far == kNone || net_.node_of_[far] == packet.dst) packet.notes |= Packet::kLastHop;
    entry.payload_bytes = 0;
    entry.trimmed = true;
  }
  return true;
}

void Part::ask(NodeId node, std::uint32_t port, const Entry& front) {
  const std::uint32_t first = net_.nodes_[node].first_port;
  net_.nodes_[node].asked.add(front.output);
  net_.waiting_[(first + front.output) * net_.classes_ + net_.lane_class_[front.queue]].add(
      (port - first) * net_.channels_ + net_.lane_channel_[front.queue]);
}

void Part::unask(NodeId node, std::uint32_t port, const Entry& front) {
  const std::uint32_t first = net_.nodes_[node].first_port;
  Slots* waiting = &net_.waiting_[(first + front.output) * net_.classes_];
  waiting[net_.lane_class_[front.queue]].remove((port - first) * net_.channels_ + net_.lane_channel_[front.queue]);
  for (std::uint32_t c = 0; c < net_.classes_; ++c)
    if (!waiting[c].empty()) return;
  net_.nodes_[node].asked.remove(front.output);
}

void Part::reclaim(CreditPool& pool, Time now) {
  while (pool.oldest != kNone && entries_[pool.oldest].request <= now) {
    const std::uint32_t index = pool.oldest;
    const Entry& entry = entries_[index];
    pool.change(entry.lane, -std::int32_t{entry.words});
    pool.closed = 0;
    pool.oldest = entry.next;
    entries_.free(index);
  }
}

void Part::grant(Time now, NodeId node, std::uint32_t output, const Choice& choice) {
  const std::uint32_t first = net_.nodes_[node].first_port, port = first + net_.slot_port_[choice.slot];
  const auto lane = static_cast<std::uint8_t>(choice.priority_class * net_.channels_ + net_.slot_channel_[choice.slot]);
  Queue& queue = queue_of(node, port, lane, output);
  const std::uint32_t index = queue.front;
  if (entries_[index].blocked) unblock(node, index);
  Entry entry = entries_[index];
  unask(node, port, entry);
  net_.queued_for(node, entry) -= net_.timing_.router.payload_words(entry.payload_bytes);
  ++net_.nodes_[node].grants;
  if (entry.trimmed) [[unlikely]]
    entry.words = static_cast<std::uint16_t>(net_.timing_.router.packet_words(0));
  const Time left = max(now + net_.timing_.on_crossbar(entry.words), entry.tail_in);
  charge(first + output, choice.priority_class, entry.words);
  net_.in_free_[port] = left;
  if (is_silenced(net_, node, port, first + output)) [[unlikely]] {
    net_.out_free_[first + output] = left;
    lose(entry.packet, Status::kNodeDown);
  } else if (net_.ports_[first + output].link_class == kIntraTile) {
    net_.out_free_[first + output] = left;
    events_.schedule(left, deliver_event_, entry.packet);
  } else if (!net_.cuts_.empty() &&
             net_.cuts_[first + output].swallows(first + output, entry.words * (8u << net_.timing_.router.word_shift)))
      [[unlikely]] {
    net_.out_free_[first + output] = left;
    lose(entry.packet, Status::kLinkDown);
  } else {
    entry.vc = emptiest_channel(first + output, choice.priority_class, entry.vc);
    cross_link(now, first + output, choice.priority_class, entry, left);
    if (net_.out_free_[first + output] > left) wake(node, net_.out_free_[first + output]);
  }
  if (net_.may_reroute_) port_granted(node, now, first + output);
  queue.front = entry.next;
  wake(node, left);
  if (queue.front != kNone) {
    ask(node, port, entries_[queue.front]);
    if (entries_[queue.front].request > left) wake(node, entries_[queue.front].request);
  }
  return_credits(port, index, left);
}

// The packet's space has been checked. The output's line is free again when the packet is through, and when the FIFO
// behind it has space for one of the largest size.
void Part::cross_link(Time now, std::uint32_t output, std::uint8_t priority_class, const Entry& entry, Time left) {
  Port& out = net_.ports_[output];
  EXANET_CHECK(out.far != kNone, "route through a port without a link", now.ps(), net_.node_of_[output], output);
  const LinkTiming& link = net_.timing_.links[out.link_class];
  Time start = max(now, out.wire_free);
  if (!net_.sleeps_.empty()) [[unlikely]]
    start = net_.sleeps_[output].woken(start, link.wake_time);
  const std::uint32_t phase =
      start >= out.wire_free + link.word_time ? 0 : out.idle_phase;  // an idle link has had its pause
  const std::uint32_t payload = net_.timing_.router.payload_words(entry.payload_bytes);
  std::uint32_t after_head = phase, after_packet = phase;
  const Time head_out = start + link.word_time * link.slots(link.head_words, after_head);
  const Time busy = link.word_time * link.slots(link.packet_words[payload], after_packet);
  out.wire_free = max(start + busy, left);
  out.idle_phase = static_cast<std::uint8_t>(after_packet);
  if (!net_.sleeps_.empty()) [[unlikely]]
    net_.sleeps_[output].carries(out.wire_free, link.sleep_after);
  const std::int64_t behind =
      (net_.output_fifo_words_ - static_cast<std::uint32_t>(net_.most_words_)) * net_.timing_.word_ps_100 / 100;
  net_.out_free_[output] = max(left, out.wire_free - Time::ps(behind));

  LinkStats& stats = net_.stats_[output];
  stats.packets += 1;
  stats.payload_bytes += entry.payload_bytes;
  stats.busy += busy;
  stats.waited += start - entry.request;
  ++hops_;
  Entry far = entry;
  far.lane = static_cast<std::uint8_t>(priority_class * net_.channels_ + entry.vc);
  if (!net_.pauses_) net_.pools_[output].change(far.lane, entry.words);
  const Time on = net_.timing_.latency[out.link_class] + net_.pipeline_of(net_.node_of_[out.far]);
  far.request = head_out + on;
  far.tail_in = out.wire_free + on;
  if (out.far_part == number_) return arrive(net_.node_of_[out.far], out.far, entries_.add(far));
  mail_.to(out.far_part, far.request).arrivals.push_back({out.far, far, packets_[entry.packet]});
  packets_.free(entry.packet);
}

// The packet of this entry has left the buffer of `port` at `left`. Its space is on its way to who fills that.
void Part::return_credits(std::uint32_t port, std::uint32_t index, Time left) {
  Port& in = net_.ports_[port];
  Entry& entry = entries_[index];
  const bool intra = in.link_class == kIntraTile;
  if (net_.pauses_ && !intra) {
    events_.schedule(left, drain_event_, port, std::uint64_t{entry.lane} << 32 | entry.words);
    return entries_.free(index);
  }
  if (intra) {
    entry.lane = net_.lane_class_[entry.lane];
    entry.request = left;
    return take_credits(port, index);
  }
  const LinkTiming& link = net_.timing_.links[in.link_class];
  entry.request = left + link.word_time * link.control_words + net_.timing_.latency[in.link_class];
  if (in.far_part == number_) return take_credits(in.far, index);
  mail_.to(in.far_part, entry.request).credits.push_back({entry.request, in.far, entry.words, entry.lane});
  entries_.free(index);
}

// Puts credits on their way to this sender: an output, or an intra-tile port's interface. The entry says when it is
// there.
void Part::take_credits(std::uint32_t sender, std::uint32_t index) {
  entries_[index].next = kNone;
  CreditPool& pool = net_.pools_[sender];
  (pool.oldest == kNone ? pool.oldest : entries_[pool.last].next) = index;
  pool.last = index;
  if (net_.may_reroute_) credit_comes(sender, entries_[index].request);
  if (!pool.starved) return;
  pool.starved = false;
  if (net_.ports_[sender].link_class == kIntraTile)
    events_.schedule(entries_[index].request, offer_event_, sender);
  else
    wake(net_.node_of_[sender], entries_[index].request);
}

void Part::collect() {
  mail_.collect(net_.parts_, number_, [&](Mail& mail) {
    for (Arrival& a : mail.arrivals) {
      a.entry.packet = packets_.add(a.packet);
      arrive(net_.node_of_[a.port], a.port, entries_.add(a.entry));
    }
    for (const Credit& c : mail.credits) {
      Entry returned{};
      returned.request = c.time;
      returned.words = c.words;
      returned.lane = c.lane;
      take_credits(c.port, entries_.add(returned));
    }
  });
}

// An intra-tile port that had no space for packets gets space back.
void Part::offer_credits(Time now, std::uint32_t port) {
  const NodeId node = net_.node_of_[port];
  const std::uint32_t intra_port = port - net_.nodes_[node].first_port - net_.topology_.port_count(node);
  CreditPool& pool = net_.pools_[port];
  reclaim(pool, now);
  bool waits = false;
  for (std::uint32_t c = 0; c < net_.classes_; ++c) {
    InjectionPort& injection_port =
        net_.injection_ports_[(std::size_t{node} * net_.intra_ports_ + intra_port) * net_.classes_ + c];
    if (!injection_port.waits()) continue;
    if (!pool.fits(static_cast<std::uint8_t>(c), injection_port.need)) {
      waits = true;
      continue;
    }
    injection_port.offer(sink_, node, static_cast<std::uint8_t>(intra_port), now);
  }
  if (!waits) return;
  pool.starved = pool.oldest == kNone;
  if (!pool.starved) events_.schedule(entries_[pool.oldest].request, offer_event_, port);
}

void Part::deliver(Time now, std::uint32_t packet_index) {
  --in_flight_;
  lost_ += packets_[packet_index].packet.marked != 0;
  deliver_packet(sink_, packets_, packet_index, now);
}

// The packet has been granted an output whose link is down, or loses it, or an interface that has stopped.
void Part::lose(std::uint32_t packet_index, Status why) {
  packets_[packet_index].packet.marked = static_cast<std::uint8_t>(why);
  deliver(events_.now(), packet_index);
}

void Part::set_output(Time now, std::uint32_t port, bool up) {
  if (net_.cuts_[port].down == !up) return;
  net_.cuts_[port].down = !up;
  link_changes(port, now);
  Port& out = net_.ports_[port];
  if (up) {
    out.wire_free = max(out.wire_free, now);
    return;
  }
  const Time on = net_.timing_.latency[out.link_class] + net_.pipeline_of(net_.node_of_[out.far]);
  net_.cuts_[out.far].from = now;
  net_.cuts_[out.far].until = out.wire_free + on;
  net_.parts_[out.far_part]->mark_on_line(now, out.far);
}

// Of the packets in the queues of an input: those of which not all has come.
void Part::mark_on_line(Time now, std::uint32_t port) {
  const Node& node = net_.nodes_[net_.node_of_[port]];
  const std::uint32_t each = net_.lanes_ * (net_.voq_ ? node.ports : 1);
  for (std::uint32_t q = node.first_queue + (port - node.first_port) * each, end = q + each; q < end; ++q)
    for (std::uint32_t e = net_.queues_[q].front; e != kNone; e = entries_[e].next)
      if (entries_[e].tail_in > now) packets_[entries_[e].packet].packet.marked = 1;
}

}  // namespace exanet
