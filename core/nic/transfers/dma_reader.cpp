// SPDX-License-Identifier: Apache-2.0
// Carries out the DMA reader: beats out of memory, shifted to the packet's place in a line, into frames at the port's
// rate. Model and limits: dma_reader.hpp.
#include "core/nic/transfers/dma_reader.hpp"

#include <algorithm>

namespace exanet {

namespace {

constexpr std::uint32_t kPageLines = 256;

}  // namespace

DmaReader::DmaReader(EventQueue& events, const TransfersConfig& config, std::size_t nodes, Pages& pages, void* self,
                     Taken taken, Report report)
    : events_(events),
      cycle_(config.cycle),
      pages_(config.translate ? &pages : nullptr),
      self_(self),
      on_taken_(taken),
      on_unread_(report),
      memory_read_(std::max<Cycle>(config.memory_read, 1)),
      inject_(events, config.cycle, nodes, this,
              [](void* its, NodeId node) { static_cast<DmaReader*>(its)->advance(node); }),
      nodes_(nodes) {
  on_take_ = events.add_handler(
      [](void* its, Time, std::uint32_t node, std::uint64_t) {
        static_cast<DmaReader*>(its)->nodes_[node].take_event = kUnknown;
        static_cast<DmaReader*>(its)->advance(node);
      },
      this);
  pages.join(Pages::kRead, {this,
                            [](void* its, NodeId node, Cycle cycle) {
                              DmaReader& reader = *static_cast<DmaReader*>(its);
                              reader.page_known(node, reader.nodes_[node], cycle);
                              reader.advance(node);
                            },
                            [](void* its, NodeId node) { static_cast<DmaReader*>(its)->advance(node); },
                            [](void* its, NodeId node) {
                              const DmaReader& reader = *static_cast<DmaReader*>(its);
                              return reader.drained(reader.nodes_[node]);
                            }});
}

std::uint32_t DmaReader::Waiting::near() const {
  return std::min(beats(), kPageLines - static_cast<std::uint32_t>(own / 16 % kPageLines));
}

void DmaReader::push(NodeId node, const Packet& packet, std::uint64_t own, bool has_bytes, Cycle valid,
                     std::uint16_t domain) {
  Node& n = nodes_[node];
  n.waiting.push_back({packet, own, has_bytes, valid, domain});
  ++n.pushed;
  advance(node);
}

Cycle DmaReader::space_from(NodeId node) const {
  const Node& n = nodes_[node];
  if (n.pushed < kWaiting) return kLongAgo;
  const std::uint64_t before = n.pushed - kWaiting;
  return before < n.taken ? n.taken_at[before % kAhead] + 1 : kUnknown;
}

void DmaReader::advance(NodeId node) {
  Node& n = nodes_[node];
  do {
    while (!n.waiting.empty() && take(node, n)) {
    }
  } while (emit(node, n));
  if (n.taken != n.reported) n.reported = n.taken, on_taken_(self_, node);
  if (pages_ != nullptr) pages_->settle(node, Pages::kRead);
}

// Takes the next packet, or looks its page up. False while it is not known when, or it has to wait.
bool DmaReader::take(NodeId node, Node& n) {
  if (n.page != Page::kNone) return false;
  const Waiting& next = n.waiting.front();
  Cycle cycle = std::max(next.valid, n.ask_from);
  if (n.taken >= kAhead) {
    if (n.done <= n.taken - kAhead) return false;
    cycle = std::max(cycle, n.done_at[n.taken % kAhead] + 1);
  }
  if (pages_ != nullptr) {
    cycle = std::max(cycle, pages_->open_from(node, Pages::kRead));
    if (cycle > cycle_of(events_.now(), cycle_)) {
      if (cycle < n.take_event) events_.schedule(time_of(cycle, cycle_), on_take_, node), n.take_event = cycle;
      return false;
    }
    if (pages_->held(node, Pages::kRead)) return false;
    if (!next.has_bytes) {
      n.page = Page::kFirst;
      if (pages_->look(node, Pages::kRead, next.domain, next.own >> 12))
        page_known(node, n, cycle + 1);
      else
        pages_->walk(node, Pages::kRead, cycle + 1);
      return n.page == Page::kNone;
    }
  }
  finish(n, cycle, TransferEnding::kWhole);
  return true;
}

// A page of the next packet is known in this cycle, and so is the other one, if it has been looked up before.
void DmaReader::page_known(NodeId node, Node& n, Cycle cycle) {
  const Waiting& next = n.waiting.front();
  TransferEnding fault = pages_->fault(node, Pages::kRead);
  if (fault == TransferEnding::kWhole && n.page == Page::kFirst && next.near() != next.beats()) {
    n.page = Page::kSecond;
    if (!pages_->look(node, Pages::kRead, next.domain, (next.own >> 12) + 1))
      return pages_->walk(node, Pages::kRead, cycle + 1);
    ++cycle;
  }
  n.page = Page::kNone;
  finish(n, cycle, fault);
}

// Asks for the packet's bytes, which are in two reads where they go beyond a page.
void DmaReader::finish(Node& n, Cycle taken, TransferEnding fault) {
  const Waiting& next = n.waiting.front();
  n.taken_at[n.taken++ % kAhead] = taken;
  const std::uint32_t words = words_of(next.packet.payload_bytes);
  if (next.has_bytes || fault != TransferEnding::kWhole) {
    n.frames.push_back({next.packet, words, 0, 0, false, taken + 1, fault});
    n.ask_from = taken + 1;
  } else {
    n.frames.push_back({next.packet, words, next.beats(), next.near(), next.skip() != 0, taken + 1});
    n.ask_from = taken + 2 + (next.near() != next.beats());
  }
  n.waiting.pop_front();
}

Cycle DmaReader::drained(const Node& n) const {
  if (n.page != Page::kNone || n.taken != n.done) return kUnknown;
  return n.done == 0 ? kLongAgo : std::max(n.ask_from, n.done_at[(n.done - 1) % kAhead] + 1);
}

void DmaReader::unread_taken(NodeId node, Cycle cycle) {
  Node& n = nodes_[node];
  n.unread = false;
  n.unread_free = cycle + 1;
  advance(node);
}

// Emits words of the first frame as far as the port is known. True when its last one is on its way, so that another
// packet may be taken.
bool DmaReader::emit(NodeId node, Node& n) {
  while (true) {
    if (n.offers) {
      const Cycle taken = inject_.taken_from(node, n.emitted + 1, n.word - 1, n.last);
      if (taken != kUnknown) {
        n.offers = false;
        n.last = taken;
        n.free = std::max(n.free, taken);
        if (n.offers_last) {
          inject_.hand_over(node, n.offered, taken);
          n.offers_last = false;
          n.word = 0;
        }
      } else if (!n.offers_last) {
        return false;
      }
    }
    if (n.frames.empty() || n.unread) return false;
    const Frame& f = n.frames.front();
    if (f.fault != TransferEnding::kWhole) {
      // It is no frame, and needs no space.
      const Cycle before = n.done == 0 ? kLongAgo : n.done_at[(n.done - 1) % kAhead];
      const Cycle cycle = std::max({f.asked, before + 1, n.unread_free});
      n.unread = true;
      const Unread unread{f.packet.dst, WriteWord::unpack(f.packet.user), f.fault, cycle + 1};
      n.done_at[n.done++ % kAhead] = cycle;
      n.frames.pop_front();
      on_unread_(self_, node, unread);
      return true;
    }
    if (n.offers) return false;
    // Behind a word that is taken those go a cycle each that wait for nothing. The frame's last is left.
    if (n.word != 0 && n.free >= std::max(n.unread_free, f.asked + memory_read_ + (f.near != f.beats))) {
      const std::uint32_t words = inject_.taken_in_turn(node, n.word, n.last, f.words - 1 - n.word);
      n.word += words;
      n.beat = std::min(n.beat + words, f.beats);
      n.free = n.last += words;
    }
    // What is left behind the last beat is a word of its own.
    Cycle cycle = std::max(n.free, n.unread_free);
    bool emits = true;
    if (n.beat < f.beats) {
      cycle = std::max(cycle, f.asked + memory_read_ + (n.beat >= f.near));
      emits = !f.shifted || n.beat != 0 || f.beats == 1;
      ++n.beat;
    } else if (f.beats == 0) {
      cycle = std::max(cycle, f.asked);
    }
    n.free = cycle + 1;
    if (!emits) continue;
    n.offers = true;
    n.emitted = cycle;
    if (++n.word == f.words) {
      n.done_at[n.done++ % kAhead] = cycle;
      n.offers_last = true;
      n.offered = f.packet;
      n.beat = 0;
      n.frames.pop_front();
      return true;
    }
  }
}

}  // namespace exanet
