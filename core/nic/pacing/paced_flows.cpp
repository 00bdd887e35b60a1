// SPDX-License-Identifier: Apache-2.0
#include "core/nic/pacing/paced_flows.hpp"

#include <algorithm>

namespace exanet {

namespace {

constexpr std::uint64_t kPsPerSecond = 1'000'000'000'000;

// Rounded up; a rate of 0 lets nothing go.
Time time_of(std::uint32_t bytes, std::uint64_t bits_per_second) {
  if (bits_per_second == Allowance::kUnlimited) return Time();
  if (bits_per_second == 0) return Time::never();
  return Time::ps(
      static_cast<std::int64_t>((std::uint64_t{bytes} * 8 * kPsPerSecond + bits_per_second - 1) / bits_per_second));
}

}  // namespace

PacedFlows::PacedFlows(const PacingKind& kind, const PacingSetup& setup, std::size_t nodes)
    : block_bytes_(setup.block_bytes), nodes_(nodes) {
  for (NodeId node = 0; node < nodes; ++node) nodes_[node].pacing = kind.make(setup, node);
}

Time PacedFlows::may_send(NodeId id, NodeId peer, std::uint32_t bytes, Time now) {
  Node& node = nodes_[id];
  const Allowance allowed = node.pacing->allowance(peer, now);
  Flow& flow = node.flows[peer];
  if (allowed.acts_at_once) flow.limiter.set_rate(allowed.bits_per_second, now.ps());
  if (allowed.bits_per_second == 0) return Time::never();
  if (flow.unacknowledged + bytes > std::max(allowed.window_bytes, block_bytes_)) return Time::never();
  if (!allowed.acts_at_once) return max(now, flow.next);
  const std::optional<std::int64_t> next = flow.limiter.next(now.ps());
  return next ? Time::ps(*next) : Time::never();
}

void PacedFlows::sent(NodeId id, NodeId peer, std::uint32_t bytes, Time now) {
  Node& node = nodes_[id];
  Flow& flow = node.flows[peer];
  flow.unacknowledged += bytes;
  const Allowance allowed = node.pacing->allowance(peer, now);
  if (allowed.acts_at_once)
    flow.limiter.sent(std::uint64_t{bytes} * 8 * kPsPerSecond, now.ps());
  else
    flow.next = now + time_of(bytes, allowed.bits_per_second);
  node.pacing->sent(peer, bytes, now);
}

void PacedFlows::acknowledged(NodeId id, NodeId peer, const Feedback& feedback, Time now) {
  Node& node = nodes_[id];
  node.flows[peer].unacknowledged -= feedback.bytes;
  node.pacing->acknowledged(peer, feedback, now);
}

}  // namespace exanet
