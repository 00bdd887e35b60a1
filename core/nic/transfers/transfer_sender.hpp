// SPDX-License-Identifier: Apache-2.0
// Models gateware/ni/rtl/ni_transfers.sv, to the cycle: transfers out of processes' stores, cut into blocks and
// packets, kept until they are answered and sent again where they were not.
//
// An event is a step of the gateware's, which begins one in three cycles at most; scans that find nothing to do take
// their cycles, but no event. Limits: memory rejects no read, and nodes are those that there are. An end whose page is
// not to be written is reported to on_ended all the same.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/nic/messages/answer_ports.hpp"
#include "core/nic/reliability/backoff.hpp"
#include "core/nic/reliability/retransmit.hpp"
#include "core/nic/reliability/window.hpp"
#include "core/nic/transfers/dma_reader.hpp"
#include "core/nic/transfers/pages.hpp"

namespace exanet {

class BlockReceiver;

struct TransferStore {
  NodeId dst;
  std::uint64_t own, target;  // addresses
  std::uint32_t length;  // bytes
  bool notify;  // its end is written to memory
  std::uint64_t user;
  bool fence = false;  // a word of 8 bytes is written at the target behind all others
  std::uint64_t fence_word = 0;  // its address
  std::uint64_t end_word = 0;  // address of the word that reports the end, which counts where addresses are translated
  std::uint16_t domain = 0;  // of its addresses
  bool message = false;  // one stays behind it in this slot of its node, and is sent when it has ended
  std::uint32_t message_slot = 0;
  bool read = false;  // the other way round, from `target` there to `own` here
};

class TransferSender {
 public:
  // A transfer has ended in `at`, when the word that says so is in memory, or would be; its channel is free in the
  // cycle behind. Called when it is known.
  using Ended = void (*)(void* self, NodeId node, std::uint64_t user, TransferEnding ending, Cycle at);

  // A node's read is served from the present cycle on, for the first time.
  using Served = void (*)(void* self, std::uint64_t user);

  TransferSender(EventQueue& events, const TransfersConfig& config, std::size_t nodes, void* self, Ended ended,
                 Served served = nullptr);

  void attach(Network& network, AnswerPorts& answers, BlockReceiver& ends);

  // The last store of a transfer is at the interface in this cycle. False when it is rejected: as busy, where no
  // channel is free, or as bytes of it would be beyond the 48 bits of an address.
  bool store(NodeId node, const TransferStore& transfer);
  // Whether the bus takes a beat in the present cycle: it does while fewer than four transfers wait for their step. And
  // whether it may not, within a store that begins now, with so many transfers on the bus before it.
  bool takes_stores(NodeId node) const;
  bool may_hold(NodeId node, std::size_t on_bus) const {
    return nodes_[node].submissions.size() + on_bus + 1 >= kSubmissions;
  }
  // The transfer that a slot's channel has; null where it serves another node's read.
  const TransferStore* own(NodeId node, std::uint32_t slot) const {
    const Channel& channel = nodes_[node].channels[slot / 4];
    return channel.serves ? nullptr : &channel.store;
  }
  void ready(NodeId node) { reader_.ready(node); }
  // The end that was offered is in memory in this cycle; known before.
  void end_written(NodeId node, Cycle cycle);
  // Memory's answer to the end of a transfer that has claimed a message is taken in this cycle; known before. In the
  // order of the ends.
  void end_answered(NodeId node, Cycle cycle);
  // What sends messages that stay behind transfers. One is claimed by a transfer that ends, which claimed() answers,
  // and launched when the end is in memory: both are asked for from a cycle on, and taken in one, which is the one
  // before the present.
  struct Launcher {
    void* self = nullptr;
    void (*claim)(void* self, NodeId node, const TransferStore& store, TransferEnding failure, Cycle from) = nullptr;
    void (*launch)(void* self, NodeId node, std::uint32_t slot, Cycle from) = nullptr;
  };
  void launch_by(Launcher launcher) { launcher_ = launcher; }
  void claimed(NodeId node, bool found, Cycle at);
  void launched(NodeId node, Cycle at);

