// SPDX-License-Identifier: Apache-2.0
// How fast is simulated traffic, and what does a node cost? Not part of the fast suite: core_tests --no-skip
// -tc='*synthetic traffic*'
#include <doctest/doctest.h>

#include <cstdio>

#include "core/network/exanet/exanet_harness.hpp"
#include "core/workload/open_loop.hpp"

using namespace exanet;

TEST_CASE("packet-hops a second of processor time under synthetic traffic" * doctest::skip()) {
  struct Case {
    TopologySpec spec;
    const char* pattern;
    double load;
    std::int64_t window_us;
  };
  // Packets of 34 words. The cubes accept 0.80 and 0.40 of uniform traffic at most: 30 and 60 % of that.
  for (const Case& c :
       {Case{{"torus", {8, 8, 8}}, "uniform", 0.24, 1000}, Case{{"torus", {8, 8, 8}}, "uniform", 0.48, 500},
        Case{{"torus", {16, 16, 16}}, "uniform", 0.12, 100}, Case{{"torus", {16, 16, 16}}, "uniform", 0.24, 50},
        Case{{"fat-tree", {8, 8, 16}}, "permutation", 0.3, 200}, Case{{"dragonfly", {13}}, "uniform", 0.1, 20}}) {
    OpenLoopConfig config;
    config.pattern = c.pattern;
    config.packet_bytes = 512;
    config.load = 1e-6;
    config.warm_up = Time();
    config.measure = Time::ns(1);
    NetworkConfig fabric = testing::published_fabric(512);
    OpenLoop idle(c.spec, fabric, config);
    REQUIRE(idle.run());
    config.load = c.load;
    config.warm_up = Time::us(20);
    config.measure = Time::us(c.window_us);
    OpenLoop busy(c.spec, fabric, config);
    REQUIRE(busy.run());
    const OpenLoopResult& r = busy.result();
    const double rate = static_cast<double>(r.packet_hops) / r.cpu_s;
    std::printf("%s of %u endpoints, %s, load %.2f: %.2f M packet-hops/s, %.2f events a hop; %.0f bytes a node, idle\n",
                c.spec.kind.c_str(), busy.topology().endpoint_count(), c.pattern, c.load, rate * 1e-6,
                static_cast<double>(r.events) / static_cast<double>(r.packet_hops),
                static_cast<double>(idle.result().memory_bytes) / busy.topology().node_count());
    CHECK_FALSE(r.saturated);
    CHECK(rate > 0.3e6);
  }
}
