// SPDX-License-Identifier: Apache-2.0
// Words that Verilated nodes write behind transfers: when they come, and that none comes before the bytes that it is
// behind, whatever is lost or refused.
#include <doctest/doctest.h>

#include "gateware/ni/tb/transfer_traffic.hpp"
#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

constexpr std::uint64_t kValue = 0xfedc'ba98'7654'3210;

// Writes down when each fence of a node is in memory, and whether the bytes of the transfer that it is behind were.
struct Fences {
  struct Fence {
    std::uint64_t cycle;
    std::size_t unanswered;  // bursts of bytes
  };
  std::map<std::uint64_t, std::vector<Fence>> at;  // by word

  Fences(NiNetwork& network, std::size_t n) {
    network.node(n).dma->on_burst = [this, &network, n](const WrittenBeat& end) {
      if (end.address >= kFences)
        at[end.address].push_back({end.cycle, network.node(n).dma->unanswered(kTarget, kEnds)});
    };
  }
};

void send(NiNetwork& network, unsigned context, std::uint64_t place, std::uint32_t length, std::size_t to,
          unsigned token, std::uint64_t word = kFences) {
  spec::Transfer transfer = transfer_of(kOwn + place, kTarget + place, length, network.node(to).dcid, token);
  transfer.set_fence(1);
  network.fence(0, context, fence_of(word, kValue + token));
  network.transfer(0, context, transfer);
}

// Cycles until the transfer has ended.
std::uint64_t until_ended(NiNetwork& network, unsigned token, unsigned failure = 0, std::uint64_t most = 100'000) {
  const std::uint64_t begin = network.cycle();
  while (end_of(*network.node(0).memory, token).done() == 0) {
    REQUIRE(network.cycle() - begin < most);
    network.step();
  }
  CHECK(end_of(*network.node(0).memory, token).failure() == failure);
  CHECK(end_of(*network.node(0).memory, token).token() == token);
  return network.cycle() - begin;
}

}  // namespace

