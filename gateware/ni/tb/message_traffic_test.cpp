// SPDX-License-Identifier: Apache-2.0
// Random messages between Verilated nodes, under load, with full mailboxes, wrong targets and bad lines: none is lost,
// doubled, changed, or written where it may not be, and each that fails is reported.
#include "gateware/ni/tb/message_traffic.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>

using namespace exanet;
using namespace exanet::gateware;

TEST_CASE("messages by stores of any width and order, of several contexts at once, to all nodes") {
  for (const auto& [nodes, two_dimensions] : {std::pair{2u, false}, {4u, true}, {8u, false}}) {
    NiNetwork network(nodes, {.memory = {.stalls = 0.2}, .timeout = 63}, two_dimensions);
    Traffic traffic(network, {.seed = nodes, .messages = 200, .rate = 0.1, .log_entries = 8});
    traffic.run(200'000);
    CHECK(traffic.delivered == 200 * nodes);
  }
}

TEST_CASE("what is refused is counted, and a mailbox that is full, closed, of another domain or none says so") {
  NiNetwork network(4, {.memory = {.stalls = 0.1}, .timeout = 2, .tries = 0});
  Traffic traffic(
      network,
      {.seed = 7, .messages = 500, .rate = 0.2, .reads = 0.02, .log_entries = 2, .wrong_one_in = 2, .eager_one_in = 3});
  traffic.run(1'000'000);
  MESSAGE("delivered " << traffic.delivered << ", failed " << traffic.failed << ", refused stores " << traffic.refused
                       << ", full " << traffic.full);
  CHECK(traffic.failed > 300);
  CHECK(traffic.refused > 300);
  CHECK(traffic.full > 50);
}

TEST_CASE("all nodes send to one, into mailboxes of one entry, beyond what it can take") {
  NiNetwork network(8, {.timeout = 1, .tries = 0});
  Traffic traffic(network,
                  {.seed = 9, .messages = 100, .rate = 1, .reads = 0.3, .log_entries = 0, .all_to_first = true});
  traffic.run(2'000'000);
  CHECK(traffic.delivered == 800);
  CHECK(traffic.full > 100);
}

namespace {

// Four nodes on lines with wrong bits. Returns what was repeated.
std::uint32_t bad_lines(std::uint64_t seed, unsigned tries, unsigned timeout, double bit_error_rate,
                        unsigned messages) {
  CAPTURE(seed);
  NiNetwork network(4, {.line = {.latency_cycles = 20, .bit_error_rate = bit_error_rate, .seed = seed},
                        .timeout = timeout,
                        .tries = tries});
  Traffic traffic(network,
                  {.seed = 100 + seed, .messages = messages, .rate = 0.02, .log_entries = 5, .wrong_one_in = 8});
  traffic.run(30'000'000);
  std::uint32_t repeated = 0, damaged = 0, came_again = 0;
  for (std::size_t n = 0; n < 4; ++n) {
    const auto counts = network.counts(n);
    repeated += counts[2], came_again += counts[6], damaged += counts[8] + counts[9];
  }
  MESSAGE("seed " << seed << ", tries " << tries << ", timeout " << timeout << ": repeated " << repeated
                  << ", had come " << came_again << ", damaged " << damaged << ", silent " << traffic.silent);
  if (tries == 0) CHECK(traffic.silent == 0);
  return repeated;
}

}  // namespace

TEST_CASE("lines that lose and damage words: every message comes once, or, after its tries, is said to be silent") {
  CHECK(bad_lines(4, 0, 4, 3e-5, 200) > 10);
  CHECK(bad_lines(5, 1, 8, 3e-5, 200) > 10);
  CHECK(bad_lines(6, 15, 4, 1e-4, 100) > 10);
}

// EXANET_MESSAGE_SEEDS=FIRST,COUNT: further ones, by hand.
TEST_CASE("lines that lose and damage words, many") {
  const char* const asked = std::getenv("EXANET_MESSAGE_SEEDS");
  if (asked == nullptr) return;
  char* end = nullptr;
  const std::uint64_t first = std::strtoull(asked, &end, 10);
  const std::uint64_t count = *end == ',' ? std::strtoull(end + 1, nullptr, 10) : 1;
  for (std::uint64_t seed = first; seed < first + count; ++seed)
    bad_lines(seed, std::array{0u, 1u, 3u, 15u}[seed % 4], 2 + seed / 4 % 8, std::array{1e-5, 1e-4, 3e-4}[seed % 3],
              2000);
}
