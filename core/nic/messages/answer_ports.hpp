// SPDX-License-Identifier: Apache-2.0
// The intra-tile port of answers, which messages and transfers share, as gateware/ni/rtl/exanet_ni.sv joins them, to
// the cycle: answers of both go in by turns where both wait, and what comes is taken in order, each by the one that it
// is for.
//
// Contract: an answer is offered, and one that came is taken, in no later event than that of its cycle. Where one alone
// uses the port, what becomes of an answer is known as early as may be; with both, in the cycle in which it is chosen.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "core/nic/messages/config.hpp"
#include "core/nic/messages/eject_port.hpp"
#include "core/nic/messages/inject_port.hpp"

namespace exanet {

class AnswerPorts {
 public:
  enum Kind : std::uint8_t { kOfMessages, kOfBlocks };
  // Set in the words of answers to blocks (Packet::user).
  static constexpr std::uint64_t kToBlock = std::uint64_t{1} << 60;

  struct User {
    void* self = nullptr;
    void (*call)(void* self, NodeId node) = nullptr;
  };

  AnswerPorts(EventQueue& events, Time period, std::size_t nodes);

  // Who is notified that its answer is taken (taken()), and that the first answer that came is for it. Before the first
  // answer.
  void join_answering(Kind kind, User user) { answering_[kind] = user; }
  void join_asking(Kind kind, User user) { asking_[kind] = user; }
  void attach(Network& network) { network_ = inject_.network = &network; }
  bool both() const { return asking_[kOfMessages].call != nullptr && asking_[kOfBlocks].call != nullptr; }

  // --- Answers that go. One of a kind at a time, offered in `from`; returns when the port takes it, or kUnknown: then
  // the user is called when it is known.
  Cycle offer(NodeId node, Kind kind, const Packet& packet, Cycle from);
  Cycle taken(NodeId node, Kind kind) const { return nodes_[node].offers[kind].taken; }
  void ready(NodeId node) { inject_.ready(node); }

  // --- Answers that have come: the last word has been on the wire in `footer`, the cycle before the present one.
  void arrived(const Packet& packet, Cycle footer);
  // The first one, if it is of this kind; null otherwise. It is at the port's register from the cycle behind load() on.
  const Packet* front(NodeId node, Kind kind) const;
  Cycle load(NodeId node) const { return nodes_[node].load; }
  void take(NodeId node, Cycle cycle);

 private:
  struct Offer {
    Packet packet{};
    Cycle from = kUnknown, taken = kUnknown;
  };
  struct Arrival {
    Packet packet;
    Cycle footer;
  };
  struct Node {
    std::array<Offer, 2> offers;
    int chosen = -1;
    Cycle chosen_from = kLongAgo, free = kLongAgo, event = kUnknown;
    bool blocks_turn = false;
    std::deque<Arrival> arrivals;
    EjectPort eject;
    Cycle load = kUnknown;
  };

  static Kind kind_of(const Packet& packet) { return (packet.user & kToBlock) != 0 ? kOfBlocks : kOfMessages; }
  bool choose(NodeId node, Node& n);
  bool settle(NodeId node, Node& n, Kind& kind);
  void advance(NodeId node);
  void load_first(NodeId node, Node& n);

  EventQueue& events_;
  Time period_;
  Network* network_ = nullptr;
  InjectPorts inject_;
  std::array<User, 2> answering_, asking_;
  std::vector<Node> nodes_;
  std::uint32_t on_choose_;
};

}  // namespace exanet
