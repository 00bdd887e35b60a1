// SPDX-License-Identifier: Apache-2.0
// Random transfers between Verilated nodes, under load, with slow memory, memory that refuses, nodes that are not there
// and bad lines.
#include "gateware/ni/tb/transfer_traffic.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>

#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::gateware;

TEST_CASE("transfers: many channels at once, between all nodes, with slow memory and fast") {
  for (const auto& [nodes, two_dimensions] : {std::pair{2u, false}, {4u, true}, {8u, false}}) {
    for (const double stalls : {0.0, 0.4}) {
      CAPTURE(nodes);
      CAPTURE(stalls);
      NiNetwork network(nodes, {.memory = {.latency_cycles = 40, .stalls = stalls}, .block_timeout = 63},
                        two_dimensions);
      TransferTraffic traffic(network,
                              {.seed = nodes, .transfers = in_full() ? 400u : 24u, .rate = 0.05, .reads_of_ten = 3});
      traffic.run(3'000'000);
      CHECK(traffic.whole == (in_full() ? 400u : 24u) * nodes);
      CHECK(traffic.fences > traffic.whole / 5);
      CHECK(traffic.reads > traffic.whole / 5);
      std::uint32_t repeated = 0;
      for (std::size_t n = 0; n < nodes; ++n) repeated += network.transfer_counts(n)[2];
      CHECK(repeated == 0);
    }
  }
}

TEST_CASE(
    "transfers: memory that refuses a read or a write, and a node that is not there, are reported; others go on") {
  NiNetwork network(4, {.memory = {.stalls = 0.1}, .tries = 2, .block_timeout = 2});
  TransferTraffic traffic(
      network,
      {.seed = 21, .transfers = in_full() ? 500u : 100u, .rate = 0.02, .refused_one_in = 2, .reads_of_ten = 4});
  traffic.run(6'000'000);
  CHECK(traffic.refused > 50);
  CHECK(traffic.silent > 20);
  CHECK(traffic.whole > 100);
}

namespace {

struct BadLines {
  std::uint64_t seed;
  unsigned tries, timeout;
  double bit_error_rate;
  unsigned transfers;
  std::size_t nodes = 4;
  std::uint32_t most_bytes = 6000;
};

// Returns the blocks that were repeated.
std::uint32_t bad_lines(const BadLines& b) {
  const auto seed = b.seed;
  CAPTURE(seed);
  NiNetwork network(b.nodes, {.line = {.latency_cycles = 20, .bit_error_rate = b.bit_error_rate, .seed = seed},
                              .memory = {.stalls = 0.1},
                              .tries = b.tries,
                              .block_timeout = b.timeout,
                              .read_timeout = b.tries != 0 ? 6u : 0u});
  TransferTraffic traffic(network, {.seed = 300 + seed,
                                    .transfers = b.transfers,
                                    .rate = 0.01,
                                    .most_bytes = b.most_bytes,
                                    .refused_one_in = b.tries != 0 ? 8u : 0u,
                                    .reads_of_ten = 3});
  traffic.may_be_silent = b.tries != 0;
  traffic.run(60'000'000);
  CHECK(traffic.fences > b.transfers / 5);
  CHECK(traffic.reads > b.transfers / 5);
  std::uint32_t repeated = 0, came_again = 0, dropped = 0, stale = 0;
  for (std::size_t n = 0; n < b.nodes; ++n) {
    const auto counts = network.transfer_counts(n);
    repeated += counts[2], stale += counts[3], came_again += counts[5], dropped += counts[6];
  }
  MESSAGE("seed " << seed << ": blocks repeated " << repeated << ", packets that had come " << came_again
                  << ", dropped " << dropped << ", stale answers " << stale << ", silent " << traffic.silent);
  return repeated;
}

}  // namespace

TEST_CASE("transfers: lines that lose and damage words: all bytes come, once, or it is said that nobody answered") {
  if (in_full()) CHECK(bad_lines({1, 0, 1, 3e-5, 60}) > 20);
  CHECK(bad_lines({2, 1, 1, 1e-4, in_full() ? 60u : 30u}) > 20);
  if (in_full())
    CHECK(bad_lines({3, 0, 0, 1e-5, 60}) > 20);  // a timeout of 0: blocks are repeated while they are answered
  // Many windows of small blocks, some of which are lost whole: what comes behind them begins later numbers.
  CHECK(bad_lines({.seed = 4,
                   .tries = 0,
                   .timeout = 1,
                   .bit_error_rate = 2e-4,
                   .transfers = in_full() ? 250u : 80u,
                   .nodes = 2,
                   .most_bytes = 600}) > 20);
}

