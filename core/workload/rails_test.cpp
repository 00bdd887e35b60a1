// SPDX-License-Identifier: Apache-2.0
// Does an endpoint of several rails send and receive at the rate of all its links, under every kind of switching?
#include <doctest/doctest.h>

#include <memory>

#include "core/network/cut_through/switch_harness.hpp"
#include "core/workload/message_run.hpp"
#include "core/workload/open_loop_harness.hpp"

using namespace exanet;
using namespace exanet::testing;

namespace {

constexpr const char* kSwitchings[] = {"exanet", "cut-through", "wormhole"};

NetworkConfig fabric_of(const std::string& switching, const TopologySpec& spec) {
  NetworkConfig fabric = switching == "exanet" ? published_fabric(64) : cell_switch();
  if (switching != "exanet") {
    fabric.input_queued->switching = switching;
    fabric.input_queued->queues = SwitchConfig::Queues::kVirtualOutput;
    fabric.router.inter_fifo_words = 4096;
  }
  fabric.router.vc_allocation = RouterConfig::VcAllocation::kRouting;  // which keeps the order of a pair's packets
  fabric.router.virtual_channels = std::max<std::int64_t>(2, make_topology(spec)->virtual_channels());
  return fabric;
}

TopologySpec tree(std::uint32_t rails, const std::string& routing = "") {
  TopologySpec spec{"fat-tree", {4, 4}};
  spec.rails = rails;
  spec.routing = routing;
  return spec;
}

OpenLoopResult run(const std::string& switching, const TopologySpec& spec, const std::string& pattern, double load) {
  OpenLoopConfig config;
  config.pattern = pattern;
  config.load = load;
  config.packet_bytes = 64;
  config.warm_up = Time::us(20);
  config.measure = Time::us(60);
  OpenLoop loop(spec, fabric_of(switching, spec), config);
  REQUIRE(loop.run());
  return loop.result();
}

}  // namespace

TEST_CASE("rails: at one share of its links' rate an endpoint of two gets twice the packets through, no later") {
  for (const char* switching : kSwitchings) {
    CAPTURE(switching);
    const OpenLoopResult one = run(switching, tree(1), "uniform", 0.4), two = run(switching, tree(2), "uniform", 0.4);
    CHECK(two.senders == one.senders);
    CHECK(one.accepted_load == near(0.4, 0.02));
    CHECK(two.accepted_load == near(0.4, 0.02));
    CHECK(two.accepted_gbps == near(2 * one.accepted_gbps, 0.02));
    CHECK(two.zero_load_ns == near(one.zero_load_ns, 0.01));
    CHECK(two.latency_ns == near(one.latency_ns, 0.05));
    CHECK(two.mean_hops == near(one.mean_hops, 0.01));
    CHECK(two.overtaken == 0);
  }
}

TEST_CASE("rails: beyond saturation two carry twice what one does, and an endpoint of a tree with two parents does") {
  for (const char* switching : kSwitchings) {
    CAPTURE(switching);
    const OpenLoopResult one = run(switching, tree(1), "uniform", 1), two = run(switching, tree(2), "uniform", 1);
    CHECK(two.accepted_load == near(one.accepted_load, 0.06));
    CHECK(two.accepted_gbps > 1.85 * one.accepted_gbps);
    const OpenLoopResult parents = run(switching, {"xgft", {4, 4, 2, 4}}, "uniform", 1);
    CHECK(parents.accepted_gbps > 1.6 * one.accepted_gbps);
  }
}

TEST_CASE("rails: a pair has one of them, and all of them where routing spreads its packets") {
  for (const char* switching : kSwitchings) {
    CAPTURE(switching);
    // 16 endpoints in 4 switches; each sends to one of another switch, to which nobody else sends.
    const double one = run(switching, tree(1), "complement", 1).accepted_gbps;
    const OpenLoopResult pair = run(switching, tree(2), "complement", 1),
                         spray = run(switching, tree(2, "spray"), "complement", 1);
    CHECK(pair.accepted_load < 0.51);
    CHECK(pair.accepted_gbps > 0.9 * one);
    CHECK(pair.overtaken == 0);
    CHECK(spray.accepted_gbps > 1.25 * one);
    CHECK(spray.overtaken > 0);
  }
}

TEST_CASE("rails: messages at packet and at flow level take as long, and half as long as by one link") {
  MessageConfig config;
  config.traffic = "all-to-all";
  config.message_bytes = 16 << 10;
  config.packet_bytes = 64;
  config.rounds = 15;
  double took[2][2];
  for (const std::uint32_t rails : {1u, 2u}) {
    const NetworkConfig fabric = fabric_of("exanet", tree(rails));
    auto packets = make_packet_messages(tree(rails), fabric, config);
    auto flows = make_flow_messages(tree(rails), fabric, config);
    REQUIRE(packets->run());
    REQUIRE(flows->run());
    took[rails - 1][0] = packets->result().completion_ns;
    took[rails - 1][1] = flows->result().completion_ns;
    CHECK(packets->result().mean_hops == near(flows->result().mean_hops, 1e-9));
  }
  // Each round waits for the one before: a message has one rail, and the whole network twice as many.
  CHECK(took[1][0] <= took[0][0] * 1.02);
  CHECK(took[1][1] <= took[0][1] * 1.001);
  CHECK(took[1][0] == near(took[1][1], 0.25));
}
