// SPDX-License-Identifier: Apache-2.0
// Models gateware/ni/rtl/ni_inject.sv, to the cycle, for frames of up to four words: an interface hands over frames beat by beat, each is sent as a
// packet once all of it is there.
//
// Contract: one frame after the other. A beat that is offered in a cycle is taken in taken_from() of it, the frame is handed over with the cycle of its
// last beat, and the packet's header is on the router's wire three cycles later, or as soon as the packet before it has gone and there is room. What a
// frame needs that has yet to go is not known before: then taken_from() is kUnknown, and `room` is called when more is known.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/network/network.hpp"
#include "core/nic/messages/cycle.hpp"

namespace exanet {

class InjectPorts {
 public:
  using Room = void (*)(void* self, NodeId node);

  // One port of each node. `network` is set before the first frame.
  InjectPorts(EventQueue& events, Time period, std::size_t nodes, void* self, Room room)
      : events_(events), period_(period), self_(self), room_(room), nodes_(nodes) {
    on_header_ = events.add_handler(
        [](void* its, Time, std::uint32_t node, std::uint64_t) { static_cast<InjectPorts*>(its)->inject(node); }, this);
  }

  Network* network = nullptr;

  // First cycle from `at` on in which a beat is taken. Contract: `at` is behind the last frame's last beat.
  Cycle taken_from(NodeId node, Cycle at) const {
    const Node& n = nodes_[node];
    // Seven frames are in the buffer at most two cycles before, or eight where the last one's end is in the cycle before.
    const Cycle ready = gone(n, kFrames - 1);
    if (ready != kUnknown && ready + 2 <= at) return at;
    if (at == n.last_beat + 1) {
      const Cycle before = gone(n, kFrames);
      if (before != kUnknown && before + 2 <= at) return at;
    }
    return ready == kUnknown ? kUnknown : ready + 2;
  }

  void hand_over(NodeId node, const Packet& packet, Cycle last_beat) {
    Node& n = nodes_[node];
    n.frames.push_back({packet, last_beat});
    n.last_beat = last_beat;
    ++n.handed_over;
    if (n.frames.size() == 1) schedule(node, n);
  }

  // The network has room again; for a packet that it refused here, or for another's at the same port.
  void ready(NodeId node) {
    if (nodes_[node].refused) inject(node);
  }

 private:
  static constexpr std::uint64_t kFrames = 8;  // of its buffer

  struct Frame {
    Packet packet;
    Cycle last_beat;
  };
  struct Node {
    std::deque<Frame> frames;  // that have not begun
    bool refused = false;  // the first of them
    Cycle last_beat = kLongAgo;  // of the last frame
    Cycle idle = kLongAgo;  // from when on the next packet may begin
    std::uint64_t handed_over = 0, begun = 0;
    std::array<Cycle, kFrames>
        footers{};  // by number of the frame modulo their number: the cycle in which it leaves the buffer
  };

  // When the frame left the buffer that came so many before the next one.
  static Cycle gone(const Node& n, std::uint64_t before) {
    if (n.handed_over < before) return kLongAgo;
    const std::uint64_t number = n.handed_over - before;
    return number < n.begun ? n.footers[number % kFrames] : kUnknown;
  }

  void schedule(NodeId node, const Node& n) {
    const Cycle begin = std::max(n.frames.front().last_beat + 2, n.idle);
    events_.schedule(time_of(begin + 1, period_), on_header_, node);
  }

  // The front's header is on the wire in this cycle, if there is room.
  void inject(NodeId node) {
    Node& n = nodes_[node];
    const Packet& packet = n.frames.front().packet;
    n.refused = !network->inject(packet);
    if (n.refused) return;
    const Cycle header = cycle_of(events_.now(), period_), footer = header + words_of(packet.payload_bytes);
    n.footers[n.begun++ % kFrames] = footer;
    n.idle = footer + 1;
    n.frames.pop_front();
    if (!n.frames.empty()) schedule(node, n);
    room_(self_, node);
  }

  EventQueue& events_;
  Time period_;
  void* self_;
  Room room_;
  std::vector<Node> nodes_;
  std::uint32_t on_header_ = 0;
};

}  // namespace exanet
