// SPDX-License-Identifier: Apache-2.0
// Do priority packets pass bulk wherever it stands: at the sender, in buffers, for want of space?
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "core/network/exanet/exanet_harness.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;
using testing::Bench;
using testing::Delivery;
using testing::published_fabric;

namespace {

constexpr Time kCycle = Time::ps(6400);

NetworkConfig with_priority() {
  NetworkConfig config = published_fabric(512);
  config.links.resize(1);
  config.priority = true;
  return config;
}

const Delivery& of(const Bench& bench, std::uint64_t user) {
  const auto found = std::find_if(bench.deliveries.begin(), bench.deliveries.end(),
                                  [&](const Delivery& d) { return d.packet.user == user; });
  REQUIRE(found != bench.deliveries.end());
  return *found;
}

}  // namespace

TEST_CASE("priority: at an intra-tile port it waits for the packet that is being written, not for those taken before") {
  Bench bench({"mesh", {1}}, with_priority());
  for (std::uint64_t i = 1; i <= 60; ++i) bench.send(0, 0, 512, i);
  const std::uint32_t later = bench.queue.add_handler(
      [](void* self, Time, std::uint32_t, std::uint64_t) {
        for (const std::uint64_t user : {100, 101}) static_cast<Bench*>(self)->send(0, 0, 512, user, 0, 1);
      },
      &bench);
  bench.queue.schedule(kCycle * 100, later, 0);  // in the third packet of 34 words
  bench.run();
  // The third one's last word is written in cycle 101; the crossbar and the output are free when they come.
  for (const std::uint64_t user : {100, 101})
    CHECK(of(bench, user).tail == kCycle * static_cast<std::int64_t>(102 + (user - 99) * 34 + 4));
  CHECK(of(bench, 4).tail == kCycle * (34 * 6 + 4));  // after both
  CHECK(bench.deliveries.size() == 62);
}

TEST_CASE("priority: it goes before bulk that was injected at the same instant, whoever was first") {
  for (const bool bulk_first : {false, true}) {
    Bench bench({"mesh", {1}}, with_priority());
    for (const bool bulk : {bulk_first, !bulk_first}) bench.send(0, 0, 512, bulk ? 1 : 2, 0, bulk ? 0 : 1);
    bench.run();
    CHECK(of(bench, 2).tail == kCycle * (34 + 4));
    CHECK(of(bench, 1).tail == kCycle * (68 + 4));
  }
}

TEST_CASE("priority: full buffers of bulk hold it at most a packet's time a hop") {
  // Each node of a row floods the last one, so that all FIFOs on the way are full of bulk and all its space is gone.
  Bench bench({"mesh", {6}}, with_priority());
  for (int i = 0; i < 400; ++i)
    for (NodeId src = 0; src < 5; ++src)
      for (const std::uint8_t port : {0, 1}) bench.send(src, 5, 512, 0, port);
  static constexpr std::uint64_t kPackets = 20;
  const std::uint32_t later =
      bench.queue.add_handler([](void* self, Time, std::uint32_t,
                                 std::uint64_t user) { static_cast<Bench*>(self)->send(0, 5, 512, user, 0, 1); },
                              &bench);
  for (std::uint64_t i = 1; i <= kPackets; ++i)
    bench.queue.schedule(kCycle * static_cast<std::int64_t>(30'000 + i * 2'003), later, 0, i);
  bench.run();
  const Time empty = bench.fabric.zero_load_latency(0, 5, 512), packet = kCycle * 70;
  for (std::uint64_t i = 1; i <= kPackets; ++i) {
    const Delivery& d = of(bench, i);
    CHECK(d.injected == kCycle * static_cast<std::int64_t>(30'000 + i * 2'003));  // space was kept for it
    CHECK(d.tail - d.injected < empty + packet * 10);  // at each of five links one on the wire and one in its buffer
  }
  CHECK(bench.fabric.in_flight() == 0);
}

TEST_CASE("priority: queues for it change nothing for bulk") {
  for (const TopologySpec& spec : {TopologySpec{"torus", {7}}, TopologySpec{"torus", {4, 4, 4}}}) {
    std::vector<std::vector<Delivery>> runs;
    for (const bool priority : {false, true}) {
      NetworkConfig config = with_priority();
      config.priority = priority;
      Bench bench(spec, config);
      const NodeId nodes = bench.topology->node_count();
      for (std::uint64_t i = 0; i < 60; ++i)
        for (NodeId src = 0; src < nodes; ++src)
          bench.send(src, static_cast<NodeId>((src * 5 + i * 11) % nodes), static_cast<std::uint16_t>(i * 37 % 513), i,
                     i % 2);
      bench.run();
      runs.push_back(bench.deliveries);
    }
    REQUIRE(runs[0].size() == runs[1].size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < runs[0].size(); ++i)
      different += runs[0][i].tail != runs[1][i].tail || runs[0][i].packet.src != runs[1][i].packet.src;
    CHECK(different == 0);
  }
}

TEST_CASE("priority: on routes of a routing that looks at the network nothing is lost, and bulk is passed") {
  NetworkConfig config = with_priority();
  config.router.virtual_channels = 3;
  Bench bench(TopologySpec{.kind = "torus", .shape = {4, 4}, .routing = "adaptive"}, config);
  for (std::uint64_t i = 0; i < 200; ++i)
    for (NodeId src = 0; src < 16; ++src)
      bench.send(src, static_cast<NodeId>((src + 5 + i % 6) % 16), 512, 0, 0, i % 10 == 0);
  bench.run();
  CHECK(bench.deliveries.size() == 3200);
  double at[2] = {}, count[2] = {};
  for (const Delivery& d : bench.deliveries)
    at[d.packet.priority] += static_cast<double>(d.tail.ps()), ++count[d.packet.priority];
  CHECK(at[1] / count[1] < 0.3 * at[0] / count[0]);
}

TEST_CASE("arbitration: an input that always asks and one whose packets come just after a grant are served alike") {
  // Both intra-tile ports have space for one packet and feed one link. The first is filled again as soon as there is
  // space, 35 cycles after a grant, the second 50 cycles later: after the grant that follows its own by 70 cycles, and
  // before the next one.
  struct Senders {
    EventQueue queue;
    std::unique_ptr<Topology> topology = make_topology({"mesh", {2}});
    std::unique_ptr<ExanetNetwork> fabric;
    std::uint32_t later = 0;
    int sent[2] = {};
    void send(std::uint8_t port) {
      if (sent[0] == 300) return;
      const Packet packet{0, 1, 512, port, 0, 0};
      CHECK(fabric->inject(packet));
      ++sent[port];
      CHECK_FALSE(fabric->inject(packet));  // calls ready() when there is space
    }
  } senders;
  NetworkConfig config = with_priority();
  config.router.intra_fifo_words = 64;
  senders.fabric = std::make_unique<ExanetNetwork>(
      senders.queue, *senders.topology, config,
      PacketSink{&senders, nullptr, [](void* self, NodeId, std::uint8_t port, std::uint8_t, Time now) {
                   auto& s = *static_cast<Senders*>(self);
                   s.queue.schedule(now + kCycle * (port * 50), s.later, port);
                 }});
  senders.later = senders.queue.add_handler(
      [](void* self, Time, std::uint32_t port, std::uint64_t) {
        static_cast<Senders*>(self)->send(static_cast<std::uint8_t>(port));
      },
      &senders);
  for (const std::uint8_t port : {0, 1}) senders.send(port);
  while (!senders.queue.empty()) senders.queue.run_one();
  CHECK(senders.sent[1] >= 295);
}
