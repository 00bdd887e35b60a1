// SPDX-License-Identifier: Apache-2.0
// Are groups of a dragonfly linked as its shape and arrangement say, and do packets use all links between two groups?
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "core/config/error.hpp"
#include "core/routing/channel_graph.hpp"
#include "core/routing/make_topology.hpp"
#include "core/routing/routing_harness.hpp"

using namespace exanet;

namespace {

const std::vector<std::string> kArrangements = {"absolute", "relative", "palmtree", "circulant"};

TopologySpec dragonfly(const std::vector<std::uint32_t>& shape, const std::string& arrangement = "",
                       const std::string& routing = "") {
  TopologySpec spec{"dragonfly", shape};
  spec.arrangement = arrangement;
  spec.routing = routing;
  return spec;
}

// The groups to which the links of `group` lead, in the order of its switches' ports.
std::vector<std::uint32_t> far_groups(const std::vector<std::uint32_t>& shape, const std::string& arrangement,
                                      std::uint32_t group) {
  const auto topology = make_topology(dragonfly(shape, arrangement));
  std::vector<std::uint32_t> groups;
  for (std::uint32_t member = 0; member < shape[1]; ++member)
    for (std::uint32_t link = 0; link < shape[2]; ++link) {
      const NodeId at = topology->endpoint_count() + group * shape[1] + member;
      const PortRef far = topology->neighbour(at, static_cast<std::uint16_t>(shape[0] + shape[1] - 1 + link));
      if (far.node != kNoNode) groups.push_back((far.node - topology->endpoint_count()) / shape[1]);
    }
  return groups;
}

}  // namespace

TEST_CASE("arrangements lead to the groups of their definitions") {
  using Groups = std::vector<std::uint32_t>;
  CHECK(far_groups({1, 3, 2, 7}, "", 2) == Groups{0, 1, 3, 4, 5, 6});
  CHECK(far_groups({1, 3, 2, 7}, "absolute", 2) == Groups{0, 1, 3, 4, 5, 6});
  CHECK(far_groups({1, 3, 2, 7}, "relative", 2) == Groups{3, 4, 5, 6, 0, 1});
  CHECK(far_groups({1, 3, 2, 7}, "palmtree", 2) == Groups{1, 0, 6, 5, 4, 3});
  CHECK(far_groups({1, 3, 2, 7}, "circulant", 2) == Groups{3, 1, 4, 0, 5, 6});
  CHECK(far_groups({1, 3, 2, 4}, "relative", 2) == Groups{3, 0, 1, 3, 0, 1});
  CHECK(far_groups({1, 3, 2, 4}, "circulant", 1) == Groups{2, 0, 3, 2, 0, 3});
  CHECK(far_groups({1, 3, 2, 5}, "absolute", 1) == Groups{0, 2, 3, 4});  // and two ports without a link
}

TEST_CASE("each two groups have as many links as their shape divides, in every arrangement") {
  // The last one is of Frontier's size: 74 groups of 32 switches with 16 endpoints.
  const std::vector<std::vector<std::uint32_t>> shapes = {{2, 4, 2, 9}, {2, 4, 2, 5}, {1, 4, 3, 3},    {1, 2, 4, 2},
                                                          {1, 3, 3, 6}, {1, 5, 3, 8}, {16, 32, 10, 74}};
  for (const auto& shape : shapes)
    for (const std::string& arrangement : kArrangements) {
      CAPTURE(shape);
      CAPTURE(arrangement);
      const std::uint32_t each = shape[1] * shape[2] / (shape[3] - 1);
      for (const std::uint32_t group : {0u, shape[3] / 2, shape[3] - 1}) {
        std::map<std::uint32_t, std::uint32_t> links;
        for (const std::uint32_t far : far_groups(shape, arrangement, group)) ++links[far];
        CHECK(links.size() == shape[3] - 1);
        CHECK_FALSE(links.contains(group));
        for (const auto& [far, number] : links) CHECK(number == each);
      }
    }
}

TEST_CASE("with several links between groups every routing closes no cycle, and its packets arrive") {
  for (const std::string& arrangement : kArrangements)
    for (const std::string routing :
         {"", "valiant", "ugal-l", "ugal-l:12", "ugal-g", "par", "adaptive", "random", "spray"}) {
      CAPTURE(arrangement);
      CAPTURE(routing);
      const TopologySpec spec = dragonfly({1, 3, 2, 3}, arrangement, routing);
      CHECK(find_dependency_cycle(*make_topology(spec)).empty());
      const OpenLoopResult r = testing::measure(spec, "uniform", 0.9, Time::us(10));
      CHECK(r.packets > 100);  // each arrives, else the run ends by a check
    }
}

TEST_CASE("next-group traffic takes the share of all links between two groups") {
  // Eight endpoints share one link, or two. Minimal routes of switch pairs are divided between these.
  const double one = testing::measure(dragonfly({2, 4, 2, 9}), "next-group:8", 0.6, Time::us(200)).accepted_load;
  const double two = testing::measure(dragonfly({2, 4, 2, 5}), "next-group:8", 0.6, Time::us(200)).accepted_load;
  CHECK(one < 1.001 / 8);  // the link's bound
  CHECK(one > 0.9 / 8);
  CHECK(two > 1.7 * one);
  CHECK(two < 2.05 * one);
}

TEST_CASE("the threshold decides from which queue on UGAL leaves the short route") {
  const auto hops = [](const std::string& routing) {
    return testing::measure(dragonfly({2, 4, 2, 9}, "", routing), "next-group:8", 0.2, Time::us(100)).mean_hops;
  };
  const double minimal = hops("minimal");
  CHECK(hops("ugal-l") == hops("ugal-l:4"));
  CHECK(hops("ugal-l:0") > hops("ugal-l:16"));
  CHECK(hops("ugal-l:16") > minimal);
  CHECK(hops("ugal-l:1000000") == minimal);
  for (const std::string routing : {"ugal-l:", "ugal-l:x", "ugal-g:-1", "par:1.5", "ugal-l:1000001", "valiant:1"})
    CHECK_THROWS_AS((void)make_topology(dragonfly({2}, "", routing)), ConfigError);
}

TEST_CASE("shapes and arrangements that there are not are refused with advice") {
  const auto complaint = [](const TopologySpec& spec) {
    try {
      (void)make_topology(spec);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(complaint(dragonfly({2, 4, 2, 10})).find("from 2 to 9 groups") != std::string::npos);
  CHECK(complaint(dragonfly({2, 4, 2, 1})).find("from 2 to 9 groups") != std::string::npos);
  CHECK(complaint(dragonfly({2, 4, 2, 9, 1})).find("a dragonfly takes [h]") != std::string::npos);
  CHECK(complaint(dragonfly({2}, "random")).find("use one of absolute, relative, palmtree, circulant") !=
        std::string::npos);
  TopologySpec torus{"torus", {4, 4}};
  torus.arrangement = "absolute";
  CHECK(complaint(torus).find("remove 'arrangement'") != std::string::npos);
}
