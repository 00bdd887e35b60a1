// SPDX-License-Identifier: Apache-2.0
// Machines that nobody would think of: routers, buffers, links, routing and traffic drawn at random. On each, nothing
// is lost (run() checks), the work stays in proportion to the traffic, and one to three threads give the same results.
#include <doctest/doctest.h>

#include <initializer_list>

#include "core/engine/random.hpp"
#include "core/routing/make_topology.hpp"
#include "core/units/size_harness.hpp"
#include "core/workload/open_loop_harness.hpp"

using namespace exanet;

namespace {

struct Machine {
  TopologySpec spec;
  NetworkConfig fabric;
  OpenLoopConfig traffic;
};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  template <typename T>
  T of(std::initializer_list<T> values) {
    return values.begin()[random_.below(static_cast<std::uint32_t>(values.size()))];
  }
  bool one_in(std::uint32_t n) { return random_.below(n) == 0; }
  std::int64_t from_to(std::int64_t least, std::int64_t most) {
    return least + random_.below(static_cast<std::uint32_t>(most - least + 1));
  }

 private:
  Random random_;
};

TopologySpec draw_topology(Draw& draw) {
  TopologySpec spec = draw.of<TopologySpec>({{"torus", {4, 4, 2}},
                                             {"torus", {5, 6}},
                                             {"torus", {9}},
                                             {"torus", {3, 4, 2, 3}},
                                             {"mesh", {5, 4}},
                                             {"qfdb-torus", {2, 3, 1}},
                                             {"fat-tree", {4, 4, 2}},
                                             {"dragonfly", {2}},
                                             {"jellyfish", {24, 6, 3, 1}},
                                             {"hypercube", {5}},
                                             {"hyperx", {2, 3, 3}},
                                             {"full-mesh", {9}}});
  if (spec.kind == "dragonfly")
    spec.routing = draw.of({"", "valiant", "ugal-l", "par"});
  else if (spec.kind == "fat-tree")
    spec.routing = draw.of({"", "adaptive"});
  else if (spec.kind != "qfdb-torus" && spec.kind != "jellyfish")
    spec.routing = draw.of({"", "", "adaptive", "valiant"});
  if (make_topology(spec)->switched()) spec.rails = draw.of({1u, 1u, 2u, 3u});
  return spec;
}

SwitchConfig draw_switch(Draw& draw, std::int64_t channels) {
  SwitchConfig config;
  config.switching = draw.of<std::string>({"cut-through", "wormhole"});
  config.classes = draw.from_to(1, channels > 4 ? 1 : 2);  // at most eight lanes
  config.arbitration = draw.of({SwitchConfig::Arbitration::kRoundRobin, SwitchConfig::Arbitration::kFixedPriority});
  if (config.switching == "wormhole") return config;
  config.arbitration = draw.of({config.arbitration, SwitchConfig::Arbitration::kIslip});
  config.queues = draw.of({SwitchConfig::Queues::kFifo, SwitchConfig::Queues::kVirtualOutput});
  config.iterations = draw.from_to(1, 3);
  config.speed_up_percent = draw.of<std::int64_t>({100, 150, 200});
  config.buffer = draw.one_in(3) ? SwitchConfig::Buffer::kShared : SwitchConfig::Buffer::kPerLane;
  return config;
}

