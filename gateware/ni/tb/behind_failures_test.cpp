// SPDX-License-Identifier: Apache-2.0
// Messages that stay behind transfers, where something goes wrong: transfers, ends and mailboxes that fail, pages that
// are given to other domains, resets.
#include "gateware/ni/tb/behind_bench.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

constexpr std::uint64_t kReadOnly = kOwn + kLargePage, kNoPage = kOwn + 2 * kLargePage;

// Maps pages of kDomain to themselves, at all nodes.
void map_pages(BehindBench& network, const std::vector<std::uint64_t>& pages) {
  for (std::size_t n = 0; n < network.size(); ++n) {
    AxiMemory& memory = *network.node(n).memory;
    PageTables tables(0x70'0000'0000,
                      [&memory](std::uint64_t at, std::uint64_t entry) { set_word(memory, at, entry); });
    network.open_domain(n, kDomain, tables.root(kDomain));
    for (const std::uint64_t page : pages) tables.map(kDomain, page, page, kLargePage, page != kReadOnly);
  }
  network.run_until_stored();
}

}  // namespace

TEST_CASE("behind: it fails with its transfer, with the same reason, and its slot is as before") {
  struct Failure {
    const char* what;
    Reason reason;
    spec::Transfer transfer;
    bool translated = false, fence = false;
  };
  constexpr unsigned kContext = 9;
  constexpr std::uint32_t kOne = 1, kNobody = 7, kBytes = 6000;
  const std::vector<Failure> failures{
      {"own bytes", Reason::kMemory, transfer_of(kRefusesOwn, kTarget, kBytes, kOne, 1)},
      {"target", Reason::kMemory, transfer_of(kOwn, kRefusesTarget, kBytes, kOne, 1)},
      {"bytes that are read", Reason::kMemory, read_of(kRefusesTarget, kOwn, kBytes, kOne, 1)},
      {"own buffer", Reason::kMemory, read_of(kTarget, kRefusesOwn, kBytes, kOne, 1)},
      {"fence", Reason::kMemory, transfer_of(kOwn, kTarget, 64, kOne, 1), false, true},
      {"nobody", Reason::kSilent, transfer_of(kOwn, kTarget, kBytes, kNobody, 1)},
      {"nobody to read from", Reason::kSilent, read_of(kTarget, kOwn, kBytes, kNobody, 1)},
      {"own page", Reason::kUnmapped, transfer_of(kNoPage, kTarget, 64, kOne, 1), true},
      {"page of the target", Reason::kUnmapped, transfer_of(kOwn, kNoPage, 64, kOne, 1), true},
      {"page that is written", Reason::kReadOnly, transfer_of(kOwn, kReadOnly, 64, kOne, 1), true},
      {"page that is read to", Reason::kReadOnly, read_of(kReadOnly, kOwn, 64, kOne, 1), true},
      {"page of the fence", Reason::kUnmapped, transfer_of(kOwn, kTarget, 64, kOne, 1), true, true}};
  for (const Failure& failure : failures)
    for (const bool notify : {false, true}) {
      CAPTURE(failure.what);
      CAPTURE(notify);
      BehindBench network(
          2, {.timeout = 4, .tries = 2, .block_timeout = 2, .read_timeout = 6, .translate = failure.translated});
      REQUIRE(network.node(1).dcid == kOne);
      map_pages(network, {kOwn, kTarget, kEnds, kReadOnly});
      network.put(0, kContext, {.token = 1, .behind = false});  // so it is another slot than the first
      network.until_these_come(1, Tokens{1});
      const unsigned slot = network.put(0, kContext, {.token = 5, .length = 64});
      spec::Transfer transfer = naming(failure.transfer, slot);
      transfer.set_notify(notify);
      transfer.set_fence(failure.fence);
      network.fence(0, kContext, fence_of(failure.translated ? kNoPage : kRefusesTarget, 9));
      network.transfer(0, kContext, transfer);
      network.run_until_stored();
      network.until_free(0, kContext);
      if (notify) network.until_ended(0, 1, failure.reason);
      network.run(500);
      CHECK(network.counts(0)[0] == 1);
      const spec::NiStatus status = network.status(0, kContext);
      CHECK(status.failure() == code_of(failure.reason));
      CHECK(status.failed() == 1);
      CHECK(status.failed_channel() == kSlots * kContext + slot);
      for (unsigned token = 10; token < 10 + kSlots + 1; ++token) {
        const bool behind = token % 4 != 0;
        const unsigned next = network.put(0, kContext, {.token = token, .behind = behind});
        if (behind) network.transfer(0, kContext, network.no_bytes(next));
        network.until_these_come(1, Tokens{token});
      }
      CHECK(network.status(0, kContext).failed() == 1);
    }
}

