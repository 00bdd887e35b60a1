// SPDX-License-Identifier: Apache-2.0
// Do the steps of TIMELY, Swift and HPCC have the values that their papers' equations give, by hand?
#include <doctest/doctest.h>

#include <cmath>

#include "core/nic/pacing/pacing.hpp"

using namespace exanet;

namespace {

constexpr std::uint64_t kLinkRate = 10'000'000'000;

// A round trip of 2 us in an empty network.
PacingSetup windowed() {
  return {.bits_per_second = kLinkRate,
          .packet_bytes = 1000,
          .block_bytes = 1000,
          .zero_load = [](NodeId, NodeId, std::uint32_t) { return Time::us(1); },
          .round_trip = Time::us(10)};
}

std::uint64_t window(Pacing& control, Time now) { return control.allowance(1, now).window_bytes; }

// Acknowledges a packet that took `trip`.
void acknowledge(Pacing& control, Time now, Time trip, double load = 0) {
  control.acknowledged(1, {1000, now - trip, 0, static_cast<std::uint64_t>(std::ldexp(load, 20))}, now);
}

}  // namespace

TEST_CASE("TIMELY: a rate grows by delta below T_low, and shrinks by how far a round trip is above T_high") {
  const auto control = pacing_kind("timely").make(windowed(), 0);
  const auto rate = [&] { return control->allowance(1, Time()).bits_per_second; };
  CHECK(rate() == kLinkRate);
  acknowledge(*control, Time::us(1000), Time::us(1000));
  CHECK(rate() == 6'000'000'000);  // 1 - 0.8 (1 - 500/1000)
  acknowledge(*control, Time::us(1010), Time::us(49));
  CHECK(rate() == 6'010'000'000);
  for (int i = 0; i < 1000; ++i) acknowledge(*control, Time::us(1010 + i), Time::us(10));
  CHECK(rate() == kLinkRate);
  for (int i = 0; i < 1000; ++i) acknowledge(*control, Time::us(100'000), Time::us(90'000));
  CHECK(rate() == 10'000'000);  // delta, the least
}

TEST_CASE("TIMELY: between T_low and T_high a rate follows the gradient of round trips") {
  PacingSetup setup = windowed();
  setup.parameters.timely_additive_rate_bit_per_s = 1'000'000;
  const auto control = pacing_kind("timely").make(setup, 0);
  const auto rate = [&] { return static_cast<double>(control->allowance(1, Time()).bits_per_second); };
  acknowledge(*control, Time::us(100), Time::us(100));
  CHECK(rate() == kLinkRate);  // no gradient yet, and it cannot grow
  acknowledge(*control, Time::us(110), Time::us(108));  // 8 us longer: 7 us smoothed
  double expected = 1e10 * (1 - 0.8 * 7 / 20);
  CHECK(rate() == doctest::Approx(expected).epsilon(1e-6));
  acknowledge(*control, Time::us(120), Time::us(100));  // 0.125 7 - 0.875 8: shorter
  for (int i = 1; i < 5; ++i) acknowledge(*control, Time::us(120 + i), Time::us(100));
  expected += 4e6 + 5e6;  // the fifth in a row is the first of five steps
  CHECK(rate() == doctest::Approx(expected).epsilon(1e-6));
  acknowledge(*control, Time::us(130), Time::us(180));  // more than a whole gradient: to the least
  CHECK(rate() == 1e6);
}

TEST_CASE("Swift: a window begins at what the link carries in its target, and grows by ai/w a packet below it") {
  const auto control = pacing_kind("swift").make(windowed(), 0);
  // 22 us at 10 Gb/s are 27500 bytes, and a block: 28.5 packets, which is also the most.
  CHECK(window(*control, Time()) == 28500);
  acknowledge(*control, Time::us(10), Time::us(5));
  CHECK(window(*control, Time::us(10)) == 28500);
}

TEST_CASE("Swift: above the target a window is cut by beta of the excess, half at most, once a round trip") {
  const auto control = pacing_kind("swift").make(windowed(), 0);
  const double a = 100 / (1 / std::sqrt(0.1) - 0.1);
  double w = 28.5;
  const auto target = [&] { return 22 + std::min(a / std::sqrt(w) - a / 10, 100.0); };
  const double first = target();
  acknowledge(*control, Time::us(100), Time::us(40));
  w *= 1 - 0.8 * (40 - first) / 40;
  CHECK(window(*control, Time::us(100)) == static_cast<std::uint64_t>(w * 1000));
  acknowledge(*control, Time::us(139), Time::us(40));  // too soon
  CHECK(window(*control, Time::us(139)) == static_cast<std::uint64_t>(w * 1000));
  acknowledge(*control, Time::us(600), Time::us(400));
  w *= 0.5;
  CHECK(window(*control, Time::us(600)) == static_cast<std::uint64_t>(w * 1000));
  acknowledge(*control, Time::us(601), Time::us(3));
  w += 1 / w;
  CHECK(window(*control, Time::us(601)) == static_cast<std::uint64_t>(w * 1000));
}

TEST_CASE("Swift: a window of less than a block is a rate of a window in a round trip") {
  const auto control = pacing_kind("swift").make(windowed(), 0);
  for (int i = 1; i <= 8; ++i) acknowledge(*control, Time::us(1000 * i), Time::us(800));
  const Allowance allowed = control->allowance(1, Time::us(9000));
  CHECK(allowed.window_bytes < 1000);
  const double expected = 28.5 / 256 * 1000 * 8e12 / 8e8;  // bit/s
  CHECK(std::abs(static_cast<double>(allowed.bits_per_second) - expected) < expected * 1e-6);
}

TEST_CASE("HPCC: above eta a window is that of a round trip ago by eta/U, and Wai") {
  const auto control = pacing_kind("hpcc").make(windowed(), 0);
  // 10 us at 10 Gb/s: 12500 bytes; Wai = 12500 0.05/100 = 6.25 bytes.
  CHECK(control->allowance(1, Time()).window_bytes == 12500);
  CHECK(control->allowance(1, Time()).bits_per_second == kLinkRate);
  acknowledge(*control, Time::us(10), Time::us(10), 1.9);
  CHECK(window(*control, Time::us(10)) == 6256);  // 12500 0.95/1.9 + 6.25
  // Within the same round trip it is from the same reference, which is that window now.
  acknowledge(*control, Time::us(11), Time::us(10), 1.9);
  CHECK(window(*control, Time::us(11)) == 3134);  // 6256.25/2 + 6.25 = 3134.375
  acknowledge(*control, Time::us(12), Time::us(10), 1.9);
  CHECK(window(*control, Time::us(12)) == 3134);
  const auto rate = static_cast<double>(control->allowance(1, Time::us(12)).bits_per_second);
  CHECK(std::abs(rate - 2507.5e6) < 2507.5);  // 3134.375 8 / 10 us; a stamp's 2^-20
}

TEST_CASE("HPCC: below eta a window grows by Wai for maxStage round trips, then to eta at once") {
  const auto control = pacing_kind("hpcc").make(windowed(), 0);
  acknowledge(*control, Time::us(10), Time::us(10), 3.8);
  double w = 12500.0 / 4 + 6.25;
  for (int stage = 0; stage < 5; ++stage) {
    acknowledge(*control, Time::us(20 + 10 * stage), Time::us(10), 0.5);
    w += 6.25;
    CHECK(window(*control, Time::us(20 + 10 * stage)) == static_cast<std::uint64_t>(w));
  }
  acknowledge(*control, Time::us(70), Time::us(10), 0.5);
  w = w * 0.95 / 0.5 + 6.25;
  CHECK(window(*control, Time::us(70)) == static_cast<std::uint64_t>(w));
}