// Half of them have short links or fast ones, and buffers that hold little: there it shows who gets space first, and
// when.
Machine draw_machine(std::uint64_t seed, bool input_queued) {
  Draw draw(seed);
  Machine m;
  m.spec = draw_topology(draw);
  const std::int64_t most_bytes = draw.of({64, 128, 256, 512}), words = most_bytes / 16 + 2;
  m.fabric = testing::published_fabric(most_bytes);
  for (LinkConfig& link : m.fabric.links) {
    link.pause_every = draw.of({0, 32, 7, 3});
    link.latency = Time::ps(draw.one_in(4) ? 0 : draw.from_to(0, 800'000));
    link.word_time = Time::ps(draw.of({6400, 6400, 1600}));
    link.framing_words = draw.of({2, 2, 3, 1});
  }
  RouterConfig& router = m.fabric.router;
  router.latency_cycles = draw.from_to(input_queued ? 2 : 3, 12);
  router.input_gap_cycles = draw.of({0, 0, 1});
  router.output_gap_cycles = draw.of({0, 0, 3});
  const bool fixed_priority = draw.one_in(6), links_first = draw.one_in(3);
  router.arbitration = fixed_priority ? RouterConfig::Arbitration::kFixedPriority
                       : links_first  ? RouterConfig::Arbitration::kLinksFirst
                                      : RouterConfig::Arbitration::kRoundRobin;
  const std::int64_t channels = std::max<std::int64_t>(draw.from_to(2, 3), make_topology(m.spec)->virtual_channels());
  router.virtual_channels = channels;
  router.inter_fifo_words = channels * words * draw.of({2, 3, 5, 9, 40});
  router.intra_fifo_words = words * draw.of({2, 4, 18});
  router.header_fifo_words = channels * draw.of({4, 6, 16, 64});
  if (input_queued) {
    m.fabric.input_queued = draw_switch(draw, channels);
    if (m.fabric.input_queued->buffer == SwitchConfig::Buffer::kShared) router.inter_fifo_words *= 2;
    if (m.fabric.input_queued->switching == "cut-through") router.inter_fifo_words *= m.fabric.input_queued->classes;
    if (m.spec.routing == "adaptive" || m.spec.routing == "ugal-l" || m.spec.routing == "par")
      m.spec.routing = "";  // runs on one thread there
  }
  m.traffic.seed = seed;
  m.traffic.pattern = draw.of({"uniform", "tornado", "permutation", "hot-spot:0.1", "neighbour", "all-to-all"});
  m.traffic.load = draw.of({0.1, 0.3, 0.5, 0.8, 1.0, 1.5, 3.0});
  m.traffic.packet_bytes = static_cast<std::uint16_t>(draw.of<std::int64_t>({8, most_bytes / 2 + 3, most_bytes}));
  m.traffic.priority_share = draw.of({0.0, 0.0, 0.1, 0.5});
  m.traffic.settle = false;
  m.traffic.warm_up = Time::us(3);
  m.traffic.measure = Time::us(12);
  return m;
}

void check(std::uint64_t seed, bool input_queued) {
  Machine m = draw_machine(seed, input_queued);
  CAPTURE(seed);
  CAPTURE(m.spec.kind);
  CAPTURE(m.spec.routing);
  CAPTURE(m.traffic.pattern);
  CAPTURE(m.traffic.load);
  OpenLoop one(m.spec, m.fabric, m.traffic);
  REQUIRE(one.run());
  const OpenLoopResult& a = one.result();
  CHECK(a.events <
        400 * (a.packet_hops + a.packets) + 1000);  // who stands and looks for another way does so again and again
  m.traffic.threads = static_cast<std::uint32_t>(2 + seed % 2);
  OpenLoop several(m.spec, m.fabric, m.traffic);
  REQUIRE(several.run());
  testing::check_same(a, several.result());
}

}  // namespace

TEST_CASE("any machine: the prototype's router") {
  for (std::uint64_t seed = 1; seed <= (testing::in_full() ? 30 : 12); ++seed) check(seed, false);
}

TEST_CASE("any machine: input-queued switches") {
  for (std::uint64_t seed = 1; seed <= (testing::in_full() ? 20 : 8); ++seed) check(seed, true);
}

TEST_CASE("any machine: one look at an output is pending at a time") {
  // Two classes, space for few packets, and routing that thinks again: two looks that each saw to two more filled the
  // memory.
  OpenLoopConfig traffic;
  traffic.pattern = "hot-spot:0.1";
  traffic.load = 0.5;
  traffic.packet_bytes = 128;
  traffic.priority_share = 0.5;
  traffic.seed = 108;
  traffic.warm_up = Time::us(5);
  traffic.measure = Time::us(30);
  TopologySpec spec{"dragonfly", {3}};
  spec.routing = "ugal-l";
  NetworkConfig fabric = testing::published_fabric(128);
  const std::int64_t latencies_ps[] = {173'238, 503'944, 610'955};
  for (std::size_t i = 0; i < 3; ++i) fabric.links[i].latency = Time::ps(latencies_ps[i]);
  for (LinkConfig& link : fabric.links) link.pause_every = 0;
  fabric.links[1].framing_words = 3;
  fabric.router.virtual_channels = 6;
  fabric.router.inter_fifo_words = 432;
  fabric.router.intra_fifo_words = 640;
  fabric.router.header_fifo_words = 24;
  fabric.router.arbitration = RouterConfig::Arbitration::kFixedPriority;
  fabric.router.latency_cycles = 5;
  OpenLoop loop(spec, fabric, traffic);
  REQUIRE(loop.run());
  CHECK(loop.result().events < 20 * loop.result().packet_hops);
}
