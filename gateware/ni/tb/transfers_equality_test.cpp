// SPDX-License-Identifier: Apache-2.0
// Are transfers of the Verilated network interfaces, with messages beside them, and the model of core/nic/transfers the
// same, cycle by cycle?
//
// Both have to come to the same: when each header is at its router, when each packet, each end and each entry is in
// memory and where, when each slot is answered and how, and what is counted.
#include "gateware/ni/tb/transfers_equality.hpp"

using namespace exanet;
using namespace exanet::gateware;
using namespace exanet::gateware::transfers_equality;

namespace {

std::uint64_t total_transfers = 0, total_packets = 0, total_repeated = 0, total_silent = 0, total_messages = 0,
              total_fences = 0, total_dropped = 0, total_reads = 0, total_busy = 0, total_walks = 0, total_faults = 0,
              total_invalidations = 0, total_whole = 0, total_reported = 0, total_unexpected = 0;
DisorderCounts total_disorder;

void compare_whole(const Case& c) {
  Gateware gateware(c);
  const Model model(c, gateware.ops, gateware.kernel(), gateware.end());
  const auto &a = gateware.result.happenings, &b = model.result.happenings;
  total_transfers += c.transfers;
  total_packets += gateware.result.counts[0];
  total_repeated += gateware.result.counts[2];
  total_unexpected += gateware.result.counts[3];
  total_messages += gateware.result.counts[9];
  total_dropped += gateware.result.counts[6];
  total_busy += gateware.result.busy;
  total_walks += gateware.result.counts[10];
  total_faults += gateware.result.counts[11];
  total_invalidations += gateware.result.counts[12];
  total_whole += gateware.result.whole;
  total_reported += gateware.result.reported;
  total_disorder += gateware.result.disorder;
  for (const StoreOp& op : gateware.ops) total_reads += op.kind == StoreOp::kTransfer && op.transfer.read;
  for (const Happening& h : a) {
    const std::uint64_t address = c.translate ? address_of(h.a) : h.a;
    total_silent += h.what == 'w' && address >= kEnds && address < kFences && (h.b & 255) != 0;
    total_fences += h.what == 'w' && address >= kFences;
  }
  check_same(c.text(), a, b);
  for (std::size_t i = 0; i < model.result.counts.size(); ++i) {
    CAPTURE(i);
    CAPTURE(c.text());
    CHECK(gateware.result.counts[i] == model.result.counts[i]);
  }
}

// A third of the transfers, but in full size.
void compare(Case c) {
  c.transfers = taken(c.transfers);
  compare_whole(c);
}

}  // namespace

TEST_CASE("transfers equality: one transfer") {
  std::uint64_t seed = 100;
  for (const unsigned bytes : tried({0u, 1u, 16u, 17u, 512u, 4096u, 20'000u}, {0u, 17u, 20'000u}))
    for (const unsigned kind : {0u, 1u, 2u})
      compare({.nodes = 2,
               .transfers = 1,
               .most_bytes = bytes,
               .least_bytes = bytes,
               .fences_of_ten = kind == 1 ? 10u : 0u,
               .reads_of_ten = kind == 2 ? 10u : 0u,
               .seed = ++seed});
}

