// SPDX-License-Identifier: Apache-2.0
// Do both ways of sharing lose what moves over a link that goes down, and nothing else, and is all as before once it is
// up again?
#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "core/engine/random.hpp"
#include "core/faults/plan.hpp"
#include "core/flow/flow_simulator.hpp"
#include "core/flow/fluid_simulator.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;
using testing::kMiB;
using testing::near;

namespace {

std::unique_ptr<Flows> make_flows(bool fluid, const FlowNetwork& network) {
  if (fluid) return std::make_unique<FluidSimulator>(network);
  return std::make_unique<FlowSimulator>(network, Time::ns(1));
}

struct Bench {
  Bench(const TopologySpec& spec, bool fluid)
      : topology(make_topology(spec)),
        network(*topology, testing::fabric_for(spec), 256),
        flows(make_flows(fluid, network)) {}

  void advance(Time to) {
    while (flows->step(to)) flows->check_conserved();
    flows->check_conserved();
  }
  void set_link(PortRef link, bool up, Time at) {
    advance(at);
    network.set_link(link, up);
    flows->links_changed();
    flows->check_conserved();
  }
  PortRef link(NodeId from, NodeId to) const {
    for (std::uint16_t port = 0; port < topology->port_count(from); ++port)
      if (topology->neighbour(from, port).node == to) return {from, port};
    FAIL("no link");
    return {};
  }
  // Links, and routes where they follow, as the plan says; then all that is left.
  void run(const FaultPlan& plan) {
    for (const FaultChange& change : plan.changes()) {
      if (topology->follows()) {
        advance(change.at);
        topology->follow(plan.states_at(*topology, change.at));
      }
      set_link({change.node, change.port}, change.up, change.at);
    }
    advance(Time::never());
    REQUIRE(flows->done());
  }
  double link_us(std::uint64_t bytes) const { return network.volume_bits(bytes) / network.endpoint_rate_bps() * 1e6; }

