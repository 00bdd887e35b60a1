// SPDX-License-Identifier: Apache-2.0
// Do the interfaces take the time that their costs add up to, keep order, acknowledge by block, share fairly and lose
// nothing?
#include "core/nic/exanet/exanet_nic.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <set>

#include "core/config/error.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/network/model.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

NiConfig costs() {
  NiConfig ni;
  ni.packetizer = Time::ns(30);
  ni.mailbox = Time::ns(50);
  ni.mailbox_word = Time::ps(6400);
  ni.dma_start = Time::ns(100);
  ni.dma_completion = Time::ns(40);
  ni.memory_read = Time::ns(120);
  ni.memory_write = Time::ns(60);
  ni.translation = Time::ns(20);
  return ni;
}

NetworkConfig steady_fabric() {
  NetworkConfig fabric = testing::published_fabric();
  for (LinkConfig& link : fabric.links)
    link.pause_every = 0;  // so that the time of a packet on the link is a plain number
  return fabric;
}

struct Seen {
  char what;  // 'c' message, 'd' data, 'a' acknowledgement
  std::uint64_t user;
  Time at;
};

struct Bench final : NicListener {
  Bench(const TopologySpec& spec, const NetworkConfig& fabric, const NiConfig& ni)
      : topology(make_topology(spec)), nic({queue, *topology, fabric, ni, *this}) {}
  void message_completed(std::uint64_t user, Status, Time now) override { seen.push_back({'c', user, now}); }
  void transfer_completed(std::uint64_t user, Status, Time now) override { seen.push_back({'d', user, now}); }
  void transfer_acknowledged(std::uint64_t user, Status, Time now) override { seen.push_back({'a', user, now}); }
  void packet_delivered(const Packet&, Time, Time) override { ++delivered; }
  void run() {
    while (!queue.empty()) queue.run_one();
  }
  Time at(char what, std::uint64_t user) const {
    for (const Seen& s : seen)
      if (s.what == what && s.user == user) return s.at;
    return Time::never();
  }
  Time network(NodeId src, NodeId dst, std::uint16_t bytes) const {
    return static_cast<const NetworkModel&>(nic.network()).zero_load_latency(src, dst, bytes);
  }

  EventQueue queue;
  std::unique_ptr<Topology> topology;
  ExanetNic nic;
  std::vector<Seen> seen;
  std::uint64_t delivered = 0;
};

constexpr Time kPacketOnLink =
    Time::ps(38 * 6400);  // 256 bytes: Magic, Start, header, 16 words and footer at two link words each

}  // namespace

// More than the slots of a node, on networks that keep order and on one that does not; the interface repeats what is
// not answered in time.
TEST_CASE("messages in the gateware's cycles arrive once and in order") {
  NiConfig ni = costs();
  ni.packetizer = ni.mailbox_word = Time();
  ni.messages = NiConfig::Costs::kGateware;
  NetworkConfig overtaking = steady_fabric();
  overtaking.router.virtual_channels = 4;
  overtaking.router.vc_allocation = RouterConfig::VcAllocation::kOccupancy;
  const std::pair<TopologySpec, NetworkConfig> networks[] = {
      {{"torus", {4, 4}}, steady_fabric()},
      {{"torus", {4, 4}}, overtaking},
      {{"fat-tree", {4, 4}}, steady_fabric()},
      {{"fat-tree", {4, 4}, {}, {}, "", {}, {}, 2}, steady_fabric()},
      {{"fat-tree", {4, 4}, {}, {}, "spray", {}, {}, 2}, steady_fabric()}};
  for (const auto& [spec, fabric] : networks) {
    Bench b(spec, fabric, ni);
    std::uint64_t user = 0;
    for (int round = 0; round < 40; ++round)
      for (NodeId src = 0; src < 16; ++src)
        for (const NodeId dst : {NodeId{3}, (src + 1) % 16, src})
          b.nic.post(
              PacketizerMessage{src, dst, static_cast<std::uint32_t>(user % 65), src << 24 | dst << 16 | user++});
    b.run();
    CHECK(b.seen.size() == user);
    CHECK(b.nic.active() == 0);
    CHECK(b.nic.packets() >= 2 * user);  // each is answered
    std::map<std::uint64_t, std::uint64_t> last;
    std::uint64_t out_of_order = 0;
    for (const Seen& s : b.seen) {
      std::uint64_t& before = last[s.user >> 16];
      out_of_order += (s.user & 0xffff) + 1 <= before;
      before = (s.user & 0xffff) + 1;
    }
    CHECK(out_of_order == 0);
  }
}

