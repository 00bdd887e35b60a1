// SPDX-License-Identifier: Apache-2.0
// Does everybody learn of every fault that somebody alive can see, and how long does that take?
//
// Problem: the answer has to hold for any topology, kind and number of faults, and phase.
//
// Model: drawn studies over several topologies, and faults placed by hand where a network falls apart. A digest of all
// facts of one run shows that neither the order of events nor what shares their queue changes anything.
//
// Limits: cycles are compared with the gateware's by gateware/node/tb/lofamo_equality_test.cpp, not here.
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
  EventQueue events;
  Awareness run(events, topology, quick(), phases_of(topology, quick().beat), faults);
  run.run(30'000);
  Study study;
  judge(topology, faults, run, study);
  return study;
}

// An event in every half cycle, as something else that shares the queue.
struct Ticks {
  void start() {
    handler = events.add_handler(
        [](void* self, Time now, std::uint32_t, std::uint64_t) { static_cast<Ticks*>(self)->tick(now); }, this);
    events.schedule(Time(), handler, 0);
  }
  void tick(Time now) {
    ++count;
    events.schedule(now + Time::ps(kCycle.ps() / 2), handler, 0);
  }
  EventQueue& events;
  std::uint32_t handler = 0;
  std::uint64_t count = 0;
};

// FNV-1a over all fields of all facts, in their order.
std::uint64_t digest(const std::vector<Fact>& facts) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const Fact& f : facts)
    for (const std::uint64_t field : {static_cast<std::uint64_t>(f.at), std::uint64_t{f.node},
                                      std::uint64_t{f.reporter}, std::uint64_t{f.port}, std::uint64_t{f.state}})
      hash = (hash ^ field) * 0x100000001b3;
  return hash;
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
    for (const lofamo::FaultKind kind :
         {lofamo::FaultKind::kHost, lofamo::FaultKind::kNi, lofamo::FaultKind::kNode, lofamo::FaultKind::kLink})
      for (const std::uint32_t faults : {1u, 2u, 4u}) {
        const Study made = study(*topology, {quick(), kind, faults, 10, faults});
        CAPTURE(spec.kind);
        CAPTURE(static_cast<int>(kind));
        CAPTURE(faults);
        CHECK(made.unaware == 0);
        CHECK(made.misjudged == 0);
        CHECK(made.global.count > 0);
        // A link may be drawn at both its ends, and a node whose links are all cut is found by nobody.
        const bool watched = kind == lofamo::FaultKind::kHost || kind == lofamo::FaultKind::kNi;
        CHECK(made.local.count <= 10 * faults);
        CHECK((!watched || made.local.count == 10 * faults));
      }
  }
}

TEST_CASE("lofamo: local awareness comes between a period less a beat and a period, plus the gateware's cycles") {
  const auto topology = make_topology({"torus", {4, 4, 4}});
  const Study made = study(*topology, {quick(), lofamo::FaultKind::kHost, 1, 100, 3});
  CHECK(made.local.least >= 2000 - 1000);
  CHECK(made.local.least < 2000 - 1000 + 60);
  CHECK(made.local.most <= 2000 + 4);
  CHECK(made.local.most > 2000 - 60);
  CHECK(made.neighbours.least > made.local.least);
  CHECK(made.global.most <= 2000 + 4 + 1000 + 6 * 200);  // a neighbour reads within a beat; six hops
}

