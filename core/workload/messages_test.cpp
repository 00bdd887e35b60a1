// SPDX-License-Identifier: Apache-2.0
// Message plans: what they say, that both levels carry them out, and how far the two agree.
#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

#include "core/config/error.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/routing/make_topology.hpp"
#include "core/workload/message_run.hpp"

using namespace exanet;
using testing::fabric_for;
using testing::near;

namespace {

MessageResult carry(const TopologySpec& spec, const MessageConfig& config, bool packets) {
  const auto run = packets ? make_packet_messages(spec, fabric_for(spec), config)
                           : make_flow_messages(spec, fabric_for(spec), config);
  REQUIRE(run->run());
  CHECK(run->progress() == 1);
  return run->result();
}

MessageConfig burst(const std::string& traffic, std::uint64_t bytes = 1 << 16) {
  MessageConfig config;
  config.traffic = traffic;
  config.message_bytes = bytes;
  return config;
}

}  // namespace

TEST_CASE("an incast of n senders takes n times as long as one, at both levels") {
  for (const bool packets : {false, true}) {
    CAPTURE(packets);
    const MessageResult r = carry({"fat-tree", {4, 4}}, burst("incast:15"), packets);
    CHECK(r.senders == 15);
    CHECK(r.completion_ns == near(15 * 256 * 38 * 6.4, 0.02));
    CHECK(r.accepted_load * 15 == near(1, 0.02));
  }
}

