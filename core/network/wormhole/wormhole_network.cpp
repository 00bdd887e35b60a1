// SPDX-License-Identifier: Apache-2.0
// The path of a flit: into an input's buffer, through the crossbar, over the link, and its credit back. See
// wormhole_network.hpp for the model and docs/switches.md for the rules.
#include <utility>

#include "core/network/wormhole/state.hpp"
#include "core/units/check.hpp"

namespace exanet {

using namespace wormhole_state;

bool Part::inject(const Packet& packet) {
  const Time now = events_.now();
  const RouterTiming& router = net_.timing_.router;
  const std::uint32_t payload =
      checked_payload_words(packet, net_.topology_.endpoint_count(), net_.intra_ports_, router, now);
  const auto words = static_cast<std::int32_t>(router.packet_words(payload));
  const std::uint8_t priority_class = net_.class_of(packet);
  const std::uint32_t port =
      net_.nodes_[packet.src].first_port + net_.topology_.port_count(packet.src) + packet.intra_port;
  const auto lane = static_cast<std::uint8_t>(priority_class * net_.channels_);
  InjectionPort* injection_port =
      &net_.injection_ports_[(std::size_t{packet.src} * net_.intra_ports_ + packet.intra_port) * net_.classes_];
  Lane& credits = net_.lane_of_[port * net_.lanes_ + lane];
  reclaim(credits, now);
  if (credits.credits < words) {
    InjectionPort& own = injection_port[priority_class];
    const bool asked = own.waits();
    own.refuse(words, packet.priority);
    if (!asked) await_credits(port, priority_class);
    return false;
  }
  credits.credits -= words;
  ++in_flight_;
  const Time start = max(now, injection_port->busy_until);
  injection_port->busy_until = start + net_.timing_.crossbar_word * words;
  const std::uint32_t in_flight = packets_.add({packet, now, kNone, injection_port->numbering.next(now)});
  for (std::int32_t flit = 0; flit < words; ++flit)
    receive({start + net_.timing_.crossbar_word * flit + net_.timing_.endpoint_pipeline, port, lane, flit == 0,
             static_cast<std::uint16_t>(words)},
            in_flight);
  return true;
}

// A flit is going to be readable in the buffer of an input, whose space it has taken. With a packet's first one comes
// its packet.
void Part::receive(const Flit& flit, std::uint32_t packet) {
  std::uint32_t& filling = net_.filling_[flit.port * net_.lanes_ + flit.lane];
  if (flit.head) {
    const Packet& p = packets_[packet].packet;
    Worm made{};
    made.packet = packet;
    made.dst = p.dst;
    made.input = flit.port;
    made.payload_bytes = p.payload_bytes;
    made.words = flit.words;
    made.intra_port = p.intra_port;
    made.lane = flit.lane;
    filling = worms_.add(made);
    readable_.resize(worms_.size() * net_.most_words_);
  }
  Worm& worm = worms_[filling];
  readable_[std::size_t{filling} * net_.most_words_ + worm.known++] = flit.readable;
  if (worm.known == net_.timing_.header_words) {
    worm.request = flit.readable;
    if (net_.enters_in_time_)
      events_.schedule(flit.readable, route_event_, filling);
    else
      enqueue(filling);
  } else if (worm.moving && worm.sent + 1 == worm.known) {
    call(worm.output, max(flit.readable, net_.out_free_[worm.output]));
  }
}

Queue& Part::queue_of(const Worm& worm) {
  const Node& at = net_.nodes_[net_.node_of_[worm.input]];
  const std::uint32_t lane = (worm.input - at.first_port) * net_.lanes_ + worm.lane;
  return net_.queues_[at.first_queue + (net_.voq_ ? lane * at.ports + worm.output - at.first_port : lane)];
}

// The packet's header is in the buffer, or known to come: where it goes is decided, and it waits for its turn in its
// queue.
void Part::enqueue(std::uint32_t index) {
  Worm& worm = worms_[index];
  route(worm);
  if (!net_.cuts_.empty() && net_.cuts_[worm.input].on_line(worm.request)) [[unlikely]]
    packets_[worm.packet].packet.marked = 1;
  if (action_) [[unlikely]]
    join(worm);
  worm.next = kNone;
  if (net_.enters_in_time_) net_.queued_flits_[worm.output * net_.lanes_ + worm.want] += worm.words;
  Queue& queue = queue_of(worm);
  if (queue.front != kNone) {
    worms_[queue.last].next = index;
    queue.last = index;
    return;
  }
  queue.front = queue.last = index;
  ask(worm, max(worm.request, events_.now()));
}

// Lets the machine's queue action see the packet.
void Part::join(const Worm& worm) {
  Packet& packet = packets_[worm.packet].packet;
  if ((packet.notes & Packet::kReport) != 0) return;
  std::uint32_t flits = 0;
  for (std::uint32_t lane = 0; lane < net_.lanes_; ++lane)
    flits += net_.queued_flits_[worm.output * net_.lanes_ + lane];
  const NodeId node = net_.node_of_[worm.input];
  action_->join({node, static_cast<std::uint16_t>(worm.output - net_.first_port(node)), flits, net_.stats_[worm.output],
                 events_.now()},
                packet);
}

void Part::ask(const Worm& worm, Time from) {
  const std::uint32_t first = net_.nodes_[net_.node_of_[worm.input]].first_port;
  net_.waiting_[worm.output * net_.lanes_ + worm.want].add((worm.input - first) * net_.channels_ +
                                                           worm.lane % net_.channels_);
  Link& out = net_.ports_[worm.output];
  out.asked = static_cast<std::uint8_t>(out.asked | 1u << worm.want);
  call(worm.output, max(from, net_.out_free_[worm.output]));
}

// Passes the next flit of the packet that holds this lane, which has been looked at.
void Part::send(Time now, std::uint32_t output, std::uint8_t lane) {
  Lane& channel = net_.lane_of_[output * net_.lanes_ + lane];
  const std::uint32_t index = channel.worm;
  Worm& worm = worms_[index];
  const Time left = now + net_.timing_.crossbar_word;
  net_.in_free_[worm.input] = left;
  charge(output, lane);
  if (net_.enters_in_time_) --net_.queued_flits_[output * net_.lanes_ + worm.want];
  const bool tail = worm.sent + 1 == worm.words;
  if (!net_.cuts_.empty() && is_swallowed(output, worm)) [[unlikely]] {
    net_.out_free_[output] = left;
    if (tail) events_.schedule(left, deliver_event_, worm.packet);
  } else if (net_.ports_[output].link_class == kIntraTile) {
    net_.out_free_[output] = left;
    if (tail) events_.schedule(left, deliver_event_, worm.packet);
  } else {
    --channel.credits;
    cross_link(now, output, lane, index, left);
  }
  return_credit(worms_[index].input, worms_[index].lane, left);
  ++worms_[index].sent;
  if (tail) {
    channel.worm = kNone;
    Link& out = net_.ports_[output];
    out.held = static_cast<std::uint8_t>(out.held & ~(1u << lane));
    leave(index, left);
  }
  if ((net_.ports_[output].held | net_.ports_[output].asked) != 0) call(output, net_.out_free_[output]);
}

// The output's line is free again when the flit is through, and the FIFO behind it has space for another.
void Part::cross_link(Time now, std::uint32_t output, std::uint8_t lane, std::uint32_t index, Time left) {
  const Worm worm = worms_[index];
  Link& out = net_.ports_[output];
  const Wire& wire = net_.timing_.wires[out.link_class];
  const bool head = worm.sent == 0;
  LinkStats& stats = net_.stats_[output];
  if (head) {
    stats.packets += 1;
    stats.payload_bytes += worm.payload_bytes;
    stats.waited += max(now, out.wire_free) - worm.request;
    ++hops_;
  }
  Time busy, ready = now;
  if (!net_.sleeps_.empty()) [[unlikely]]
    ready = net_.sleeps_[output].woken(max(now, out.wire_free), wire.timing.wake_time);
  const Time there = wire.pass(ready, head, out.wire_free, out.idle_phase, busy) + wire.latency +
                     net_.pipeline_of(net_.node_of_[out.far]);
  stats.busy += busy;
  if (!net_.sleeps_.empty()) [[unlikely]]
    net_.sleeps_[output].carries(out.wire_free, wire.timing.sleep_after);
  net_.out_free_[output] =
      max(left, out.wire_free - wire.timing.word_time * wire.flit_words * (net_.timing_.output_fifo_words - 1));
  const Flit flit{there, out.far, lane, head, worm.words};
  if (out.far_part == number_) return receive(flit, worm.packet);
  Mail& mail = mail_.to(out.far_part, there);
  mail.flits.push_back(flit);
  if (!head) return;
  mail.packets.push_back(packets_[worm.packet]);
  packets_.free(worm.packet);
}

// A packet's tail has gone; it was the front of its queue.
void Part::leave(std::uint32_t index, Time left) {
  const std::uint32_t input = worms_[index].input;
  const std::uint8_t lane = worms_[index].lane;
  net_.passed_[input * net_.lanes_ + lane] = left;
  Queue& queue = queue_of(worms_[index]);
  queue.front = worms_[index].next;
  worms_.free(index);
  if (queue.front != kNone) ask(worms_[queue.front], max(worms_[queue.front].request, left));
  if (net_.voq_) wake_fronts(input, lane);
}

// A flit has left the buffer of this input at `left`.
void Part::return_credit(std::uint32_t port, std::uint8_t lane, Time left) {
  const Link& in = net_.ports_[port];
  if (in.link_class == kIntraTile) {
    const std::uint32_t priority_class = lane / net_.channels_;
    Lane& own = net_.lane_of_[port * net_.lanes_ + lane];
    own.back.push(left);
    const InjectionPort& injection_port = injection_port_of(port, priority_class);
    if (injection_port.waits() && own.credits + static_cast<std::int32_t>(own.back.size()) == injection_port.need)
      events_.schedule(left, offer_event_, port, priority_class);
    return;
  }
  const Time at = left + net_.timing_.wires[in.link_class].credit;
  const std::uint32_t channel = in.far * net_.lanes_ + lane;
  if (in.far_part == number_) return take_credit(channel, at);
  mail_.to(in.far_part, at).credits.push_back({at, channel});
}

void Part::take_credit(std::uint32_t index, Time at) {
  Lane& channel = net_.lane_of_[index];
  channel.back.push(at);
  const std::uint32_t output = index / net_.lanes_;
  if (channel.worm != kNone && channel.credits == 0 && channel.back.size() == 1)
    call(output, max(at, net_.out_free_[output]));
}

void Part::reclaim(Lane& channel, Time now) {
  while (!channel.back.empty() && channel.back.front() <= now) {
    channel.back.pop();
    ++channel.credits;
  }
}

InjectionPort& Part::injection_port_of(std::uint32_t port, std::uint32_t priority_class) {
  const NodeId node = net_.node_of_[port];
  const std::uint32_t intra_port = port - net_.nodes_[node].first_port - net_.topology_.port_count(node);
  return net_.injection_ports_[(std::size_t{node} * net_.intra_ports_ + intra_port) * net_.classes_ + priority_class];
}

// A packet was not taken for want of space: calls when there is enough, if it is known when that is.
void Part::await_credits(std::uint32_t port, std::uint32_t priority_class) {
  const Lane& own = net_.lane_of_[port * net_.lanes_ + priority_class * net_.channels_];
  const auto missing = static_cast<std::uint32_t>(injection_port_of(port, priority_class).need - own.credits);
  if (missing <= own.back.size()) events_.schedule(own.back[missing - 1], offer_event_, port, priority_class);
}

void Part::offer_credits(Time now, std::uint32_t port, std::uint32_t priority_class) {
  InjectionPort& injection_port = injection_port_of(port, priority_class);
  if (!injection_port.waits()) return;
  Lane& own = net_.lane_of_[port * net_.lanes_ + priority_class * net_.channels_];
  reclaim(own, now);
  if (own.credits < injection_port.need) return await_credits(port, priority_class);
  const NodeId node = net_.node_of_[port];
  const auto intra_port =
      static_cast<std::uint8_t>(port - net_.nodes_[node].first_port - net_.topology_.port_count(node));
  injection_port.offer(sink_, node, intra_port, now);
}

void Part::deliver(Time now, std::uint32_t packet_index) {
  --in_flight_;
  lost_ += packets_[packet_index].packet.marked != 0;
  deliver_packet(sink_, packets_, packet_index, now);
}

// Flits of a packet go all over the link, or none does.
bool Part::is_swallowed(std::uint32_t output, Worm& worm) {
  if (worm.sent > 0) return worm.swallowed;
  const bool silenced = is_silenced(net_, net_.node_of_[output], worm.input, output);
  worm.swallowed = silenced || net_.cuts_[output].swallows(output, worm.words * (8u << net_.timing_.router.word_shift));
  if (worm.swallowed)
    packets_[worm.packet].packet.marked = static_cast<std::uint8_t>(silenced ? Status::kNodeDown : Status::kLinkDown);
  return worm.swallowed;
}

void Part::set_output(Time now, std::uint32_t port, bool up) {
  if (net_.cuts_[port].down == !up) return;
  net_.cuts_[port].down = !up;
  Link& out = net_.ports_[port];
  if (up) {
    out.wire_free = max(out.wire_free, now);
    return;
  }
  net_.cuts_[out.far].from = now;
  net_.cuts_[out.far].until =
      out.wire_free + net_.timing_.wires[out.link_class].latency + net_.pipeline_of(net_.node_of_[out.far]);
  net_.parts_[out.far_part]->mark_on_line(now, out.far);
}

// Of the packets in the buffer of an input: those of which not all has come, and nothing has gone on.
void Part::mark_on_line(Time now, std::uint32_t port) {
  const auto mark = [&](std::uint32_t index) {
    const Worm& worm = worms_[index];
    if (worm.sent > 0) return;  // its packet may be another part's by now
    if (worm.known < worm.words || readable_[std::size_t{index} * net_.most_words_ + worm.known - 1u] > now)
      packets_[worm.packet].packet.marked = 1;
  };
  for (std::uint32_t lane = 0; lane < net_.lanes_; ++lane) {
    const std::uint32_t index =
        net_.filling_[port * net_.lanes_ + lane];  // perhaps long gone, and the place another packet's
    if (index == kNone || worms_[index].input != port || worms_[index].lane != lane) continue;
    if (worms_[index].sent == 0 && worms_[index].known < worms_[index].words)
      packets_[worms_[index].packet].packet.marked = 1;
  }
  const Node& node = net_.nodes_[net_.node_of_[port]];
  const std::uint32_t each = net_.lanes_ * (net_.voq_ ? node.ports : 1);
  for (std::uint32_t q = node.first_queue + (port - node.first_port) * each, end = q + each; q < end; ++q)
    for (std::uint32_t w = net_.queues_[q].front; w != kNone; w = worms_[w].next) mark(w);
}

void Part::collect() {
  mail_.collect(net_.parts_, number_, [&](Mail& mail) {
    std::size_t next = 0;
    for (const Flit& flit : mail.flits) receive(flit, flit.head ? packets_.add(mail.packets[next++]) : kNone);
    for (const Credit& credit : mail.credits) take_credit(credit.channel, credit.time);
  });
}

// Shows routing flits of packets that ask for an output, those in the buffers beyond, and whether a channel is free.
class Part::View final : public CongestionView {
 public:
  View(State& net, Time now, std::uint32_t priority_class) : net_(net), now_(now), class_(priority_class) {}