  // The request of a read comes to a node in the present cycle. False when no channel is free to serve it: it is
  // rejected as busy.
  bool serve(NodeId node, NodeId reader, const WriteWord& request);
  // The end of a read comes in this cycle to the node that has asked for it.
  void read_ended(NodeId node, NodeId server, const WriteWord& response, Cycle cycle);

  // Where in memory a packet goes, of one of the last kTargets blocks from a node to another.
  std::uint64_t target(NodeId node, NodeId dst, const WriteWord& word) const;
  // The protection domain that this is in.
  std::uint16_t domain(NodeId node, NodeId dst, const WriteWord& word) const {
    return target_of(node, dst, word).domain;
  }
  Pages& pages() { return pages_; }
  const Pages& pages() const { return pages_; }

  std::uint64_t packets() const { return packets_; }
  std::uint64_t ended() const { return ended_; }
  std::uint64_t repeated() const { return repeated_; }  // blocks
  std::uint64_t unexpected_acks() const { return unexpected_acks_; }
  std::uint64_t busy() const { return busy_; }
  std::uint64_t beyond() const { return beyond_; }  // rejected for their addresses

 private:
  enum class Step : std::uint8_t { kAdmit, kEmit, kBegin, kAnswer, kScan };
  enum class AnswerKind : std::uint8_t { kUnexpected, kAck, kNackBusy, kNackFault, kEnd };
  struct Answer {
    AnswerKind kind = AnswerKind::kUnexpected;
    TransferEnding failure = TransferEnding::kWhole;
    bool keeps_psn = false;  // where its block is parked
  };

  struct Block {
    std::uint64_t own = 0, target = 0;
    std::uint32_t psn = 0;
    bool fence = false;
    std::uint16_t last_byte = 0;  // of the target's address in its 4 KiB
    std::uint16_t round = 0;  // when it was sent
    std::uint8_t at = 0;  // packet that is next
    std::uint8_t faults = 0;
    Tries tries;
    Backoff backoff;
    std::uint32_t sent = 0;  // times that it went out whole
  };
  // What a request and an end have in their payload.
  struct Read {
    TransferStore store{};
    std::uint32_t psn = 0, slot = 0;  // of the request
  };
  struct Channel {
    TransferStore store{};
    bool serves = false, acked = false, nacked = false;  // it serves a read; its own request was answered
    std::uint8_t nacks = 0;
    std::uint32_t request_psn = 0, request_slot = 0;  // that it serves
    std::uint64_t own = 0, target = 0;  // of the next block
    std::uint32_t left = 0;  // bytes in blocks that have not begun
    bool fence = false, fences = false;  // one comes behind them; it is what has not begun
    std::uint8_t busy = 0, queued = 0;  // blocks, a bit each
    std::uint8_t parked = 0, keeps_psn = 0;  // on a page fault; with its PSN
    std::uint8_t needs_psn = 0;  // is queued to get another PSN
    bool active = false;
    bool waits = false;  // in the queue of those that are to begin a block
    bool sending = false;  // a block of it is being sent for the first time, this one
    std::uint8_t sent_slot = 0;
    TransferEnding failure = TransferEnding::kWhole;
    std::array<Block, 4> blocks;

