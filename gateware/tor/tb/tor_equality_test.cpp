// SPDX-License-Identifier: Apache-2.0
// The top-of-rack switch and the model of core/network/wormhole: each packet arrives in the same cycle in trees of
// gateware and of the model, below saturation and beyond, with buffers of less than a packet.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "core/network/exanet/exanet_harness.hpp"
#include "core/network/wormhole/wormhole_network.hpp"
#include "gateware/tb/long.hpp"
#include "gateware/tor/tb/tor_network.hpp"

using namespace exanet;
using namespace exanet::gateware;
using namespace exanet::testing;

namespace {

constexpr Time kCycle = Time::ps(6400);

// exanest-tor with the switch's buffers, and links of whole cycles: its 242.1 ns are 37.8 of them.
NetworkConfig tor_fabric(unsigned latency) {
  NetworkConfig fabric;
  fabric.router.cycle = kCycle;
  fabric.router.latency_cycles = 6;
  fabric.router.word_bits = 64;
  fabric.router.header_words = kHeaderFlits;
  fabric.router.footer_words = kFooterFlits;
  fabric.router.max_payload_bytes = 256;
  fabric.router.virtual_channels = 1;
  fabric.router.inter_fifo_words = kTorCredits;
  fabric.router.intra_fifo_words = 1 << 24;
  LinkConfig link;
  link.word_time = kCycle;
  link.word_bits = 64;
  link.framing_words = 0;
  link.latency = kCycle * latency;
  fabric.links = {link};
  SwitchConfig config;
  config.switching = "wormhole";
  config.arbitration = SwitchConfig::Arbitration::kIslip;
  fabric.input_queued = config;
  return fabric;
}

struct Traffic {
  double load;  // flits that a sender offers in a cycle
  unsigned hot;  // of 256 packets: to endpoint 0
  std::uint16_t most_bytes;
};

std::vector<TorPacket> drawn(NodeId endpoints, std::uint64_t count, const Traffic& traffic, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::vector<double> next(endpoints, 0);
  std::vector<TorPacket> packets;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto src = static_cast<NodeId>(i % endpoints);
    NodeId dst = random() % 256 < traffic.hot ? 0 : static_cast<NodeId>(random() % endpoints);
    if (dst == src) dst = (src + 1) % endpoints;
    TorPacket packet{
        static_cast<std::uint64_t>(next[src]), src, dst,
        static_cast<std::uint16_t>(random() % 4 == 0 ? traffic.most_bytes : random() % (traffic.most_bytes + 1u))};
    const double gap = packet.flits() / traffic.load;
    next[src] += gap * 2 * (static_cast<double>(random() % 1024) / 1024);
    packets.push_back(packet);
  }
  std::stable_sort(packets.begin(), packets.end(), [](const auto& a, const auto& b) { return a.cycle < b.cycle; });
  return packets;
}

// Packets that arrive in another cycle in gateware than in the model, and the sum of those cycles.
struct Difference {
  std::uint64_t packets = 0, cycles = 0, flits = 0, last = 0;
};

Difference compared(const std::vector<std::uint32_t>& shape, unsigned latency, std::uint64_t count,
                    const Traffic& traffic, std::uint64_t seed) {
  const NetworkConfig fabric = tor_fabric(latency);
  BenchOf<WormholeNetwork> bench({"fat-tree", {shape.begin(), shape.end()}}, fabric);
  const std::vector<TorPacket> packets = drawn(bench.topology->endpoint_count(), count, traffic, seed);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    bench.queue.run_until(kCycle * static_cast<std::int64_t>(packets[i].cycle));
    bench.send(packets[i].src, packets[i].dst, packets[i].bytes, i);
  }
  bench.run();
  REQUIRE(bench.deliveries.size() == packets.size());
  REQUIRE(bench.refusals == 0);

  std::vector<std::uint32_t> parents{1};
  parents.insert(parents.end(), shape.begin(), shape.end() - 1);
  TorNetwork network(*bench.topology, shape, parents, latency, static_cast<unsigned>(endpoint_cycles(fabric.router)),
                     packets);
  const std::vector<std::uint64_t>& arrived = network.run();
  Difference found;
  for (const Delivery& delivery : bench.deliveries) {
    const Time there = kCycle * static_cast<std::int64_t>(arrived[delivery.packet.user]);
    const Time off = there > delivery.tail ? there - delivery.tail : delivery.tail - there;
    found.packets += off != Time();
    found.cycles += static_cast<std::uint64_t>(off.ps() / kCycle.ps());
  }
  found.flits = network.flits();
  found.last = network.cycle();
  return found;
}

}  // namespace

TEST_CASE("tor: a single packet through one switch takes the model's cycles") {
  for (const unsigned latency : {1u, 38u})
    for (const std::uint16_t bytes : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{256}}) {
      const Difference found = compared({8}, latency, 1, {1, 0, bytes}, 1);
      CHECK(found.packets == 0);
    }
}

TEST_CASE("tor: switches of gateware and of the model agree in each cycle") {
  struct Case {
    std::vector<std::uint32_t> shape;
    unsigned latency;
    Traffic traffic;
  };
  const std::vector<Case> cases = {
      {{8}, 1, {1.3, 0, 256}},           {{8}, 5, {0.5, 0, 64}},          {{4}, 2, {1.3, 0, 16}},
      {{4, 4}, 3, {1.2, 0, 256}},        {{4, 4}, 1, {0.3, 64, 256}},     {{2, 4, 4}, 2, {1.2, 0, 128}},
      {{2, 2, 2, 2}, 38, {1.2, 0, 256}}, {{2, 2, 2, 2}, 1, {0.4, 0, 32}},
  };
  const std::uint64_t count = given("EXANET_TOR_PACKETS", in_full() ? 200'000 : 4'000) / cases.size();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    const Difference found = compared(c.shape, c.latency, count, c.traffic, i + 1);
    INFO("case " << i << ": " << count << " packets, " << found.flits << " flits over links, " << found.last
                 << " cycles; " << found.packets << " packets differ, by " << found.cycles << " cycles");
    CHECK(found.packets == 0);
  }
}
