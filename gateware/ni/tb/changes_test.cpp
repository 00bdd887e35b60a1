// SPDX-License-Identifier: Apache-2.0
// What the kernel changes amid traffic: mailboxes and pages that go from one domain to another, nodes whose numbers are
// cleared, tries, an interface that is reset and not configured yet. Nobody gets what is another's, nothing is lost
// that was acknowledged, and everything ends.
#include <deque>

#include "gateware/ni/tb/behind_bench.hpp"
#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

constexpr std::uint64_t kNewRing = 0x50'0000'0000;
constexpr unsigned kOther = kDomain + 1;

// Tables of pages of each node, for the bench's domain.
class Pages {
 public:
  Pages(BehindBench& bench, std::size_t nodes) {
    for (std::size_t n = 0; n < nodes; ++n) {
      AxiMemory& memory = *bench.node(n).memory;
      tables_.emplace_back(0x70'0000'0000,
                           [&memory](std::uint64_t at, std::uint64_t entry) { set_word(memory, at, entry); });
      open(bench, n);
    }
  }
  void open(BehindBench& bench, std::size_t n, unsigned domain = kDomain) {
    bench.open_domain(n, domain, tables_[n].root(domain));
  }
  PageTables& operator[](std::size_t n) { return tables_[n]; }

 private:
  std::deque<PageTables> tables_;
};

bool memory_holds(BehindBench& bench, std::size_t n, std::uint64_t begin, std::uint64_t end, std::uint64_t token) {
  for (std::uint64_t at = begin; at < end; at += 8)
    if (word_of(*bench.node(n).memory, at) == token) return true;
  return false;
}

}  // namespace

