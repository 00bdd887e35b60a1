// SPDX-License-Identifier: Apache-2.0
// Do packets take the time that they should, arrive once, and do descriptions that cannot be built get refused?
#include <doctest/doctest.h>

#include <functional>
#include <stdexcept>

#include "core/network/cut_through/switch_harness.hpp"
#include "core/routing/make_topology.hpp"
#include "core/workload/open_loop.hpp"

using namespace exanet;
using namespace exanet::testing;

namespace {

using SwitchBench = BenchOf<CutThroughNetwork>;

// Buffers for any lane of the topologies below, and thresholds that leave headroom.
NetworkConfig roomy(SwitchConfig config) {
  NetworkConfig fabric = published_fabric();
  fabric.router.inter_fifo_words = 4096;
  config.pause_words = 100;
  config.resume_words = 60;
  config.pause_frame_words = 8;
  fabric.input_queued = config;
  return fabric;
}

SwitchConfig with_pauses() {
  SwitchConfig config;
  config.flow_control = SwitchConfig::FlowControl::kPause;
  return config;
}

}  // namespace

TEST_CASE("latency of one hop through empty switches, worked out by hand") {
  // 10 words of 6.4 ns. The header is there at once and is granted after 2 cycles, 12.8 ns; the tail follows the header
  // onto the link. The far switch may grant when the header's word (6.4), the link (10) and 2 cycles have passed, at 42
  // ns, and its line takes 64 ns.
  SwitchBench bench({"full-mesh", {2}}, cell_switch());
  bench.send(0, 1, 64);
  bench.run();
  REQUIRE(bench.deliveries.size() == 1);
  CHECK(bench.deliveries[0].tail == Time::ps(106'000));
  CHECK(bench.fabric.zero_load_latency(0, 1, 64) == Time::ps(106'000));

  // In slots of 64 ns the grants are at 64 and at 128 ns: the header arrives 16.4 ns and 2 cycles after the first.
  SwitchConfig slotted;
  slotted.slot_cycles = 10;
  SwitchBench cells({"full-mesh", {2}}, cell_switch(slotted));
  cells.send(0, 1, 64);
  cells.run();
  CHECK(cells.deliveries[0].tail == Time::ps(192'000));
  CHECK(cells.fabric.zero_load_latency(0, 1, 64) == Time::ps(192'000));
}

TEST_CASE("latency through empty switches equals the formula on all topologies, with credits and with pauses") {
  SwitchConfig fast;
  fast.speed_up_percent = 150;
  fast.classes = 2;
  fast.queues = SwitchConfig::Queues::kFifo;
  for (const SwitchConfig& config : {SwitchConfig{}, fast, with_pauses()})
    for (const TopologySpec& spec : {TopologySpec{"torus", {4, 3, 2}}, TopologySpec{"qfdb-torus", {3, 2, 1}},
                                     TopologySpec{"fat-tree", {2, 3, 2}}, TopologySpec{"dragonfly", {2, 2, 1}},
                                     TopologySpec{"hyperx", {2, 3, 2}}, TopologySpec{"jellyfish", {8, 4, 2}}}) {
      SwitchBench bench(spec, roomy(config));
      const NodeId nodes = bench.topology->endpoint_count();
      for (NodeId src = 0; src < nodes; ++src)
        for (NodeId dst = 0; dst < nodes; ++dst)
          for (const std::uint16_t bytes : {0, 17, 256}) {
            bench.deliveries.clear();
            const Time began = Time::us(10) * static_cast<std::int64_t>(bench.queue.now().ps() / 10'000'000 + 1);
            bench.queue.run_until(began);
            bench.send(src, dst, bytes, 0, 0, 1);
            bench.run();
            REQUIRE(bench.deliveries.size() == 1);
            REQUIRE(bench.deliveries[0].tail - began == bench.fabric.zero_load_latency(src, dst, bytes));
          }
    }
}

TEST_CASE("nothing is lost or doubled on any topology, by any routing, with credits and with pauses") {
  // The open loop checks that every packet arrives once and that the network runs empty.
  SwitchConfig islip;
  islip.arbitration = SwitchConfig::Arbitration::kIslip;
  islip.iterations = 2;
  islip.speed_up_percent = 150;
  SwitchConfig fifo;
  fifo.queues = SwitchConfig::Queues::kFifo;
  fifo.buffer = SwitchConfig::Buffer::kShared;
  OpenLoopConfig loop;
  loop.load = 0.9;
  loop.warm_up = Time::us(5);
  loop.measure = Time::us(10);
  const TopologySpec specs[] = {{"torus", {4, 4, 2}},
                                {"torus", {4, 4}, {}, {}, "adaptive"},
                                {"fat-tree", {4, 4, 4}},
                                {"fat-tree", {4, 4, 4}, {}, {}, "adaptive"},
                                {"dragonfly", {2}, {}, {}, "ugal-l"},
                                {"dragonfly", {2}, {}, {}, "par"},
                                {"qfdb-torus", {2, 2, 1}},
                                {"hyperx", {2, 3, 3}, {}, {}, "valiant"},
                                {"jellyfish", {10, 4, 2}, {}, {}, "up-down"}};
  unsigned runs = 0;
  for (const SwitchConfig& config : {SwitchConfig{}, islip, fifo, with_pauses()})
    for (const TopologySpec& spec : specs) {
      INFO(spec.kind << " " << spec.routing);
      NetworkConfig fabric = roomy(config);
      fabric.router.virtual_channels = std::max<std::int64_t>(2, make_topology(spec)->virtual_channels());
      OpenLoop run(spec, fabric, loop);
      REQUIRE(run.run());
      CHECK(run.result().packets > 1000);
      CHECK(run.result().accepted_load > 0.05);
      if (runs++ % 4 != 0) continue;  // each topology is run again once, and each configuration on two of them or more
      OpenLoop again(spec, fabric, loop);
      again.run();
      CHECK(again.result().latency_ns == run.result().latency_ns);
      CHECK(again.result().packet_hops == run.result().packet_hops);
    }
}

TEST_CASE(
    "a packet of a higher class waits for a packet at most at each switch; of the same class, for all before it") {
  const auto worst = [](std::int64_t classes) {
    SwitchConfig config;
    config.classes = classes;
    SwitchBench bench({"fat-tree", {8}}, cell_switch(config));
    for (int i = 0; i < 200; ++i)
      for (NodeId sender = 1; sender < 8; ++sender) bench.send(sender, 0, kCellBytes);
    Time most;
    for (int i = 1; i <= 20; ++i) {
      bench.queue.run_until(Time::us(2) * i);
      bench.send(7, 0, kCellBytes, 1, 1, 1);  // of priority 1, by the other intra-tile port
    }
    bench.run();
    for (const Delivery& d : bench.deliveries)
      if (d.packet.user == 1) most = max(most, d.tail - d.injected);
    return most;
  };
  SwitchBench empty({"fat-tree", {8}}, cell_switch());
  const Time alone = empty.fabric.zero_load_latency(7, 0, kCellBytes);
  CHECK(worst(2) <=
        alone + kCell * 3);  // three lines: out of the sender, out of the switch, into the receiver's interface
  CHECK(worst(1) > alone + kCell * 20);
}

TEST_CASE("switches that cannot be built are refused, saying what to do") {
  const auto refused = [](const std::function<void(NetworkConfig&)>& spoil) {
    NetworkConfig config = roomy({});
    spoil(config);
    std::string message;
    try {
      SwitchBench bench({"torus", {4, 4}}, config);
    } catch (const std::invalid_argument& error) {
      message = error.what();
    }
    return message;
  };
  CHECK(refused([](NetworkConfig&) {}) == "");
  const auto of_switch = [&](const std::function<void(SwitchConfig&)>& spoil) {
    return refused([&](NetworkConfig& c) { spoil(*c.input_queued); });
  };
  CHECK(of_switch([](SwitchConfig& c) { c.classes = 5; }) ==
        "classes are 5, with 2 virtual channels each, more than 8 lanes: use fewer");
  CHECK(of_switch([](SwitchConfig& c) { c.classes = 0; }) == "classes is 0: give a whole number from 1 to 8");
  CHECK(of_switch([](SwitchConfig& c) { c.weights = {1, 2}; }) ==
        "weights are 2 for 1 classes: give one for each, or none");
  CHECK(of_switch([](SwitchConfig& c) { c.weights = {0}; }) == "weights: one is 0: give a whole number from 1 to 1000");
  CHECK(of_switch([](SwitchConfig& c) { c.speed_up_percent = 99; }) ==
        "speed_up is 99: give a whole number from 100 to 1000");
  CHECK(of_switch([](SwitchConfig& c) { c.iterations = 0; }) == "iterations is 0: give a whole number from 1 to 64");
  CHECK(of_switch([](SwitchConfig& c) { c.slot_cycles = -1; }) == "slot is -1: give a whole number from 0 to 1000000");
  CHECK(of_switch([](SwitchConfig& c) { c.output_fifo_words = 17; }) ==
        "output_fifo has 17 words: it must hold a packet of 18 words");
  CHECK(refused([](NetworkConfig& c) { c.router.inter_fifo_words = 35; }) ==
        "inter_fifo has 35 words: it must hold a packet of 18 words in each of 2 lanes");
  CHECK(refused([](NetworkConfig& c) { c.router.intra_fifo_words = 17; }) ==
        "intra_fifo has 17 words: it must hold a packet of 18 words in each of 1 classes");
  CHECK(refused([](NetworkConfig& c) { c.router.virtual_channels = 1; }).find("needs 2 virtual channels") !=
        std::string::npos);
  CHECK(refused([](NetworkConfig& c) { c.links.clear(); }) == "the machine describes no links");
  CHECK(of_switch([](SwitchConfig& c) {
          c.flow_control = SwitchConfig::FlowControl::kPause;
          c.buffer = SwitchConfig::Buffer::kShared;
        }) == "buffer: a shared buffer needs credits; with pause frames each lane has its own");
  CHECK(of_switch([](SwitchConfig& c) {
          c.flow_control = SwitchConfig::FlowControl::kPause;
          c.resume_words = c.pause_words;
        }) == "pause is at 100 words and resume at 100: pause at a packet (18 words) or more, and resume below that");
  EventQueue one, two;
  const auto torus = make_topology({"torus", {3, 3}});
  const std::vector<std::uint8_t> halves = {0, 0, 0, 0, 0, 1, 1, 1, 1};
  CHECK_NOTHROW(CutThroughNetwork({{&one, {}}, {&two, {}}}, *torus, roomy({}), halves));
  CHECK_THROWS_WITH_AS(CutThroughNetwork({{&one, {}}, {&two, {}}}, *torus, roomy(with_pauses()), halves),
                       doctest::Contains("take --threads 1"), std::invalid_argument);
}

TEST_CASE("fronts that are blocked choose again at each switch: beyond saturation adaptive routes come to an end") {
  // A front that is granted before the time of its next choice must choose again at the next switch too. Else it waits
  // there for an adaptive channel for good, and such waits close a cycle, whose other fronts choose for ever.
  for (const auto& [latency_ns, words] : {std::pair(100, 80), std::pair(10, 240), std::pair(400, 240)}) {
    NetworkConfig fabric = cell_switch();
    fabric.input_queued->arbitration = SwitchConfig::Arbitration::kRoundRobin;
    fabric.router.virtual_channels = 2;
    fabric.router.inter_fifo_words = words;
    fabric.links[0].latency = Time::ns(latency_ns);
    SwitchBench bench({"hyperx", {4, 4, 4}, {}, {}, "adaptive"}, fabric);
    const NodeId endpoints = bench.topology->endpoint_count();
    for (NodeId src = 0; src < endpoints; ++src)
      for (int i = 0; i < 100; ++i) bench.send(src, endpoints - 1 - src, kCellBytes);
    bench.queue.run_until(kCell * 100 * std::int64_t{endpoints});  // as if all took turns on one link
    INFO("links of " << latency_ns << " ns, buffers of " << words << " words");
    CHECK(bench.queue.empty());
    CHECK(bench.fabric.in_flight() == 0);
    CHECK(bench.deliveries.size() == bench.offered);
  }
}
