// SPDX-License-Identifier: Apache-2.0
// After any mix of operations: is all done, once, right, not before its time, and the same every time?
#include <doctest/doctest.h>

#include <map>
#include <random>

#include "core/protocol/engine_harness.hpp"

using namespace exanet;
using testing::kKey;
using testing::Ranks;
using Kind = CompletionKind;

namespace {

struct Setup {
  TopologySpec topology;
  std::uint32_t ranks, ranks_of_node;
  bool tiny;
};

// Memory of a rank: a slot for each operation it takes part in, at both ends, so that what lands where is known.
constexpr std::uint64_t kSlot = 512, kSlots = Ranks::kBytes / kSlot;
constexpr std::uint64_t kCounter = Ranks::kBase + (kSlots - 1) * kSlot;  // the last slot: a sum that atomics add to

struct Expected {
  Kind kind;
  Time earliest;
  bool seen = false;
};

struct Traffic {
  Traffic(const Setup& setup, std::uint64_t seed)
      : random(seed), ranks(setup.topology, place(setup), fabric(setup), ni(setup)) {
    next_slot.resize(setup.ranks);
    expected.resize(setup.ranks);
    for (RankId r = 0; r < setup.ranks; ++r) {
      ranks.share(r, kKey, Ranks::kBase, Ranks::kBytes, kRemoteRead | kRemoteWrite);
      node.push_back(r / setup.ranks_of_node);
    }
  }
  static std::vector<NodeId> place(const Setup& s) {
    std::vector<NodeId> placement;
    for (RankId r = 0; r < s.ranks; ++r) placement.push_back(r / s.ranks_of_node);
    return placement;
  }
  static NetworkConfig fabric(const Setup& s) {
    NetworkConfig f = testing::published_fabric();
    if (s.tiny) f.router.intra_fifo_words = 32, f.router.inter_fifo_words = 64, f.router.header_fifo_words = 8;
    return f;
  }
  static NiConfig ni(const Setup& s) {
    NiConfig n = testing::odd_costs();
    if (s.tiny) n.dma_block_bytes = 96, n.dma_window_blocks = 1;
    return n;
  }

  std::uint64_t slot(RankId rank) {
    return next_slot[rank] < kSlots - 1 ? Ranks::kBase + next_slot[rank]++ * kSlot : 0;
  }

  std::uint64_t expect(RankId rank, Kind kind, Time earliest) {
    expected[rank][++cookies] = Expected{kind, earliest};
    return cookies;
  }

  void message(RankId from, RankId to, std::uint64_t len) {
    const std::uint64_t a = slot(from), b = slot(to);
    if (a == 0 || b == 0) return;
    ranks.fill(from, a, len, static_cast<unsigned>(random()));
    const Time now = ranks.queue.now();
    const NiConfig& ni = ranks.config;
    const bool eager = len <= ni.eager_max_bytes, delivered = random() % 4 == 0;
    const Time there =
        now + ni.packetizer + ranks.control(node[from], node[to], 32 + (eager ? static_cast<std::uint32_t>(len) : 0));
    const std::uint16_t first = static_cast<std::uint16_t>(std::min<std::uint64_t>(len, 256));
    const Time read = there + ni.dma_start + ranks.network(node[to], node[from], 0) + ni.memory_write + ni.dma_start +
                      ranks.network(node[from], node[to], ranks.config.dma_block_bytes < first ? 0 : first) +
                      ni.memory_write;
    SendDescriptor send = ranks.message(to, a, len, tag, 0);
    if (delivered) send.flags |= kDelivered;
    if (!eager)
      send.cookie = expect(from, Kind::kSend, read + ranks.control(node[to], node[from], 32));
    else if (delivered)
      send.cookie = expect(from, Kind::kSend, there + ranks.control(node[to], node[from], 0));
    const ReceiveDescriptor receive =
        ranks.receive_of(from, b, kSlot, tag++, expect(to, Kind::kReceive, eager ? there : read));
    // As often unexpected as not, and sometimes much later.
    const int order = static_cast<int>(random() % 3);
    if (order == 0) ranks.engine.submit(to, receive);
    ranks.send(from, send);
    if (order == 1) ranks.engine.submit(to, receive);
    if (order == 2) late.push_back({to, receive});
    same.push_back({from, a, to, b, len});
  }

  void one_sided(RankId from, RankId to, std::uint64_t len, bool put) {
    const std::uint64_t a = slot(from), b = slot(to);
    if (a == 0 || b == 0) return;
    ranks.fill(put ? from : to, put ? a : b, len, static_cast<unsigned>(random()));
    const NiConfig& ni = ranks.config;
    const Time earliest = ranks.queue.now() + ni.dma_start + ranks.network(node[from], node[to], 0) + ni.memory_write +
                          ranks.network(node[to], node[from], 0) + ni.dma_completion;
    const std::uint64_t cookie = expect(from, put ? Kind::kPut : Kind::kGet, earliest);
    if (put)
      ranks.put(from, to, a, len, b, kKey, cookie);
    else
      ranks.get(from, to, a, len, b, kKey, cookie);
    same.push_back({from, a, to, b, len});
  }

