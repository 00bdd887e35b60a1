// SPDX-License-Identifier: Apache-2.0
// Holds the transfers of all interfaces to the windows and rates of a rate control (pacing.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/nic/pacing/pacing.hpp"
#include "core/nic/pacing/rate_limiter.hpp"

namespace exanet {

class PacedFlows {
 public:
  // Contract: `kind` is one that is made.
  PacedFlows(const PacingKind& kind, const PacingSetup& setup, std::size_t nodes);

  // The earliest time at which a packet may go, as far as is known: now, later, or never before something is
  // acknowledged.
  Time may_send(NodeId node, NodeId peer, std::uint32_t bytes, Time now);
  void sent(NodeId node, NodeId peer, std::uint32_t bytes, Time now);
  void acknowledged(NodeId node, NodeId peer, const Feedback& feedback, Time now);
  void ended(NodeId node, NodeId peer, Time now) { nodes_[node].pacing->ended(peer, now); }
  void lost(NodeId node, NodeId peer, const Loss& loss, Time now);
  // A packet that was lost has come after all, and is not to be sent again.
  void found(NodeId node, NodeId peer, std::uint32_t bytes) { nodes_[node].flows[peer].unacknowledged += bytes; }
  // Whether, with one packet, its flow has to wait for feedback before another one.
  bool closes(NodeId node, NodeId peer, std::uint32_t bytes, std::uint32_t next, Time now);
  std::uint64_t demand(NodeId node, NodeId peer, std::uint64_t backlog, std::uint32_t bytes, std::uint32_t peers) {
    return nodes_[node].pacing->demand(peer, backlog, bytes, peers);
  }
  void arrived(const Packet& packet, Time now) { nodes_[packet.dst].pacing->arrived(packet.src, packet, now); }
  std::optional<ControlPacket> control(NodeId node, Time now) { return nodes_[node].pacing->control(now); }
  void heard(NodeId node, const ControlPacket& packet, Time now) { nodes_[node].pacing->heard(packet, now); }
  Time wake(NodeId node) const { return nodes_[node].pacing->wake(); }

 private:
  struct Flow {
    std::int64_t unacknowledged = 0;  // bytes
    Time next;  // its rate lets no packet go before
    RateLimiter limiter = {};  // the same where changes of the rate act at once
  };
  struct Node {
    std::unique_ptr<Pacing> pacing;
    std::unordered_map<NodeId, Flow> flows;  // by peer
  };

  bool fits(const Allowance& allowed, std::int64_t bytes) const;  // so many unacknowledged

  std::uint64_t block_bytes_;
  std::vector<Node> nodes_;
};

}  // namespace exanet
