// SPDX-License-Identifier: Apache-2.0
// Models gateware/ni/rtl/ni_reduce_send.sv, to the cycle: whom a tree has yet to send to is a bit for each; one packet
// or one write of memory goes after the other, trees by turns.
//
// What goes next is chosen in an event of its own cycle, as a step of the unit may still change it; its words are
// worked out at once.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "core/nic/messages/inject_port.hpp"
#include "core/nic/reductions/config.hpp"

namespace exanet {

struct ReductionEnd {
  NodeId node;
  std::uint8_t tree, branch;
  std::uint32_t number;
  ReductionEnding ending;
  std::uint16_t bytes;
  Cycle at;  // memory has taken its last beat
};

class ReductionSender {
 public:
  // Called when it is known, before `at`.
  using Ended = void (*)(void* self, const ReductionEnd& end);

  struct Targets {
    bool up = false;
    std::uint8_t down = 0, locals = 0;
    bool packets() const { return up || down != 0; }
  };
  struct Letter {
    std::uint32_t number = 0;
    ReductionShape shape{};
    ReductionEnding ending = ReductionEnding::kWhole;
  };
  struct Request {
    Cycle at;
    std::uint8_t tree;
    bool instead;  // with this letter; or these too, with the one before
    Targets targets;
    Letter letter;
  };

  ReductionSender(EventQueue& events, const ReductionsConfig& config, std::size_t nodes, void* self, Ended ended);

  void attach(Network& network) { inject_.network = &network; }
  void ready(NodeId node) { inject_.ready(node); }
  void open(NodeId node, std::uint8_t tree, const ReductionPlace& place) { nodes_[node].trees[tree].place = place; }

  // In no later event than two cycles before `at`; in order.
  void request(NodeId node, const Request& request);

 private:
  enum class State : std::uint8_t { kIdle, kRead, kFrame };
  struct Tree {
    ReductionPlace place;
    Targets pending;
    Letter letter;
  };
  struct Node {
    std::array<Tree, kReductionTrees> trees;
    std::deque<Request> requests;  // that have not been taken in
    State state = State::kIdle;
    std::uint8_t tree = 0;  // the last one
    Cycle idle_from = kLongAgo;
    Cycle memory_free = kLongAgo;
    Cycle event = kUnknown;
    // a packet
    Packet packet{};
    std::uint32_t beat = 0;
    Cycle offered = kUnknown, last = kLongAgo;
  };

  void wake(NodeId node, Node& n, Cycle cycle);
  static void take_in(Node& n, Cycle until);
  static bool requested_in(const Node& n, Cycle cycle);
  void step(NodeId node);
  bool choose(NodeId node, Node& n, Cycle idle);
  void pick(NodeId node, Node& n, Cycle pick);
  void frame(NodeId node, Node& n);
  void idle(NodeId node, Node& n, Cycle from);

  EventQueue& events_;
  ReductionsConfig config_;
  void* self_;
  Ended on_ended_;
  InjectPorts inject_;
  std::vector<Node> nodes_;
  std::uint32_t on_step_;
};

}  // namespace exanet
