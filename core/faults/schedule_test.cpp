// SPDX-License-Identifier: Apache-2.0
// Does a schedule make the plan that it says, and name each event that the shape does not have?
#include "core/faults/schedule.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <vector>

#include "core/config/error.hpp"
#include "core/faults/impairment.hpp"
#include "core/faults/link_loss.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

TEST_CASE("schedules of faults: events go down, come up and lose packets, and rates follow them") {
  const auto shape = make_topology({"torus", {4, 4}});
  FaultSchedule schedule;
  CHECK(schedule.empty());
  schedule.events = {{"links:2:3", Time::us(5), true},
                     {"links:2:3", Time::us(1), false},
                     {"links:1:3", Time::us(7), false, FaultKind::kLoss, {0.5, 0, 9}},
                     {"links:1:3", Time::us(8), true, FaultKind::kLoss}};
  FaultPlan plan = plan_of(schedule, *shape);
  REQUIRE(plan.changes().size() == 6);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(plan.changes()[i].at == (i < 2 ? Time::us(1) : Time::us(5)));
    CHECK(plan.changes()[i].up == (i >= 2));
    CHECK(plan.changes()[i].kind == FaultKind::kState);
  }
  const FaultChange &begins = plan.changes()[4], &ends = plan.changes()[5];
  CHECK((begins.kind == FaultKind::kLoss && !begins.up && begins.loss.packets == 0.5 && begins.loss.seed == 9));
  CHECK((ends.kind == FaultKind::kLoss && ends.up && !ends.loss.any()));
  CHECK(plan.states_at(*shape, Time::us(8)).works(*shape, begins.node, begins.port));
  FaultRate rate;
  rate.between = Time::us(100);
  schedule.drawn = {{rate, Time::us(1000)}};
  CHECK(plan_of(schedule, *shape).changes().size() > 6);
}

TEST_CASE("schedules of faults: each event that names nothing is a problem of its place") {
  const auto shape = make_topology({"torus", {4, 4}});
  FaultSchedule schedule;
  schedule.events = {{"nowhere", Time(), false}, {"links:1:1", Time(), false}, {"links:99", Time(), false}};
  try {
    plan_of(schedule, *shape);
    FAIL("accepted");
  } catch (const ConfigError& error) {
    REQUIRE(error.problems().size() == 2);
    CHECK(error.problems()[0].path == "faults.events.0");
    CHECK(error.problems()[1].path == "faults.events.2");
  }
}

TEST_CASE("schedules of faults: each state of links is reached once, that of several changes at one time as one") {
  const auto shape = make_topology({"torus", {4, 4}});
  FaultSchedule schedule;
  schedule.events = {{"(0,0) X+", Time::us(1), false},
                     {"(1,1) Y+", Time::us(1), false},
                     {"links:1:7", Time::us(2), false, FaultKind::kLoss, {0.5, 0, 9}},  // no state of its own
                     {"(0,0) X+", Time::us(3), true},
                     {"(0,0) X+", Time::us(4), false},  // that of 1 us again
                     {"(1,1) Y+", Time::us(5), true},
                     {"(0,0) X+", Time::us(5), true}};  // the whole machine again
  const FaultPlan plan = plan_of(schedule, *shape);
  const std::vector<FaultState> states = reached_states(plan.changes(), *shape);
  REQUIRE(states.size() == 3);
  CHECK(states[0].at == Time());
  CHECK(states[1].at == Time::us(1));
  CHECK(states[2].at == Time::us(3));
  const FaultChange& cut = plan.changes()[0];
  CHECK(states[0].links.works(*shape, cut.node, cut.port));
  CHECK_FALSE(states[1].links.works(*shape, cut.node, cut.port));
  CHECK(states[2].links.works(*shape, cut.node, cut.port));
}

