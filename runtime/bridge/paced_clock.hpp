// SPDX-License-Identifier: Apache-2.0
// The time of a simulated network that follows the host's clock.
//
// Model: virtual time is the host's time since the start, divided by a factor of dilation. A simulator that is behind
// by more than a bound cannot catch up: the clock then waits for it, and what it has waited is counted. Lags are in the
// host's time.
#pragma once

#include <cstdint>

#include "core/units/time.hpp"

namespace exanet {

class PacedClock {
 public:
  PacedClock(double dilation, std::int64_t bound_ns, std::int64_t start_ns)
      : dilation_(dilation), bound_ns_(bound_ns), origin_ns_(start_ns) {}

  Time at(std::int64_t host_ns) const {
    return Time::ps(static_cast<std::int64_t>(static_cast<long double>(host_ns - origin_ns_) * 1000 / dilation_));
  }
  // When `at` is due, on the host's clock.
  std::int64_t due_ns(Time at) const {
    return origin_ns_ + static_cast<std::int64_t>(static_cast<long double>(at.ps()) * dilation_ / 1000);
  }

  // The simulator has got to `reached` by now. Waits for it beyond the bound.
  void keep(Time reached, std::int64_t host_ns) {
    const std::int64_t behind = host_ns - due_ns(reached) - bound_ns_;
    if (behind <= 0) return;
    origin_ns_ += behind;
    waited_ns_ += behind;
  }

  std::int64_t waited_ns() const { return waited_ns_; }

 private:
  double dilation_;
  std::int64_t bound_ns_, origin_ns_;
  std::int64_t waited_ns_ = 0;
};

}  // namespace exanet
