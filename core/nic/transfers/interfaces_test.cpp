// SPDX-License-Identifier: Apache-2.0
// Do transfers take the gateware's cycles where they can be counted by hand, and does none get lost, doubled or stuck
// where packets are lost? gateware/ni/tb/transfers_equality_test.cpp holds the model to the Verilated interfaces
// themselves.
#include "core/nic/transfers/interfaces.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "core/network/exanet/exanet_harness.hpp"
#include "core/network/model.hpp"
#include "core/routing/make_topology.hpp"
#include "core/units/size_harness.hpp"

using namespace exanet;

namespace {

constexpr Time kCycle = Time::ps(6400);

NetworkConfig fabric() {
  NetworkConfig config = testing::published_fabric(512);
  for (LinkConfig& link : config.links) link.latency = kCycle * 20, link.pause_every = 0;
  config.router = router_with_transfers(Messages::router(config.router));
  config.router.intra_ports = 3;
  config.priority = true;
  return config;
}

struct Bench {
  explicit Bench(const TopologySpec& spec, const TransfersConfig& config = {},
                 const NetworkConfig& network_config = fabric())
      : topology(make_topology(spec)),
        interfaces{{kCycle,
                    {queue, kCycle, topology->node_count()},
                    {queue,
                     {},
                     topology->node_count(),
                     this,
                     [](void* self, NodeId, std::uint32_t, std::uint64_t, MessageAnswer, Cycle) {
                       ++static_cast<Bench*>(self)->answered;
                     }},
                    {queue, {}, topology->node_count(), this, [](void*, const StoredMessage&) {}}},
                   {queue, config, topology->node_count(), this,
                    [](void* self, NodeId, std::uint64_t user, TransferEnding ending, Cycle at) {
                      static_cast<Bench*>(self)->ends[user].push_back({ending, at});
                    }},
                   {queue, config, topology->node_count(), this, [](void* self, const WrittenPacket& packet) {
                      Bench& bench = *static_cast<Bench*>(self);
                      const std::uint64_t target =
                          bench.interfaces.transfers.target(packet.src, packet.node, packet.word);
                      for (std::uint64_t i = 0; i < packet.bytes; ++i) ++bench.memory[{packet.node, target + i}];
                      bench.written.push_back(packet);
                      for (std::uint64_t i = 0; i < packet.bytes; ++i)
                        bench.order[{packet.node, target + i}] = bench.written.size();
                    }}} {
    PacketSink sink{this,
                    [](void* self, const Packet& packet, Time injected, Time tail) {
                      Bench& bench = *static_cast<Bench*>(self);
                      if (packet.intra_port == kTransferPort) bench.headers.push_back(injected.ps() / kCycle.ps());
                      bench.interfaces.delivered(packet, tail);
                    },
                    [](void* self, NodeId node, std::uint8_t port, std::uint8_t, Time) {
                      static_cast<Bench*>(self)->interfaces.ready(node, port);
                    }};
    sink.gives_back = Interfaces::kGivesBack;
    network = std::make_unique<ExanetNetwork>(queue, *topology, network_config, sink);
    interfaces.attach(*network);
  }
  // In a cycle behind all that has happened.
  bool store(Cycle at, NodeId src, const TransferStore& transfer) {
    queue.run_until(kCycle * at);
    return interfaces.transfers.store(src, transfer);
  }
  void run() {
    while (!queue.empty()) queue.run_one();
  }
  // Whether each byte of the range was written so many times.
  bool all_written(NodeId node, std::uint64_t target, std::uint32_t length, int times) {
    for (std::uint64_t i = 0; i < length; ++i)
      if (memory[{node, target + i}] != times) return false;
    return true;
  }

  struct End {
    TransferEnding ending;
    Cycle at;
  };
  EventQueue queue;
  std::unique_ptr<Topology> topology;
  Interfaces interfaces;
  std::unique_ptr<ExanetNetwork> network;
  std::map<std::pair<NodeId, std::uint64_t>, int> memory;
  std::map<std::pair<NodeId, std::uint64_t>, std::size_t> order;  // number of the packet that wrote a byte
  std::vector<WrittenPacket> written;
  std::map<std::uint64_t, std::vector<End>> ends;
  std::vector<Cycle> headers;
  std::uint64_t answered = 0;  // messages
};

}  // namespace

