// SPDX-License-Identifier: Apache-2.0
#include "core/nic/transfers/gather.hpp"

#include <algorithm>

namespace exanet {

namespace {

constexpr std::uint32_t kPageLines = 256;

}  // namespace

Gather::Gather(EventQueue& events, const TransfersConfig& config, std::size_t nodes, void* self, Taken taken)
    : self_(self),
      on_taken_(taken),
      memory_read_(std::max<Cycle>(config.memory_read, 1)),
      inject_(events, config.cycle, nodes, this,
              [](void* its, NodeId node) { static_cast<Gather*>(its)->advance(node); }),
      nodes_(nodes) {}

void Gather::push(NodeId node, const Packet& packet, std::uint64_t own, bool has_bytes, Cycle valid) {
  Node& n = nodes_[node];
  n.waiting.push_back({packet, own, has_bytes, valid});
  ++n.pushed;
  advance(node);
}

Cycle Gather::room_from(NodeId node) const {
  const Node& n = nodes_[node];
  if (n.pushed < kWaiting) return kLongAgo;
  const std::uint64_t before = n.pushed - kWaiting;
  return before < n.taken ? n.taken_at[before % kAhead] + 1 : kUnknown;
}

void Gather::advance(NodeId node) {
  Node& n = nodes_[node];
  const std::uint64_t taken = n.taken;
  do {
    while (!n.waiting.empty() && take(n)) {
    }
  } while (emit(node, n));
  if (n.taken != taken) on_taken_(self_, node);
}

// Asks for the next packet's bytes, which are in two reads where they go beyond a page.
bool Gather::take(Node& n) {
  Cycle cycle = std::max(n.waiting.front().valid, n.ask_from);
  if (n.taken >= kAhead) {
    if (n.done <= n.taken - kAhead) return false;
    cycle = std::max(cycle, n.done_at[n.taken % kAhead] + 1);
  }
  const Waiting& next = n.waiting.front();
  n.taken_at[n.taken++ % kAhead] = cycle;
  if (next.has_bytes) {
    n.frames.push_back({next.packet, words_of(next.packet.payload_bytes), 0, 0, false, cycle + 1});
    n.ask_from = cycle + 1;
    n.waiting.pop_front();
    return true;
  }
  const auto skip = static_cast<std::uint32_t>(next.own % 16);
  const std::uint32_t beats = words_of(skip + next.packet.payload_bytes);
  const std::uint32_t near = std::min(beats, kPageLines - static_cast<std::uint32_t>(next.own / 16 % kPageLines));
  n.frames.push_back({next.packet, words_of(next.packet.payload_bytes), beats, near, skip != 0, cycle + 1});
  n.ask_from = cycle + 2 + (near != beats);
  n.waiting.pop_front();
  return true;
}

// Emits words of the first frame as far as the port is known. True when its last one is on its way, so that another packet may be taken.
bool Gather::emit(NodeId node, Node& n) {
  while (!n.frames.empty()) {
    const Frame& f = n.frames.front();
    if (n.offers) {
      const Cycle taken = inject_.taken_from(node, n.emitted + 1, n.word - 1, n.last);
      if (taken == kUnknown) return false;
      n.offers = false;
      n.last = taken;
      n.free = std::max(n.free, taken);
      if (n.word == f.words) {
        inject_.hand_over(node, f.packet, taken);
        n.frames.pop_front();
        n.beat = n.word = 0;
        continue;
      }
    }
    // What is left behind the last beat is a word of its own.
    Cycle cycle = n.free;
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
      return true;
    }
  }
  return false;
}

}  // namespace exanet
