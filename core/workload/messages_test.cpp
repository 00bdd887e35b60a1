// SPDX-License-Identifier: Apache-2.0
// Message plans: what they say, that both levels carry them out, and how far the two agree.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "core/fabric/fabric_harness.hpp"
#include "core/workload/message_run.hpp"

using namespace exanet;

namespace {

FabricConfig fabric_for(const TopologySpec& spec) {
  FabricConfig fabric = testing::published_fabric();
  fabric.router.virtual_channels = std::max<std::int64_t>(2, make_topology(spec)->virtual_channels());
  return fabric;
}

MessageResult carry(const TopologySpec& spec, const MessageConfig& config, bool packets) {
  const auto run = packets ? make_packet_messages(spec, fabric_for(spec), config) : make_flow_messages(spec, fabric_for(spec), config);
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

doctest::Approx near(double value, double error) { return doctest::Approx(value).epsilon(error).scale(0); }

// Every message in an order in which those that it waits for come first; empty when some wait for each other.
std::vector<std::uint32_t> in_order(const MessagePlan& plan) {
  std::vector<std::uint32_t> waits(plan.messages.size()), order;
  for (const auto& [message, earlier] : plan.after) ++waits[message];
  for (std::uint32_t m = 0; m < waits.size(); ++m)
    if (waits[m] == 0) order.push_back(m);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const auto& [message, earlier] : plan.after)
      if (earlier == order[i] && --waits[message] == 0) order.push_back(message);
  return order;
}

}  // namespace

TEST_CASE("collectives bring everything everywhere, each message after those that bring what it carries") {
  for (const std::uint32_t n : {2u, 4u, 8u, 7u}) {
    const TopologySpec spec{"full-mesh", {n}};
    const auto topology = make_topology(spec);
    for (const std::string& name : collective_names()) {
      if (name == "allreduce-doubling" && n == 7) continue;
      CAPTURE(name);
      CAPTURE(n);
      MessageConfig config = burst(name, 7000);
      const MessagePlan plan = make_message_plan(config, *topology, spec, 1e9);
      const std::vector<std::uint32_t> order = in_order(plan);
      REQUIRE(order.size() == plan.messages.size());
      // What each endpoint knows of: everything that its senders knew when they sent.
      std::vector<std::set<NodeId>> knows(n);
      for (NodeId i = 0; i < n; ++i) knows[i].insert(i);
      for (const std::uint32_t m : order) knows[plan.messages[m].dst].insert(knows[plan.messages[m].src].begin(), knows[plan.messages[m].src].end());
      for (NodeId i = 0; i < n; ++i) CHECK((name == "broadcast-binomial" ? knows[i].contains(0) : knows[i].size() == n));
    }
  }
}

TEST_CASE("the ring allreduce takes the time of its steps on a ring") {
  const std::uint32_t n = 8;
  const MessageResult r = carry({"torus", {n}}, burst("allreduce-ring", n * 25'600), false);
  const double step_ns = 100 * 38 * 6.4 + r.zero_load_ns - 100 * 38 * 6.4;  // no step disturbs another
  CHECK(r.created == 2 * (n - 1) * n);
  CHECK(r.completion_ns == near(2 * (n - 1) * step_ns, 1e-3));
  CHECK(r.slowdown == near(1, 1e-3));
  CHECK(r.fairness == near(1, 1e-6));
}

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

TEST_CASE("bursts of permutations: the flow level ends when the packet level does") {
  for (const TopologySpec& spec : {TopologySpec{"torus", {4, 4, 4}}, TopologySpec{"fat-tree", {4, 4, 4}}, TopologySpec{"hypercube", {6}}})
    for (const char* traffic : {"transpose", "complement", "reversal", "shuffle", "butterfly", "tornado", "permutation"}) {
      CAPTURE(spec.kind);
      CAPTURE(traffic);
      const MessageResult flow = carry(spec, burst(traffic), false), packet = carry(spec, burst(traffic), true);
      CHECK(flow.completion_ns == near(packet.completion_ns, 0.1));
      CHECK(flow.mean_hops == near(packet.mean_hops, 1e-9));
    }
}

TEST_CASE("an open loop below saturation accepts what is offered, at both levels") {
  MessageConfig config = burst("uniform", 4096);
  config.load = 0.3;
  config.warm_up = Time::us(100);
  config.measure = Time::us(400);
  for (const bool packets : {false, true}) {
    const MessageResult r = carry({"torus", {4, 4}}, config, packets);
    CHECK_FALSE(r.saturated);
    CHECK(r.offered_load == near(0.3, 0.1));
    CHECK(r.accepted_load == near(r.offered_load, 0.05));
    CHECK(r.created == r.measured);
    CHECK(r.slowdown > 1);
  }
  config.load = 3;
  const MessageResult r = carry({"torus", {4, 4}}, config, false);
  CHECK(r.saturated);
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
  CHECK(complaint(burst("allreduce-doubling")).find("power of two") != std::string::npos);
  CHECK(complaint(burst("unifrom")).find("use one of") != std::string::npos);
  CHECK(complaint(burst("uniform", 0)).find("1 byte") != std::string::npos);
  MessageConfig config = burst("uniform");
  config.rounds = 0;
  CHECK(complaint(config).find("round") != std::string::npos);
  config.rounds = 1u << 30;
  CHECK(complaint(config).find("more than") != std::string::npos);
  config = burst("allreduce-ring");
  config.load = 0.5;
  CHECK(complaint(config).find("neither a load") != std::string::npos);
  for (const bool packets : {false, true}) {
    const auto run = packets ? make_packet_messages(spec, fabric_for(spec), burst("complement"))
                             : make_flow_messages(spec, fabric_for(spec), burst("complement"));
    run->stop();
    CHECK_FALSE(run->run());
  }
}