  std::unique_ptr<Topology> topology;
  FlowNetwork network;
  std::unique_ptr<Flows> flows;
};

struct Sent {
  NodeId src, dst;
  std::uint64_t bytes;
  Time at;
};

std::vector<Sent> random_traffic(std::uint32_t nodes, std::uint32_t count, std::uint64_t seed) {
  Random random(seed, 1);
  std::vector<Sent> traffic;
  for (std::uint32_t i = 0; i < count; ++i)
    traffic.push_back({random.below(nodes), random.below(nodes), 256 + random.below(64 * 1024),
                       Time::ns(static_cast<std::int64_t>(random.below(400'000)))});
  return traffic;
}

TopologySpec torus(bool follows) {
  TopologySpec spec{"torus", {4, 4}};
  spec.follows = follows;
  return spec;
}

FaultPlan flapping(const Topology& shape, std::uint64_t seed) {
  FaultPlan plan;
  FaultRate rate;
  rate.between = Time::us(600);
  rate.repair = Time::us(40);
  rate.seed = seed;
  plan.draw(shape, rate, Time::us(500));
  return plan;
}

}  // namespace

TEST_CASE("flows: a message over a link that goes down is lost, others take its share, later ones arrive as ever") {
  for (const bool fluid : {false, true}) {
    CAPTURE(fluid);
    Bench row({"mesh", {3}}, fluid), whole({"mesh", {3}}, fluid);
    const double one = row.link_us(kMiB);
    const auto us = [](double time) { return Time::ps(static_cast<std::int64_t>(time * 1e6)); };
    const FlowId lost = row.flows->add(0, 2, 4 * kMiB, Time()), other = row.flows->add(1, 2, kMiB, us(one)),
                 back = row.flows->add(2, 0, 4 * kMiB, Time()), kept = row.flows->add(1, 0, 2 * kMiB, us(one));
    row.set_link(row.link(0, 1), false, us(2 * one));
    CHECK(row.flows->status(lost) == Status::kLinkDown);
    CHECK(row.flows->status(back) == Status::kLinkDown);
    CHECK(row.flows->finished(lost) == us(2 * one));
    CHECK(row.flows->moved_bits(lost) == 0);
    row.set_link(row.link(1, 0), true, us(10 * one));  // the same link, from its other end
    CHECK(row.flows->status(kept) == Status::kLinkDown);  // of the fluid: behind the other, when that had left
    CHECK(row.flows->lost_count() == 3);
    CHECK(row.flows->status(other) == Status::kOk);
    CHECK(row.flows->finished(other).us_double() == near(2.5 * one, 0.01));  // half of the link, then all of it
    const FlowId after = row.flows->add(0, 2, kMiB, us(10 * one));
    row.advance(Time::never());
    const FlowId alone = whole.flows->add(0, 2, kMiB, us(10 * one));
    whole.advance(Time::never());
    CHECK(row.flows->status(after) == Status::kOk);
    CHECK((row.flows->finished(after) - whole.flows->finished(alone)).ps() <= 1);
    CHECK((whole.flows->finished(alone) - row.flows->finished(after)).ps() <= 1);
    CHECK(row.flows->done());
  }
}

TEST_CASE("flows: what leaves while a link of its route is down is lost, and what waits behind it goes") {
  for (const bool fluid : {false, true}) {
    CAPTURE(fluid);
    Bench row({"mesh", {3}}, fluid);
    row.set_link(row.link(1, 2), false, Time::us(1));
    std::vector<FlowId> lost, kept;
    for (int i = 0; i < 3; ++i) {  // in turn, at times of their own: more than the router's FIFO holds, and less
      lost.push_back(row.flows->add(0, 2, 64 * 1024, Time::us(2 + 2 * i)));
      kept.push_back(row.flows->add(0, 1, 64 * 1024, Time::us(3 + 2 * i)));
      kept.push_back(row.flows->add(0, 1, 4096, Time::us(2000 + i)));
      lost.push_back(row.flows->add(0, 2, 4096, Time::us(2000 + i) + Time::ns(100)));
      kept.push_back(row.flows->add(0, 1, 4096, Time::us(2000 + i) + Time::ns(200)));
    }
    row.advance(Time::never());
    REQUIRE(row.flows->done());
    for (const FlowId flow : lost) CHECK(row.flows->status(flow) == Status::kLinkDown);
    for (const FlowId flow : kept) CHECK(row.flows->status(flow) == Status::kOk);
    CHECK(row.flows->lost_count() == lost.size());
    for (const double bits : row.flows->use_bits()) CHECK(bits >= 0);
    CHECK(row.flows->use_bits()[row.network.link(1, row.link(1, 2).port)] == 0);
  }
}

TEST_CASE("flows: routes that follow states of links go round the one that is down") {
  for (const bool fluid : {false, true}) {
    CAPTURE(fluid);
    Bench bench(torus(true), fluid);
    FaultPlan plan;
    plan.add({Time::us(5), 0, bench.link(0, 1).port, false});
    const FlowId during = bench.flows->add(0, 1, kMiB, Time()), round = bench.flows->add(0, 1, kMiB, Time::us(6));
    bench.run(plan);
    CHECK(bench.flows->status(during) == Status::kLinkDown);
    CHECK(bench.flows->status(round) == Status::kOk);
    CHECK(bench.flows->mean_hops() == 2);  // one and three
  }
}

TEST_CASE("flows: a link that goes down at time 0 is one that has failed from the beginning") {
  for (const bool fluid : {false, true}) {
    CAPTURE(fluid);
    Bench follows(torus(true), fluid);
    const PortRef link = follows.link(5, 6);
    TopologySpec failed = torus(false);
    failed.failed = {follows.topology->node_name(5) + " " + follows.topology->port_name(5, link.port)};
    Bench fixed(failed, fluid);
    FaultPlan plan;
    plan.add({Time(), link.node, link.port, false});
    const std::vector<Sent> traffic = random_traffic(16, 300, 7);
    for (Bench* bench : {&follows, &fixed})
      for (const Sent& s : traffic) bench->flows->add(s.src, s.dst, s.bytes, s.at);
    follows.run(plan);
    fixed.run({});
    CHECK(follows.flows->lost_count() == 0);
    for (FlowId flow = 0; flow < traffic.size(); ++flow)
      CHECK(follows.flows->finished(flow) == fixed.flows->finished(flow));
  }
}

TEST_CASE("flows: links that flap by a drawn plan: each message arrives or is lost, and runs repeat") {
  for (const bool fluid : {false, true})
    for (const bool reroutes : {false, true})
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        CAPTURE(fluid);
        CAPTURE(reroutes);
        CAPTURE(seed);
        const std::vector<Sent> traffic = random_traffic(16, 400, seed);
        std::vector<Time> first;
        for (int repetition = 0; repetition < 2; ++repetition) {
          Bench bench(torus(reroutes), fluid);
          for (const Sent& s : traffic) bench.flows->add(s.src, s.dst, s.bytes, s.at);
          const FaultPlan plan = flapping(*bench.topology, seed);
          REQUIRE(plan.changes().size() > 20);
          bench.run(plan);
          CHECK(bench.flows->finished_count() == traffic.size());
          CHECK(bench.flows->lost_count() > 0);
          CHECK(bench.flows->lost_count() < traffic.size() / 2);
          std::vector<Time> times;
          for (FlowId flow = 0; flow < traffic.size(); ++flow) times.push_back(bench.flows->finished(flow));
          if (repetition > 0) CHECK(times == first);
          first = times;
        }
      }
}
