// SPDX-License-Identifier: Apache-2.0
// Does everybody learn of every fault that somebody alive can see, and how long does that take?
#include "core/lofamo/study.hpp"

#include <doctest/doctest.h>

#include "core/config/error.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;
using namespace exanet::lofamo;

namespace {

AwarenessConfig quick() {
  return {.watchdog = 2000, .beat = 1000, .silence = 600, .interval = 256, .line = 20, .response = 50};
}

std::vector<Phase> phases_of(const Topology& topology, Cycle beat) {
  std::vector<Phase> phases(topology.node_count());
  for (NodeId n = 0; n < phases.size(); ++n) {
    phases[n].daemon = n * 37 % beat;
    phases[n].ni = n * 53 % beat;
    for (std::uint16_t p = 0; p < topology.port_count(n); ++p) phases[n].links.push_back({-Cycle{p} * 29, n % 5});
  }
  return phases;
}

Study judged(const Topology& topology, const std::vector<Fault>& faults) {
  Awareness run(topology, quick(), phases_of(topology, quick().beat), faults);
  run.run(30'000);
  Study study;
  judge(topology, faults, run, study);
  return study;
}

std::vector<NodeId> around(const Topology& topology, NodeId node) {
  std::vector<NodeId> nodes;
  for (std::uint16_t p = 0; p < topology.port_count(node); ++p) nodes.push_back(topology.neighbour(node, p).node);
  return nodes;
}

}  // namespace

TEST_CASE("lofamo: nobody joined to a witness stays unaware, and nobody misjudges whom it is joined to") {
  for (const TopologySpec& spec :
       {TopologySpec{"torus", {4, 4, 4}}, TopologySpec{"torus", {5, 3}}, TopologySpec{"mesh", {6}},
        TopologySpec{"mesh", {3, 3}}, TopologySpec{"qfdb-torus", {2, 2, 1}}}) {
    const auto topology = make_topology(spec);
    for (const FaultKind kind : {FaultKind::kHost, FaultKind::kNi, FaultKind::kNode, FaultKind::kLink})
      for (const std::uint32_t faults : {1u, 2u, 4u}) {
        const Study made = study(*topology, {quick(), kind, faults, 10, faults});
        CAPTURE(spec.kind);
        CAPTURE(static_cast<int>(kind));
        CAPTURE(faults);
        CHECK(made.unaware == 0);
        CHECK(made.misjudged == 0);
        CHECK(made.global.count > 0);
        // A link may be drawn at both its ends, and a node whose links are all cut is found by nobody.
        const bool watched = kind == FaultKind::kHost || kind == FaultKind::kNi;
        CHECK(made.local.count <= 10 * faults);
        CHECK((!watched || made.local.count == 10 * faults));
      }
  }
}

TEST_CASE("lofamo: local awareness comes between a period less a beat and a period, plus the gateware's cycles") {
  const auto topology = make_topology({"torus", {4, 4, 4}});
  const Study made = study(*topology, {quick(), FaultKind::kHost, 1, 100, 3});
  CHECK(made.local.least >= 2000 - 1000);
  CHECK(made.local.least < 2000 - 1000 + 60);
  CHECK(made.local.most <= 2000 + 4);
  CHECK(made.local.most > 2000 - 60);
  CHECK(made.neighbours.least > made.local.least);
  CHECK(made.global.most <= 2000 + 4 + 1000 + 6 * 200);  // a neighbour reads within a beat; six hops
}

TEST_CASE("lofamo: a node all of whose neighbours are faulty is cut off, and everybody else knows it") {
  const auto topology = make_topology({"torus", {4, 4, 4}});
  for (const FaultKind kind : {FaultKind::kHost, FaultKind::kNi, FaultKind::kNode}) {
    std::vector<Fault> faults;
    for (const NodeId n : around(*topology, 21)) faults.push_back({kind, n, 0, 5000});
    const Study made = judged(*topology, faults);
    CAPTURE(static_cast<int>(kind));
    CHECK(made.cut_off == 1);
    CHECK(made.unaware == 0);
    CHECK(made.misjudged == 0);
    CHECK(made.global.count == 6);
  }
}

TEST_CASE("lofamo: a node that dies amid faulty ones is seen by nobody, and held for cut off") {
  const auto topology = make_topology({"torus", {4, 4, 4}});
  std::vector<Fault> faults{{FaultKind::kNode, 21, 0, 9000}};
  for (const NodeId n : around(*topology, 21)) faults.push_back({FaultKind::kHost, n, 0, 5000});
  const Study made = judged(*topology, faults);
  CHECK(made.unseen == 1);
  CHECK(made.cut_off == 0);
  CHECK(made.unaware == 0);
  CHECK(made.misjudged == 0);
}

TEST_CASE("lofamo: a network that falls into two halves is known as such in both") {
  const auto topology = make_topology({"mesh", {6}});
  const Study made = judged(*topology, {{FaultKind::kLink, 2, 0, 5000}});
  CHECK(made.cut_off == 3);
  CHECK(made.unaware == 0);
  CHECK(made.misjudged == 0);
}

TEST_CASE("lofamo: a daemon that is told nothing misjudges, so the judgement can fail") {
  const auto topology = make_topology({"torus", {4, 4}});
  const std::vector<Fault> faults{{FaultKind::kHost, 5, 0, 5000}};
  Awareness run(*topology, quick(), phases_of(*topology, quick().beat), faults);
  run.run(5500);  // before the watchdog's period is over
  Study study;
  judge(*topology, faults, run, study);
  CHECK(study.unaware == 15);
  CHECK(study.misjudged == 15);
}

TEST_CASE("lofamo: the same seed gives the same times; a fault of no kind is refused") {
  const auto topology = make_topology({"torus", {3, 3, 3}});
  const StudyConfig config{quick(), FaultKind::kNode, 2, 5, 7};
  const Study a = study(*topology, config), b = study(*topology, config);
  CHECK(a.global.sum == b.global.sum);
  CHECK(a.packets == b.packets);
  CHECK(fault_kind_of("ni") == FaultKind::kNi);
  CHECK_THROWS_AS(fault_kind_of("cosmic"), ConfigError);
}