TEST_CASE("changes: the page of a message that was given up goes to another domain while its frame waits at the port") {
  unsigned given_up = 0;
  for (unsigned fillers = 30; fillers <= 44; ++fillers) {
    CAPTURE(fillers);
    BehindBench network(2, {.timeout = 2, .tries = 1});
    bool cut = true;
    network.node(1).tx[0]->tamper = network.node(1).tx[1]->tamper = [&cut](const NarrowWord& word) {
      return cut ? std::nullopt : std::optional(word);
    };
    network.put(0, 15, {.token = 999, .length = 64, .behind = false});
    network.run(100);
    network.node(0).stuck[0] = network.node(0).stuck[1] = true;  // its links stand still
    for (unsigned i = 0; i < fillers; ++i)
      network.put(0, 1 + i / 4, {.token = 1000 + i, .length = 64, .behind = false});
    network.run_until_stored();
    network.run(3000);
    network.put(0, 0, {.token = 1, .length = 64, .behind = false});
    network.run_until_stored();
    network.run(3000);
    given_up += network.status(0, 0).failed();
    network.open_context(0, 0, kOther);
    for (unsigned i = 0; i < 4; ++i)
      network.put(0, 0, {.token = 0xbad0 + i, .mailbox = kOthersMailbox, .length = 64, .behind = false});
    network.run_until_stored();
    network.run(100);
    network.node(0).stuck[0] = network.node(0).stuck[1] = cut = false;
    network.run(20'000);
    std::map<std::uint64_t, unsigned> came;
    for (const std::uint64_t token : network.come(1)) {
      CHECK((token < 0xbad0 || token > 0xbad3));
      CHECK(++came[token] == 1);
    }
    for (const std::uint64_t token : network.come(1, kOthersMailbox)) CHECK(token >= 0xbad0);
  }
  CHECK(given_up > 0);
}

TEST_CASE("changes: a broken mailbox is opened again while the answer of a message that it did not take waits") {
  BehindBench network(2, {.memory = {.latency_cycles = 1000}, .timeout = 63});
  network.node(1).memory->refuses = [](std::uint64_t at) { return at / kRegion == ring_of(kMailbox) / kRegion; };
  network.put(0, 0, {.token = 1, .behind = false});
  network.run_until_stored();
  network.until_free(0, 0);
  CHECK(network.status(0, 0).failed() == 1);
  network.node(1).memory->refuses = [](std::uint64_t) { return false; };
  network.put(0, 1, {.token = 2, .mailbox = kSmallMailbox, .behind = false});
  network.put(0, 2, {.token = 3, .behind = false});
  network.run(300);
  network.open_mailbox(1, kMailbox, kDomain, kNewRing, 4);
  network.run_until_stored();
  network.until_free(0, 2);
  CHECK(network.status(0, 2).failed() == 1);
  CHECK(network.status(0, 2).failure() == code_of(Reason::kMemory));
  CHECK_FALSE(MailboxReader(kNewRing, 4).poll(*network.node(1).memory).has_value());
}

TEST_CASE("changes: a mailbox that is closed is at rest when the change is over, and its ring can be given away") {
  unsigned waited = 0;
  for (const unsigned latency : {20u, 1000u}) {
    CAPTURE(latency);
    BehindBench network(2, {.memory = {.latency_cycles = latency, .stalls = 0.95}, .timeout = 63});
    for (unsigned i = 0; i < 8; ++i) network.put(0, i, {.token = 1 + i, .length = 64, .behind = false});
    while (network.node(1).memory->beats.empty()) network.step();
    network.open_mailbox(1, kMailbox, kDomain, 0, 0, false);
    network.run_until_stored();
    waited += network.changes(1) != 0;
    network.until_changed(1);
    const std::size_t beats = network.node(1).memory->beats.size();
    for (unsigned i = 0; i < 16 * 128; ++i) network.node(1).memory->set(ring_of(kMailbox) + i, 0);
    network.open_mailbox(1, kMailbox, kOther, ring_of(kMailbox), kLogEntries);
    network.until_changed(1);
    network.run(20'000);
    CHECK(network.node(1).memory->beats.size() == beats);
    CHECK(network.come(1).empty());
  }
  CHECK(waited > 0);
}

TEST_CASE("changes: a node that was reset sends when the change that clears its numbers is over, and is heard") {
  BehindBench network(
      3, {.memory = {.latency_cycles = 1000}, .timeout = 30, .tries = 0, .block_timeout = 63, .translate = true});
  Pages pages(network, 3);
  for (unsigned n = 0; n < 3; ++n) {
    pages[n].map(kDomain, kOwn, kOwn, kLargePage, false);
    for (unsigned i = 0; i < 16; ++i) pages[n].map(kDomain, kTarget + kPage * i, kTarget + kPage * i, kPage, true);
    pages[n].map(kDomain, kEnds, kEnds, kLargePage, true);
  }
  network.put(0, 0, {.token = 1, .behind = false});
  network.run_until_stored();
  network.until_free(0, 0);
  network.until_these_come(1, {1});
  network.transfer(2, 0, network.write_to(1, 1));
  network.run(20'000);
  network.reset_interface(0);
  network.open(0);
  network.run_until_stored();
  // A packet of node 2's waits for its page.
  network.transfer(2, 0, transfer_of(kOwn, kTarget + kPage, 64, network.node(1).dcid, 2));
  network.run(2000);
  network.clear_peer(1, 0);
  network.run_until_stored();
  CHECK(network.changes(1) != 0);
  network.until_changed(1);
  network.put(0, 0, {.token = 2, .behind = false});
  network.run_until_stored();
  network.until_free(0, 0);
  CHECK(network.status(0, 0).failed() == 0);
  network.until_these_come(1, {2});
}

TEST_CASE("changes: nothing is written by an interface that was reset and is not configured") {
  for (const std::size_t from : {std::size_t{0}, std::size_t{1}}) {
    CAPTURE(from);
    const std::size_t to = 1 - from;
    BehindBench network(2, {.block_timeout = 8, .translate = true});
    Pages pages(network, 2);
    fill(network, from, kOwn, 64);
    pages[from].map(kDomain, kOwn, kOwn, kLargePage, false);
    pages[from].map(kDomain, kEnds, kEnds, kLargePage, true);
    network.run_until_stored();
    network.transfer(from, 0, network.write_to(to, 1));
    network.run(5000);  // there is no page for it
    network.transfer(from, 0, network.write_to(to, 2));
    network.run(20);
    network.reset_interface(to);
    pages.open(network, to);
    network.run_until_stored();
    network.run(400'000);
    CHECK(network.node(to).memory->nonzero_within(kTarget, kTarget + kPage) == 0);
    CHECK(end_of(*network.node(from).memory, 2).failure() != code_of(Reason::kNone));
  }
}

TEST_CASE("changes: fewer channels are kept for reads than serve some, and the bus takes stores as before") {
  constexpr unsigned kKept = 40, kLong = 65536;  // bytes: none ends before all have begun
  BehindBench network(2, {.block_timeout = 15, .kept_channels = kKept});
  network.keep_channels(1, 0);
  const auto reads = [&](unsigned count, unsigned token) {
    for (unsigned i = 0; i < count; ++i) {
      network.transfer(1, i % kContexts, read_of(kOwn + kLong * i, kTarget, kLong, network.node(0).dcid, token + i));
      network.run(200);
    }
  };
  const auto writes = [&](unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      network.transfer(0, i % kContexts, transfer_of(kOwn, kTarget + kLong, kLong, network.node(1).dcid, i));
    network.run_until_stored();
  };
  reads(kKept, 0);
  writes(kChannels - kKept);
  CHECK(network.transfer_counts(0)[1] == 0);
  CHECK(network.transfer_status(0, 0).refused() == 0);
  network.keep_channels(0, 0);
  writes(kContexts);
  for (unsigned context = 0; context < kContexts; ++context) {
    CHECK(network.transfer_status(0, context).refused() == 1);
    CHECK(static_cast<spec::StoreRefusal>(network.transfer_status(0, context).refusal()) ==
          spec::StoreRefusal::kNoSlot);
  }
  // And more than others leave free: they are asked for again.
  network.keep_channels(0, kChannels);
  reads(kContexts, kKept);
  CHECK(network.transfer_counts(0)[1] == 0);
  for (unsigned i = 0; i < kKept + kContexts; ++i) network.until_ended(1, i);
  for (unsigned i = 0; i < kChannels - kKept; ++i) network.until_ended(0, i);
}

TEST_CASE("changes: addresses are translated from some packet on, and none goes to a page of another") {
  constexpr std::uint64_t kFrame = 0x77'0000'0000;
  for (unsigned delay = 0; delay < 120; delay += in_full() ? 1 : 7) {
    CAPTURE(delay);
    BehindBench network(2, {.memory = {.latency_cycles = 200}, .translate = true});
    Pages pages(network, 2);
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}}) {
      pages.open(network, n, kOther);
      pages[n].map(kDomain, kOwn, kOwn, kLargePage, true);
      pages[n].map(kDomain, kEnds, kEnds, kLargePage, true);
    }
    pages[1].map(kDomain, kTarget, kFrame, kPage, true);
    network.open_context(0, 1, kOther);  // whose pages nobody has
    fill(network, 0, kOwn, 4096);
    network.run_until_stored();
    network.transfer(0, 0, network.write_to(1, 0));
    network.until_ended(0, 0, Reason::kNone);
    REQUIRE(network.node(1).memory->nonzero_within(kFrame, kFrame + kPage) > 0);
    const auto before = network.node(1).memory->line(kFrame);
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}}) network.set_translate(n, false);
    network.run_until_stored();
    for (unsigned i = 0; i < 12; ++i)
      network.transfer(0, 1, transfer_of(kOwn + 64, kTarget, 64, network.node(1).dcid, 1 + i));
    network.run(delay * 5);
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}}) network.set_translate(n, true);
    network.run_until_stored();
    network.run(30'000);
    CHECK(network.node(1).memory->line(kFrame) == before);
  }
}

