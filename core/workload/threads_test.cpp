// SPDX-License-Identifier: Apache-2.0
// Are the results the same, bit for bit, for any number of threads?
#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

#include "core/routing/make_topology.hpp"
#include "core/topology/slices.hpp"
#include "core/units/size_harness.hpp"
#include "core/workload/open_loop_harness.hpp"

using namespace exanet;
using testing::check_same;
using testing::published_fabric;

namespace {

OpenLoopResult measure(const TopologySpec& spec, const std::string& pattern, double load, std::uint32_t threads,
                       NetworkConfig fabric, std::uint64_t seed = 1) {
  OpenLoopConfig config;
  config.seed = seed;
  config.pattern = pattern;
  config.load = load;
  config.threads = threads;
  config.warm_up = Time::us(10);
  config.measure = Time::us(20);
  config.bernoulli = load == 1;
  config.priority_share = seed % 2 == 0 ? 0.25 : 0;
  fabric.router.virtual_channels = std::max<std::int64_t>(2, make_topology(spec)->virtual_channels());
  OpenLoop loop(spec, fabric, config);
  REQUIRE(loop.run());  // nothing lost, doubled or altered
  return loop.result();
}

TopologySpec two_rails(TopologySpec spec) {
  spec.rails = 2;
  return spec;
}

}  // namespace

TEST_CASE("threads: one to four of them give the same results, below and beyond saturation, on every kind of network") {
  struct Case {
    TopologySpec spec;
    const char* pattern;
    double load;
  };
  for (const Case& c :
       {Case{{"torus", {4, 4, 4}}, "uniform", 0.4}, Case{{"torus", {4, 4, 4}}, "tornado", 2.0},
        Case{{"torus", {7}}, "uniform", 3.0}, Case{{"mesh", {5, 3}}, "neighbour", 0.7},
        Case{{"fat-tree", {4, 4, 4}}, "permutation", 0.9}, Case{{"dragonfly", {2}}, "complement", 0.5},
        Case{{"hyperx", {2, 3, 3}}, "hot-spot:0.2", 0.5}, Case{{"jellyfish", {8, 4, 2}}, "all-to-all", 1.0},
        Case{{"qfdb-torus", {2, 2, 1}}, "incast:15", 0.3}, Case{{"hypercube", {5}}, "shuffle", 0.6},
        Case{{"full-mesh", {8}}, "uniform", 1.0}, Case{two_rails({"dragonfly", {2}}), "uniform", 1.0},
        Case{two_rails({"fat-tree", {4, 4}, {}, {}, "spray"}), "permutation", 2.0},
        Case{two_rails({"fat-tree", {4, 4}, {}, {}, "adaptive"}), "hot-spot:0.2", 0.9},
        Case{{"xgft", {4, 4, 2, 2}}, "uniform", 0.9}}) {
    CAPTURE(c.spec.kind);
    CAPTURE(c.pattern);
    const OpenLoopResult one = measure(c.spec, c.pattern, c.load, 1, published_fabric());
    for (const std::uint32_t threads : {2u, 3u, 4u}) {
      if (threads == 2 && !testing::in_full()) continue;
      CAPTURE(threads);
      check_same(one, measure(c.spec, c.pattern, c.load, threads, published_fabric()));
    }
  }
}

TEST_CASE("threads: FIFOs that hold one packet of bulk, gaps, and links of different latency change nothing") {
  NetworkConfig tight = published_fabric();
  tight.router.inter_fifo_words = 64;
  tight.router.header_fifo_words = 8;
  tight.router.intra_fifo_words = 32;
  tight.router.input_gap_cycles = 8;
  tight.router.output_gap_cycles = 2;
  tight.links[0].latency = Time();
  for (const EnumName<RouterConfig::Arbitration>& arbitration : kChoices<RouterConfig::Arbitration>)
    for (const double load : {0.2, 3.0}) {
      tight.router.arbitration = arbitration.value;
      const OpenLoopResult one = measure({"qfdb-torus", {2, 3, 1}}, "uniform", load, 1, tight);
      for (const std::uint32_t threads : {2u, 4u})
        check_same(one, measure({"qfdb-torus", {2, 3, 1}}, "uniform", load, threads, tight));
    }
}

TEST_CASE("threads: idle links that advertise space in bulk, or in time") {
  NetworkConfig paced = published_fabric();
  for (const std::int64_t threshold : {0, 100})
    for (const std::int64_t interval : {7, 300}) {
      paced.router.credit_threshold_words = threshold;
      paced.router.credit_interval_cycles = interval;
      for (const double load : {0.2, 3.0}) {
        const OpenLoopResult one = measure({"torus", {4, 3}}, "uniform", load, 1, paced, 2);
        for (const std::uint32_t threads : {2u, 3u})
          check_same(one, measure({"torus", {4, 3}}, "uniform", load, threads, paced, 2));
      }
    }
}