TEST_CASE("fences: a word at any place behind bytes of any number, and nothing beside it") {
  NiNetwork network(2, {.before_reset = 5});
  open_all(network);
  Fences fences(network, 1);
  unsigned token = 0;
  for (const std::uint32_t length : {0u, 1u, 8u, 512u, 4096u, 20'000u}) {
    for (const std::uint64_t offset : {0u, 8u, 504u, 4088u}) {
      CAPTURE(length);
      CAPTURE(offset);
      const std::uint64_t place = 0x10000 * std::uint64_t{token}, word = kFences + place + offset;
      fill(network, 0, kOwn + place, length);
      send(network, token % kContexts, place, length, 1, token, word);
      until_ended(network, token);
      const AxiMemory& memory = *network.node(1).memory;
      check_written(network, 0, kOwn + place, 1, kTarget + place, length);
      CHECK(word_of(memory, word) == kValue + token);
      for (const std::uint64_t beside : {word - 8, word + 8}) CHECK(word_of(memory, beside) == 0);
      REQUIRE(fences.at[word / 16 * 16].size() == 1);
      CHECK(fences.at[word / 16 * 16][0].unanswered == 0);
      ++token;
    }
  }
  CHECK(fences.at.size() == token);
  // Word by word, and what was stored is kept for the next one of the context; one that has none leaves it alone.
  const auto fence = fence_of(kFences + 0x4000'0000, kValue);
  for (const unsigned i : {1u, 0u})
    network.store64(0, page(3) + kFence + 8 * i, fence.raw[2 * i] | std::uint64_t{fence.raw[2 * i + 1]} << 32);
  network.store(0, {0, page(3) + kFence, Line{0xff}, 0x01});
  for (unsigned i = 0; i < 3; ++i, ++token) {
    spec::Transfer transfer = transfer_of(kOwn, kTarget + 0x4000'0000, 64, network.node(1).dcid, token);
    transfer.set_fence(i != 1);
    network.transfer(0, 3, transfer);
    until_ended(network, token);
  }
  CHECK(fences.at[kFences + 0x4000'0000].size() == 2);
  CHECK(word_of(*network.node(1).memory, kFences + 0x4000'0000) == kValue);
  CHECK(network.transfer_counts(1)[6] == 0);  // none was dropped
}

TEST_CASE("fences: one comes half a round trip behind the last byte, and does not wait for transfers of others") {
  for (const std::uint32_t length : {64u, 16'384u}) {
    NiNetwork network(2, {.memory = {.latency_cycles = 20}, .block_timeout = 63});
    open_all(network);
    Fences fences(network, 1);
    fill(network, 0, kOwn, length);
    const std::size_t stores = network.node(0).taken.size();
    send(network, 0, 0, length, 1, 1);
    until_ended(network, 1);
    network.run(50);
    const auto& ends = network.node(1).dma->ends;
    const std::uint64_t store = network.node(0).taken[stores + 2], fence = fences.at[kFences].at(0).cycle;
    MESSAGE(length << " B: last store to the last of them in memory " << ends[ends.size() - 2].cycle - store
                   << " cycles, to the fence " << fence - store << ", to the end "
                   << network.node(0).dma->last_write - store << "; lines and memory of 20 cycles");
    // Memory's answer, and a packet's time.
    CHECK(fence - ends[ends.size() - 2].cycle <= 20 + 15);
  }
  // A long transfer of another channel is amid its blocks, and its packets go in between.
  NiNetwork network(2, {.memory = {.latency_cycles = 20}, .block_timeout = 63});
  open_all(network);
  Fences fences(network, 1);
  fill(network, 0, kOwn, 0x20000);
  network.transfer(0, 1, transfer_of(kOwn, kTarget, 100'000, network.node(1).dcid, 100));
  for (unsigned i = 0; i < 20; ++i) send(network, 0, 0x100000 + 0x1000 * i, 64, 1, i, kFences + 16 * i);
  for (unsigned i = 0; i < 20; ++i) until_ended(network, i);
  CHECK(end_of(*network.node(0).memory, 100).done() == 0);
  until_ended(network, 100);
  CHECK(fences.at.size() == 20);
  CHECK(network.transfer_counts(0)[2] == 0);
  CHECK(network.transfer_counts(1)[6] == 0);
}

TEST_CASE("fences: puts of 64 bytes with one each") {
  NiNetwork network(2, {.memory = {.latency_cycles = 40}, .block_timeout = 63});
  open_all(network);
  Fences fences(network, 1);
  constexpr unsigned kPuts = 200;
  for (unsigned i = 0, next = 0; i < kPuts;) {
    if (next < kPuts && next - i < 32 && network.node(0).stores.size() < 4)
      send(network, next % kContexts, 0x1000 * next, 64, 1, next, kFences + 16 * std::uint64_t{next}), ++next;
    network.step();
    while (i < next && end_of(*network.node(0).memory, i).done() != 0) ++i;
  }
  const auto first = fences.at[kFences][0].cycle, last = fences.at[kFences + 16 * (kPuts - 1)][0].cycle;
  const double cycles = static_cast<double>(last - first) / (kPuts - 1);
  MESSAGE("puts of 64 bytes with a fence: one in " << cycles << " cycles, memory of 40");
  CHECK(cycles <= 40 + 25);
  CHECK(network.transfer_counts(0)[2] == 0);
}

// Two blocks and a fence, of which one packet, or one answer, is lost: nothing else is sent again but the fence that
// came too early.
TEST_CASE("fences: a packet before one, it itself, or an answer is lost") {
  constexpr std::uint32_t kLength = 6000;
  constexpr std::size_t kPackets = 13;  // with the fence: 4096 and 1904 bytes
  for (const unsigned port : {2u, 1u}) {
    for (std::size_t lost = 0; lost < (port == 2 ? kPackets : 3); ++lost) {
      CAPTURE(port);
      CAPTURE(lost);
      NiNetwork network(2, {.block_timeout = 1, .damages = [&](std::size_t n, unsigned p, std::size_t packet) {
                              return n == (port == 2 ? 1 : 0) && p == port && packet == lost;
                            }});
      open_all(network);
      Fences fences(network, 1);
      fill(network, 0, kOwn, kLength);
      send(network, 0, 0, kLength, 1, 1);
      until_ended(network, 1);
      check_written(network, 0, kOwn, 1, kTarget, kLength);
      REQUIRE(fences.at[kFences].size() == 1);
      CHECK(fences.at[kFences][0].unanswered == 0);
      CHECK(word_of(*network.node(1).memory, kFences) == kValue + 1);
      const auto sent = network.transfer_counts(0), came = network.transfer_counts(1);
      const bool data = port == 2 && lost != kPackets - 1;
      CHECK(came[6] == (data ? 1 : 0));  // the fence was dropped
      CHECK(sent[2] == (data ? 2 : 1));  // blocks that came again
      CHECK(came[4] == kPackets);
    }
  }
}

// The place that the block's number has in the window is that of one long before it, which was whole.
TEST_CASE("fences: a block of one packet before one is lost, behind more blocks than a window has") {
  constexpr unsigned kBefore = 40;
  NiNetwork network(2, {.block_timeout = 1, .damages = [](std::size_t n, unsigned port, std::size_t packet) {
                          return n == 1 && port == 2 && packet == kBefore;
                        }});
  open_all(network);
  for (unsigned i = 0; i < kBefore; ++i) {
    network.transfer(0, 0, transfer_of(kOwn, kTarget + 0x10000, 64, network.node(1).dcid, i));
    until_ended(network, i);
  }
  fill(network, 0, kOwn, 64);
  bool came = false;
  network.node(1).dma->on_burst = [&](const WrittenBeat& end) {
    if (end.address == kFences) came = network.node(1).memory->get(kTarget + 63) == value_at(0, kOwn + 63);
  };
  send(network, 0, 0, 64, 1, kBefore);
  until_ended(network, kBefore);
  CHECK(came);
  CHECK(network.transfer_counts(1)[6] == 1);
}

TEST_CASE("fences: what memory refuses is reported, and no fence comes behind it") {
  const auto memory = static_cast<unsigned>(spec::NackReason::kMemory);
  for (const unsigned obstacle : {0u, 1u, 2u}) {
    CAPTURE(obstacle);
    NiNetwork network(2, {.block_timeout = 1});
    open_all(network);
    Fences fences(network, 1);
    network.node(1).memory->refuses = [&](std::uint64_t address) {
      return (obstacle == 0 && address >= kTarget + 512 && address < kTarget + 1024) ||
             (obstacle == 1 && address >= kFences);
    };
    network.node(0).dma->refuses_read = [&](std::uint64_t address) {
      return obstacle == 2 && address >= kOwn + 512 && address < kOwn + 1024;
    };
    fill(network, 0, kOwn, 6000);
    send(network, 0, 0, 6000, 1, 1);
    // The other node says it at once; what was not read has to be waited for, until the fence would be sent again.
    const std::uint64_t cycles = until_ended(network, 1, memory);
    if (obstacle != 2) CHECK(cycles < 2000);
    CHECK(word_of(*network.node(1).memory, kFences) == 0);
    CHECK(fences.at[kFences].size() == (obstacle == 1 ? 1 : 0));
    // Others are not held up.
    send(network, 0, 0x10000, 0, 1, 2, kFences - 16);
    until_ended(network, 2);
    CHECK(word_of(*network.node(1).memory, kFences - 16) == kValue + 2);
  }
}
