// SPDX-License-Identifier: Apache-2.0
// Verilated nodes that write into each other's memory: every byte where it is to go, none beside, the end reported
// once, whatever the addresses, lengths and pauses of memory.
#include <doctest/doctest.h>

#include "gateware/ni/tb/transfer_traffic.hpp"
#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::gateware;

TEST_CASE("transfers: bytes of any address and number go to any address, whole, and nowhere else") {
  NiNetwork network(2, {.before_reset = 3});
  open_all(network);
  std::uint64_t place = 0;
  unsigned token = 0;
  for (const TransferCase& c : transfer_cases(11)) {
    CAPTURE(c.own);
    CAPTURE(c.target);
    CAPTURE(c.length);
    const std::size_t from = token % 2;
    const std::uint64_t own = kOwn + place + c.own, target = kTarget + place + c.target;
    place += 0x10000;
    fill(network, from, own, c.length);
    const std::size_t to = token % 3 == 0 ? from : 1 - from;
    network.transfer(from, token % kContexts, transfer_of(own, target, c.length, network.node(to).dcid, token));
    for (int i = 0; end_of(*network.node(from).memory, token).done() == 0; ++i) {
      REQUIRE(i < 5000);
      network.step();
    }
    const auto end = end_of(*network.node(from).memory, token);
    CHECK(end.failure() == 0);
    CHECK(end.token() == token);
    check_written(network, from, own, to, target, c.length);
    ++token;
  }
}

namespace {

// Transfers of a length from node 0 to another, or reads from there, so many at a time, each begun anew when it has
// ended. Returns the cycles of the headers of their Writes where they come out of the network.
std::vector<std::uint64_t> stream(NiNetwork& network, std::size_t to, std::uint32_t length, unsigned channels,
                                  unsigned transfers, bool reads = false) {
  open_all(network);
  if (reads) network.keep_channels(to, kChannels);
  const AxiMemory& memory = *network.node(0).memory;
  const auto& arrivals = network.node(reads ? 0 : to).out[2].arrivals;
  const std::size_t before = arrivals.size();
  std::vector<unsigned> open;
  for (unsigned begun = 0, i = 0; begun < transfers || !open.empty(); ++i) {
    REQUIRE(i < 10'000'000);
    if (begun < transfers && open.size() < channels && network.node(0).stores.size() < 4) {
      const std::uint64_t place = 0x10000 * std::uint64_t{begun % channels};
      spec::Transfer transfer = transfer_of(kOwn + place, kTarget + place, length, network.node(to).dcid, begun);
      transfer.set_read(reads);
      network.transfer(0, begun % kContexts, transfer);
      open.push_back(begun++);
    }
    network.step();
    std::erase_if(open, [&](unsigned token) { return end_of(memory, token).done() != 0; });
  }
  std::vector<std::uint64_t> heads;
  for (std::size_t i = before; i < arrivals.size(); ++i)
    if (arrivals[i].packet.header.kind() == static_cast<unsigned>(spec::PacketType::kWrite))
      heads.push_back(arrivals[i].head_cycle);
  for (std::size_t n = 0; n < network.size(); ++n) CHECK(network.transfer_counts(n)[2] == 0);
  return heads;
}

double cycles_a_packet(const std::vector<std::uint64_t>& heads) {
  return static_cast<double>(heads.back() - heads.front()) / static_cast<double>(heads.size() - 1);
}

}  // namespace

TEST_CASE("transfers: one of 16 KiB fills a link, and many do, whether they write or read") {
  // Header, 32 words, footer, and two link words that announce them.
  constexpr double kLinkWords = 2 * 34 + 2;
  for (const bool reads : {false, true}) {
    for (const unsigned channels : {1u, 2u, 64u}) {
      NiNetwork network(2, {.memory = {.latency_cycles = 40}, .block_timeout = 63, .kept_channels = 0});
      const auto heads = stream(network, 1, 16384, channels, channels, reads);
      REQUIRE(heads.size() == 32 * channels);
      MESSAGE(channels << std::string(reads ? " reads" : " writes") << " of 16 KiB: " << cycles_a_packet(heads)
                       << " cycles a packet of " << kLinkWords << " link words");
      CHECK(kLinkWords / cycles_a_packet(heads) >= 0.98);
    }
  }
  NiNetwork network(2, {.memory = {.latency_cycles = 40}, .block_timeout = 63});
  const auto heads = stream(network, 1, 256 * 1024, 1, 1);
  MESSAGE("one of 256 KiB: " << cycles_a_packet(heads) << " cycles a packet");
  CHECK(kLinkWords / cycles_a_packet(heads) >= 0.98);
}

TEST_CASE("transfers: writes of 64 bytes come every eight cycles or less, 64 of them under way") {
  NiNetwork network(2, {.memory = {.latency_cycles = 40}, .block_timeout = 63, .kept_channels = 0});
  const auto heads = stream(network, 0, 64, 64, in_full() ? 2000 : 400);  // to itself: a link takes 14 cycles for one
  MESSAGE("writes of 64 bytes: one in " << cycles_a_packet(heads) << " cycles");
  CHECK(cycles_a_packet(heads) <= 8);
}