TEST_CASE("messages in the gateware's cycles have no other times, and no flows") {
  NiConfig ni = costs();
  ni.messages = NiConfig::Costs::kGateware;
  CHECK_THROWS_WITH_AS(Bench({"mesh", {2}}, steady_fabric(), ni),
                       doctest::Contains("packetizer must be 0 with 'messages: gateware'"), ConfigError);
  ni.packetizer = Time();
  CHECK_THROWS_WITH_AS(Bench({"mesh", {2}}, steady_fabric(), ni),
                       doctest::Contains("mailbox_word must be 0 with 'messages: gateware'"), ConfigError);
  ni.mailbox_word = Time();
  ni.packet_max_bytes = 128;
  CHECK_THROWS_WITH_AS(Bench({"mesh", {2}}, steady_fabric(), ni), doctest::Contains("at most 64 B"), ConfigError);
}

TEST_CASE("messages in the gateware's cycles take its words of the router, and links of any") {
  NiConfig ni = costs();
  ni.messages = NiConfig::Costs::kGateware;
  ni.packetizer = ni.mailbox_word = Time();
  const auto rejected = [&](auto change, const char* why) {
    NetworkConfig fabric = steady_fabric();
    change(fabric);
    CHECK_THROWS_WITH_AS(Bench({"mesh", {2}}, fabric, ni), doctest::Contains(why), ConfigError);
  };
  rejected([](NetworkConfig& fabric) { fabric.router.word_bits = 256; }, "word must be 128 bit");
  rejected([](NetworkConfig& fabric) { fabric.router.word_bits = 64; }, "word must be 128 bit");
  rejected([](NetworkConfig& fabric) { fabric.router.header_words = 2; }, "header must be 1 word");
  rejected([](NetworkConfig& fabric) { fabric.router.footer_words = 0; }, "footer must be 1 word");
  std::set<Time> beside;  // the network's time
  for (const std::int64_t bits : {64, 128, 256}) {
    NetworkConfig fabric = steady_fabric();
    for (LinkConfig& link : fabric.links) {
      link.word_time = Time::ps(link.word_time.ps() * bits / link.word_bits);
      link.word_bits = bits;
    }
    Bench b({"mesh", {2}}, fabric, ni);
    b.nic.post(PacketizerMessage{0, 1, 64, 1});
    b.run();
    beside.insert(b.at('c', 1) - b.network(0, 1, 64));
  }
  CHECK(beside.size() == 1);
}

namespace {

NiConfig in_cycles() {
  NiConfig ni = costs();
  ni.packetizer = ni.mailbox_word = ni.dma_start = ni.dma_completion = ni.translation = Time();
  ni.messages = ni.transfers = NiConfig::Costs::kGateware;
  return ni;
}

NetworkConfig with_three_ports(NetworkConfig fabric) {
  fabric.router.intra_ports = 3;
  fabric.router.max_payload_bytes = 512;
  return fabric;
}

}  // namespace

