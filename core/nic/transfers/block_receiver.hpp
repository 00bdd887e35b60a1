// SPDX-License-Identifier: Apache-2.0
// Models gateware/ni/rtl/ni_blocks.sv, to the cycle: packets of transfers out of the network into memory, each written
// once, and a block answered when memory has all of it; and the words that say that a transfer has ended, in between. A
// fence waits for what memory says to all before it.
//
// Limits: memory takes a beat a cycle, answers after a fixed time, and rejects nothing.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "core/nic/messages/answer_ports.hpp"
#include "core/nic/reliability/window.hpp"
#include "core/nic/transfers/config.hpp"

namespace exanet {

class TransferSender;

struct WrittenPacket {
  NodeId node, src;
  WriteWord word;
  std::uint32_t bytes;
  Cycle at;  // memory has taken its last beat
  std::uint64_t frame = 0;  // page of memory that it is in, where addresses are translated
};

class BlockReceiver {
 public:
  // Called when it is known, before `at`.
  using Written = void (*)(void* self, const WrittenPacket& written);

  BlockReceiver(EventQueue& events, const TransfersConfig& config, std::size_t nodes, void* self, Written written);

  void attach(Network& network, AnswerPorts& answers, TransferSender& ends);

  // The last word of a packet at the port of transfers has been on the wire in `footer`, the cycle before the present
  // one.
  void arrived(const Packet& packet, Cycle footer);
  // The word that says that a transfer of this node's has ended waits from this cycle on, one at a time; a message that
  // stays behind it is reported when memory has answered.
  void offer_end(NodeId node, Cycle cycle, bool message);
  // From when on memory has answered all ends that were written, as far as that is known.
  Cycle ends_written(NodeId node) const {
    return nodes_[node].ends_unanswered != 0 ? kUnknown : nodes_[node].end_answered_at + 1;
  }

  std::uint64_t written() const { return written_count_; }
  std::uint64_t repeated() const { return repeated_; }  // packets that had come before
  std::uint64_t dropped() const { return dropped_; }  // of blocks that are older than what is known
  std::uint64_t answered() const { return answered_; }

 private:
  static constexpr Cycle kToDecide = 3;  // a cycle to look it up, one to weigh it
  static constexpr std::uint64_t kJobs = 2, kPending = 32, kWords = 128, kBegins = 16;

  struct Block {
    bool begun = false;
    std::uint8_t come = 0;  // packets; those that it does not have, too
    BlockOutcome outcome = BlockOutcome::kGood;
  };
  struct Past {
    ReceiveWindow window;
    std::array<Block, kWindow> blocks;  // by number modulo the window
  };
  struct Arrival {
    NodeId src;
    std::uint16_t bytes;
    WriteWord word;
    Cycle footer;
    Cycle load = kUnknown;  // its first beat is on its way to the port's register
  };
  struct Answer {
    bool acks;
    NodeId to;
    BlockAnswer word;
  };
  struct Job {
    bool writes;
    std::uint32_t words, beats;  // of the packet, and to memory
    Answer answer;
    WrittenPacket written;
    Cycle valid;
  };
  struct Pending {
    bool packet;  // or an end
    bool waits;  // for memory
    bool message;  // waits for the answer to an end
    Answer answer;
    Cycle at;
  };
  struct Node {
    std::deque<Arrival> arrivals;
    EjectPort eject;
    bool deciding = false;  // the first arrival has begun
    Cycle decides = kUnknown;  // at the earliest
    Cycle decide_event = kUnknown;
    bool walks = false;  // its page is not known
    Cycle begin_event = kUnknown;
    Cycle idle_from = kLongAgo;
    std::uint64_t words = 0, begun = 0, decided = 0, done = 0, pended = 0, taken = 0, answered = 0;  // counts
    std::array<Cycle, kBegins> begins{};  // by number; those that follow likewise
    std::array<Cycle, kJobs> done_at{};
    std::array<Cycle, kPending> taken_at{};
    std::unordered_map<NodeId, Past> pasts;
    // memory
    std::deque<Job> jobs;
    WordTimes read;
    Cycle busy_until = kLongAgo, writer_free = kLongAgo;
    Cycle end_from = kUnknown;  // an end waits
    bool end_message = false;  // and a message behind it
    Cycle end_chosen = kUnknown;  // it is what is written next, from this cycle on
    Cycle writer_event = kUnknown;
    // answers
    std::deque<Pending> pending;
    Cycle memory_free = kLongAgo;  // its answer can be taken
    Cycle answered_at = kLongAgo;  // the last packet
    unsigned ends_unanswered = 0;
    Cycle end_answered_at = kLongAgo;
    bool offers = false;  // one of them, to the port
    Cycle port_free = kLongAgo;
    Cycle answer_event = kUnknown;
  };

  Cycle now() const { return cycle_of(events_.now(), config_.cycle); }
  void pump(NodeId node);
  void load(NodeId node, Node& n);
  bool begin(NodeId node, Node& n);
  bool decide(NodeId node, Node& n);
  static bool drops(const Past& past, const WriteWord& word);
  static BlockOutcome spoilt(const Past& past, const WriteWord& word);
  void look(NodeId node, Node& n, Cycle begins);
  Cycle drained(const Node& n) const;
  Cycle pending_space(const Node& n) const;
  void write(NodeId node);
  void start(NodeId node, Node& n, Cycle cycle);
  void write_end(NodeId node, Node& n);
  void schedule_writer(NodeId node, Node& n);
  void pend(Node& n, bool packet, bool waits, const Answer& answer, Cycle cycle);
  void answer(NodeId node, Node& n);

  EventQueue& events_;
  TransfersConfig config_;
  void* self_;
  Written on_written_;
  Network* network_ = nullptr;
  TransferSender* ends_ = nullptr;
  AnswerPorts* answers_ = nullptr;
  std::vector<Node> nodes_;
  std::uint32_t on_write_, on_answer_;
  std::uint64_t written_count_ = 0, repeated_ = 0, dropped_ = 0, answered_ = 0;
};

}  // namespace exanet
