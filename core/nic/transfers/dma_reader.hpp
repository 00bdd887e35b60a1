// SPDX-License-Identifier: Apache-2.0
// Models gateware/ni/rtl/ni_gather.sv, to the cycle: reads the payload of packets from memory, ahead, and hands them
// over to the port, beat by beat.
//
// What is known of the port and of reads before is worked out at once, ahead of time. Limit: memory takes an address a
// cycle, answers reads after a fixed time, in order, a beat a cycle, and rejects none. Where addresses are translated a
// packet is taken in an event in its own cycle.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "core/nic/messages/inject_port.hpp"
#include "core/nic/transfers/config.hpp"
#include "core/nic/transfers/pages.hpp"

namespace exanet {

class DmaReader {
 public:
  // It is known when another packet is taken.
  using Taken = void (*)(void* self, NodeId node);
  // A packet has a page that is not to be read: reported from this cycle on, one at a time, until unread_taken().
  struct Unread {
    NodeId to;  // the packet's destination
    WriteWord word;
    TransferEnding fault;
    Cycle from;
  };
  using Report = void (*)(void* self, NodeId node, const Unread& unread);

  DmaReader(EventQueue& events, const TransfersConfig& config, std::size_t nodes, Pages& pages, void* self, Taken taken,
            Report report);

  void attach(Network& network) { inject_.network = &network; }
  void ready(NodeId node) { inject_.ready(node); }

  // A packet whose bytes begin at this address, or which has them with it, to be taken in `valid` at the earliest.
  void push(NodeId node, const Packet& packet, std::uint64_t own, bool has_bytes, Cycle valid, std::uint16_t domain);
  void unread_taken(NodeId node, Cycle cycle);
  // From when on there is space for another one; kUnknown as long as that is not known.
  Cycle space_from(NodeId node) const;

 private:
  static constexpr std::uint64_t kWaiting = 8, kAhead = 16;  // packets that wait, and that are read at a time

  struct Waiting {
    Packet packet;
    std::uint64_t own;
    bool has_bytes;
    Cycle valid;
    std::uint16_t domain;

    std::uint32_t skip() const { return static_cast<std::uint32_t>(own % 16); }
    std::uint32_t beats() const { return words_of(skip() + packet.payload_bytes); }
    std::uint32_t near() const;  // by the first of two reads
  };
  struct Frame {
    Packet packet;
    std::uint32_t words, beats, near;  // of the frame; of memory; of these by the first of two reads
    bool shifted;  // a word is out of two beats
    Cycle asked;  // what has its bytes: it is there
    TransferEnding fault = TransferEnding::kWhole;
  };
  enum class Page : std::uint8_t { kNone, kFirst, kSecond };  // which one of the first packet's is awaited
  struct Node {
    Page page = Page::kNone;
    Cycle take_event = kUnknown;
    std::deque<Waiting> waiting;
    std::deque<Frame> frames;
    Cycle ask_from = kLongAgo;
    std::uint64_t pushed = 0, taken = 0, done = 0, reported = 0;
    std::array<Cycle, kAhead> taken_at{}, done_at{};  // by number of the packet
    // the first frame
    std::uint32_t beat = 0, word = 0;
    Cycle free = kLongAgo;  // the next beat is taken
    bool offers = false;  // a word, from the cycle behind `emitted` on
    bool offers_last = false;  // its frame's last: of this packet, which is the first frame's no more
    Packet offered{};
    bool unread = false;  // a packet is reported
    Cycle unread_free = kLongAgo;
    Cycle emitted = kLongAgo, last = kLongAgo;  // last: the word before it was taken
  };

  void advance(NodeId node);
  bool take(NodeId node, Node& n);
  void page_known(NodeId node, Node& n, Cycle cycle);
  void finish(Node& n, Cycle taken, TransferEnding fault);
  Cycle drained(const Node& n) const;
  bool emit(NodeId node, Node& n);

  EventQueue& events_;
  Time cycle_;
  Pages* pages_;  // null: addresses are memory's
  void* self_;
  Taken on_taken_;
  Report on_unread_;
  Cycle memory_read_;
  InjectPorts inject_;
  std::vector<Node> nodes_;
  std::uint32_t on_take_;
};

}  // namespace exanet