// More than the channels of a node; each write once, in order, and acknowledged no earlier than there; beside messages.
TEST_CASE("transfers in the gateware's cycles arrive once and whole") {
  NetworkConfig overtaking = with_three_ports(steady_fabric());
  overtaking.router.virtual_channels = 4;
  const std::pair<TopologySpec, NetworkConfig> networks[] = {
      {{"torus", {4, 4}}, with_three_ports(steady_fabric())},
      {{"torus", {4, 4}}, overtaking},
      {{"fat-tree", {4, 4}}, with_three_ports(steady_fabric())},
      {{"fat-tree", {4, 4}, {}, {}, "", {}, {}, 3}, with_three_ports(steady_fabric())},
      {{"fat-tree", {4, 4}, {}, {}, "spray", {}, {}, 2}, with_three_ports(steady_fabric())}};
  for (const auto& [spec, fabric] : networks) {
    Bench b(spec, fabric, in_cycles());
    std::uint64_t user = 0, acknowledged = 0, bytes = 0;
    constexpr std::uint64_t kSizes[] = {0, 1, 8, 511, 512, 513, 4096, 4097, 9000};
    for (int round = 0; round < 60; ++round)
      for (NodeId src = 0; src < 16; ++src)
        for (const NodeId dst : {NodeId{3}, (src + 1) % 16, src, (src + 7) % 16, (src + 2) % 16}) {
          const std::uint64_t size = kSizes[(user * 7 + 1) % std::size(kSizes)];
          const bool acks = user % 3 != 0, notifies = user % 2 == 0;
          b.nic.post(RdmaTransfer{src, dst, size, acks, true, src << 24 | dst << 16 | user++, 1,
                                  RdmaTransfer::Part::kWrite, 0, notifies});
          acknowledged += acks;
          bytes += size + (notifies || size == 0 ? 8 : 0);
          if (user % 5 == 0) b.nic.post(PacketizerMessage{src, dst, 16, 1ull << 40 | user});
        }
    b.run();
    CHECK(b.nic.active() == 0);
    // What is not answered in time comes again: a message of 16 bytes, or a fence.
    CHECK((b.nic.payload_bytes() - bytes - user / 5 * 16) % 8 == 0);
    std::map<std::uint64_t, std::uint64_t> last, arrived;
    std::uint64_t out_of_order = 0, early = 0, writes = 0, acks = 0;
    for (const Seen& s : b.seen) {
      if (s.what == 'd') {
        ++writes;
        arrived[s.user] = 1;
        std::uint64_t& before = last[s.user >> 16];
        out_of_order += (s.user & 0xffff) + 1 <= before;
        before = (s.user & 0xffff) + 1;
      } else if (s.what == 'a') {
        ++acks;
        early += arrived.count(s.user) == 0;
      }
    }
    CHECK(writes == user);
    CHECK(arrived.size() == user);
    CHECK(acks == acknowledged);
    CHECK(out_of_order == 0);
    CHECK(early == 0);
  }
}

// docs/gateware.md has the cycles of a transfer alone, counted at Verilated interfaces: here with memory's own times
// behind them.
TEST_CASE("a transfer in the gateware's cycles takes those of its stages") {
  Bench b({"mesh", {2}}, with_three_ports(steady_fabric()), in_cycles());
  b.nic.post(RdmaTransfer{0, 1, 64, true, true, 7, 1, RdmaTransfer::Part::kWrite, 0, false});
  b.run();
  const Time cycle = Time::ps(6400);
  // The last of two stores is at the interface in cycle 2. Seven to the first read, memory's 19, four beats to the port
  // and three to the header; then the network, four cycles in the port, four of it to memory, and four beats.
  const std::int64_t across = b.network(0, 1, 64).ps() / cycle.ps();
  const Time there = cycle * (2 + 7 + 19 + 4 + 3 + across - 1 + 4 + 4 + 4) + Time::ns(60);
  CHECK(b.at('d', 7).ps() == there.ps());
  CHECK(b.at('a', 7) > b.at('d', 7) + b.network(1, 0, 0));
}

