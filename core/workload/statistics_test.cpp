// SPDX-License-Identifier: Apache-2.0
// Is the end of a start-up found where it is known, and does a confidence interval hold the true mean as often as it
// says?
#include "core/workload/statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

#include "core/engine/random.hpp"

using namespace exanet;

namespace {

double normal(Random& random) {  // Box and Muller
  return std::sqrt(-2 * std::log1p(-random.unit())) * std::cos(6.283185307179586 * random.unit());
}

}  // namespace

TEST_CASE("a start-up of known length is cut off, and no more than a little of what follows") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed, 0);
    std::vector<double> series;
    for (int i = 0; i < 400; ++i) series.push_back((i < 60 ? 20 : 10) + normal(random));
    CAPTURE(seed);
    CHECK(mser5(series) >= 60);
    CHECK(mser5(series) <= 200);
    CHECK(has_settled(series));
  }
  // Without noise it is exact, to the five observations of a mean.
  std::vector<double> clean(300, 1.0);
  for (int i = 0; i < 35; ++i) clean[static_cast<std::size_t>(i)] = 7;
  CHECK(mser5(clean) == 35);
}

TEST_CASE("an exponential approach is cut off where it disappears in the noise") {
  int settled = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed, 1);
    std::vector<double> series;
    for (int i = 0; i < 1000; ++i) series.push_back(100 - 50 * std::exp(-i / 40.0) + normal(random));
    if (!has_settled(series)) continue;
    ++settled;
    CHECK(mser5(series) >= 80);  // 50 exp(-2) is still seven times the noise
  }
  CHECK(settled >= 18);
}

TEST_CASE("what keeps growing has not settled, nor what is too short to say") {
  std::vector<double> series;
  for (int i = 0; i < 1000; ++i) series.push_back(i);
  CHECK_FALSE(has_settled(series));
  for (const std::size_t length : {50u, 55u, 100u})
    CHECK_FALSE(has_settled({series.begin(), series.begin() + static_cast<std::ptrdiff_t>(length)}));
  CHECK_FALSE(has_settled(std::vector<double>(49, 1.0)));
  CHECK(has_settled(std::vector<double>(50, 1.0)));
  CHECK(mser5({}) == 0);
}

TEST_CASE("the interval of ten known means") {
  std::array<double, kBatches> sums, counts;
  for (std::size_t i = 0; i < kBatches; ++i) sums[i] = 3 * static_cast<double>(i + 1), counts[i] = 3;
  // Mean 5.5, standard deviation sqrt(55 / 6), Student's t of 9 degrees 2.262.
  CHECK(half_interval(sums, counts).value() == doctest::Approx(2.262 * std::sqrt(55.0 / 6 / 10)));
  counts[7] = 0;
  CHECK_FALSE(half_interval(sums, counts).has_value());  // 0 would say that it is certain
}

TEST_CASE("of observations that depend on each other, 95 % of the intervals hold the true mean") {
  int held = 0;
  constexpr int kTries = 1000;
  for (int run = 0; run < kTries; ++run) {
    Random random(static_cast<std::uint64_t>(run), 2);
    std::array<double, kBatches> sums{}, counts{};
    double state = 0, sum = 0;
    constexpr int kLength = 2000;
    for (int i = 0; i < kLength; ++i) {
      state = 0.8 * state + normal(random);  // each carries four fifths of the one before; true mean 0
      sums[static_cast<std::size_t>(i) * kBatches / kLength] += state;
      counts[static_cast<std::size_t>(i) * kBatches / kLength] += 1;
      sum += state;
    }
    held += std::abs(sum / kLength) <= half_interval(sums, counts).value();
  }
  CHECK(held >= 0.92 * kTries);
  CHECK(held <= 0.98 * kTries);
}

TEST_CASE("what grows through the window rises; what only varies, or grows by little, does not") {
  std::array<double, kBatches> sums, counts;
  counts.fill(100);
  Random random(3);
  int noise = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    for (double& sum : sums) sum = 100 * (1 + 0.3 * random.unit());
    noise += rises(sums, counts);
  }
  CHECK(noise <= 2);
  const auto grown = [&](double first, double step) {
    for (std::size_t i = 0; i < kBatches; ++i)
      sums[i] = 100 * (first + step * static_cast<double>(i) + 0.1 * random.unit());
    return rises(sums, counts);
  };
  CHECK(grown(2, 0.1));  // since two windows before
  CHECK_FALSE(grown(2, 0.01));
  CHECK_FALSE(grown(2, -0.1));
  grown(2, 0.1);
  CHECK(rises(sums, counts, 0.9));  // they grow by 1
  CHECK_FALSE(rises(sums, counts, 1.1));
  counts[4] = 0;
  CHECK_FALSE(rises(sums, counts));
}
