// SPDX-License-Identifier: Apache-2.0
// Does an empty network show the latency of the formula, to the picosecond?
#include <doctest/doctest.h>

#include "core/network/exanet/exanet_harness.hpp"

using namespace exanet;
using testing::Bench;
using testing::Delivery;
using testing::published_fabric;

TEST_CASE("zero-load latency of one hop, worked out by hand") {
  // 16 bytes: 3 router words, 8 link words (Magic, Start, 6). The header is granted in cycle 2 and comes to the wire in
  // cycle 6; the last link word is out at the end of cycle 13. A cycle and 286.9 ns later the footer is on the second
  // router's port; two cycles on it can be read, and from the beginning of that cycle two more pass to the end of its
  // cycle on the output's wire: 14 + 1 + 2 + 2.
  Bench bench({"mesh", {2, 1}}, published_fabric());
  bench.send(0, 1, 16);
  bench.run();
  REQUIRE(bench.deliveries.size() == 1);
  CHECK(bench.deliveries[0].tail == Time::ps(19 * 6400 + 286900));
  CHECK(bench.fabric.zero_load_latency(0, 1, 16) == Time::ps(19 * 6400 + 286900));
  CHECK(bench.fabric.packet_hops() == 1);
}

TEST_CASE("zero-load latency with a pause, worked out by hand") {
  // 256 bytes on a link that pauses after 32 words: 18 router words, 38 link words and one pause.
  NetworkConfig config = published_fabric();
  config.links[0].pause_every = 32;
  Bench bench({"mesh", {2}}, config);
  bench.send(0, 1, 256);
  bench.run();
  REQUIRE(bench.deliveries.size() == 1);
  CHECK(bench.deliveries[0].tail == Time::ps((6 + 39 + 1 + 2 + 2) * 6400 + 286900));
}

TEST_CASE("a packet to its own node passes one router") {
  Bench bench({"mesh", {2}}, published_fabric());
  bench.send(1, 1, 256);
  bench.run();
  REQUIRE(bench.deliveries.size() == 1);
  CHECK(bench.deliveries[0].tail == Time::ps((4 + 18) * 6400));
  CHECK(bench.fabric.zero_load_latency(1, 1, 256) == bench.deliveries[0].tail);
}

TEST_CASE("simulated latency equals the formula for all pairs, several sizes and topologies") {
  NetworkConfig odd = published_fabric(512);  // a slow router with a fast link: the tail is never held back
  odd.router.cycle = Time::ps(7000);
  odd.router.latency_cycles = 3;
  for (LinkConfig& link : odd.links) link.word_time = Time::ps(2501), link.latency = Time(), link.pause_every = 7;
  for (const NetworkConfig& config : {published_fabric(), odd}) {
    for (const TopologySpec& spec :
         {TopologySpec{"mesh", {2, 2}}, TopologySpec{"torus", {4, 3, 2}}, TopologySpec{"qfdb-torus", {3, 2, 1}},
          TopologySpec{"torus", {2, 3, 1, 4}}, TopologySpec{"torus", {5, 2}, {0, 1}},
          TopologySpec{"fat-tree", {2, 3, 2}}, TopologySpec{"dragonfly", {2, 2, 1}}, TopologySpec{"hyperx", {2, 3, 2}},
          TopologySpec{"jellyfish", {8, 4, 2}}, TopologySpec{"hypercube", {4}}, TopologySpec{"full-mesh", {5}}}) {
      Bench bench(spec, config);
      const NodeId nodes = bench.topology->endpoint_count();
      for (NodeId src = 0; src < nodes; ++src)
        for (NodeId dst = 0; dst < nodes; ++dst)
          for (const std::uint16_t bytes : {0, 1, 16, 17, 64, 256}) {
            bench.deliveries.clear();
            bench.send(src, dst, bytes, 42, bytes % 2);
            bench.run();
            REQUIRE(bench.deliveries.size() == 1);
            const Delivery& d = bench.deliveries[0];
            CHECK(d.tail - d.injected == bench.fabric.zero_load_latency(src, dst, bytes));
            CHECK(d.packet.user == 42);
            CHECK(bench.queue.now() == d.tail);
            // An idle link starts its count of words anew: leave it idle for longer than anything in flight.
            bench.queue.run_until(bench.queue.now() + Time::us(1));
          }
      CHECK(bench.fabric.in_flight() == 0);
    }
  }
}

TEST_CASE("an endpoint behind a switch has the latency of its interface, not the switch's") {
  // Two endpoints on a switch of 47 cycles, 300.8 ns, by links of 25 ns: 16 bytes are 3 router words and 8 link words.
  // From grant to grant over the link: 2 cycles to the output, one each in the link's buffer and its register, 5 words
  // with the header, 25 ns, one to receive, and the far router's cycles before the grant.
  NetworkConfig config = published_fabric();
  config.router.latency_cycles = 47;
  config.links[0].latency = config.links[1].latency = Time::ns(25);
  const auto over_switch = [&](std::int64_t endpoint_cycles) {
    config.router.endpoint_latency_cycles = endpoint_cycles;
    Bench bench({"fat-tree", {2}}, config);
    bench.send(0, 1, 16);
    bench.run();
    REQUIRE(bench.deliveries.size() == 1);
    CHECK(bench.deliveries[0].tail == bench.fabric.zero_load_latency(0, 1, 16));
    return bench.deliveries[0].tail;
  };
  const Time least = over_switch(0);
  CHECK(least < Time::ns(300 + 2 * 25 + 2 * 8 * 6 + 60));
  CHECK(over_switch(3) == least);
  CHECK(over_switch(13) - least == Time::ps(2 * 10 * 6400));
  CHECK(over_switch(47) - least == Time::ps(2 * 44 * 6400));  // as a switch each
}