TEST_CASE("a transfer alone takes the cycles of its stages") {
  for (const std::uint32_t bytes : {1u, 16u, 17u, 512u}) {
    Bench b({"mesh", {2}}, {.memory_read = 9, .memory_answer = 7});
    CHECK(b.store(100, 0, {1, 0x1000, 0x2000, bytes, true, 42}));
    b.run();
    REQUIRE(b.written.size() == 1);
    REQUIRE(b.ends[42].size() == 1);
    const Cycle words = words_of(bytes);
    // Two cycles to its submission FIFO, four of a step, one to be taken and one to ask memory, whose beats go one a
    // cycle to the port, three cycles in it.
    const Cycle first_beat = 100 + 2 + 4 + 1 + 9, last_beat = first_beat + words - 1;
    CHECK(b.headers[0] == last_beat + 1 + 3);
    const auto across = [&](std::uint16_t size) {
      return static_cast<const NetworkModel&>(*b.network).zero_load_latency(0, 1, size).ps() / kCycle.ps();
    };
    // Four cycles in the port, then two lookups and a decision beside the beats, and a beat a cycle to memory.
    const Cycle footer = b.headers[0] + across(static_cast<std::uint16_t>(bytes)) - 1;
    const Cycle decided = footer + 4 + std::max<Cycle>(3, words);
    CHECK(b.written[0].at == decided + words);
    // Memory's answer, a register, three cycles of the answer, three in the port, the way back, three in the port
    // there, and the step that takes it; the end is offered five cycles behind that, and written in the next.
    const Cycle answer_header = b.written[0].at + 7 + 1 + 3 + 3;
    const Cycle taken = answer_header + across(0) - 1 + 3;
    CHECK(b.ends[42][0].at >= taken + 6);
    CHECK(b.ends[42][0].at <= taken + 8);  // a scan may be before it
    CHECK(b.ends[42][0].ending == TransferEnding::kWhole);
  }
}

TEST_CASE("a fence is written when memory has answered the bytes before it") {
  Bench b({"mesh", {2}}, {.memory_read = 9, .memory_answer = 50});
  CHECK(b.store(100, 0, {1, 0x1000, 0x2000, 16, true, 1, true, 0x7008}));
  CHECK(b.store(1000, 0, {1, 0, 0, 0, true, 2, true, 0x7010}));  // it alone
  b.run();
  REQUIRE(b.written.size() == 3);
  // Memory's answer, a register, and the answer's three cycles; two lookups and a decision, and it is written in the
  // next cycle.
  CHECK(b.written[1].at == b.written[0].at + 50 + 1 + 2 + 1 + 3 + 1);
  CHECK(b.written[1].bytes == 8);
  CHECK(b.all_written(1, 0x7008, 16, 1));
  CHECK(b.memory.size() == 32);
  for (const std::uint64_t user : {1, 2}) CHECK(b.ends[user].size() == 1);
  CHECK(b.ends[1][0].at > b.written[1].at);
}

TEST_CASE("a transfer of many blocks fills the link, from any address to any other") {
  for (const std::uint64_t shift : {0, 1, 15, 4095}) {
    Bench b({"mesh", {2}}, {.memory_read = 20, .memory_answer = 20});
    CHECK(b.store(100, 0, {1, 0x10000 + shift, 0x20000 + 7 * shift, 64 * 1024, true, 1}));
    b.run();
    CHECK(b.all_written(1, 0x20000 + 7 * shift, 64 * 1024, 1));
    CHECK(b.memory.size() == 64 * 1024);
    REQUIRE(b.ends[1].size() == 1);
    const std::size_t packets = b.headers.size();
    CHECK(packets >= 128);
    CHECK(packets <= 130);
    // 64 payload words of the line, header and footer of two each, two of framing: 70 cycles a packet of 512 bytes.
    CHECK(b.written[120].at - b.written[60].at == 60 * 70);
  }
}

// A port towards the router and the router's FIFO behind it serve all links: packets to several have to come in turn,
// or one waits while another is full. Node 0 of a full mesh sends `each` transfers to each of its first neighbours,
// stored in turn or target by target.
struct SeveralTargets {
  std::uint32_t targets, each, kib;
  bool grouped = false;
};

// How much of what the links, or the port, could carry they carry until the last packet of the slowest target, and how
// much earlier the first target has its last one.
struct Shares {
  double use, fairness;
};

