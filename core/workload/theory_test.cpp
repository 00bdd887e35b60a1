// SPDX-License-Identifier: Apache-2.0
// Do loads and latencies under synthetic traffic agree with what theory says of them?
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/routing/make_topology.hpp"
#include "core/workload/open_loop_harness.hpp"

using namespace exanet;
using namespace exanet::testing;

namespace {

double most_used(const OpenLoopResult& r) {
  double most = 0;
  for (const auto& link : r.links) most = std::max(most, link.use);
  return most;
}

double mean_use(const OpenLoopResult& r) {
  double sum = 0;
  for (const auto& link : r.links) sum += link.use;
  return sum / static_cast<double>(r.links.size());
}

}  // namespace

TEST_CASE("alone in the network a packet takes the time of the formula, on every topology") {
  for (const TopologySpec& spec : every_topology()) {
    CAPTURE(spec.kind);
    const OpenLoopResult r = measure(spec, "incast:1", 0.002, 1, Time::us(2000));
    REQUIRE(r.measured > 3);
    CHECK(r.least == r.most);
    CHECK(r.latency_ns == near(r.zero_load_ns, 1e-12));
    CHECK_FALSE(r.saturated);
  }
}

TEST_CASE("tornado on a ring saturates when each link carries the packets of three senders") {
  const OpenLoopResult below = measure({"torus", {8}}, "tornado", 0.3, 1, Time::us(2000)),
                       above = measure({"torus", {8}}, "tornado", 0.36, 1, Time::us(2000));
  CHECK_FALSE(below.saturated);
  CHECK(below.accepted_load == near(0.3, 0.02));
  CHECK(mean_use(below) == near(0.3 * 3 / 2, 0.02));  // the other direction is idle
  CHECK(above.saturated);
  CHECK(above.mean_hops == 3);
  CHECK(above.accepted_load <=
        1.0 / 3);  // beyond saturation a ring without throttled injection takes less, not as much
  NetworkConfig links_first = published_fabric();
  links_first.router.arbitration =
      RouterConfig::Arbitration::kLinksFirst;  // packets on the way go before new ones, so no less comes through
  CHECK(measure({"torus", {8}}, "tornado", 0.4, 1, Time::us(2000), links_first).accepted_load == near(1.0 / 3, 0.01));
}

TEST_CASE(
    "uniform traffic on a torus: link use follows from distance, accepted load stays below the bisection's bound") {
  const TopologySpec spec{"torus", {8, 8}};
  const OpenLoopResult r = measure(spec, "uniform", 0.5);
  CHECK(r.mean_hops == near(4.0 * 64 / 63, 0.01));
  CHECK(r.accepted_load == near(0.5, 0.03));
  CHECK(mean_use(r) == near(r.accepted_load * r.mean_hops / 4, 0.01));
  CHECK(r.fairness > 0.99);
  const OpenLoopResult full = measure(spec, "uniform", 2.0);
  CHECK(full.saturated);
  CHECK(full.accepted_load < 8.0 / 8 * 64 / 63);  // 2 * 8 links each way across the middle, half of the traffic crosses
  CHECK(full.accepted_load > 0.6);
}

TEST_CASE(
    "a fat tree of full bisection carries the complement without contention, and an incast at the rate of one link") {
  const OpenLoopResult r = measure({"fat-tree", {4, 4, 4}}, "complement", 0.7, 1, Time::us(400));
  CHECK_FALSE(r.saturated);
  CHECK(r.mean_hops == 6);
  CHECK(r.accepted_load == near(0.7, 0.02));
  // A packet waits for others of its sender only: the M/D/1 queue again.
  CHECK(r.latency_ns - r.zero_load_ns == near(0.7 / 0.6 * 38 * 6.4, 0.1));
  const OpenLoopResult incast = measure({"fat-tree", {4, 4, 4}}, "incast:21", 0.5);
  CHECK(incast.saturated);
  CHECK(incast.accepted_load * 21 == near(1, 0.01));
}

namespace {

// Of one direction of each link, packets under uniform traffic for each packet that an endpoint sends, by counting all
// routes.
std::vector<double> channel_loads(const Topology& topology) {
  const std::uint32_t endpoints = topology.endpoint_count();
  std::vector<std::uint32_t> first{0};
  for (NodeId node = 0; node < topology.node_count(); ++node) first.push_back(first.back() + topology.port_count(node));
  std::vector<double> load(first.back());
  for (NodeId src = 0; src < endpoints; ++src)
    for (NodeId dst = 0; dst < endpoints; ++dst)
      for (NodeId at = src; at != dst;) {
        const std::uint16_t port = topology.next_hop(at, dst).port;
        load[first[at] + port] += 1.0 / (endpoints - 1);
        at = topology.neighbour(at, port).node;
      }
  std::vector<double> plugged;  // in the order of OpenLoopResult::links
  for (NodeId node = 0; node < topology.node_count(); ++node)
    for (std::uint16_t port = 0; port < topology.port_count(node); ++port)
      if (topology.neighbour(node, port).node != kNoNode) plugged.push_back(load[first[node] + port]);
  return plugged;
}

}  // namespace