TEST_CASE("a read in the gateware's cycles is served by the other interface") {
  struct Server final : NicListener {
    void message_completed(std::uint64_t, Status, Time) override {}
    void transfer_completed(std::uint64_t user, Status, Time now) override {
      if (served.insert({user, now}).second)
        nic->post(RdmaTransfer{1, 0, 9000, true, true, user, 1, RdmaTransfer::Part::kReply});
      else
        arrived[user] = now;
    }
    void transfer_acknowledged(std::uint64_t user, Status, Time now) override { acknowledged[user] = now; }
    void packet_delivered(const Packet&, Time, Time) override {}
    Nic* nic = nullptr;
    std::map<std::uint64_t, Time> served, arrived, acknowledged;
  } server;
  EventQueue queue;
  const std::unique_ptr<Topology> topology = make_topology({"mesh", {2}});
  const NetworkConfig fabric = with_three_ports(steady_fabric());
  const NiConfig ni = in_cycles();
  ExanetNic nic({queue, *topology, fabric, ni, server});
  server.nic = &nic;
  // More than the channels of the reader, and than the server keeps for others.
  for (std::uint64_t user = 0; user < 500; ++user)
    nic.post(RdmaTransfer{0, 1, 0, false, false, user, 1, RdmaTransfer::Part::kRequest, 9000});
  while (!queue.empty()) queue.run_one();
  CHECK(server.arrived.size() == 500);
  CHECK(server.acknowledged.size() == 500);
  for (const auto& [user, at] : server.arrived) CHECK(at > server.served.at(user) + Time::ns(120));
  CHECK(nic.active() == 0);
  // While time stands still all of it takes none, and what had begun before ends all the same.
  const Time now = queue.now();
  nic.post(RdmaTransfer{0, 1, 0, false, false, 1000, 1, RdmaTransfer::Part::kRequest, 9000});
  nic.set_zero_cost(true);
  nic.post(RdmaTransfer{0, 1, 0, false, false, 1001, 1, RdmaTransfer::Part::kRequest, 9000});
  while (!queue.empty()) queue.run_one();
  CHECK(server.acknowledged.at(1001) == now);
  CHECK(server.acknowledged.at(1000) > now + Time::ns(1000));
  CHECK(nic.active() == 0);
}

TEST_CASE("transfers in the gateware's cycles need its messages, a port and its sizes") {
  const auto rejected = [](const NetworkConfig& fabric, NiConfig ni, const char* why) {
    CHECK_THROWS_WITH_AS(Bench({"mesh", {2}}, fabric, ni), doctest::Contains(why), ConfigError);
  };
  NiConfig ni = in_cycles();
  ni.messages = NiConfig::Costs::kTimes;
  rejected(with_three_ports(steady_fabric()), ni, "needs 'messages: gateware'");
  ni = in_cycles();
  ni.translation = Time::ns(1);
  rejected(with_three_ports(steady_fabric()), ni, "must be 0");
  ni = in_cycles();
  ni.dma_block_bytes = 8192;
  rejected(with_three_ports(steady_fabric()), ni, "4 KiB");
  NetworkConfig fabric = with_three_ports(steady_fabric());
  fabric.router.intra_ports = 2;
  rejected(fabric, in_cycles(), "at least 3");
  fabric = with_three_ports(steady_fabric());
  fabric.router.max_payload_bytes = 256;
  rejected(fabric, in_cycles(), "at least 512 B");
}

TEST_CASE("a message takes network and mailbox") {
  for (const std::uint16_t bytes : {0, 1, 16, 17, 64}) {
    Bench b({"mesh", {3}}, steady_fabric(), costs());
    b.nic.post(PacketizerMessage{0, 2, bytes, 9});
    b.run();
    const std::int64_t words = (bytes + 15) / 16;  // of 128 bits
    CHECK(b.at('c', 9) == b.network(0, 2, bytes) + Time::ns(50) + Time::ps(6400 * words));
    CHECK(b.nic.active() == 0);
    CHECK(b.seen.size() == 1);
  }
}

TEST_CASE("the mailbox is written in words of the router's width") {
  for (const std::int64_t bits : {32, 64, 128, 256, 512}) {
    NetworkConfig fabric = steady_fabric();
    fabric.router.word_bits = bits;
    const auto word_bytes = static_cast<std::uint16_t>(bits / 8);
    for (const int bytes : {word_bytes - 1, word_bytes + 0, word_bytes + 1, 3 * word_bytes}) {
      Bench b({"mesh", {3}}, fabric, costs());
      b.nic.post(PacketizerMessage{0, 2, static_cast<std::uint32_t>(bytes), 9});
      b.run();
      const std::int64_t words = bytes <= word_bytes ? 1 : bytes == word_bytes + 1 ? 2 : 3;
      CHECK(b.at('c', 9) == b.network(0, 2, static_cast<std::uint16_t>(bytes)) + Time::ns(50) + Time::ps(6400 * words));
    }
  }
}

