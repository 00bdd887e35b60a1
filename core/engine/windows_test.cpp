// SPDX-License-Identifier: Apache-2.0
// Does what goes wrong in one of several threads come out of the call that set them all going?
#include "core/engine/windows.hpp"

#include <doctest/doctest.h>

using namespace exanet;

namespace {

struct NoMail final : Crossing {
  void collect(std::size_t) override {}
  void finish(std::size_t, Time) override {}
  Time mailed(std::size_t) const override { return Time::never(); }
  Time lookahead() const override { return Time::ns(10); }
};

}  // namespace

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
