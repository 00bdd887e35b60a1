// SPDX-License-Identifier: Apache-2.0
// A flow's rate limiter: the rate that ACC's answers allow, and the time at which the next packet may go. Integers
// alone, as gateware/congestion/rtl/acc_limiter.sv has them.
//
// Problem: packets of a flow follow at a rate that changes at any time. Model: a packet has a cost, each unit of time
// (a picosecond of virtual time, or a cycle) pays the rate that holds in it, and the next packet may go when the last
// one is paid. What is paid beyond a packet's cost is lost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/network/queue_actions/contention_point.hpp"

namespace exanet {

// What ACC's answers make of a flow's rate, in steps of the grid.
class AccRate {
 public:
  struct Setup {
    std::uint64_t full, first;  // the port's rate; of a flow that waits for feedback. At least 1
    bool waits;  // for the first answer that a pulse has come before
    std::uint64_t rise;  // Wait-to-rise: the first increment, which doubles with each answer that allows more; 0: none
  };
  explicit AccRate(const Setup& setup) : setup_(setup), rate_(setup.full), rise_(setup.rise), waiting_(setup.waits) {}

  void answered(const FlowRatePacket& answer) {
    if (waiting_ && answer.init) return;
    waiting_ = false;
    const std::uint64_t allowed = std::clamp<std::uint64_t>(answer.explicit_rate, 1, setup_.full);
    const bool lifts = setup_.rise > 0 && allowed > rate_;
    rate_ = lifts ? std::min(rate_ + rise_, allowed) : allowed;
    rise_ = !lifts ? setup_.rise : rise_ > FlowRatePacket::kMost / 2 ? FlowRatePacket::kMost : rise_ * 2;
  }

  std::uint64_t rate() const { return rate_; }  // that its next FRP carries
  std::uint64_t paid_rate() const { return waiting_ ? std::min(rate_, setup_.first) : rate_; }  // that packets have

 private:
  Setup setup_;
  std::uint64_t rate_, rise_;
  bool waiting_;
};

// When packets of a flow may go.
class RateLimiter {
 public:
  // The unit of time in which the last packet is paid at the present rate; none: never, at rate 0.
  std::optional<std::int64_t> next(std::int64_t now) {
    pay(now);
    if (paid_ >= cost_) return now;
    if (rate_ == 0) return std::nullopt;
    return now + static_cast<std::int64_t>((cost_ - paid_ + rate_ - 1) / rate_);
  }
  // From `now` on. Contract: rates are below 2^60, and so are the rates times the time that a packet takes.
  void set_rate(std::uint64_t rate, std::int64_t now) {
    pay(now);
    rate_ = rate;
  }
  void sent(std::uint64_t cost, std::int64_t now) {
    cost_ = cost;
    paid_ = 0;
    paid_until_ = now;
  }

 private:
  void pay(std::int64_t now) {
    const auto units = static_cast<std::uint64_t>(now - paid_until_);
    paid_until_ = now;
    if (paid_ >= cost_ || rate_ == 0) return;
    const std::uint64_t needs = (cost_ - paid_ + rate_ - 1) / rate_;
    paid_ = units >= needs ? cost_ : paid_ + units * rate_;
  }

  std::uint64_t rate_ = 0, cost_ = 0, paid_ = 0;  // of the last packet
  std::int64_t paid_until_ = 0;
};

}  // namespace exanet
