// SPDX-License-Identifier: Apache-2.0
// A clock of its own rate for a test: when its next edge comes.
#pragma once

#include <cstdint>
#include <random>

namespace exanet::gateware {

class Clock {
 public:
  // `period` in any unit that all clocks of a test share; `pauses`: share of edges behind which the clock stops for up
  // to 40 periods.
  Clock(double period, double phase, double pauses = 0) : period_(period), next_(phase), pauses_(pauses) {}

  double next() const { return next_; }
  void advance(std::mt19937_64& random) {
    next_ += period_;
    if (pauses_ > 0 && std::uniform_real_distribution<double>()(random) < pauses_)
      next_ += period_ * static_cast<double>(1 + random() % 40);
  }

 private:
  double period_, next_, pauses_;
};

}  // namespace exanet::gateware
