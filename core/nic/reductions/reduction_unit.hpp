// SPDX-License-Identifier: Apache-2.0
// Models gateware/ni/rtl/ni_reduce.sv with its receiver and its engine, to the cycle: reductions along trees of nodes.
//
// Problem: the same cycles as the gateware's, where what asks for a step (a packet, the engine, a store) takes turns
// with the others and with retransmission scans, in which timeouts are counted. Model: an event is a step, chosen in
// its own cycle by the gateware's rules. A scan that finds nothing due costs no event: it has a cycle of its own, which
// no other step may take. When a packet begins is an event too, as it depends on its tree then; its words, and those of
// the engine, are worked out at once.
// Limits: vectors are lengths alone; trees are opened before there is traffic, with the same domain everywhere; memory
// rejects nothing.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/nic/messages/eject_port.hpp"
#include "core/nic/reductions/reduction_sender.hpp"

namespace exanet {

class ReductionUnits {
 public:
  ReductionUnits(EventQueue& events, const ReductionsConfig& config, std::size_t nodes, void* self,
                 ReductionSender::Ended ended);

  void attach(Network& network);
  void open(NodeId node, std::uint8_t tree, const ReductionPlace& place);

  // A store is at the unit in this cycle: 16 bytes of a vector, or the call that hands it over.
  void store(NodeId node);
  void call(NodeId node, std::uint8_t tree, std::uint8_t branch, const ReductionShape& shape);

  // The last word of a packet at the unit's port has been on the wire in `footer`, the cycle before the present one.
  void arrived(const Packet& packet, Cycle footer);
  void ready(NodeId node) { sender_.ready(node); }

  std::uint64_t ended() const { return ended_; }
  std::uint64_t failed() const { return failed_; }
  std::uint64_t repeated() const { return repeated_; }  // packets that were sent again
  std::uint64_t dropped() const { return dropped_; }  // that nobody waited for

 private:
  enum class Phase : std::uint8_t { kGather, kCombine, kAwait, kBroken };
  struct State {
    Phase phase = Phase::kGather;
    std::uint8_t come = 0;
    bool begun = false;
    std::uint16_t round = 0;
  };
  struct Tree {
    ReductionPlace place;
    bool enabled = false;
    State state, before;
    Cycle changed = kLongAgo;  // from this cycle on it is not what it was before
    ReductionShape shape{};
    Cycle first = 0,
          since =
              0;  // scans, counted from the start, that are the first ones behind the first part, and behind the sum
    std::uint8_t backoff_exponent = 0;

    const State& seen(Cycle cycle) const { return cycle >= changed ? state : before; }
    std::uint32_t number() const { return std::uint32_t{place.epoch} << 16 | state.round; }
  };
  struct Order {
    Cycle stored;
    bool call;
    std::uint8_t tree, branch;
    ReductionShape shape;
  };
  struct Arrival {
    ReductionWord word;
    std::uint16_t bytes;
    Cycle footer;
    Cycle load = kUnknown;  // its first beat is on its way to the port's register
    bool taken = false, kept = false;
    Cycle whole = kUnknown;  // it waits for its step from this cycle on
  };
  struct Job {
    std::uint8_t tree;
    std::uint32_t branches, words;
    Cycle pushed;
  };
  struct Span {
    Cycle first, last;
  };
  struct Node {
    std::array<Tree, kReductionTrees> trees;
    std::deque<Order> orders;
    Cycle order_done = kLongAgo;  // the last one
    std::deque<Span> writes;  // cycles in which words of parts come out of packets
    std::deque<Arrival> arrivals;
    EjectPort eject;
    Cycle receiver_free = kLongAgo;
    std::deque<Job> jobs;
    Cycle combined = kUnknown;  // the first one waits for its step from this cycle on
    Cycle last_step = kLongAgo, event = kUnknown;
  };

  Cycle now() const { return cycle_of(events_.now(), config_.cycle); }
  void at(Cycle cycle, std::uint32_t handler, NodeId node, std::uint64_t b = 0) {
    events_.schedule(time_of(cycle, config_.cycle), handler, node, b);
  }
  static Cycle scans_before(std::uint8_t tree, Cycle cycle);
  Cycle scan_cycle(std::uint8_t tree, Cycle scan) const { return 256 * scan + 16 * tree; }

  void wake(NodeId node, Node& n);
  void step(NodeId node);
  Cycle front_order(Node& n);
  void scan(NodeId node, std::uint8_t t);
  void await_scan(NodeId node, std::uint8_t t);
  void load(NodeId node, Node& n, Arrival& arrival);
  void begin(NodeId node, Node& n);
  void receive(NodeId node);
  void start_engine(Node& n, Cycle cycle);

  void take_arrival(NodeId node, Node& n, const Arrival& arrival, Cycle cycle);
  void take_call(NodeId node, Node& n, const Order& order, Cycle cycle);
  void take_combined(NodeId node, Node& n, std::uint8_t t, Cycle cycle);
  void take_part(NodeId node, Node& n, std::uint8_t t, std::uint8_t branch, const ReductionShape& shape, Cycle cycle);
  static bool agrees(const Tree& tree, const ReductionShape& shape);
  void change(Tree& tree, const State& state, Cycle cycle);
  void end(NodeId node, Tree& tree, std::uint8_t t, Cycle cycle);
  void fail(NodeId node, Tree& tree, std::uint8_t t, ReductionEnding ending, Cycle cycle);
  void send_to(NodeId node, std::uint8_t t, const ReductionSender::Targets& targets, Cycle cycle);

  EventQueue& events_;
  ReductionsConfig config_;
  Network* network_ = nullptr;
  ReductionSender sender_;
  std::vector<Node> nodes_;
  std::uint32_t on_step_, on_scan_, on_receive_;
  std::uint64_t ended_ = 0, failed_ = 0, repeated_ = 0, dropped_ = 0;
};

}  // namespace exanet
