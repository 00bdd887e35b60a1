// SPDX-License-Identifier: Apache-2.0
// Records that input-queued switches have in common, whatever their switching: sets of inputs, queues, packets in
// flight and injection ports.
//
// A class of packets and a virtual channel together are a lane. An input and a virtual channel together are a slot.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "core/faults/link_loss.hpp"
#include "core/network/common/injection.hpp"
#include "core/network/network.hpp"
#include "core/routing/routing.hpp"
#include "core/units/check.hpp"
#include "core/units/time.hpp"

namespace exanet {

inline constexpr std::uint32_t kMostSlots = 128;  // of a switch
inline constexpr std::uint32_t kMostLanes = 8;  // of an input
inline constexpr std::int64_t kMostFifoWords = 1 << 24;

namespace switch_state {

inline constexpr std::uint32_t kNone = 0xffffffffu;
inline constexpr std::uint8_t kIntraTile = 0xff;  // in place of a link class

// A set of a switch's slots, ports in order.
struct Slots {
  std::uint64_t word[2] = {};
  void add(unsigned slot) { word[slot / 64] |= std::uint64_t{1} << (slot % 64); }
  void remove(unsigned slot) { word[slot / 64] &= ~(std::uint64_t{1} << (slot % 64)); }
  bool has(unsigned slot) const { return (word[slot / 64] >> (slot % 64) & 1) != 0; }
  bool empty() const { return (word[0] | word[1]) == 0; }
  Slots operator&(const Slots& o) const { return {{word[0] & o.word[0], word[1] & o.word[1]}}; }
  // The first one from `from` on, round the end. Contract: not empty.
  unsigned next(unsigned from) const {
    const unsigned at = from / 64 % 2;
    const std::uint64_t here = word[at] & (~std::uint64_t{0} << (from % 64));
    if (here != 0) return at * 64 + static_cast<unsigned>(std::countr_zero(here));
    if (word[1 - at] != 0) return (1 - at) * 64 + static_cast<unsigned>(std::countr_zero(word[1 - at]));
    return at * 64 + static_cast<unsigned>(std::countr_zero(word[at]));
  }
};

struct PacketInFlight {
  Packet packet;
  Time injected;
  std::uint32_t next_free;
  std::uint16_t number = 0;  // among those that its port took at the same time (draw_of())
  std::uint32_t route = 0;  // what routing wants to remember of it
};

// State of a packet that routing asks for at a router.
inline RouteRequest request_of(const PacketInFlight& in_flight, NodeId at, std::uint32_t payload_words) {
  const Packet& packet = in_flight.packet;
  const std::uint64_t draw = packet.entropy != 0
                                 ? draw_by_entropy(packet.src, packet.dst, packet.entropy)
                                 : draw_of(packet.src, packet.dst, in_flight.injected, in_flight.number);
  return {at, packet.dst, payload_words, draw};
}

// Takes a packet out of its partition's records and hands it to the sink: its last word has left at `now`.
template <typename Packets>
void deliver_packet(const PacketSink& sink, Packets& packets, std::uint32_t index, Time now) {
  const PacketInFlight delivered = packets[index];
  packets.free(index);
  if (delivered.packet.marked != 0) [[unlikely]] {
    const auto why = static_cast<Status>(delivered.packet.marked);
    if (sink.lost != nullptr) sink.lost(sink.self, delivered.packet, why, now);
    return;
  }
  if (sink.delivered != nullptr) sink.delivered(sink.self, delivered.packet, delivered.injected, now);
}

// The ends of a link that can go down (Network::set_link): whether the output there is, and of the input the times at
// which came, or would have come, what stood on the line when the link last went down. Such packets are marked: what is
// missing of them is filled up, so that they leave space behind them as whole ones do, and they are lost at their
// destination. What an output that is down sends is gone at once. A mark is the number of a Status.
struct Cut {
  bool down = false;
  Time from = Time::never(), until = Time::never();
  LossyLink line;  // of the output
  // Whether a packet that begins to leave by the output numbered `port` goes nowhere.
  bool swallows(std::uint32_t port, std::uint32_t packet_bits) { return down || line.loses(port, packet_bits); }
  bool on_line(Time at) const { return at > from && at <= until; }
};

// Network::set_link() of switches, once parts have collected their mail. Contract of `State`: as of PartitionedNetwork,
// and parts have set_output(now, port, up).
template <typename State>
void set_switch_link(State& state, PortRef link, bool up, Time now) {
  EXANET_CHECK(!state.cuts_.empty(), "a link changes where none was to fail", now.ps(), link.node, link.port);
  const std::uint32_t port = state.first_port(link.node) + link.port, far = state.ports_[port].far;
  EXANET_CHECK(far != kNone, "no link at this port", now.ps(), link.node, link.port);
  for (const std::uint32_t end : {port, far})
    state.parts_[state.part_of(state.node_of_[end])]->set_output(now, end, up);
}

// Network::set_loss() of switches.
template <typename State>
void set_switch_loss(State& state, PortRef link, const LinkLoss& loss, Time now) {
  EXANET_CHECK(!state.cuts_.empty(), "a link loses packets where none was to", now.ps(), link.node, link.port);
  const std::uint32_t port = state.first_port(link.node) + link.port, far = state.ports_[port].far;
  EXANET_CHECK(far != kNone, "no link at this port", now.ps(), link.node, link.port);
  for (const std::uint32_t end : {port, far}) state.cuts_[end].line.loss = loss;
}

// Network::set_rate() of switches, once parts have collected their mail.
template <typename State>
void set_switch_rate(State& state, PortRef link, std::uint32_t rate, Time now) {
  EXANET_CHECK(!state.cuts_.empty(), "a link changes its rate where none was to", now.ps(), link.node, link.port);
  const std::uint32_t port = state.first_port(link.node) + link.port, far = state.ports_[port].far;
  EXANET_CHECK(far != kNone, "no link at this port", now.ps(), link.node, link.port);
  for (const std::uint32_t end : {port, far})
    state.ports_[end].link_class = kind_at_rate(state.ports_[end].link_class, rate, state.link_kinds_);
}

// Network::set_interface() of switches.
template <typename State>
void set_switch_interface(State& state, NodeId endpoint, bool up) {
  state.silent_.resize(state.topology_.endpoint_count());
  state.silent_[endpoint] = !up;
}

// Whether a packet on its way from `input` to `output` of this node goes to its interface, or comes from it, and that
// has stopped.
template <typename State>
bool is_silenced(const State& state, NodeId node, std::uint32_t input, std::uint32_t output) {
  return !state.silent_.empty() && node < state.silent_.size() && state.silent_[node] &&
         (state.ports_[input].link_class == kIntraTile || state.ports_[output].link_class == kIntraTile);
}

// What a routing sees of a port whose link is down: more than any buffers hold.
inline constexpr std::uint32_t kDownWords = 1 << 24;
template <typename State>
bool is_down(const State& state, NodeId node, std::uint16_t port) {
  return !state.cuts_.empty() && state.cuts_[state.first_port(node) + port].down;
}

// Packets of one lane of an input, with virtual output queues those to one output; the first one asks.
struct Queue {
  std::uint32_t front = kNone, last = kNone;
};

// An intra-tile port and class, as the network interface sees it.
struct InjectionPort {
  Time busy_until;  // of the port: words are still being written; kept in its class 0
  Numbering numbering;  // the same
  std::array<std::uint32_t, 2> refused_of{};  // by priority
  std::int32_t need = 0;

  bool waits() const { return refused_of[0] + refused_of[1] > 0; }
  void refuse(std::int32_t words, std::uint8_t priority) {
    need = words > need ? words : need;
    ++refused_of[priority != 0];
  }
  // Calls ready() once for each packet that was not taken: there is space for the largest of them.
  void offer(const PacketSink& sink, NodeId node, std::uint8_t intra_port, Time now) {
    need = 0;
    const std::array<std::uint32_t, 2> calls = std::exchange(refused_of, {});
    for (const std::uint8_t priority : {std::uint8_t{1}, std::uint8_t{0}})
      call_ready(sink, calls[priority], node, intra_port, priority, now);
  }
};

}  // namespace switch_state

}  // namespace exanet