TEST_CASE("threads: wherever space runs out, it is known of at the same instant") {
  // Packets are created at any picosecond, so routers have no common clock: who waits for space is to look again when
  // it is there, and not a cycle of his own later.
  for (const TopologySpec& spec :
       {TopologySpec{"qfdb-torus", {2, 3, 1}}, TopologySpec{"dragonfly", {2}}, TopologySpec{"torus", {5, 4}}})
    for (const std::int64_t words : {64, 128})
      for (const std::uint64_t seed : {1, 2}) {
        CAPTURE(spec.kind);
        CAPTURE(words);
        CAPTURE(seed);
        NetworkConfig shallow = published_fabric();
        shallow.router.inter_fifo_words = words;
        const OpenLoopResult one = measure(spec, "uniform", 0.6, 1, shallow, seed);
        for (const std::uint32_t threads : {2u, 4u})
          check_same(one, measure(spec, "uniform", 0.6, threads, shallow, seed));
      }
}

TEST_CASE(
    "threads: routing that looks at its own router's queues decides the same, whoever else decides in that instant") {
  const auto routed = [](TopologySpec spec, const char* routing) {
    spec.routing = routing;
    return spec;
  };
  const TopologySpec fly{"dragonfly", {2}}, torus{"torus", {4, 4, 4}}, tree{"fat-tree", {4, 4, 2}};
  struct Case {
    TopologySpec spec;
    const char* pattern;
    double load;
  };
  for (const Case& c :
       {Case{routed(fly, "valiant"), "next-group:8", 0.6}, Case{routed(fly, "ugal-l"), "next-group:8", 0.4},
        Case{routed(fly, "ugal-l"), "uniform", 1.0}, Case{routed(fly, "par"), "next-group:8", 0.6},
        Case{routed(torus, "adaptive"), "transpose", 0.5}, Case{routed(torus, "adaptive"), "uniform", 2.0},
        Case{routed(torus, "ugal-l"), "tornado", 0.7}, Case{routed(tree, "adaptive"), "permutation", 1.0},
        Case{routed({"hyperx", {2, 3, 3}}, "adaptive"), "hot-spot:0.2", 0.7}})
    for (const std::int64_t words : {32, 128}) {
      CAPTURE(c.spec.kind);
      CAPTURE(c.spec.routing);
      CAPTURE(words);
      NetworkConfig shallow = published_fabric();
      shallow.router.inter_fifo_words = words * std::max<std::int64_t>(2, make_topology(c.spec)->virtual_channels());
      const OpenLoopResult one = measure(c.spec, c.pattern, c.load, 1, shallow, 2);
      for (const std::uint32_t threads : {2u, 3u})
        if (threads == 3 || testing::in_full())
          check_same(one, measure(c.spec, c.pattern, c.load, threads, shallow, 2));
    }
  CHECK_THROWS_WITH_AS(measure(routed(fly, "ugal-g"), "uniform", 0.4, 2, published_fabric()),
                       doctest::Contains("use one thread"), std::invalid_argument);
}

TEST_CASE("threads: input-queued switches, of whole packets and under wormhole switching, however deep their buffers") {
  SwitchConfig fifo, islip, worms;
  fifo.queues = SwitchConfig::Queues::kFifo;
  fifo.speed_up_percent = 150;
  islip.arbitration = SwitchConfig::Arbitration::kIslip;
  islip.iterations = 2;
  islip.classes = 2;
  worms.switching = "wormhole";
  worms.classes = 2;
  for (const SwitchConfig& config : {fifo, islip, worms})
    for (const TopologySpec& spec :
         {TopologySpec{"torus", {4, 4}}, TopologySpec{"fat-tree", {4, 4}}, TopologySpec{"dragonfly", {2}}})
      for (const bool deep : {false, true}) {
        CAPTURE(spec.kind);
        CAPTURE(deep);
        NetworkConfig fabric = published_fabric();
        const std::int64_t channels = std::max<std::int64_t>(2, make_topology(spec)->virtual_channels());
        const bool whole = config.switching == "cut-through";
        fabric.router.inter_fifo_words = deep ? 600 : whole ? 18 * channels * config.classes : 24;
        fabric.input_queued = config;
        const double load = deep ? 0.4 : 2;
        check_same(measure(spec, "uniform", load, 1, fabric, 2), measure(spec, "uniform", load, 3, fabric, 2));
      }
}

TEST_CASE("threads: nodes are divided evenly, level by level, and too many parts are refused") {
  for (const TopologySpec& spec :
       {TopologySpec{"torus", {4, 4, 4}}, TopologySpec{"fat-tree", {4, 4, 4}}, TopologySpec{"dragonfly", {2}}}) {
    const auto topology = make_topology(spec);
    const std::vector<std::uint8_t> part_of = slices(*topology, 4);
    REQUIRE(part_of.size() == topology->node_count());
    for (std::uint8_t part = 0; part < 4; ++part) {
      const auto nodes = static_cast<double>(std::count(part_of.begin(), part_of.end(), part));
      CHECK(nodes * 4 / topology->node_count() == doctest::Approx(1).epsilon(0.1));
    }
  }
  const auto small = make_topology({"torus", {3}});
  CHECK_THROWS_WITH_AS(slices(*small, 4), doctest::Contains("from 1 to 3"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(slices(*small, 0), doctest::Contains("from 1 to 3"), std::invalid_argument);
}
