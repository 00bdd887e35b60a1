// SPDX-License-Identifier: Apache-2.0
// Messages that stay behind transfers, in traffic: at each distance in time between a message's store and its transfer's end, and drawn.
#include <random>

#include "gateware/ni/tb/behind_bench.hpp"
#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::gateware;

TEST_CASE("behind: a transfer that ends in every cycle round its message's store") {
  for (const bool bad : {false, true})
    for (const bool busy : {false, true}) {
      Bench b(2, {.memory = {.latency_cycles = 3}, .patience = 1, .tries = 0, .before_reset = 5});
      CAPTURE(bad);
      CAPTURE(busy);
      unsigned early = 0, late = 0, failed = 0;
      std::uint64_t token = 1;
      if (busy) {  // slots that wait and are visited, and sent again
        for (unsigned i = 0; i < 41; ++i) b.put(0, 4 + i / 4, 1, kOne, 8, 0, false);
        b.run(3000);
      }
      for (int offset = -30; offset < 130; ++offset, ++token) {
        const unsigned c = token % 4, size = static_cast<unsigned>(token % 65);
        const std::uint64_t at = b.cycle() + 100;
        const unsigned slot = b.turn[0][c] % 4;
        auto t = bad ? b.naming(transfer_of(kBadOwn, kTarget, 8, b.node(1).dcid, 1), slot) : b.none(slot);
        t.set_notify(0);
        // The transfer's last store at `at`; the message's last one so many cycles later or earlier.
        const auto message = [&](std::uint64_t when) {
          b.turn[0][c]++;
          for (unsigned i = 0; i < size; i += 16) {
            Store st{0, page(c) + i, {}, 0xffff};
            for (unsigned k = i; k < std::min(i + 16, size); ++k)
              st.data[k - i] =
                  k < 8 ? static_cast<std::uint8_t>(token >> 8 * k) : static_cast<std::uint8_t>(token * 7 + k);
            b.store(0, st);
          }
          b.send(0, c, b.node(1).dcid, kBox, size, when, true);
        };
        if (offset < 0)
          message(at + static_cast<std::uint64_t>(offset)), b.transfer(0, c, t, at);
        else
          b.transfer(0, c, t, at), message(at + 1 + static_cast<std::uint64_t>(offset));
        b.run_until_stored();
        b.run(900);
        auto got = b.come(1);
        const auto st = b.status(0, c);
        CAPTURE(offset);
        CAPTURE(size);
        const bool kept = (st.free_slots() >> slot & 1) == 0;
        if (kept) {
          ++late;
          CHECK(got.empty());
          b.transfer(0, c, b.none(slot));
          b.run(900);
          got = b.come(1);
          CHECK(got.size() == 1);
        } else if (bad) {
          ++failed;
          CHECK(got.empty());
        } else {
          ++early;
          CHECK(got.size() == 1);
        }
        if (size >= 8 && !got.empty()) CHECK(got[0] == token);
        CHECK((b.status(0, c).free_slots() & 0xf) == 0xf);
        if (token % 16 == 0 && b.seen[1].count(kBox)) b.release(1, 0, kBox, b.seen[1].at(kBox).place());
      }
      CHECK(late > 0);
      CHECK((bad ? failed : early) > 0);
      unsigned all = 0;
      for (unsigned c = 0; c < 4; ++c) all += b.status(0, c).failed();
      CHECK(all == failed);
      if (busy) {
        std::size_t ones = 0;
        for (int i = 0; i < 400'000 && ones < 41; ++i) {
          const auto g = b.come(1, kOne);
          if (!g.empty()) ones += g.size(), b.release(1, 0, kOne, b.seen[1].at(kOne).place());
          b.step();
        }
        CHECK(ones == 41);
        b.run(8000);
        for (unsigned c = 4; c < 16; ++c) {
          CHECK(b.status(0, c).free_slots() == 0xf);
          CHECK(b.status(0, c).failed() == 0);
        }
      }
    }
}

