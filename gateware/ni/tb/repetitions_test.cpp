// SPDX-License-Identifier: Apache-2.0
// Messages that are sent again, and old copies of them: is each there once, and reported as that, however many
// acknowledgements are lost and copies late?
#include <map>

#include "gateware/ni/tb/behind_bench.hpp"
#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

// Two nodes; of the answers that come to node 0 the first ones are lost.
BehindBench losing(unsigned answers, unsigned timeout) {
  return BehindBench(
      2, {.timeout = timeout, .tries = 15, .damages = [answers](std::size_t n, unsigned port, std::size_t packet) {
            return n == 0 && port == 1 && packet < answers;
          }});
}

}  // namespace

TEST_CASE("repetitions: answers are lost of a message that has filled its mailbox, and comes once") {
  for (unsigned lost = 0; lost < 5; ++lost) {
    CAPTURE(lost);
    BehindBench network = losing(lost, 2);
    network.put(0, 1, {.token = 77, .mailbox = kSmallMailbox, .behind = false});
    network.run(20'000);
    network.until_these_come(1, {77}, kSmallMailbox);
    network.give_back(1, kSmallMailbox);
    network.run(10'000);
    CHECK(network.come(1, kSmallMailbox).empty());
    network.check_idle(0);
  }
}

TEST_CASE("repetitions: answers are lost of a message whose mailbox is closed then, and it has not failed") {
  for (unsigned lost = 0; lost < 4; ++lost) {
    CAPTURE(lost);
    BehindBench network = losing(lost, 4);
    network.put(0, 1, {.token = 78, .behind = false});
    network.until_these_come(1, {78});
    network.open_mailbox(1, kMailbox, kDomain, ring_of(kMailbox), kLogEntries, false);
    network.run(30'000);
    network.check_idle(0);
  }
}

TEST_CASE("repetitions: copies that are later than the numbers that are remembered change nothing") {
  constexpr std::uint64_t kMessages = 3000;
  for (const std::uint64_t seed : tried({1u, 2u}, {1u})) {
    CAPTURE(seed);
    BehindBench network(
        2, {.memory = {.latency_cycles = 5},
            .timeout = 20,
            .tries = 15,
            .disorder = {.lost_one_in = 40, .twice_one_in = 10, .late_one_in = 20, .most_late = 5000, .seed = seed}});
    std::map<std::uint64_t, unsigned> came;  // times, by token
    std::map<unsigned, std::uint64_t> busy;  // slots: the token in it
    std::uint64_t stored = 0, lost = 0, twice = 0;
    std::vector<std::uint64_t> good;  // tokens that were acknowledged
    auto& events = network.node(0).slot_events;
    events.clear();
    for (unsigned cycles = 0; stored < kMessages || !busy.empty(); ++cycles) {
      REQUIRE(cycles < 400'000);
      for (unsigned context = 0; context < kContexts && stored < kMessages && network.node(0).stores.size() < 4;
           ++context) {
        const unsigned slot = kSlots * context + network.next_slot(0, context);
        if (busy.contains(slot) || network.node(0).is_held(slot)) continue;
        busy[slot] = ++stored;
        network.put(0, context, {.token = stored, .behind = false});
      }
      network.step();
      for (const SlotEvent& event : events) {
        if (!event.freed) continue;
        if (event.reason == code_of(Reason::kNone)) good.push_back(busy[event.slot]);
        busy.erase(event.slot);
      }
      events.clear();
      if (cycles % 256 != 0) continue;
      for (const std::uint64_t token : network.come(1)) ++came[token];
      network.give_back(1);
    }
    network.run(8000);
    for (const std::uint64_t token : network.come(1)) ++came[token];
    for (const std::uint64_t token : good) lost += came[token] == 0;
    for (const auto& [token, times] : came) twice += times > 1;
    CHECK(good.size() > kMessages / 2);
    CHECK(network.counts(1)[7] > 0);  // dropped
    CHECK(lost == 0);
    CHECK(twice == 0);
  }
}
