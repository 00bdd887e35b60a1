// SPDX-License-Identifier: Apache-2.0
// Input-queued switches under wormhole switching: a packet goes on flit by flit, each when there is space for it alone.
//
// Problem: what does a switch do whose buffers hold less than a packet, or which does not wait until the next one has
// space for all of it? A blocked packet then stands in several switches at once and holds a channel of every link
// between them, so no passage can be settled at its grant, as in cut_through_network.hpp. Model: an event whenever a
// switch can pass a flit (a router word). A header takes a channel of its output, for the packet alone and until its
// tail has gone; the packets that hold channels of one output share its link flit by flit. Each flit takes a credit and
// gives one back. A switch looks at its outputs at the instants at which one of them can do something: flits and
// credits are registered when they are sent, with the time from which they count, so the order of events of an instant
// does not matter, and neither does the number of threads: parts of the network exchange both as mail.
//
// Freedom from deadlock is that of the routes' channel dependencies (Dally and Seitz 1987), as `exanet check` finds it;
// routing that falls back on an escape channel while it is blocked relies on whole packets in buffers, and is refused.
// Channels beyond those that routing asks for are shared out among them, and a packet takes any that is free of those
// that stand for its own (Dally 1992).
//
// Limits: credits take time but no space on their links; no errors; credits and not pauses, buffers of each lane alone.
// Source: the wormhole top-of-rack switch of the ExaNeSt paper (Microprocessors and Microsystems 61, 2018, section
// 2.3); docs/switches.md.
#pragma once

#include <cstdint>
#include <string>

#include "core/network/common/partitioned_network.hpp"

namespace exanet {

namespace wormhole_state {
struct State;
}

class WormholeNetwork final : public PartitionedNetwork<wormhole_state::State> {
 public:
  using PartitionedNetwork::PartitionedNetwork;

  std::uint32_t queued(NodeId node) const override;
  std::uint64_t memory_bytes() const override;
  bool may_lose() const override;
  std::uint64_t lost() const override;
  void set_link(PortRef link, bool up, Time now) override;
  void set_loss(PortRef link, const LinkLoss& loss, Time now) override;
  void set_rate(PortRef link, std::uint32_t rate, Time now) override;
  void set_interface(NodeId endpoint, bool up, Time now) override;
  // Who waits for whom in a cycle, when packets are in flight and no event is left; empty if nobody does.
  std::string deadlock() const override;
};

}  // namespace exanet
