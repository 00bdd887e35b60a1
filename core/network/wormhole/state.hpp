// SPDX-License-Identifier: Apache-2.0
// The wormhole switches' data. Private to core/network/wormhole.
//
// The arrays by port and lane belong to all parts, each of which touches those of its own nodes; worms and packets are
// a part's own.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/engine/pool.hpp"
#include "core/network/common/mailboxes.hpp"
#include "core/network/common/switch_network.hpp"
#include "core/network/queue_actions/queue_action.hpp"
#include "core/network/timing.hpp"
#include "core/network/wormhole/timing.hpp"
#include "core/network/wormhole/wormhole_network.hpp"
#include "core/routing/routing.hpp"

namespace exanet {

namespace wormhole_state {

using namespace switch_state;

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
  std::uint32_t input;  // port that it came in by
  std::uint32_t output = 0;  // port that it goes out by
  std::uint16_t payload_bytes;
  std::uint16_t words;  // flits of the packet
  std::uint16_t known = 0;  // have come or are known to come: the times are in Part::readable_
  std::uint16_t sent = 0;  // have gone
  std::uint8_t intra_port;
  std::uint8_t lane;  // in which it stands
  std::uint8_t want = 0;  // class and virtual channel that it asks of the output
  bool moving = false;  // it holds a channel of the output
  bool swallowed = false;  // the link was down when its first flit was sent
};

// A lane of an output: who holds it, and the credits for the buffer beyond. An intra-tile port takes all that goes out;
// its credits are those of its own input, as the network interface sees it.
struct Lane {
  std::uint32_t worm = kNone;
  std::int32_t credits = 0;
  Times back;  // credits on their way
};

struct Link {
  Time wire_free;  // end of the last word on it
  std::uint32_t far = kNone;
  std::uint8_t link_class = kIntraTile;
  std::uint8_t idle_phase = 0;
  std::uint8_t asked = 0;  // lanes that headers ask for
  std::uint8_t held = 0;  // lanes that worms hold
  std::uint8_t accepts_from = 0;  // an input's first choice among outputs
  std::uint8_t far_part = 0;
};

struct Node {
  std::uint32_t first_port = 0, ports = 0, first_queue = 0;
  std::uint32_t assigned = 0;  // channels, so far
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

// Mail of one partition to another in a window.
struct Mail {
  std::vector<Flit> flits;
  std::vector<PacketInFlight> packets;  // of the heads among them
  std::vector<Credit> credits;

  void clear() {
    flits.clear();
    packets.clear();
    credits.clear();
  }
};

struct Part;

struct State : SwitchNetwork<Node, Link, WormholeTiming> {
  State(const std::vector<Partition>& parts, const Topology& topology, const NetworkConfig& config,
        const std::vector<std::uint8_t>& part_of);
  void build_lanes();

  // Lanes of an output that serve those who ask for `want`.
  std::uint8_t lanes_for(const Link& link, std::uint8_t want) const {
    return link.link_class == kIntraTile ? static_cast<std::uint8_t>(1u << want) : serves_[want];
  }

  std::uint32_t most_words_;
  std::int32_t entry_words_;  // of a class of an intra-tile port
  std::uint8_t serves_[kMostLanes] = {};  // by class and virtual channel of routing: lanes
  bool fixed_, islip_;

  std::vector<Time> due_;  // by port: when its output can do something, as far as is known
  std::vector<Lane> lane_of_;  // (port, lane)
  std::vector<std::uint32_t> filling_;  // (port, lane): the worm whose flits come in
  std::vector<Time> passed_;  // (port, lane): when the packet that was passed last is through; never while it is passed
  std::vector<Slots> waiting_;  // (port, lane asked for): who asks
  std::vector<std::uint8_t> first_slot_;  // the same: whose turn it is
  std::vector<std::uint8_t> accepts_;  // (port, lane): iSLIP: an input lane's first choice among outputs
  std::vector<std::uint32_t> queued_flits_;  // the same: flits of packets in this switch that ask for it
  std::vector<std::unique_ptr<Part>> parts_;
};

struct Part {
  Part(State& net, const Partition& part, std::uint8_t number, std::size_t parts);

  // wormhole_network.cpp
  bool inject(const Packet& packet);
  void receive(const Flit& flit, std::uint32_t packet);
  void enqueue(std::uint32_t worm);
  [[gnu::cold, gnu::noinline]] void join(const Worm& worm);
  void ask(const Worm& worm, Time from);
  void send(Time now, std::uint32_t output, std::uint8_t lane);
  void cross_link(Time now, std::uint32_t output, std::uint8_t lane, std::uint32_t worm, Time left);
  void leave(std::uint32_t worm, Time left);
  void return_credit(std::uint32_t port, std::uint8_t lane, Time left);
  void take_credit(std::uint32_t channel, Time at);
  InjectionPort& injection_port_of(std::uint32_t port, std::uint32_t priority_class);
  void await_credits(std::uint32_t port, std::uint32_t priority_class);
  void offer_credits(Time now, std::uint32_t port, std::uint32_t priority_class);
  void deliver(Time now, std::uint32_t packet);
  [[gnu::cold, gnu::noinline]] bool is_swallowed(std::uint32_t output, Worm& worm);
  void set_output(Time now, std::uint32_t port, bool up);
  void mark_on_line(Time now, std::uint32_t port);
  void collect();
  static void reclaim(Lane& channel, Time now);
  Queue& queue_of(const Worm& worm);
  void route(Worm& worm);

  // allocate.cpp
  struct Pick;
  void call(std::uint32_t output, Time at);
  void allocate(Time now, NodeId node);
  void pass_flits(Time now, NodeId node, Slots outputs);
  Time assign_channels(Time now, std::uint32_t output);
  std::uint32_t assign(Time now, std::uint32_t output, std::uint8_t want, std::uint32_t slot, std::uint32_t free);
  void assign_by_islip(Time now, NodeId node, const Slots& outputs);
  void offer_and_accept(Time now, NodeId node, const Slots& outputs, std::uint32_t priority_class, bool moves_on);
  std::uint32_t emptiest_lane(Time now, std::uint32_t output, std::uint32_t lanes);
  std::uint32_t front_of(std::uint32_t output, std::uint8_t want, std::uint32_t slot) const;
  void wake_fronts(std::uint32_t input, std::uint8_t lane);
  std::uint32_t next_header(Time now, std::uint32_t output, std::uint8_t want, Time& retry) const;
  bool pick(Time now, NodeId node, std::uint32_t output, Pick& made);
  std::uint32_t pick_of_class(Time now, std::uint32_t output, std::uint32_t priority_class, Time& retry);
  bool goes_before(const Node& node, const Pick& a, const Pick& b) const;
  void charge(std::uint32_t output, std::uint8_t lane);

  class View;  // wormhole_network.cpp

  State& net_;
  EventQueue& events_;
  PacketSink sink_;
  std::uint8_t number_;
  std::uint32_t allocate_event_ = 0, deliver_event_ = 0, offer_event_ = 0, route_event_ = 0;
  Pool<Worm, &Worm::next> worms_;
  std::vector<Time> readable_;  // (worm, flit): from when on it can be passed
  Pool<PacketInFlight, &PacketInFlight::next_free> packets_;
  std::unique_ptr<QueueAction> action_;  // null: nothing is done to packets
  std::uint64_t hops_ = 0, lost_ = 0;
  std::uint64_t in_flight_ =
      0;  // those injected here less those delivered here; only the sum over all parts means something
  Mailboxes<Mail> mail_;
};

}  // namespace wormhole_state

}  // namespace exanet
