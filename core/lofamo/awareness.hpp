// SPDX-License-Identifier: Apache-2.0
// LO|FA|MO over a network of any size: who learns of a fault, and when, in cycles of the gateware.
//
// Problem: the time from a fault until every node knows of it depends on the phases of watchdogs, host daemons and
// control words.
//
// Model: faults, watchdogs, control words and diagnostic packets are events of an EventQueue, at the cycles at which
// gateware/node has them. The network is otherwise idle. The daemon of each host writes its watchdog and reads its
// node's registers once per period. What it finds of a neighbour or a link is a fact: reporter, port, sequence number
// and state. It sends the fact to the neighbours that it believes alive. A host that receives a fact newer than what it
// knows forwards it likewise. So every live node that a chain of live neighbours connects to a witness of the fault
// learns of it, and no routes are needed. A link or an interface that works again shows it by its next sign of life,
// and that is a new fact. A reading that finds nothing new is no event.
//
// Time: cycle c begins at c * kCycle of the queue. The registers that a daemon reads change at the beginning of a cycle
// and are read in the middle of it, behind all that happens in that cycle. Events of the same time run in the order in
// which they were scheduled.
//
// Limits: hosts and nodes that fail stay so. A cut line loses the packet in flight on it, which the gateware completes;
// packets_cut() counts those. A link that works again repeats its control words in turn, and brings its neighbour's
// health with the first one. What was spread while a node was cut off is not repeated for it.
//
// Source: the LO|FA|MO part of APEnet+ (2013): mutual watchdog, diagnosis in words of links, hosts that inform others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/engine/pool.hpp"
#include "core/lofamo/control_words.hpp"
#include "core/topology/topology.hpp"

namespace exanet::lofamo {

inline constexpr Time kCycle = Time::ps(6400);  // the gateware's core clock, 156.25 MHz

constexpr Time start_of(Cycle cycle) { return kCycle * cycle; }

enum class FaultKind {
  kHost,
  kNi,
  kNode,
  kLink
};  // a node's fault stops its host, interface and links; a link's stops both directions

struct Fault {
  FaultKind kind = FaultKind::kHost;
  NodeId node = 0;
  std::uint16_t port = 0;  // of a link
  Cycle at = 0;
  Cycle until = kNever;  // of a link or an interface: from when on it works again
};

// Where a node is in its periods when the run begins.
struct Phase {
  Cycle daemon = 0;  // first reading
  Cycle ni = 0;  // first sign of life of the network interface
  struct Link {
    Cycle sent = 0;  // last control word, at cycle 0 or before
    unsigned report = 0;
  };
  std::vector<Link> links;  // by port
};

struct AwarenessConfig {
  Cycle watchdog = 0;  // period of both watchdogs
  Cycle beat = 0;  // period in which host and network interface give a sign of life, not more than the watchdog's
  Cycle silence = 1024;  // of links, more than the period of control words, or a live link is called silent
  Cycle interval = 256;  // of links' control words
  Cycle line = 0;  // latency of transceiver and line
  Cycle response = 1;  // of the host, from reading or arrival to the first word of what it sends for it; 1 or more
};

// What a daemon came to know, by reading (reporter == node) or by a packet.
struct Fact {
  Cycle at;
  NodeId node, reporter;
  std::uint16_t port;  // kOwn: the reporter's own network interface
  std::uint8_t state;
  static constexpr std::uint16_t kOwn = 0xffff;
  static constexpr std::uint8_t kHostFault = 1, kNiFault = 2, kSilent = 4;
  bool operator==(const Fact&) const = default;
};

class Awareness {
 public:
  // Schedules the faults and each daemon's first reading. Contract: the queue has passed none of them and runs no event
  // once this is gone; `phases` has one of each node.
  Awareness(EventQueue& events, const Topology& topology, const AwarenessConfig& config, std::vector<Phase> phases,
            std::vector<Fault> faults);
  Awareness(const Awareness&) = delete;  // the queue refers to it
  Awareness& operator=(const Awareness&) = delete;

  // Handles all events before cycle `until`, those of whatever else shares the queue included.
  void run(Cycle until) { events_.run_until(start_of(until) - Time::ps(1)); }

  const std::vector<Fact>& facts() const { return facts_; }  // in the order of time, since they were taken last
  std::vector<Fact> take_facts() { return std::exchange(facts_, {}); }
  // By fault: when hardware first detected it, by the watchdog of a host or interface or the silence of a link.
  // kNever: not detected.
  const std::vector<Cycle>& detected() const { return detected_; }
  std::uint64_t packets() const { return packets_; }
  std::uint64_t packets_cut() const { return packets_cut_; }

