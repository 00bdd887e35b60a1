// SPDX-License-Identifier: Apache-2.0
// Is priority traffic stuck behind bulk, at its sources or on its way?
#include <doctest/doctest.h>

#include "core/workload/closed_loop.hpp"
#include "core/workload/open_loop_harness.hpp"

using namespace exanet;
using namespace exanet::testing;

namespace {

OpenLoopResult with_share(const TopologySpec& spec, double load, double share) {
  OpenLoopConfig config;
  config.load = load;
  config.priority_share = share;
  config.warm_up = Time::us(30);
  config.measure = Time::us(60);
  OpenLoop loop(spec, fabric_for(spec), config);
  REQUIRE(loop.run());
  return loop.result();
}

}  // namespace

TEST_CASE("classes: priority packets pass bulk at every load, also beyond its saturation") {
  struct Case {
    double load, most;  // mean latency by that of an empty network
  };
  // At each hop a packet waits for the one on the wire and the one in the link's buffer behind it, at most; a torus of
  // 4x4x4 has three hops.
  for (const Case& c : {Case{0.3, 1.15}, Case{0.9, 1.6}, Case{3.0, 2.0}}) {
    CAPTURE(c.load);
    const OpenLoopResult r = with_share({"torus", {4, 4, 4}}, c.load, 0.1);
    REQUIRE(r.of_priority.size() == 2);
    const PriorityResult& priority = r.of_priority[1];
    CHECK(priority.latency_ns < c.most * r.zero_load_ns);
    CHECK(priority.accepted_load == near(priority.offered_load, 0.02));
    CHECK(priority.measured == priority.created);
    if (c.load > 1) CHECK(r.of_priority[0].latency_ns > 10 * priority.latency_ns);
  }
}

TEST_CASE("classes: a share divides the same arrivals into two streams") {
  const TopologySpec spec{"torus", {4, 4}};
  const OpenLoopResult all_bulk = with_share(spec, 0.4, 1e-12), half = with_share(spec, 0.4, 0.5),
                       all = with_share(spec, 0.4, 1);
  CHECK(half.created == all_bulk.created);
  CHECK(all.created == all_bulk.created);
  CHECK(half.of_priority[0].created + half.of_priority[1].created == half.created);
  CHECK(half.of_priority[1].offered_load == near(0.5 * half.offered_load, 0.05));
  CHECK(all_bulk.of_priority[1].created == 0);
  CHECK(all.of_priority[0].created == 0);
  CHECK(all.latency_ns == near(all_bulk.latency_ns, 0.02));  // alone, one class is as good as the other
}

TEST_CASE("classes: a job with priority takes the time that it takes alone, beside one that fills the links") {
  JobConfig bulk, small;
  bulk.program.name = small.program.name = "alltoall";
  bulk.program.ranks = small.program.ranks = 8;
  bulk.program.bytes = 1 << 16;
  small.program.bytes = 256;
  small.rounds = 4;
  double us[3];
  for (const int run : {0, 1, 2}) {  // alone, with priority, without
    ClosedLoopConfig config;
    config.mapping = "node";
    small.priority = run == 1;
    config.jobs = {small};
    if (run > 0) config.jobs.push_back(bulk);
    ClosedLoop loop({"torus", {16}}, published_fabric(), config);
    REQUIRE(loop.run());
    us[run] = static_cast<double>(loop.result().jobs[0].finished.ps()) * 1e-6;
  }
  CHECK(us[1] < 1.5 * us[0]);
  CHECK(us[2] > 2 * us[0]);
}
