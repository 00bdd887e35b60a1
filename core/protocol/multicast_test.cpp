// SPDX-License-Identifier: Apache-2.0
// Do messages to a group of ranks arrive once at each member, in the time of one message, and nowhere else?
#include "core/topology/multicast.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <vector>

#include "core/protocol/engine_harness.hpp"

using namespace exanet;
using testing::A;
using testing::B;
using testing::kLine;
using testing::Ranks;

namespace {

// On all four nodes of a line, and on node 1 another.
const std::vector<NodeId> kPlacement{0, 1, 2, 3, 1};

// The ranks on nodes 2 and 3, as a destination: copies to them pass node 1 and reach it as well.
RankId group_of(Ranks& ranks) {
  CHECK(ranks.engine.multicasts());
  const NodeId to = ranks.topology->multicast_to(0, {2, 3});
  const auto copies = static_cast<std::uint32_t>(multicast_destinations(*ranks.topology, 0, to).size());
  CHECK(copies == 3);
  return kGroup | ranks.engine.add_group({0, to, copies, {2, 3}});
}

}  // namespace

TEST_CASE("a short message to a group is in each member's mailbox as soon as one to it alone") {
  for (const std::uint64_t len : {0u, 1u, 32u}) {
    Ranks ranks(kLine, kPlacement);
    const RankId group = group_of(ranks);
    ranks.fill(0, A, len, 3);
    ranks.receive(2, 0, B, 64, 5, 77);
    ranks.receive(4, 0, B, 64, 5, 79);  // no member
    ranks.send(0, group, A, len, 5);
    ranks.run();
    ranks.receive(3, 0, B, 64, 5, 78);  // of what has come before
    ranks.run();
    for (const RankId rank : {2u, 3u}) {
      const auto done = ranks.only<ReceiveCompletion>(rank, 75 + rank);
      CHECK((done.status == 0 && done.length == len && done.peer == Address{0, 0}));
      CHECK(ranks.same(0, A, rank, B, len));
    }
    CHECK(ranks.only<ReceiveCompletion>(2, 77).time ==
          ranks.config.packetizer + ranks.control(0, 2, 32 + static_cast<std::uint32_t>(len)));
    CHECK(ranks.done[4].empty());
    CHECK(ranks.records.size() == 2);
    CHECK(ranks.engine.operations() == 0);
  }
}

TEST_CASE(
    "a long message to a group is one transfer, complete at each member by itself and at its source when it has left") {
  for (const std::uint64_t len : {33u, 256u, 257u, 5000u}) {
    Ranks ranks(kLine, kPlacement);
    const RankId group = group_of(ranks);
    const NiConfig& ni = ranks.config;
    for (const RankId rank : {2u, 3u}) ranks.receive(rank, 0, B, 8192, 5, 75 + rank);
    ranks.fill(0, A, len, 3);
    ranks.send(0, group, A, len, 5, 88);
    ranks.run();
    const auto packets = static_cast<std::int64_t>((len + 255) / 256);
    const auto rest = static_cast<std::uint16_t>(len - 256 * static_cast<std::uint64_t>(packets - 1));
    const Time first = ni.dma_start + ni.translation + ni.memory_read;
    for (const RankId rank : {2u, 3u}) {
      const auto done = ranks.only<ReceiveCompletion>(rank, 75 + rank);
      CHECK((done.status == 0 && done.length == len));
      CHECK(ranks.same(0, A, rank, B, len));
      CHECK(done.time == first + Time::ps(38 * 6400) * (packets - 1) + ranks.network(0, rank, rest) + ni.memory_write +
                             ni.dma_completion);
    }
    CHECK(ranks.only<SendCompletion>(0, 88).time < ranks.only<ReceiveCompletion>(2, 77).time);
    CHECK((ranks.records.size() == 2 && ranks.records[0].bytes == len));
    CHECK(ranks.engine.operations() == 0);
    CHECK(ranks.engine.idle());
  }
}

TEST_CASE("what a long message holds is what its buffer held when its sender got it back") {
  Ranks ranks(kLine, kPlacement);
  const RankId group = group_of(ranks);
  constexpr std::uint64_t kLength = 5000, kCopy = A + 8192;
  ranks.fill(0, A, kLength, 3);
  ranks.fill(0, kCopy, kLength, 3);
  for (const RankId rank : {2u, 3u}) ranks.receive(rank, 0, B, rank == 2 ? 8192 : 100, 5, 75 + rank);
  ranks.send(0, group, A, kLength, 5, 88);
  while (ranks.done[0].empty()) ranks.queue.run_some(1);
  CHECK((ranks.done[2].empty() && ranks.done[3].empty()));
  ranks.fill(0, A, kLength, 4);
  ranks.run();
  CHECK(ranks.only<ReceiveCompletion>(2, 77).status == 0);
  CHECK(ranks.same(0, kCopy, 2, B, kLength));
  // A buffer that is too short takes what fits.
  CHECK(ranks.only<ReceiveCompletion>(3, 78).status == -EMSGSIZE);
  CHECK(ranks.same(0, kCopy, 3, B, 100));
  CHECK(!ranks.same(0, kCopy, 3, B, 101));
}

TEST_CASE("memory that is not there is reported to all, and nobody sends in another's name") {
  Ranks ranks(kLine, kPlacement);
  const RankId group = group_of(ranks);
  for (const RankId rank : {2u, 3u}) ranks.receive(rank, 0, B, 8192, 5, 75 + rank);
  ranks.send(0, group, 1, 5000, 5, 88);
  ranks.run();
  CHECK(ranks.only<SendCompletion>(0, 88).status == -EFAULT);
  for (const RankId rank : {2u, 3u}) CHECK(ranks.only<ReceiveCompletion>(rank, 75 + rank).status == -EFAULT);
  ranks.receive(2, kAnyRank, B, 8192, 5, 79);
  ranks.send(4, group, A, 5000, 5, 89);
  ranks.run();
  CHECK(ranks.only<SendCompletion>(4, 89).status == -EHOSTUNREACH);
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE("a member that takes no messages drops its copy, and a group that there is not is nobody") {
  Ranks ranks(kLine, kPlacement);
  const RankId group = group_of(ranks);
  ranks.close(3, 0, Time());
  ranks.run();
  ranks.receive(2, 0, B, 64, 5, 77);
  ranks.send(0, group, A, 8, 5);
  auto nowhere = ranks.message(kGroup | 7, A, 8, 5, 88);
  nowhere.flags |= kDelivered;
  ranks.send(0, nowhere);
  ranks.run();
  CHECK(ranks.only<ReceiveCompletion>(2, 77).status == 0);
  CHECK(ranks.done[3].empty());
  CHECK(ranks.only<SendCompletion>(0, 88).status < 0);
  CHECK(ranks.engine.operations() == 0);
}