TEST_CASE("a transfer takes engine, memory, network and its acknowledgement") {
  for (const std::uint64_t bytes : {0u, 1u, 256u, 257u, 2560u}) {
    Bench b({"mesh", {2}}, steady_fabric(), costs());
    b.nic.post(RdmaTransfer{0, 1, bytes, true, true, 7});
    b.run();
    // All but a short last packet are full, and the link is what limits them.
    const std::int64_t full = static_cast<std::int64_t>(bytes) / 256;
    const Time start = Time::ns(100 + 20 + 120);
    Time tail = start + kPacketOnLink * (full > 0 ? full - 1 : 0) +
                b.network(0, 1, bytes < 256 ? static_cast<std::uint16_t>(bytes) : 256);
    if (bytes > 256 && bytes % 256 != 0)
      tail = tail + Time::ps(6400 * (2 + 2 * (2 + 1)));  // one byte more: a packet of one word behind them
    CHECK(b.at('d', 7) == tail + Time::ns(60));
    CHECK(b.at('a', 7) == tail + Time::ns(60) + b.network(1, 0, 0));
    CHECK(b.nic.active() == 0);
  }
}

TEST_CASE("a request reads no memory and is not acknowledged") {
  Bench b({"mesh", {2}}, steady_fabric(), costs());
  b.nic.post(RdmaTransfer{0, 1, 0, false, false, 3});
  b.run();
  CHECK(b.at('d', 3) == Time::ns(100 + 60) + b.network(0, 1, 0));
  CHECK(b.seen.size() == 1);
  CHECK(b.nic.packets() == 1);
}

TEST_CASE("a window of one block waits for each acknowledgement, a wide one for none") {
  constexpr std::int64_t kBlocks = 8, kPacketsOfBlock = 16;
  const auto end = [](std::uint32_t window, Bench& b) {
    b.nic.post(RdmaTransfer{0, 1, kBlocks * 4096, true, false, 1});
    b.run();
    CHECK(b.nic.packets() == kBlocks * (kPacketsOfBlock + 1));  // one acknowledgement a block
    CHECK(b.delivered == b.nic.packets());
    return b.at('d', 1) - Time::ns(100 + 60);
  };
  NiConfig narrow = costs(), wide = costs();
  narrow.dma_window_blocks = 1;
  wide.dma_window_blocks = 64;
  Bench n({"mesh", {2}}, steady_fabric(), narrow), w({"mesh", {2}}, steady_fabric(), wide);
  const Time block = n.network(0, 1, 256) + kPacketOnLink * (kPacketsOfBlock - 1);
  CHECK(end(1, n) == (block + n.network(1, 0, 0)) * (kBlocks - 1) + block);
  CHECK(end(64, w) == w.network(0, 1, 256) + kPacketOnLink * (kBlocks * kPacketsOfBlock - 1));
}

TEST_CASE("the acknowledgements of a transfer: one a block, the last short block included") {
  for (const std::uint64_t bytes : {0ull, 1ull, 4095ull, 4096ull, 4097ull, 12288ull, 12289ull}) {
    Bench b({"mesh", {2}}, steady_fabric(), costs());
    b.nic.post(RdmaTransfer{0, 1, bytes, true, true, 1});
    b.run();
    std::uint64_t data = bytes == 0 ? 1 : 0;
    for (std::uint64_t left = bytes; left > 0;) {  // packets do not straddle blocks
      const std::uint64_t in_block = left < 4096 ? left : 4096;
      data += (in_block + 255) / 256;
      left -= in_block;
    }
    const std::uint64_t acks = bytes == 0 ? 1 : (bytes + 4095) / 4096;
    CHECK(b.nic.packets() == data + acks);
    CHECK(b.seen.size() == 2);
  }
}

