// SPDX-License-Identifier: Apache-2.0
// Do puts, gets and atomics take the time of their steps, keep their order, and touch what was registered and nothing
// else?
#include <doctest/doctest.h>

#include <cerrno>

#include "core/protocol/engine_harness.hpp"

using namespace exanet;
using testing::A;
using testing::B;
using testing::kKey;
using testing::kLine;
using testing::Ranks;

namespace {

Ranks pair_of_nodes() { return Ranks(kLine, {0, 2}); }

AtomicDescriptor add(const Ranks& ranks, RankId to, std::uint64_t remote, std::uint64_t cookie,
                     AtomicKind kind = AtomicKind::kUpdate, std::uint64_t result = 0) {
  AtomicDescriptor d = ranks.sum(to, remote, kKey, cookie);
  d.atomic_kind = kind;
  d.result = result;
  return d;
}

std::uint64_t word(const Ranks& ranks, RankId rank, std::uint64_t addr) {
  std::uint64_t v;
  std::memcpy(&v, &ranks.memory[rank][addr - A], 8);
  return v;
}

}  // namespace

TEST_CASE("a put: engine, memory, network, memory, acknowledgement, completion") {
  for (const std::uint64_t len : {0u, 1u, 256u, 1024u}) {
    Ranks ranks = pair_of_nodes();
    const NiConfig& ni = ranks.config;
    ranks.fill(0, A, len, 1);
    ranks.share(1, kKey, B, 4096, kRemoteWrite);
    auto c = ranks.one_sided<PutDescriptor>(1, A, len, B + 100, kKey, 7);
    c.flags |= kHasData;
    c.data = 99;
    ranks.engine.submit(0, c);
    ranks.run();
    const std::int64_t more = len > 256 ? static_cast<std::int64_t>(len) / 256 - 1 : 0;
    const Time landed = ni.dma_start + ni.translation + ni.memory_read +
                        ranks.network(0, 2, len < 256 ? static_cast<std::uint16_t>(len) : 256) +
                        Time::ps(38 * 6400) * more + ni.memory_write;
    CHECK(ranks.only<PutCompletion>(0, 7).time == landed + ranks.network(2, 0, 0) + ni.dma_completion);
    const auto landing = ranks.only<RemotePutCompletion>(1);
    CHECK((landing.time == landed && landing.data == 99 && landing.has(kHasData) && landing.length == len &&
           landing.peer.rank == 0));
    CHECK(ranks.same(0, A, 1, B + 100, len));
    CHECK(ranks.engine.operations() == 0);
  }
}

TEST_CASE("a get: request, memory, data back, completion") {
  for (const std::uint64_t len : {0u, 1u, 256u, 1024u}) {
    Ranks ranks = pair_of_nodes();
    const NiConfig& ni = ranks.config;
    ranks.fill(1, B, len, 1);
    ranks.share(1, kKey, B, 4096, kRemoteRead);
    ranks.get(0, 1, A, len, B, kKey, 7);
    ranks.run();
    const std::int64_t more = len > 256 ? static_cast<std::int64_t>(len) / 256 - 1 : 0;
    const Time asked = ni.dma_start + ranks.network(0, 2, 0) + ni.memory_write;
    CHECK(ranks.only<GetCompletion>(0, 7).time ==
          asked + ni.dma_start + ni.translation + ni.memory_read +
              ranks.network(2, 0, len < 256 ? static_cast<std::uint16_t>(len) : 256) + Time::ps(38 * 6400) * more +
              ni.memory_write + ni.dma_completion);
    CHECK(ranks.same(0, A, 1, B, len));
    CHECK(ranks.done[1].empty());
    CHECK((ranks.records.size() == 1 && ranks.records[0].src == 1 && ranks.records[0].dst == 0));
    CHECK(ranks.engine.operations() == 0);
  }
}