    bool failed() const { return failure != TransferEnding::kWhole; }
    bool answered() const { return acked || nacked; }
  };
  // A packet has its address with it in the gateware; here it is kept by its block's PSN. It may come when its block
  // has long been given up, and its slot and hundreds of PSNs behind it have been others': where its node takes packets
  // slower than they are sent.
  struct Target {
    std::uint64_t address = 0;
    std::uint32_t psn = ~0u;
    std::uint16_t domain = 0;
  };
  static constexpr std::int64_t kRounds = 4096;  // they wrap
  static constexpr std::uint32_t kBlock = 4096, kPacket = 512;  // bytes at most
  static constexpr std::size_t kTargets = 4096, kPiece = 64, kSubmissions = 4;
  // PSNs of blocks to a node.
  struct PsnWindow : SendWindow {
    std::array<std::unique_ptr<std::array<Target, kPiece>>, kTargets / kPiece>
        targets;  // by PSN, in pieces once there are some
  };
  const Target& target_of(NodeId node, NodeId dst, const WriteWord& word) const;
  // What is in a queue, and from when on it is at its front at the earliest.
  template <typename T>
  struct Valid {
    T what;
    Cycle from;
  };
  struct End {
    std::uint32_t channel;
    TransferEnding failure;
  };
  struct ReadEnd {
    NodeId from;
    std::uint32_t psn, slot;
    TransferEnding failure;
    Cycle valid;
  };
  // Messages of transfers that have ended, in order; one at a time is launched.
  static constexpr std::uint64_t kLaunches = 32;
  struct Launch {
    std::uint32_t slot;
    bool written;  // the word of its transfer, whose answer by memory it is behind
  };
  struct Launches {
    std::deque<Valid<Launch>> waiting;
    std::deque<Cycle> answered;  // words of their transfers, by memory
    std::uint64_t asked = 0, read = 0;
    std::array<Cycle, kLaunches> read_at{};
    bool launching = false;
    Cycle free = kLongAgo;  // the next one can be read
  };
  struct Node {
    std::vector<Channel> channels;
    std::deque<Valid<TransferStore>> submissions;
    std::deque<Valid<Read>> serves;
    bool served_last = false;  // of those that were admitted
    Cycle owned = kLongAgo;  // the last one of the node's own was
    std::deque<Cycle> admitted;  // of late: reads that are to be served
    std::uint32_t owns = 0, served = 0;  // channels of stores, and of others' reads
    std::deque<Cycle> owns_less, serves_less;  // when one of them counts as free
    std::deque<ReadEnd> read_ends;
    std::deque<DmaReader::Unread> unread;  // one
    std::deque<Valid<std::uint32_t>> spare, begin, emit;  // channels, channels, slots
    std::unordered_map<NodeId, PsnWindow> windows;
    bool admitted_last = false;  // by the last step that was in turn
    Cycle handed = kLongAgo,
          handed_before = kLongAgo;  // a cycle behind the last two stores of transfers, busy or not
    Cycle free = kLongAgo;  // the next step begins
    std::int64_t scanned = 0;  // scans that have begun
    RetransmissionScan pending;  // by number of all scans
    std::deque<Valid<End>> ends;
    bool offers = false;  // the first of them
    std::unique_ptr<Launches> launches;  // once there was one
    // the message of the first end
    bool claims = false, found = false;  // it is claimed; it is there
    Cycle claimed = kUnknown;  // the end goes on from then on
    Cycle known = kUnknown;  // but for that, from then on
    bool end_looked = false;  // its page has been looked up
    Cycle end_free = kLongAgo, end_event = kUnknown, end_drained = kLongAgo;  // behind one that was looked up
    Cycle event = kUnknown, scan_event = kUnknown;
  };

  Cycle now() const { return cycle_of(events_.now(), config_.cycle); }
  bool is_free(NodeId node);  // whether a channel is
  void wake(NodeId node);
  void await_scan(NodeId node, Node& n);
  // Whether a block is what it was when the scan was called for.
  static bool waits(const Node& n, const RetransmissionScan::Entry& scan) {
    const Channel& channel = n.channels[scan.slot / 4];
    return (channel.busy >> scan.slot % 4 & 1) != 0 && channel.blocks[scan.slot % 4].sent == scan.sent;
  }
  void event(NodeId node);
  Cycle behind_scans(const Node& n, Cycle cycle) const;
  bool scan_turn(NodeId node, Node& n, Cycle cycle);
  bool yields(NodeId node, const Node& n, Cycle cycle) const;
  bool choose(NodeId node, const Node& n, Cycle cycle, Step& step) const;
  // What a step works on: a slot of a channel, and the window of the channel's target.
  struct At {
    NodeId node;
    Node& n;
    Cycle cycle;
    std::uint32_t slot;
    Channel& channel;
    PsnWindow& window;