TEST_CASE("behind: it is sent where the end has no page, or memory refuses that") {
  for (const bool translated : {false, true}) {
    CAPTURE(translated);
    BehindBench network(2, {.fault_tries = 2, .translate = translated});
    map_pages(network, {kOwn, kTarget});
    fill(network, 0, kOwn, 64);
    for (unsigned round = 0; round < 40; ++round) {  // more than wait for memory's answers
      const unsigned slot = network.put(0, 0, {.token = round});
      spec::Transfer transfer = network.write_to(1, 1);
      if (!translated) transfer.set_end_word(kRefusesWord / 8);
      network.transfer(0, 0, naming(transfer, slot));
      network.until_these_come(1, Tokens{round});
    }
    check_written(network, 0, kOwn, 1, kTarget, 64);
    network.run(500);
    network.check_idle(0);
    if (translated) CHECK(network.page_counts(0)[1] >= 1);
    CHECK(word_of(*network.node(0).memory, kEnds + 8) == 0);
  }
}

TEST_CASE("behind: it is answered as others are: its mailbox is closed, of another domain, full; its node is dead") {
  BehindBench network(3, {.timeout = 4, .tries = 3, .block_timeout = 2});
  unsigned failed = 0;
  const auto fails = [&](std::size_t to, unsigned mailbox, Reason reason) {
    const unsigned slot = network.put(0, 0, {.token = failed, .to = to, .mailbox = mailbox});
    network.transfer(0, 0, naming(network.write_to(1, failed), slot));
    network.until_ended(0, failed);
    network.until_free(0, 0);
    CHECK(network.status(0, 0).failure() == code_of(reason));
    CHECK(network.status(0, 0).failed() == ++failed);
  };
  fails(1, kClosedMailbox, Reason::kClosed);
  fails(1, kOthersMailbox, Reason::kDomain);
  network.enable(2, false);
  fails(2, kMailbox, Reason::kSilent);
  for (const unsigned token : {10u, 11u}) {
    const unsigned slot = network.put(0, 0, {.token = token, .mailbox = kSmallMailbox});
    network.transfer(0, 0, naming(network.write_to(1, token), slot));
    network.until_ended(0, token);
    network.run(1000);
    if (token == 10) CHECK(network.come(1, kSmallMailbox) == Tokens{10});
    // A transfer that fails meanwhile names it again.
    network.transfer(0, 0, naming(network.refused_by_memory(1, token + 10), slot));
    network.until_ended(0, token + 10, Reason::kMemory);
  }
  network.run(3000);
  CHECK(network.come(1, kSmallMailbox).empty());
  network.give_back(1, kSmallMailbox);
  network.until_these_come(1, Tokens{11}, kSmallMailbox);
  network.until_free(0, 0);
  CHECK(network.status(0, 0).failed() == failed);
}

TEST_CASE("behind: a page that is disabled or given to another domain") {
  const NiNetworkConfig far{.line = {.latency_cycles = 2000}, .timeout = 63, .block_timeout = 63};
  SUBCASE("while its transfer is under way: it is sent") {
    BehindBench network(2, far);
    const unsigned slot = network.put(0, 0, {.token = 5});
    network.transfer(0, 0, naming(network.write_to(1, 1), slot));
    network.run_until_stored();
    network.open_context(0, 0, kDomain + 1, false);
    network.until_these_come(1, Tokens{5});
    network.until_free(0, 0);
  }
  SUBCASE("before: it stays, until its own domain sends it") {
    BehindBench network(2);
    const unsigned slot = network.put(0, 0, {.token = 5});
    const auto try_as = [&](unsigned domain, bool enabled) {
      network.open_context(0, 0, domain, enabled);
      network.transfer(0, 0, network.no_bytes(slot));
      network.run_until_stored();
      network.run(2000);
      return network.come(1);
    };
    CHECK(try_as(kDomain, false).empty());
    CHECK(try_as(kDomain + 1, true).empty());
    network.transfer(0, 0, naming(network.refused_by_memory(0, 1), slot));
    network.until_ended(0, 1, Reason::kMemory);
    CHECK(network.status(0, 0).free_slots() == (kAllFree & ~(1u << slot)));
    CHECK(try_as(kDomain, true) == Tokens{5});
    network.check_idle(0);
    network.open_context(0, 0, kDomain + 1);
    network.transfer(0, 0, network.no_bytes(network.put(0, 0, {.token = 6, .mailbox = kOthersMailbox})));
    network.until_these_come(1, Tokens{6}, kOthersMailbox);
  }
  SUBCASE("a transfer of the domain before, under way, leaves the next one's message in the slot that it names") {
    for (const bool bad : {false, true}) {
      CAPTURE(bad);
      BehindBench network(2, far);
      const std::uint64_t target = bad ? kRefusesTarget : kTarget;
      network.transfer(0, 0, naming(transfer_of(kOwn, target, 64, network.node(1).dcid, 1), 0));
      network.run_until_stored();
      network.open_context(0, 0, kDomain + 1);
      const unsigned slot = network.put(0, 0, {.token = 6, .mailbox = kOthersMailbox});
      CHECK(slot == 0);
      network.until_ended(0, 1, bad ? Reason::kMemory : Reason::kNone);
      network.run(6000);
      CHECK(network.come(1, kOthersMailbox).empty());
      CHECK(network.status(0, 0).failed() == 0);
      network.transfer(0, 0, network.no_bytes(slot));
      network.until_these_come(1, Tokens{6}, kOthersMailbox);
    }
  }
  SUBCASE("while it waits for its mailbox: it fails") {
    BehindBench network(2, {.timeout = 3, .tries = 0});
    network.put(0, 1, {.token = 1, .mailbox = kSmallMailbox, .behind = false});
    network.until_come(1, 1, kSmallMailbox);
    network.transfer(0, 0, network.no_bytes(network.put(0, 0, {.token = 5, .mailbox = kSmallMailbox})));
    network.run_until_stored();
    network.run(2000);
    network.open_context(0, 0, kDomain, false);
    network.until_free(0, 0);
    CHECK(network.status(0, 0).failed() == 1);
    CHECK(network.come(1, kSmallMailbox).empty());
  }
}

