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

bool PacedFlows::fits(const Allowance& allowed, std::int64_t bytes) const {
  return bytes <= 0 || static_cast<std::uint64_t>(bytes) <= std::max(allowed.window_bytes, block_bytes_);
}

bool PacedFlows::closes(NodeId id, NodeId peer, std::uint32_t bytes, std::uint32_t next, Time now) {
  Node& node = nodes_[id];
  const Allowance allowed = node.pacing->allowance(peer, now);
  return allowed.credit_bytes <= bytes || !fits(allowed, node.flows[peer].unacknowledged + bytes + next);
}

Time PacedFlows::may_send(NodeId id, NodeId peer, std::uint32_t bytes, Time now) {
  Node& node = nodes_[id];
  const Allowance allowed = node.pacing->allowance(peer, now);
  Flow& flow = node.flows[peer];
  if (allowed.acts_at_once) flow.limiter.set_rate(allowed.bits_per_second, now.ps());
  if (allowed.bits_per_second == 0 || allowed.credit_bytes <= 0) return Time::never();
  if (!fits(allowed, flow.unacknowledged + bytes)) return Time::never();
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

void PacedFlows::lost(NodeId id, NodeId peer, const Loss& loss, Time now) {
  Node& node = nodes_[id];
  node.flows[peer].unacknowledged -= loss.bytes;
  node.pacing->lost(peer, loss, now);
}

}  // namespace exanet
