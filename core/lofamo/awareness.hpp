// SPDX-License-Identifier: Apache-2.0
// LO|FA|MO over a network of any size: who learns of a fault, and when, in cycles of the gateware.
//
// Problem: the time from a fault to everybody's knowledge of it hangs on phases of watchdogs, of the hosts' daemons and of links' control words. Model: events
// of watchdogs, control words and diagnostic packets at the cycles at which gateware/node has them; an otherwise idle network. Each host's daemon writes its
// watchdog and reads its node's registers in each of its periods. What it finds of a neighbour or a link is a fact: reporter, port, number and state.
// It sends it to those neighbours that it holds for alive, and who gets one that is newer than what it knows does the same. So every live node that a chain of
// live neighbours joins to one that sees a fault learns of it, and nothing is asked of routes. Limits: faults come and stay; a line that is cut amid
// a packet loses the packet, where the gateware makes it up, which is counted in `amid`.
// Source: the LO|FA|MO part of APEnet+ (2013): mutual watchdog, diagnosis in words of links, hosts that inform others.
#pragma once

#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "core/lofamo/control_words.hpp"
#include "core/topology/topology.hpp"

namespace exanet::lofamo {

enum class FaultKind {
  kHost,
  kNi,
  kNode,
  kLink
};  // of kNode nothing works any more; a link's are both of its directions

struct Fault {
  FaultKind kind = FaultKind::kHost;
  NodeId node = 0;
  std::uint16_t port = 0;  // of a link
  Cycle at = 0;
};

// Where a node is in its periods when the run begins.
struct Phase {
  Cycle daemon = 0;  // first reading
  Cycle ni = 0;  // first sign of life of the network interface
  struct Link {
    Cycle told = 0;  // last control word, at cycle 0 or before
    unsigned report = 0;
  };
  std::vector<Link> links;  // by port
};

struct AwarenessConfig {
  Cycle watchdog = 0;  // period of both watchdogs
  Cycle beat = 0;  // period in which host and network interface give a sign of life, not more than the watchdog's
  Cycle silence = 0;  // of links
  Cycle interval = 256;  // of links' control words
  Cycle line = 0;  // latency of transceiver and line
  Cycle response = 0;  // of the host, from reading or a packet's arrival to the first word of what it sends for it
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
  Awareness(const Topology& topology, const AwarenessConfig& config, std::vector<Phase> phases,
            std::vector<Fault> faults);

  void run(Cycle until);

  const std::vector<Fact>& facts() const { return facts_; }  // in the order of time
  // When some hardware first called it a fault: the watchdog beside a host or network interface, a link's that is silent. kNever: none did.
  const std::vector<Cycle>& found() const { return found_; }
  std::uint64_t packets() const { return packets_; }
  std::uint64_t amid() const { return amid_; }

 private:
  enum class Kind : std::uint8_t {
    kFault,
    kReads,
    kFaultsRead,
    kNeighboursRead,
    kReadingEnds,
    kActs,
    kHealth,
    kPoke,
    kFar,
    kSilent,
    kArbitrate,
    kArrives
  };
  struct Event {
    Cycle half;  // cycles, doubled; odd ones lie behind all that is of the cycle
    std::uint64_t order;
    Kind kind;
    std::uint32_t a, b;
    bool operator<(const Event& other) const { return half != other.half ? half > other.half : order > other.order; }
  };
  struct Row {  // of a table: what is known of a reporter's port
    std::uint16_t number = 0;
    std::uint8_t state = 0;
  };
  struct Packet {
    Cycle request = 0, tail = 0;  // when it can be granted, and its last word read, at the node that it comes to
    NodeId node = 0;  // where it is
    NodeId reporter = 0;
    std::uint16_t port = 0, from = Fact::kOwn;  // the reporter's; by which it came
    Row row;
    std::uint64_t targets = 0;  // ports by which it is to be sent
  };
  struct Port {
    Port(PortRef to, ControlWords control) : far(to), words(std::move(control)), held(to.node != kNoNode) {}

    PortRef far;
    ControlWords words;
    Cycle cut = kNever;  // what leaves is lost from then on
    Cycle output_free = 0;
    unsigned far_health = 0, read_health = 0;  // the neighbour's, and what the daemon has read of it
    bool silent = false, read_silent = false;
    bool poked = false;
    bool held;  // for alive, by what the daemon has read last
    std::deque<Packet> queue;  // what has come, for the network interface
    Cycle idle_at = 0;
    bool due = false;
  };
  struct Node {
    Cycle host_dead = kNever, ni_dead = kNever;
    Cycle host_beat = 0;  // the last one
    unsigned health = 0;
    bool ni_fault = false, read_ni_fault = false, own_told = false;
    std::vector<Port> ports;
    std::vector<Row> table;  // of all nodes' ports
    Cycle input_free = 0, idle_at = 0;  // of the network interface's port into the router: its words, its queue
    Cycle output_free = 0, arbitrate_at = kNever;  // of the port out of it
    unsigned granted = ~0u;
  };

  void schedule(Cycle cycle, bool behind, Kind kind, std::uint32_t a, std::uint32_t b = 0);
  void handle(Cycle now, const Event& event);
  void strike(Cycle now, std::uint32_t index);
  void cut(Cycle now, NodeId n, std::uint32_t port, std::uint32_t index);
  void read(Cycle now, NodeId n);
  void end_reading(Cycle now, NodeId n);
  void learn(Cycle now, NodeId n, const Packet& fact);
  void act(Cycle now, const Packet& fact);
  void add_health(Cycle from, NodeId n, unsigned bits);
  void poke(Cycle now, NodeId n, std::uint32_t port);
  void send(NodeId n, std::uint32_t port, Cycle header, const Packet& fact);
  void arbitrate(Cycle now, NodeId n);
  void wake(Cycle at, NodeId n);
  void advance(NodeId n, std::uint32_t port, Cycle until);
  std::uint32_t keep(const Packet& packet);
  Row& row(Node& node, NodeId reporter, std::uint16_t port) const { return node.table[first_row_[reporter] + port]; }

  AwarenessConfig config_;
  std::vector<Phase> phases_;
  std::vector<Fault> faults_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> first_row_;
  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0, packets_ = 0, amid_ = 0;
  std::vector<Fact> facts_;
  std::vector<Cycle> found_;
  std::vector<Packet> packets_kept_;
  std::vector<std::uint32_t> unused_;
};

}  // namespace exanet::lofamo
