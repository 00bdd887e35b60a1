// SPDX-License-Identifier: Apache-2.0
// A link between two nodes that is cut while transfers are under way, and comes back: every word that enters it
// meanwhile is lost, in both directions.
#include <doctest/doctest.h>

#include "gateware/ni/tb/transfer_traffic.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

constexpr std::uint64_t kBegin = 20'000, kCut = 156'250;  // cycles; a millisecond of 6.4 ns each

struct CutLink {
  std::uint64_t seed;
  unsigned tries;  // 0: for ever
  unsigned transfers;  // of each node
};

struct Outcome {
  std::uint64_t whole = 0, silent = 0, lost_words = 0, ended_by_then = 0, cycles = 0;
  std::uint32_t repeated = 0, came_again = 0;
};

Outcome cut_link(const CutLink& cut) {
  const auto seed = cut.seed;
  CAPTURE(seed);
  NiNetwork network(4, {.line = {.latency_cycles = 20, .seed = seed},
                        .memory = {.stalls = 0.1},
                        .tries = cut.tries,
                        .block_timeout = 1,
                        .read_timeout = cut.tries != 0 ? 6u : 0u});
  Outcome outcome;
  const std::uint64_t begin = network.cycle() + kBegin, end = begin + kCut;
  const auto lose = [&](const NarrowWord& word) -> std::optional<NarrowWord> {
    if (network.cycle() < begin || network.cycle() >= end) return word;
    ++outcome.lost_words;
    return std::nullopt;
  };
  network.node(0).tx[0]->tamper = network.node(1).tx[1]->tamper = lose;
  TransferTraffic traffic(network, {.seed = 900 + seed, .transfers = cut.transfers, .rate = 0.002, .reads_of_ten = 3});
  traffic.may_be_silent = cut.tries != 0;
  while (network.cycle() < end) traffic.step();
  outcome.ended_by_then = traffic.whole + traffic.silent;
  CHECK(!traffic.done());
  traffic.run(5'000'000);
  for (std::size_t n = 0; n < network.size(); ++n) {
    const auto counts = network.transfer_counts(n);
    outcome.repeated += counts[2], outcome.came_again += counts[5];
  }
  outcome.whole = traffic.whole;
  outcome.silent = traffic.silent;
  outcome.cycles = network.cycle();
  CHECK(outcome.whole + outcome.silent == 4 * cut.transfers);
  CHECK(traffic.reads > cut.transfers / 2);
  CHECK(traffic.fences > cut.transfers / 2);
  MESSAGE("tries " << cut.tries << ": words lost " << outcome.lost_words << ", ended before the link was back "
                   << outcome.ended_by_then << ", whole " << outcome.whole << ", silent " << outcome.silent
                   << ", blocks repeated " << outcome.repeated << ", packets that had come " << outcome.came_again
                   << ", cycles " << outcome.cycles);
  return outcome;
}

}  // namespace

TEST_CASE(
    "transfers: a link that is cut for a millisecond and comes back: all bytes come, once, or it is said that nobody "
    "answered") {
  SUBCASE("without an end to repetitions all come") {
    if (!in_full()) return;
    const Outcome outcome = cut_link({.seed = 1, .tries = 0, .transfers = 250});
    CHECK(outcome.silent == 0);
    CHECK(outcome.lost_words > 1000);
    CHECK(outcome.repeated > 10);
  }
  SUBCASE("with one it is said of some") {
    const Outcome outcome = cut_link({.seed = 2, .tries = 1, .transfers = 250});
    CHECK(outcome.silent > 5);
    CHECK(outcome.whole > 250);
    CHECK(outcome.lost_words > 1000);
  }
}
