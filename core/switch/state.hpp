// SPDX-License-Identifier: Apache-2.0
// The switches' data: flat arrays of ports, queues and buffer entries. Private to core/switch.
//
// The arrays by node and port belong to all parts, each of which touches those of its own nodes; entries and packets are a part's own.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/engine/pool.hpp"
#include "core/fabric/timing.hpp"
#include "core/routing/routing.hpp"
#include "core/switch/pace.hpp"
#include "core/switch/switches.hpp"

namespace exanet {

namespace switch_state {

inline constexpr std::uint32_t kNone = 0xffffffffu;
inline constexpr std::uint32_t kMostSlots = 128;
inline constexpr std::uint32_t kMostLanes = 8;
inline constexpr std::uint8_t kIntraTile = 0xff;  // in place of a link class
inline constexpr Time kNever = Time::ps(-1);

// A set of a switch's slots: (input port, virtual channel), ports in order.
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

// A packet's place in an input's buffer. After its grant it stands for the room that is on its way back to the sender.
struct Entry {
  Time request;  // it can be granted; after the grant: the sender has the room
  Time tail_in;  // its last word can be read
  std::uint32_t packet, next;
  NodeId dst;
  std::uint16_t payload_bytes;
  std::uint16_t words;  // header, payload and footer
  std::uint16_t output;  // of this switch
  std::uint8_t intra_port;
  std::uint8_t lane;  // whose room it takes
  std::uint8_t vc;    // of the link beyond
  bool looking;       // an event to look again at its way is under way
};

struct Carried {
  Packet packet;
  Time injected;
  std::uint32_t next_free;
  std::uint32_t route = 0;  // what routing wants to remember of it
};

// Packets of one lane of an input, with virtual output queues those to one output; the first one asks.
struct Queue {
  std::uint32_t front = kNone, last = kNone;
};

// The room in an input's buffer, as its sender knows it.
struct Room {
  std::int32_t used[kMostLanes] = {};
  std::int32_t each = 0;  // of a lane alone
  std::int32_t pool = 0;  // left of what lanes share beyond that
  std::uint32_t oldest = kNone, last = kNone;  // on its way back, in order of time
  bool starved = false;                        // the sender waits for room, and none is on its way
  std::uint8_t closed = 0;                     // lanes that have no room for a packet, as far as has been looked

  std::int32_t from_pool(std::int32_t words) const { return words > each ? words - each : 0; }
  bool fits(std::uint8_t lane, std::int32_t words) const { return from_pool(used[lane] + words) - from_pool(used[lane]) <= pool; }
  void change(std::uint8_t lane, std::int32_t words) {
    pool -= from_pool(used[lane] + words) - from_pool(used[lane]);
    used[lane] += words;
  }
};

// A port, and the link beyond.
struct Port {
  Time wire_free;                 // end of the last word on the link
  std::uint32_t far = kNone;      // the port at the other end
  std::uint8_t link_class = kIntraTile;
  std::uint8_t pause_phase = 0;
  std::uint8_t paused = 0;         // lanes, as this sender has been told
  std::uint8_t pausing = 0;        // lanes, as this receiver has told
  std::uint8_t accepts_from = 0;   // iSLIP: an input's first choice among outputs
  std::uint8_t far_part = 0;
};

// What this receiver has in its lanes; only with pauses.
struct Filling {
  std::int32_t words[kMostLanes] = {};
  std::int32_t most = 0;
};

// What one class has had of an output.
struct Turn {
  std::uint64_t finish = 0;  // of its share: words by weight
  std::uint8_t first = 0;    // slot
};

struct Node {
  std::uint32_t first_port = 0, ports = 0, first_queue = 0;
  Time wake_at = kNever, ran = kNever;
  std::uint32_t grants = 0;
  Slots asked;  // outputs, not slots, that somebody waits for
};

// An intra-tile port and class, as the network interface sees it.
struct Entrance {
  Time busy_until;  // of the port: words are still being written; kept in its class 0
  std::array<std::uint32_t, 2> refused_of{};  // by priority
  std::int32_t need = 0;

  bool waits() const { return refused_of[0] + refused_of[1] > 0; }
};

struct Choice {
  std::uint32_t slot = kNone;
  std::uint8_t priority_class = 0;
};

struct Arrival {
  std::uint32_t port;
  Entry entry;
  Carried packet;
};

struct Credit {
  Time time;
  std::uint32_t port;  // the sender's
  std::uint16_t words;
  std::uint8_t lane;
};

// What one part has for another. Two of each: one is filled in a window, while what was filled in the window before is read.
struct Mail {
  std::vector<Arrival> arrivals;
  std::vector<Credit> credits;
};

}  // namespace switch_state

struct Switches::State {
  State(const std::vector<FabricPart>& parts, const Topology& topology, const FabricConfig& config, const std::vector<std::uint8_t>& part_of);

  void build_ports(const FabricConfig& config);
  void build_node(NodeId node, const FabricConfig& config);

  std::uint8_t part_of(NodeId node) const { return part_of_.empty() ? 0 : part_of_[node]; }
  std::uint8_t class_of(const Packet& packet) const { return packet.priority < classes_ ? packet.priority : static_cast<std::uint8_t>(classes_ - 1); }
  std::uint32_t& queued_for(NodeId node, const switch_state::Entry& entry) {
    return queued_words_[(nodes_[node].first_port + entry.output) * channels_ + entry.vc];
  }

