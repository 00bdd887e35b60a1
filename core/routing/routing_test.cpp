// SPDX-License-Identifier: Apache-2.0
// Does each routing do what it is for?
#include "core/routing/routing.hpp"

#include <doctest/doctest.h>

#include "core/routing/channel_graph.hpp"
#include "core/routing/routing_harness.hpp"
#include "core/units/size_harness.hpp"

using namespace exanet;
using namespace exanet::testing;

TEST_CASE(
    "without channels of their own the legs of valiant close a cycle, and so do free shortest routes without an "
    "escape") {
  const auto topology = make_topology({"torus", {4, 4}});
  // A packet may take any shortest route in the channels of dimension order: what would happen without an escape.
  ChannelGraph graph(*topology, 1);
  for (NodeId dst = 0; dst < 16; ++dst)
    for (NodeId at = 0; at < 16; ++at) {
      PortList here;
      if (at != dst) topology->minimal_ports(at, dst, here);
      for (std::uint32_t i = 0; i < here.count; ++i) {
        const NodeId beyond = topology->neighbour(at, here.port[i]).node;
        PortList there;
        if (beyond != dst) topology->minimal_ports(beyond, dst, there);
        for (std::uint32_t j = 0; j < there.count; ++j)
          graph.depends(graph.channel(at, {here.port[i], 0}), graph.channel(beyond, {there.port[j], 0}));
      }
    }
  CHECK_FALSE(graph.find_cycle().empty());
}

TEST_CASE(
    "valiant makes adversarial traffic like uniform traffic: half of what the network carries, whatever the pattern") {
  // Tornado on a ring of 8 loads the links of one direction with three packets a sender; through random middles both
  // directions share 4.
  const TopologySpec ring{"torus", {8}};
  const double own = measure(ring, "tornado", 0.9).accepted_load,
               valiant = measure(with(ring, "valiant"), "tornado", 0.9).accepted_load;
  CHECK(valiant > 0.95 * own);
  // Uniform traffic goes twice as far.
  const TopologySpec cube{"torus", {4, 4, 4}};
  const OpenLoopResult near = measure(cube, "uniform", 0.1), far = measure(with(cube, "valiant"), "uniform", 0.1);
  CHECK(far.mean_hops / near.mean_hops == doctest::Approx(2).epsilon(0.05));
  const double most = measure(cube, "uniform", 3).accepted_load,
               half = measure(with(cube, "valiant"), "uniform", 3).accepted_load;
  CHECK(half / most > 0.4);
  CHECK(half / most < 0.65);
}

TEST_CASE(
    "on a dragonfly, routes over another group beat minimal ones under adversarial traffic, and UGAL keeps to those "
    "under uniform") {
  const TopologySpec fly{"dragonfly", {2}};  // complement sends all 8 endpoints of a group over one link
  const double minimal = measure(fly, "complement", 0.4).accepted_load;
  for (const std::string name : {"valiant", "ugal-l", "ugal-g", "par"}) {
    CAPTURE(name);
    const OpenLoopResult adverse = measure(with(fly, name), "complement", 0.4);
    CHECK(adverse.accepted_load > 1.7 * minimal);
  }
  const double hops = measure(fly, "uniform", 0.2).mean_hops;
  CHECK(measure(with(fly, "valiant"), "uniform", 0.2).mean_hops > 1.3 * hops);
  for (const std::string name : {"ugal-l", "ugal-g", "par"}) {
    CAPTURE(name);
    CHECK(measure(with(fly, name), "uniform", 0.2).mean_hops < 1.05 * hops);
    CHECK(measure(with(fly, name), "uniform", 0.05).mean_hops <
          1.005 * hops);  // a link's worth of packets under way is no queue
  }
}

