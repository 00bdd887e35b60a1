// SPDX-License-Identifier: Apache-2.0
// Models gateware/ni/rtl/ni_mailbox.sv, to the cycle: messages out of the network into mailboxes, rings of entries in
// memory, each answered when memory has it, or with why it is NACKed.
//
// What happens to a message is settled when its packet arrives, unless it has to wait for what is not known yet: for
// answers before it to leave, or, when its mailbox is full, for what its reader may say until then. Limits: memory
// takes a beat a cycle and answers after a fixed time; mailboxes are opened before there is traffic.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "core/nic/messages/answer_ports.hpp"
#include "core/nic/messages/config.hpp"
#include "core/nic/messages/eject_port.hpp"
#include "core/nic/reliability/window.hpp"

namespace exanet {

struct StoredMessage {
  NodeId node, src;
  MessageWord word;
  std::uint32_t place;  // of the entry, counted from the mailbox's opening
  Cycle at;  // memory has taken its last beat
};

class MessageReceiver {
 public:
  // Called when it is known, before `at`.
  using Stored = void (*)(void* self, const StoredMessage& stored);

  MessageReceiver(EventQueue& events, const MessagesConfig& config, std::size_t nodes, void* self, Stored stored);

  void attach(Network& network, AnswerPorts& answers);

  // A ring of so many entries, a power of two.
  void open(NodeId node, std::uint32_t mailbox, std::uint32_t pdid, std::uint32_t entries);
  // The store by which a process says how far it has read is at the interface in this cycle.
  void release(NodeId node, std::uint32_t mailbox, std::uint32_t place);

  // The last word of a packet at the port of messages has been on the wire in `footer`, the cycle before the present
  // one.
  void arrived(const Packet& packet, Cycle footer);

  std::uint64_t stored() const { return stored_count_; }
  std::uint64_t nacked() const { return nacked_; }
  std::uint64_t repeated() const { return repeated_; }  // that had come before
  std::uint64_t dropped() const { return dropped_; }  // with a number that is none of its sender's last

 private:
  struct Release {
    Cycle at;
    std::uint32_t place;
  };
  struct Mailbox {
    std::uint32_t entries = 0, pdid = 0;  // closed without entries
    std::uint32_t written = 0, read = 0;
    std::deque<Release> releases;  // that are on their way to the table
  };
  struct Past {
    ReceiveWindow window;
    std::uint32_t come = 0;  // the highest number and those before it, bit 0 the highest
    std::array<bool, kWindow> stored{};  // by number modulo the window
  };
  struct Arrival {
    NodeId src;
    std::uint16_t bytes;
    MessageWord word;
    Cycle footer;
    Cycle load = kUnknown, taken = kUnknown;  // its first beat is on its way to the port's register, and taken
    bool gave_back = false;  // its slot
  };
  struct Answer {
    NodeId to;
    MessageWord word;
    Cycle ready;  // it can go, but for memory
    Cycle memory;  // answers in this cycle; kLongAgo where it is not asked
  };
  struct Node {
    std::deque<Arrival> arrivals;  // that are not decided on
    EjectPort eject;
    Cycle idle_from = kLongAgo;  // the next message's first beat is taken
    std::array<Cycle, 2> jobs = {kLongAgo, kLongAgo};  // the last two, the last one first, are out
    std::deque<Answer> answers;
    bool offers = false;  // the first of them
    std::uint64_t answers_made = 0, answers_gone = 0;
    std::array<Cycle, 8> gone{};  // by number of the answer
    Cycle released = kLongAgo;  // the last release was in its table
    Cycle memory_free = kLongAgo;  // the last answer that waited for memory has gone
    std::unordered_map<std::uint32_t, Mailbox> mailboxes;
    std::unordered_map<NodeId, Past> pasts;
  };

  Cycle now() const { return cycle_of(events_.now(), config_.cycle); }
  void pump(NodeId node);
  bool settle(NodeId node, Node& n);
  void load(NodeId node, Node& n, Arrival& arrival);
  void decide(NodeId node, Node& n, const Arrival& arrival, Cycle cycle);
  bool send_answers(NodeId node, Node& n);
  static void gone(Node& n, Cycle cycle);
  static Mailbox* find(Node& n, std::uint32_t mailbox);
  static bool is_full(const Mailbox& box);

  EventQueue& events_;
  MessagesConfig config_;
  void* self_;
  Stored on_stored_;
  Network* network_ = nullptr;
  AnswerPorts* answers_ = nullptr;
  std::vector<Node> nodes_;
  std::uint32_t on_look_;
  std::uint64_t stored_count_ = 0, nacked_ = 0, repeated_ = 0, dropped_ = 0;
};

}  // namespace exanet
