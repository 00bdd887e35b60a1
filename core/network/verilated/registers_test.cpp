// SPDX-License-Identifier: Apache-2.0
// Do the registers of the routers say what the machine says of arbitration and lines, and is refused what routers of
// gateware have not?
#include "core/network/verilated/registers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <tuple>

#include "core/config/error.hpp"
#include "core/network/exanet/exanet_harness.hpp"

using namespace exanet;

namespace {

constexpr std::size_t kWords = std::tuple_size_v<decltype(spec::RouterConfig::raw)>;
const TopologySpec kRing{"torus", {3}};

NetworkConfig cycles_of_line(std::int64_t cycles) {
  NetworkConfig config = testing::published_fabric(256);
  config.links.resize(1);
  config.links[0].latency = config.router.cycle * cycles;
  return config;
}

spec::RouterConfig of_node(const GatewareRegisters& registers, std::size_t node) {
  spec::RouterConfig config;
  std::copy_n(registers.data() + node * kWords, kWords, config.raw.begin());
  return config;
}

}  // namespace

TEST_CASE("each node's registers have the machine's arbitration") {
  using Arbitration = RouterConfig::Arbitration;
  for (const Arbitration arbitration :
       {Arbitration::kRoundRobin, Arbitration::kLinksFirst, Arbitration::kFixedPriority}) {
    NetworkConfig config = cycles_of_line(39);
    config.router.arbitration = arbitration;
    const GatewareRegisters registers(kRing, config);
    for (std::size_t node = 0; node < 3; ++node) {
      const spec::RouterConfig made = of_node(registers, node);
      CHECK(made.coordinate(0) == node);
      CHECK(made.fixed_priority() == (arbitration == Arbitration::kFixedPriority));
      CHECK(made.links_first() == (arbitration == Arbitration::kLinksFirst));
    }
  }
}

TEST_CASE("lines have the machine's latency and pauses") {
  NetworkConfig config = cycles_of_line(39);
  config.links[0].pause_every = 255;
  const GatewareRegisters registers(kRing, config);
  CHECK(registers.line(0).cycles == 39);
  CHECK(registers.line(0).pause_every == 255);
}

TEST_CASE("nodes of QFDBs have their place, the ports of the torus behind those inside, and lines by kind of link") {
  NetworkConfig config = testing::published_fabric(256);
  config.links.resize(2);
  config.links[0].latency = config.router.cycle * 20;
  config.links[1].latency = config.router.cycle * 33;
  const GatewareRegisters registers({"qfdb-torus", {4, 2, 1}}, config);
  CHECK(registers.line(0).cycles == 20);
  CHECK(registers.line(1).cycles == 33);
  for (std::uint32_t node = 0; node < 32; ++node) {
    const spec::RouterConfig made = of_node(registers, node);
    const std::uint32_t f = node % 4, x = node / 4 % 4, y = node / 16;
    CHECK(made.qfdb_node() == f);
    CHECK(made.coordinate(0) == x);
    CHECK(made.coordinate(1) == y);
    CHECK(made.wraps() == 1);
    CHECK(made.plus_port(1) == 5);
    CHECK(made.minus_port(1) == 6);
    // Nothing is plugged in at the torus ports of nodes that are not the first, nor in the third dimension.
    CHECK(made.disabled() == (f == 0 ? 0x180u : 0x1f8u));
    CHECK(registers.dcid(node) == (f | x << 2 | y << 10));
  }
}

TEST_CASE("links of several widths are refused") {
  NetworkConfig config = testing::published_fabric(256);
  config.links.resize(2);
  for (LinkConfig& link : config.links) link.latency = config.router.cycle * 20;
  config.links[1].pause_every = 0;
  config.links[1].word_bits = 128;
  config.links[1].framing_words = 1;
  CHECK_THROWS_WITH_AS(GatewareRegisters({"qfdb-torus", {4, 1, 1}}, config),
                       "this machine cannot be run on the gateware: its links are all of the same width",
                       std::invalid_argument);
}

TEST_CASE("gaps between packets are refused") {
  NetworkConfig before = cycles_of_line(39), after = before;
  before.router.input_gap_cycles = 1;
  after.router.output_gap_cycles = 1;
  CHECK_THROWS_WITH_AS(GatewareRegisters(kRing, before),
                       "this machine cannot be run on the gateware: it has no gaps between packets",
                       std::invalid_argument);
  CHECK_THROWS_AS(GatewareRegisters(kRing, after), std::invalid_argument);
}

TEST_CASE("nodes of gateware are refused where links are to fail in the run") {
  NetworkConfig config = cycles_of_line(39);
  config.links_fail = true;
  CHECK_THROWS_WITH_AS(GatewareRegisters(kRing, config), doctest::Contains("cannot fail during a run"), ConfigError);
}