  std::uint32_t queued_words(NodeId node, std::uint16_t port) const override {
    std::uint32_t words = is_down(net_, node, port) ? kDownWords : 0;
    for (std::uint8_t vc = 0; vc < net_.channel_step_; ++vc) words += channel_words(node, {port, vc});
    return words;
  }

  std::uint32_t channel_words(NodeId node, Hop hop) const override {
    const std::uint32_t first = (net_.nodes_[node].first_port + hop.port) * net_.lanes_;
    std::uint32_t words = is_down(net_, node, hop.port) ? kDownWords : 0;
    for (std::uint32_t c = 0; c < net_.classes_; ++c) {
      const std::uint32_t want = c * net_.channels_ + hop.vc;
      words += net_.queued_flits_[first + want];
      for (std::uint32_t lanes = net_.serves_[want]; lanes != 0; lanes &= lanes - 1) {
        Lane& beyond = net_.lane_of_[first + static_cast<std::uint32_t>(std::countr_zero(lanes))];
        reclaim(beyond, now_);
        words += static_cast<std::uint32_t>(net_.timing_.lane_words - beyond.credits);
      }
    }
    return words;
  }

  bool has_credit(NodeId node, Hop hop) const override {
    const Link& out = net_.ports_[net_.nodes_[node].first_port + hop.port];
    return !is_down(net_, node, hop.port) && (net_.serves_[class_ * net_.channels_ + hop.vc] & ~out.held) != 0;
  }

