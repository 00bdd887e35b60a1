// SPDX-License-Identifier: Apache-2.0
// A host dies: does what waits for its ranks end when the others know of it, and never before?
#include "core/protocol/host_deaths.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <functional>
#include <utility>
#include <vector>

#include "core/network/fault_driver.hpp"
#include "core/protocol/engine_harness.hpp"

using namespace exanet;
using testing::A;
using testing::B;
using testing::C;
using testing::kKey;
using testing::kLine;
using testing::Ranks;

namespace {

constexpr Time kDies = Time::us(20), kDetection = Time::us(50);

NetworkConfig failing_fabric() {
  NetworkConfig fabric = testing::steady_fabric();
  fabric.links_fail = true;
  return fabric;
}

// Rank 1 dies.
struct Dying : Ranks {
  explicit Dying(const NiConfig& ni = testing::odd_costs(), std::vector<KnownDeath> known = {{2, kNoNode, kDetection}})
      : Ranks(kLine, {0, 2, 3}, failing_fabric(), ni),
        plan(made()),
        driver(engine.links(), *topology, plan, Time()),
        deaths(plan, {0, 2, 3}, std::move(known)) {
    driver.run_on(queue);
    deaths.run_on(queue, engine, [this](RankId rank) {
      died.push_back(rank);
      CHECK(queue.now() == dies);
    });
  }
  static FaultPlan made() {
    FaultPlan plan;
    plan.add({.at = kDies, .node = 2, .kind = FaultKind::kHost, .fault = plan.new_fault()});
    return plan;
  }
  void at(Time time, const std::function<void()>& what) {
    while (!queue.empty() && queue.next_time() < time) queue.run_one();
    what();
  }

  Time dies = kDies;
  FaultPlan plan;
  FaultDriver driver;
  HostDeaths deaths;
  std::vector<RankId> died;
};

std::int32_t down() { return completion_status(Status::kNodeDown); }

}  // namespace

