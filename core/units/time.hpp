// SPDX-License-Identifier: Apache-2.0
// Simulated time: an integer number of picoseconds in a strong type, so that a bare number never becomes a time by
// accident. 64 signed bits reach 106 days, and every clock of the published machines (6.4 ns, 4 ns, 2.5 ns) is a whole
// number of picoseconds.
#pragma once

#include <cstdint>

namespace exanet {

class Time {
 public:
  constexpr Time() = default;
  static constexpr Time ps(std::int64_t v) { return Time(v); }
  static constexpr Time ns(std::int64_t v) { return Time(v * 1000); }
  static constexpr Time us(std::int64_t v) { return Time(v * 1000000); }
  static constexpr Time never() { return Time(INT64_MAX); }

  constexpr std::int64_t ps() const { return v_; }
  constexpr double us_double() const { return static_cast<double>(v_) * 1e-6; }

  // One by one: of a defaulted three-way comparison GCC 12 makes two branches, or a number that it compares once more.
  constexpr bool operator==(Time o) const { return v_ == o.v_; }
  constexpr bool operator<(Time o) const { return v_ < o.v_; }
  constexpr bool operator>(Time o) const { return v_ > o.v_; }
  constexpr bool operator<=(Time o) const { return v_ <= o.v_; }
  constexpr bool operator>=(Time o) const { return v_ >= o.v_; }
  constexpr Time operator+(Time o) const { return Time(v_ + o.v_); }
  constexpr Time operator-(Time o) const { return Time(v_ - o.v_); }
  constexpr Time operator*(std::int64_t n) const { return Time(v_ * n); }
  constexpr Time& operator+=(Time o) {
    v_ += o.v_;
    return *this;
  }

 private:
  explicit constexpr Time(std::int64_t v) : v_(v) {}
  std::int64_t v_ = 0;
};

constexpr Time max(Time a, Time b) { return a < b ? b : a; }
constexpr Time min(Time a, Time b) { return a < b ? a : b; }

}  // namespace exanet