TEST_CASE(
    "UGAL and PAR carry what Valiant does of the worst traffic of a dragonfly, and beyond saturation, and almost what "
    "minimal routes do of uniform traffic") {
  struct Case {
    TopologySpec fly;
    const char* worst;  // each group sends to the next one, whom one link joins to it
  };
  for (const Case& c : {Case{{"dragonfly", {2}}, "next-group:8"}, Case{{"dragonfly", {3}}, "next-group:18"}}) {
    if (c.fly.shape.front() != 2 && !in_full()) continue;
    const double minimal = measure(c.fly, "uniform", 0.8, Time::us(20)).accepted_load;
    const double valiant = measure(with(c.fly, "valiant"), c.worst, 0.6).accepted_load;
    CHECK(valiant > 3 * measure(c.fly, c.worst, 0.6, Time::us(20)).accepted_load);
    for (const std::string name : {"ugal-l", "ugal-g", "par"}) {
      CAPTURE(name);
      const double full = measure(with(c.fly, name), c.worst, 0.4).accepted_load;
      const double beyond = measure(with(c.fly, name), c.worst, 0.6).accepted_load;
      const double uniform = measure(with(c.fly, name), "uniform", 0.8, Time::us(20)).accepted_load;
      MESSAGE(c.worst << " " << name << ": " << full << " and " << beyond << ", Valiant " << valiant << "; uniform "
                      << uniform << " of " << minimal);
      CHECK(full > 0.96 * 0.4);
      CHECK(beyond > valiant);
      CHECK(uniform > 0.85 * minimal);
    }
  }
}

TEST_CASE("routers of more than 128 inputs: a dragonfly of 840 whose switches have 22 ports of six channels") {
  const TopologySpec fly{
      "dragonfly", {2, 20, 1}};  // 40 senders of a group share the link to the next one, and 20 all links of theirs
  const double minimal = measure(fly, "next-group:40", 0.3, Time::us(20)).accepted_load;
  CHECK(minimal == doctest::Approx(1.0 / 40).epsilon(0.02));
  for (const std::string name : {"valiant", "ugal-l"}) {
    CAPTURE(name);
    const OpenLoopResult r = measure(with(fly, name), "next-group:40", 0.2, Time::us(20));
    CHECK(r.accepted_load > 0.19);
    CHECK_FALSE(r.saturated);
  }
}

TEST_CASE("adaptive routing beats dimension order on transpose, and a fat tree's digits on a random permutation") {
  const TopologySpec square{"torus", {8, 8}}, tree{"fat-tree", {4, 4, 4}};
  const double order = measure(square, "transpose", 1).accepted_load,
               adaptive = measure(with(square, "adaptive"), "transpose", 1).accepted_load;
  CHECK(adaptive > 1.2 * order);
  const double digits = measure(tree, "permutation", 1).accepted_load,
               least = measure(with(tree, "adaptive"), "permutation", 1).accepted_load;
  CHECK(least > 1.1 * digits);
  // A shortest route it is, whichever.
  const OpenLoopResult uniform = measure(with(square, "adaptive"), "uniform", 0.3);
  CHECK(uniform.mean_hops == doctest::Approx(4.0 * 64 / 63).epsilon(0.01));
}

TEST_CASE("a switch that fails takes its endpoints along") {
  const auto topology = make_topology(with({"fat-tree", {4, 4}}, "", {"switch(1,0,0)"}));
  for (NodeId e = 0; e < 16; ++e) CHECK(topology->alive(e) == (e >= 4));
  CHECK(measure(with({"fat-tree", {4, 4}}, "", {"switch(1,0,0)"}), "complement", 0.1).senders ==
        8);  // nobody sends to or from the lost four
}

TEST_CASE("a routing that does not exist or does not fit is refused with advice") {
  CHECK(complaint(with({"torus", {4}}, "fastest")).find("use one of minimal, up-down, valiant") != std::string::npos);
  CHECK(complaint(with({"torus", {4}}, "shortest")).find("use one of") != std::string::npos);
  CHECK(complaint(with({"torus", {4, 4}}, "", {"(9,9)"})).find("neither a node nor a link") != std::string::npos);
  CHECK(complaint(with({"torus", {4, 4}}, "", {"links:many"})).find("is not understood") != std::string::npos);
  CHECK(complaint(with({"torus", {4, 4}}, "", {"links:33"})).find("this machine has 32") != std::string::npos);
  CHECK(complaint(with({"mesh", {4}}, "", {"links:1"})).find("split the network into parts") != std::string::npos);
}