TEST_CASE("transfers: from the last store to the first read, and to the end") {
  NiNetwork network(2, {.memory = {.latency_cycles = 0}});
  open_all(network);
  fill(network, 0, kOwn, 64);
  const std::size_t stores = network.node(0).taken.size();
  network.transfer(0, 3, transfer_of(kOwn, kTarget, 64, network.node(1).dcid, 1));
  const AxiMemory& memory = *network.node(0).memory;
  while (end_of(memory, 1).done() == 0) network.step();
  const std::uint64_t written = network.node(1).dma->last_write;
  const std::uint64_t store = network.node(0).taken[stores + 1];
  MESSAGE("last store to first read " << network.node(0).dma->first_read - store
                                      << " cycles, to the last byte in the other memory " << written - store
                                      << ", to the end " << network.node(0).dma->last_write - store
                                      << ", a line of 20 cycles each way");
  CHECK(network.node(0).dma->first_read - store <= 10);
}

TEST_CASE(
    "transfers: from the last store to the first read are ten cycles at most, in every phase of the sender's turns") {
  NiNetwork network(2, {.memory = {.latency_cycles = 0}});
  open_all(network);
  const auto reads = first_reads(network);
  MESSAGE("last store to first read: 8 cycles in " << std::ranges::count(reads, 8) << " of " << reads.size()
                                                   << " phases, at most " << std::ranges::max(reads));
  CHECK(std::ranges::min(reads) == 8);
  CHECK(std::ranges::max(reads) <= 10);
}

