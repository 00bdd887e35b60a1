// SPDX-License-Identifier: Apache-2.0
// Messages that stay behind transfers, from processes' stores to mailboxes, words and status. Each is sent once, when
// its transfer has ended and memory has answered bytes, fence and end. Nothing else touches it: transfers of other
// contexts, those that were refused, stores of any number.
#include <algorithm>

#include "gateware/ni/tb/behind_bench.hpp"
#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

// Whether memory has the end of a transfer of this node, and has answered its write.
bool end_answered(BehindBench& network, std::size_t n, unsigned token) {
  const std::uint64_t line = (kEnds + 8 * std::uint64_t{token}) / 16 * 16;
  return end_of(*network.node(n).memory, token).done() == 1 && network.node(n).dma->unanswered(line, line + 16) == 0;
}

}  // namespace

TEST_CASE("behind: memory has answered bytes, fence and end before the message is sent") {
  enum Kind { kWrite, kFenced, kRead };
  for (const MemoryConfig& memory :
       {MemoryConfig{.latency_cycles = 0}, MemoryConfig{.latency_cycles = 20, .stalls = 0.6},
        MemoryConfig{.latency_cycles = 300}}) {
    CAPTURE(memory.latency_cycles);
    BehindBench network(3, {.memory = memory, .timeout = 30, .block_timeout = 20, .before_reset = 7});
    unsigned token = 1;
    for (const unsigned length : {8u, 0u, 17u, 64u})
      for (const std::uint32_t bytes : {0u, 1u, 5000u})
        for (const Kind kind : {kWrite, kFenced, kRead}) {
          CAPTURE(length);
          CAPTURE(bytes);
          CAPTURE(kind);
          const bool notify = token % 4 != 0;
          const unsigned context = token % kContexts;
          const std::size_t other = token % 3, reader = (token + token / 3) % 3;  // each with each
          const std::size_t from = kind == kRead ? other : 0, to = kind == kRead ? 0 : other;
          const std::uint64_t place = 0x10000 * std::uint64_t{token}, own = kOwn + place + token % 16,
                              target = kTarget + place + 77, word = kFences + 8 * token;
          fill(network, from, own, bytes);
          const unsigned slot =
              network.put(0, context, {.token = token, .to = reader, .mailbox = kMailbox, .length = length});
          auto transfer = kind == kRead ? read_of(target, own, bytes, network.node(other).dcid, token)
                                        : transfer_of(own, target, bytes, network.node(other).dcid, token);
          transfer.set_notify(notify);
          transfer.set_fence(kind == kFenced);
          if (kind == kFenced) network.fence(0, context, fence_of(word, token));
          network.transfer(0, context, naming(transfer, slot));
          const auto& sent = network.node(0).in[0].arrivals;
          for (const std::size_t before = sent.size(); sent.size() == before; network.step())
            REQUIRE(network.come(reader).empty());
          CHECK((!notify || end_answered(network, 0, token)));
          CHECK(network.node(to).dma->unanswered(target / 16 * 16, target + bytes) == 0);
          check_written(network, from, own, to, target, bytes);
          if (kind == kFenced) CHECK(word_of(*network.node(to).memory, word) == token);
          const Tokens came = network.until_come(reader);
          CHECK(came.size() == 1);
          if (length >= 8) CHECK(came == Tokens{token});
          ++token;
        }
    network.run(1000);
    network.check_idle(0);
    for (std::size_t n = 0; n < 3; ++n) CHECK(network.come(n).empty());
  }
}

TEST_CASE("behind: memory of 300 cycles has answered the end before the message is in the same node's mailbox") {
  for (const double stalls : {0.0, 0.9}) {
    CAPTURE(stalls);
    BehindBench network(2, {.memory = {.latency_cycles = 4}});  // of messages
    network.node(0).dma =
        std::make_unique<DmaPort>(*network.node(0).memory, MemoryConfig{.latency_cycles = 300, .stalls = stalls});
    for (unsigned token = 1; token <= taken(96u); ++token) {
      CAPTURE(token);
      const unsigned context = token % kContexts;
      const unsigned slot = network.put(0, context, {.token = token, .to = 0, .length = 8});
      network.transfer(0, context, naming(network.write_to(0, token, token % 2 == 0 ? 0 : 64), slot));
      network.until_these_come(0, Tokens{token});
      CHECK(end_answered(network, 0, token));
    }
  }
}

