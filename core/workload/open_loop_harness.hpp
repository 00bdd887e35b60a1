// SPDX-License-Identifier: Apache-2.0
// Harness of the tests of synthetic traffic: a measurement on the published router and links, and a small shape of
// every topology.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/network/exanet/exanet_harness.hpp"
#include "core/routing/make_topology.hpp"
#include "core/workload/open_loop.hpp"

namespace exanet::testing {

constexpr double kPacketNs = 38 * 6.4;  // words of a packet of 256 bytes on a link, by the time of one

inline OpenLoopResult measure(const TopologySpec& spec, const std::string& pattern, double load, std::uint64_t seed,
                              Time window, const NetworkConfig& fabric) {
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

inline std::vector<TopologySpec> every_topology() {
  return {{"torus", {4, 4, 4}},         {"torus", {6, 3}},         {"mesh", {4, 4}},          {"fat-tree", {4, 4}},
          {"xgft", {4, 4, 4, 1, 2, 2}}, {"dragonfly", {2}},        {"megafly", {2, 2, 2, 2}}, {"slim-fly", {5, 2}},
          {"hyperx", {2, 4, 4}},        {"jellyfish", {16, 4, 2}}, {"hypercube", {5}},        {"full-mesh", {12}},
          {"qfdb-torus", {2, 2, 2}},    {"qfdb-dragonfly", {3, 1}}};
}

// To the bit.
inline void check_same(const OpenLoopResult& a, const OpenLoopResult& b) {
  CHECK(a.created == b.created);
  CHECK(a.measured == b.measured);
  CHECK(a.packets == b.packets);
  CHECK(a.packet_hops == b.packet_hops);
  CHECK(a.accepted_load == b.accepted_load);
  CHECK(a.latency_ns == b.latency_ns);
  CHECK(a.latency_error_ns == b.latency_error_ns);
  CHECK(a.network_latency_ns == b.network_latency_ns);
  CHECK(a.zero_load_ns == b.zero_load_ns);
  CHECK(a.least == b.least);
  CHECK(a.most == b.most);
  CHECK(a.fairness == b.fairness);
  CHECK(a.overtaken == b.overtaken);
  CHECK(a.latest == b.latest);
  CHECK(a.saturated == b.saturated);
  CHECK(a.latency.counts() == b.latency.counts());
  REQUIRE(a.of_priority.size() == b.of_priority.size());
  for (std::size_t i = 0; i < a.of_priority.size(); ++i) {
    CHECK(a.of_priority[i].accepted_load == b.of_priority[i].accepted_load);
    CHECK(a.of_priority[i].latency_ns == b.of_priority[i].latency_ns);
    CHECK(a.of_priority[i].latency.counts() == b.of_priority[i].latency.counts());
  }
  REQUIRE(a.links.size() == b.links.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < a.links.size(); ++i)
    different += a.links[i].use != b.links[i].use || a.links[i].packets != b.links[i].packets ||
                 a.links[i].payload_bytes != b.links[i].payload_bytes;
  CHECK(different == 0);
  CHECK(a.queued == b.queued);
}

}  // namespace exanet::testing
