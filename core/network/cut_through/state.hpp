// SPDX-License-Identifier: Apache-2.0
// The switches' data: flat arrays of ports, queues and buffer entries. Private to core/network/cut_through.
//
// The arrays by node and port belong to all parts, each of which touches those of its own nodes; entries and packets
// are a part's own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/engine/pool.hpp"
#include "core/network/common/mailboxes.hpp"
#include "core/network/common/seen.hpp"
#include "core/network/common/switch_network.hpp"
#include "core/network/cut_through/cut_through_network.hpp"
#include "core/network/cut_through/timing.hpp"
#include "core/network/queue_actions/queue_action.hpp"
#include "core/network/timing.hpp"
#include "core/routing/routing.hpp"

namespace exanet {

namespace cut_through_state {

using namespace switch_state;

inline constexpr Time kNever = Time::ps(-1);

// A packet's place in an input's buffer. After its grant it stands for the credits that are on their way back to the
// sender.
struct Entry {
  Time request;  // it can be granted; after the grant: the sender has the space
  Time tail_in;  // its last word can be read
  std::uint32_t packet, next;
  NodeId dst;
  std::uint16_t payload_bytes;
  std::uint16_t words;  // header, payload and footer
  std::uint16_t output;  // of this switch
  std::uint8_t intra_port;
  std::uint8_t lane;  // whose space it takes
  std::uint8_t queue;  // the lane in whose queue it is: that, or one of a higher class
  std::uint8_t vc;  // of the link beyond, as routing names it; once granted, the one that it gets
  bool blocked;  // in its node's list of fronts that choose again
  bool trimmed;  // here: its header alone goes on
};

// The credit pool of an input's buffer, as its sender knows it.
struct CreditPool {
  std::int32_t used[kMostLanes] = {};
  std::int32_t each = 0;  // of a lane alone
  std::int32_t pool = 0;  // left of what lanes share beyond that
  std::uint32_t oldest = kNone, last = kNone;  // on its way back, in order of time
  bool starved = false;  // the sender waits for credits, and none are on their way
  std::uint8_t closed = 0;  // lanes that have no space for a packet, as far as has been looked

  std::int32_t from_pool(std::int32_t words) const { return words > each ? words - each : 0; }
  bool fits(std::uint8_t lane, std::int32_t words) const {
    return from_pool(used[lane] + words) - from_pool(used[lane]) <= pool;
  }
  void change(std::uint8_t lane, std::int32_t words) {
    pool -= from_pool(used[lane] + words) - from_pool(used[lane]);
    used[lane] += words;
  }
};

// A port, and the link beyond.
struct Port {
  Time wire_free;  // end of the last word on the link
  std::uint32_t far = kNone;  // the port at the other end
  std::uint8_t link_class = kIntraTile;
  std::uint8_t idle_phase = 0;
  std::uint8_t paused = 0;  // lanes, as this sender has received
  std::uint8_t pausing = 0;  // lanes, as this receiver has sent
  std::uint8_t accepts_from = 0;  // iSLIP: an input's first choice among outputs
  std::uint8_t far_part = 0;
};

// Counts the words in a receiver's lanes; only with pauses.
struct Filling {
  std::int32_t words[kMostLanes] = {};
  std::int32_t most = 0;
};

struct Node {
  std::uint32_t first_port = 0, ports = 0, first_queue = 0;
  Time wake_at = kNever, ran = kNever;
  std::uint32_t grants = 0;
  Slots asked;  // outputs, not slots, that somebody waits for
};

// The front of a queue that has been refused, where it may be rerouted. It chooses again only when what its last choice
// saw may have changed: see blocked_fronts.cpp.
struct Blocked {
  Time chosen;  // when it was refused first, or chose last
  Time next = kNever;  // an event is to choose again
  Seen seen;  // by its last choice
  std::uint32_t port = kNone, before = kNone, after = kNone;  // its input; the list of its node
};

struct Choice {
  std::uint32_t slot = kNone;
  std::uint8_t priority_class = 0;
};

struct Arrival {
  std::uint32_t port;
  Entry entry;
  PacketInFlight packet;
};

struct Credit {
  Time time;
  std::uint32_t port;  // the sender's
  std::uint16_t words;
  std::uint8_t lane;
};

// Mail of one partition to another in a window.
struct Mail {
  std::vector<Arrival> arrivals;
  std::vector<Credit> credits;

  void clear() {
    arrivals.clear();
    credits.clear();
  }
};

struct Part;

struct State : SwitchNetwork<Node, Port, SwitchTiming> {
  State(const std::vector<Partition>& parts, const Topology& topology, const NetworkConfig& config,
        const std::vector<std::uint8_t>& part_of);

  void build_pools(const RouterConfig& router);
  Time least_delay(std::uint32_t port) const;

  std::uint32_t& queued_for(NodeId node, const Entry& entry) {
    return queued_words_[(nodes_[node].first_port + entry.output) * channels_ + entry.vc];
  }

  std::vector<Time> pause_delay_;  // a pause; by link class
  std::uint8_t slot_port_[kMostSlots], slot_channel_[kMostSlots];  // within a switch; a division each otherwise
  std::uint8_t lane_class_[kMostLanes], lane_channel_[kMostLanes];
  std::int32_t most_words_ = 0, lane_words_ = 0;
  std::uint32_t output_fifo_words_ = 0;
  bool pauses_, may_reroute_;
  bool discards_;  // the queue action may

