// SPDX-License-Identifier: Apache-2.0
// Messages where something ends: slots, windows, rings, timeouts, memory, a node, a process.
#include <doctest/doctest.h>

#include <set>

#include "gateware/ni/tb/ni_network.hpp"
#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

constexpr unsigned kDomain = 5, kMailbox = 3;
constexpr std::uint64_t kRing = 0x10'0000'0000;
using Reason = spec::NackReason;
using Refusal = spec::StoreRefusal;

struct Bench : NiNetwork {
  explicit Bench(std::size_t nodes = 2, NiNetworkConfig config = {}, unsigned log_entries = 6)
      : NiNetwork(nodes, config) {
    for (std::size_t n = 0; n < nodes; ++n) {
      for (unsigned c = 0; c < kContexts; ++c) open_context(n, c, kDomain);
      open_mailbox(n, kMailbox, kDomain, kRing, log_entries);
    }
    run_until_stored();
  }
  void send_one(unsigned context, std::size_t to, unsigned length = 16, unsigned mailbox = kMailbox) {
    message(0, context, node(to).dcid, mailbox, std::vector<std::uint8_t>(length, 0xa5));
  }
  std::size_t freed(Reason reason) {
    std::size_t count = 0;
    for (const SlotEvent& event : node(0).slot_events)
      count += event.freed && event.reason == static_cast<unsigned>(reason);
    return count;
  }
  std::size_t messages(std::size_t n, unsigned log_entries = 6) {
    MailboxReader reader(kRing, log_entries);
    std::size_t count = 0;
    while (reader.poll(*node(n).memory)) ++count;
    return count;
  }
};

}  // namespace

TEST_CASE(
    "a context without a free slot: refused and counted, and a message whose payload met none is never sent in part") {
  Bench bench(2, {.memory = {.latency_cycles = 600}, .timeout = 63});
  for (int i = 0; i < 5; ++i) bench.send_one(0, 1);
  bench.run_until_stored();
  auto status = bench.status(0, 0);
  CHECK(status.free_slots() == 0);
  CHECK(status.refused() == 1);
  CHECK(status.refusal() == static_cast<unsigned>(Refusal::kNoSlot));
  // Half of its payload before a slot is free, half of it behind.
  bench.store64(0, page(0), 1);
  bench.run(1500);
  CHECK(bench.status(0, 0).free_slots() == 0xf);
  bench.store64(0, page(0) + 16, 2);
  bench.send(0, 0, bench.node(1).dcid, kMailbox, 32);
  bench.run_until_stored();
  CHECK(bench.status(0, 0).refused() == 2);
  bench.send_one(0, 1);
  bench.run(2500);
  CHECK(bench.status(0, 0).refused() == 2);
  CHECK(bench.messages(1) == 5);
}

