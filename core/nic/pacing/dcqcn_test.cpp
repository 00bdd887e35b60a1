// SPDX-License-Identifier: Apache-2.0
// Do DCQCN's steps have the values that its paper's equations give, by hand?
#include <doctest/doctest.h>

#include "core/config/error.hpp"
#include "core/nic/pacing/pacing.hpp"

using namespace exanet;

namespace {

constexpr std::uint64_t kLine = 10'000'000'000;

PacingSetup setup() { return {.bits_per_second = kLine, .packet_bytes = 256, .block_bytes = 4096, .zero_load = {}}; }
std::unique_ptr<Pacing> source() { return pacing_kind("dcqcn").make(setup(), 0); }
std::uint64_t rate(Pacing& control, Time now) { return control.allowance(1, now).bits_per_second; }

Packet data(std::uint8_t notes) {
  Packet packet{1, 0, 256, 1, 0, 0};
  packet.notes = notes;
  return packet;
}

}  // namespace

TEST_CASE("DCQCN: a notification halves a new flow's rate, for its alpha is 1, and half of what is left again") {
  const auto control = source();
  CHECK(rate(*control, Time()) == Allowance::kUnlimited);
  control->heard({1, true, 0}, Time::us(10));
  CHECK(rate(*control, Time::us(10)) == kLine / 2);  // Rc (1 - 1/2)
  control->heard({1, true, 0}, Time::us(20));
  CHECK(rate(*control, Time::us(20)) == kLine / 4);  // alpha = (1 - 1/256) 1 + 1/256 = 1
}

TEST_CASE("DCQCN: alpha decays by 1 - g a timer, and the next cut is by half of it") {
  const auto control = source();
  control->heard({1, true, 0}, Time());
  // Two periods of both timers: alpha = (255/256)^2, Rc = (Rt + Rc)/2 twice, 7.5 and 8.75 Gb/s.
  CHECK(rate(*control, Time::us(54)) == 5'000'000'000);
  CHECK(rate(*control, Time::us(55)) == 7'500'000'000);
  CHECK(rate(*control, Time::us(110)) == 8'750'000'000);
  control->heard({1, true, 0}, Time::us(110));
  const double alpha = 255.0 / 256 * 255 / 256;
  CHECK(rate(*control, Time::us(110)) == static_cast<std::uint64_t>(8'750'000'000 * (1 - alpha / 2)));
}

TEST_CASE("DCQCN: fast recovery takes F - 1 expiries of the timer, then the target grows by Rai") {
  PacingSetup own = setup();
  own.parameters.dcqcn_additive_rate_bit_per_s = 1'000'000'000;
  const auto control = pacing_kind("dcqcn").make(own, 0);
  control->heard({1, true, 0}, Time());
  control->heard({1, true, 0}, Time());  // Rc 2.5, Rt 5 Gb/s
  std::uint64_t expected = 2'500'000'000;
  for (int i = 1; i <= 4; ++i) {
    expected = (5'000'000'000 + expected + 1) / 2;
    CHECK(rate(*control, Time::us(55 * i)) == expected);
  }
  expected = (6'000'000'000 + expected + 1) / 2;  // the fifth
  CHECK(rate(*control, Time::us(55 * 5)) == expected);
}

TEST_CASE("DCQCN: bytes raise the rate as time does, and both past F raise it in steps that grow") {
  PacingSetup own = setup();
  own.parameters.dcqcn_byte_counter_bytes = 1000;
  own.parameters.dcqcn_recovery_steps = 1;
  own.parameters.dcqcn_additive_rate_bit_per_s = 1'000'000;
  own.parameters.dcqcn_hyper_rate_bit_per_s = 10'000'000;
  const auto control = pacing_kind("dcqcn").make(own, 0);
  for (int i = 0; i < 3; ++i) control->heard({1, true, 0}, Time());  // Rc 1.25, Rt 2.5 Gb/s
  control->sent(1, 999, Time());
  CHECK(rate(*control, Time()) == 1'250'000'000);
  control->sent(1, 1, Time());  // one expiry, F: additive
  std::uint64_t target = 2'501'000'000, expected = (target + 1'250'000'000 + 1) / 2;
  CHECK(rate(*control, Time()) == expected);
  control->sent(1, 1000, Time());  // bytes 2, timer 0: additive
  target += 1'000'000, expected = (target + expected + 1) / 2;
  CHECK(rate(*control, Time()) == expected);
  for (int i = 1; i <= 2; ++i) {  // the timer's first expiry: additive; its second: min(2, 2) > F by one, i = 2
    target += i == 1 ? 1'000'000 : 20'000'000, expected = (target + expected + 1) / 2;
    CHECK(rate(*control, Time::us(55 * i)) == expected);
  }
}

TEST_CASE("DCQCN: a receiver sends one notification in 50 us for each source, of marked packets alone") {
  const auto control = source();
  control->arrived(1, data(0), Time());
  CHECK(!control->control(Time()));
  control->arrived(1, data(Packet::kCongested), Time());
  const auto packet = control->control(Time());
  REQUIRE(packet);
  CHECK((packet->peer == 1 && packet->report));
  CHECK(!control->control(Time()));
  control->arrived(1, data(Packet::kCongested), Time::us(50) - Time::ps(1));
  CHECK(!control->control(Time::us(50) - Time::ps(1)));
  control->arrived(2, data(Packet::kCongested), Time::us(50) - Time::ps(1));
  CHECK(control->control(Time::us(50) - Time::ps(1))->peer == 2);
  control->arrived(1, data(Packet::kCongested), Time::us(50));
  CHECK(control->control(Time::us(50))->peer == 1);
}

TEST_CASE("DCQCN: constants of nothing are rejected by name") {
  PacingSetup own = setup();
  own.parameters.dcqcn_alpha_timer = Time();
  CHECK_THROWS_WITH_AS(pacing_kind("dcqcn").make(own, 0), doctest::Contains("dcqcn_alpha_timer must be more than 0"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(require_its_action(pacing_kind("dcqcn"), "none"), doctest::Contains("say ecn-ramp or ecn"),
                       ConfigError);
}