  std::vector<CreditPool> pools_;  // by port: of the input beyond its link; an intra-tile port's: of its own input
  std::vector<Slots> waiting_;  // (port, class): who asks for this output
  std::vector<std::uint32_t>
      queued_words_;  // (port, virtual channel): payload of packets in this switch that ask for this output
  std::vector<Filling> fillings_;  // by port
  std::vector<std::uint32_t> blocked_lists_;  // by node: the first of its entries that are blocked
  std::vector<std::uint64_t> discarded_;  // packets that an action dropped, by node
  std::vector<std::unique_ptr<Part>> parts_;
};

struct Part {
  Part(State& net, const Partition& part, std::uint8_t number, std::size_t parts);
  void register_events();

  // cut_through_network.cpp
  bool inject(const Packet& packet);
  void arrive(NodeId node, std::uint32_t port, std::uint32_t entry);
  void enqueue(NodeId node, std::uint32_t port, std::uint32_t entry);
  [[gnu::cold, gnu::noinline]] bool join(NodeId node, std::uint32_t port, std::uint32_t entry);
  void grant(Time now, NodeId node, std::uint32_t output, const Choice& choice);
  void cross_link(Time now, std::uint32_t output, std::uint8_t priority_class, const Entry& entry, Time left);
  void return_credits(std::uint32_t port, std::uint32_t entry, Time left);
  void take_credits(std::uint32_t sender, std::uint32_t entry);
  void collect();
  void reclaim(CreditPool& pool, Time now);
  void offer_credits(Time now, std::uint32_t port);
  void deliver(Time now, std::uint32_t packet);
  [[gnu::cold, gnu::noinline]] void lose(std::uint32_t packet, Status why);
  void set_output(Time now, std::uint32_t port, bool up);
  void mark_on_line(Time now, std::uint32_t port);
  Queue& queue_of(NodeId node, std::uint32_t port, std::uint8_t lane, std::uint32_t output);
  void ask(NodeId node, std::uint32_t port, const Entry& front);
  void unask(NodeId node, std::uint32_t port, const Entry& front);

  // steering.cpp
  class View;
  Seen choose_route(Time now, NodeId node, Entry& entry);
  void reroute(Time now, std::uint32_t port, std::uint32_t entry);

  // blocked_fronts.cpp
  void block(Time now, std::uint32_t port, std::uint32_t front);
  void unblock(NodeId node, std::uint32_t front);
  void reconsider(std::uint32_t front, Time from);
  template <typename Saw>
  void reconsider_all(NodeId node, Time from, Saw saw);
  void queue_changes(NodeId node, Time now, std::uint64_t ports, std::uint32_t by);
  void port_granted(NodeId node, Time now, std::uint32_t port);
  void credit_comes(std::uint32_t sender, Time at);
  [[gnu::cold, gnu::noinline]] void link_changes(std::uint32_t sender, Time now);

  // allocate.cpp
  void wake(NodeId node, Time at);
  void allocate(Time now, NodeId node);
  void match_in_turn(Time now, NodeId node, Slots free);
  void match_by_islip(Time now, NodeId node, Slots free);
  Choice choose(Time now, NodeId node, std::uint32_t output, const Slots& free);
  std::uint32_t first_ready(Time now, NodeId node, std::uint32_t output, std::uint8_t priority_class,
                            const Slots& free);
  bool passes(Time now, std::uint32_t output, std::uint8_t priority_class, std::uint32_t port, std::uint32_t front);
  bool has_credit(Time now, std::uint32_t output, std::uint8_t lane);
  std::uint8_t emptiest_channel(std::uint32_t output, std::uint8_t priority_class, std::uint8_t vc) const;
  void charge(std::uint32_t output, std::uint8_t priority_class, std::uint32_t words);

  // pause.cpp
  void fill(Time now, std::uint32_t port, std::uint8_t lane, std::int32_t words);
  void drain(Time now, std::uint32_t port, std::uint8_t lane, std::int32_t words);
  void send_pause(Time now, std::uint32_t port, std::uint8_t lane, bool pause);
  void receive_pause(Time now, std::uint32_t port, std::uint8_t lane, bool pause);

  State& net_;
  EventQueue& events_;
  PacketSink sink_;
  std::uint8_t number_;
  Pool<Entry, &Entry::next> entries_;
  std::vector<Blocked> blocked_;  // by entry; as far as one of them has been blocked
  Pool<PacketInFlight, &PacketInFlight::next_free> packets_;
  std::unique_ptr<QueueAction> action_;  // null: nothing is done to packets
  std::uint64_t hops_ = 0, pauses_sent_ = 0, lost_ = 0;
  std::uint64_t in_flight_ =
      0;  // those injected here less those delivered here; only the sum over all parts means something
  std::uint32_t allocate_event_ = 0, deliver_event_ = 0, offer_event_ = 0, arrive_event_ = 0, drain_event_ = 0,
                pause_event_ = 0, reroute_event_ = 0;
  Mailboxes<Mail> mail_;
};

}  // namespace cut_through_state

}  // namespace exanet
