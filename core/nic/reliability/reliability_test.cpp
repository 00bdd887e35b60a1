// SPDX-License-Identifier: Apache-2.0
// Do windows of sequence numbers, back-off and the retransmission scan keep to what a sender and a receiver agree on,
// round the end of the numbers, too?
#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "core/engine/random.hpp"
#include "core/nic/reliability/backoff.hpp"
#include "core/nic/reliability/retransmit.hpp"
#include "core/nic/reliability/window.hpp"

using namespace exanet;

TEST_CASE("send window: a number a window ahead is taken once its place is free") {
  SendWindow window;
  for (std::uint32_t number = 0; number < kWindow; ++number) {
    REQUIRE(!window.is_full());
    CHECK(window.take() == number);
  }
  CHECK(window.is_full());
  window.put_back(1);
  CHECK(window.is_full());  // the next one waits for the oldest
  window.put_back(0);
  CHECK(!window.is_full());
  CHECK(window.take() == kWindow);
  CHECK(!window.is_full());
  CHECK(window.take() == kWindow + 1);
  CHECK(window.is_full());
}

TEST_CASE("send window: numbers wrap round") {
  SendWindow window;
  for (std::uint32_t i = 0; i < kNumbers; ++i) window.put_back(window.take());
  CHECK(window.take() == 0);
}

TEST_CASE(
    "receive window: what a sender may have outstanding is never too old, in any order and round the end of the "
    "numbers") {
  ReceiveWindow window;
  CHECK(window.is_later(12345));
  CHECK(window.skipped(12345) == kWindow);
  window.advance(kNumbers - 3);
  for (std::uint32_t i = 0; i < kWindow; ++i) {
    const std::uint32_t number = (kNumbers - 3 + kNumbers - i) % kNumbers;
    CHECK(!window.is_later(number));
    CHECK(!window.is_too_old(number));
    CHECK(window.behind(number) == i);
  }
  CHECK(window.is_too_old(kNumbers - 3 - kWindow));
  CHECK(window.is_later(2));
  CHECK(window.skipped(2) == 4);
  CHECK(window.skipped(2 + 2 * kWindow) == kWindow);
  window.advance(2);
  CHECK(window.behind(kNumbers - 3) == 5);
  CHECK(window.is_later(2 + kNumbers / 2));
  CHECK(!window.is_later(3 + kNumbers / 2));
}

TEST_CASE("windows of both ends: whatever is lost and comes again is known for what it is") {
  SendWindow send;
  ReceiveWindow receive;
  std::set<std::uint32_t> come;  // all that ever have
  std::vector<std::uint32_t> outstanding;
  Random random(4, 0);
  for (int i = 0; i < 20000; ++i) {
    if (!send.is_full() && random.below(3) != 0) outstanding.push_back(send.take());
    if (outstanding.empty()) continue;
    const std::size_t chosen = random.below(static_cast<std::uint32_t>(outstanding.size()));
    const std::uint32_t number = outstanding[chosen];
    CHECK(!receive.is_too_old(number));
    if (receive.is_later(number)) {
      CHECK(come.count(number) == 0);
      receive.advance(number);
    }
    come.insert(number);
    if (random.below(2) == 0) continue;  // its answer is lost
    send.put_back(number);
    outstanding.erase(outstanding.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
}

TEST_CASE("back-off: the timeout doubles five times, and begins anew") {
  Backoff backoff;
  CHECK(backoff.timeout(16) == 16);
  for (const std::int64_t timeout : {32, 64, 128, 256, 512, 512, 512}) {
    backoff.raise();
    CHECK(backoff.timeout(16) == timeout);
  }
  backoff.reset();
  CHECK(backoff.timeout(16) == 16);
}

TEST_CASE("tries: given up after as many repetitions as there may be, or never") {
  Tries tries;
  CHECK(!tries.any());
  for (int i = 0; i < 3; ++i) {
    CHECK(!tries.exhausted(3));
    tries.raise();
  }
  CHECK(tries.any());
  CHECK(tries.exhausted(3));
  for (int i = 0; i < 300; ++i) {
    tries.raise();
    CHECK(!tries.exhausted(0));
  }
  CHECK(tries.exhausted(15));
  tries.reset();
  CHECK(!tries.any());
}

TEST_CASE("retransmission scan: entries come in the order of their places, and those that move too") {
  RetransmissionScan scan;
  for (std::uint32_t i = 0; i < 100; ++i) scan.add({(i * 37) % 101, i, static_cast<std::int64_t>(i)});
  for (std::int64_t last = -1; scan.first().at < 50;) {
    const std::int64_t at = scan.take().at;
    CHECK(at > last);
    last = at;
  }
  scan.move([](const auto& entry) { return entry.slot % 2 == 0; }, [](const auto& entry) { return entry.at + 1000; });
  std::int64_t last = -1;
  for (bool moved = false; !scan.empty();) {
    const RetransmissionScan::Entry entry = scan.take();
    CHECK(entry.at > last);
    last = entry.at;
    CHECK((entry.at >= 1000) == (entry.slot % 2 == 0));
    CHECK((!moved || entry.at >= 1000));
    moved = entry.at >= 1000;
  }
}
