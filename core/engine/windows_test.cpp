// SPDX-License-Identifier: Apache-2.0
// Does what goes wrong in one of several threads come out of the call that set them all going? Does a thread that the
// host does not run hold up the others?
#include "core/engine/windows.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/resource.h>

#include <deque>
#include <functional>

using namespace exanet;

namespace {

struct NoMail final : Crossing {
  void collect(std::size_t) override {}
  void finish(std::size_t, Time) override {}
  Time mailed(std::size_t) const override { return Time::never(); }
  Time lookahead() const override { return Time::ns(10); }
};

// Has an event in each of `windows` windows, and calls `visit` with its number.
struct Part {
  Part(std::uint32_t windows, std::function<void(std::uint32_t)> visit) : visit_(std::move(visit)) {
    const auto handler = queue.add_handler(
        [](void* self, Time, std::uint32_t number, std::uint64_t) { static_cast<Part*>(self)->visit_(number); }, this);
    for (std::uint32_t number = 0; number < windows; ++number) queue.schedule(Time::ns(10 * number), handler, number);
  }
  EventQueue queue;

 private:
  std::function<void(std::uint32_t)> visit_;
};

// All threads that begin meanwhile run on the processor on which this one is.
class OnOneProcessor {
 public:
  OnOneProcessor() {
    REQUIRE(::sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  }
  ~OnOneProcessor() { ::sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

long switches() {
  rusage used;
  ::getrusage(RUSAGE_SELF, &used);
  return used.ru_nvcsw + used.ru_nivcsw;
}

}  // namespace

TEST_CASE("windows: threads that share a processor do not take turns in each window") {
  constexpr std::uint32_t kWindows = 20'000;
  const OnOneProcessor one;
  CHECK(Windows::processors() == 1);
  std::uint64_t seen[2] = {};
  Part first(kWindows, [&](std::uint32_t) { ++seen[0]; }), second(kWindows, [&](std::uint32_t) { ++seen[1]; });
  NoMail crossing;
  Windows windows({&first.queue, &second.queue}, crossing, 2);
  const long before = switches();
  windows.run_until(Time::never());
  CHECK(switches() - before < kWindows / 10);
  CHECK(seen[0] == kWindows);
  CHECK(seen[1] == kWindows);
}

TEST_CASE("windows: what a thread does not come to is done by another, in the same window") {
  constexpr std::uint32_t kWindows = 100;
  std::atomic<std::uint32_t> others{0};
  std::deque<Part> parts;
  std::vector<EventQueue*> queues;
  // The first part ends a window after all others: whichever thread runs it comes to nothing else.
  queues.push_back(&parts
                        .emplace_back(kWindows,
                                      [&](std::uint32_t number) {
                                        for (std::uint32_t ran = others; ran < 4 * (number + 1); ran = others)
                                          others.wait(ran);
                                        CHECK(others == 4 * (number + 1));
                                      })
                        .queue);
  for (int other = 0; other < 4; ++other)
    queues.push_back(&parts.emplace_back(kWindows, [&](std::uint32_t) { ++others, others.notify_all(); }).queue);
  NoMail crossing;
  Windows windows(queues, crossing, 2);
  for (std::int64_t until = 100; until <= 1000; until += 100) {
    windows.run_until(Time::ns(until));
    for (const EventQueue* queue : queues) CHECK(queue->now() == Time::ns(until));
  }
  CHECK(others == 4 * kWindows);
  CHECK(windows.next_time() == Time::never());
}

TEST_CASE("windows: an impossible state in any part is thrown where they were run from, and the threads end") {
  for (const std::size_t bad : {0u, 1u, 3u}) {
    EventQueue queues[4];
    std::vector<EventQueue*> parts;
    std::uint64_t seen = 0;
    for (EventQueue& queue : queues) {
      parts.push_back(&queue);
      const auto handler = queue.add_handler(
          [](void* count, Time now, std::uint32_t fails, std::uint64_t) {
            EXANET_CHECK(fails == 0 || now < Time::ns(500), "a test of checks", now.ps(), fails, 7);
            if (fails != 0) ++*static_cast<std::uint64_t*>(count);
          },
          &seen);
      for (std::int64_t at = 0; at < 100; ++at) queue.schedule(Time::ns(7 * at), handler, &queue == &queues[bad]);
    }
    NoMail crossing;
    Windows windows(parts, crossing);
    windows.run_until(Time::ns(490));
    CHECK(seen == 71);
    CHECK_THROWS_WITH_AS(windows.run_until(Time::never()),
                         doctest::Contains("a test of checks (simulated time 504000 ps, values 1 and 7, core/engine/"),
                         InternalError);
  }
}
