// SPDX-License-Identifier: Apache-2.0
// What the tests of synthetic traffic share: a measurement on the published router and links, and a small shape of every topology.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/fabric/fabric_harness.hpp"
#include "core/workload/open_loop.hpp"

namespace exanet::testing {

constexpr double kPacketNs = 38 * 6.4;  // words of a packet of 256 bytes on a link, by the time of one

// With as many virtual channels as the topology needs.
inline FabricConfig fabric_for(const TopologySpec& spec) {
  FabricConfig fabric = published_fabric();
  fabric.router.virtual_channels = std::max<std::int64_t>(2, make_topology(spec)->virtual_channels());
  return fabric;
}

inline OpenLoopResult measure(const TopologySpec& spec, const std::string& pattern, double load, std::uint64_t seed, Time window,
                              const FabricConfig& fabric) {
  OpenLoopConfig config;
  config.pattern = pattern;
  config.load = load;
  config.seed = seed;
  config.measure = window;
  OpenLoop loop(spec, fabric, config);
  REQUIRE(loop.run());
  return loop.result();
}

inline OpenLoopResult measure(const TopologySpec& spec, const std::string& pattern, double load, std::uint64_t seed = 1,
                              Time window = Time::us(100)) {
  return measure(spec, pattern, load, seed, window, fabric_for(spec));
}

// Within a share `error` of `value` (doctest's own epsilon is of 1 + value).
inline doctest::Approx near(double value, double error) { return doctest::Approx(value).epsilon(error).scale(0); }

inline std::vector<TopologySpec> every_topology() {
  return {{"torus", {4, 4, 4}},   {"torus", {6, 3}},     {"mesh", {4, 4}},          {"fat-tree", {4, 4}},     {"xgft", {4, 4, 4, 1, 2, 2}},
          {"dragonfly", {2}},     {"megafly", {2, 2, 2, 2}}, {"slim-fly", {5, 2}},  {"hyperx", {2, 4, 4}},    {"jellyfish", {16, 4, 2}},
          {"hypercube", {5}},     {"full-mesh", {12}},   {"qfdb-torus", {2, 2, 2}}, {"qfdb-dragonfly", {3, 1}}};
}

}  // namespace exanet::testing
