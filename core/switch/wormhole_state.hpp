// SPDX-License-Identifier: Apache-2.0
// The wormhole switches' data. Private to core/switch.
//
// The arrays by port and lane belong to all parts, each of which touches those of its own nodes; worms and packets are a part's own.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/fabric/timing.hpp"
#include "core/routing/routing.hpp"
#include "core/switch/state.hpp"
#include "core/switch/wormhole.hpp"
#include "core/switch/wormhole_pace.hpp"

namespace exanet {

namespace wormhole_state {

using switch_state::Carried;
using switch_state::Entrance;
using switch_state::kIntraTile;
using switch_state::kMostLanes;
using switch_state::kMostSlots;
using switch_state::kNone;
using switch_state::Queue;
using switch_state::Slots;

// Times in the order in which they come: a ring that grows.
class Times {
 public:
  bool empty() const { return count_ == 0; }
  std::uint32_t size() const { return count_; }
  Time front() const { return at_[first_]; }
  Time operator[](std::uint32_t i) const { return at_[(first_ + i) & (at_.size() - 1)]; }
  void pop() {
    first_ = (first_ + 1) & static_cast<std::uint32_t>(at_.size() - 1);
    --count_;
  }
  void push(Time t) {
    if (count_ == at_.size()) grow();
    at_[(first_ + count_++) & (at_.size() - 1)] = t;
  }
  std::uint64_t memory_bytes() const { return at_.capacity() * sizeof(Time); }

 private:
  void grow() {
    std::vector<Time> more(at_.empty() ? 8 : at_.size() * 2);
    for (std::uint32_t i = 0; i < count_; ++i) more[i] = (*this)[i];
    at_ = std::move(more);
    first_ = 0;
  }

  std::vector<Time> at_;  // a power of two of them, or none
  std::uint32_t first_ = 0, count_ = 0;
};

// A packet in the buffer of an input: as many of its flits as are there or on their way.
struct Worm {
  Time request;  // its header can ask for a channel
  std::uint32_t packet;
  std::uint32_t next;  // in the queue; of those not in use, another
  NodeId dst;
  std::uint32_t input;       // port that it came in by
  std::uint32_t output = 0;  // port that it goes out by
  std::uint16_t payload_bytes;
  std::uint16_t words;      // flits of the packet
  std::uint16_t known = 0;  // have come or are known to come: the times are in Part::readable_
  std::uint16_t sent = 0;   // have gone
  std::uint8_t intra_port;
  std::uint8_t lane;      // in which it stands
  std::uint8_t want = 0;  // class and virtual channel that it asks of the output
  bool moving = false;    // it holds a channel of the output
};

// A lane of an output: who holds it, and the room in the buffer beyond. An intra-tile port has room for all that goes out; its room is that of its
// own input, as the network interface sees it.
struct Lane {
  std::uint32_t worm = kNone;
  std::int32_t room = 0;
  Times back;  // credits on their way
};

struct Link {
  Time wire_free;  // end of the last word on it
  std::uint32_t far = kNone;
  std::uint8_t link_class = kIntraTile;
  std::uint8_t pause_phase = 0;
  std::uint8_t asked = 0;         // lanes that headers ask for
  std::uint8_t held = 0;          // lanes that worms hold
  std::uint8_t accepts_from = 0;  // an input's first choice among outputs
  std::uint8_t far_part = 0;
};

// What one class has had of an output.
struct Share {
  std::uint64_t finish = 0;        // of its share: words by weight
  std::uint8_t first_channel = 0;  // whose turn it is
};

struct Node {
  std::uint32_t first_port = 0, ports = 0, first_queue = 0;
  std::uint32_t handed = 0;      // channels, so far
  Time wake_at = Time::never();  // the earliest event that is under way
};

// A flit on a link, and, with the first one, its packet.
struct Flit {
  Time readable;
  std::uint32_t port;  // that it comes in by
  std::uint8_t lane;
  bool head;
  std::uint16_t words;
};

struct Credit {
  Time time;
  std::uint32_t channel;
};

// What one part has for another. Two of each: one is filled in a window, while what was filled in the window before is read.
struct Mail {
  std::vector<Flit> flits;
  std::vector<Carried> packets;  // of the heads among them
  std::vector<Credit> credits;
};

}  // namespace wormhole_state

struct WormholeSwitches::State {
  State(const std::vector<FabricPart>& parts, const Topology& topology, const FabricConfig& config, const std::vector<std::uint8_t>& part_of);
  void build_ports();
  void build_node(NodeId node);

  std::uint8_t part_of(NodeId node) const { return part_of_.empty() ? 0 : part_of_[node]; }
  std::uint8_t class_of(const Packet& packet) const { return packet.priority < classes_ ? packet.priority : static_cast<std::uint8_t>(classes_ - 1); }
  // Lanes of an output that serve those who ask for `want`.
  std::uint8_t lanes_for(const wormhole_state::Link& link, std::uint8_t want) const {
    return link.link_class == wormhole_state::kIntraTile ? static_cast<std::uint8_t>(1u << want) : serves_[want];
  }