TEST_CASE("a message alone takes the same at both levels, whatever its size") {
  for (const std::uint64_t bytes : {1u, 256u, 1000u, 100'000u}) {
    CAPTURE(bytes);
    const MessageResult flow = carry({"torus", {4, 4}}, burst("incast:1", bytes), false),
                        packet = carry({"torus", {4, 4}}, burst("incast:1", bytes), true);
    CHECK(flow.latency_ns == near(packet.latency_ns, 0.02));
    CHECK(flow.slowdown == near(1, 1e-3));
  }
}

TEST_CASE("rounds follow each other, at both levels") {
  for (const bool packets : {false, true}) {
    MessageConfig config = burst("complement");
    const MessageResult once = carry({"torus", {4, 4}}, config, packets);
    config.rounds = 3;
    const MessageResult thrice = carry({"torus", {4, 4}}, config, packets);
    CHECK(thrice.created == 3 * once.created);
    CHECK(thrice.completion_ns == near(3 * once.completion_ns, 0.1));
  }
}

TEST_CASE(
    "permutations: paced by its rates, the packet level does what the flow level says; left to itself it is never "
    "faster") {
  for (const TopologySpec& spec :
       {TopologySpec{"torus", {4, 4, 4}}, TopologySpec{"fat-tree", {4, 4, 4}}, TopologySpec{"hypercube", {6}}})
    for (const char* traffic :
         {"transpose", "complement", "reversal", "shuffle", "butterfly", "tornado", "permutation"}) {
      CAPTURE(spec.kind);
      CAPTURE(std::string(traffic));
      MessageConfig config = burst(traffic, 1 << 14);
      const MessageResult flow = carry(spec, config, false), free = carry(spec, config, true);
      config.paced = true;
      const MessageResult paced = carry(spec, config, true);
      CHECK(flow.completion_ns == near(paced.completion_ns, 0.04));
      CHECK(flow.latency_ns == near(paced.latency_ns, 0.04));
      CHECK(flow.completion_ns < free.completion_ns * 1.04);
      CHECK(flow.mean_hops == near(free.mean_hops, 1e-9));
    }
}

TEST_CASE("an open loop below saturation accepts what is offered, at both levels") {
  MessageConfig config = burst("uniform", 4096);
  config.load = 0.3;
  config.warm_up = Time::us(100);
  config.measure = Time::us(300);
  for (const bool packets : {false, true}) {
    const MessageResult r = carry({"torus", {4, 4}}, config, packets);
    CHECK_FALSE(r.saturated);
    CHECK(r.offered_load == near(0.3, 0.1));
    CHECK(r.accepted_load == near(r.offered_load, 0.05));
    CHECK(r.created == r.measured);
    CHECK(r.slowdown > 1);
  }
  config.load = 3;
  config.warm_up = Time::us(20);
  config.measure = Time::us(60);
  const MessageResult r = carry({"torus", {4, 4}}, config, false);
  CHECK(r.saturated);
}

TEST_CASE(
    "sizes that are drawn: as many bytes as the load says, the same messages at both levels, each class with its own "
    "figures") {
  MessageConfig config = burst("uniform");
  config.sizes = "ali-storage";
  config.load = 0.2;
  config.measure = Time::us(4000);
  MessageResult results[2];
  for (const bool packets : {false, true}) {
    MessageResult& r = results[packets] = carry({"torus", {3, 3}}, config, packets);
    CHECK(r.offered_load == near(0.2, 0.5));
    REQUIRE(r.of_size.size() == 4);
    std::uint64_t created = 0, measured = 0;
    for (const SizeClass& c : r.of_size) created += c.created, measured += c.measured;
    CHECK(created == r.created);
    CHECK(measured == r.measured);
    CHECK(r.of_size[0].latency_ns < r.of_size[2].latency_ns);
    CHECK(r.slowdown >= 1);
    CHECK_FALSE(r.saturated);  // though a long message that the window's end cuts may be a tenth of all bytes
    for (const double share : {0.0, 0.5, 0.999, 1.0}) {
      CHECK(r.latency.quantile(share) >= static_cast<std::uint64_t>(r.least.ps()));
      CHECK(r.latency.quantile(share) <= static_cast<std::uint64_t>(r.most.ps()));
    }
  }
  CHECK(results[0].created == results[1].created);
  CHECK(results[0].mean_bytes == results[1].mean_bytes);
  CHECK(results[0].latency_ns == near(results[1].latency_ns, 0.05));
}

TEST_CASE(
    "an interface sends its messages in turn, at both levels: a short one behind a long one does not wait for all of "
    "it") {
  MessageConfig config = burst("incast:1");
  config.load = 0.6;
  config.sizes = "web-search";
  config.measure = Time::us(60'000);
  for (const bool packets : {false, true}) {
    const MessageResult r = carry({"torus", {2}}, config, packets);
    REQUIRE(r.of_size[1].measured > 0);
    // Behind all of it, it would take as long as messages of a megabyte: hundreds of times what it takes alone.
    CHECK(r.of_size[1].slowdown < 10);
  }
}

TEST_CASE("the same seed gives the same run, another seed another") {
  MessageConfig config = burst("uniform");
  config.rounds = 3;
  const auto counts = [&] { return carry({"jellyfish", {20, 5, 3}}, config, false).latency.counts(); };
  const auto first = counts();
  CHECK(first == counts());
  config.seed = 2;
  CHECK(first != counts());
}

TEST_CASE("plans that cannot be made are refused, and a stopped run says so") {
  const TopologySpec spec{"torus", {3, 3}};
  const auto complaint = [&](const MessageConfig& config) -> std::string {
    try {
      make_flow_messages(spec, fabric_for(spec), config);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  };
  CHECK(complaint(burst("unifrom")).find("use one of") != std::string::npos);
  CHECK(complaint(burst("uniform", 0)).find("1 byte") != std::string::npos);
  MessageConfig config = burst("uniform");
  config.rounds = 0;
  CHECK(complaint(config).find("round") != std::string::npos);
  config.rounds = 1u << 30;
  CHECK(complaint(config).find("more than") != std::string::npos);
  config.rounds = 2;
  config.paced = true;
  CHECK(complaint(config).find("one round") != std::string::npos);
  config = burst("uniform");
  config.sizes = "hadop";
  CHECK(complaint(config).find("use one of web-search, hadoop, ali-storage") != std::string::npos);
  config.sizes = "hadoop";
  config.fluid = true;
  CHECK(complaint(config).find("max-min") != std::string::npos);
  config = burst("uniform");
  config.load = -1;
  CHECK(complaint(config).find("above 0") != std::string::npos);
  for (const bool packets : {false, true}) {
    const auto run = packets ? make_packet_messages(spec, fabric_for(spec), burst("complement"))
                             : make_flow_messages(spec, fabric_for(spec), burst("complement"));
    run->stop();
    CHECK_FALSE(run->run());
  }
}

TEST_CASE(
    "messages: routing that looks at queues carries them packet by packet, and is refused where rates are computed") {
  TopologySpec spec{"torus", {4, 4}};
  spec.routing = "ugal-l";
  NetworkConfig fabric = testing::published_fabric();
  fabric.router.virtual_channels = 6;
  fabric.router.inter_fifo_words = 512;
  fabric.router.header_fifo_words = 128;
  MessageConfig config;
  config.message_bytes = 4096;
  const auto packets = make_packet_messages(spec, fabric, config);
  REQUIRE(packets->run());
  CHECK(packets->result().measured == 16);
  CHECK_THROWS_WITH_AS(make_flow_messages(spec, fabric, config), doctest::Contains("looks at queues"), ConfigError);
  config.paced = true;
  CHECK_THROWS_WITH_AS(make_packet_messages(spec, fabric, config), doctest::Contains("looks at queues"), ConfigError);
}

namespace {

// Chi-square of what 16 messages of 25 packets each put on the 16 uplinks of their leaf; 99.9 % of fair draws are below
// 37.7.
double uplink_chi_square(const std::string& switching) {
  TopologySpec spec{"fat-tree", {16, 16}};
  spec.routing = "spray";
  NetworkConfig fabric = fabric_for(spec);
  fabric.router.intra_fifo_words = 1 << 15;
  fabric.router.header_fifo_words = 1 << 15;  // the whole message is handed over at one time
  if (switching != "exanet") {
    fabric.input_queued.emplace();
    fabric.input_queued->switching = switching;
    fabric.input_queued->queues = SwitchConfig::Queues::kVirtualOutput;
  }
  MessageConfig config = burst("complement", 25 * 256);
  const auto run = make_packet_messages(spec, fabric, config);
  REQUIRE(run->run());
  double packets = 0, square = 0;
  for (const LinkUse& link : run->result().links) {
    if (link.node != 256 || link.port < 16) continue;  // up from the first leaf
    packets += static_cast<double>(link.packets);
    square += static_cast<double>(link.packets * link.packets);
  }
  CHECK(packets == 400);
  return square / (packets / 16) - packets;
}

}  // namespace

TEST_CASE("each packet of a message draws for itself: chi-square of what it sends by 16 uplinks") {
  for (const char* switching : {"exanet", "cut-through", "wormhole"}) {
    CAPTURE(switching);
    const double chi_square = uplink_chi_square(switching);
    MESSAGE(switching << " " << chi_square);
    CHECK(chi_square < 37.7);
    CHECK(chi_square > 3.5);  // 0.1 % are below: turns, not draws
  }
}

TEST_CASE("each packet of a message draws an intermediate of its own") {
  TopologySpec spec{"torus", {4, 4}};
  spec.routing = "valiant";
  const auto run = make_packet_messages(spec, fabric_for(spec), burst("incast:1", 400 * 256));
  REQUIRE(run->run());
  // One intermediate takes at most 6 links; 16 intermediates pass almost all of the 64.
  CHECK(std::ranges::count_if(run->result().links, [](const LinkUse& link) { return link.packets > 0; }) > 24);
}