TEST_CASE("changes: a mailbox or a node that there is not is nobody's") {
  BehindBench network(2, {.timeout = 1, .tries = 2});
  network.put(0, 0, {.token = 1, .behind = false});
  network.run_until_stored();
  network.until_these_come(1, {1});
  for (unsigned place = 1; place < 1024 / kMailboxes; ++place) {
    network.open_mailbox(1, place * kMailboxes + kMailbox, kOther, kNewRing, 0);
    network.clear_peer(1, place * kPeers);
  }
  network.run_until_stored();
  CHECK(network.changes(1) == 0);
  network.put(0, 0, {.token = 2, .behind = false});
  network.run_until_stored();
  network.until_these_come(1, {2});
}

TEST_CASE("changes: tries are made fewer while a message and a block wait, and both end") {
  for (const unsigned before : {0u, 15u}) {
    CAPTURE(before);
    BehindBench network(2, {.timeout = 1, .tries = before, .block_timeout = 1});
    network.enable(1, false);
    network.put(0, 0, {.token = 1, .behind = false});
    network.transfer(0, 0, network.write_to(1, 1));
    while (network.node(0).in[0].arrivals.size() < 6 || network.transfer_counts(0)[2] < 6) network.run(100);
    network.set_tries(0, 3);
    network.until_ended(0, 1, Reason::kSilent);
    network.until_free(0, 0);
    CHECK(network.status(0, 0).failed() == 1);
  }
}

TEST_CASE(
    "changes: what a process has stored of a transfer and its fence is not there for the next one with its page") {
  BehindBench network(2, {.translate = true});
  Pages pages(network, 2);
  constexpr std::uint64_t kSecret = 0x5ec2e7'5ec2e7, kFrames = 0x1000'0000'0000;
  for (unsigned n = 0; n < 2; ++n) {
    pages.open(network, n, kOther);
    for (const std::uint64_t region : {kOwn, kFences, kEnds, std::uint64_t{0}})
      pages[n].map(kOther, region, kFrames + region, kLargePage, true);
  }
  network.run_until_stored();
  network.fence(0, 3, fence_of(kFences + 64, kSecret));
  network.run_until_stored();
  network.open_context(0, 3, kOther);
  spec::Transfer transfer = transfer_of(kOwn, kTarget, 0, network.node(1).dcid, 2);
  transfer.set_fence(1);
  network.transfer(0, 3, transfer);
  network.run_until_stored();
  network.run(5000);
  for (const std::uint64_t region : {kOwn, kFences, kEnds, std::uint64_t{0}})
    CHECK_FALSE(memory_holds(network, 1, kFrames + region, kFrames + region + kPage, kSecret));
}
