// SPDX-License-Identifier: Apache-2.0
// Do the bins of the time line add up to what was waited, and are messages counted where their data come from?
#include "core/protocol/statistics.hpp"

#include <doctest/doctest.h>

#include <numeric>

using namespace exanet;

TEST_CASE("a wait of which only the length is known is spread evenly over its time, to the picosecond") {
  Timeline timeline(2);
  timeline.add_wait(1, Time::ns(50), Time::ns(350), Time::ps(100'001));
  const auto row = timeline.waits_ps().begin() + Timeline::kBins;
  CHECK(std::vector<std::uint64_t>(row, row + 4) == std::vector<std::uint64_t>{16'666, 33'334, 33'334, 16'667});
  timeline.add_wait(0, Time::us(1), Time::us(1'000'000), Time::ns(123'456'789));
  timeline.add_wait(0, Time::us(2'000'000), Time::us(2'000'010));
  timeline.add_wait(0, Time::us(3), Time::us(3), Time::us(1));
  timeline.add_wait(0, Time::us(3), Time::us(4), Time::ps(-1));
  const std::vector<std::uint64_t>& waits = timeline.waits_ps();
  CHECK(std::accumulate(waits.begin(), waits.begin() + Timeline::kBins, std::uint64_t{0}) == 123'466'789'000);
  CHECK(timeline.waited() == Time::ps(123'466'789'000 + 100'001));
}

TEST_CASE("a get is sent by its target, and counts as an operation of its initiator") {
  Statistics statistics(2);
  statistics.add({1, 0, 1000, 0, Protocol::get, Time(), Time::us(1)});
  statistics.add({0, 1, 10, 0, Protocol::put, Time(), Time::us(1)});
  CHECK(statistics.rma[0].bytes == 1010);
  CHECK(statistics.rma[1].messages == 0);
  CHECK(statistics.sent[1][0].bytes == 1000);
}

TEST_CASE("a class of sizes ends with a power of two, and the next one begins behind it") {
  CHECK(size_class(0) == 0);
  CHECK(size_class(1) == 0);
  CHECK(size_class(2) == 1);
  for (std::size_t i = 1; i < 63; ++i) {
    CHECK(size_class(most_of_class(i)) == i);
    CHECK(size_class(least_of_class(i)) == i);
    CHECK(least_of_class(i + 1) == most_of_class(i) + 1);
  }
  Statistics statistics(2);
  for (const std::uint64_t bytes : {0, 1, 63, 64, 65, 128}) statistics.add({0, 1, bytes, 0, Protocol::put, {}, {}});
  CHECK(statistics.sizes[0].messages == 2);
  CHECK(statistics.sizes[6].messages == 2);
  CHECK(statistics.sizes[7].bytes == 65 + 128);
}