TEST_CASE("an atomic: request with its operand, one at a time at the target, reply") {
  Ranks ranks(kLine, {0, 2, 1});
  const NiConfig& ni = ranks.config;
  ranks.share(1, kKey, B, 64, kRemoteRead | kRemoteWrite | kReportEvents);
  const std::uint64_t five = 5;
  ranks.atomic(0, add(ranks, 1, B, 1, AtomicKind::kFetch, A), five);
  ranks.atomic(0, add(ranks, 1, B, 2, AtomicKind::kFetch, A + 8), five);
  ranks.run();
  const Time asked = ni.dma_start + ranks.network(0, 2, 8) + ni.memory_write;
  const Time back = ni.dma_start + ranks.network(2, 0, 8) + ni.memory_write + ni.dma_completion;
  CHECK(ranks.only<AtomicCompletion>(0, 1).time == asked + ni.atomic + back);
  CHECK((word(ranks, 1, B) == 10 && word(ranks, 0, A) == 0 && word(ranks, 0, A + 8) == 5));
  REQUIRE(ranks.count<RemoteEventCompletion>(1) == 2);
  const auto event = std::get<RemoteEventCompletion>(ranks.done[1][0].c);
  CHECK((event.key == kKey && event.access == kRemoteWrite && event.time == asked && event.length == 8));
  // From two nodes at equal distance at the same time: the unit takes one after the other.
  Ranks both(kLine, {0, 1, 2});
  both.share(1, kKey, B, 64, kRemoteWrite);
  both.atomic(0, add(both, 1, B, 1), five);
  both.atomic(2, add(both, 1, B, 2), five);
  both.run();
  const Time one = both.only<AtomicCompletion>(0, 1).time, other = both.only<AtomicCompletion>(2, 2).time;
  CHECK(max(one, other) - min(one, other) == ni.atomic);
}

TEST_CASE("what is not allowed fails at the initiator and changes no byte anywhere") {
  constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  struct Try {
    std::uint64_t remote, len, key;
  };
  const std::uint64_t first = B, size = 256;
  const Try tries[] = {
      {first, 8, kKey + 1},  // no such key
      {first - 1, 1, kKey},
      {first - 1, 8, kKey},
      {first + size, 1, kKey},
      {first + size - 7, 8, kKey},
      {first, size + 1, kKey},
      {kEnd, 1, kKey},
      {kEnd - 7, 8, kKey},
      {kEnd, 8, kKey},
      {first, kEnd, kKey},
      {first + 1, kEnd, kKey},
      {kEnd, kEnd, kKey},
      {first, std::uint64_t{1} << 62, kKey},
      {0, 8, kKey},
  };
  for (const Try& t : tries) {
    enum { put, get, atomic };
    for (const auto what : {put, get, atomic}) {
      for (const std::uint16_t silent : {std::uint16_t{0}, kSilent}) {
        if (what == atomic && t.len > 64) continue;  // its elements are counted, not its bytes
        Ranks ranks = pair_of_nodes();
        for (RankId r = 0; r < 2; ++r) ranks.fill(r, A, Ranks::kBytes, r + 1);
        const auto before = ranks.memory;
        ranks.share(1, kKey, first, size, kRemoteRead | kRemoteWrite | kReportEvents);
        if (what == put) {
          auto d = ranks.one_sided<PutDescriptor>(1, A, t.len, t.remote, t.key, 7);
          d.flags = silent | kHasData;
          ranks.engine.submit(0, d);
        } else if (what == get) {
          auto d = ranks.one_sided<GetDescriptor>(1, A, t.len, t.remote, t.key, 7);
          d.flags = silent;
          ranks.engine.submit(0, d);
        } else {
          AtomicDescriptor d = add(ranks, 1, t.remote, 7, AtomicKind::kFetch, A);
          d.key = t.key;
          d.flags = silent;
          if (t.len == 1) d.datatype = exanet_type_u8;
          ranks.atomic(0, d, 1);
        }
        ranks.run();
        CHECK((ranks.done[0].size() == 1 && testing::cookie_of(ranks.done[0][0].c) == 7));
        CHECK(testing::header(ranks.done[0][0].c).status == -EACCES);
        CHECK(std::holds_alternative<PutCompletion>(ranks.done[0][0].c) == (what == put));
        CHECK(std::holds_alternative<GetCompletion>(ranks.done[0][0].c) == (what == get));
        CHECK(ranks.done[1].empty());
        CHECK(ranks.records.empty());
        CHECK(ranks.memory == before);
        CHECK(ranks.engine.operations() == 0);
        CHECK(ranks.engine.nic().packets() <= 3);  // refused at once, whatever was to be moved
      }
    }
  }
}