TEST_CASE("lossy links: the share of packets that is lost is that of the rates, and a function of seed and line") {
  const auto lost = [](LinkLoss loss, std::uint64_t line, std::uint32_t bits) {
    LossyLink link{loss};
    int count = 0;
    for (int i = 0; i < 20'000; ++i) count += link.loses(line, bits);
    return count;
  };
  CHECK(lost({}, 1, 2048) == 0);
  CHECK(lost({1, 0, 1}, 1, 2048) == 20'000);
  // Six standard deviations of 20,000 draws: 170.
  CHECK(lost({0.2, 0, 1}, 1, 2048) == doctest::Approx(4000).epsilon(340.0 / 4000));
  CHECK(lost({0, 1e-4, 1}, 1, 2048) == doctest::Approx(20'000 * 0.18520).epsilon(330.0 / 3704));
  CHECK(lost({0.2, 0, 1}, 1, 2048) == lost({0.2, 0, 1}, 1, 64));
  CHECK(lost({0.2, 0, 1}, 1, 2048) != lost({0.2, 0, 1}, 2, 2048));
  CHECK(lost({0.2, 0, 1}, 1, 2048) != lost({0.2, 0, 2}, 1, 2048));
}

TEST_CASE("schedules of faults: interfaces are those of endpoints, one or all, and rates are each once") {
  const auto shape = make_topology({"fat-tree", {4, 4}});
  FaultSchedule schedule;
  schedule.events = {{"all", Time::us(1), false, FaultKind::kInterface},
                     {shape->node_name(3), Time::us(2), true, FaultKind::kInterface},
                     {"links:2:1", Time::us(3), false, FaultKind::kRate, {}, 0.5},
                     {"links:1:2", Time::us(3), false, FaultKind::kRate, {}, 0.25},
                     {"links:2:1", Time::us(4), true, FaultKind::kRate}};
  const FaultPlan plan = plan_of(schedule, *shape);
  CHECK(plan.changes().size() == shape->endpoint_count() + 1 + 2 + 1 + 2);
  CHECK(plan.rates() == std::vector<double>{0.25, 0.5});
  CHECK(reached_states(plan.changes(), *shape).size() == 1);
  for (const char* what : {"links:1:1", shape->node_name(shape->node_count() - 1).c_str()}) {
    schedule.events = {{what, Time(), false, FaultKind::kInterface}};
    CHECK_THROWS_AS(plan_of(schedule, *shape), ConfigError);
  }
}

TEST_CASE("impairments: shares of packets are those that were asked for, and a function of seed and node") {
  constexpr std::uint32_t kMany = 100'000;
  std::uint32_t found[4] = {};
  ImpairedNode node{{0.01, 0.02, 0.03, Time::us(1), 5}}, same = node, other = node;
  other.impairment.seed = 6;
  bool differs = false;
  for (std::uint32_t i = 0; i < kMany; ++i) {
    const Fate fate = node.draw(7);
    ++found[static_cast<std::size_t>(fate)];
    CHECK(fate == same.draw(7));
    differs = differs || fate != other.draw(7);
  }
  CHECK(differs);
  for (const int percent : {1, 2, 3})
    CHECK(std::abs(static_cast<int>(found[percent]) - percent * 1000) < 200);  // six standard deviations and more
}

TEST_CASE(
    "schedules of faults: a name that says itself what becomes of its links is taken as it is, behind 'down' alone") {
  const auto shape = make_topology({"torus", {4, 4}});
  FaultPlan part;
  FaultChange slow{Time::us(2), 0, 0, false, FaultKind::kRate};
  slow.rate = 0.25;
  part.add(std::vector<FaultChange>{{Time::us(3), 0, 0, true, FaultKind::kRate}, slow, {Time(), 1, 0, false}});
  const std::vector<FaultChange> begun = changes_of({"brownout", Time::us(10), false}, part);
  REQUIRE(begun.size() == 3);
  CHECK((begun[0].at == Time::us(10) && begun[0].kind == FaultKind::kState && !begun[0].up));
  CHECK((begun[1].at == Time::us(12) && begun[1].kind == FaultKind::kRate && begun[1].rate == 0.25));
  CHECK((begun[2].at == Time::us(13) && begun[2].kind == FaultKind::kRate && begun[2].up));
  for (const FaultChange& change : changes_of({"brownout", Time::us(10), true}, part)) CHECK(change.up);
  FaultEvent lossy{"brownout", Time::us(10), false, FaultKind::kLoss};
  CHECK_THROWS_AS(changes_of(lossy, part), std::invalid_argument);
}

TEST_CASE("schedules of faults: a plan has a million changes at most, whatever they come from") {
  const auto shape = make_topology({"torus", {4, 4}});
  FaultSchedule schedule;
  for (int i = 0; i < 500'000; ++i) {
    schedule.events.push_back({"(1,1) X+", Time::us(2 * i), false});
    schedule.events.push_back({"(1,1) X+", Time::us(2 * i + 1), true});
  }
  CHECK(plan_of(schedule, *shape).changes().size() == kMostChanges);
  schedule.events.push_back({"(1,1) X+", Time::us(1), false});
  CHECK_THROWS_AS(plan_of(schedule, *shape), ConfigError);
  schedule.events.resize(10);
  FaultRate rate;
  rate.between = rate.repair = Time::ps(1);
  schedule.drawn = {{rate, Time::us(1'000'000)}};
  try {
    plan_of(schedule, *shape);
    FAIL("accepted");
  } catch (const ConfigError& error) {
    CHECK(error.problems()[0].path == "faults.drawn.0");
  }
}
