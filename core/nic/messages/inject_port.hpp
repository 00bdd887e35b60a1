// SPDX-License-Identifier: Apache-2.0
// Models gateware/ni/rtl/ni_inject.sv, to the cycle: an interface hands over frames beat by beat, each is sent as a
// packet once all of it is there.
//
// Contract: one frame after the other. A beat that is offered in a cycle is taken in taken_from() of it, the frame is
// handed over with the cycle of its last beat, and the packet's header is on the router's wire three cycles later, or
// as soon as the packet before it has gone and there is space. What a frame needs that has yet to go is not known
// before: then taken_from() is kUnknown, and `space` is called when more is known.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/network/network.hpp"
#include "core/nic/messages/cycle.hpp"
#include "core/nic/messages/word_times.hpp"

namespace exanet {

class InjectPorts {
 public:
  using Space = void (*)(void* self, NodeId node);

  // One port of each node. `network` is set before the first frame.
  InjectPorts(EventQueue& events, Time period, std::size_t nodes, void* self, Space space)
      : events_(events), period_(period), self_(self), space_(space), nodes_(nodes) {
    on_header_ = events.add_handler(
        [](void* its, Time, std::uint32_t node, std::uint64_t) { static_cast<InjectPorts*>(its)->inject(node); }, this);
  }

  Network* network = nullptr;

  // First cycle from `at` on in which a beat is taken. Contract: `at` is behind the last beat, of this frame or the one
  // before; `beats` of this one have been taken, the last of them in `last`.
  Cycle taken_from(NodeId node, Cycle at, std::uint32_t beats = 0, Cycle last = kLongAgo) const {
    const Node& n = nodes_[node];
    // What came in the cycle before is not counted yet.
    const std::uint64_t words = n.words + beats;
    const bool frame_before = at == n.last_beat + 1, word_before = frame_before ? n.last_words != 0 : at == last + 1;
    const Cycle frame_space = gone(n, frame_before ? kFrames : kFrames - 1), word_space = sent(n, words - word_before);
    if (frame_space <= at && word_space <= at) return at;
    return std::max({at + 1, gone(n, kFrames - 1), sent(n, words)});
  }

  // Of so many further beats of this frame, how many are taken one a cycle. Contract: as above, and a beat has been
  // taken.
  std::uint32_t taken_in_turn(NodeId node, std::uint32_t beats, Cycle last, std::uint32_t most) const {
    const Node& n = nodes_[node];
    if (gone(n, kFrames - 1) > last + 1) return 0;
    const std::uint64_t words = n.words + beats - 1;
    const auto free =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(most, kWords - 1 - std::min(words, kWords - 1)));
    if (free == most) return most;
    return free + n.sent.in_turn(words + free - (kWords - 1), last + free - 1, most - free);
  }

  void hand_over(NodeId node, const Packet& packet, Cycle last_beat) {
    Node& n = nodes_[node];
    n.frames.push_back({packet, last_beat});
    n.last_beat = last_beat;
    n.last_words = words_of(packet.payload_bytes);
    n.words += n.last_words;
    ++n.handed_over;
    if (n.frames.size() == 1) schedule(node, n);
  }

  // The network has space again; for a packet that it did not take here, or for another's at the same port.
  void ready(NodeId node) {
    if (nodes_[node].blocked) inject(node);
  }

 private:
  static constexpr std::uint64_t kFrames = 8, kWords = 128;  // of its buffer

  struct Frame {
    Packet packet;
    Cycle last_beat;
  };
  struct Node {
    std::deque<Frame> frames;  // that have not begun
    bool blocked = false;  // the first of them
    Cycle last_beat = kLongAgo;  // of the last frame, which had so many words
    std::uint32_t last_words = 0;
    std::uint64_t words = 0;  // of all frames
    WordTimes sent;
    Cycle idle = kLongAgo;  // from when on the next packet may begin
    std::uint64_t handed_over = 0, begun = 0;
    std::array<Cycle, kFrames>
        footers{};  // by number of the frame modulo their number: the cycle in which it leaves the buffer
  };

  // From when on a beat is taken as far as frames go: the one that came so many before the next one has left the buffer
  // two cycles before.
  static Cycle gone(const Node& n, std::uint64_t before) {
    if (n.handed_over < before) return kLongAgo;
    const std::uint64_t number = n.handed_over - before;
    return number < n.begun ? n.footers[number % kFrames] + 2 : kUnknown;
  }
  // As far as words go, of which so many have come: one place is free besides.
  static Cycle sent(const Node& n, std::uint64_t words) {
    if (words < kWords - 1) return kLongAgo;
    const Cycle cycle = n.sent.of(words - (kWords - 1));
    return cycle == kUnknown ? kUnknown : cycle + 2;
  }

  void schedule(NodeId node, const Node& n) {
    const Cycle begin = std::max(n.frames.front().last_beat + 2, n.idle);
    events_.schedule(time_of(begin + 1, period_), on_header_, node);
  }

  // The front's header is on the wire in this cycle, if there is space.
  void inject(NodeId node) {
    Node& n = nodes_[node];
    const Packet& packet = n.frames.front().packet;
    n.blocked = !network->inject(packet);
    if (n.blocked) return;
    const std::uint32_t words = words_of(packet.payload_bytes);
    const Cycle header = cycle_of(events_.now(), period_), footer = header + words;
    n.sent.add(words, header, kWords);
    n.footers[n.begun++ % kFrames] = footer;
    n.idle = footer + 1;
    n.frames.pop_front();
    if (!n.frames.empty()) schedule(node, n);
    space_(self_, node);
  }

  EventQueue& events_;
  Time period_;
  void* self_;
  Space space_;
  std::vector<Node> nodes_;
  std::uint32_t on_header_ = 0;
};

}  // namespace exanet
