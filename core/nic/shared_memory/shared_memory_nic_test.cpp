// SPDX-License-Identifier: Apache-2.0
// Do ranks of a node reach each other through memory in the time that its latency and rate say, in order, and all
// others as without it?
#include <doctest/doctest.h>

#include "core/config/error.hpp"
#include "core/protocol/engine_harness.hpp"

using namespace exanet;
using testing::A;
using testing::B;
using testing::kLine;
using testing::Ranks;

namespace {

NiConfig through_memory() {
  NiConfig ni = testing::odd_costs();
  ni.shared_memory_latency = Time::ps(71'000);
  ni.shared_memory_rate_bit_per_s = 12'000'000'000;
  return ni;
}

// 8 bits at 12 Gb/s are two thirds of a nanosecond; a part of a picosecond counts as a whole one.
Time copying(std::int64_t bytes) { return Time::ps((bytes * 2000 + 2) / 3); }

Time received(Ranks& ranks, std::uint64_t bytes) {
  ranks.fill(0, A, bytes, 3);
  ranks.receive(1, 0, B, bytes, 5, 77);
  ranks.send(0, 1, A, bytes, 5, 78);
  ranks.run();
  CHECK(ranks.same(0, A, 1, B, bytes));
  CHECK(ranks.engine.operations() == 0);
  return ranks.only<ReceiveCompletion>(1, 77).time;
}

}  // namespace

TEST_CASE("shared memory: a message between ranks of a node takes its latency and the time of its bytes") {
  for (const std::int64_t bytes : {0, 1, 32}) {
    Ranks ranks(kLine, {0, 0}, testing::steady_fabric(), through_memory());
    CHECK(received(ranks, static_cast<std::uint64_t>(bytes)) ==
          ranks.config.packetizer + ranks.config.shared_memory_latency + copying(32 + bytes));
  }
}

TEST_CASE("shared memory: a rendezvous is an envelope, a request and a copy") {
  const NiConfig ni = through_memory();
  Ranks ranks(kLine, {0, 0}, testing::steady_fabric(), ni);
  const Time request = ni.library_receive + ni.mailbox_read + ni.library_send + ni.store_word * 4;
  const Time acknowledges = ni.library_receive + ni.mailbox_read + ni.library_send + ni.store_word * 2;
  CHECK(received(ranks, 5000) == ni.packetizer + ni.shared_memory_latency * 3 + copying(32) + request + copying(5000) +
                                     ni.dma_completion + acknowledges);
}

TEST_CASE("shared memory: interfaces that retransmit count it beside") {
  NiConfig ni = through_memory();
  ni.reliability = NiConfig::Reliability::kEndToEnd;
  const Ranks ranks(kLine, {0, 2}, testing::steady_fabric(), ni);
  CHECK(ranks.engine.nic().reliability().retransmits);
}

TEST_CASE("shared memory: nothing changes between nodes") {
  for (const std::uint64_t bytes : {0u, 32u, 5000u}) {
    Ranks without(kLine, {0, 2}), with(kLine, {0, 2}, testing::steady_fabric(), through_memory());
    CHECK(received(without, bytes) == received(with, bytes));
  }
}

TEST_CASE("shared memory: a latency needs a rate") {
  NiConfig ni = through_memory();
  ni.shared_memory_rate_bit_per_s = 0;
  CHECK_THROWS_AS(Ranks(kLine, {0, 0}, testing::steady_fabric(), ni), ConfigError);
}