// Processors that count what they do, and transfers beside that name slots in which nothing stays. EXANET_BEHIND operations on each of EXANET_BEHIND_SEEDS
// seeds from EXANET_BEHIND_SEED on.
TEST_CASE("behind: drawn traffic") {
  const unsigned operations = static_cast<unsigned>(given("EXANET_BEHIND", 600));
  const std::uint64_t first = given("EXANET_BEHIND_SEED", 1), seeds = given("EXANET_BEHIND_SEEDS", 4);
  constexpr unsigned kMostUnderWay = 40;  // of 56 channels that are for stores; served reads have the others
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto pick = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    DisorderConfig disorder;
    if (seed % 2 == 0)
      disorder = {.lost_one_in = 40,
                  .damaged_one_in = 60,
                  .twice_one_in = 40,
                  .late_one_in = 20,
                  .most_late = 800,
                  .seed = seed};
    Bench b(seed % 3 == 0 ? 4 : 2,
            {.memory = {.latency_cycles = seed % 4 == 1 ? 300u : 20u, .stalls = seed % 3 == 1 ? 0.3 : 0.0},
             .patience = 4,
             .tries = 0,
             .block_patience = 2,
             .disorder = disorder,
             .before_reset = static_cast<int>(seed)});
    const std::size_t nodes = b.size();
    unsigned refused_transfers = 0;
    struct Op {
      bool live = false, done = false, behind = false, bad = false, notify = false, read = false;
      std::size_t n, other, box;
      unsigned c, slot, token;
      std::uint64_t own, target;
      std::uint32_t length;
    };
    std::vector<Op> ops;
    std::vector<std::array<std::array<int, 4>, kContexts>> holds(nodes);  // op in a slot, or -1
    std::vector<std::array<unsigned, kContexts>> failed(nodes);
    std::vector<unsigned> under_way(nodes);  // transfers with a message
    std::vector<std::map<unsigned, std::pair<unsigned, unsigned>>> noise(nodes);  // token: context, slot
    for (auto& h : holds)
      for (auto& c : h) c.fill(-1);
    for (auto& f : failed) f.fill(0);
    unsigned came = 0, fails = 0, tokens = 1, noised = 0;
    unsigned open = 0;
    for (std::uint64_t idle = 0; (ops.size() < operations || open != 0) && idle < 3'000'000; ++idle) {
      for (std::size_t n = 0; n < nodes; ++n) {
        if (ops.size() >= operations || b.node(n).stores.size() > 4 || pick(30) != 0) continue;
        if (noise[n].size() + under_way[n] >= kMostUnderWay) continue;  // what finds no channel never ends
        const unsigned c = pick(kContexts);
        if (pick(3) == 0) {  // noise: a slot in which nothing stays
          const unsigned s = pick(4);
          const int h = holds[n][c][s];
          if (h >= 0 && ops[static_cast<std::size_t>(h)].behind) continue;
          const unsigned token = 3000 + tokens++ % 50000;
          auto t = b.naming(transfer_of(pick(2) ? kOwn : kBadOwn, kTarget + 0x800'0000'00, 64,
                                        b.node(pick(static_cast<unsigned>(nodes))).dcid, token),
                            s);
          if (pick(4) == 0) t.set_length(0);
          set_word(*b.node(n).memory, kEnds + 8 * std::uint64_t{token}, 0);
          b.transfer(n, c, t);
          noise[n][token] = {c, s};
          ++noised;
          continue;
        }
        const unsigned s = b.turn[n][c] % 4;
        if (holds[n][c][s] >= 0) continue;
        Op o;
        o.behind = pick(3) != 0;
        bool pinned = false;
        for (const auto& [tok, at] : noise[n]) pinned |= o.behind && at == std::pair{c, s};
        if (pinned) continue;
        // The slot has to be free, says its context.
        o.n = n, o.c = c, o.slot = s, o.token = static_cast<unsigned>(ops.size()),
        o.box = pick(static_cast<unsigned>(nodes)), o.other = pick(static_cast<unsigned>(nodes));
        o.live = true;
        o.bad = o.behind && pick(4) == 0;
        o.read = pick(2), o.notify = pick(2);
        o.length = pick(3) ? pick(200) : pick(6000);
        if (o.bad && o.length == 0) o.length = 1;
        const std::uint64_t place = 0x10000 * std::uint64_t{o.token};
        o.own = (o.bad ? kBadOwn : kOwn) + place % 0x1'0000'0000 + pick(100),
        o.target = kTarget + place + 64 + pick(100);
        b.put(n, c, o.box, kBox, 8 + pick(57), o.token, o.behind);
        if (o.behind) {
          const std::size_t from = o.read ? o.other : n;
          if (!o.bad) fill(b, from, o.own, o.length);
          auto t = o.read ? read_of(o.target, o.own, o.length, b.node(o.other).dcid, 100'0 + o.token % 1000)
                          : transfer_of(o.own, o.target, o.length, b.node(o.other).dcid, 1000 + o.token % 1000);
          t.set_end_word(0x38'0000'0000 / 8 + o.token);
          t.set_notify(o.notify);
          if (!o.read && pick(3) == 0) t.set_fence(1), b.fence(n, c, fence_of(kFences + 8 * o.token, 1));
          b.transfer(n, c, b.naming(t, s));
          ++under_way[n];
        }
        holds[n][c][s] = static_cast<int>(o.token);
        ops.push_back(o);
        ++open;
      }
      b.step();
      for (std::size_t n = 0; n < nodes; ++n) {
        for (const auto token : b.come(n)) {
          Op& o = ops.at(token);
          CHECK(o.box == n);
          CHECK(!o.done);
          CHECK(!o.bad);
          o.done = true;
          ++came, --open;
          if (!o.behind) continue;
          --under_way[o.n];
          const std::size_t from = o.read ? o.other : o.n, to = o.read ? o.n : o.other;
          unsigned wrong = 0;
          for (std::uint64_t i = 0; i < o.length; ++i)
            wrong += b.node(to).memory->get(o.target + i) != value_at(from, o.own + i);
          CHECK(wrong == 0);
          CHECK(b.node(to).dma->unanswered(o.target / 16 * 16, o.target + o.length) == 0);
          if (o.notify) CHECK((word_of(*b.node(o.n).memory, 0x38'0000'0000 + 8 * o.token) & 1) == 1);
        }
        if (idle % 64 == 32 && !b.seen[n].empty()) b.release(n, 0, kBox, b.seen[n].at(kBox).place());
      }
      if (idle % 128 != 0) continue;
      for (std::size_t n = 0; n < nodes; ++n) {
        std::erase_if(noise[n], [&](const auto& e) { return end_of(*b.node(n).memory, e.first).done() != 0; });
        if (!b.node(n).stores.empty()) continue;
        b.run(8);
        for (unsigned c = 0; c < kContexts; ++c) {
          const auto held = holds[n][c];
          if (std::ranges::all_of(held, [](int h) { return h < 0; })) continue;
          const auto st = b.status(n, c);
          unsigned wanted = 0;
          for (unsigned s = 0; s < 4; ++s)
            if (held[s] >= 0 && (st.free_slots() >> s & 1)) {
              Op& o = ops[static_cast<std::size_t>(held[s])];
              if (o.bad) o.done = true, --open, --under_way[n], ++fails, ++failed[n][c];
              holds[n][c][s] = -1;
              wanted |= 1u << s;
            }
          if (wanted != 0) {
            CHECK(st.failed() >= failed[n][c]);  // a slot is told as free up to four cycles later
            if (st.failed() != 0) CHECK(st.failure() == code(Reason::kMemory));
          }
        }
      }
    }
    CHECK(open == 0);
    CHECK(came + fails == ops.size());
    b.run(5000);
    for (std::size_t n = 0; n < nodes; ++n) {
      CHECK(b.come(n).empty());
      for (unsigned c = 0; c < kContexts; ++c) {
        CHECK(b.status(n, c).free_slots() == 0xf);
        CHECK(b.status(n, c).failed() == failed[n][c]);
        CHECK(b.status(n, c).refused() == 0);
      }
      unsigned late = 0;
      for (const auto& [t, at] : noise[n]) late += end_of(*b.node(n).memory, t).done() == 0;
      CHECK(late == 0);
      for (unsigned c = 0; c < kContexts; ++c) refused_transfers += b.transfer_status(n, c).refused();
      CHECK(refused_transfers == 0);
    }
  }
}
