// SPDX-License-Identifier: Apache-2.0
// The network at packet level: virtual cut-through routers and credit-controlled links, one event per packet and hop.
//
// Problem: carry the packets of many thousands of nodes with the contention that a cycle-accurate router would show, at
// a cost that does not depend on cycles. Model: a packet's passage through a router is settled when its output is
// granted, because grants are for whole packets and only given when the next buffer has space for the whole packet;
// from then on head and tail move at known times. The rules are written down in docs/microarchitecture.md. Limits: of
// errors on links those of line_faults.hpp; links of one width where payload equals Magic; the buffer behind the
// crossbar holds one packet on the wire and one behind it. Source: APErouter and APElink as in the ExaNet paper at
// ParCo 2017, sections 3.2 to 3.4.
#pragma once

#include <cstdint>

#include "core/network/common/partitioned_network.hpp"

namespace exanet {

namespace exanet_state {
struct State;
}

class ExanetNetwork final : public PartitionedNetwork<exanet_state::State> {
 public:
  using PartitionedNetwork::PartitionedNetwork;

  bool multicasts() const override;
  std::uint32_t queued(NodeId node) const override;
  std::uint64_t discarded(NodeId node) const override;
  std::uint64_t lost() const override;
  void stall(NodeId node, std::uint8_t intra_port, Time until) override;
  void give_back(NodeId node, std::uint8_t intra_port, Time at) override;
  std::uint64_t memory_bytes() const override;
  bool may_lose() const override;
  void set_link(PortRef link, bool up, Time now) override;
  void set_loss(PortRef link, const LinkLoss& loss, Time now) override;
  void set_rate(PortRef link, std::uint32_t rate, Time now) override;
  void set_interface(NodeId endpoint, bool up, Time now) override;
  void finish(std::size_t part, Time now) override;
};

}  // namespace exanet
