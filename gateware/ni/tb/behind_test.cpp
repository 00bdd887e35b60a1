// SPDX-License-Identifier: Apache-2.0
// Messages that stay behind transfers, seen from outside: from stores to mailboxes, words and status.
//
// Is a message sent once, when its transfer has ended, with bytes, end and fence in memory before it; does it fail with it; and does nothing else touch it:
// transfers of other contexts and domains, or that were refused, stores of any number, resets?
#include <deque>

#include "gateware/ni/tb/behind_bench.hpp"

using namespace exanet;
using namespace exanet::gateware;

TEST_CASE("behind: bytes, fence and end are in memory before the message is sent") {
  for (const unsigned latency : {0u, 20u, 300u})
    for (const bool stalls : {false, true}) {
      if (latency == 300 && stalls) continue;
      Bench b(3, {.memory = {.latency_cycles = latency, .stalls = stalls ? 0.6 : 0.0},
                  .patience = 30,
                  .block_patience = 20,
                  .before_reset = 7});
      unsigned token = 1;
      for (const unsigned size : {8u, 0u, 17u, 64u})
        for (const std::uint32_t bytes : {0u, 1u, 5000u})
          for (unsigned kind = 0; kind < 8; ++kind) {
            const bool read = kind & 1, fence = kind & 2, notify = kind & 4;
            const std::size_t other = token % 3, box = (token / 3 + token) % 3;
            const unsigned c = token % kContexts;
            const std::uint64_t place = 0x10000 * std::uint64_t{token};
            fill(b, read ? other : 0, kOwn + place + token % 16, bytes);
            const unsigned slot = b.put(0, c, box, kBox, size, token);
            auto t =
                read ? read_of(kTarget + place + 77, kOwn + place + token % 16, bytes, b.node(other).dcid, token)
                     : transfer_of(kOwn + place + token % 16, kTarget + place + 77, bytes, b.node(other).dcid, token);
            t.set_notify(notify);
            if (fence) t.set_fence(1), b.fence(0, c, fence_of(kFences + 8 * token, token));
            b.transfer(0, c, b.naming(t, slot));
            Tokens got;
            CAPTURE(size);
            CAPTURE(bytes);
            CAPTURE(kind);
            CAPTURE(latency);
            CAPTURE(stalls);
            std::size_t heads = b.node(0).in[0].arrivals.size();
            bool looked = false;
            for (int i = 0; got.empty(); ++i) {
              REQUIRE(i < 100'000);
              b.step();
              if (!looked && b.node(0).in[0].arrivals.size() > heads) {
                looked = true;
                if (notify) {
                  CHECK(end_of(*b.node(0).memory, token).done() == 1);
                  const std::uint64_t line = (kEnds + 8 * token) / 16 * 16;
                  CHECK(b.node(0).dma->unanswered(line, line + 16) == 0);
                }
                const std::size_t at = read ? 0 : other;
                CHECK(b.node(at).dma->unanswered((kTarget + place + 77) / 16 * 16, kTarget + place + 77 + bytes) == 0);
                if (fence && !read) CHECK(word_of(*b.node(other).memory, kFences + 8 * token) == token);
              }
              got = b.come(box);
              if (!got.empty())
                check_written(b, read ? other : 0, kOwn + place + token % 16, read ? 0 : other, kTarget + place + 77,
                              bytes);
            }
            CHECK(looked);
            if (size >= 8) CHECK(got == Tokens{token});
            CHECK(got.size() == 1);
            ++token;
          }
      b.run(3000);
      for (unsigned c = 0; c < kContexts; ++c) CHECK(b.status(0, c).free_slots() == 0xf);
      for (unsigned c = 0; c < kContexts; ++c) CHECK(b.status(0, c).failed() == 0);
      for (unsigned n = 0; n < 3; ++n) CHECK(b.come(n).empty());
    }
}

TEST_CASE("behind: stays, with ordinary messages and transfers of others round it") {
  Bench b(2);
  const unsigned slot = b.put(0, 0, 1, kBox, 64, 1);
  b.put(0, 0, 1, kBox, 8, 2, false);
  b.put(0, 0, 1, kBox, 8, 3, false);
  b.put(0, 0, 1, kBox, 8, 4, false);
  b.put(0, 0, 1, kBox, 8, 99, false);  // no slot: refused
  b.turn[0][0]--;
  b.run(3000);
  CHECK(b.come(1) == Tokens{2, 3, 4});
  CHECK(b.status(0, 0).free_slots() == 0xe);
  for (unsigned c = 1; c < kContexts; ++c) b.transfer(0, c, b.none(slot));  // other contexts' slot 0
  for (unsigned s = 1; s < 4; ++s) b.transfer(0, 0, b.none(s));
  auto t = b.none(slot);
  t.set_message(0);
  b.transfer(0, 0, t);
  b.run(100'000);
  CHECK(b.come(1).empty());
  CHECK(b.status(0, 0).free_slots() == 0xe);
  b.transfer(0, 0, b.none(slot));
  b.run(3000);
  CHECK(b.come(1) == Tokens{1});
  CHECK(b.status(0, 0).free_slots() == 0xf);
  CHECK(b.status(0, 0).failed() == 0);
}

TEST_CASE("behind: of two transfers that name a slot the first to end counts") {
  for (unsigned how = 0; how < 8; ++how)
    for (const bool self : {false, true}) {
      CAPTURE(how);
      Bench b(2, {.tries = 2, .block_patience = 2});
      const bool first_bad = how & 1, second_bad = how & 2, full = how & 4;
      if (full) {
        b.put(0, 1, 1, kOne, 8, 77, false), b.run(1000);
        CHECK(b.come(1, kOne) == Tokens{77});
      }
      const unsigned s = b.put(0, 0, 1, full ? kOne : kBox, 16, 5);
      const std::size_t to = self ? 0 : 1;
      fill(b, 0, kOwn, 64);
      b.transfer(0, 0, b.naming(transfer_of(first_bad ? kBadOwn : kOwn, kTarget, 64, b.node(to).dcid, 1), s));
      b.transfer(0, 0, b.naming(transfer_of(second_bad ? kBadOwn : kOwn, kTarget + 4096, 64, b.node(to).dcid, 2), s));
      b.wait_end(0, 1), b.wait_end(0, 2);
      b.run(2000);
      if (full) {
        CHECK(b.come(1, kOne).empty());
        b.release(1, 0, kOne, 1);
        b.run(20'000);
      }
      const auto got = b.come(1, full ? kOne : kBox);
      const auto st = b.status(0, 0);
      CHECK(got.size() + st.failed() == 1);
      if (first_bad == second_bad) CHECK(st.failed() == unsigned{first_bad});
      CHECK(st.free_slots() == 0xf);
    }
}

TEST_CASE("behind: transfers that are refused at their store leave it; no bytes send it then") {
  Bench b(2, {.line = {.latency_cycles = 2000}, .block_patience = 63, .kept_channels = 0});
  const unsigned s = b.put(0, 0, 1, kBox, 16, 5);
  b.transfer(0, 0, b.naming(transfer_of(kOwn, kTarget, 64, 0x3fffff, 200), s));
  for (unsigned i = 0; i < kChannels; ++i)
    b.transfer(0, 2, transfer_of(kOwn, kTarget + 0x1000 * i, 64, b.node(1).dcid, i));
  b.transfer(0, 0, b.naming(transfer_of(kOwn, kTarget, 64, b.node(1).dcid, 200), s));
  b.transfer(0, 0, b.none(s));
  b.run(30'000);
  CHECK(b.transfer_status(0, 0).refused() == 3);
  CHECK(b.come(1).empty());
  CHECK(b.status(0, 0).failed() == 0);
  CHECK(b.status(0, 0).free_slots() == (0xfu & ~(1u << s)));
  b.transfer(0, 0, b.none(s, 300, true));
  b.run(10'000);
  CHECK(b.come(1) == Tokens{5});
  CHECK(end_of(*b.node(0).memory, 300).done() == 1);
}

TEST_CASE("behind: a transfer that fails, for each reason") {
  for (const bool translate : {false, true})
    for (unsigned how = 0; how < 12; ++how) {
      const bool notify = how % 2 == 0;
      if (!translate && how >= 6 && how < 11) continue;
      Bench b(2, {.patience = 4, .tries = 2, .block_patience = 2, .read_patience = 6, .translate = translate});
      AxiMemory& m0 = *b.node(0).memory;
      std::deque<PageTables> tables;
      if (translate)
        for (std::size_t n = 0; n < 2; ++n) {
          AxiMemory& m = *b.node(n).memory;
          tables.emplace_back(0x70'0000'0000, [&m](std::uint64_t at, std::uint64_t e) { set_word(m, at, e); });
          b.open_domain(n, kDomain, tables[n].root(kDomain));
          for (const std::uint64_t p : {kOwn, kTarget, kEnds, kFences, kBadOwn, kBadTarget, kBadEnd})
            tables[n].map(kDomain, p, p, kLargePage, true);
          tables[n].map(kDomain, kOwn + kLargePage, kOwn + kLargePage, kLargePage, false);
        }
      b.run_until_stored();
      const std::uint64_t hole = kOwn + 2 * kLargePage, ro = kOwn + kLargePage;
      const std::uint32_t one = b.node(1).dcid;
      spec::Transfer t;
      unsigned want = code(Reason::kMemory);
      switch (how) {
        case 0: t = transfer_of(kBadOwn, kTarget, 6000, one, 1); break;
        case 1: t = transfer_of(kOwn, kBadTarget, 6000, one, 1); break;
        case 2: t = read_of(kBadTarget, kOwn, 6000, one, 1); break;
        case 3: t = read_of(kTarget, kBadOwn, 6000, one, 1); break;
        case 4: t = transfer_of(kOwn, kTarget, 6000, 7, 1), want = code(Reason::kSilent); break;
        case 5: t = read_of(kTarget, kOwn, 6000, 7, 1), want = code(Reason::kSilent); break;
        case 6: t = transfer_of(hole, kTarget, 64, one, 1), want = code(Reason::kUnmapped); break;
        case 7: t = transfer_of(kOwn, hole, 64, one, 1), want = code(Reason::kUnmapped); break;
        case 8: t = read_of(hole, kOwn, 64, one, 1), want = code(Reason::kUnmapped); break;
        case 9: t = read_of(ro, kOwn, 64, one, 1), want = code(Reason::kReadOnly); break;
        case 10: t = transfer_of(kOwn, ro, 64, one, 1), want = code(Reason::kReadOnly); break;
        case 11:
          t = transfer_of(kOwn, kTarget, 64, one, 1), t.set_fence(1);
          b.fence(0, 9, fence_of(translate ? hole : kBadTarget, 9)),
              want = code(translate ? Reason::kUnmapped : Reason::kMemory);
          break;
      }
      t.set_notify(notify);
      CAPTURE(translate);
      CAPTURE(how);
      CAPTURE(notify);
      b.put(0, 9, 1, kBox, 8, 1, false);  // its turn is another slot
      b.run(500);
      CHECK(b.come(1) == Tokens{1});
      const unsigned s = b.put(0, 9, 1, kBox, 64, 5);
      const auto sent = b.counts(0)[0];
      b.transfer(0, 9, b.naming(t, s));
      for (int i = 0; b.status(0, 9).failed() == 0; ++i) {
        REQUIRE(i < 100'000);
      }
      if (notify) CHECK(end_of(m0, 1).done() == 1);
      if (notify) CHECK(end_of(m0, 1).failure() == want);
      b.run(20'000);
      const auto st = b.status(0, 9);
      CHECK(st.failure() == want);
      CHECK(st.failed() == 1);
      CHECK(st.failed_channel() == 36 + s);
      CHECK(st.free_slots() == 0xf);
      CHECK(b.counts(0)[0] == sent);
      CHECK(b.come(1).empty());
      for (unsigned i = 0; i < 5; ++i) {  // the slot again, kept and not
        const unsigned z = b.put(0, 9, 1, kBox, 16, 10 + i, i != 4);
        if (i != 4) b.transfer(0, 9, b.none(z));
        b.run(1000);
        CHECK(b.come(1) == Tokens{10 + i});
      }
      CHECK(b.status(0, 9).failed() == 1);
    }
}

TEST_CASE("behind: all slots, all channels at once") {
  for (const unsigned kind : {0u, 1u, 2u, 3u, 4u}) {
    CAPTURE(kind);
    Bench b(4,
            {.memory = {.latency_cycles = kind == 1 ? 400u : 20u},
             .patience = 63,
             .tries = kind == 2 ? 1u : 0u,
             .block_patience = 20,
             .kept_channels = kind == 3 ? 8u : 0u},
            true);
    const std::size_t froms = kind == 3 ? 4 : 1;
    unsigned total = 0;
    for (std::size_t n = 0; n < froms; ++n) {
      for (unsigned i = 0; i < 64; ++i) b.put(n, i / 4, kind == 4 ? 0 : 1, kBox, i % 65, 1000 * n + i);
      for (unsigned i = 0; i < (kind == 3 ? 56u : 64u); ++i, ++total) {
        const std::uint64_t place = 0x10000 * (i + 64 * n);
        const bool read = kind == 3 && i % 2;
        auto t = read ? read_of(kTarget + place, kOwn + place, 600, b.node((n + 1) % 4).dcid, i)
                      : transfer_of(kind == 2 ? kBadOwn : kOwn + place, kTarget + place, kind == 4 ? 0 : 600,
                                    b.node(kind == 1 ? 0 : 1).dcid, i);
        t.set_notify(kind != 0);
        b.transfer(n, i / 4, b.naming(t, i % 4));
      }
    }
    b.run(60'000);
    if (kind == 2) {
      for (unsigned c = 0; c < kContexts; ++c) CHECK(b.status(0, c).failed() == 4);
      CHECK(b.come(1).empty());
    } else {
      CHECK(b.come(kind == 4 ? 0 : 1).size() == total);
    }
    for (std::size_t n = 0; n < froms; ++n) {
      for (unsigned c = 0; c < (kind == 3 ? 14u : 16u); ++c) CHECK(b.status(n, c).free_slots() == 0xf);
      for (unsigned i = 56; kind == 3 && i < 64; ++i) b.transfer(n, i / 4, b.none(i % 4));
    }
    b.run(20'000);
    for (std::size_t n = 0; n < froms; ++n)
      for (unsigned c = 0; c < 16; ++c) CHECK(b.status(n, c).free_slots() == 0xf);
    if (kind == 3) CHECK(b.come(1).size() == 32);
  }
}

TEST_CASE("behind: a page that is disabled, or given to another domain, in between") {
  {  // disabled while the transfer is under way
    Bench b(2, {.line = {.latency_cycles = 1000}, .patience = 63, .block_patience = 63});
    const unsigned s = b.put(0, 0, 1, kBox, 16, 5);
    b.transfer(0, 0, b.naming(transfer_of(kOwn, kTarget, 64, b.node(1).dcid, 1), s));
    b.run_until_stored();
    b.open_context(0, 0, kDomain + 1, false);
    b.wait_end(0, 1);
    b.run(20'000);
    CHECK(b.come(1) == Tokens{5});
    CHECK(b.status(0, 0).free_slots() == 0xf);
  }
  {  // disabled before its transfer: kept
    Bench b(2);
    const unsigned s = b.put(0, 0, 1, kBox, 16, 5);
    b.open_context(0, 0, kDomain, false);
    b.transfer(0, 0, b.none(s));
    b.run(20'000);
    CHECK(b.come(1).empty());
    b.open_context(0, 0, kDomain + 1);
    b.run(20'000);
    CHECK(b.come(1).empty());
    b.transfer(0, 0, b.none(s));
    b.run(5000);
    CHECK(b.come(1).empty());
    CHECK(b.status(0, 0).free_slots() == 0xe);
    // A kernel that has not sent it before gives the page back for that.
    b.open_context(0, 0, kDomain);
    b.transfer(0, 0, b.none(s));
    b.run(5000);
    CHECK(b.come(1) == Tokens{5});
    CHECK(b.status(0, 0).free_slots() == 0xf);
    b.open_context(0, 0, kDomain + 1);
    const unsigned z = b.put(0, 0, 1, kOther, 16, 6);
    b.transfer(0, 0, b.none(z));
    b.run(5000);
    CHECK(b.come(1, kOther) == Tokens{6});
  }
  {  // a transfer of the old owner, under way, names a slot that the new owner fills
    Bench b(2, {.line = {.latency_cycles = 3000}, .patience = 63, .block_patience = 63});
    b.transfer(0, 0, b.naming(transfer_of(kOwn, kTarget, 64, b.node(1).dcid, 1), 0));
    b.run_until_stored();
    b.open_context(0, 0, kDomain + 1);
    b.put(0, 0, 1, kOther, 16, 6);
    b.wait_end(0, 1);
    b.run(20'000);
    CHECK(b.come(1, kOther).empty());
    CHECK(b.status(0, 0).free_slots() == 0xe);
    b.transfer(0, 0, b.none(0));
    b.run(5000);
    CHECK(b.come(1, kOther) == Tokens{6});
  }
  {  // full mailbox, then closed
    Bench b(2, {.patience = 3, .tries = 0});
    b.put(0, 1, 1, kOne, 8, 1, false);
    b.run(1000);
    const unsigned s = b.put(0, 0, 1, kOne, 16, 5);
    b.transfer(0, 0, b.none(s));
    b.run(3000);
    b.open_context(0, 0, kDomain, false);
    b.run(10'000);
    CHECK(b.status(0, 0).free_slots() == 0xf);
    CHECK(b.status(0, 0).failed() == 1);
  }
  {  // one that fails
    Bench b(2, {.line = {.latency_cycles = 3000}, .patience = 63, .block_patience = 63});
    b.transfer(0, 0, b.naming(transfer_of(kOwn, kBadTarget, 64, b.node(1).dcid, 1), 0));
    b.run_until_stored();
    b.open_context(0, 0, kDomain + 1);
    const unsigned s = b.put(0, 0, 1, kOther, 16, 6);
    fill(b, 0, kOwn, 20'000);
    b.transfer(0, 0, b.naming(transfer_of(kOwn, kTarget, 20'000, b.node(1).dcid, 2), s));
    b.wait_end(0, 1);
    b.wait_end(0, 2);
    b.run(20'000);
    CHECK(b.come(1, kOther) == Tokens{6});
    CHECK(b.status(0, 0).failed() == 0);
  }
}

TEST_CASE("behind: reset with kept messages and named slots, then used again") {
  for (unsigned how = 0; how < 3; ++how) {
    CAPTURE(how);
    Bench b(2, {.patience = 8, .tries = 3, .block_patience = 40});
    for (unsigned round = 0; round < 2; ++round) {
      for (unsigned c = 0; c < kContexts; ++c)
        for (unsigned s = 0; s < 4 - (c % 4); ++s) b.put(0, c, 1, kBox, 16, 500 + c);
      if (how >= 1) {
        b.enable(1, false);
        for (unsigned c = 0; c < kContexts; ++c)
          b.transfer(0, c, b.naming(transfer_of(kOwn, kTarget, 64, b.node(how == 1 ? 1 : 7).dcid, c), 0));
      }
      b.run(2000);
      if (how == 0) CHECK(b.come(1).empty());
      b.reset_interface(0);
      b.setup(0);
      b.enable(1, true);
      b.run(3000);
      b.come(1);
      b.clear_peer(1, 0);
      b.run_until_stored();
      b.run(3000);
      for (unsigned c = 0; c < kContexts; ++c) {
        CHECK(b.status(0, c).free_slots() == 0xf);
        b.transfer(0, c, b.none(0)), b.transfer(0, c, b.none(1));
      }
      b.run(5000);
      CHECK(b.come(1).empty());
      CHECK(b.counts(0)[0] == 0);
      for (unsigned i = 0; i < 64; ++i) CHECK(b.put(0, i / 4, 1, kBox, 16, i) == i % 4);
      for (unsigned i = 0; i < 64; ++i)
        b.transfer(0, i / 4, b.naming(transfer_of(kOwn, kTarget, 64, b.node(1).dcid, i), i % 4));
      b.run(20'000);
      CHECK(b.come(1).size() == 64);
    }
  }
}

TEST_CASE("behind: one that is stored after its transfer, and one that is refused") {
  Bench b(2, {.line = {.latency_cycles = 2000}, .patience = 63, .block_patience = 63});
  b.transfer(0, 0, b.naming(transfer_of(kOwn, kTarget, 64, b.node(1).dcid, 1), 0));
  b.put(0, 0, 1, kBox, 16, 5);  // before the transfer ends
  b.wait_end(0, 1);
  b.run(10'000);
  CHECK(b.come(1) == Tokens{5});
  b.transfer(0, 1, b.naming(transfer_of(kOwn, kTarget, 0, b.node(1).dcid, 2), 0));
  b.wait_end(0, 2);
  b.put(0, 1, 1, kBox, 16, 6);  // after it has ended
  b.run(20'000);
  CHECK(b.come(1).empty());
  CHECK(b.status(0, 1).free_slots() == 0xe);
  // Too long, no node: no slot is taken.
  b.send(0, 2, b.node(1).dcid, kBox, 65, 0, true);
  b.send(0, 2, 0x3fffff, kBox, 8, 0, true);
  b.run(1000);
  CHECK(b.status(0, 2).refused() == 2);
  CHECK(b.status(0, 2).free_slots() == 0xf);
  CHECK(b.put(0, 2, 1, kBox, 8, 8) == 0);
  b.transfer(0, 2, b.none(0));
  b.run(20'000);
  CHECK(b.come(1) == Tokens{8});
  // The first three words of a transfer are kept: the last alone asks again, with the message's slot.
  b.put(0, 3, 1, kBox, 8, 9);
  b.transfer(0, 3, b.none(0));
  b.run(20'000);
  CHECK(b.come(1) == Tokens{9});
  for (unsigned i = 1; i < 5; ++i) b.put(0, 3, 1, kBox, 8, 9 + i);
  b.store64(0, page(3) + kTransfer + 24, 0);
  b.run(20'000);
  CHECK(b.come(1) == Tokens{13});
}

TEST_CASE("behind: a message that is given up before it had a number leaves the window of its node as it was") {
  for (const unsigned given_up : {0u, 4u}) {
    const unsigned tries = given_up == 0 ? 2 : 0;
    CAPTURE(given_up);
    CAPTURE(tries);
    Bench b(2, {.patience = 63, .tries = tries, .block_patience = 4});
    for (unsigned i = 0; i < 32; ++i) b.put(0, i / 4, 1, kBox, 16, i, false);  // numbers 0 to 31
    b.run(3000);
    CHECK(b.come(1).size() == 32);
    for (unsigned i = 0; i < given_up; ++i) b.put(0, 0, 1, kBox, 16, 900 + i);  // stay, in slots that had 0 to 3
    // 32 that are lost: numbers 32 to 63.
    bool cut = true;
    b.node(0).tx[0]->tamper =
        b.node(0).tx[1]->tamper = [&](const NarrowWord& word) { return cut ? std::nullopt : std::optional(word); };
    for (unsigned i = 0; i < 40; ++i) b.put(0, 4 + i / 4, 1, kBox, 16, 100 + i, false);
    b.run(1200);
    const auto sent = b.counts(0)[0];
    CHECK(sent == 64);
    cut = false;
    b.run(300);
    for (unsigned i = 0; i < given_up; ++i) {
      b.transfer(0, 0, b.naming(transfer_of(kBadOwn, kTarget, 64, b.node(0).dcid, 1 + i), i));
      b.wait_end(0, 1 + i);
    }
    b.run(1000);
    CHECK(b.status(0, 0).failed() == given_up);
    CHECK(b.counts(0)[0] == sent);  // 32 are under way, which is the most
    b.run(200'000);
    const auto got = b.come(1);
    unsigned failed = 0, not_free = 0;
    for (unsigned c = 1; c < 16; ++c) failed += b.status(0, c).failed(), not_free += b.status(0, c).free_slots() != 0xf;
    CHECK(got.size() == 40);
    CHECK(failed == 0);
    CHECK(not_free == 0);
  }
}

TEST_CASE("behind: memory has answered the end's word before the message is in the same node's mailbox") {
  for (const double stalls : {0.0, 0.9})
    for (const unsigned latency : {0u, 300u}) {
      Bench b(2, {.memory = {.latency_cycles = 4}});
      b.node(0).dma =
          std::make_unique<DmaPort>(*b.node(0).memory, MemoryConfig{.latency_cycles = latency, .stalls = stalls});
      unsigned late = 0, unanswered = 0;
      for (unsigned i = 0; i < 60; ++i) {
        const unsigned c = i % 16, s = b.put(0, c, 0, kBox, 8, i);
        b.transfer(0, c, b.naming(transfer_of(kOwn, kTarget, i % 2 ? 64 : 0, b.node(0).dcid, 100 + i), s));
        Tokens got;
        while (got.empty()) b.step(), got = b.come(0);
        CHECK(got == Tokens{i});
        late += end_of(*b.node(0).memory, 100 + i).done() == 0;
        unanswered +=
            b.node(0).dma->unanswered((kEnds + 8 * (100 + i)) / 16 * 16, (kEnds + 8 * (100 + i)) / 16 * 16 + 16) != 0;
        b.wait_end(0, 100 + i);
        b.run(3000);
      }
      CHECK(late == 0);
      CHECK(unanswered == 0);
    }
}

TEST_CASE("behind: a process's stores, refused one a cycle, do not hold up others' ends") {
  Bench b(2, {.tries = 0});
  const unsigned s = b.put(0, 0, 1, kBox, 16, 5);
  b.run_until_stored();
  fill(b, 0, kOwn, 64);
  auto t = b.naming(transfer_of(kOwn, kTarget, 64, b.node(1).dcid, 1), s);
  b.transfer(0, 0, t);
  b.transfer(0, 1, transfer_of(kOwn, kTarget + 4096, 64, b.node(1).dcid, 2));  // of another process, with no message
  b.transfer(0, 2, transfer_of(kOwn, kTarget + 8192, 64, b.node(1).dcid, 3));
  const std::uint64_t begun = b.cycle();
  constexpr unsigned kStores = 10'000;
  for (unsigned i = 0; i < kStores; ++i) b.send(0, 15, b.node(1).dcid, kBox, 65);  // too long: each is refused
  std::uint64_t came = 0, ended[4]{}, stored = 0;
  for (int i = 0; i < 20'000; ++i) {
    b.step();
    if (came == 0 && !b.come(1).empty()) came = b.cycle() - begun;
    for (unsigned k = 1; k < 4; ++k)
      if (ended[k] == 0 && end_of(*b.node(0).memory, k).done()) ended[k] = b.cycle() - begun;
    if (stored == 0 && b.node(0).stores.empty()) stored = b.cycle() - begun;
  }
  CHECK(stored > kStores);
  CHECK(came > 0);
  CHECK(came < 400);
  CHECK(ended[3] < 400);
}
