// SPDX-License-Identifier: Apache-2.0
// Is every routing of the registry free of deadlock on every topology of the registry, and does it carry what it is
// given?
#include <doctest/doctest.h>

#include "core/routing/registry.hpp"
#include "core/routing/routing_harness.hpp"
#include "core/topology/registry.hpp"
#include "core/units/size_harness.hpp"

using namespace exanet;
using namespace exanet::testing;

namespace {

// The first sample of each topology in the registry, and a few more shapes.
std::vector<TopologySpec> small_topologies() {
  std::vector<TopologySpec> specs{{"torus", {5, 3}}, {"torus", {2, 6}}, {"dragonfly", {1}}};
  for (const TopologyKind& kind : topology_kinds()) specs.push_back(spec_of(kind, kind.samples.at(0)));
  for (const TopologySpec& spec : on_rails({specs.begin(), specs.end()}, 2)) specs.push_back(spec);
  return specs;
}

}  // namespace

TEST_CASE(
    "every routing on every topology: no cycle of dependencies, and all packets arrive under a load that is too high") {
  std::uint32_t tried = 0;
  std::vector<std::string> names = routing_names();
  names.emplace_back(kUpDown);
  for (const TopologySpec& base : small_topologies())
    for (const std::string& name : names) {
      const TopologySpec spec = with(base, name);
      CAPTURE(describe(spec));
      if (cannot_be(spec)) continue;
      ++tried;
      CHECK(find_dependency_cycle(*make_topology(spec)).empty());
      const OpenLoopResult r = measure(spec, "uniform", 1.5, Time::us(testing::in_full() ? 10 : 5));
      CHECK(r.packets > 100);
    }
  CHECK(tried > 80);
}

TEST_CASE("the same seed gives the same run with every routing") {
  for (const std::string& name : routing_names()) {
    CAPTURE(name);
    TopologySpec spec = with({"torus", {4, 4}}, name);
    if (cannot_be(spec)) spec = with({"fat-tree", {4, 4}}, name);
    const OpenLoopResult a = measure(spec, "uniform", 0.8, Time::us(20)),
                         b = measure(spec, "uniform", 0.8, Time::us(20));
    CHECK(a.events == b.events);
    CHECK(a.latency.counts() == b.latency.counts());
  }
}

TEST_CASE("packets go round failed links and nodes, by routes that close no cycle") {
  for (const TopologySpec& base : small_topologies()) {
    if (base.rails > 1) continue;
    if (complaint(with(base, "", {"links:2:7"})).find("are to fail") != std::string::npos)
      continue;  // fewer links than that
    std::vector<std::string> names = routing_names();
    names.emplace_back();
    for (const std::string& routing : names) {
      const TopologySpec spec = with(base, routing, {"links:2:7"});
      CAPTURE(describe(spec));
      if (complaint(spec).find("into parts") != std::string::npos) continue;
      if (cannot_be(spec)) {  // routes round failures take a channel more; nothing else is a reason
        CHECK((cannot_be(with(base, routing)) || complaint(spec).find("virtual channel") != std::string::npos));
        continue;
      }
      const auto topology = make_topology(spec);
      CHECK(find_dependency_cycle(*topology).empty());
      CHECK(measure(spec, "uniform", 0.1, Time::us(10)).packets > 10);
    }
  }
  const TopologySpec torus = with({"torus", {4, 4, 4}}, "", {"(0,0,0) X+", "(1,2,3)"});
  const auto topology = make_topology(torus);
  CHECK(topology->neighbour(0, 0).node == kNoNode);
  CHECK(topology->neighbour(1, 1).node == kNoNode);
  CHECK_FALSE(topology->alive(1 + 4 * (2 + 4 * 3)));
  const OpenLoopResult r = measure(torus, "uniform", 0.2);
  CHECK(r.senders == 63);
  CHECK(r.mean_hops > 3);
  CHECK(r.mean_hops < 3.3);
  CHECK_FALSE(r.saturated);
}