 private:
  State& net_;
  Time now_;
  std::uint32_t class_;
};

void Part::route(Worm& worm) {
  const NodeId node = net_.node_of_[worm.input];
  const std::uint32_t first = net_.nodes_[node].first_port, priority_class = worm.lane / net_.channels_;
  if (worm.dst == node) {
    worm.output = first + net_.topology_.port_count(node) + worm.intra_port;
    worm.want = worm.lane;
    return;
  }
  Hop hop;
  if (net_.routing_ == nullptr) {
    hop = net_.topology_.next_hop(node, worm.dst);
    if (net_.rail_ports_ != 0 && node < net_.topology_.endpoint_count())
      hop.port = static_cast<std::uint16_t>(worm.intra_port / net_.rail_ports_);
  } else {
    PacketInFlight& in_flight = packets_[worm.packet];
    hop = net_.routing_->choose(request_of(in_flight, node, net_.timing_.router.payload_words(worm.payload_bytes)),
                                in_flight.route, View(net_, events_.now(), priority_class));
  }
  EXANET_CHECK(net_.ports_[first + hop.port].far != kNone, "route through a port without a link", events_.now().ps(),
               node, hop.port);
  worm.output = first + hop.port;
  worm.want = static_cast<std::uint8_t>(priority_class * net_.channels_ + hop.vc);
}

}  // namespace exanet
