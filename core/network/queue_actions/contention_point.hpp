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
// again. An idle period leaves C'.
//
// Limits: a flow's round trip is shorter than a period. Rates are whole steps of one grid in all of the network.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/units/time.hpp"

namespace exanet {

// What an FRP carries, in a packet's stamp: a rate and an explicit rate, in steps of the grid.
struct FlowRatePacket {
  static constexpr std::uint64_t kStep = 100'000;  // bit/s
  static constexpr std::uint64_t kMost = (1u << 28) - 1;
  static constexpr std::uint64_t kFlag = 1ull << 63, kInit = 1ull << 62;
  std::uint64_t rate, explicit_rate;
  bool init = false;  // the first of a flow, which no pulse has counted

  std::uint64_t stamp() const { return kFlag | (init ? kInit : 0) | explicit_rate << 28 | rate; }
  static bool is(std::uint64_t stamp) { return (stamp & kFlag) != 0; }
  static FlowRatePacket of(std::uint64_t stamp) { return {stamp & kMost, stamp >> 28 & kMost, (stamp & kInit) != 0}; }
};

class ContentionPoint {
 public:
  // `bits_per_second` of payload, of which `margin_percent` stay free.
  ContentionPoint(std::uint64_t bits_per_second, std::uint32_t margin_percent, Time period)
      : capacity_(std::clamp<std::uint64_t>(bits_per_second * (100 - margin_percent) / 100 / FlowRatePacket::kStep, 1,
                                            FlowRatePacket::kMost)),
        period_(period),
        share_(capacity_) {}

  void pass(FlowRatePacket& packet, Time now) {
    advance(now);
    ++flows_;
    if (packet.rate + packet.rate / kClose < std::min(share_, previous_)) {
      sum_elsewhere_ += packet.rate;
      most_elsewhere_ = std::max(most_elsewhere_, packet.rate);
    } else {
      ++bound_here_;
    }
    packet.explicit_rate = std::min(packet.explicit_rate, share_);
  }

  std::uint64_t share(Time now) {
    advance(now);
    return share_;
  }

 private:
  // A rate so close to the share, by one part in so many, counts as bound here. Where two links have the same share,
  // rounding makes them differ, and each would take the flows for the other's: rates then alternate for ever.
  static constexpr std::uint64_t kClose = 256;

  // Evaluates the pulses until now.
  void advance(Time now) {
    const std::int64_t number = now.ps() / period_.ps();
    if (number == pulse_) return;
    previous_ = number == pulse_ + 1 ? share_ : capacity_;
    share_ = number == pulse_ + 1 ? evaluated() : capacity_;
    pulse_ = number;
    flows_ = bound_here_ = sum_elsewhere_ = most_elsewhere_ = 0;
  }

  std::uint64_t evaluated() const {
    if (flows_ == 0) return capacity_;
    const std::uint64_t left = capacity_ - std::min(sum_elsewhere_, capacity_);
    const std::uint64_t share = bound_here_ > 0 ? left / bound_here_ : left + most_elsewhere_;
    return std::max<std::uint64_t>(std::clamp(share, capacity_ / flows_, capacity_), 1);
  }

  std::uint64_t capacity_;  // C'; as all rates in steps of the grid
  Time period_;
  std::int64_t pulse_ = 0;
  std::uint64_t share_, previous_ = capacity_;  // FS, and that of the period before, which flows got
  std::uint64_t flows_ = 0, bound_here_ = 0, sum_elsewhere_ = 0, most_elsewhere_ = 0;
};

}  // namespace exanet