TEST_CASE("transfers: a block of which memory refuses some packet is reported as failed, whichever packet it is") {
  for (const unsigned refused : {0u, 3u, 7u}) {
    CAPTURE(refused);
    NiNetwork network(2);
    open_all(network);
    network.node(1).memory->refuses = [&](std::uint64_t address) {
      return address >= kTarget && address - kTarget >= 512 * refused && address - kTarget < 512 * (refused + 1);
    };
    fill(network, 0, kOwn, 4096);
    network.transfer(0, 0, transfer_of(kOwn, kTarget, 4096, network.node(1).dcid, 1));
    network.run(3000);
    const auto end = end_of(*network.node(0).memory, 1);
    CHECK(end.done() == 1);
    CHECK(end.failure() == static_cast<unsigned>(spec::NackReason::kMemory));
    unsigned wrong = 0;
    for (std::uint64_t i = 0; i < 4096; ++i)
      wrong += network.node(1).memory->get(kTarget + i) != (i / 512 == refused ? 0 : value_at(0, kOwn + i));
    CHECK(wrong == 0);
  }
}

// Each packet of a block reports that it could not be read. The first report ends the transfer; the others come when
// its channel has a transfer to another node, whose blocks have the same numbers. Reads that nobody serves have the
// other channels.
TEST_CASE("transfers: own memory that refuses a read ends transfers to one node, and none to another") {
  NiNetwork network(4, {.memory = {.stalls = 0.8}, .kept_channels = 0});
  open_all(network);
  network.node(0).dma->refuses_read = [](std::uint64_t address) { return address >= kOwn && address < kOwn + kPage; };
  for (unsigned i = 1; i < kChannels; ++i)
    network.transfer(0, 0, read_of(kOwn, kTarget, 8, network.node(3).dcid, 1000 + i));
  for (unsigned i = 0; i < 8; ++i) {
    CAPTURE(i);
    const bool fails = i % 2 == 0;
    network.transfer(0, 0,
                     transfer_of(fails ? kOwn : kOwn + kPage, kTarget, kPage, network.node(fails ? 1 : 2).dcid, i));
    const auto end = [&] { return end_of(*network.node(0).memory, i); };
    for (unsigned cycles = 0; end().done() == 0; ++cycles) {
      REQUIRE(cycles < 100'000);
      network.step();
    }
    CHECK(end().failure() == static_cast<unsigned>(fails ? spec::NackReason::kMemory : spec::NackReason::kNone));
  }
}

TEST_CASE("transfers: memory that refuses late, with more packets waiting for its answers than there is space for") {
  for (const bool clears : {false, true}) {
    CAPTURE(clears);
    NiNetwork network(4, {.memory = {.latency_cycles = 3000}, .tries = 0});
    open_all(network);
    network.node(1).memory->refuses = [](std::uint64_t address) { return address / kPage % 2 == 1; };
    constexpr unsigned kTransfers = 32;  // of four nodes in turn, whose reads of their own memories are as slow
    const auto target_of = [](std::uint64_t i) { return kTarget + kPage * i; };
    for (unsigned i = 0; i < kTransfers; ++i) {
      fill(network, i % 4, kOwn + kPage * i, kPage);
      network.transfer(i % 4, 0, transfer_of(kOwn + kPage * i, target_of(i + i / 4), kPage, network.node(1).dcid, i));
    }
    network.run(7000);
    if (clears) network.clear_peer(1, 9);  // nobody's
    for (unsigned i = 0, at = 0; at < kTransfers; ++i) {
      REQUIRE(i < 200'000);
      network.step();
      while (at < kTransfers && end_of(*network.node(at % 4).memory, at).done() != 0) ++at;
    }
    unsigned wrong = 0;
    for (unsigned i = 0; i < kTransfers; ++i) {
      const std::uint64_t target = target_of(i + i / 4);
      const bool refused = target / kPage % 2 == 1;
      CHECK(end_of(*network.node(i % 4).memory, i).failure() ==
            static_cast<unsigned>(refused ? spec::NackReason::kMemory : spec::NackReason::kNone));
      for (std::uint64_t k = 0; k < kPage; ++k)
        wrong += network.node(1).memory->get(target + k) != (refused ? 0 : value_at(i % 4, kOwn + kPage * i + k));
    }
    CHECK(wrong == 0);
    network.run_until_stored();
  }
}

// EXANET_TRANSFER_SEEDS=FIRST,COUNT: further ones, by hand.
TEST_CASE("transfers: lines that lose and damage words, many") {
  const char* const asked = std::getenv("EXANET_TRANSFER_SEEDS");
  if (asked == nullptr) return;
  char* end = nullptr;
  const std::uint64_t first = std::strtoull(asked, &end, 10);
  const std::uint64_t count = *end == ',' ? std::strtoull(end + 1, nullptr, 10) : 1;
  for (std::uint64_t seed = first; seed < first + count; ++seed)
    bad_lines({.seed = seed,
               .tries = std::array{0u, 1u, 3u, 15u}[seed % 4],
               .timeout = static_cast<unsigned>(seed / 4 % 5),
               .bit_error_rate = std::array{1e-5, 1e-4, 3e-4}[seed % 3],
               .transfers = 500,
               .nodes = seed % 2 == 0 ? std::size_t{2} : std::size_t{4},
               .most_bytes = seed % 5 == 0 ? 100u : 6000u});
}
