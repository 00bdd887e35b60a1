// SPDX-License-Identifier: Apache-2.0
// Does a plan's every change reach the master and the nodes, in LO|FA|MO's time, and do routes follow what the master
// knows?
#include "core/lofamo/notice.hpp"

#include <doctest/doctest.h>

#include "core/config/error.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

constexpr Time kPeriod = Time::us(100), kAt = Time::us(500);

FaultSchedule schedule_of(std::vector<FaultEvent> events, Lofamo::Policy policy = Lofamo::Policy::kReroute) {
  FaultSchedule schedule;
  schedule.events = std::move(events);
  schedule.lofamo = Lofamo{.period = kPeriod, .policy = policy, .master = "(3,3,3)", .line = Time::ns(100)};
  return schedule;
}

struct Noticed {
  explicit Noticed(const FaultSchedule& schedule, const TopologySpec& spec = {"torus", {4, 4, 4}})
      : shape(make_topology(spec)), plan(plan_of(schedule, *shape)), noticed(lofamo::notice(schedule, plan, *shape)) {}
  std::unique_ptr<Topology> shape;
  FaultPlan plan;
  NoticedFaults noticed;
};

}  // namespace

TEST_CASE("notice: without LO|FA|MO constants say who knows when") {
  FaultSchedule schedule;
  schedule.events = {{.what = "(0,0,0) X+", .at = kAt},
                     {.what = "(1,0,0)", .at = kAt, .kind = exanet::FaultKind::kHost}};
  schedule.reaction = Time::us(7);
  const Noticed found(schedule);
  REQUIRE(found.noticed.routes.size() == 2);
  CHECK(found.noticed.routes[0].at == kAt + Time::us(7));
  REQUIRE(found.noticed.deaths.size() == 1);
  CHECK(found.noticed.deaths[0].by == kNoNode);
  CHECK(found.noticed.deaths[0].after == schedule.detection);
  CHECK(found.noticed.awareness.empty());
}

TEST_CASE("notice: of a host that dies the watchdog knows within a period, then a neighbour, then all") {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    FaultSchedule schedule = schedule_of({{.what = "(1,0,0)", .at = kAt, .kind = exanet::FaultKind::kHost}});
    schedule.lofamo->seed = seed;
    const Noticed found(schedule);
    REQUIRE(found.noticed.awareness.size() == 1);
    const FaultAwareness& host = found.noticed.awareness[0];
    CHECK(host.detected >= kAt + Time::us(49));
    CHECK(host.detected <= kAt + kPeriod + Time::us(1));
    CHECK(host.first > host.detected);
    CHECK(host.master >= host.first);
    CHECK(host.last >= host.master);
    CHECK(host.last <= kAt + kPeriod * 2 + Time::us(20));
    CHECK(host.aware == 63);
    CHECK(host.unaware == 0);
    CHECK(found.noticed.routes.empty());  // its router goes on
    REQUIRE(found.noticed.deaths.size() == 64);
    for (const KnownDeath& death : found.noticed.deaths)
      if (death.by != death.dead) CHECK((kAt + death.after >= host.first && kAt + death.after <= host.last));
  }
}

TEST_CASE("notice: the policy exclude takes the node of a dead host from routes, report none") {
  const std::vector<FaultEvent> events = {{.what = "(1,0,0)", .at = kAt, .kind = exanet::FaultKind::kHost},
                                          {.what = "(2,2,2) Y+", .at = kAt}};
  const Noticed excluded(schedule_of(events, Lofamo::Policy::kExclude));
  std::size_t nodes = 0, links = 0;
  for (const FaultChange& change : excluded.noticed.routes) {
    CHECK(change.kind == exanet::FaultKind::kState);
    CHECK_FALSE(change.up);
    (change.port == LinkStates::kNode ? nodes : links) += 1;
  }
  CHECK(nodes == 2);  // its host, and its interface
  CHECK(links == 1);
  CHECK(Noticed(schedule_of(events, Lofamo::Policy::kReport)).noticed.routes.empty());
}