TEST_CASE("behind: it stays whatever others send and transfer, for any time") {
  for (const unsigned timeout : {0u, 1u, 63u}) {
    CAPTURE(timeout);
    BehindBench network(2, {.timeout = timeout, .tries = timeout % 2});
    const unsigned slot = network.put(0, 0, {.token = 1, .length = 64});
    for (unsigned token = 2; token <= 5; ++token)  // the last one finds no slot
      network.put(0, 0, {.token = token, .behind = false});
    network.until_these_come(1, Tokens{2, 3, 4});
    network.run(1000);
    const auto sent = network.counts(0)[0];
    for (unsigned context = 1; context < kContexts; ++context) network.transfer(0, context, network.no_bytes(slot));
    for (unsigned other = slot + 1; other < kSlots; ++other) network.transfer(0, 0, network.no_bytes(other));
    spec::Transfer names_none = network.no_bytes(slot);
    names_none.set_message(0);
    network.transfer(0, 0, names_none);
    network.run(20'000);
    CHECK(network.come(1).empty());
    CHECK(network.counts(0)[0] == sent);
    CHECK(network.status(0, 0).free_slots() == (kAllFree & ~(1u << slot)));
    CHECK(network.status(0, 0).refused() == 1);
    network.transfer(0, 0, network.no_bytes(slot));
    network.until_these_come(1, Tokens{1});
    network.run(500);
    network.check_idle(0);
  }
}

TEST_CASE("behind: transfers, good and bad, leave ordinary messages of the slots that they name alone") {
  for (const bool bad : {false, true}) {
    CAPTURE(bad);
    BehindBench network(2, {.memory = {.latency_cycles = 100}, .timeout = 2, .tries = 0, .kept_channels = 0});
    const auto name_all = [&](std::uint64_t then) {
      for (unsigned i = 0; i < kContexts * kSlots; ++i) {
        spec::Transfer transfer = bad ? network.refused_by_memory(0, 0) : network.no_bytes(0);
        transfer.set_notify(0);
        network.transfer(0, i / kSlots, naming(transfer, i % kSlots));
      }
      network.run_until_stored();
      network.run(then);
    };
    name_all(2000);  // free
    Tokens all, small;
    for (unsigned i = 0; i < kContexts * kSlots; ++i) {
      const bool waits = i >= 56;  // for an entry
      network.put(0, i / kSlots, {.token = i, .mailbox = waits ? kSmallMailbox : kMailbox, .behind = false});
      (waits ? small : all).push_back(i);
    }
    for (const unsigned then : {0u, 200u, 1000u}) name_all(then);  // queued, sent, answered
    Tokens came = network.until_come(1, all.size());
    std::ranges::sort(came);
    CHECK(came == all);
    came.clear();
    while (came.size() < small.size()) {
      came.push_back(network.until_come(1, 1, kSmallMailbox).at(0));
      name_all(0);
      network.give_back(1, kSmallMailbox);
    }
    std::ranges::sort(came);
    CHECK(came == small);
    network.run(3000);
    network.check_idle(0);
    // All is of use.
    for (unsigned i = 0; i < kContexts * kSlots; ++i) CHECK(network.put(0, i / kSlots, {.token = i}) == i % kSlots);
    for (unsigned i = 0; i < kContexts * kSlots; ++i) network.transfer(0, i / kSlots, network.no_bytes(i % kSlots));
    network.until_come(1, kContexts * kSlots);
  }
}

TEST_CASE("behind: of two transfers that name a slot the first to end counts") {
  for (const bool first_bad : {false, true})
    for (const bool second_bad : {false, true})
      for (const bool full : {false, true}) {
        CAPTURE(first_bad);
        CAPTURE(second_bad);
        CAPTURE(full);
        const unsigned mailbox = full ? kSmallMailbox : kMailbox;
        BehindBench network(2, {.timeout = 2, .tries = 2, .block_timeout = 2});
        if (full) {
          network.put(0, 1, {.token = 77, .mailbox = mailbox, .behind = false});
          network.until_these_come(1, Tokens{77}, mailbox);
        }
        const unsigned slot = network.put(0, 0, {.token = 5, .mailbox = mailbox});
        for (const unsigned token : {1u, 2u}) {
          const bool bad = token == 1 ? first_bad : second_bad;
          network.transfer(0, 0, naming(bad ? network.refused_by_memory(1, token) : network.write_to(1, token), slot));
        }
        network.until_ended(0, 1, first_bad ? Reason::kMemory : Reason::kNone);
        network.until_ended(0, 2, second_bad ? Reason::kMemory : Reason::kNone);
        network.run(1000);
        if (full) {
          CHECK(network.come(1, mailbox).empty());
          network.give_back(1, mailbox);
        }
        network.until_free(0, 0);
        const std::size_t came = network.come(1, mailbox).size();
        CHECK(came + network.status(0, 0).failed() == 1);
        if (first_bad == second_bad) CHECK(came == !first_bad);
      }
}

TEST_CASE("behind: a transfer that is refused at its store leaves it") {
  BehindBench network(2, {.line = {.latency_cycles = 2000}, .block_timeout = 63, .kept_channels = 0});
  const unsigned slot = network.put(0, 0, {.token = 5});
  constexpr std::uint32_t kNoNode = 0x3fffff;
  network.transfer(0, 0, naming(transfer_of(kOwn, kTarget, 64, kNoNode, 200), slot));
  for (unsigned token = 0; token < kChannels; ++token) network.transfer(0, 2, network.write_to(1, token));
  network.transfer(0, 0, naming(network.write_to(1, 200), slot));
  network.transfer(0, 0, network.no_bytes(slot));
  for (unsigned token = 0; token < kChannels; ++token) network.until_ended(0, token);
  network.run(5000);
  CHECK(network.transfer_status(0, 0).refused() == 3);
  CHECK(network.come(1).empty());
  CHECK(network.status(0, 0).failed() == 0);
  CHECK(network.status(0, 0).free_slots() == (kAllFree & ~(1u << slot)));
  network.transfer(0, 0, network.no_bytes(slot));
  network.until_these_come(1, Tokens{5});
}

TEST_CASE("behind: all slots and all channels at once") {
  struct Load {
    const char* what;
    std::uint32_t bytes;
    std::size_t senders = 1, transfers_to = 1, messages_to = 1;
    unsigned memory_latency = 20;
    bool notify = true, bad = false, reads = false;
  };
  for (const Load& load : {Load{"no ends", 600, 1, 1, 1, 20, false}, Load{"to itself, slow memory", 600, 1, 0, 1, 400},
                           Load{"bad", 64, 1, 1, 1, 20, true, true}, Load{"no bytes", 0, 1, 1, 0},
                           Load{"each to the next, reads too", 600, 4, 1, 1, 20, true, false, true}}) {
    CAPTURE(load.what);
    const unsigned kept = load.reads ? 8 : 0, transfers = kChannels - kept;
    BehindBench network(4,
                        {.memory = {.latency_cycles = load.memory_latency},
                         .timeout = 63,
                         .tries = load.bad ? 1u : 0u,
                         .block_timeout = 20,
                         .kept_channels = kept},
                        true);
    for (std::size_t n = 0; n < load.senders; ++n) {
      for (unsigned i = 0; i < kChannels; ++i)
        network.put(n, i / kSlots, {.token = 1000 * n + i, .to = load.messages_to, .length = i % 65});
      for (unsigned i = 0; i < transfers; ++i) {
        const std::uint64_t place = 0x10000 * (i + kChannels * n);
        const std::uint32_t other = network.node((n + load.transfers_to) % 4).dcid;
        const std::uint64_t own = load.bad ? kRefusesOwn : kOwn + place;
        auto transfer = load.reads && i % 2 == 1 ? read_of(kTarget + place, own, load.bytes, other, i)
                                                 : transfer_of(own, kTarget + place, load.bytes, other, i);
        transfer.set_notify(load.notify);
        network.transfer(n, i / kSlots, naming(transfer, i % kSlots));
      }
    }
    network.run_until_stored();
    if (!load.bad) network.until_come(load.messages_to, load.senders * transfers);
    for (std::size_t n = 0; n < load.senders; ++n) {
      for (unsigned context = 0; context < transfers / kSlots; ++context) network.until_free(n, context);
      CHECK(network.transfer_status(n, 0).refused() == 0);
      for (unsigned i = transfers; i < kChannels; ++i) network.transfer(n, i / kSlots, network.no_bytes(i % kSlots));
    }
    network.until_come(load.messages_to, load.senders * kept);
    network.run(1000);
    CHECK(network.come(load.messages_to).empty());
    for (std::size_t n = 0; n < load.senders; ++n) network.check_idle(n, load.bad ? kSlots : 0);
  }
}

TEST_CASE(
    "behind: one that is stored after its transfer, one that is refused, and a transfer by its last store alone") {
  BehindBench network(2, {.line = {.latency_cycles = 1000}, .timeout = 63, .block_timeout = 63});
  network.transfer(0, 0, naming(network.write_to(1, 1), 0));
  network.put(0, 0, {.token = 5});  // before the transfer ends
  network.until_these_come(1, Tokens{5});
  network.transfer(0, 1, naming(network.write_to(1, 2, 0), 0));
  network.until_ended(0, 2);
  const unsigned stays = network.put(0, 1, {.token = 6});  // when it has ended
  network.run_until_stored();
  network.run(5000);
  CHECK(network.come(1).empty());
  CHECK(network.status(0, 1).free_slots() == (kAllFree & ~(1u << stays)));
  // Too long; to no node: no slot is taken.
  network.send(0, 2, network.node(1).dcid, kMailbox, 65, 0, true);
  network.send(0, 2, 0x3fffff, kMailbox, 8, 0, true);
  network.run_until_stored();
  network.run(100);
  CHECK(network.status(0, 2).refused() == 2);
  CHECK(network.status(0, 2).free_slots() == kAllFree);
  const unsigned slot = network.put(0, 2, {.token = 8});
  CHECK(slot == 0);
  network.transfer(0, 2, network.no_bytes(slot));
  network.until_these_come(1, Tokens{8});
  network.until_free(0, 2);
  // The first three words of a transfer stay, with the message's slot.
  for (unsigned token = 9; token < 9 + kSlots; ++token) network.put(0, 2, {.token = token});
  network.store64(0, page(2) + kTransfer + 24, 0);
  network.until_these_come(1, Tokens{12});
}

TEST_CASE("behind: a process that stores in each cycle, refused or not, does not hold up others' messages and ends") {
  struct Cycles {
    std::uint64_t came = 0, ended = 0;  // the message; three transfers, two of them without one
  };
  const auto measured = [](unsigned stores, unsigned length) {
    BehindBench network(2, {.tries = 0});
    network.transfer(0, 0, naming(network.write_to(1, 1), network.put(0, 0, {.token = 5})));
    for (const unsigned token : {2u, 3u}) network.transfer(0, token, network.write_to(1, token));
    network.run_until_stored();
    for (unsigned i = 0; i < stores; ++i) network.send(0, 15, network.node(1).dcid, kOthersMailbox, length);
    const AxiMemory& memory = *network.node(0).memory;
    Cycles cycles;
    for (std::uint64_t i = 1; (cycles.came == 0 || cycles.ended == 0) && i < 10'000; ++i) {
      network.step();
      if (!network.come(1).empty()) cycles.came = i;
      if (cycles.ended == 0 && end_of(memory, 1).done() + end_of(memory, 2).done() + end_of(memory, 3).done() == 3)
        cycles.ended = i;
    }
    CHECK(network.node(0).stores.empty() == (stores == 0));
    return cycles;
  };
  const Cycles alone = measured(0, 0);
  CHECK(alone.came > alone.ended);
  // Too long; or of no bytes, of which those that find a slot are answered: the mailbox is another domain's.
  for (const unsigned length : {65u, 0u}) {
    constexpr std::uint64_t kMostClaim = 10, kMostLaunch = 13;  // as they are proved (ni-packetizer-waits)
    const Cycles beside = measured(3000, length);
    CAPTURE(length);
    CHECK(beside.ended > 0);
    CHECK(beside.ended <= alone.ended + kMostClaim);
    CHECK(beside.came > beside.ended);
    CHECK(beside.came <= alone.came + kMostClaim + kMostLaunch);
  }
}