TEST_CASE("hosts that die: a receive from a dead rank ends at the time of detection, others wait on") {
  Dying ranks;
  ranks.receive(0, 1, B, 64, 5, 77);
  ranks.receive(0, 2, B, 64, 5, 78);
  ranks.receive(0, kAnyRank, C, 64, 6, 79);
  ranks.run();
  CHECK(ranks.died == std::vector<RankId>{1});
  const auto failed = ranks.only<ReceiveCompletion>(0, 77);
  CHECK(failed.status == down());
  CHECK(failed.time == kDies + kDetection);
  CHECK(ranks.done[0].size() == 1);
  CHECK(ranks.deaths.about(failed, kDies + kDetection) == "; the host of rank 1, node 2, died at 20.000 us");
  ranks.receive(0, 1, B, 64, 5, 80);  // from now on at once
  CHECK(ranks.only<ReceiveCompletion>(0, 80).status == down());
  ranks.fill(2, A, 16, 3);
  ranks.send(2, 0, A, 16, 5);
  ranks.run();
  CHECK(ranks.only<ReceiveCompletion>(0, 78).status == 0);
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE("hosts that die: what has come from a dead rank before is received") {
  Dying ranks;
  ranks.fill(1, A, 16, 3);
  ranks.send(1, 0, A, 16, 5);
  ranks.run();
  ranks.receive(0, 1, B, 64, 5, 77);
  CHECK(ranks.only<ReceiveCompletion>(0, 77).status == 0);
  CHECK(ranks.same(1, A, 0, B, 16));
}

TEST_CASE("hosts that die: a rendezvous with a dead rank ends at both, whoever has come how far") {
  for (const bool to_dead : {true, false}) {
    for (int stage = 0; stage < 40; ++stage) {
      CAPTURE(to_dead);
      CAPTURE(stage);
      Dying ranks;
      const RankId from = to_dead ? 0 : 1, to = to_dead ? 1 : 0;
      ranks.fill(from, A, 9000, 3);
      ranks.at(Time::ns(500 * stage), [&] { ranks.send(from, to, A, 9000, 5, 88); });
      if (stage % 2 == 0) ranks.receive(to, from, B, 10'000, 5, 77);
      ranks.run();
      if (stage % 2 == 1 && !to_dead) ranks.receive(0, 1, B, 10'000, 5, 77);
      ranks.run();
      if (to_dead) {
        const std::int32_t sent = ranks.only<SendCompletion>(0, 88).status;
        CHECK((sent == 0 || sent == down()));
      } else {
        const std::int32_t received = ranks.only<ReceiveCompletion>(0, 77).status;
        CHECK((received == 0 || received == down()));
        if (received == 0) CHECK(ranks.same(1, A, 0, B, 9000));
      }
      CHECK(ranks.engine.operations() == 0);
    }
  }
}

TEST_CASE("hosts that die: interfaces that retransmit give up at the next timeout after detection") {
  for (const std::int64_t shared_memory_rate :
       {std::int64_t{0}, std::int64_t{12'000'000'000}}) {  // the latter is beside the interface
    NiConfig ni = testing::odd_costs();
    ni.reliability = NiConfig::Reliability::kEndToEnd;
    ni.retransmission_timeout = Time::us(10);
    ni.retransmission_tries = 15;
    ni.shared_memory_rate_bit_per_s = shared_memory_rate;
    Dying ranks(ni);
    ranks.share(1, kKey, B, 8, kRemoteWrite);
    ranks.at(Time::us(30), [&] { ranks.put(0, 1, A, 8, B, kKey, 7); });
    ranks.run();
    const auto put = ranks.only<PutCompletion>(0, 7);
    CHECK(put.status == down());
    CHECK(put.time > kDies + kDetection);
    CHECK(put.time < kDies + kDetection + Time::us(200));
    CHECK(ranks.engine.operations() == 0);
    CHECK(ranks.engine.nic().reliability().retransmits);
  }
}

TEST_CASE("hosts that die: each node learns at its own time") {
  Dying ranks(testing::odd_costs(), {{2, 0, Time::us(30)}, {2, 3, Time::us(70)}});
  ranks.fill(0, A, 9000, 3);
  ranks.send(0, 1, A, 9000, 5, 88);  // a rendezvous that nobody takes
  for (const RankId rank : {0u, 2u}) ranks.receive(rank, 1, B, 64, 5, 77);
  ranks.at(kDies + Time::us(50), [&] {
    ranks.receive(0, 1, C, 64, 6, 78);
    ranks.receive(2, 1, C, 64, 6, 78);
  });
  ranks.run();
  CHECK(ranks.only<SendCompletion>(0, 88).time == kDies + Time::us(30));
  CHECK(ranks.only<ReceiveCompletion>(0, 77).time == kDies + Time::us(30));
  CHECK(ranks.only<ReceiveCompletion>(0, 78).time < kDies + Time::us(70));  // at once
  CHECK(ranks.only<ReceiveCompletion>(2, 77).time == kDies + Time::us(70));
  CHECK(ranks.only<ReceiveCompletion>(2, 78).time == kDies + Time::us(70));
  CHECK(ranks.engine.operations() == 0);
  CHECK(ranks.deaths.all_known());
}

TEST_CASE("hosts that die: who is held dies soon after it is let die, or at the end of the hold") {
  for (const bool let : {true, false}) {
    Dying ranks;
    ranks.deaths.hold(1, Time::us(100));
    ranks.driver.hold_until(Time::us(100));
    CHECK(ranks.deaths.dies(1) == Time::never());
    ranks.dies = let ? Time::us(41) : Time::us(100);
    if (let) ranks.at(Time::us(40), [&] { ranks.deaths.let_die(1, Time::us(40)); });
    while (!ranks.queue.empty()) ranks.queue.run_one();
    CHECK(ranks.died == std::vector<RankId>{1});
    CHECK(ranks.deaths.dies(1) == ranks.dies);
    CHECK(ranks.driver.record(0, 0, {}).changes.size() == 1);
  }
}

TEST_CASE("hosts that die: the schedule names them, and each dies once") {
  const auto shape = make_topology({"torus", {4}});
  FaultSchedule schedule;
  schedule.events = {{"(1)", Time::us(5), false, FaultKind::kHost}, {"(1)", Time::us(2), false, FaultKind::kHost}};
  const std::vector<FaultChange> dying = plan_of(schedule, *shape).dying_hosts();
  REQUIRE(dying.size() == 1);
  CHECK((dying[0].node == 1 && dying[0].at == Time::us(2)));
  schedule.events = {{"(1) X+", Time(), false, FaultKind::kHost}};
  CHECK_THROWS(plan_of(schedule, *shape));
}

TEST_CASE("hosts that die: a text names the first few ranks") {
  CHECK(text_of({{3, 1, Time::us(20)}}) == "rank 3 on node 1 at 20.000 us");
  const std::vector<RankDeath> many(6, {3, 1, Time::us(20)});
  CHECK(text_of(many).ends_with(" and 2 more"));
}
