// SPDX-License-Identifier: Apache-2.0
// Input-queued switches under wormhole switching: a packet goes on flit by flit, each when there is room for it alone.
//
// Problem: what does a switch do whose buffers hold less than a packet, or which does not wait until the next one has room for all of it? A
// blocked packet then stands in several switches at once and holds a channel of every link between them, so no passage can be settled at its
// grant, as in switches.hpp. Model: an event whenever a switch can pass a flit (a router word). A header takes a channel of its output, for the
// packet alone and until its tail has gone; the packets that hold channels of one output share its link flit by flit. Each flit takes a credit
// and gives one back. A switch looks at its outputs at the instants at which one of them can do something: flits and credits are registered when
// they are sent, with the time from which they count, so the order of events of an instant does not matter, and neither does the number of
// threads: parts of the network exchange both as mail.
//
// Freedom from deadlock is that of the ways' channel dependencies (Dally and Seitz 1987), as `exanet check` finds it; routing that falls back on an
// escape channel while it is blocked relies on whole packets in buffers, and is refused. Channels beyond those that routing asks for are shared
// out among them, and a packet takes any that is free of those that stand for its own (Dally 1992).
//
// Limits: credits take time but no room on their links; no errors; credits and not pauses, buffers of each lane alone.
// Source: the wormhole top-of-rack switch of the ExaNeSt paper (Microprocessors and Microsystems 61, 2018, section 2.3); docs/switches.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/fabric/fabric.hpp"
#include "core/fabric/model.hpp"

namespace exanet {

class WormholeSwitches final : public NetworkModel {
 public:
  // Throws std::invalid_argument when a figure of `config` cannot be built. Queues and topology outlive the network. Node n belongs to
  // parts[part_of[n]]; empty when there is one part.
  WormholeSwitches(const std::vector<FabricPart>& parts, const Topology& topology, const FabricConfig& config,
                   const std::vector<std::uint8_t>& part_of);
  WormholeSwitches(EventQueue& events, const Topology& topology, const FabricConfig& config, FabricSink sink);
  ~WormholeSwitches() override;
  WormholeSwitches(const WormholeSwitches&) = delete;
  WormholeSwitches& operator=(const WormholeSwitches&) = delete;

  bool inject(const Packet& packet) override;
  const LinkStats& link_stats(NodeId node, std::uint16_t port) const override;
  std::uint64_t packet_hops() const override;
  std::uint64_t in_flight() const override;
  std::uint32_t queued(NodeId node) const override;
  std::uint64_t memory_bytes() const override;
  // Who waits for whom in a circle, when packets are in flight and no event is left; empty if nobody does.
  std::string deadlock() const override;

  void collect(std::size_t part) override;
  void finish(std::size_t, Time) override {}
  Time mailed(std::size_t part) const override;
  Time lookahead() const override;

 private:
  struct State;
  struct Part;
  std::unique_ptr<State> state_;
};

}  // namespace exanet