TEST_CASE(
    "transfers: what has no channel, or no place for its node, is refused and counted; stores of words one by one, in "
    "any order") {
  NiNetwork network(2, {.line = {.latency_cycles = 2000}, .block_timeout = 63, .kept_channels = 0});
  open_all(network);
  for (unsigned i = 0; i < kChannels + 3; ++i)
    network.transfer(0, 2, transfer_of(kOwn, kTarget + 0x1000 * i, 64, network.node(1).dcid, i));
  network.transfer(0, 2, transfer_of(kOwn, kTarget, 64, 0x3fffff, 200));
  network.run_until_stored();
  auto status = network.transfer_status(0, 2);
  CHECK(status.taken() == kChannels);
  CHECK(status.refused() == 4);
  CHECK(status.refusal() == static_cast<unsigned>(spec::StoreRefusal::kDestination));
  network.run(20'000);
  CHECK(network.transfer_counts(0)[1] == kChannels);
  for (unsigned i = kChannels; i < kChannels + 3; ++i) CHECK(end_of(*network.node(0).memory, i).done() == 0);

  // The third word, the second, the first, with one store that is too narrow to count, then the last.
  fill(network, 0, kOwn, 64);
  const auto transfer = transfer_of(kOwn, kTarget + 0x100'0000, 64, network.node(1).dcid, 300);
  const auto word = [&](unsigned i) { return transfer.raw[2 * i] | std::uint64_t{transfer.raw[2 * i + 1]} << 32; };
  for (const unsigned i : {2u, 1u, 0u}) network.store64(0, page(7) + kTransfer + 8 * i, word(i));
  network.store(0, {0, page(7) + kTransfer, Line{0xff, 0xff, 0xff, 0xff}, 0x0f});
  network.store64(0, page(7) + kTransfer + 24, word(3));
  network.run(20'000);
  CHECK(end_of(*network.node(0).memory, 300).done() == 1);
  check_written(network, 0, kOwn, 1, kTarget + 0x100'0000, 64);
  // A page whose context is not enabled does nothing.
  network.open_context(0, 7, kDomain, false);
  network.transfer(0, 7, transfer_of(kOwn, kTarget + 0x200'0000, 64, network.node(1).dcid, 301));
  network.run(20'000);
  CHECK(network.transfer_counts(0)[1] == kChannels + 1);
}

TEST_CASE(
    "transfers: bytes beyond the 48 bits of an address are refused, here and at the target; up to the last byte they "
    "go") {
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 48;
  NiNetwork network(2, {.block_timeout = 63});
  open_all(network);
  const unsigned dcid = network.node(1).dcid;
  struct Given {
    std::uint64_t own, target;
    std::uint32_t length;
    bool taken;
  };
  const Given given[] = {
      {kOwn, kEnd - 64, 65, false},        {kEnd - 4096, kTarget, 4097, false},
      {kOwn, kEnd - 1, 2, false},          {kEnd - 8, kTarget, 0xffff'ffff, false},
      {kOwn, kEnd - 5000, 5000, true},     {kEnd - 700, kTarget, 700, true},
      {kOwn, (kEnd >> 1) - 64, 128, true}, {kEnd - (1ull << 32), kTarget + 0x1000, 8, true},
  };
  unsigned taken = 0, refused = 0;
  for (const auto& [own, target, length, goes] : given) {
    CAPTURE(own);
    CAPTURE(target);
    if (goes) fill(network, 0, own, length);
    network.transfer(0, 2, transfer_of(own, target, length, dcid, taken + refused));
    network.run_until_stored();
    const auto status = network.transfer_status(0, 2);
    goes ? ++taken : ++refused;
    CHECK(status.taken() == taken);
    CHECK(status.refused() == refused);
    if (!goes) CHECK(status.refusal() == static_cast<unsigned>(spec::StoreRefusal::kRange));
    network.run(20'000);
    CHECK(network.transfer_counts(0)[1] == taken);
    if (goes) check_written(network, 0, own, 1, target, length);
  }
}

TEST_CASE("transfers: a node that is dead for a while, or for good: as often as was asked, and not for ever") {
  for (const unsigned tries : {0u, 1u, 3u, 15u}) {
    for (const unsigned timeout : {0u, 1u}) {
      if (!in_full() && (tries == 3 || timeout != (tries == 1))) continue;
      CAPTURE(tries);
      CAPTURE(timeout);
      NiNetwork network(2, {.tries = tries, .block_timeout = timeout});
      open_all(network);
      network.enable(1, false);
      fill(network, 0, kOwn, 10'000);
      network.transfer(0, 0, transfer_of(kOwn, kTarget, 10'000, network.node(1).dcid, 0));
      network.transfer(0, 1, transfer_of(kOwn, kTarget + 0x10000, 100, network.node(0).dcid, 1));  // to itself, past it
      network.run(tries == 0 ? 60'000 : 3000);
      const AxiMemory& memory = *network.node(0).memory;
      CHECK(end_of(memory, 1).done() == 1);
      CHECK(end_of(memory, 1).failure() == 0);
      if (tries == 0) {
        CHECK(end_of(memory, 0).done() == 0);
        network.enable(1, true);
        for (int i = 0; end_of(memory, 0).done() == 0; ++i) {
          REQUIRE(i < 1'000'000);
          network.step();
        }
        CHECK(end_of(memory, 0).failure() == 0);
        check_written(network, 0, kOwn, 1, kTarget, 10'000);
        continue;
      }
      for (int i = 0; end_of(memory, 0).done() == 0; ++i) {
        REQUIRE(i < 10'000'000);
        network.step();
      }
      CHECK(end_of(memory, 0).failure() == static_cast<unsigned>(spec::NackReason::kSilent));
      // Its three blocks were sent so often; the first that is given up ends what has not been sent again yet.
      CHECK(network.transfer_counts(0)[2] >= tries);
      CHECK(network.transfer_counts(0)[2] <= 3 * tries);
      // The channel is of use again.
      network.enable(1, true);
      network.run(2000);
      network.transfer(0, 0, transfer_of(kOwn, kTarget, 10'000, network.node(1).dcid, 2));
      network.run(40'000);
      CHECK(end_of(memory, 2).failure() == 0);
      CHECK(end_of(memory, 2).done() == 1);
      check_written(network, 0, kOwn, 1, kTarget, 10'000);
    }
  }
}

TEST_CASE(
    "transfers: an interface that was reset is written to again, and writes again when the others have cleared its "
    "numbers") {
  NiNetwork network(2, {.block_timeout = 4});
  open_all(network);
  unsigned token = 0;
  const auto both_ways = [&](unsigned count) {
    for (unsigned i = 0; i < count; ++i, ++token)
      for (std::size_t n = 0; n < 2; ++n) {
        const std::uint64_t place = 0x10000 * std::uint64_t{token};
        fill(network, n, kOwn + place, 3000);
        spec::Transfer transfer =
            transfer_of(kOwn + place, kTarget + place + 77, 3000, network.node(1 - n).dcid, token);
        transfer.set_fence(1);
        network.fence(n, 0, fence_of(kFences + 8 * token, token + 1));
        network.transfer(n, 0, transfer);
        for (int k = 0; end_of(*network.node(n).memory, token).done() == 0; ++k) {
          REQUIRE(k < 20'000);
          network.step();
        }
        CHECK(end_of(*network.node(n).memory, token).failure() == 0);
        check_written(network, n, kOwn + place, 1 - n, kTarget + place + 77, 3000);
        CHECK(word_of(*network.node(1 - n).memory, kFences + 8 * token) == token + 1);
      }
  };
  both_ways(40);  // more than a window
  network.reset_interface(1);
  open_all(network);
  network.clear_peer(0, 1);
  network.run_until_stored();
  both_ways(40);
  // A kernel that clears while packets come: what was written may be written again, and nothing else happens.
  for (unsigned i = 0; i < 20; ++i) {
    fill(network, 1, kOwn, 6000);
    spec::Transfer transfer = transfer_of(kOwn, kTarget + 0x400'0000, 6000, network.node(0).dcid, token);
    transfer.set_fence(1);
    network.fence(1, 0, fence_of(kFences, token));
    network.transfer(1, 0, transfer);
    network.run(90 + 23 * i);
    network.clear_peer(0, 1);
    for (int k = 0; end_of(*network.node(1).memory, token).done() == 0; ++k) {
      REQUIRE(k < 400'000);
      network.step();
    }
    CHECK(end_of(*network.node(1).memory, token).failure() == 0);
    check_written(network, 1, kOwn, 0, kTarget + 0x400'0000, 6000);
    CHECK(word_of(*network.node(0).memory, kFences) == token++);
  }
}
