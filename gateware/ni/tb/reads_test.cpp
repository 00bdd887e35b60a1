// SPDX-License-Identifier: Apache-2.0
// Verilated nodes that read each other's memory: every byte where it is to go, none beside, and one end, whatever is
// lost, refused or busy.
#include <doctest/doctest.h>

#include "gateware/ni/tb/transfer_traffic.hpp"
#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

// Cycles until a node's transfer has ended.
std::uint64_t until_ended(NiNetwork& network, std::size_t n, unsigned token, unsigned failure = 0,
                          std::uint64_t most = 100'000) {
  const std::uint64_t begin = network.cycle();
  while (end_of(*network.node(n).memory, token).done() == 0) {
    REQUIRE(network.cycle() - begin < most);
    network.step();
  }
  CHECK(end_of(*network.node(n).memory, token).failure() == failure);
  CHECK(end_of(*network.node(n).memory, token).token() == token);
  return network.cycle() - begin;
}

}  // namespace

TEST_CASE("transfers: reads of any bytes from any address to any other, whole, and nothing beside them") {
  NiNetwork network(2, {.before_reset = 7});
  open_all(network);
  std::uint64_t place = 0;
  unsigned token = 0;
  for (const TransferCase& c : transfer_cases(12)) {
    CAPTURE(c.own);
    CAPTURE(c.target);
    CAPTURE(c.length);
    const std::size_t reader = token % 2, from = token % 3 == 0 ? reader : 1 - reader;
    const std::uint64_t own = kTarget + place + c.own, target = kOwn + place + c.target;
    place += 0x10000;
    fill(network, from, target, c.length);
    network.transfer(reader, token % kContexts, read_of(own, target, c.length, network.node(from).dcid, token));
    until_ended(network, reader, token);
    check_written(network, from, target, reader, own, c.length);
    ++token;
  }
  network.run(1000);
  for (std::size_t n = 0; n < 2; ++n) {
    const auto counts = network.transfer_counts(n);
    CHECK(counts[2] == 0);  // none came again
    CHECK(counts[3] == 0);
    CHECK(counts[5] == 0);
    CHECK(counts[6] == 0);
  }
}

TEST_CASE("transfers: a small read, stage by stage") {
  for (const unsigned memory : {0u, 20u}) {
    NiNetwork network(2, {.memory = {.latency_cycles = memory}, .block_timeout = 63});
    open_all(network);
    fill(network, 1, kOwn, 64);
    const std::size_t stores = network.node(0).taken.size();
    network.transfer(0, 3, read_of(kTarget, kOwn, 64, network.node(1).dcid, 1));
    until_ended(network, 0, 1);
    const auto &reader = network.node(0), &server = network.node(1);
    const std::uint64_t store = reader.taken[stores + 1];
    const auto at = [&](std::uint64_t cycle) { return cycle - store; };
    const Arrival &request = reader.in[2].arrivals.at(0), &data = server.in[2].arrivals.at(0),
                  &end = server.in[2].arrivals.at(1);
    MESSAGE("memories of " << memory << ", lines of 20 cycles; from the last store: request at the port "
                           << at(request.head_cycle) << ", out of the network at the other node "
                           << at(server.out[2].arrivals.at(0).tail_cycle) << ", its first read of memory "
                           << at(server.dma->first_read) << ", data at its port " << at(data.head_cycle)
                           << ", end there " << at(end.head_cycle) << ", data out of the network "
                           << at(reader.out[2].arrivals.at(0).tail_cycle) << ", in memory "
                           << at(reader.dma->ends.at(0).cycle) << ", end out of the network "
                           << at(reader.out[2].arrivals.at(1).tail_cycle) << ", transfer_end in memory "
                           << at(reader.dma->last_write));
    CHECK(request.packet.header.kind() == static_cast<unsigned>(spec::PacketType::kReadRequest));
    CHECK(end.packet.header.kind() == static_cast<unsigned>(spec::PacketType::kReadResponse));
    CHECK(at(request.head_cycle) <= 20);
  }
}

