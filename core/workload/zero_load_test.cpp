// SPDX-License-Identifier: Apache-2.0
// Does the zero-load time hold for every kind of router and routing, and does the flow level go by it?
#include <doctest/doctest.h>

#include <cmath>

#include "core/engine/random.hpp"
#include "core/network/cut_through/switch_harness.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/workload/message_run.hpp"
#include "core/workload/open_loop_harness.hpp"

using namespace exanet;
using namespace exanet::testing;

namespace {

// The published links behind switches whose own clock is four times too slow for them: the crossbar has the links' rate
// all the same.
NetworkConfig slow_clock(const SwitchConfig& config) {
  NetworkConfig fabric = published_fabric();
  fabric.router.word_bits = 64;
  fabric.router.cycle = Time::ps(25'600);
  fabric.router.inter_fifo_words = 2048;
  fabric.router.virtual_channels = 4;
  fabric.input_queued = config;
  return fabric;
}

std::vector<SwitchConfig> kinds_of_switch() {
  SwitchConfig fifo, fast, cells, wormhole;
  fifo.queues = SwitchConfig::Queues::kFifo;
  fast.speed_up_percent = 200;
  cells.slot_cycles = 9;  // of 25.6 ns: a packet of 34 words takes 217.6 on the crossbar's line, thus a slot
  wormhole.switching = "wormhole";
  return {fifo, fast, cells, wormhole};
}

MessageResult carry(const NetworkConfig& fabric, std::uint64_t bytes, bool packets) {
  MessageConfig config;
  config.traffic = "complement";
  config.message_bytes = bytes;
  const TopologySpec tree{"fat-tree", {4, 4}};
  const auto run = packets ? make_packet_messages(tree, fabric, config) : make_flow_messages(tree, fabric, config);
  REQUIRE(run->run());
  return run->result();
}

}  // namespace

TEST_CASE("messages through switches take the same at both levels, and no less than through empty ones") {
  for (const SwitchConfig& config : kinds_of_switch())
    for (const std::uint64_t bytes : {256u, 65536u}) {
      CAPTURE(config.switching);
      CAPTURE(config.slot_cycles);
      CAPTURE(bytes);
      const MessageResult flow = carry(slow_clock(config), bytes, false),
                          packet = carry(slow_clock(config), bytes, true);
      CHECK(flow.completion_ns == near(packet.completion_ns, 0.03));
      CHECK(flow.slowdown == near(1, 0.001));
      CHECK(packet.slowdown > 0.999);
      CHECK(packet.slowdown < 1.03);
    }
}

TEST_CASE("a message alone takes what the empty network says, at both levels, whatever its length") {
  struct Machine {
    TopologySpec spec;
    NetworkConfig fabric;
  };
  std::vector<Machine> machines;
  for (const TopologySpec& spec :
       {TopologySpec{"torus", {4, 4}}, TopologySpec{"qfdb-torus", {2, 2, 1}}, TopologySpec{"fat-tree", {4, 4}}}) {
    machines.push_back({spec, fabric_for(spec)});
    NetworkConfig gaps = fabric_for(spec), switches = fabric_for(spec);
    gaps.router.output_gap_cycles = 20;
    machines.push_back({spec, gaps});
    switches.router.inter_fifo_words = 2048;
    for (const std::int64_t slot : {0, 9}) {
      SwitchConfig config;
      config.slot_cycles = slot;
      switches.input_queued = config;
      machines.push_back({spec, switches});
    }
  }
  Random draw(1, 2);
  for (const Machine& machine : machines)
    for (int drawn = 0; drawn < 8; ++drawn) {
      const std::uint64_t bytes = 1 + draw.next() % (std::uint64_t{1} << (4 + 2 * drawn));
      MessageConfig config;
      const std::string ends = std::to_string(draw.next() % 8) + " " + std::to_string(8 + draw.next() % 8);
      config.traffic = "flows:[" + ends + " " + std::to_string(bytes) + " 0;]";
      CAPTURE(machine.spec.kind);
      CAPTURE(machine.fabric.input_queued.has_value());
      CAPTURE(machine.fabric.router.output_gap_cycles);
      CAPTURE(config.traffic);
      const auto packets = make_packet_messages(machine.spec, machine.fabric, config),
                 flows = make_flow_messages(machine.spec, machine.fabric, config);
      REQUIRE(packets->run());
      REQUIRE(flows->run());
      CHECK(packets->result().zero_load_ns == doctest::Approx(packets->result().completion_ns).epsilon(1e-12));
      CHECK(packets->result().slowdown == doctest::Approx(1).epsilon(1e-12));
      CHECK(std::abs(flows->result().completion_ns - packets->result().completion_ns) < 0.0015);  // rounded up
    }
}

TEST_CASE("the empty network is that of the routing, and of the slot in which a packet comes") {
  for (const char* routing : {"valiant", "ugal-l", "adaptive"}) {
    TopologySpec spec{"torus", {6, 6}};
    spec.routing = routing;
    const OpenLoopResult r = measure(spec, "uniform", 0.005, 1, Time::us(1000));
    CAPTURE(routing);
    CHECK(r.latency_ns == near(r.zero_load_ns, 0.02));
  }
  SwitchConfig cells;
  cells.slot_cycles = 40;
  NetworkConfig fabric = slow_clock(cells);
  const OpenLoopResult r = measure({"torus", {4, 4}}, "uniform", 0.005, 1, Time::us(2000), fabric);
  CHECK(r.latency_ns == near(r.zero_load_ns, 0.02));
  CHECK(r.latency_ns >= r.zero_load_ns);
}

TEST_CASE("what a permutation would take in the empty network does not depend on how much of it gets in") {
  const OpenLoopResult little = measure({"dragonfly", {2}}, "tornado", 0.1),
                       much = measure({"dragonfly", {2}}, "tornado", 0.9);
  CHECK(much.saturated);
  CHECK(much.zero_load_ns == near(little.zero_load_ns, 0.02));
}