TEST_CASE("transfers between two nodes arrive in order, whatever their kind and size") {
  NiConfig ni = costs();
  ni.dma_window_blocks = 1;
  Bench b({"mesh", {2, 2}}, steady_fabric(), ni);
  b.nic.post(RdmaTransfer{0, 3, 100000, true, true, 0});  // slow, reads memory
  b.nic.post(RdmaTransfer{0, 3, 0, false, false, 1});  // would be first by far
  b.nic.post(RdmaTransfer{0, 3, 5000, true, true, 2});
  b.nic.post(RdmaTransfer{0, 3, 8, false, false, 3});
  b.nic.post(RdmaTransfer{0, 1, 8, false, false, 4});  // another destination does not wait
  b.run();
  CHECK(b.at('d', 0) < b.at('d', 1));
  CHECK(b.at('d', 1) < b.at('d', 2));
  CHECK(b.at('d', 2) < b.at('d', 3));
  CHECK(b.at('d', 4) < b.at('d', 0));
}

TEST_CASE("an engine takes turns between destinations") {
  NiConfig ni = costs();
  ni.dma_window_blocks = 1000;
  NetworkConfig fabric = steady_fabric();
  fabric.router.intra_fifo_words = 32;  // no space to run ahead of the network
  Bench b({"mesh", {4, 2}}, fabric, ni);
  // From a corner along one link: 1, 2 and 3 share it. Equal transfers end within a packet's time of one another per
  // hop.
  for (const NodeId dst : {1, 2, 3}) b.nic.post(RdmaTransfer{0, dst, 64 * 256, false, false, dst});
  b.run();
  const Time hop = b.network(0, 2, 256) - b.network(0, 1, 256);
  CHECK(b.at('d', 2) - b.at('d', 1) <= hop + kPacketOnLink * 2);
  CHECK(b.at('d', 1) - b.at('d', 2) <= kPacketOnLink * 2);
  CHECK(b.at('d', 3) - b.at('d', 2) <= hop + kPacketOnLink * 2);
  CHECK(b.at('d', 1) > kPacketOnLink * (3 * 62));  // none had the link for itself
}

TEST_CASE("nothing is lost with the smallest buffers") {
  NetworkConfig fabric = steady_fabric();
  fabric.router.intra_fifo_words = 32;
  fabric.router.inter_fifo_words = 64;
  fabric.router.header_fifo_words = 8;
  NiConfig ni = costs();
  ni.dma_block_bytes = 300;  // blocks that are no multiple of a packet
  ni.dma_window_blocks = 1;
  Bench b({"torus", {3, 3}}, fabric, ni);
  std::uint64_t user = 0;
  std::map<std::uint64_t, NodeId> transfers;
  for (NodeId src = 0; src < 9; ++src) {
    for (NodeId dst = 0; dst < 9; ++dst) {
      b.nic.post(RdmaTransfer{src, dst, 37 * (src + 3 * dst), true, true, user});
      transfers[user++] = dst;
      for (int i = 0; i < 20; ++i) b.nic.post(PacketizerMessage{src, dst, 64, user++});
      b.nic.post(RdmaTransfer{src, dst, 0, false, false, user++});
    }
  }
  b.run();
  std::map<std::pair<char, std::uint64_t>, int> count;
  for (const Seen& s : b.seen) ++count[{s.what, s.user}];
  for (const auto& [key, n] : count) CHECK(n == 1);
  CHECK(count.size() == user + transfers.size());
  CHECK(b.nic.active() == 0);
  CHECK(b.nic.network().in_flight() == 0);
  CHECK(b.delivered == b.nic.packets());
}

TEST_CASE("a node's messages to itself pass its own router") {
  Bench b({"mesh", {2}}, steady_fabric(), costs());
  b.nic.post(RdmaTransfer{1, 1, 256, true, true, 1});
  b.nic.post(PacketizerMessage{0, 0, 32, 2});
  b.run();
  CHECK(b.at('d', 1) == Time::ns(240 + 60) + b.network(1, 1, 256));
  CHECK(b.at('a', 1) == Time::ns(240 + 60) + b.network(1, 1, 256) + b.network(1, 1, 0));
  CHECK(b.at('c', 2) == b.network(0, 0, 32) + Time::ns(50) + Time::ps(2 * 6400));
}