  void add(RankId from, RankId to) {
    const std::uint64_t operand = random() % 1000;
    sums[to] += operand;
    const NiConfig& ni = ranks.config;
    const Time earliest = ranks.queue.now() + ni.dma_start * 2 + ranks.network(node[from], node[to], 8) +
                          ni.memory_write * 2 + ni.atomic + ranks.network(node[to], node[from], 0);
    ranks.atomic(from, ranks.sum(to, kCounter, kKey, expect(from, Kind::kAtomic, earliest)), operand);
  }

  void run(int operations) {
    const std::uint32_t n = static_cast<std::uint32_t>(node.size());
    for (int i = 0; i < operations; ++i) {
      const RankId from = static_cast<RankId>(random() % n), to = static_cast<RankId>(random() % n);
      const std::uint64_t len = random() % 4 == 0 ? random() % 33 : random() % (kSlot + 1);
      switch (random() % 5) {
        case 0:
        case 1: message(from, to, len); break;
        case 2: one_sided(from, to, len, true); break;
        case 3: one_sided(from, to, len, false); break;
        default: add(from, to);
      }
      // Ranks are now and then away from the library, so that rendezvous steps queue up.
      const RankId other = static_cast<RankId>(random() % n);
      if (random() % 2)
        ranks.engine.awake(other);
      else
        ranks.engine.asleep(other, ranks.queue.now());
      ranks.queue.run_until(ranks.queue.now() + Time::ns(static_cast<std::int64_t>(random() % 400)));
    }
    for (const auto& [rank, receive] : late) {
      ReceiveDescriptor c = receive;
      c.time = ranks.queue.now();
      ranks.engine.submit(rank, c);
    }
    for (RankId r = 0; r < n; ++r) ranks.engine.asleep(r, ranks.queue.now());
    ranks.run();
  }

  void check() {
    CHECK(ranks.engine.operations() == 0);
    CHECK(ranks.engine.nic().active() == 0);
    CHECK(ranks.engine.nic().network().in_flight() == 0);
    int early = 0, unknown = 0, twice = 0, missing = 0, wrong = 0, failed = 0;
    for (RankId r = 0; r < node.size(); ++r) {
      for (const testing::Done& d : ranks.done[r]) {
        const CompletionHeader& c = testing::header(d.c);
        const auto it = expected[r].find(testing::cookie_of(d.c));
        if (it == expected[r].end() || it->second.kind != c.kind) {
          ++unknown;
          continue;
        }
        twice += it->second.seen;
        it->second.seen = true;
        early += c.time < it->second.earliest;
        failed += c.status != 0;
      }
      for (const auto& [cookie, e] : expected[r]) missing += !e.seen;
      std::uint64_t sum;
      std::memcpy(&sum, &ranks.memory[r][kCounter - Ranks::kBase], 8);
      CHECK(sum == sums[r]);
    }
    for (const Same& s : same) wrong += !ranks.same(s.a, s.a_addr, s.b, s.b_addr, s.len);
    CHECK(early == 0);
    CHECK(unknown == 0);
    CHECK(twice == 0);
    CHECK(missing == 0);
    CHECK(wrong == 0);
    CHECK(failed == 0);
  }

  struct Same {
    RankId a;
    std::uint64_t a_addr;
    RankId b;
    std::uint64_t b_addr, len;
  };
  struct Late {
    RankId rank;
    ReceiveDescriptor receive;
  };
  std::mt19937_64 random;
  Ranks ranks;
  std::vector<NodeId> node;
  std::vector<std::uint64_t> next_slot;
  std::vector<std::map<std::uint64_t, Expected>> expected;
  std::vector<Same> same;
  std::vector<Late> late;
  std::map<RankId, std::uint64_t> sums;
  std::uint64_t cookies = 0, tag = 0;
};

const Setup kSetups[] = {
    {{"mesh", {2, 2}}, 8, 2, true},
    {{"torus", {3, 2}}, 12, 2, true},
    {{"qfdb-torus", {2, 2, 1}}, 16, 1, true},
    {{"qfdb-torus", {2, 1, 1}}, 16, 2, false},
    {{"mesh", {2}}, 8, 4, false},
};

}  // namespace

TEST_CASE("random traffic: everything completes once, right, and not before its time") {
  for (const Setup& setup : kSetups) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      INFO("ranks ", setup.ranks, " on ", setup.topology.kind, " seed ", seed);
      Traffic traffic(setup, seed);
      traffic.run(1500);
      CHECK(traffic.same.size() > 400);
      traffic.check();
    }
  }
}

TEST_CASE("the same seed gives the same completions at the same times") {
  for (const Setup& setup : kSetups) {
    Traffic one(setup, 11), two(setup, 11);
    one.run(800);
    two.run(800);
    CHECK(one.ranks.queue.now() == two.ranks.queue.now());
    CHECK(one.ranks.queue.processed() == two.ranks.queue.processed());
    for (RankId r = 0; r < setup.ranks; ++r) {
      const auto &a = one.ranks.done[r], &b = two.ranks.done[r];
      REQUIRE(a.size() == b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        const CompletionHeader &x = testing::header(a[i].c), &y = testing::header(b[i].c);
        CHECK((x.kind == y.kind && x.time == y.time && x.cpu_ps == y.cpu_ps &&
               testing::cookie_of(a[i].c) == testing::cookie_of(b[i].c)));
      }
    }
  }
}