Shares shares(const SeveralTargets& c) {
  Bench b({"full-mesh", {9}}, {.memory_read = 20, .memory_answer = 20});
  for (std::uint32_t i = 0; i < c.each * c.targets; ++i) {
    const NodeId target = 1 + (c.grouped ? i / c.each : i % c.targets);
    const std::uint64_t user = i;
    REQUIRE(b.store(100 + 8 * static_cast<Cycle>(user), 0, {target, user << 24, user << 24, c.kib * 1024, true, user}));
  }
  b.run();
  std::vector<Cycle> last(c.targets + 1, 0);
  for (const WrittenPacket& packet : b.written) last[packet.node] = std::max(last[packet.node], packet.at);
  const auto [first, slowest] = std::minmax_element(last.begin() + 1, last.end());
  // A packet of 512 bytes takes 70 cycles of a link, as above, and 34 of the port.
  const std::int64_t packets = std::int64_t{c.each} * c.kib * 2;
  const double bound = static_cast<double>(std::max(70 * packets, 34 * packets * c.targets));
  const auto whole = static_cast<double>(*slowest - 100);
  return {bound / whole, static_cast<double>(*first - 100) / whole};
}

TEST_CASE("transfers to several neighbours at a time fill all their links, or the port, and all are served alike") {
  for (const SeveralTargets& c :
       {SeveralTargets{1, 1, 64}, {2, 1, 256}, {2, 16, 32}, {3, 1, 128}, {3, 16, 16}, {8, 28, 4}}) {
    if (!testing::in_full() && (c.targets == 2 || c.each == 128)) continue;
    CAPTURE(c.targets);
    CAPTURE(c.each);
    const auto [use, fairness] = shares(c);
    CHECK(use >= 0.95);
    CHECK(fairness >= 0.95);
  }
}

// In the long set. Transfers that are stored target by target stay below: docs/gateware/transfers.md says by how much.
TEST_CASE("any number of transfers, to any number of neighbours, fill the links where they are stored in turn") {
  if (!testing::in_full()) return;
  for (const std::uint32_t targets : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u})
    for (const std::uint32_t each : {1u, 3u, 9u, 27u}) {
      CAPTURE(targets);
      CAPTURE(each);
      const auto [use, fairness] = shares({targets, each, std::max(4u, 256 / each)});
      CHECK(use >= 0.95);
      CHECK(fairness >= 0.95);
    }
}

