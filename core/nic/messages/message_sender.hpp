// SPDX-License-Identifier: Apache-2.0
// Models gateware/ni/rtl/ni_packetizer.sv, to the cycle: slots of messages, sent in order, kept until they are
// answered, and sent again.
//
// Problem: the same cycles as the gateware's at the cost of a few events a message. Model: what a message does is
// settled as soon as nothing that is yet to come can change it, most often with its store; state that changes says in
// which cycle it did, so that who looks at a cycle sees it as it was in that one. What depends on answers (a window
// that is full, a repetition) is decided by an event in its own cycle. A slot that is looked at in turn costs nothing
// until it is due: its cycle is known from its place and the number of rounds.
// Limits: a peer's numbers are not changed under traffic, and no context is disabled; stores come one a cycle, as the
// bus brings them. Who calls store() keeps the cycles in which the gateware takes none because stores that send have
// passed others seven times in a row: where each of them has payload before it, and nothing is launched, there are
// none.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "core/nic/messages/answer_ports.hpp"
#include "core/nic/messages/config.hpp"
#include "core/nic/messages/inject_port.hpp"
#include "core/nic/reliability/backoff.hpp"
#include "core/nic/reliability/retransmit.hpp"
#include "core/nic/reliability/window.hpp"

namespace exanet {

struct MessageStore {
  static constexpr std::uint8_t kMost = 64;
  NodeId dst;
  std::uint8_t bytes;  // more than kMost are rejected
  std::uint16_t mailbox;
  std::uint16_t pdid;  // of the context
  std::uint64_t user;
  bool behind = false;  // it stays in its slot until it is launched
};

class MessageSender {
 public:
  // The message of a slot has been answered, or is given up. In the cycle behind `at` its slot is free or, where its
  // mailbox is full, it is to be sent again. Called when that is known.
  using Answered = void (*)(void* self, NodeId node, std::uint32_t slot, std::uint64_t user, MessageAnswer answer,
                            Cycle at);
  // A slot whose message was answered before is free behind `at`: it was in the queue, or a frame of it waited for its
  // port.
  using Freed = void (*)(void* self, NodeId node, Cycle at);
  // A claim was taken in this cycle, the one before the present, and has found a message; a launch was.
  using Claimed = void (*)(void* self, NodeId node, bool found, Cycle at);
  using Launched = void (*)(void* self, NodeId node, Cycle at);

  MessageSender(EventQueue& events, const MessagesConfig& config, std::size_t nodes, void* self, Answered answered);

  void attach(Network& network, AnswerPorts& answers);

  // The store that sends a message is at the packetizer in this cycle. False when no slot of the context is free: it is
  // rejected as busy.
  bool store(NodeId node, std::uint32_t context, const MessageStore& message);
  // A transfer of this domain ends that names the slot: it claims the message that stays there, if one does, which is
  // looked for from this cycle on. `failure` says why that is to fail. One at a time.
  void claim(NodeId node, std::uint32_t slot, std::uint16_t pdid, MessageAnswer failure, Cycle from);
  // What has been claimed is to be sent from this cycle on, or to fail. One at a time.
  void launch(NodeId node, std::uint32_t slot, Cycle from);
  void on_freed(Freed freed) { on_freed_ = freed; }
  void attach(void* self, Claimed claimed, Launched launched) {
    transfers_ = self, on_claimed_ = claimed, on_launched_ = launched;
  }
  // Whether the next slot of the context is free.
  bool is_free(NodeId node, std::uint32_t context) const;
  void ready(NodeId node) { inject_.ready(node); }

  // The message that a slot holds under this number; null when it is another one's.
  const MessageStore* find(NodeId node, std::uint32_t slot, std::uint32_t number) const;

  std::uint64_t sent() const { return sent_; }  // each repetition counts
  std::uint64_t repeated() const { return repeated_; }
  std::uint64_t unexpected_acks() const { return unexpected_acks_; }
  std::uint64_t busy() const { return busy_; }

 private:
  enum class Emitter : std::uint8_t { kPop, kAgain, kGiveUp };
  enum class Reply : std::uint8_t { kIdle, kRead, kCheck, kApply, kGiveUp };

  // Times are those of the cycle in which the gateware changes its flag, which is seen in the next one.
  struct Slot {
    MessageStore message{};
    Cycle filled = kUnknown, freed = kUnknown;
    Cycle first_sent = kUnknown, sent = kUnknown, popped = kLongAgo;
    Cycle nacked = kUnknown, renewed = kUnknown;
    Cycle renumbered = kUnknown;
    std::uint32_t number = 0, number_before = 0;
    Cycle framed = kLongAgo;  // the last beat of its last frame is out of its memory
    std::uint32_t frames = 0;  // of which that is not known yet
    bool in_queue = false;
    bool stays = false;  // behind a transfer, and none has claimed it
    MessageAnswer failure = MessageAnswer::kStored;  // of that transfer
    Tries tries;
    Backoff backoff;

