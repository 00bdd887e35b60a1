// SPDX-License-Identifier: Apache-2.0
// ACC's contention point: gives the flows of one link their max-min shares, and keeps nothing of any one of them.
//
// Problem: a share depends on which flows another link holds lower, which a link only learns from the flows themselves.
// Source: RED-SEA's report, section 8.1, which names flow-rate packets (FRPs), contention points and pulses, but not
// their layout and equations; these are ours. Model: with each period each flow sends an FRP with its present rate, and
// the point lowers the packet's explicit rate to its fair share FS. It counts the flows, N, and distinguishes two
// kinds: a rate below FS, and below that of the period before, which it stems from, is bound elsewhere, and goes into
// the sum Se and the largest Me; the others are bound here, Nh of them. With a pulse FS becomes (C' - Se)/Nh, or C' -
// Se + Me when nobody is bound here, from C'/N to C', where C' is the link's rate less a margin; the counts begin
// again. An idle period leaves C'. The packet of a flow that ends
// takes back what its FRP of the period has added; where a pulse has come in between, nothing.
//
// All numbers are integers, as wide as the gateware's (gateware/congestion/rtl/acc_point.sv), which ends its counts at
// their largest values, and has the new share kEvaluationCycles behind the pulse.
//
// Limits: a flow's round trip is shorter than a period. Rates are whole steps of one grid in all of the network.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/network/config.hpp"
#include "core/units/time.hpp"

namespace exanet {

// What an FRP carries, in a packet's stamp: a rate and an explicit rate, in steps of the grid.
struct FlowRatePacket {
  static constexpr std::uint64_t kStep = 100'000;  // bit/s
  static constexpr std::uint64_t kMost = (1u << 28) - 1;
  static constexpr std::uint64_t kFlag = 1ull << 63, kInit = 1ull << 62, kEnds = 1ull << 61, kOdd = 1ull << 60;
  std::uint64_t rate, explicit_rate;
  bool init = false;  // the first of a flow, which no pulse has counted
  bool ends = false;  // the last of a flow: it has sent an FRP in this period
  bool odd = false;  // number of the source's period, modulo 2

  std::uint64_t stamp() const {
    return kFlag | (init ? kInit : 0) | (ends ? kEnds : 0) | (odd ? kOdd : 0) | explicit_rate << 28 | rate;
  }
  static bool is(std::uint64_t stamp) { return (stamp & kFlag) != 0; }
  static FlowRatePacket of(std::uint64_t stamp) {
    return {stamp & kMost, stamp >> 28 & kMost, (stamp & kInit) != 0, (stamp & kEnds) != 0, (stamp & kOdd) != 0};
  }
};

// The point's arithmetic, without times.
class FairShare {
 public:
  // From a pulse's cycle to the first one with the new share: two quotients, a bit a cycle, and five steps.
  static constexpr std::int64_t kEvaluationCycles = 2 * 28 + 6;
  static constexpr std::uint64_t kMostFlows = (1u << 16) - 1;

  // `capacity`: C', from 1 to kMost.
  explicit FairShare(std::uint64_t capacity) : capacity_(capacity), share_(capacity), limit_(capacity) {}

  std::uint64_t share() const { return share_; }

  void pass(FlowRatePacket& packet) {
    if (!packet.ends || packet.odd == odd_) count(packet);
    packet.explicit_rate = std::min(packet.explicit_rate, share_);
  }

  // A period begins.
  void pulse() {
    evaluated_ = evaluated();
    odd_ = !odd_;
    flows_ = bound_here_ = sum_elsewhere_ = most_elsewhere_ = 0;
  }

  // The evaluation is done.
  void take() {
    limit_ = std::min(share_, evaluated_);
    share_ = evaluated_;
  }

 private:
  // A rate so close to the share, by one part in so many, counts as bound here. Where two links have the same share,
  // rounding makes them differ, and each would take the flows for the other's: rates then alternate for ever.
  static constexpr std::uint64_t kClose = 256;

  void count(const FlowRatePacket& packet) {
    const bool elsewhere = packet.rate + packet.rate / kClose < limit_;
    if (!packet.ends) {
      flows_ = std::min(flows_ + 1, kMostFlows);
      if (!elsewhere) bound_here_ = std::min(bound_here_ + 1, kMostFlows);
      if (elsewhere) sum_elsewhere_ = std::min(sum_elsewhere_ + packet.rate, FlowRatePacket::kMost);
      if (elsewhere) most_elsewhere_ = std::max(most_elsewhere_, packet.rate);
    } else if (flows_ > 0) {
      --flows_;
      if (!elsewhere) bound_here_ -= std::min<std::uint64_t>(bound_here_, 1);
      if (elsewhere) sum_elsewhere_ -= std::min(sum_elsewhere_, packet.rate);
    }
  }

  std::uint64_t evaluated() const {
    if (flows_ == 0) return capacity_;
    const std::uint64_t left = capacity_ - std::min(sum_elsewhere_, capacity_);
    const std::uint64_t share = bound_here_ > 0 ? left / bound_here_ : left + most_elsewhere_;
    return std::max<std::uint64_t>(std::clamp(share, capacity_ / flows_, capacity_), 1);
  }

  std::uint64_t capacity_;  // C'; as all rates in steps of the grid
  std::uint64_t share_;  // FS
  std::uint64_t limit_;  // the smaller one of FS and that of the period before, which flows got
  std::uint64_t evaluated_ = 0;
  bool odd_ = false;  // number of the period, modulo 2
  std::uint64_t flows_ = 0, bound_here_ = 0, sum_elsewhere_ = 0, most_elsewhere_ = 0;
};

// A point with the times of its pulses.
class ContentionPoint {
 public:
  struct Clock {
    Time period, evaluation;  // between pulses; from a pulse to its share, less than a period
  };
  // `bits_per_second` of payload, of which `margin_percent` stay free.
  ContentionPoint(std::uint64_t bits_per_second, std::uint32_t margin_percent, Clock clock)
      : clock_(clock),
        share_(std::clamp<std::uint64_t>(bits_per_second * (100 - margin_percent) / 100 / FlowRatePacket::kStep, 1,
                                         FlowRatePacket::kMost)) {}

  void pass(FlowRatePacket& packet, Time now) {
    advance(now);
    share_.pass(packet);
  }

  std::uint64_t share(Time now) {
    advance(now);
    return share_.share();
  }

 private:
  // Evaluates the pulses until now. Behind two idle periods further ones change nothing but the number.
  void advance(Time now) {
    const std::int64_t number = now.ps() / clock_.period.ps();
    if (number - pulse_ > 4) pulse_ += (number - pulse_ - 3) / 2 * 2;
    for (; pulse_ < number; ++pulse_) {
      if (evaluates_) share_.take();
      share_.pulse();
      evaluates_ = true;
    }
    if (!evaluates_ || now < clock_.period * number + clock_.evaluation) return;
    share_.take();
    evaluates_ = false;
  }

  Clock clock_;
  FairShare share_;
  std::int64_t pulse_ = 0;
  bool evaluates_ = false;
};

inline ContentionPoint::Clock acc_clock(const RouterConfig& router) {
  return {router.acc_period, router.cycle * FairShare::kEvaluationCycles};
}

}  // namespace exanet