// Loads from one transfer at a time to more than channels, links and memory carry.
TEST_CASE("transfers equality: traffic") {
  std::uint64_t seed = 1000;
  for (const double gap : tried({3000.0, 300.0, 30.0, 2.0}, {300.0, 2.0}))
    for (const unsigned memory : tried({1u, 200u}, {200u}))
      for (const unsigned bytes : {64u, 1000u, 10'000u})
        compare({.square = seed % 2 == 0,
                 .memory_cycles = memory,
                 .transfers = bytes > 1000 ? 60u : 240u,
                 .gap = gap,
                 .most_bytes = bytes,
                 .hot_one_in = seed % 3 == 0 ? 2u : 0u,
                 .silent_one_in = seed % 5 == 0 ? 3u : 0u,
                 .messages_of_ten = seed % 3 == 1 ? 7u : 0u,
                 .fences_of_ten = seed % 4 < 2 ? 5u : 0u,
                 .reads_of_ten = seed % 3 == 2 ? 5u : 0u,
                 .seed = ++seed});
  MESSAGE("transfers and messages: " << total_transfers << ", packets of transfers " << total_packets << ", messages "
                                     << total_messages);
}

// Blocks that are sent again before their answer is there, and given up.
TEST_CASE("transfers equality: repeated and given up") {
  std::uint64_t seed = 2000;
  for (const unsigned timeout : {0u, 1u})
    for (const unsigned tries : {0u, 1u, 15u})
      for (const unsigned line : tried({20u, 400u}, {400u}))
        compare({.nodes = seed % 3 == 0 ? 2u : 4u,
                 .line_cycles = line,
                 .memory_cycles = seed % 2 == 0 ? 20u : 1500u,
                 .timeout = timeout,
                 .tries = tries,
                 .read_timeout = std::min(tries, 3u),
                 .kept = seed % 4 == 1 ? 2u : 8u,
                 .transfers = 150,
                 .gap = seed % 5 == 0 ? 5.0 : 200.0,
                 .most_bytes = 6000,
                 .hot_one_in = 2,
                 .messages_of_ten = seed % 3 == 1 ? 4u : 0u,
                 .fences_of_ten = seed % 2 == 0 ? 5u : 0u,
                 .reads_of_ten = seed % 3 != 0 ? 4u : 0u,
                 .seed = ++seed});
  CHECK(total_repeated > 0);
  CHECK(total_silent > 0);
  CHECK(total_reads > 0);
  CHECK(total_busy > 0);
  MESSAGE("transfers: " << total_transfers << ", blocks repeated " << total_repeated << ", given up " << total_silent);
}

// Domains whose pages are of all sizes, some not there, some read-only, some of them late, and revoked while transfers
// run.
TEST_CASE("transfers equality: pages") {
  std::uint64_t seed = 3000;
  for (const unsigned unmapped : tried({0u, 20u, 3u}, {20u, 3u}))
    for (const double revoked : {0.0, 700.0})
      for (const unsigned memory : tried({1u, 20u, 400u}, {20u}))
        compare({.nodes = seed % 2 == 0 ? 2u : 4u,
                 .memory_cycles = memory,
                 .timeout = seed % 3 == 0 ? 8u : 1u,
                 .tries = seed % 2 == 0 ? 3u : 0u,
                 .transfers = 90,
                 .gap = seed % 5 == 0 ? 20.0 : 300.0,
                 .most_bytes = seed % 2 == 0 ? 9000u : 500u,
                 .messages_of_ten = seed % 4 == 0 ? 3u : 0u,
                 .fences_of_ten = 4,
                 .reads_of_ten = seed % 3 != 0 ? 4u : 0u,
                 .translate = true,
                 .domains = 3,
                 .fault_tries = static_cast<unsigned>(seed % 4),
                 .unmapped_one_in = unmapped,
                 .read_only_one_in = unmapped * 2,
                 .late = seed % 2 == 0 ? 3000u : 0u,
                 .revoked = revoked,
                 .seed = ++seed});
  CHECK(total_walks > 0);
  CHECK(total_faults > 0);
  CHECK(total_invalidations > 0);
  MESSAGE("pages walked to " << total_walks << ", faults " << total_faults << ", invalidations "
                             << total_invalidations);
}

// Cases that are drawn, on seeds that no other case here has: EXANET_TRANSFERS of them from EXANET_TRANSFERS_SEED on,
// for a campaign.
TEST_CASE("transfers equality: drawn cases") {
  const std::uint64_t transfers = given("EXANET_TRANSFERS", 250);
  std::uint64_t seed = given("EXANET_TRANSFERS_SEED", 1'000'000), compared = 0;
  for (; compared < transfers; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](const auto& from) { return from[random() % from.size()]; };
    Case c;
    c.nodes = pick(std::vector<std::size_t>{2, 4, 4, 8});
    c.square = c.nodes == 4 && random() % 2 == 0;
    c.line_cycles = pick(std::vector<unsigned>{0, 1, 7, 20, 45, 300});
    c.memory_cycles = pick(std::vector<unsigned>{1, 2, 10, 20, 100, 800});
    c.timeout = pick(std::vector<unsigned>{0, 1, 2, 8, 63});
    c.tries = pick(std::vector<unsigned>{0, 0, 1, 3, 15});
    c.gap = pick(std::vector<double>{1, 10, 50, 300, 2000});
    c.most_bytes = pick(std::vector<unsigned>{0, 16, 64, 512, 3000, 5000, 30'000});
    c.least_bytes = random() % 3 == 0 ? c.most_bytes : 0;
    c.align = pick(std::vector<unsigned>{1, 1, 16, 512, 4096});
    // More of them where they take less time.
    c.transfers =
        static_cast<unsigned>((200 + random() % 600) / (c.most_bytes > 3000 ? 4 : 1) / (c.gap > 1000 ? 8 : 1));
    c.hot_one_in = pick(std::vector<unsigned>{0, 1, 4});
    c.silent_one_in = pick(std::vector<unsigned>{0, 0, 1, 3});
    c.messages_of_ten = pick(std::vector<unsigned>{0, 0, 1, 5, 9});
    c.fences_of_ten = pick(std::vector<unsigned>{0, 1, 5, 10});
    c.damaged_one_in = pick(std::vector<unsigned>{0, 0, 300, 30, 6});
    c.reads_of_ten = pick(std::vector<unsigned>{0, 1, 3, 10});
    c.kept = pick(std::vector<unsigned>{1, 3, 8, 32});
    c.read_timeout = pick(std::vector<unsigned>{0, 1, 3});
    c.translate = random() % 2 == 0;
    c.domains = pick(std::vector<unsigned>{1, 2, 5});
    c.fault_tries = pick(std::vector<unsigned>{0, 1, 2, 15});
    c.unmapped_one_in = pick(std::vector<unsigned>{0, 100, 10, 3});
    c.read_only_one_in = pick(std::vector<unsigned>{0, 50, 5});
    c.late = pick(std::vector<unsigned>{0, 500, 10'000});
    c.revoked = pick(std::vector<double>{0, 0, 100, 3000});
    // A fault holds a channel at both ends of a read for as long as it is waited for: many of them wait a round each.
    if (c.translate) {
      c.timeout = std::min(c.timeout, c.fault_tries > 2 ? 0u : 1u);
      c.kept = std::max(c.kept, 16u);
    }
    c.behind_of_ten = pick(std::vector<unsigned>{0, 0, 2, 5, 9});
    c.storm_one_in = pick(std::vector<unsigned>{0, 0, 0, 3, 20});
    c.given_one_in = pick(std::vector<unsigned>{0, 0, 3, 20});
    c.seed = seed;
    compare_whole(c);
    compared += c.transfers;
  }
  MESSAGE("transfers and messages compared: "
          << compared << ", packets " << total_packets << ", blocks repeated " << total_repeated << ", given up "
          << total_silent << ", fences written " << total_fences << ", packets dropped " << total_dropped << ", reads "
          << total_reads << ", refused as busy " << total_busy << ", pages walked to " << total_walks << ", faults "
          << total_faults << ", invalidations " << total_invalidations << ", messages beside them " << total_messages
          << ", seeds up to " << seed - 1);
}

// Requests that are refused as busy go by fences that are late, and take the places of the blocks that these name.
TEST_CASE("transfers equality: fences that later blocks overtake") {
  for (const std::uint64_t seed : tried({4003u, 4004u}, {4003u})) {
    Case c{.nodes = 2,
           .memory_cycles = 1,
           .timeout = 1,
           .kept = 2,
           .transfers = 400,
           .gap = 5,
           .most_bytes = 64,
           .fences_of_ten = 5,
           .reads_of_ten = 7,
           .seed = seed};
    c.disorder = {.late_one_in = 5, .most_late = 3000, .seed = seed};
    compare_whole(c);
  }
  CHECK(total_busy > 0);
  CHECK(total_reported == 0);
}

// An acknowledgement comes from another node before the one that it copies, which may be lost. If one of them freed a
// block, fewer would be counted as unexpected than were forged.
TEST_CASE("transfers equality: acknowledgements that another node has forged free no block") {
  for (const std::size_t nodes : {2u, 4u}) {
    Case c{.nodes = nodes, .timeout = 1, .transfers = 150, .most_bytes = 3000, .fences_of_ten = 2, .reads_of_ten = 2};
    c.disorder = {.lost_one_in = 8, .forged_one_in = 2, .seed = nodes};
    c.seed = 7000 + nodes;
    total_disorder = {};
    total_unexpected = total_reported = 0;
    compare_whole(c);
    CHECK(total_disorder.forged > 100);
    CHECK(total_unexpected >= total_disorder.forged);
    CHECK(total_reported == 0);
  }
}

TEST_CASE("transfers equality: messages that stay behind transfers, and go with them") {
  total_messages = total_reported = 0;
  for (std::uint64_t seed = 900; seed < (in_full() ? 912 : 904); ++seed) {
    Case c{.nodes = 2 + 2 * (seed % 2),
           .line_cycles = 1 + 19 * static_cast<unsigned>(seed % 3 != 0),
           .memory_cycles = 20,
           .seed = seed};
    c.transfers = in_full() ? 600 : 300;
    c.gap = seed % 2 == 0 ? 12 : 60;
    c.most_bytes = 600;
    c.messages_of_ten = 5;
    c.behind_of_ten = 2 + seed % 5;
    c.fences_of_ten = 2;
    c.reads_of_ten = 3;
    c.translate = seed % 3 == 0;
    c.domains = 1 + seed % 2;
    c.storm_one_in = seed % 2 == 0 ? 5 : 0;
    c.given_one_in = seed % 6 == 3 ? 3 : 0;
    if (seed % 4 == 0) {  // more that wait for memory than there is space for
      c.messages_of_ten = 4;
      c.memory_cycles = 600;
      c.gap = 1;
      c.most_bytes = 0;
    }
    if (seed % 4 == 3) {  // some of which fail
      c.tries = 3;
      c.read_timeout = 3;
      c.timeout = 0;
      c.disorder = {.lost_one_in = 100, .cut_from = 3000, .cut_until = ~std::uint64_t{0}, .seed = seed};
    }
    compare_whole(c);
  }
  CHECK(total_messages > 0);
  CHECK(total_reported > 0);
}

// A node writes a packet every 120 cycles, and gets more of its own: they wait, while their blocks are given up, and
// hundreds of others begin.
TEST_CASE("transfers equality: packets that come when their blocks have long been given up") {
  total_reported = 0;
  Case c{.nodes = 2,
         .line_cycles = 20,
         .memory_cycles = 100,
         .timeout = 0,
         .tries = 3,
         .transfers = in_full() ? 1800u : 900u,
         .gap = 100,
         .most_bytes = 3000};
  c.fences_of_ten = 5;
  c.read_timeout = 3;
  c.kept = 32;
  c.translate = true;
  c.unmapped_one_in = 10;
  c.late = 10'000;
  c.revoked = 3000;
  c.disorder = {
      .lost_one_in = 100, .late_one_in = 300, .most_late = 5000, .cut_from = 17'334, .cut_until = ~std::uint64_t{0}};
  c.disorder.seed = c.seed = 9'504'002;
  compare_whole(c);
  CHECK(total_reported > 0);
}

namespace {

// Packets lost, damaged, doubled and late, up to one in a hundred of each, and now and then many more; nodes that are
// cut off for a millisecond, and for good.
Case disordered_case(std::uint64_t seed, bool few) {
  std::mt19937_64 random(seed);
  const auto pick = [&](const auto& from) { return from[random() % from.size()]; };
  Case c;
  c.nodes = pick(std::vector<std::size_t>{2, 2, 2, 4, 4, 8});
  c.square = c.nodes == 4 && random() % 2 == 0;
  c.line_cycles = pick(std::vector<unsigned>{1, 20, 45});
  c.memory_cycles = pick(std::vector<unsigned>{1, 20, 100});
  c.timeout = pick(std::vector<unsigned>{0, 0, 1});
  c.tries = pick(std::vector<unsigned>{0, 0, 3, 15});
  c.gap = pick(std::vector<double>{5, 30, 100});
  c.most_bytes = pick(std::vector<unsigned>{16, 64, 64, 600, 3000, 9000});
  c.align = pick(std::vector<unsigned>{1, 1, 64, 4096});
  // More of them where they take less time; in the tests some of each.
  c.transfers = static_cast<unsigned>((1000 + random() % 3000) / (c.most_bytes > 3000 ? 8 : c.most_bytes > 64 ? 2 : 1));
  if (few) c.transfers = std::min(c.transfers, 150u);
  c.hot_one_in = pick(std::vector<unsigned>{0, 4});
  c.messages_of_ten = pick(std::vector<unsigned>{0, 0, 3});
  c.fences_of_ten = pick(std::vector<unsigned>{1, 5});
  c.reads_of_ten = pick(std::vector<unsigned>{0, 3, 7});
  c.kept = pick(std::vector<unsigned>{8, 32});
  // One whose request was taken by a node that gives up, or dies, waits for ever else.
  c.read_timeout = c.tries == 0 ? 0 : pick(std::vector<unsigned>{3, 6});
  c.translate = random() % 2 == 0;
  c.domains = pick(std::vector<unsigned>{1, 3});
  c.fault_tries = pick(std::vector<unsigned>{0, 2, 15});
  c.unmapped_one_in = pick(std::vector<unsigned>{0, 100, 10});
  c.read_only_one_in = pick(std::vector<unsigned>{0, 50});
  c.late = pick(std::vector<unsigned>{500, 10'000});
  c.revoked = pick(std::vector<double>{0, 3000});
  const std::vector<unsigned> rates = {0, 100, 100, 300, 1000, random() % 8 == 0 ? 5u : 100u};
  c.disorder.lost_one_in = pick(rates);
  c.disorder.damaged_one_in = pick(rates);
  c.disorder.twice_one_in = pick(rates);
  c.disorder.late_one_in = pick(rates);
  c.disorder.most_late = pick(std::vector<unsigned>{50, 500, 5000});
  c.disorder.cut_node = random() % c.nodes;
  const std::uint64_t from = kClearTransfers + random() % 20'000, kind = random() % 12;
  if (kind < 2) {
    c.disorder.cut_from = from;
    c.disorder.cut_until = from + 156'250;  // a millisecond
  } else if (kind == 2 && c.tries != 0) {
    c.disorder.cut_from = from;
    c.disorder.cut_until = ~std::uint64_t{0};
  }
  c.behind_of_ten = pick(std::vector<unsigned>{0, 2, 5});
  c.storm_one_in = pick(std::vector<unsigned>{0, 0, 0, 20});
  c.given_one_in = pick(std::vector<unsigned>{0, 0, 10});
  if (!c.disorder.any()) c.disorder.lost_one_in = 100;
  c.disorder.seed = c.seed = seed;
  return c;
}

}  // namespace

// EXANET_DISORDER transfers and messages from EXANET_DISORDER_SEED on.
TEST_CASE("transfers equality: every transfer ends once, whole or reported, whatever becomes of packets") {
  constexpr std::uint64_t kFew = 600;
  const std::uint64_t transfers = given("EXANET_DISORDER", in_full() ? kFew : kFew / 2);
  std::uint64_t seed = given("EXANET_DISORDER_SEED", 2'000'000), compared = 0, cuts = 0, dead = 0;
  total_whole = total_reported = total_packets = total_repeated = total_messages = total_reads = 0;
  total_fences = total_faults = total_dropped = 0;
  for (; compared < transfers; ++seed) {
    const Case c = disordered_case(seed, transfers <= kFew);
    cuts += c.disorder.cut_until == c.disorder.cut_from + 156'250;
    dead += c.disorder.cut_until == ~std::uint64_t{0};
    compare_whole(c);
    compared += c.transfers;
  }
  MESSAGE("transfers and messages compared: "
          << compared << ", transfers whole " << total_whole << ", reported as failed " << total_reported
          << ", messages stored " << total_messages << ", reads " << total_reads << ", fences " << total_fences
          << "; packets of transfers " << total_packets << ", blocks repeated " << total_repeated
          << ", packets that were too late " << total_dropped << ", faults of pages " << total_faults
          << "; packets out of the routers " << total_disorder.packets << ", lost " << total_disorder.lost
          << ", damaged " << total_disorder.damaged << ", twice " << total_disorder.twice << ", late "
          << total_disorder.late << ", overtaken " << total_disorder.overtaken << ", cut off " << total_disorder.cut
          << "; nodes cut off for a millisecond " << cuts << ", for good " << dead << ", seeds up to " << seed - 1);
}

// All links of a node go down and come up again and again, amid transfers that wait, repeat and give up: drawn cases as
// above, EXANET_LINKS_DOWN_TRANSFERS transfers and messages of them from EXANET_LINKS_DOWN_SEED on.
TEST_CASE("transfers equality: links that go down and come up") {
  constexpr std::uint64_t kFew = 300;
  const std::uint64_t transfers = given("EXANET_LINKS_DOWN_TRANSFERS", in_full() ? 2000 : kFew);
  std::uint64_t seed = given("EXANET_LINKS_DOWN_SEED", 22'000'000), compared = 0;
  total_whole = total_reported = total_packets = total_repeated = 0;
  total_disorder = {};
  for (; compared < transfers; ++seed) {
    Case c = disordered_case(seed, transfers <= kFew);
    std::mt19937_64 random(~seed);
    c.disorder.cut_from = kClearTransfers + random() % 5000;
    const std::uint64_t down = 50 + random() % (random() % 3 == 0 ? 20'000 : 2000);
    c.disorder.cut_until = c.disorder.cut_from + down;
    c.disorder.cut_period = 2 * down + 500 + random() % 30'000;
    compare_whole(c);
    compared += c.transfers;
  }
  CHECK(total_disorder.cut > 0);
  CHECK(total_repeated > 0);
  MESSAGE("transfers and messages compared: " << compared << ", transfers whole " << total_whole
                                              << ", reported as failed " << total_reported << ", blocks repeated "
                                              << total_repeated << ", packets lost with links " << total_disorder.cut
                                              << " of " << total_disorder.packets << ", seeds up to " << seed - 1);
}
