// SPDX-License-Identifier: Apache-2.0
// Do the patterns send where their definitions say?
#include "core/workload/pattern.hpp"

#include <doctest/doctest.h>

#include <set>
#include <stdexcept>

#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

std::vector<NodeId> destinations(const std::string& name, const TopologySpec& spec, std::uint64_t seed = 1) {
  const auto topology = make_topology(spec);
  const auto pattern = make_pattern(name, *topology, spec, seed);
  Random random(seed);
  std::vector<NodeId> to;
  for (NodeId src = 0; src < topology->endpoint_count(); ++src) to.push_back(pattern->destination(src, 0, random));
  return to;
}

std::string complaint(const std::string& name, const TopologySpec& spec) {
  try {
    destinations(name, spec);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every pattern sends to another endpoint, or nowhere") {
  for (const TopologySpec& spec :
       {TopologySpec{"torus", {4, 4}}, TopologySpec{"fat-tree", {4, 4}}, TopologySpec{"mesh", {2, 8}}}) {
    const auto topology = make_topology(spec);
    for (const PatternKind& kind : pattern_kinds()) {
      const std::string name = kind.name;
      if (kind.text) continue;  // it has a test of its own
      CAPTURE(name);
      const auto pattern = make_pattern(name, *topology, spec, 3);
      Random random(3);
      std::uint32_t senders = 0;
      for (NodeId src = 0; src < topology->endpoint_count(); ++src)
        for (std::uint64_t index = 0; index < 50; ++index) {
          const NodeId dst = pattern->destination(src, index, random);
          REQUIRE(dst != src);
          const bool known = dst == kNoNode || dst < topology->endpoint_count();
          REQUIRE(known);
          senders += index == 0 && dst != kNoNode;
        }
      CHECK(senders > 0);
    }
  }
}

TEST_CASE("permutations by their definitions") {
  const TopologySpec torus{"torus", {4, 4}};
  CHECK(destinations("transpose", torus)[1 + 4 * 2] == 2 + 4 * 1);
  CHECK(destinations("transpose", torus)[5] == kNoNode);
  CHECK(destinations("complement", torus)[3] == 12);
  CHECK(destinations("reversal", torus)[0b0001] == 0b1000);
  CHECK(destinations("reversal", torus)[0b0011] == 0b1100);
  CHECK(destinations("shuffle", torus)[0b1001] == 0b0011);
  CHECK(destinations("butterfly", torus)[0b1010] == 0b0011);
  CHECK(destinations("butterfly", torus)[0b1011] == kNoNode);
  CHECK(destinations("tornado", torus)[0] == 1 + 4 * 1);
  CHECK(destinations("tornado", {"torus", {8}})[6] == (6 + 3) % 8);
  CHECK(destinations("tornado", {"torus", {7, 2}})[0] == 3);
  CHECK(destinations("incast:3", torus) == std::vector<NodeId>{kNoNode, 0, kNoNode, kNoNode, kNoNode, kNoNode, 0,
                                                               kNoNode, kNoNode, kNoNode, kNoNode, 0, kNoNode, kNoNode,
                                                               kNoNode, kNoNode});
}

TEST_CASE("next-group: everybody of a group sends to all of the next one, those of the last to the first") {
  const TopologySpec fly{"dragonfly", {2}};
  const auto topology = make_topology(fly);
  const auto pattern = make_pattern("next-group:8", *topology, fly, 1);
  Random random(1);
  for (NodeId src = 0; src < 72; ++src) {
    std::set<NodeId> met;
    for (std::uint64_t index = 0; index < 200; ++index) {
      const NodeId dst = pattern->destination(src, index, random);
      REQUIRE(dst / 8 == (src / 8 + 1) % 9);
      met.insert(dst);
    }
    CHECK(met.size() == 8);
  }
  for (const char* wrong : {"next-group:7", "next-group:72", "next-group:0", "next-group:-8", "next-group:1.5"})
    CHECK(complaint(wrong, fly).find("a divisor of this machine's 72") != std::string::npos);
  CHECK(complaint("next-group", {"full-mesh", {5}}).find("takes the number of endpoints in a group") !=
        std::string::npos);
}

TEST_CASE("a random permutation is one, follows its seed and has no fixed point") {
  const auto a = destinations("permutation", {"full-mesh", {101}}, 5);
  CHECK(std::set<NodeId>(a.begin(), a.end()).size() == 101);
  CHECK(a == destinations("permutation", {"full-mesh", {101}}, 5));
  CHECK(a != destinations("permutation", {"full-mesh", {101}}, 6));
  for (NodeId src = 0; src < 101; ++src) CHECK(a[src] != kNoNode);
}

TEST_CASE("all-to-all meets everybody once a turn, neighbours are one link away") {
  const TopologySpec spec{"torus", {5, 5}};
  const auto topology = make_topology(spec);
  const auto all = make_pattern("all-to-all", *topology, spec, 1), near = make_pattern("neighbour", *topology, spec, 1);
  Random random(1);
  std::set<NodeId> met, neighbours;
  for (std::uint64_t i = 0; i < 24; ++i) met.insert(all->destination(7, i, random));
  CHECK(met.size() == 24);
  for (std::uint64_t i = 0; i < 200; ++i) neighbours.insert(near->destination(7, i, random));
  CHECK(neighbours == std::set<NodeId>{2, 6, 8, 12});
}

TEST_CASE("a hot spot gets its share") {
  const TopologySpec spec{"torus", {10, 10}};
  const auto topology = make_topology(spec);
  const auto pattern = make_pattern("hot-spot:0.25", *topology, spec, 1);
  Random random(1);
  std::uint32_t hot = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) hot += pattern->destination(3, i, random) == 50;
  CHECK(hot / 100'000.0 == doctest::Approx(0.25 + 0.75 / 99).epsilon(0.02).scale(0));
}

TEST_CASE("a hot region gets its share, all of it alike") {
  const TopologySpec spec{"torus", {8, 8}};
  const auto topology = make_topology(spec);
  const auto pattern = make_pattern("hot-region:0.5", *topology, spec, 1);
  Random random(1);
  std::vector<std::uint32_t> got(64);
  for (std::uint64_t i = 0; i < 100'000; ++i) ++got[pattern->destination(20, i, random)];
  for (NodeId hot = 0; hot < 8; ++hot)
    CHECK(got[hot] / 100'000.0 == doctest::Approx(0.5 / 8 + 0.5 / 63).epsilon(0.05).scale(0));
  CHECK(complaint("hot-region:2", spec).find("first eighth") != std::string::npos);
}

TEST_CASE("a matrix: destinations by their weights, whatever the sum of a row, and silence where it is empty") {
  const TopologySpec spec{"full-mesh", {4}};
  const auto topology = make_topology(spec);
  const auto pattern = make_pattern("matrix:[1 3,3 1;0 1e-9;0 2,1 2,3 4;;]", *topology, spec, 1);
  Random random(1);
  std::vector<std::vector<std::uint32_t>> got(4, std::vector<std::uint32_t>(4));
  for (NodeId src = 0; src < 3; ++src)
    for (std::uint64_t i = 0; i < 100'000; ++i) ++got[src][pattern->destination(src, i, random)];
  CHECK(got[0][1] / 100'000.0 == doctest::Approx(0.75).epsilon(0.01).scale(0));
  CHECK(got[0][1] + got[0][3] == 100'000);
  CHECK(got[1][0] == 100'000);
  CHECK(got[2][0] / 100'000.0 == doctest::Approx(0.25).epsilon(0.02).scale(0));
  CHECK(got[2][3] / 100'000.0 == doctest::Approx(0.5).epsilon(0.01).scale(0));
  CHECK(pattern->destination(3, 0, random) == kNoNode);
  for (const char* wrong :
       {"matrix", "matrix:", "matrix:[", "matrix:[;;;]", "matrix:[;;;;;]", "matrix:[1 1;;;]", "matrix:[0 1;;;;]",
        "matrix:[4 1;;;;]", "matrix:[1;;;;]", "matrix:[1 0;;;;]", "matrix:[1 -1;;;;]", "matrix:[1 nan;;;;]",
        "matrix:[1 x;;;;]", "matrix:[1 1,;;;", "matrix:[1 1e308,2 1e308;;;;]"})
    CHECK_MESSAGE(complaint(wrong, spec).find("give it a file") != std::string::npos, wrong);
}

TEST_CASE(
    "a matrix on a machine of which something has failed: nothing is sent there, and who could send only there is "
    "silent") {
  const TopologySpec spec{.kind = "full-mesh", .shape = {4}, .failed = {"node1"}};
  const auto topology = make_topology(spec);
  REQUIRE(!topology->alive(1));
  const auto pattern = make_pattern("matrix:[1 1;0 1;1 1,3 1;0 1;]", *topology, spec, 1);
  Random random(1);
  for (std::uint64_t i = 0; i < 100; ++i) {
    CHECK(pattern->destination(0, i, random) == kNoNode);
    CHECK(pattern->destination(1, i, random) == kNoNode);
    CHECK(pattern->destination(2, i, random) == 3);
    CHECK(pattern->destination(3, i, random) == 0);
  }
}

TEST_CASE("what a pattern is not made for is refused with advice") {
  CHECK(complaint("unifrom", {"torus", {4}}).find("use one of") != std::string::npos);
  CHECK(complaint("reversal", {"torus", {6}}).find("power of two") != std::string::npos);
  CHECK(complaint("transpose", {"torus", {6}}).find("square") != std::string::npos);
  CHECK(complaint("uniform:3", {"torus", {6}}).find("takes no parameter") != std::string::npos);
  CHECK(complaint("incast:x", {"torus", {6}}).find("not a number") != std::string::npos);
  CHECK(complaint("incast:6", {"torus", {6}}).find("from 1 to 5") != std::string::npos);
  CHECK(complaint("hot-spot:1.5", {"torus", {6}}).find("share") != std::string::npos);
  CHECK(complaint("uniform", {"mesh", {1}}).find("two endpoints") != std::string::npos);
}