TEST_CASE("the whole of a region, to its first and last byte, is allowed") {
  Ranks ranks = pair_of_nodes();
  ranks.fill(0, A, 256, 1);
  ranks.share(1, kKey, B, 256, kRemoteWrite);
  ranks.put(0, 1, A, 256, B, kKey, 1);
  ranks.put(0, 1, A, 1, B + 255, kKey, 2);
  ranks.put(0, 1, A, 0, B + 256, kKey, 3);
  ranks.run();
  for (const std::uint64_t cookie : {1, 2, 3}) CHECK(ranks.only<PutCompletion>(0, cookie).status == 0);
}

TEST_CASE("read-only and write-only regions") {
  const std::uint64_t one = 1;
  for (const std::uint32_t access : {kRemoteRead, kRemoteWrite, kRemoteRead | kRemoteWrite, 0u}) {
    const bool reads = access & kRemoteRead, writes = access & kRemoteWrite;
    Ranks ranks = pair_of_nodes();
    ranks.share(1, kKey, B, 256, access);
    ranks.put(0, 1, A, 8, B, kKey, 1);
    ranks.get(0, 1, A, 8, B, kKey, 2);
    ranks.atomic(0, add(ranks, 1, B, 3), one);
    ranks.atomic(0, add(ranks, 1, B, 4, AtomicKind::kFetch, A), one);
    AtomicDescriptor read = add(ranks, 1, B, 5, AtomicKind::kFetch, A);
    read.operation = exanet_op_read;
    ranks.atomic(0, read, 0);
    ranks.run();
    CHECK(ranks.only<PutCompletion>(0, 1).status == (writes ? 0 : -EACCES));
    CHECK(ranks.only<GetCompletion>(0, 2).status == (reads ? 0 : -EACCES));
    CHECK(ranks.only<AtomicCompletion>(0, 3).status == (writes ? 0 : -EACCES));
    CHECK(ranks.only<AtomicCompletion>(0, 4).status == (reads && writes ? 0 : -EACCES));
    CHECK(ranks.only<AtomicCompletion>(0, 5).status == (reads ? 0 : -EACCES));
  }
}

TEST_CASE("offset addressing") {
  Ranks ranks = pair_of_nodes();
  ranks.fill(0, A, 64, 1);
  ranks.share(1, kKey, B, 64, kRemoteWrite | kOffsetAddressed);
  ranks.put(0, 1, A, 32, 16, kKey, 1);
  ranks.put(0, 1, A, 32, 33, kKey, 2);
  ranks.put(0, 1, A, 32, B, kKey, 3);
  ranks.run();
  CHECK((ranks.only<PutCompletion>(0, 1).status == 0 && ranks.same(0, A, 1, B + 16, 32)));
  CHECK(ranks.only<PutCompletion>(0, 2).status == -EACCES);
  CHECK(ranks.only<PutCompletion>(0, 3).status == -EACCES);
}