TEST_CASE(
    "on every topology each link carries what counting all routes says, and none accepts more than its busiest link "
    "carries") {
  for (const TopologySpec& spec : every_topology()) {
    CAPTURE(spec.kind);
    const std::vector<double> expected = channel_loads(*make_topology(spec));
    const double most = *std::max_element(expected.begin(), expected.end());
    const double load = 0.4 / std::max(1.0, most);
    const OpenLoopResult r = measure(spec, "uniform", load, 3, Time::us(400));
    CHECK_FALSE(r.saturated);
    REQUIRE(r.links.size() == expected.size());
    double error = 0, allowed = 0;
    const double slots = 400e3 / (38 * 6.4);  // packets that fit into the window
    for (std::size_t i = 0; i < expected.size(); ++i) {
      // A link that pauses, or frames differently, is busy longer: class 0 is the measure of load.
      if (r.links[i].link_class != 0) continue;
      error += std::abs(r.links[i].use - expected[i] * r.accepted_load);
      allowed += std::sqrt(expected[i] * r.accepted_load /
                           slots);  // a Poisson count's deviation; its mean is four fifths of that
    }
    CHECK(error < allowed + 0.01);
    // Waiting is small at this load, and never negative.
    CHECK(r.latency_ns >= r.zero_load_ns * 0.999);
    CHECK(r.latency_ns < 1.6 * r.zero_load_ns);
    // Where all senders are alike, none gets more through than the busiest link has capacity for.
    if (spec.kind != "jellyfish" && spec.kind != "mesh")
      CHECK(measure(spec, "uniform", 1.5 / std::max(0.7, most), 3, Time::us(60)).accepted_load * most < 1.03);
  }
}

TEST_CASE("fair shares: senders of inputs of their own get the same, those behind one input share its turn") {
  // Each input of the receiver's router has its turn: seven links, or two links of a ring's ends.
  CHECK(measure({"full-mesh", {8}}, "incast:7", 1.0, 1, Time::us(400)).fairness > 0.999);
  // The parking lot: on a line the nearest sender has every second turn, the next every second of what is left, and the
  // last two share that: 1/2, 1/4, 1/4 of the last link, whose Jain index is 1 / (3 (1/4 + 1/16 + 1/16)).
  const OpenLoopResult line = measure({"mesh", {4}}, "incast:3", 1.0, 1, Time::us(400));
  CHECK(line.accepted_load * 3 == near(1, 0.01));
  CHECK(line.fairness == near(1 / (3 * (1.0 / 4 + 2.0 / 16)), 0.01));
  // With links first every sixteenth turn is the sender's: the nearest has 1/16 of the last link, the next 1/16 of what
  // is left, the last one the rest.
  NetworkConfig links_first = published_fabric();
  links_first.router.arbitration = RouterConfig::Arbitration::kLinksFirst;
  const double own = 1.0 / 16, next = own * (1 - own), rest = (1 - own) * (1 - own);
  CHECK(measure({"mesh", {4}}, "incast:3", 1.0, 1, Time::us(400), links_first).fairness ==
        near(1 / (3 * (own * own + next * next + rest * rest)), 0.02));
}