TEST_CASE("at most 32 messages are under way to a node, and one to another node passes") {
  Bench bench(4, {.memory = {.latency_cycles = 3000}, .timeout = 63});
  for (unsigned i = 0; i < 44; ++i) bench.send_one(i / 4, 1);
  bench.send_one(15, 2);
  bench.run(1000);
  CHECK(bench.node(0).in[0].arrivals.size() == 33);
  CHECK(bench.node(0).in[0].arrivals.back().packet.header.dcid() == bench.node(2).dcid);
  bench.run(140'000);
  CHECK(bench.freed(Reason::kNone) == 45);
  CHECK(bench.messages(1) == 44);
}

TEST_CASE("rings of 1 to 8192 entries wrap") {
  for (const unsigned log_entries : {0u, 1u, 3u, 13u}) {
    CAPTURE(log_entries);
    Bench bench(2, {.memory = {.latency_cycles = 4}, .timeout = 20, .tries = 0}, log_entries);
    MailboxReader reader(kRing, log_entries);
    const unsigned wanted = log_entries == 13 ? 8192 + 100 : (5u << log_entries) + 3;
    unsigned sent = 0, read = 0, behind = 0;
    bool full = false;
    for (unsigned cycle = 0; read < wanted; ++cycle) {
      REQUIRE(cycle < 500'000);
      if (sent < wanted && bench.node(0).stores.size() < 2 && sent - bench.freed(Reason::kNone) < 40) {
        // Contexts in turn: each has sent four before its next one.
        bench.store64(0, page(sent % kContexts), sent);
        bench.send(0, sent % kContexts, bench.node(1).dcid, kMailbox, 8);
        ++sent;
      }
      full = full || behind == 1u << log_entries;
      // Reads nothing until the ring is full once.
      if (log_entries != 13 && cycle < 3000) {
        bench.step();
        continue;
      }
      if (const auto message = reader.poll(*bench.node(1).memory)) {
        CHECK(message->bytes.size() == 8);
        ++read;
        if (read % 8 == 0 || log_entries < 4) bench.release(1, 0, kMailbox, reader.place());
      }
      bench.step();
    }
    bench.run(500);
    CHECK(bench.freed(Reason::kNone) == wanted);
    CHECK(bench.counts(1)[4] == wanted);
    CHECK(bench.node(1).memory->lines_within(kRing, kRing + (128ull << log_entries)) == bench.node(1).memory->lines());
  }
}

TEST_CASE(
    "memory that refuses: each message says so, also behind the hole and repeated, until the mailbox is opened again") {
  Bench bench(2, {.timeout = 8, .tries = 0});
  auto& memory = *bench.node(1).memory;
  memory.refuses = [](std::uint64_t address) { return address == kRing + 128 * 2 + 112; };
  for (unsigned i = 0; i < 8; ++i) bench.send_one(i, 1);
  // The line back is cut while the answers are on it: they are lost, and asked for again.
  bool cut = true;
  bench.node(1).tx[0]->tamper =
      bench.node(1).tx[1]->tamper = [&](const NarrowWord& word) { return cut ? std::nullopt : std::optional(word); };
  bench.run(1000);
  cut = false;
  bench.run(10'000);
  CHECK(bench.counts(1)[6] >= 8);  // came again
  // Two were stored before the hole. That they were is not known when they come again.
  CHECK(bench.freed(Reason::kMemory) == 8);
  memory.refuses = [](std::uint64_t) { return false; };
  bench.send_one(9, 1);
  bench.run(2000);
  CHECK(bench.freed(Reason::kMemory) == 9);
  CHECK(bench.status(0, 9).failure() == static_cast<unsigned>(Reason::kMemory));
  bench.open_mailbox(1, kMailbox, kDomain, kRing + 0x10000, 6);
  bench.run_until_stored();
  bench.send_one(10, 1);
  bench.run(2000);
  CHECK(bench.freed(Reason::kNone) == 1);
}

TEST_CASE("a node that is dead: silent after all tries, and others go on; when it is back, so do messages to it") {
  for (const unsigned tries : tried({1u, 2u, 15u}, {1u, 15u}))
    for (const unsigned timeout : {0u, 1u, 3u}) {
      if (tries == 15 && timeout != 0 && !in_full()) continue;
      CAPTURE(tries);
      CAPTURE(timeout);
      Bench bench(4, {.timeout = timeout, .tries = tries});
      bench.enable(1, false);
      for (unsigned i = 0; i < 8; ++i) bench.send_one(i, i % 2 == 0 ? 1 : 3);
      bench.run(timeout == 0 ? 15'000 : tries == 15 ? 128 * timeout * 32 * 15 : 15'000);
      CHECK(bench.freed(Reason::kSilent) == 4);
      CHECK(bench.freed(Reason::kNone) == 4);
      CHECK(bench.node(0).in[0].arrivals.size() >= 4 * (tries + 1) + 4);
      std::size_t to_dead = 0;
      for (const Arrival& arrival : bench.node(0).in[0].arrivals)
        to_dead += arrival.packet.header.dcid() == bench.node(1).dcid;
      CHECK(to_dead == 4 * (tries + 1));
      CHECK(bench.status(0, 0).failure() == static_cast<unsigned>(Reason::kSilent));
      bench.enable(1, true);
      // ReceiveA timeout of 0 repeats before an answer can come.
      for (unsigned i = 0; i < 8; ++i) bench.send_one(i, 1);
      bench.run(20'000);
      CHECK(bench.freed(Reason::kNone) + bench.freed(Reason::kSilent) == 16);
      CHECK(bench.messages(1) == 8);
      if (timeout > 1) CHECK(bench.freed(Reason::kNone) == 12);
    }
}

TEST_CASE(
    "interfaces that are reset: the receiver's needs nothing, the sender's is known again once its place is cleared") {
  Bench bench(2, {.timeout = 4, .tries = 0});
  for (unsigned i = 0; i < 40; ++i) {
    bench.send_one(i % kContexts, 1);
    if (i % 16 == 15) bench.run(1000);
  }
  bench.run(2000);
  CHECK(bench.messages(1) == 40);
  bench.reset_interface(1);
  bench.open_context(1, 0, kDomain);
  bench.open_mailbox(1, kMailbox, kDomain, kRing + 0x10000, 6);
  bench.run_until_stored();
  bench.send_one(0, 1);
  bench.run(1000);
  CHECK(bench.freed(Reason::kNone) == 41);
  CHECK(bench.counts(1)[4] == 1);

  bench.reset_interface(0);
  bench.open_context(0, 0, kDomain);
  bench.send_one(0, 1);
  bench.run(3000);
  // Its numbers begin anew, and are nobody's at the receiver.
  CHECK(bench.freed(Reason::kNone) == 41);
  CHECK(bench.counts(1)[7] >= 1);
  bench.clear_peer(1, 0);
  bench.run(20'000);
  CHECK(bench.freed(Reason::kNone) == 42);
  CHECK(bench.counts(1)[4] == 2);
}

TEST_CASE(
    "a page that changes hands: what is under way keeps its domain, old payload is not seen, and a full mailbox does "
    "not hold its slots") {
  Bench bench(2, {.timeout = 3, .tries = 0}, 0);
  bench.run(10);
  bench.send_one(0, 1);  // fills the mailbox
  bench.run(500);
  bench.send_one(0, 1);  // is refused, and waits
  bench.store64(0, page(0), 0x1234567812345678);  // payload of a message that is never sent
  bench.run(2000);
  CHECK(bench.freed(Reason::kNone) == 1);
  bench.open_context(0, 0, kDomain, false);
  bench.run(5000);
  CHECK(bench.freed(Reason::kSilent) == 1);
  bench.open_context(0, 0, kDomain + 1);
  bench.open_mailbox(1, kMailbox + 1, kDomain + 1, kRing + 0x10000, 4);
  bench.run_until_stored();
  bench.store64(0, page(0) + 16, 7);
  bench.send(0, 0, bench.node(1).dcid, kMailbox + 1, 32);
  bench.send_one(0, 1);  // the other domain's
  bench.run(2000);
  CHECK(bench.freed(Reason::kNone) == 2);
  CHECK(bench.freed(Reason::kDomain) == 1);
  MailboxReader reader(kRing + 0x10000, 4);
  const auto message = reader.poll(*bench.node(1).memory);
  REQUIRE(message);
  CHECK(message->entry.pdid() == kDomain + 1);
  std::vector<std::uint8_t> bytes(32);
  bytes[16] = 7;
  CHECK(message->bytes == bytes);
  // A store to a page that is closed does nothing.
  bench.open_context(0, 1, kDomain, false);
  bench.send_one(1, 1);
  bench.run(1000);
  CHECK(bench.status(0, 1).refused() == 0);
  CHECK(bench.counts(0)[0] == bench.node(0).in[0].arrivals.size());
}

TEST_CASE("figures: no idle word behind the packetizer, and the stages of a message") {
  for (const auto& [bytes, cycles] : {std::pair{16u, 3u}, {32u, 4u}, {48u, 5u}, {64u, 6u}}) {
    CAPTURE(bytes);
    Bench bench(4, {.memory = {.latency_cycles = 4}, .timeout = 63});
    for (unsigned i = 0; i < 60; ++i) bench.send_one(i / 4, i % 4, bytes);
    bench.run(2000);
    const auto& sent = bench.node(0).in[0].arrivals;
    REQUIRE(sent.size() == 60);
    for (std::size_t i = 4; i < sent.size(); ++i) CHECK(sent[i].head_cycle - sent[i - 1].head_cycle == cycles);
  }
  struct Stages {
    unsigned bytes, to_header, to_memory, to_answer, to_slot;
  };
  for (const auto& [bytes, to_header, to_memory, to_answer, to_slot] :
       {Stages{0, 10, 6, 4, 5}, {16, 10, 7, 4, 5}, {64, 13, 9, 4, 5}}) {
    CAPTURE(bytes);
    Bench bench(2, {.line = {.latency_cycles = 20}, .memory = {.latency_cycles = 20}, .timeout = 63});
    bench.send_one(0, 1, bytes);
    bench.run(500);
    const std::uint64_t stored = bench.node(0).taken.back();
    const auto& header = bench.node(0).in[0].arrivals.at(0);
    const auto& out = bench.node(1).out[0].arrivals.at(0);
    const auto& beats = bench.node(1).memory->beats;
    const auto& answer = bench.node(1).in[1].arrivals.at(0);
    const auto& back = bench.node(0).out[1].arrivals.at(0);
    MESSAGE(bytes << " B, cycles behind the last store: header at the router " << header.head_cycle - stored
                  << ", at the far interface " << out.head_cycle - stored << " to " << out.tail_cycle - stored
                  << ", first beat " << beats.front().cycle - stored << ", last beat " << beats.back().cycle - stored
                  << ", answer at the router " << answer.head_cycle - stored << ", back " << back.tail_cycle - stored
                  << ", slot free " << bench.node(0).slot_events.at(0).cycle - stored);
    CHECK(header.head_cycle - stored == to_header);
    CHECK(beats.front().cycle - out.tail_cycle == to_memory);
    CHECK(answer.head_cycle - beats.back().cycle == 20 + to_answer);
    CHECK(bench.node(0).slot_events.at(0).cycle - back.tail_cycle == to_slot);
  }
}

TEST_CASE("a mailbox is released by its own domain alone") {
  Bench bench(2, {}, 0);
  bench.open_context(1, 1, kDomain + 1);
  bench.send_one(0, 1);
  bench.run(500);
  CHECK(bench.freed(Reason::kNone) == 1);
  bench.release(1, 1, kMailbox, 1);
  bench.run_until_stored();
  bench.send_one(0, 1);
  bench.run(500);
  CHECK(bench.freed(Reason::kNone) == 1);
  CHECK(bench.counts(1)[4] == 1);
  CHECK(bench.counts(1)[5] > 0);  // refused
  bench.release(1, 0, kMailbox, 1);
  bench.run(5000);
  CHECK(bench.freed(Reason::kNone) == 2);
  CHECK(bench.counts(1)[4] == 2);
}

TEST_CASE("a mailbox of more entries than are counted is not opened") {
  for (const unsigned log_entries : {14u, 15u}) {
    CAPTURE(log_entries);
    Bench bench(2, {.tries = 0}, log_entries);
    bench.send_one(0, 1);
    bench.run(500);
    CHECK(bench.freed(Reason::kClosed) == 1);
  }
}

TEST_CASE("stores of a part of 8 bytes do nothing where 8 bytes are wanted, and are counted") {
  Bench bench;
  spec::MessageSend word;
  word.set_dcid(bench.node(1).dcid);
  word.set_mailbox(kMailbox);
  word.set_length(16);
  Store store{0, page(0) + kSend, {}, 0x000f};
  for (unsigned i = 0; i < 8; ++i) store.data[i] = static_cast<std::uint8_t>(word.raw[i / 4] >> 8 * (i % 4));
  bench.store(0, store);
  store.strobe = 0x00f0;
  bench.store(0, store);
  bench.run(500);
  CHECK(bench.load(0, kParts)[0] == 2);
  CHECK(bench.messages(1) == 0);
  store = {0, page(0), {}, 0x000f};  // of a payload, any bytes
  bench.store(0, store);
  bench.send_one(0, 1);
  bench.run(500);
  CHECK(bench.load(0, kParts)[0] == 2);
  CHECK(bench.messages(1) == 1);
}

TEST_CASE("a load wider than the bus is answered with an error") {
  for (const unsigned size : {4u, 5u}) {
    CAPTURE(size);
    unsigned response = 7;
    Bench bench(2, {.watch = [&](std::size_t, const Vni_node& m) {
                  if (m.s_axi_rvalid) response = m.s_axi_rresp;
                }});
    bench.node(0).model->s_axi_arsize = static_cast<CData>(size);
    bench.load(0, kCounts);
    CHECK(response == (size == 4 ? 0 : 2));
  }
}

TEST_CASE("stores whose address and beat come apart, in either order, are what they are together") {
  Bench bench(2, {.apart = 0.4});
  for (unsigned i = 0; i < 60; ++i) {
    std::vector<std::uint8_t> bytes(1 + i);
    for (unsigned b = 0; b < bytes.size(); ++b) bytes[b] = static_cast<std::uint8_t>(7 * i + b);
    bench.message(0, i % kContexts, bench.node(1).dcid, kMailbox, bytes);
    bench.run(60);
  }
  bench.run(500);
  CHECK(bench.freed(Reason::kNone) == 60);
  MailboxReader reader(kRing, 6);
  for (unsigned i = 0; i < 60; ++i) {
    const auto message = reader.poll(*bench.node(1).memory);
    REQUIRE(message);
    REQUIRE(message->bytes.size() == 1 + i);
    for (unsigned b = 0; b < message->bytes.size(); ++b)
      REQUIRE(message->bytes[b] == static_cast<std::uint8_t>(7 * i + b));
  }
  CHECK(bench.node(0).bad_answers == 0);
}