TEST_CASE("a key that was given back is gone; used again it names the new region alone") {
  Ranks ranks = pair_of_nodes();
  ranks.fill(0, A, 64, 1);
  ranks.share(1, kKey, B, 64, kRemoteWrite);
  ranks.unshare(1, kKey);
  ranks.run();
  ranks.put(0, 1, A, 8, B, kKey, 1);
  ranks.run();
  CHECK(ranks.only<PutCompletion>(0, 1).status == -EACCES);
  ranks.share(1, kKey, B, 64, kRemoteWrite);
  ranks.unshare(1, kKey);
  ranks.share(1, kKey, B + 1024, 64, kRemoteWrite);  // before the former one's end has taken effect
  ranks.run();
  ranks.put(0, 1, A, 8, B, kKey, 2);
  ranks.put(0, 1, A, 8, B + 1024, kKey, 3);
  ranks.run();
  CHECK(ranks.only<PutCompletion>(0, 2).status == -EACCES);
  CHECK((ranks.only<PutCompletion>(0, 3).status == 0 && ranks.same(0, A, 1, B + 1024, 8)));
  CHECK(ranks.memory[1][B - A] == std::byte{});
}

TEST_CASE("a region given back while a put is on its way: the put fails and writes nothing") {
  Ranks ranks = pair_of_nodes();
  ranks.fill(0, A, 4096, 1);
  ranks.share(1, kKey, B, 4096, kRemoteWrite);
  ranks.put(0, 1, A, 4096, B, kKey, 1);
  ranks.queue.run_until(Time::us(1));
  ranks.unshare(1, kKey);
  ranks.run();
  CHECK(ranks.only<PutCompletion>(0, 1).status == -EACCES);
  CHECK(ranks.memory[1][B - A] == std::byte{});
}

TEST_CASE("registered memory that is not there, or a buffer that is not: an error, and the interface lives") {
  Ranks ranks = pair_of_nodes();
  const std::uint64_t hole = A + Ranks::kBytes;
  ranks.share(1, kKey, hole, 4096, kRemoteRead | kRemoteWrite);
  ranks.share(1, kKey + 1, B, 4096, kRemoteRead | kRemoteWrite);
  ranks.put(0, 1, A, 8, hole, kKey, 1);
  ranks.get(0, 1, A, 8, hole, kKey, 2);
  ranks.put(0, 1, hole, 8, B, kKey + 1, 3);
  ranks.get(0, 1, hole, 8, B, kKey + 1, 4);
  ranks.run();
  CHECK(ranks.only<PutCompletion>(0, 1).status == -EFAULT);
  CHECK(ranks.only<GetCompletion>(0, 2).status == -EFAULT);
  CHECK(ranks.only<PutCompletion>(0, 3).status == -EFAULT);
  CHECK(ranks.only<GetCompletion>(0, 4).status == -EFAULT);
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE(
    "between two ranks an atomic sees every put before it and none after, and a get what was complete before it") {
  for (const std::uint64_t len : {8u, 5000u}) {
    Ranks ranks = pair_of_nodes();
    ranks.share(1, kKey, B, 8192, kRemoteRead | kRemoteWrite);
    const std::uint64_t hundred = 100, one = 1;
    std::memcpy(&ranks.memory[0][0], &hundred, 8);  // at A: 100, and zeros
    const std::uint64_t zeros = A + 0x2000, old = A + 0x3000, got = A + 0x8000;
    ranks.put(0, 1, A, len, B, kKey, 1);
    ranks.atomic(0, add(ranks, 1, B, 2, AtomicKind::kFetch, old), one);
    ranks.put(0, 1, zeros, 8, B, kKey, 3);
    ranks.run();
    CHECK(word(ranks, 0, old) == 100);
    CHECK(word(ranks, 1, B) == 0);
    ranks.put(0, 1, A, len, B, kKey, 4);
    ranks.run();
    ranks.get(0, 1, got, 8, B, kKey, 5);
    ranks.put(0, 1, zeros, 8, B, kKey, 6);
    ranks.run();
    CHECK(word(ranks, 0, got) == 100);
    CHECK(word(ranks, 1, B) == 0);
  }
}