TEST_CASE("behind: nothing is left of kept messages and of transfers that name them after a reset") {
  for (const bool transfers : {false, true}) {
    CAPTURE(transfers);
    BehindBench network(2, {.timeout = 8, .tries = 3, .block_timeout = 40});
    for (unsigned round = 0; round < 2; ++round) {
      CAPTURE(round);
      for (unsigned context = 0; context < kContexts; ++context)
        for (unsigned count = 0; count < kSlots - context % kSlots; ++count) network.put(0, context, {.token = 500});
      network.enable(1, !transfers);
      for (unsigned context = 0; transfers && context < kContexts; ++context)
        network.transfer(0, context, naming(network.write_to(1, context), 0));
      network.run_until_stored();
      network.run(1000);
      CHECK(network.come(1).empty());
      network.reset_interface(0);
      network.open(0);
      network.enable(1, true);
      network.run(2000);
      network.clear_peer(1, 0);
      network.run_until_stored();
      network.run(100);
      network.check_idle(0);
      for (unsigned context = 0; context < kContexts; ++context)
        for (const unsigned slot : {0u, 1u}) network.transfer(0, context, network.no_bytes(slot));
      network.run(2000);
      CHECK(network.come(1).empty());
      CHECK(network.counts(0)[0] == 0);
      for (unsigned i = 0; i < kContexts * kSlots; ++i) CHECK(network.put(0, i / kSlots, {.token = i}) == i % kSlots);
      for (unsigned i = 0; i < kContexts * kSlots; ++i) network.transfer(0, i / kSlots, network.no_bytes(i % kSlots));
      network.until_come(1, kContexts * kSlots);
      network.run(500);
      network.check_idle(0);
    }
  }
}

TEST_CASE("behind: those that are given up without a number leave the window of their node as it was") {
  for (const unsigned given_up : {0u, 4u}) {
    CAPTURE(given_up);
    BehindBench network(2, {.timeout = 24, .tries = given_up == 0 ? 2u : 0u, .block_timeout = 4});
    constexpr unsigned kWindow = 32, kLost = 40;
    for (unsigned i = 0; i < kWindow; ++i) network.put(0, i / kSlots, {.token = i, .behind = false});
    network.until_come(1, kWindow);
    network.run(500);
    for (unsigned i = 0; i < given_up; ++i) network.put(0, 0, {.token = 900 + i});  // slots that had numbers before
    bool cut = true;
    for (const auto& line : network.node(0).tx)
      line->tamper = [&](const NarrowWord& word) { return cut ? std::nullopt : std::optional(word); };
    for (unsigned i = 0; i < kLost; ++i) network.put(0, 4 + i / kSlots, {.token = 100 + i, .behind = false});
    network.run_until_stored();
    network.run(500);
    CHECK(network.counts(0)[0] == 2 * kWindow);
    cut = false;
    for (unsigned i = 0; i < given_up; ++i) {
      network.transfer(0, 0, naming(network.refused_by_memory(0, 1 + i), i));
      network.until_ended(0, 1 + i, Reason::kMemory);
    }
    network.run(500);
    CHECK(network.status(0, 0).failed() == given_up);
    CHECK(network.counts(0)[0] == 2 * kWindow);  // as many as may be under way still are
    network.until_come(1, kLost);
    network.run(500);
    network.check_idle(0, 0, 1);
    CHECK(network.status(0, 0).free_slots() == kAllFree);
  }
}