TEST_CASE("lofamo: a node all of whose neighbours are faulty is cut off, and everybody else knows it") {
  const auto topology = make_topology({"torus", {4, 4, 4}});
  for (const lofamo::FaultKind kind : {lofamo::FaultKind::kHost, lofamo::FaultKind::kNi, lofamo::FaultKind::kNode}) {
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
  std::vector<Fault> faults{{lofamo::FaultKind::kNode, 21, 0, 9000}};
  for (const NodeId n : around(*topology, 21)) faults.push_back({lofamo::FaultKind::kHost, n, 0, 5000});
  const Study made = judged(*topology, faults);
  CHECK(made.unseen == 1);
  CHECK(made.cut_off == 0);
  CHECK(made.unaware == 0);
  CHECK(made.misjudged == 0);
}

TEST_CASE("lofamo: a network that falls into two halves is known as such in both") {
  const auto topology = make_topology({"mesh", {6}});
  const Study made = judged(*topology, {{lofamo::FaultKind::kLink, 2, 0, 5000}});
  CHECK(made.cut_off == 3);
  CHECK(made.unaware == 0);
  CHECK(made.misjudged == 0);
}

TEST_CASE("lofamo: a daemon that has no facts yet misjudges, so the judgement can fail") {
  const auto topology = make_topology({"torus", {4, 4}});
  const std::vector<Fault> faults{{lofamo::FaultKind::kHost, 5, 0, 5000}};
  EventQueue events;
  Awareness run(events, *topology, quick(), phases_of(*topology, quick().beat), faults);
  run.run(5500);  // before the watchdog's period is over
  Study study;
  judge(*topology, faults, run, study);
  CHECK(study.unaware == 15);
  CHECK(study.misjudged == 15);
}

TEST_CASE("lofamo: facts are the same to the cycle, in the same order, beside other events of the queue, too") {
  const auto topology = make_topology({"torus", {4, 3, 2}});
  const std::vector<Fault> faults{{lofamo::FaultKind::kHost, 5, 0, 5000},
                                  {lofamo::FaultKind::kLink, 9, 2, 5003},
                                  {lofamo::FaultKind::kNode, 14, 0, 7777},
                                  {lofamo::FaultKind::kNi, 21, 0, 9001}};
  EventQueue events;
  Ticks ticks{events};
  ticks.start();
  const auto phases = phases_of(*topology, quick().beat);
  Awareness run(events, *topology, quick(), phases, faults), second(events, *topology, quick(), phases, faults);
  run.run(30'000);
  CHECK(events.now() == start_of(30'000) - Time::ps(1));
  CHECK(ticks.count == 60'000);
  CHECK(run.facts() == second.facts());
  CHECK(run.facts().size() == 441);
  CHECK(digest(run.facts()) == 0x89fa27328ae96b23);
  CHECK(run.packets() == 1995);
}

TEST_CASE("lofamo: a fault of a host that has stopped already changes nothing") {
  const auto topology = make_topology({"mesh", {3, 3}});
  const auto facts = [&](const std::vector<Fault>& faults) {
    EventQueue events;
    Awareness run(events, *topology, quick(), phases_of(*topology, quick().beat), faults);
    run.run(30'000);
    CHECK(run.detected().front() == run.detected().back());
    return run.facts();
  };
  const Fault first{lofamo::FaultKind::kHost, 4, 0, 5000}, again{lofamo::FaultKind::kHost, 4, 0, 9000};
  CHECK(facts({first}).size() > 9);
  CHECK(facts({first}) == facts({first, again}));
}

TEST_CASE("lofamo: periods that no register holds, or that call live hosts and links faulty, are refused") {
  const auto topology = make_topology({"mesh", {3, 3}});
  const auto refused = [&](Cycle AwarenessConfig::* key, Cycle good, Cycle bad) {
    StudyConfig config{quick(), lofamo::FaultKind::kHost, 1, 1, 1};
    config.network.*key = good;
    CHECK_NOTHROW(study(*topology, config));
    config.network.*key = bad;
    CHECK_THROWS_AS(study(*topology, config), ConfigError);
  };
  refused(&AwarenessConfig::watchdog, quick().beat, quick().beat - 1);
  refused(&AwarenessConfig::beat, 1, 0);
  refused(&AwarenessConfig::beat, quick().watchdog, quick().watchdog + 1);
  refused(&AwarenessConfig::silence, quick().interval + 3, quick().interval + 2);
  refused(&AwarenessConfig::interval, 597, 598);
  refused(&AwarenessConfig::line, 0, -1);
  refused(&AwarenessConfig::response, 1, 0);
}

TEST_CASE("lofamo: the same seed gives the same times; a fault of no kind is refused") {
  const auto topology = make_topology({"torus", {3, 3, 3}});
  const StudyConfig config{quick(), lofamo::FaultKind::kNode, 2, 5, 7};
  const Study a = study(*topology, config), b = study(*topology, config);
  CHECK(a.global.sum == b.global.sum);
  CHECK(a.packets == b.packets);
  CHECK(fault_kind_of("ni") == lofamo::FaultKind::kNi);
  CHECK_THROWS_AS(fault_kind_of("cosmic"), ConfigError);
}
