// SPDX-License-Identifier: Apache-2.0
// State shared by the engines of the ExaNet interfaces: the network, the costs, the ports at which they inject, and
// what is counted.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/network/network.hpp"
#include "core/nic/config.hpp"
#include "core/nic/nic.hpp"

namespace exanet {

// The intra-tile ports of an interface at its node's router, each for one engine.
inline constexpr std::uint8_t kMailboxPort = 0, kRdmaPort = 1, kReductionPort = 3;  // 3: in the gateware's cycles alone

// Kind of a packet, in the two top bits of Packet::user; the rest is a transfer's number or a message's user word.
inline constexpr std::uint64_t kMessagePacket = 0, kDataPacket = 1ull << 62, kAckPacket = 2ull << 62,
                               kMulticastPacket = 3ull << 62, kPacketKind = 3ull << 62;  // multicast: a message

struct NicContext {
  EventQueue& events;
  NicListener& listener;
  NiConfig config;
  RouterConfig router;
  Network* network = nullptr;
  bool keeps_order = true;  // as that does
  bool zero_cost = false;
  std::uint32_t rails = 1;  // interfaces of a node
  std::uint64_t packets = 0, payload_bytes = 0, active = 0;

  NodeId node_of(NodeId interface) const { return interface / rails; }
  void count(const Packet& packet) {
    ++packets;
    payload_bytes += packet.payload_bytes;
  }
};

// The next edge of an interface's clock, now included; without a clock, now.
inline Time next_edge(Time period, Time now) {
  if (period == Time()) return now;
  return Time::ps((now.ps() + period.ps() - 1) / period.ps() * period.ps());
}

// Calls an engine when it may have something to inject at a node's port: at once or, with a clock, at the next edge and
// last of all that happens at that edge. What it sends then depends on what has come and what credits there are by the
// edge, and not on the order in which the network reports them.
class PortClock {
 public:
  using Inject = void (*)(void* engine, NodeId node, Time now);

  PortClock(NicContext& context, std::size_t nodes, void* engine, Inject inject)
      : context_(context), engine_(engine), inject_(inject), edge_(nodes, Time::ps(-1)) {
    on_edge_ = context.events.add_handler(
        [](void* self, Time now, std::uint32_t node, std::uint64_t last) {
          static_cast<PortClock*>(self)->edge(node, last != 0, now);
        },
        this);
  }

  void request(NodeId node, Time now) {
    const Time period = context_.config.clock;
    if (period == Time()) return inject_(engine_, node, now);
    const Time at = next_edge(period, now);
    if (edge_[node] == at) return;
    edge_[node] = at;
    context_.events.schedule(at, on_edge_, node, 0);
  }

 private:
  // The first event of an edge puts a second one behind all that had been scheduled for the edge before it.
  void edge(NodeId node, bool last, Time now) {
    if (!last) return void(context_.events.schedule(now, on_edge_, node, 1));
    edge_[node] = Time::ps(-1);
    inject_(engine_, node, now);
  }

  NicContext& context_;
  void* engine_;
  Inject inject_;
  std::vector<Time> edge_;  // at which the node's port is due; before time where it is not
  std::uint32_t on_edge_ = 0;
};

}  // namespace exanet