TEST_CASE("notice: routes follow a link down and up when the master knows, and a moment later the manager is done") {
  FaultSchedule schedule = schedule_of({{.what = "(0,0,0) X+", .at = kAt, .lasts = Time::us(400)}});
  schedule.reaction = Time::us(5);
  const Noticed found(schedule);
  REQUIRE(found.noticed.routes.size() == 2);
  const auto& [down, up] = std::pair(found.noticed.awareness[0], found.noticed.awareness[1]);
  CHECK_FALSE(found.noticed.routes[0].up);
  CHECK(found.noticed.routes[0].at == down.master + Time::us(5));
  CHECK(found.noticed.routes[1].up);
  CHECK(found.noticed.routes[1].at == up.master + Time::us(5));
  CHECK(down.detected >= kAt + Time::us(5));  // 1024 cycles of silence
  CHECK(down.detected <= kAt + Time::us(10));
  CHECK(up.first >= kAt + Time::us(400));
  CHECK(up.last <= kAt + Time::us(400) + kPeriod + Time::us(20));
  CHECK(down.aware == 64);
  CHECK(up.aware == 64);
}

TEST_CASE("notice: a cut that is shorter than a link's silence is known to nobody") {
  const Noticed found(schedule_of({{.what = "(0,0,0) X+", .at = kAt, .lasts = Time::us(3)}}));
  CHECK(found.noticed.routes.empty());
  CHECK(found.noticed.awareness[0].first == Time::never());
  CHECK(found.noticed.awareness[0].unaware == 64);
}

TEST_CASE("notice: a node that goes down is known by its links, and what happens meanwhile does not reach it") {
  const Noticed found(schedule_of(
      {{.what = "(1,1,1)", .at = kAt, .lasts = Time::us(1000)}, {.what = "(3,0,0) Z+", .at = kAt + Time::us(300)}}));
  REQUIRE(found.noticed.awareness.size() == 3);
  CHECK(found.noticed.routes.size() == 6 + 1 + 6);
  CHECK(found.noticed.awareness[0].unaware == 0);
  CHECK(found.noticed.awareness[1].unaware == 1);
  CHECK(found.noticed.awareness[2].unaware == 0);
}

TEST_CASE("notice: an interface that stops and works again is known both times") {
  const Noticed found(
      schedule_of({{.what = "(1,1,1)", .at = kAt, .kind = exanet::FaultKind::kInterface, .lasts = Time::us(500)}},
                  Lofamo::Policy::kExclude));
  REQUIRE(found.noticed.routes.size() == 2);
  for (const FaultAwareness& change : found.noticed.awareness) CHECK((change.aware == 63 && change.unaware == 0));
  CHECK_FALSE(found.noticed.routes[0].up);
  CHECK(found.noticed.routes[1].up);
  CHECK(found.noticed.routes[1].at >= kAt + Time::us(500));
  CHECK(found.noticed.routes[1].at <= kAt + Time::us(500) + kPeriod * 2);
}

TEST_CASE("notice: a master outside hears of each node's own findings after the latency of its network") {
  FaultSchedule schedule = schedule_of({{.what = "(0,0,0) X+", .at = kAt}});
  schedule.lofamo->master.clear();
  schedule.lofamo->service = Time::us(30);
  const Noticed found(schedule);
  CHECK(found.noticed.awareness[0].master == found.noticed.awareness[0].first + Time::us(30));
  REQUIRE(found.noticed.routes.size() == 1);
  CHECK(found.noticed.routes[0].at == found.noticed.awareness[0].master);
}

TEST_CASE("notice: losses and slow links are noticed by nobody") {
  FaultEvent slow{.what = "(0,0,0) X+", .at = kAt, .kind = exanet::FaultKind::kRate};
  slow.rate = 0.5;
  const Noticed found(schedule_of({slow}));
  CHECK(found.noticed.routes.empty());
  CHECK(found.noticed.awareness[0].unaware == 0);
  CHECK(found.noticed.awareness[0].first == Time::never());
}

TEST_CASE("notice: what LO|FA|MO cannot watch is refused by the key") {
  const auto refused = [](const FaultSchedule& schedule, const TopologySpec& spec) -> std::string {
    const auto shape = make_topology(spec);
    try {
      lofamo::check_notice(schedule, plan_of(schedule, *shape), *shape);
    } catch (const ConfigError& error) {
      return error.problems().front().path;
    }
    return "";
  };
  const FaultSchedule schedule = schedule_of({{.what = "links:1:1", .at = kAt}});
  CHECK(refused(schedule, {"torus", {4, 4, 4}}).empty());
  CHECK(refused(schedule, {"fat-tree", {4, 2}}) == "faults.lofamo");
  FaultSchedule wrong = schedule;
  wrong.lofamo->master = "(9,9,9)";
  CHECK(refused(wrong, {"torus", {4, 4, 4}}) == "faults.lofamo.master");
  wrong = schedule;
  wrong.lofamo->period = Time::ns(10);
  CHECK(refused(wrong, {"torus", {4, 4, 4}}) == "faults.lofamo.period");
}