TEST_CASE("zero-cost phase: no time, no packet, everything arrives") {
  Bench b({"mesh", {2}}, steady_fabric(), costs());
  b.nic.set_zero_cost(true);
  b.queue.run_until(Time::us(5));
  b.nic.post(RdmaTransfer{0, 1, 1 << 20, true, true, 1});
  b.nic.post(RdmaTransfer{0, 1, 0, false, false, 2});
  b.nic.post(PacketizerMessage{1, 0, 64, 3});
  b.run();
  CHECK(b.queue.now() == Time::us(5));
  CHECK(b.seen.size() == 4);
  CHECK(b.nic.packets() == 0);
  CHECK(b.nic.active() == 0);
}

TEST_CASE("a zero-cost phase with transfers under way ends each of them once") {
  // At every stage of a transfer of many blocks, some acknowledged and some not.
  for (std::int64_t at_ns = 0; at_ns < 30000; at_ns += 41) {
    NiConfig ni = costs();
    ni.dma_block_bytes = 256;  // so that acknowledgements are on their way when the data end
    Bench b({"mesh", {2}}, steady_fabric(), ni);
    b.nic.post(RdmaTransfer{0, 1, 6 * 4096, true, true, 1});
    b.nic.post(PacketizerMessage{0, 1, 64, 2});
    b.queue.run_until(Time::ns(at_ns));
    b.nic.set_zero_cost(true);
    b.nic.post(RdmaTransfer{1, 0, 5000, true, true, 3});
    b.queue.run_until(Time::ns(at_ns + 1000));
    b.nic.set_zero_cost(false);
    b.nic.post(RdmaTransfer{0, 1, 5000, true, true, 4});
    b.run();
    CHECK(b.seen.size() == 7);
    CHECK(b.nic.active() == 0);
    CHECK(b.at('a', 1) != Time::never());
    CHECK(b.at('a', 3) == Time::ns(at_ns));
    CHECK(b.at('d', 4) > b.at('d', 1));
  }
}

TEST_CASE("figures that cannot be built are rejected") {
  const auto rejected = [](auto change) {
    NiConfig ni = costs();
    NetworkConfig fabric = steady_fabric();
    change(ni, fabric);
    CHECK_THROWS_AS(Bench({"mesh", {2}}, fabric, ni), std::invalid_argument);
  };
  rejected([](NiConfig& ni, NetworkConfig&) { ni.dma_block_bytes = 0; });
  rejected([](NiConfig& ni, NetworkConfig&) { ni.dma_window_blocks = 0; });
  rejected(
      [](NiConfig& ni, NetworkConfig&) { ni.eager_max_bytes = 225; });  // with its envelope one byte more than a packet
  rejected([](NiConfig& ni, NetworkConfig&) { ni.packet_max_bytes = 257; });
  rejected([](NiConfig&, NetworkConfig& fabric) { fabric.router.intra_ports = 1; });
  NiConfig largest = costs();
  largest.eager_max_bytes = 224;
  Bench b({"mesh", {2}}, steady_fabric(), largest);
}

TEST_CASE("an interface with a clock hands packets over at its edges") {
  NiConfig clocked = costs();
  clocked.clock = Time::ps(6400);
  for (const std::int64_t at : {0, 1, 6399, 6400, 6401}) {
    Bench b({"mesh", {2}}, steady_fabric(), clocked);
    const std::uint32_t send =
        b.queue.add_handler([](void* self, Time, std::uint32_t,
                               std::uint64_t) { static_cast<Bench*>(self)->nic.post(PacketizerMessage{0, 1, 0, 9}); },
                            &b);
    b.queue.schedule(Time::ps(at), send, 0);
    b.run();
    CHECK(b.at('c', 9) == Time::ps((at + 6399) / 6400 * 6400) + b.network(0, 1, 0) + Time::ns(50));
  }
  Bench with({"mesh", {2}}, steady_fabric(), clocked), without({"mesh", {2}}, steady_fabric(), costs());
  for (Bench* b : {&with, &without}) {
    b->nic.post(RdmaTransfer{0, 1, 100'000, true, true, 1});
    b->run();
  }
  // The data are ready 240 ns after the start, half a cycle before an edge; from then on the link alone limits their
  // rate.
  CHECK(with.at('d', 1) == without.at('d', 1) + Time::ps(3200));
}
