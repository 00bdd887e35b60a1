// SPDX-License-Identifier: Apache-2.0
#include "core/engine/event_queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <utility>

using namespace exanet;

namespace {

struct Log {
  EventQueue* queue;
  std::vector<std::pair<std::int64_t, std::uint32_t>> seen;
  std::uint32_t handler = 0;
  std::uint32_t next = 0;
};

void record(void* self, Time now, std::uint32_t a, std::uint64_t b) {
  static_cast<Log*>(self)->seen.emplace_back(now.ps(), a + static_cast<std::uint32_t>(b));
}

// Schedules b followers, the first at the present time.
void spawn(void* self, Time now, std::uint32_t a, std::uint64_t b) {
  Log& log = *static_cast<Log*>(self);
  log.seen.emplace_back(now.ps(), a);
  for (std::uint64_t i = 0; i < b; ++i) {
    log.queue->schedule(now + Time::ps(static_cast<std::int64_t>((i * 7919 + a) % 13 * (i != 0))), log.handler,
                        log.next++, b > 1 ? b - 2 : 0);
    const Time next = log.queue->next_time();
    CHECK(next >= now);
    CHECK(!log.queue->empty());
  }
}

}  // namespace

TEST_CASE("events run by time, and in the order of scheduling at the same time") {
  EventQueue queue;
  Log log{&queue, {}};
  const std::uint32_t h = queue.add_handler(record, &log);
  std::mt19937_64 random(1);
  std::vector<std::pair<std::int64_t, std::uint32_t>> expected;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const auto at = static_cast<std::int64_t>(random() % 500);
    queue.schedule(Time::ps(at), h, i);
    expected.emplace_back(at, i);
  }
  std::stable_sort(expected.begin(), expected.end(), [](auto& x, auto& y) { return x.first < y.first; });
  while (!queue.empty()) queue.run_one();
  CHECK(log.seen == expected);
  CHECK(queue.processed() == 5000);
  CHECK(queue.next_time() == Time::never());
}

TEST_CASE("handlers that schedule none, one or several followers keep the order") {
  EventQueue queue;
  Log log{&queue, {}};
  log.handler = queue.add_handler(spawn, &log, nullptr, &log, sizeof log);  // what is fetched need not be there
  for (std::uint64_t n : {9u, 0u, 1u, 6u})
    queue.schedule(Time::ps(static_cast<std::int64_t>(n)), log.handler, log.next++, n);
  while (!queue.empty()) queue.run_one();
  CHECK(log.seen.size() == log.next);
  CHECK(log.seen.size() > 100);
  for (std::size_t i = 1; i < log.seen.size(); ++i) {
    CHECK(log.seen[i - 1].first <= log.seen[i].first);
    if (log.seen[i - 1].first == log.seen[i].first) CHECK(log.seen[i - 1].second < log.seen[i].second);
  }
}

TEST_CASE("run_until takes what is due and moves the clock") {
  EventQueue queue;
  Log log{&queue, {}};
  const std::uint32_t h = queue.add_handler(record, &log);
  for (int t : {10, 20, 21}) queue.schedule(Time::ps(t), h, 0);
  queue.run_until(Time::ps(20));
  CHECK(log.seen.size() == 2);
  CHECK(queue.next_time() == Time::ps(21));
  queue.run_until(Time::ps(20));
  CHECK(queue.now() == Time::ps(20));
  queue.run_until(Time::never());
  CHECK(queue.now() == Time::ps(21));
}

TEST_CASE("near, middle and far events keep the order of a sorted list, however the queue is read") {
  EventQueue queue;
  Log log{&queue, {}};
  const std::uint32_t h = queue.add_handler(record, &log);
  std::mt19937_64 random(3);
  std::vector<std::pair<std::int64_t, std::uint32_t>> expected;
  std::uint32_t id = 0;
  for (int round = 0; round < 3000; ++round) {
    for (std::uint64_t n = random() % (round % 50 == 0 ? 60 : 4); n > 0; --n) {  // few events of an interval, and many
      const std::uint64_t reach[] = {1, 4096, 100'000, 9'000'000,
                                     300'000'000};  // the same instant up to far beyond the wheel
      const std::uint64_t within = reach[random() % 5];
      const std::int64_t at = queue.now().ps() + static_cast<std::int64_t>(random() % within);
      const std::uint32_t second = static_cast<std::uint32_t>(random()) % 2 * id;  // its number is a, or b, or in both
      queue.schedule(Time::ps(at), h, id - second / 2 * 2, second / 2 * 2);
      expected.emplace_back(at, id++);
    }
    std::int64_t earliest = INT64_MAX;
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (expected[i].first >= 0) earliest = std::min(earliest, expected[i].first);
    REQUIRE(queue.next_time().ps() == earliest);
    const std::size_t before = log.seen.size();
    if (random() % 2 == 0 && !queue.empty()) queue.run_one();
    if (random() % 8 == 0) queue.run_some(random() % 4);
    if (random() % 4 == 0) {
      const Time end = queue.now() + Time::ps(static_cast<std::int64_t>(random() % 10'000)), was = queue.now();
      const bool due = queue.next_time() < end;
      REQUIRE(queue.run_one_before(end) == due);
      if (!due) REQUIRE(queue.now() == was);
    }
    if (random() % 8 == 0) queue.run_until(queue.now() + Time::ps(static_cast<std::int64_t>(random() % 20'000'000)));
    for (std::size_t i = before; i < log.seen.size(); ++i) {
      REQUIRE(expected[log.seen[i].second].first == log.seen[i].first);
      expected[log.seen[i].second].first = -1;
    }
  }
  queue.run_until(Time::never());
  REQUIRE(log.seen.size() == id);
  for (std::size_t i = 1; i < log.seen.size(); ++i)
    REQUIRE(log.seen[i - 1] < log.seen[i]);  // equal times: in the order of scheduling
}