TEST_CASE("bursts offer the same load, and wait longer than a Poisson process does") {
  OpenLoopConfig config;
  config.pattern = "incast:1";
  config.load = 0.3;
  config.measure = Time::us(20'000);
  OpenLoop smooth({"mesh", {2}}, published_fabric(), config);
  config.burst = 1;
  OpenLoop single({"mesh", {2}}, published_fabric(), config);
  config.burst = 16;
  OpenLoop bursts({"mesh", {2}}, published_fabric(), config);
  REQUIRE(smooth.run());
  REQUIRE(single.run());
  REQUIRE(bursts.run());
  CHECK(bursts.result().offered_load == near(0.3, 0.05));
  CHECK(single.result().offered_load == near(0.3, 0.05));
  // One sender at its link's own rate never meets another packet: only Poisson arrivals wait.
  CHECK(bursts.result().latency_ns < smooth.result().latency_ns);
  OpenLoopConfig many;
  many.load = 0.4;
  OpenLoop calm({"fat-tree", {4, 4}}, published_fabric(), many);
  many.burst = 32;
  OpenLoop stormy({"fat-tree", {4, 4}}, published_fabric(), many);
  REQUIRE(calm.run());
  REQUIRE(stormy.run());
  CHECK(stormy.result().latency_ns > 1.3 * calm.result().latency_ns);
  many.load = 1.1;
  CHECK_THROWS_WITH_AS(OpenLoop({"torus", {4}}, published_fabric(), many),
                       doctest::Contains("length of bursts must be from 1"), std::invalid_argument);
}

TEST_CASE("adversarial traffic: one global link between two groups of a dragonfly bounds minimal routing") {
  // Groups of 4 switches with 2 endpoints each: complement sends all 8 of a group to one other group, over one link.
  const OpenLoopResult r = measure({"dragonfly", {2}}, "complement", 0.5);
  CHECK(r.saturated);
  CHECK(most_used(r) == near(1, 0.02));
  CHECK(r.accepted_load < 0.3);
}

TEST_CASE("the same seed gives the same run, another seed another") {
  const OpenLoopResult a = measure({"jellyfish", {20, 5, 3}}, "uniform", 0.3),
                       b = measure({"jellyfish", {20, 5, 3}}, "uniform", 0.3),
                       c = measure({"jellyfish", {20, 5, 3}}, "uniform", 0.3, 2);
  CHECK(a.latency.counts() == b.latency.counts());
  CHECK(a.events == b.events);
  CHECK(a.latency_ns == b.latency_ns);
  CHECK(a.latency.counts() != c.latency.counts());
}

TEST_CASE("arrivals of both kinds offer the load that was asked for") {
  for (const bool bernoulli : {false, true}) {
    OpenLoopConfig config;
    config.load = 0.4;
    config.bernoulli = bernoulli;
    OpenLoop loop({"torus", {4, 4}}, published_fabric(), config);
    REQUIRE(loop.run());
    CHECK(loop.result().offered_load == near(0.4, 0.03));
    CHECK(loop.progress() == 1);
  }
}

TEST_CASE("what cannot be run is refused, and a stopped run says so") {
  OpenLoopConfig config;
  config.load = 0;
  CHECK_THROWS_WITH_AS(OpenLoop({"torus", {4}}, published_fabric(), config), doctest::Contains("above 0"),
                       std::invalid_argument);
  config.load = 1.5;
  config.bernoulli = true;
  CHECK_THROWS_WITH_AS(OpenLoop({"torus", {4}}, published_fabric(), config), doctest::Contains("at most 1"),
                       std::invalid_argument);
  config.bernoulli = false;
  config.packet_bytes = 257;
  CHECK_THROWS_WITH_AS(OpenLoop({"torus", {4}}, published_fabric(), config), doctest::Contains("at most 256"),
                       std::invalid_argument);
  config.packet_bytes = 256;
  OpenLoop loop({"torus", {4}}, published_fabric(), config);
  loop.stop();
  CHECK_FALSE(loop.run());
}

TEST_CASE("the packets standing in routers are those of Little's law") {
  // One queue: what stands before the only link, on average, is what goes through it a second times the wait for it.
  // The router's own four cycles and the header's way count as standing, too.
  const OpenLoopResult r = measure({"mesh", {2}}, "incast:1", 0.8, 3, Time::us(40'000));
  REQUIRE(r.watched == 2);
  REQUIRE(r.samples == 200);
  REQUIRE(r.link_use.size() == r.samples * r.links.size());
  double standing = 0;
  for (std::uint32_t sample = 0; sample < r.samples; ++sample) standing += r.queued[sample * 2 + 1] / 200.0;
  const double packets_per_ns = static_cast<double>(r.created) / 40'000e3;
  CHECK(standing == near(packets_per_ns * (r.latency_ns - r.zero_load_ns), 0.25));
  for (std::uint32_t sample = 0; sample < r.samples; ++sample)
    CHECK(r.queued[sample * 2] <= 1);  // at the receiver nothing queues
}

TEST_CASE("a link that is offered more than it carries is in use all the time, and not more") {
  const OpenLoopResult r = measure({"mesh", {2}}, "incast:1", 3, 1, Time::us(10));
  const auto full = std::max_element(r.links.begin(), r.links.end(),
                                     [](const LinkUse& a, const LinkUse& b) { return a.use < b.use; });
  CHECK(full->use == near(1, 0.01));
  CHECK(full->use <= 1);
  for (std::uint32_t sample = 0; sample < r.samples; ++sample) {
    const float use = r.link_use[sample * r.links.size() + static_cast<std::size_t>(full - r.links.begin())];
    CHECK(use <= 1);
    if (sample > 0) CHECK(use > 0.95);
  }
}

TEST_CASE("a window that begins by itself gives the mean of one that begins late") {
  OpenLoopConfig config;
  config.load = 0.4;
  config.measure = Time::us(400);
  config.warm_up = Time::us(800);
  config.settle = true;
  OpenLoop own({"torus", {4, 4, 4}}, published_fabric(), config);
  REQUIRE(own.run());
  CHECK(own.result().settled);
  CHECK(own.result().warm_up < Time::us(800));
  const OpenLoopResult late = measure({"torus", {4, 4, 4}}, "uniform", 0.4, 2, Time::us(400));
  CHECK(
      own.result().latency_ns ==
      near(late.latency_ns, (own.result().latency_error_ns.value() + late.latency_error_ns.value()) / late.latency_ns));
  config.pattern = "incast:8";  // eight senders of 0.4 to one link: the queues at the sources grow for ever
  OpenLoop never({"torus", {4, 4, 4}}, published_fabric(), config);
  REQUIRE(never.run());
  CHECK_FALSE(never.result().settled);
  CHECK(never.result().warm_up == Time::us(800));
  CHECK(never.result().saturated);
}