    Block& block() const { return channel.blocks[slot % 4]; }
    std::uint8_t bit() const { return static_cast<std::uint8_t>(1u << slot % 4); }
    bool in(std::uint8_t slots) const { return (slots & bit()) != 0; }
    // The end of a read that the channel serves, which is sent whether the read has failed or not.
    bool is_response() const { return channel.serves && block().fence; }
    bool failed() const { return channel.failed() && !is_response(); }
  };
  void start_step(NodeId node, Node& n, Cycle cycle, Step step);
  std::uint32_t admit(Node& n, Cycle cycle);
  Answer take_answer(NodeId node, Node& n, Cycle cycle, std::uint32_t& slot);
  void take_step(NodeId node, Node& n, Cycle cycle, Step step, std::uint32_t slot, Answer answer);
  void begin(At at);
  void emit(At at);
  void assign_psn(At at);
  bool send_packet(At at, std::uint32_t dependencies);
  void scan(At at);
  void postpone(At at);
  void retransmit(At at);
  static void retry(At at);
  void ack(At at);
  void nack(At at);
  void fault(At at, Answer answer);
  void release_slot(At at, TransferEnding failure);
  static void unpark(At at);
  static void return_psn(At at);
  static void queue(At at);
  void settle(At at);
  void offer_ends(NodeId node, Node& n);
  void launch_next(NodeId node, Launches& launches);
  bool look_end_up(NodeId node, Node& n, Cycle cycle, const TransferStore& store);
  bool end_known(NodeId node, Node& n, Cycle cycle);
  static bool lacks_psn(const Channel& channel, std::uint32_t slot) {
    return (without_psn(channel) >> slot % 4 & 1) != 0;
  }
  static unsigned without_psn(const Channel& channel) {
    return (channel.parked & ~unsigned{channel.keeps_psn}) | channel.needs_psn;
  }
  void scan_later(Node& n, std::uint32_t slot, std::int64_t timeout);
  static void begin_fence(Channel& channel);
  static std::uint32_t fence_dependencies(const Channel& channel, std::uint32_t slot);
  void release_channel(NodeId node, Node& n, Cycle cycle, bool written);
  std::int64_t round(const Node& n) const { return n.scanned / config_.slots(); }
  std::uint16_t round_of(const Node& n) const { return static_cast<std::uint16_t>(round(n) % kRounds); }
  std::int64_t timeout(const Block& block) const { return block.backoff.timeout(config_.timeout); }
  Cycle pending_from(std::int64_t scan) const { return config_.begins + 16 * (scan + 1); }
  std::int64_t scan_of(const Node& n, std::uint32_t slot, std::int64_t timeout) const;

  EventQueue& events_;
  TransfersConfig config_;
  void* self_;
  Ended on_ended_;
  Served on_served_;
  Pages pages_;
  DmaReader reader_;
  AnswerPorts* answers_ = nullptr;
  BlockReceiver* written_ = nullptr;
  std::vector<Node> nodes_;
  std::map<std::array<std::uint32_t, 3>, Read>
      reads_;  // by sender, receiver and number: of packets that were sent and have not come
  Launcher launcher_;
  std::uint32_t on_event_, on_end_;
  std::uint64_t packets_ = 0, ended_ = 0, repeated_ = 0, unexpected_acks_ = 0, busy_ = 0, beyond_ = 0;
};

}  // namespace exanet