TEST_CASE("a node has so many channels, and what finds none is rejected as busy") {
  Bench b({"mesh", {2}}, {.channels = 4, .kept_channels = 0, .memory_read = 400, .memory_answer = 400});
  for (Cycle i = 0; i < 6; ++i)
    CHECK(b.store(100 + 4 * i, 0, {1, 0, 4096ull * i, 100, true, static_cast<std::uint64_t>(i)}) == (i < 4));
  b.run();
  CHECK(b.interfaces.transfers.busy() == 2);
  CHECK(b.ends.size() == 4);
  CHECK(b.store(100'000, 0, {1, 0, 0x8000, 0, false, 9}));  // nothing to send, and nobody to notify
  b.run();
  CHECK(b.ends[9].size() == 1);
  CHECK(b.interfaces.transfers.ended() == 5);
}

TEST_CASE("a transfer with bytes beyond the 48 bits of an address is rejected, here or at the target") {
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 48;
  Bench b({"mesh", {2}}, {});
  CHECK_FALSE(b.store(100, 0, {1, kEnd - 4096, 0, 4097, true, 1}));
  CHECK_FALSE(b.store(104, 0, {1, 0, kEnd - 1, 2, true, 2}));
  CHECK_FALSE(b.store(108, 0, {1, kEnd - 8, 0, 0xffff'ffff, true, 3}));
  CHECK(b.store(112, 0, {1, 0, kEnd - 4096, 4096, true, 4}));
  CHECK(b.store(116, 0, {1, kEnd - 1, 0, 1, true, 5}));
  b.run();
  CHECK(b.interfaces.transfers.beyond() == 3);
  CHECK(b.interfaces.transfers.busy() == 0);
  CHECK(b.ends.size() == 2);
}

TEST_CASE("nodes that read from each other come to an end, whatever is NACKed as busy") {
  for (const std::uint32_t kept : {1u, 4u}) {
    Bench b({"mesh", {2}}, {.channels = 32, .kept_channels = kept, .memory_read = 20, .memory_answer = 20});
    std::vector<TransferStore> taken;
    for (std::uint64_t i = 0; i < 40; ++i)
      for (NodeId node = 0; node < 2; ++node) {
        TransferStore read{1 - node, 0x10000 * (i + 1), 0x3, static_cast<std::uint32_t>(97 * i), true, 2 * i + node};
        read.read = true;
        CHECK(b.store(100 + static_cast<Cycle>(2 * i + node), node, read) == (i < 32 - kept));
        if (i < 32 - kept) taken.push_back(read);
      }
    b.queue.run_until(kCycle * 4'000'000);
    CHECK(b.ends.size() == taken.size());
    for (const TransferStore& read : taken) {
      REQUIRE(b.ends[read.user].size() == 1);
      CHECK(b.ends[read.user][0].ending == TransferEnding::kWhole);
      CHECK(b.all_written(1 - read.dst, read.own, read.length, 1));
    }
    CHECK(b.interfaces.transfers.ended() == 2 * taken.size());  // at both ends
    CHECK(b.interfaces.transfers.repeated() == 0);
  }
}

// Answers of both go through one port, in turn, and come through one, in order.
TEST_CASE("messages and transfers between two nodes: each is answered") {
  Bench b({"mesh", {2}}, {.memory_read = 20, .memory_answer = 20});
  for (NodeId node = 0; node < 2; ++node) b.interfaces.messages.receiver.open(node, 0, 0, 1024);
  std::uint64_t messages = 0, transfers = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const auto src = static_cast<NodeId>(i % 2), dst = static_cast<NodeId>(i / 2 % 2);
    const bool stored = b.store(100 + 10 * static_cast<Cycle>(i), src, {dst, 0x1000 * i, 0x2000 * i, 64, true, i});
    transfers += stored;
    messages += b.interfaces.messages.sender.store(src, static_cast<std::uint32_t>(i / 2 % 16), {dst, 16, 0, 0, i});
  }
  b.run();
  CHECK(messages > 300);
  CHECK(transfers > 300);
  CHECK(b.answered == messages);
  CHECK(b.ends.size() == transfers);
}

namespace {

// Wrong bits take packets and answers; each byte is written once all the same. How many transfers were taken, each of
// less than `most` bytes.
std::size_t lossy_transfers(std::uint64_t seed, std::uint64_t most) {
  NetworkConfig lossy = fabric();
  lossy.router.credit_interval_cycles = 64;
  lossy.faults = {seed, 12};
  TopologySpec ring{"torus", {4}};
  ring.both_channels = true;
  Bench b(ring, {.channels = 24, .timeout = 1, .kept_channels = 8, .memory_read = 10, .memory_answer = 10}, lossy);
  std::vector<TransferStore> taken;
  for (std::uint64_t i = 0; i < 400; ++i) {
    TransferStore transfer{static_cast<NodeId>(i / 3 % 4),
                           0x1000 * i + 13 * i % 4096,
                           0x4000 * i + 29 * i % 4096,
                           static_cast<std::uint32_t>(97 * i % most),
                           true,
                           i,
                           i % 3 == 0,
                           0x4000'0000 + 16 * i};
    transfer.read = i % 5 == 0;  // fence or not
    if (transfer.read) std::swap(transfer.own, transfer.target);
    if (b.store(10 + 700 * static_cast<Cycle>(i), static_cast<NodeId>(i % 4), transfer)) taken.push_back(transfer);
  }
  const auto asker = [](const TransferStore& transfer) { return static_cast<NodeId>(transfer.user % 4); };
  Cycle until = 300'000;  // when the last one is stored, and as long again for what comes late
  while (b.ends.size() < taken.size() && until < 20'000'000) b.queue.run_until(kCycle * (until += 50'000));
  b.queue.run_until(kCycle * (until + 300'000));
  CHECK(b.network->lost() > 100);
  CHECK(b.interfaces.transfers.repeated() > 20);
  CHECK(b.interfaces.blocks.repeated() > 20);
  CHECK(taken.size() > 300);
  CHECK(b.ends.size() == taken.size());
  for (const TransferStore& transfer : taken) {
    REQUIRE(b.ends[transfer.user].size() == 1);
    CHECK(b.ends[transfer.user][0].ending == TransferEnding::kWhole);
    if (transfer.read) CHECK(b.all_written(asker(transfer), transfer.own, transfer.length, 1));
    if (!transfer.read) CHECK(b.all_written(transfer.dst, transfer.target, transfer.length, 1));
    if (!transfer.fence || transfer.read) continue;
    CHECK(b.all_written(transfer.dst, transfer.fence_word, 8, 1));
    std::size_t last = 0;
    for (std::uint64_t i = 0; i < transfer.length; ++i)
      last = std::max(last, b.order[{transfer.dst, transfer.target + i}]);
    CHECK(b.order[{transfer.dst, transfer.fence_word}] > last);
  }
  CHECK(b.interfaces.blocks.dropped() > 5);  // fences that came too early
  return taken.size();
}

}  // namespace

TEST_CASE("lost and damaged packets of transfers: each byte once") {
  const std::size_t wanted = testing::in_full() ? 100'000 : 300;
  std::size_t transfers = 0;
  for (std::uint64_t seed = 5; transfers < wanted; ++seed) transfers += lossy_transfers(seed, seed == 5 ? 9000 : 1500);
  MESSAGE("transfers over lines that lose and damage words: " << transfers);
}
