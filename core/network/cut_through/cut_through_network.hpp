// SPDX-License-Identifier: Apache-2.0
// The network of input-queued switches: packets wait where they come in, and a crossbar takes one packet at a time from
// each input port and to each output port.
//
// Problem: what do buffers at the inputs, their queues, the matching of inputs and outputs, and the flow control of a
// switch cost? Model: as in core/network/exanet a packet's passage through a switch is settled when it is granted
// (virtual cut-through, space for the whole packet beyond), so that a hop takes a couple of events. What differs is who
// may be granted: an input port has one line into the crossbar, and an output port one out of it, whose rate is the
// fastest link's times the speed-up. An input has a queue for each lane (class and virtual channel), or one for each
// lane and output (virtual output queues: Tamir and Frazier 1988). Whenever lines come free the free inputs and outputs
// are matched: each output in turn takes an input (maximal matching), or by iSLIP (McKeown 1999), request, grant,
// accept, some times over. Behind the crossbar lies the output FIFO, which a link empties in order. The sender of a
// link knows the space beyond by credits, or not at all: then the receiver pauses each lane for itself (priority flow
// control, IEEE 802.1Q clause 36), early enough that nothing is ever dropped.
//
// Parts of the network run on a thread each, where credits and not pauses control the flow: pauses of an instant have
// an order.
//
// Limits: credits and pauses take time but no space on their links; no errors; the crossbar reads a packet no faster
// than it comes in. Source: Karol, Hluchyj and Morgan 1987 (queues at inputs); the wormhole top-of-rack switch with
// virtual output queues of the ExaNeSt paper (Microprocessors and Microsystems 61, 2018, section 2.3) and the virtual
// channels under PFC of the RED-SEA project's switch model are what it can be set to. docs/switches.md has the rules.
#pragma once

#include <cstdint>

#include "core/network/common/partitioned_network.hpp"

namespace exanet {

namespace cut_through_state {
struct State;
}

class CutThroughNetwork final : public PartitionedNetwork<cut_through_state::State> {
 public:
  using PartitionedNetwork::PartitionedNetwork;

  std::uint32_t queued(NodeId node) const override;
  bool may_lose() const override;
  std::uint64_t lost() const override;
  void set_link(PortRef link, bool up, Time now) override;
  void set_loss(PortRef link, const LinkLoss& loss, Time now) override;
  void set_rate(PortRef link, std::uint32_t rate, Time now) override;
  void set_interface(NodeId endpoint, bool up, Time now) override;
  std::uint64_t discarded(NodeId node) const override;  // packets that the machine's queue action dropped
  std::uint64_t memory_bytes() const override;

  std::int32_t fullest(
      NodeId node, std::uint16_t port) const;  // words of the fullest lane of this input there ever were, with pauses
  std::uint64_t pauses() const;  // that have been sent
};

}  // namespace exanet