 private:
  static constexpr std::uint32_t kNoPort = ~0u;

  struct Entry {  // of a table: what is known of a reporter's port
    std::uint16_t sequence = 0;
    std::uint8_t state = 0;
  };
  struct Packet {
    Cycle request = 0, tail = 0;  // when it can be granted, and its last word read, at the node that it comes to
    NodeId node = 0;  // where it is
    NodeId reporter = 0;
    std::uint16_t port = 0, from = Fact::kOwn;  // the reporter's; by which it came
    Entry entry;
    std::uint64_t targets = 0;  // ports by which it is to be sent
    std::uint32_t unused = 0;  // of the pool
  };
  struct Port {
    Port(PortRef to, ControlWords control) : far(to), words(std::move(control)), alive(to.node != kNoNode) {}

    PortRef far;
    ControlWords words;
    Cycle cut = kNever;  // what leaves is lost from then on
    std::vector<std::pair<Cycle, Cycle>> cuts;  // from when until when, those to come included
    std::uint32_t heard = 0;  // how often it has come back
    Cycle output_free = 0;
    unsigned far_health = 0, read_health = 0;  // the neighbour's, and what the daemon has read of it
    bool silent = false, read_silent = false;
    bool health_pending = false;  // changed health is not sent yet
    bool alive;  // the neighbour, by what the daemon has read last
    std::deque<Packet> queue;  // what has come, for the network interface
    Cycle idle_at = 0;
    bool due = false;
  };
  struct Node {
    Cycle host_dead = kNever, ni_dead = kNever;
    std::uint32_t ni_again = 0;  // how often the interface has come back
    Cycle reading = -1;  // begins then: the last one that is scheduled
    unsigned health = 0;
    bool ni_fault = false, read_ni_fault = false, own_reported = false;
    std::vector<Port> ports;
    std::vector<Entry> table;  // of all nodes' ports
    Cycle input_free = 0, idle_at = 0;  // of the network interface's port into the router: its words, its queue
    Cycle output_free = 0, arbitrate_at = kNever;  // of the port out of it
    std::uint32_t granted = kNoPort;
  };
  struct Handlers {  // of the queue
    std::uint32_t fault, repair, read, sample_faults, sample_neighbours, end_reading;
    std::uint32_t forward, host_fault, ni_fault, ni_works, send_health, far_health, silent, heard, arbitrate, arrive;
  };

  template <typename Step>
  std::uint32_t add_handler(Step step);
  void register_events();
  void schedule(Cycle cycle, std::uint32_t handler, std::uint32_t a, std::uint32_t b = 0);
  void schedule_behind(Cycle cycle, std::uint32_t handler, NodeId n);
  void strike(Cycle now, std::uint32_t index);
  void repair(Cycle now, std::uint32_t index);
  void cut(Cycle now, NodeId n, std::uint32_t port, std::uint32_t index);
  void reconnect(Cycle now, NodeId n, std::uint32_t port);
  void note_cuts();
  void wake(Cycle now, NodeId n);
  void read(Cycle now, NodeId n);
  void sample_faults(NodeId n);
  void sample_neighbours(NodeId n);
  void end_reading(Cycle now, NodeId n);
  void learn(Cycle now, NodeId n, const Packet& fact);
  void forward(Cycle now, const Packet& fact);
  void set_health(Cycle from, NodeId n, unsigned health);
  void send_health(Cycle now, NodeId n, std::uint32_t port);
  void send(NodeId n, std::uint32_t port, Cycle header, const Packet& fact);
  void arbitrate(Cycle now, NodeId n);
  static Cycle requests_at(const Port& port) { return std::max(port.queue.front().request, port.idle_at); }
  std::uint32_t choose(Cycle now, NodeId n);
  void request_arbitration(Cycle at, NodeId n);
  void advance(NodeId n, std::uint32_t port, Cycle until);
  Packet take(std::uint32_t index);
  Entry& entry(Node& node, NodeId reporter, std::uint16_t port) const {
    return node.table[first_entry_[reporter] + port];
  }

  EventQueue& events_;
  Handlers handlers_;
  AwarenessConfig config_;
  std::vector<Phase> phases_;
  std::vector<Fault> faults_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> first_entry_;
  std::uint64_t packets_ = 0, packets_cut_ = 0;
  std::vector<Fact> facts_;
  std::vector<Cycle> detected_;
  Pool<Packet, &Packet::unused> pending_;  // packets that events name
};

}  // namespace exanet::lofamo