  const Topology& topology_;
  const Routing* routing_;
  std::vector<std::uint8_t> part_of_;  // by node; empty when all are in one part
  SwitchConfig config_;
  WormholePace pace_;
  std::uint32_t intra_ports_, channels_, needed_, classes_, lanes_, most_words_;
  std::int32_t entry_words_;  // of a class of an intra-tile port
  std::uint8_t serves_[wormhole_state::kMostLanes] = {};  // by class and virtual channel of routing: lanes
  bool voq_, looks_, fixed_;
  std::vector<std::int64_t> tag_;  // by class: of a word's share
  Time lookahead_ = Time::never();

  std::vector<wormhole_state::Node> nodes_;
  std::vector<NodeId> node_of_;                  // by port
  std::vector<wormhole_state::Link> ports_;
  std::vector<Time> due_;                        // by port: when its output can do something, as far as is known
  std::vector<Time> in_free_, out_free_;         // by port: its lines into the crossbar and out of it
  std::vector<LinkStats> stats_;                 // by port
  std::vector<std::uint64_t> virtual_time_;      // by port: start of the share that was served last
  std::vector<wormhole_state::Share> shares_;    // (port, class)
  std::vector<wormhole_state::Lane> lane_of_;  // (port, lane)
  std::vector<std::uint32_t> filling_;           // (port, lane): the worm whose flits come in
  std::vector<Time> passed_;                     // (port, lane): when the packet that was passed last is through; never while it is passed
  std::vector<wormhole_state::Slots> waiting_;   // (port, lane asked for): who asks
  std::vector<std::uint8_t> first_slot_;         // the same: whose turn it is
  std::vector<std::uint32_t> queued_flits_;      // the same: flits of packets in this switch that ask for it
  std::vector<wormhole_state::Queue> queues_;
  std::vector<wormhole_state::Entrance> entrances_;  // (endpoint, intra-tile port, class)
  std::vector<std::unique_ptr<Part>> parts_;
};

struct WormholeSwitches::Part {
  using Worm = wormhole_state::Worm;
  using Link = wormhole_state::Link;
  using Lane = wormhole_state::Lane;
  using Slots = wormhole_state::Slots;

  Part(State& net, const FabricPart& part, std::uint8_t number, std::size_t parts);

  // wormhole.cpp
  bool inject(const Packet& packet);
  void receive(const wormhole_state::Flit& flit, std::uint32_t packet);
  void enqueue(std::uint32_t worm);
  void ask(const Worm& worm, Time from);
  void send(Time now, std::uint32_t output, std::uint8_t lane);
  void cross_link(Time now, std::uint32_t output, std::uint8_t lane, std::uint32_t worm, Time left);
  void leave(std::uint32_t worm, Time left);
  void return_credit(std::uint32_t port, std::uint8_t lane, Time left);
  void take_credit(std::uint32_t channel, Time at);
  wormhole_state::Entrance& entrance_of(std::uint32_t port, std::uint32_t priority_class);
  void await_room(std::uint32_t port, std::uint32_t priority_class);
  void offer_room(Time now, std::uint32_t port, std::uint32_t priority_class);
  void deliver(Time now, std::uint32_t packet);
  void collect();
  static void reclaim(Lane& channel, Time now);
  wormhole_state::Queue& queue_of(const Worm& worm);
  void route(Worm& worm);

  // wormhole_allocate.cpp
  struct Pick;
  void call(std::uint32_t output, Time at);
  void allocate(Time now, NodeId node);
  void pass_flits(Time now, NodeId node, Slots outputs);
  Time hand_out(Time now, std::uint32_t output);
  std::uint32_t front_of(std::uint32_t output, std::uint8_t want, std::uint32_t slot) const;
  void call_fronts(std::uint32_t input, std::uint8_t lane);
  std::uint32_t next_header(Time now, std::uint32_t output, std::uint8_t want, Time& retry) const;
  bool pick(Time now, NodeId node, std::uint32_t output, Pick& made);
  std::uint32_t pick_of_class(Time now, std::uint32_t output, std::uint32_t priority_class, Time& retry);
  bool goes_before(const wormhole_state::Node& node, const Pick& a, const Pick& b) const;
  void charge(std::uint32_t output, std::uint8_t lane);

  class View;  // wormhole.cpp

  State& net_;
  EventQueue& events_;
  FabricSink sink_;
  std::uint8_t number_;
  std::uint32_t allocate_event_ = 0, deliver_event_ = 0, room_event_ = 0, route_event_ = 0;
  Pool<Worm, &Worm::next> worms_;
  std::vector<Time> readable_;  // (worm, flit): from when on it can be passed
  Pool<wormhole_state::Carried, &wormhole_state::Carried::next_free> packets_;
  std::uint64_t hops_ = 0;
  std::uint64_t in_flight_ = 0;  // those injected here less those delivered here; only the sum over all parts means something
  std::vector<wormhole_state::Mail> mail_[2];  // to each part
  unsigned sending_ = 0;                       // which of the two is being filled
  Time mailed_ = Time::never();
};

}  // namespace exanet