TEST_CASE(
    "over intermediates packets arrive where endpoints have several links, and pass through endpoints round what has "
    "failed") {
  for (const char* policy : {"valiant", "ugal-l", "par"}) {
    TopologySpec spec{"xgft", {4, 4, 2, 2}};
    spec.routing = policy;
    spec.failed = {"links:1:742"};
    const auto topology = make_topology(spec);
    struct Queues final : CongestionView {
      mutable Random random{7};
      std::uint32_t queued_words(NodeId, std::uint16_t) const override { return random.below(4000); }
      std::uint32_t channel_words(NodeId, Hop) const override { return random.below(400); }
      bool has_credit(NodeId, Hop) const override { return true; }
    } queues;
    std::uint32_t second = 0;
    for (NodeId src = 0; src < topology->endpoint_count(); ++src)
      for (NodeId dst = 0; dst < topology->endpoint_count(); ++dst)
        for (std::uint64_t draw = 0; draw < 20; ++draw) {
          std::uint32_t state = 0, hops = 0;
          for (NodeId at = src; at != dst && hops < 30; ++hops) {
            const Hop hop = topology->routing()->choose({at, dst, 8, Random(draw, src).next()}, state, queues);
            REQUIRE(hop.vc < topology->virtual_channels());
            if (hops == 0) second += hop.port;
            at = topology->neighbour(at, hop.port).node;
          }
          REQUIRE(hops < 30);
        }
    CHECK(second > 1000);  // of 4800 that leave by the one link or the other
    CHECK(topology->routing()->find_cycle({}).empty());
  }
}

TEST_CASE(
    "routes up a fat tree: drawn for each pair or packet they carry permutations that one rule for all does not, and "
    "sprayed packets overtake") {
  const auto carried = [](const std::string& routing) {
    return measure(with({"fat-tree", {4, 4, 4}}, routing), "transpose", 1);
  };
  const OpenLoopResult own = carried(""), random = carried("random"), spray = carried("spray");
  CHECK(own.accepted_load < 0.35);  // four of transpose's packets share each way up
  CHECK(random.accepted_load > own.accepted_load * 1.3);
  CHECK(spray.accepted_load > own.accepted_load * 2);
  CHECK(own.overtaken == 0);
  CHECK(random.overtaken == 0);
  CHECK(spray.overtaken > 0.05);
  CHECK(spray.latest > Time::ns(200));
}

TEST_CASE("routes up a fat tree: other topologies are refused") {
  for (const char* name : {"random", "spray"}) {
    CHECK(complaint(with({"torus", {4, 4}}, name)).find("needs a topology with several equal routes") !=
          std::string::npos);
    CHECK(complaint(with({"xgft", {4, 4, 1, 2}}, name)).empty());
  }
}

TEST_CASE("adaptive routing still adapts when a link has failed") {
  const TopologySpec cube{"torus", {4, 4, 4}};
  const auto carried = [&](const std::string& routing, const std::vector<std::string>& failed) {
    return measure(with(cube, routing, failed), "permutation", 0.9).accepted_load;
  };
  const double whole = carried("adaptive", {}), failed = carried("adaptive", {"links:1:1"}),
               minimal = carried("", {"links:1:1"});
  MESSAGE("adaptive " << whole << ", with a failed link " << failed << ", minimal " << minimal);
  CHECK(failed > 0.93 * whole);
  CHECK(failed > 1.1 * minimal);
}

TEST_CASE("what is drawn up a degraded fat tree is drawn among all that is left, and nothing goes astray") {
  for (const char* name : {"random", "spray", "adaptive"}) {
    CAPTURE(name);
    const TopologySpec tree = with({"fat-tree", {4, 4, 4}}, name, {"links:3:5"});
    const auto topology = make_topology(tree);
    CHECK(find_dependency_cycle(*topology).empty());
    const double own = measure(with(tree, ""), "permutation", 1).accepted_load,
                 drawn = measure(tree, "permutation", 1).accepted_load;
    MESSAGE(name << " " << drawn << ", own " << own);
    if (name != std::string("random")) CHECK(drawn > 1.1 * own);
    std::uint32_t several = 0;  // decisions of 20 routes that have more than one port
    for (NodeId src = 0; src < topology->endpoint_count(); ++src) {
      PortList ports;
      topology->minimal_ports(topology->neighbour(src, 0).node, (src + 16) % 64, ports);
      several += ports.count > 1;
    }
    CHECK(several > 48);
  }
}
