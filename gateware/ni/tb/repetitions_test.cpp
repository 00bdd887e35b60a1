// SPDX-License-Identifier: Apache-2.0
// Messages that are sent again, and old copies of them: is each there once, and told of as that, however many acknowledgements are lost and copies late?
#include <map>

#include "gateware/ni/tb/behind_bench.hpp"

using namespace exanet;
using namespace exanet::gateware;

TEST_CASE("repetitions: two lost acknowledgements of a message that has filled its mailbox") {
  for (unsigned lost = 0; lost < 5; ++lost) {
    CAPTURE(lost);
    NiNetworkConfig nc;
    nc.patience = 2, nc.tries = 15;
    nc.damages = [&](std::size_t n, unsigned port, std::size_t packet) { return n == 0 && port == 1 && packet < lost; };
    BehindBench bench(2, nc);
    bench.put(0, 1, {.token = 77, .to = 1, .mailbox = kSmallMailbox, .behind = false});
    Tokens tokens;
    for (unsigned i = 0; i < 30'000; ++i) {
      bench.step();
      if (i == 20'000) {  // the process reads, at last
        const Tokens more = bench.come(1, kSmallMailbox);
        tokens.insert(tokens.end(), more.begin(), more.end());
        bench.give_back(1, kSmallMailbox);
      }
    }
    const Tokens more = bench.come(1, kSmallMailbox);
    tokens.insert(tokens.end(), more.begin(), more.end());
    CHECK(tokens == Tokens{77});
    CHECK(bench.status(0, 1).failed() == 0);
    CHECK(bench.status(0, 1).free_slots() == kAllFree);
  }
}

TEST_CASE(
    "repetitions: a message is acknowledged as stored, and as failed never, when its mailbox is closed behind it") {
  for (unsigned lost = 0; lost < 4; ++lost) {
    CAPTURE(lost);
    NiNetworkConfig nc;
    nc.patience = 4, nc.tries = 15;
    nc.damages = [&](std::size_t n, unsigned port, std::size_t packet) { return n == 0 && port == 1 && packet < lost; };
    BehindBench bench(2, nc);
    bench.put(0, 1, {.token = 78, .to = 1, .behind = false});
    bench.until_these_come(1, {78});
    bench.open_mailbox(1, kMailbox, kDomain, ring_of(kMailbox), kLogEntries, false);
    bench.run(30'000);
    CHECK(bench.status(0, 1).failed() == 0);
    CHECK(bench.status(0, 1).free_slots() == kAllFree);
  }
}

TEST_CASE("repetitions: old copies do not make others taken for come") {
  for (std::uint64_t seed = 1; seed < 3; ++seed) {
    CAPTURE(seed);
    NiNetworkConfig nc;
    nc.patience = 20, nc.tries = 15;
    nc.memory.latency_cycles = 5;
    nc.disorder = {.lost_one_in = 40, .twice_one_in = 10, .late_one_in = 20, .most_late = 5000, .seed = seed};
    BehindBench bench(2, nc);
    std::map<std::uint64_t, unsigned> came;
    std::map<unsigned, std::uint64_t> busy;
    std::map<std::uint64_t, unsigned> over;
    std::uint64_t token = 0;
    unsigned left = 3000;
    bench.node(0).slot_events.clear();
    for (unsigned i = 0; i < 400'000 && (left != 0 || !busy.empty()); ++i) {
      for (unsigned c = 0; c < kContexts && left != 0 && bench.node(0).stores.size() < 4; ++c) {
        const unsigned slot = 4 * c + bench.next_slot(0, c);
        if (busy.count(slot) != 0 || bench.node(0).queued[slot]) continue;
        busy[slot] = ++token;
        --left;
        bench.put(0, c, {.token = token, .to = 1, .behind = false});
      }
      bench.step();
      for (const SlotEvent& event : bench.node(0).slot_events)
        if (event.freed) {
          over[busy[event.slot]] = event.reason;
          busy.erase(event.slot);
        }
      bench.node(0).slot_events.clear();
      if (i % 256 == 0) {
        for (const std::uint64_t t : bench.come(1)) ++came[t];
        bench.give_back(1);
      }
    }
    bench.run(8000);
    for (const std::uint64_t t : bench.come(1)) ++came[t];
    CHECK(left == 0);
    CHECK(busy.empty());
    unsigned lost = 0, twice = 0;
    for (const auto& [t, reason] : over) {
      if (reason == 0 && came[t] == 0) ++lost;
      if (came[t] > 1) ++twice;
    }
    CHECK(lost == 0);
    CHECK(twice == 0);
  }
}
