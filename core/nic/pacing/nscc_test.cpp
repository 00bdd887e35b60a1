// SPDX-License-Identifier: Apache-2.0
// NSCC and RCCC step by step, against their equations worked out by hand.
//
// Setting: 100 Gb/s, packets of 4000 bytes, a network's round trip of 12 us, flows of 10 us. So the bandwidth-delay
// product of the network is 150,000 bytes and a = 1; T = 9 us and b = 0.75; alpha = 4 x 4000 x 0.75/9e6 per byte and ps
// = 1/750; fi = 20,000, eta = 600; of the flow 125,000, and windows go up to 187,500 bytes.
#include "core/nic/pacing/nscc.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "core/config/error.hpp"

using namespace exanet;

namespace {

constexpr std::uint32_t kNsccPacket = 4000;
constexpr Time kNsccTrip = Time::us(10);

const NsccConstants& nscc_constants() {
  static const NsccConstants constants(kNsccPacket, 100'000'000'000, Time::us(12));
  return constants;
}

// A window that losses of so many bytes have brought down from its first 187,500.
NsccWindow nscc_window(std::uint32_t less) {
  NsccWindow window(nscc_constants(), kNsccTrip);
  window.sent(less);
  window.lost({less, Loss::Why::kTimeout}, false, Time());
  return window;
}

PacingSetup rccc_setup() {
  PacingSetup setup{100'000'000'000, kNsccPacket, kNsccPacket,
                    [](NodeId, NodeId, std::uint32_t) { return Time::us(5); }};
  setup.round_trip = Time::us(12);
  return setup;
}

}  // namespace

TEST_CASE("NSCC: constants follow from the network's round trip and rate") {
  const NsccConstants& k = nscc_constants();
  CHECK(k.target_ps == doctest::Approx(9e6));
  CHECK(k.alpha == doctest::Approx(1.0 / 750));
  CHECK(k.fair == doctest::Approx(20'000));
  CHECK(k.constant == doctest::Approx(600));
  CHECK(k.fast == doctest::Approx(0.25));
  CHECK_THROWS_AS(NsccConstants(4000, 100'000'000'000, Time()), ConfigError);
}

TEST_CASE(
    "NSCC: without marks a window grows in proportion to what is left to the target, and by eta each round trip") {
  NsccWindow window = nscc_window(87'500);
  CHECK(window.bytes() == doctest::Approx(100'000));
  // d = 3 us: inc = n (T - d)/750 = 8000 n. The adjustment is due, 20 us after the start: w += 8000 x 4000/w + 600.
  window.sent(4000);
  window.acknowledged(4000, false, kNsccTrip + Time::us(3), Time::us(20));
  CHECK(window.bytes() == doctest::Approx(100'000 + 320 + 600));
  // Within a round trip and 8 packets nothing is adjusted; with the ninth it is, without eta.
  const double before = window.bytes();
  for (int i = 1; i <= 8; ++i) {
    window.acknowledged(4000, false, kNsccTrip + Time::us(3), Time::us(20) + Time::ns(i));
    CHECK(window.bytes() == doctest::Approx(before));
  }
  window.acknowledged(4000, false, kNsccTrip + Time::us(3), Time::us(21));
  CHECK(window.bytes() == doctest::Approx(before + 9 * 8000 * 4000 / before));
}

TEST_CASE("NSCC: beyond the target, still without marks, growth is fair: the same for each byte") {
  NsccWindow window = nscc_window(87'500);
  window.acknowledged(4000, false, kNsccTrip + Time::us(10), Time::us(20));
  CHECK(window.bytes() == doctest::Approx(100'000 + 20'000.0 * 4000 / 100'000 + 600));
}

TEST_CASE("NSCC: once a window has come without delay, a quarter of each further byte is added") {
  NsccWindow window = nscc_window(147'500);  // leaves 40,000
  const double first = window.bytes();
  for (int i = 0; i < 10; ++i) window.acknowledged(4000, false, kNsccTrip, Time::ns(i + 1));
  const double slow =
      window.bytes();  // 40,000 bytes are no more than the window; adjustments by alpha have made it larger
  CHECK(slow > first);
  CHECK(slow == doctest::Approx(first + 9 * 4000 * 12'000 / first));
  window.acknowledged(8000, false, kNsccTrip, Time::ns(20));
  CHECK(window.bytes() == doctest::Approx(slow));  // 48,000 bytes are less than w = 50,800
  window.acknowledged(4000, false, kNsccTrip, Time::ns(21));
  CHECK(window.bytes() == doctest::Approx(slow + 1000));
}

TEST_CASE("NSCC: marks cut a window once a round trip, and only where the average delay is beyond the target") {
  NsccWindow window = nscc_window(0);
  const double before = window.bytes();
  window.acknowledged(4000, true, kNsccTrip + Time::us(20), Time::us(30));
  CHECK(window.bytes() == doctest::Approx(before));  // the average is 1.25 % of 20 us, below 9 us
  double average = 0.0125 * 20;
  int cuts = 0;
  for (int i = 2; i < 59; ++i) {
    average += 0.0125 * (20 - average);
    const double w = window.bytes();
    window.acknowledged(4000, true, kNsccTrip + Time::us(20), Time::us(30 + i));
    if (average <= 9) CHECK(window.bytes() >= w);  // eta alone
    if (average > 9 && window.bytes() < w) {
      ++cuts;
      CHECK(window.bytes() == doctest::Approx(w * (1 - 0.8 * (average - 9) / average)).epsilon(0.02));
    }
  }
  CHECK(cuts == 1);  // from the 48th on: the next would be 10 us later
}

TEST_CASE("NSCC: a trimmed packet takes its bytes, unless it was the last link's and the receiver grants credits") {
  for (const bool granted : {false, true})
    for (const auto why : {Loss::Why::kTrimmed, Loss::Why::kTrimmedLast}) {
      NsccWindow window = nscc_window(0);
      window.sent(4000);
      window.lost({4000, why}, granted, Time::us(1));
      CHECK(window.bytes() == (granted && why == Loss::Why::kTrimmedLast ? 187'500 : 183'500));
    }
}

TEST_CASE("NSCC: quick adaptation sets the window to what has come in a round trip and a target's time") {
  NsccWindow window = nscc_window(0);
  window.sent(187'500);
  window.acknowledged(4000, true, kNsccTrip, Time::us(1));  // the first period begins, and ends at 20 us
  window.acknowledged(4000, true, kNsccTrip, Time::us(10));
  window.acknowledged(4000, true, kNsccTrip, Time::us(15));
  window.lost({4000, Loss::Why::kTrimmed}, false, Time::us(20));
  CHECK(window.bytes() > 100'000);
  window.lost({4000, Loss::Why::kTrimmed}, false, Time::us(21));
  CHECK(window.bytes() == 8000);
  // What was in flight then is ignored: 187,500 less three packets acknowledged and two lost.
  window.lost({4000, Loss::Why::kTrimmed}, false, Time::us(22));
  CHECK(window.bytes() == 8000);
}

TEST_CASE("RCCC: a source begins with 1.5 bandwidth-delay products, which end with the first answer") {
  const auto control = pacing_kind("rccc").make(rccc_setup(), 0);
  CHECK(control->allowance(7, Time()).credit_bytes == 187'500);
  control->sent(7, 4000, Time());
  CHECK(control->allowance(7, Time()).credit_bytes == 183'500);
  // It asks for its backlog, at most 1.5 products, less what it has, but for a packet as long as nobody has answered.
  CHECK(control->demand(7, 1'000'000, 4000, 1) == (4000 + 187'500 - 183'500 + 255) / 256);
  control->acknowledged(7, {4000, Time(), 0, 0}, Time::us(10));
  CHECK(control->allowance(7, Time()).credit_bytes == 0);
  CHECK(control->demand(7, 1'000'000, 0, 1) == (187'500 + 255) / 256);
  CHECK(control->demand(7, 1'000'000, 0, 3) == (62'500 + 255) / 256);
  CHECK(control->demand(7, 512, 0, 1) == 2);
  // Grants are sums: an old one counts no more.
  control->heard({7, true, 10}, Time::us(11));
  control->heard({7, true, 10}, Time::us(12));
  control->heard({7, true, 4}, Time::us(12));
  CHECK(control->allowance(7, Time()).credit_bytes == 2560);
}

TEST_CASE("RCCC: a receiver grants four packets at a time, in turn, at 0.99 of its rate, and no more than was asked") {
  const auto control = pacing_kind("rccc").make(rccc_setup(), 9);
  Packet data{1, 9, kNsccPacket, 0, 0, 0};
  data.stamp = 100;  // quanta of 256 bytes
  control->arrived(1, data, Time::us(1));
  data.stamp = 62;
  control->arrived(2, data, Time::us(1));
  Time now = Time::us(1);
  std::vector<std::pair<NodeId, std::uint64_t>> grants;
  for (int i = 0; i < 3; ++i) {
    const auto grant = control->control(now);
    REQUIRE(grant);
    grants.emplace_back(grant->peer, grant->stamp);
    CHECK(!control->control(now));
    const double bytes = i == 2 ? 38 * 256 : 62 * 256;
    CHECK(static_cast<double>((control->wake() - now).ps()) == doctest::Approx(bytes * 80 / 0.99).epsilon(1e-4));
    now = control->wake();
  }
  CHECK(grants == std::vector<std::pair<NodeId, std::uint64_t>>{{1, 62}, {2, 62}, {1, 100}});
}