  const Topology& topology_;
  const Routing* routing_;
  std::vector<std::uint8_t> part_of_;  // by node; empty when all are in one part
  SwitchConfig config_;
  SwitchPace pace_;
  std::vector<Time> hear_after_;  // a pause; by link class
  std::uint32_t intra_ports_, channels_, classes_, lanes_;
  std::uint8_t slot_port_[switch_state::kMostSlots], slot_channel_[switch_state::kMostSlots];  // within a switch; a division each otherwise
  std::uint8_t lane_class_[switch_state::kMostLanes], lane_channel_[switch_state::kMostLanes];
  std::int32_t most_words_ = 0, lane_words_ = 0;
  std::uint32_t output_fifo_words_ = 0;
  bool voq_, pauses_, looks_, looks_again_;
  std::vector<std::int64_t> tag_;  // by class: of a word's share

  std::vector<switch_state::Node> nodes_;
  std::vector<NodeId> node_of_;  // by port
  std::vector<switch_state::Port> ports_;
  std::vector<Time> in_free_, out_free_;  // by port: its lines into the crossbar and out of it
  std::vector<switch_state::Room> rooms_;  // by port: of the input beyond its link; an intra-tile port's: of its own input
  std::vector<LinkStats> stats_;
  std::vector<switch_state::Queue> queues_;
  std::vector<switch_state::Slots> waiting_;            // (port, class): who asks for this output
  std::vector<switch_state::Turn> turns_;  // the same
  std::vector<std::uint32_t> queued_words_;  // (port, virtual channel): payload of packets in this switch that ask for this output
  std::vector<std::uint64_t> virtual_time_;  // by port: start of the share that was served last
  std::vector<switch_state::Filling> fillings_;  // by port
  std::vector<switch_state::Entrance> entrances_;  // (endpoint, intra-tile port, class)
  Time lookahead_ = Time::never();
  std::vector<std::unique_ptr<Part>> parts_;
};

struct Switches::Part {
  using Entry = switch_state::Entry;
  using Port = switch_state::Port;
  using Queue = switch_state::Queue;
  using Room = switch_state::Room;
  using Node = switch_state::Node;
  using Slots = switch_state::Slots;
  using Choice = switch_state::Choice;

  Part(State& net, const FabricPart& part, std::uint8_t number, std::size_t parts);
  void register_events();

  // switches.cpp
  bool inject(const Packet& packet);
  void arrive(NodeId node, std::uint32_t port, std::uint32_t entry);
  void enqueue(NodeId node, std::uint32_t port, std::uint32_t entry);
  void grant(Time now, NodeId node, std::uint32_t output, const Choice& choice);
  void cross_link(Time now, std::uint32_t output, std::uint8_t priority_class, const Entry& entry, Time left);
  void return_room(std::uint32_t port, std::uint32_t entry, Time left);
  void take_room(std::uint32_t sender, std::uint32_t entry);
  void collect();
  void reclaim(Room& room, Time now);
  void offer_room(Time now, std::uint32_t port);
  void deliver(Time now, std::uint32_t packet);
  Queue& queue_of(NodeId node, std::uint32_t port, std::uint8_t lane, std::uint32_t output);
  void ask(NodeId node, std::uint32_t port, const Entry& front);
  void unask(NodeId node, std::uint32_t port, const Entry& front);

  // steering.cpp
  class View;
  void choose_way(Time now, NodeId node, Entry& entry);
  void look_again(Time now, std::uint32_t port, std::uint32_t front);
  void reconsider(Time now, std::uint32_t port, std::uint32_t entry);

  // allocate.cpp
  void wake(NodeId node, Time at);
  void allocate(Time now, NodeId node);
  void match_in_turn(Time now, NodeId node, Slots free);
  void match_by_islip(Time now, NodeId node, Slots free);
  Choice choose(Time now, NodeId node, std::uint32_t output, const Slots& free);
  std::uint32_t first_ready(Time now, NodeId node, std::uint32_t output, std::uint8_t priority_class, const Slots& free);
  bool passes(Time now, std::uint32_t output, std::uint8_t priority_class, std::uint32_t port, std::uint32_t front);
  void charge(std::uint32_t output, std::uint8_t priority_class, std::uint32_t words);

  // pause.cpp
  void fill(Time now, std::uint32_t port, std::uint8_t lane, std::int32_t words);
  void drain(Time now, std::uint32_t port, std::uint8_t lane, std::int32_t words);
  void tell(Time now, std::uint32_t port, std::uint8_t lane, bool pause);
  void hear(Time now, std::uint32_t port, std::uint8_t lane, bool pause);

  State& net_;
  EventQueue& events_;
  FabricSink sink_;
  std::uint8_t number_;
  Pool<Entry, &Entry::next> entries_;
  Pool<switch_state::Carried, &switch_state::Carried::next_free> packets_;
  std::uint64_t hops_ = 0, pauses_sent_ = 0;
  std::uint64_t in_flight_ = 0;  // those injected here less those delivered here; only the sum over all parts means something
  std::uint32_t allocate_event_ = 0, deliver_event_ = 0, room_event_ = 0, arrive_event_ = 0, drain_event_ = 0, hear_event_ = 0, look_event_ = 0;
  std::vector<switch_state::Mail> mail_[2];  // to each part
  unsigned sending_ = 0;                     // which of the two is being filled
  Time mailed_ = Time::never();              // the earliest time at which mail of this window matters
};

}  // namespace exanet