    bool busy(Cycle c) const { return filled < c && freed >= c; }
    bool queued(Cycle c) const { return in_queue || popped >= c; }
    bool in_frames(Cycle c) const { return frames > 0 || framed >= c; }
    bool is_free(Cycle c) const { return !busy(c) && !queued(c) && !in_frames(c); }
    bool fresh(Cycle c) const { return first_sent >= c; }
    bool turned_down(Cycle c) const { return nacked < c && renewed >= c; }
    std::uint32_t number_at(Cycle c) const { return renumbered <= c ? number : number_before; }
  };
  struct Queued {
    std::uint32_t slot;
    Cycle written;
  };
  struct Approved {
    Packet packet;
    Cycle at;
    std::uint32_t slot;
  };
  struct Answer {
    NodeId from;
    std::uint32_t slot, number;
    MessageAnswer answer;
  };
  struct Node {
    std::vector<Slot> slots;
    std::vector<std::uint8_t> fill;  // by context
    std::unordered_map<NodeId, SendWindow> windows;
    std::array<Cycle, 2> fills = {
        kLongAgo,
        kLongAgo};  // the last cycles with a store that sends, busy or not: it goes to the queue before others
    // emitter
    Emitter emitter = Emitter::kPop;
    std::deque<Queued> queue;
    Cycle pop_from = kLongAgo, last_pop = kLongAgo, again = kLongAgo;
    struct Claim {
      std::uint32_t slot = 0;
      std::uint16_t pdid = 0;
      MessageAnswer failure = MessageAnswer::kStored;
    } claim;
    struct Launch {
      std::uint32_t slot = 0;
      Cycle from = kUnknown, taken = kUnknown, tried = kUnknown;
      bool asks(Cycle c) const { return from <= c && c <= taken; }
    };
    std::array<Launch, 2> launches;  // the last first
    std::uint32_t emitted = 0;  // the slot that goes to the end of the queue, or is given up
    std::array<Cycle, 32> pops{};
    std::uint64_t popped = 0;
    // frames
    std::deque<Approved> approved;
    std::array<Cycle, 4> fetched{};  // by number of the message: its last beat is out of its memory
    std::uint64_t sends = 0, fetches = 0;
    std::uint32_t beat = 0;
    Cycle fetch = kUnknown, register_free = kLongAgo;
    // retransmission scan
    RetransmissionScan pending;  // in cycles, without the scan's delays
    std::vector<Cycle> delays;
    Cycle scan_event = kUnknown;
    // answers
    Answer answer{};
    Reply reply = Reply::kIdle;
    Cycle idle_from = kLongAgo, read = kUnknown, event = kUnknown, gives_up_from = kUnknown;
  };

  Cycle now() const { return cycle_of(events_.now(), config_.cycle); }
  void at(Cycle cycle, std::uint32_t handler, NodeId node) {
    events_.schedule(time_of(cycle, config_.cycle), handler, node);
  }
  Slot& slot_of(Node& n, std::uint32_t slot);
  static bool pushed_in(const Node& n, Cycle c) {
    return n.fills[0] == c || n.fills[1] == c || n.again == c || n.launches[0].asks(c) || n.launches[1].asks(c);
  }
  static void enqueue(Node& n, std::uint32_t slot, Cycle written);
  static bool table_free(const Node& n, Cycle c);

  void go_claim(NodeId node);
  void go_launch(NodeId node);
  void advance(NodeId node);
  bool decide(NodeId node, Node& n, Cycle pop);
  void send(NodeId node, Node& n, std::uint32_t index, Cycle cycle);
  void go_again(NodeId node);
  void fetch_frames(NodeId node, Node& n);

  Cycle scan_of(const Node& n, std::uint32_t slot, Cycle sent) const;
  void scan(NodeId node);
  void schedule_scan(NodeId node, Node& n);

  void come(NodeId node);
  void take(NodeId node, Node& n);
  void reply(NodeId node);
  void next_reply(NodeId node, Node& n);
  void apply(NodeId node, Node& n, Cycle cycle);
  void give_up(NodeId node, Node& n);

  EventQueue& events_;
  MessagesConfig config_;
  void* self_;
  Answered on_answered_;
  void* transfers_ = nullptr;
  Claimed on_claimed_ = nullptr;
  Freed on_freed_ = nullptr;
  Launched on_launched_ = nullptr;
  AnswerPorts* answers_ = nullptr;
  InjectPorts inject_;
  std::vector<Node> nodes_;
  std::uint32_t on_claim_, on_launch_, on_decide_, on_again_, on_scan_, on_reply_;
  std::uint64_t sent_ = 0, repeated_ = 0, unexpected_acks_ = 0, busy_ = 0;
};

}  // namespace exanet