// Six kilobytes in two blocks: each packet and each answer of both nodes lost in turn.
TEST_CASE("transfers: a read of which a packet or an answer is lost") {
  constexpr std::uint32_t kLength = 6000;
  struct Way {
    std::size_t node;  // where it comes out
    unsigned port;
    std::size_t packets;
  };
  // Request; its answer; data with the end; their answers.
  for (const Way& way : {Way{1, 2, 1}, {0, 1, 1}, {0, 2, 13}, {1, 1, 3}}) {
    for (std::size_t lost = 0; lost < way.packets; ++lost) {
      if (lost > 1 && lost + 2 < way.packets && !in_full()) continue;
      CAPTURE(way.node);
      CAPTURE(way.port);
      CAPTURE(lost);
      NiNetwork network(2, {.block_timeout = 1, .damages = [&](std::size_t n, unsigned p, std::size_t packet) {
                              return n == way.node && p == way.port && packet == lost;
                            }});
      open_all(network);
      fill(network, 1, kOwn + 5, kLength);
      std::size_t ends = 0, unanswered = 0;
      network.node(0).dma->on_burst = [&](const WrittenBeat& end) {
        if (end.address < kEnds || end.address >= kFences) return;
        ++ends;
        unanswered += network.node(0).dma->unanswered(kTarget, kEnds);
      };
      network.transfer(0, 0, read_of(kTarget, kOwn + 5, kLength, network.node(1).dcid, 1));
      until_ended(network, 0, 1);
      check_written(network, 1, kOwn + 5, 0, kTarget, kLength);
      const std::size_t packets = network.node(0).out[2].arrivals.size();
      // The buffer is its owner's: nothing more is written to it, and no second end.
      for (std::uint64_t i = 0; i < kLength; ++i) network.node(0).memory->set(kTarget + i, 0xee);
      network.run(40'000);
      unsigned wrong = 0;
      for (std::uint64_t i = 0; i < kLength; ++i) wrong += network.node(0).memory->get(kTarget + i) != 0xee;
      CHECK(wrong == 0);
      CHECK(ends == 1);
      CHECK(unanswered == 0);
      const auto reader = network.transfer_counts(0), server = network.transfer_counts(1);
      // The read has been served once: all packets of it came, or came again.
      CHECK(reader[1] == 1);
      CHECK(server[1] == 1);
      CHECK(reader[4] == 12);
      // An answer to the request that is lost is made good by the end.
      CHECK(reader[2] == (way.node == 1 && way.port == 2 ? 1 : 0));
      CHECK(packets >= 13);
    }
  }
}

// Slow lines: a request comes again before its answer is there, and when the read has long been served.
TEST_CASE("transfers: requests that come more than once are served once") {
  NiNetwork network(2, {.line = {.latency_cycles = 6000}, .block_timeout = 0});
  open_all(network);
  fill(network, 1, kOwn, 64);
  network.transfer(0, 0, read_of(kTarget, kOwn, 64, network.node(1).dcid, 1));
  until_ended(network, 0, 1);
  network.node(0).memory->set(kTarget, 0xee);
  network.run(60'000);
  const auto reader = network.transfer_counts(0), server = network.transfer_counts(1);
  CHECK(reader[2] > 0);
  CHECK(server[5] > 0);  // packets that had come
  CHECK(server[1] == 1);
  CHECK(network.node(0).memory->get(kTarget) == 0xee);
}

TEST_CASE("transfers: of a read that memory refuses the end comes behind all else, and says so") {
  const auto memory = static_cast<unsigned>(spec::NackReason::kMemory);
  // The other memory, the own one; in the first block, amid others, in the last one.
  for (const bool own : {false, true}) {
    for (const std::uint64_t refused : {0u, 5000u, 19'999u}) {
      for (const unsigned memory_cycles : {1u, 20u, 300u}) {
        if (!in_full() && (memory_cycles == 20 || (memory_cycles == 1) != (refused == 5000))) continue;
        CAPTURE(own);
        CAPTURE(refused);
        CAPTURE(memory_cycles);
        NiNetwork network(2, {.memory = {.latency_cycles = memory_cycles}, .block_timeout = 1});
        open_all(network);
        const auto in_packet = [refused](std::uint64_t address, std::uint64_t begin) {
          return address / 512 == (begin + refused) / 512;
        };
        network.node(0).memory->refuses = [&](std::uint64_t address) { return own && in_packet(address, kTarget); };
        network.node(1).dma->refuses_read = [&](std::uint64_t address) { return !own && in_packet(address, kOwn); };
        fill(network, 1, kOwn, 20'000);
        network.transfer(0, 0, read_of(kTarget, kOwn, 20'000, network.node(1).dcid, 1));
        until_ended(network, 0, 1, memory);
        for (std::uint64_t i = 0; i < 20'000; ++i) network.node(0).memory->set(kTarget + i, 0xee);
        network.run(60'000);
        unsigned wrong = 0;
        for (std::uint64_t i = 0; i < 20'000; ++i) wrong += network.node(0).memory->get(kTarget + i) != 0xee;
        CHECK(wrong == 0);
        CHECK(network.transfer_counts(1)[1] == 1);
        // Both channels are of use again.
        network.transfer(0, 1, read_of(kTarget + 0x100000, kOwn + 0x1000, 100, network.node(1).dcid, 2));
        until_ended(network, 0, 2);
        check_written(network, 1, kOwn + 0x1000, 0, kTarget + 0x100000, 100);
      }
    }
  }
}

TEST_CASE("transfers: a read from a node that is dead or dies is given up, and both are of use again") {
  const auto silent = static_cast<unsigned>(spec::NackReason::kSilent);
  // Cycles from the store to the death: before the request, amid the data.
  for (const unsigned after : {0u, 700u}) {
    for (const bool reset : {false, true}) {
      if (reset != (after == 0) && !in_full()) continue;
      CAPTURE(after);
      CAPTURE(reset);
      NiNetwork network(2, {.tries = 1, .block_timeout = 1, .read_timeout = 4});
      open_all(network);
      fill(network, 1, kOwn, 40'000);
      if (after == 0) network.enable(1, false);
      network.transfer(0, 0, read_of(kTarget, kOwn, 40'000, network.node(1).dcid, 1));
      network.run(after);
      if (after != 0) network.enable(1, false);
      until_ended(network, 0, 1, silent, 200'000);
      network.run(20'000);
      if (reset) {
        network.reset_interface(1);
        open_all(network);
        network.clear_peer(0, 1);
        network.run_until_stored();
      }
      network.enable(1, true);
      network.run(100'000);  // it gives up, too
      network.transfer(0, 0, read_of(kTarget + 0x100000, kOwn, 40'000, network.node(1).dcid, 2));
      until_ended(network, 0, 2);
      check_written(network, 1, kOwn, 0, kTarget + 0x100000, 40'000);
      // The other way.
      fill(network, 0, kOwn, 3000);
      network.transfer(1, 0, read_of(kTarget, kOwn, 3000, network.node(0).dcid, 3));
      until_ended(network, 1, 3);
      check_written(network, 0, kOwn, 1, kTarget, 3000);
    }
  }
}

TEST_CASE(
    "transfers: the end of a read whose reader was reset meanwhile is nobody's, and the channel that served it is "
    "free") {
  NiNetwork network(2, {.line = {.latency_cycles = 3000}, .block_timeout = 63});
  open_all(network);
  fill(network, 1, kOwn, 6000);
  network.transfer(0, 0, read_of(kTarget, kOwn, 6000, network.node(1).dcid, 1));
  network.run(4000);  // the data are on their way
  network.reset_interface(0);
  open_all(network);
  network.clear_peer(1, 0);
  network.run_until_stored();
  network.run(30'000);
  CHECK(end_of(*network.node(0).memory, 1).done() == 0);
  CHECK(network.transfer_counts(0)[3] == 2);  // and so is the answer to the request
  CHECK(network.transfer_counts(1)[1] == 1);
  network.transfer(0, 0, read_of(kTarget + 0x100000, kOwn, 6000, network.node(1).dcid, 2));
  until_ended(network, 0, 2);
  check_written(network, 1, kOwn, 0, kTarget + 0x100000, 6000);
}

// A reader that is not patient gives up while the other node still serves: late ends are nobody's, and what has the
// channel then goes its way.
TEST_CASE("transfers: a read that is given up too early does not disturb what has its channel next") {
  NiNetwork network(2, {.memory = {.latency_cycles = 20}, .block_timeout = 1, .read_timeout = 1});
  open_all(network);
  fill(network, 1, kOwn, 300'000);
  network.transfer(0, 0, read_of(kTarget, kOwn, 300'000, network.node(1).dcid, 1));
  until_ended(network, 0, 1, static_cast<unsigned>(spec::NackReason::kSilent));
  // All channels in turn.
  for (unsigned i = 0; i < kChannels; ++i) {
    network.transfer(0, 0, read_of(kTarget + 0x1000000 + 0x1000 * i, kOwn + 0x1000, 64, network.node(1).dcid, 2 + i));
    until_ended(network, 0, 2 + i);
    check_written(network, 1, kOwn + 0x1000, 0, kTarget + 0x1000000 + 0x1000 * i, 64);
  }
  network.run(60'000);
  CHECK(network.transfer_counts(0)[3] == 1);  // the end that came late
}

TEST_CASE("transfers: nodes that read from each other with all channels that they may take come to an end") {
  struct Case {
    std::size_t nodes;
    unsigned kept, reads;
  };
  for (const Case& c : {Case{2, 1, 70}, {4, 8, in_full() ? 300u : 80u}}) {
    CAPTURE(c.nodes);
    NiNetwork network(c.nodes, {.memory = {.latency_cycles = 20}, .block_timeout = 8, .kept_channels = c.kept});
    open_all(network);
    // Half of all that a node reads is the first one's, or for that one the second one's.
    const auto from = [&](std::size_t n, unsigned i) { return i % 2 == 0 ? n == 0 : (n + 1) % c.nodes; };
    const auto length = [](unsigned i) { return 100 + 15 * i; };
    std::vector<unsigned> next(c.nodes, 0), ended(c.nodes, 0);
    for (std::size_t n = 0; n < c.nodes; ++n) fill(network, n, kOwn, 0x2000);
    while (std::any_of(ended.begin(), ended.end(), [&](unsigned e) { return e < c.reads; })) {
      REQUIRE(network.cycle() < 4'000'000);
      for (std::size_t n = 0; n < c.nodes; ++n) {
        const unsigned i = next[n];
        if (i < c.reads && i - ended[n] < kChannels - c.kept && network.node(n).stores.size() < 3) {
          network.transfer(n, i % kContexts,
                           read_of(kTarget + 0x10000 * i + 3, kOwn + 7, length(i), network.node(from(n, i)).dcid, i));
          ++next[n];
        }
        while (ended[n] < next[n] && end_of(*network.node(n).memory, ended[n]).done() != 0) {
          CHECK(end_of(*network.node(n).memory, ended[n]).failure() == 0);
          ++ended[n];
        }
      }
      network.step();
    }
    std::size_t busy = 0;
    for (std::size_t n = 0; n < c.nodes; ++n) {
      for (const Arrival& a : network.node(n).out[1].arrivals)
        busy += a.packet.footer.reason() == static_cast<unsigned>(spec::NackReason::kBusy);
      for (unsigned i = 0; i < c.reads; ++i)
        check_written(network, from(n, i), kOwn + 7, n, kTarget + 0x10000 * i + 3, length(i));
      for (unsigned k = 0; k < kContexts; ++k) CHECK(network.transfer_status(n, k).refused() == 0);
      CHECK(network.transfer_counts(n)[2] == 0);
    }
    MESSAGE(c.nodes << " nodes of " << c.kept << " channels that serve, " << c.reads << " reads each: " << busy
                    << " requests refused as busy, " << network.cycle() << " cycles");
    CHECK(busy > 0);
  }
}
