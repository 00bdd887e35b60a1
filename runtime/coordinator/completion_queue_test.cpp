// SPDX-License-Identifier: Apache-2.0
// Does a rank get its completions in order, once, at a cost that does not grow with how many wait?
#include "runtime/coordinator/completion_queue.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "core/engine/random.hpp"

using namespace exanet;

namespace {

std::uint64_t moved = 0;

struct Counted {
  Counted() = default;
  Counted(const Counted& o) : time(o.time), number(o.number) { ++moved; }
  Counted& operator=(const Counted& o) {
    time = o.time;
    number = o.number;
    ++moved;
    return *this;
  }
  Time time;
  std::uint64_t number = 0;
};

void add(CompletionQueue<Counted>& queue, Time time, std::uint64_t number) {
  Counted& added = queue.add();
  added.time = time;
  added.number = number;
}

}  // namespace

TEST_CASE("completions: the earliest first, those of one time as they came, none before its time") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    Random random(seed, 0);
    CompletionQueue<Counted> queue;
    std::vector<Counted> expected;
    std::uint64_t number = 0;
    for (int round = 0; round < 200; ++round) {
      for (std::uint32_t n = random.below(5); n > 0; --n) {
        const Time time = Time::ps(random.below(100));
        expected.emplace_back();
        expected.back().time = time;
        expected.back().number = number;
        add(queue, time, number++);
      }
      std::stable_sort(expected.begin(), expected.end(),
                       [](const Counted& a, const Counted& b) { return a.time < b.time; });
      const Time horizon = Time::ps(random.below(100));
      std::uint32_t space = random.below(6);
      if (!expected.empty()) CHECK(queue.front().number == expected.front().number);
      const std::size_t left = queue.take_until(horizon, [&](const Counted& taken) {
        if (space == 0) return false;
        --space;
        CHECK(taken.number == expected.front().number);
        CHECK(taken.time <= horizon);
        expected.erase(expected.begin());
        return true;
      });
      CHECK(queue.size() == expected.size());
      CHECK(queue.empty() == expected.empty());
      CHECK(left == static_cast<std::size_t>(std::count_if(expected.begin(), expected.end(),
                                                           [&](const Counted& e) { return e.time <= horizon; })));
    }
  }
}

TEST_CASE("completions: 20000 that wait, taken 16 at a time while others come, are moved a few times each") {
  CompletionQueue<Counted> queue;
  constexpr std::uint64_t kMany = 20000;
  for (std::uint64_t i = 0; i < kMany; ++i) add(queue, Time::ps(static_cast<std::int64_t>(i)), i);
  moved = 0;
  std::uint64_t came = kMany;
  while (!queue.empty()) {
    int space = 16;
    queue.take_until(Time::never(), [&space](const Counted&) { return space-- > 0; });
    if (came < 2 * kMany) {
      add(queue, Time::ps(static_cast<std::int64_t>(came + 1)), came);  // two of them in the wrong order
      add(queue, Time::ps(static_cast<std::int64_t>(came)), came + 1);
      came += 2;
    }
  }
  CHECK(moved < 10 * came);
}
