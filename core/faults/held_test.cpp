// SPDX-License-Identifier: Apache-2.0
// Does each of several faults of one link, node or interface hold until its own end, and what do they make together?
#include "core/faults/held.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "core/faults/schedule.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

FaultEvent down(const char* what, std::int64_t from_us, std::int64_t for_us) {
  FaultEvent event{what, Time::us(from_us), false};
  event.lasts = Time::us(for_us);
  return event;
}

FaultEvent slow(const char* what, double rate, std::int64_t from_us, std::int64_t for_us) {
  FaultEvent event = down(what, from_us, for_us);
  event.kind = FaultKind::kRate;
  event.rate = rate;
  return event;
}

// What holds at a time, of what the events say.
HeldFaults held_at(const Topology& shape, const std::vector<FaultEvent>& events, std::int64_t us) {
  FaultSchedule schedule;
  schedule.events = events;
  HeldFaults held(shape);
  const FaultPlan plan = plan_of(schedule, shape);
  for (const FaultChange& change : plan.changes())
    if (change.at <= Time::us(us)) held.change(change);
  return held;
}

}  // namespace

TEST_CASE("faults that overlap: a link is down while any of them holds, whichever end they name") {
  const auto shape = make_topology({"mesh", {2, 2}});
  FaultPlan named;
  named.fail(*shape, "(0,0) X+");
  const FaultChange link = named.changes()[0];
  const auto works = [&](const std::vector<FaultEvent>& events, std::int64_t us) {
    return held_at(*shape, events, us).links().works(*shape, link.node, link.port);
  };
  for (const char* other : {"(0,0) X+", "(1,0) X-"}) {
    const std::vector<FaultEvent> nested{down("(0,0) X+", 100, 300), down(other, 150, 10)};
    for (const std::int64_t us : {100, 160, 161, 399}) CHECK_FALSE(works(nested, us));
    for (const std::int64_t us : {99, 400}) CHECK(works(nested, us));
    const std::vector<FaultEvent> meeting{down("(0,0) X+", 100, 50), down(other, 140, 50)};
    for (const std::int64_t us : {150, 189}) CHECK_FALSE(works(meeting, us));
    CHECK(works(meeting, 190));
    // One that says up ends all; the end of what it has ended ends nothing that came later.
    std::vector<FaultEvent> ended = nested;
    ended.push_back({other, Time::us(155), true});
    ended.push_back(down("(0,0) X+", 158, 500));
    CHECK(works(ended, 155));
    for (const std::int64_t us : {158, 160, 400, 657}) CHECK_FALSE(works(ended, us));
    CHECK(works(ended, 658));
  }
  FaultSchedule schedule;
  schedule.events = {down("(0,0) X+", 100, 300), down("(0,0) X+", 150, 10)};
  const FaultPlan plan = plan_of(schedule, *shape);
  CHECK(plan.changes().size() == 4);
  CHECK_FALSE(plan.states_at(*shape, Time::us(200)).works(*shape, link.node, link.port));
  CHECK(reached_states(plan.changes(), *shape).size() == 2);
}

TEST_CASE("faults that overlap: failures that are drawn, and those of a list, end one by one") {
  const auto shape = make_topology({"mesh", {2}});
  FaultSchedule schedule;
  FaultRate rate;
  rate.between = Time::us(20);
  rate.repair = Time::us(5);
  schedule.drawn = {{rate, Time::us(1000)}};
  rate.seed = 2;
  schedule.drawn.push_back({rate, Time::us(1000)});
  schedule.events = {down("(0) X+", 100, 600)};
  const FaultPlan plan = plan_of(schedule, *shape);
  CHECK(plan.changes().size() > 20);
  for (std::int64_t us = 100; us < 700; ++us) CHECK_FALSE(plan.states_at(*shape, Time::us(us)).works(*shape, 0, 0));
}

TEST_CASE("faults that overlap: a link has the least of its rates, and of those of the nodes at its ends") {
  const auto shape = make_topology({"mesh", {2, 2}});
  FaultPlan named;
  named.fail(*shape, "(0,0) X+");
  const PortRef link{named.changes()[0].node, named.changes()[0].port};
  const PortRef far = shape->neighbour(link.node, link.port);
  for (const char* other : {"(0,0) X+", "(1,0) X-", "(0,0)", "(1,0)"})
    for (const double rate : {0.25, 0.75}) {
      const std::vector<FaultEvent> events{slow("(0,0) X+", 0.5, 0, 0), slow(other, rate, 10, 20)};
      for (const PortRef end : {link, far}) {
        CHECK(held_at(*shape, events, 9).rate(end) == 0.5);
        CHECK(held_at(*shape, events, 10).rate(end) == std::min(0.5, rate));
        CHECK(held_at(*shape, events, 30).rate(end) == 0.5);
      }
    }
}

TEST_CASE("faults that overlap: losses and impairments add up, and interfaces stop until the last end") {
  const auto shape = make_topology({"mesh", {2}});
  FaultEvent first = down("(0) X+", 0, 0), second = down("(1)", 10, 20);
  first.kind = second.kind = FaultKind::kLoss;
  first.loss = {0.5, 1e-6, 7};
  second.loss = {0.2, 1e-6, 9};
  const auto loss = [&](std::int64_t us) { return held_at(*shape, {first, second}, us).loss({1, 1}); };
  CHECK(loss(9).packets == 0.5);
  CHECK(loss(10).packets == doctest::Approx(0.6));
  CHECK(loss(10).bits == doctest::Approx(2e-6));
  CHECK(loss(10).seed == 7);
  CHECK(loss(30).packets == 0.5);
  first = down("(0)", 0, 0), second = down("all", 10, 20);
  first.kind = second.kind = FaultKind::kImpairment;
  first.impairment.corrupted = 0.5;
  second.impairment.corrupted = second.impairment.reordered = 0.25;
  second.impairment.delay = Time::us(3);
  const auto impairment = [&](std::int64_t us) { return held_at(*shape, {first, second}, us).impairment(0); };
  CHECK(impairment(10).corrupted == 0.625);
  CHECK(impairment(10).reordered == 0.125);
  CHECK(impairment(10).delay == Time::us(3));
  CHECK(impairment(30).corrupted == 0.5);
  CHECK(impairment(30).reordered == 0);
  first.kind = second.kind = FaultKind::kInterface;
  for (const std::int64_t us : {0, 10, 30}) CHECK_FALSE(held_at(*shape, {first, second}, us).interface_works(0));
  CHECK(held_at(*shape, {first, second}, 9).interface_works(1));
  CHECK_FALSE(held_at(*shape, {first, second}, 10).interface_works(1));
  CHECK(held_at(*shape, {first, second}, 30).interface_works(1));
}
