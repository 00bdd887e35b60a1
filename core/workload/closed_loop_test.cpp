// SPDX-License-Identifier: Apache-2.0
// Do programs send what they expect, and do jobs take the time that theory says?
#include "core/workload/closed_loop.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "core/config/error.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/network/lossy_harness.hpp"
#include "core/nic/nic.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;
using testing::near;
using testing::published_fabric;

namespace {

ClosedLoopResult finish(const TopologySpec& spec, const std::vector<JobConfig>& jobs,
                        const std::string& mapping = "linear", std::uint64_t seed = 1) {
  ClosedLoopConfig config{jobs, mapping, seed, 256};
  ClosedLoop loop(spec, testing::fabric_for(spec), config);
  REQUIRE(loop.run());
  CHECK(loop.progress() == 1);
  return loop.result();
}

std::string complaint(const TopologySpec& spec, const std::vector<JobConfig>& jobs,
                      const std::string& mapping = "linear") {
  try {
    ClosedLoop loop(spec, published_fabric(), {jobs, mapping, 1, 256});
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

// Those that carry the steps of jobs: interfaces of Ultra Ethernet carry whole messages alone.
std::vector<std::string> nics_of_jobs() {
  std::vector<std::string> names = nic_names();
  std::erase(names, "ultra-ethernet");
  return names;
}

// By every transport: both levels, and each interface.
std::vector<ClosedLoopConfig> carried(const JobConfig& job) {
  std::vector<ClosedLoopConfig> configs;
  for (const std::string& nic : nics_of_jobs()) {
    ClosedLoopConfig config{{job}, "linear", 1, 256};
    config.nic = nic;
    configs.push_back(config);
  }
  configs.push_back(configs.front());
  configs.back().flow_level = true;
  return configs;
}

}  // namespace

TEST_CASE("in every program as many messages come as are expected, of every number of ranks") {
  for (const std::string& name : program_names())
    for (const std::uint32_t ranks : {2u, 3u, 4u, 5u, 7u, 8u, 12u, 16u, 17u, 27u, 31u, 64u}) {
      CAPTURE(name);
      CAPTURE(ranks);
      const auto program = make_program({name, ranks, 10'000, Time(), 3});
      for (std::uint64_t round = 0; round < 2; ++round)
        for (std::uint32_t step = 0; step < program->steps(); ++step) {
          std::map<std::uint32_t, std::uint32_t> come;
          for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            std::vector<Sending> sends;
            program->sends(rank, round, step, sends);
            for (const Sending& s : sends) {
              REQUIRE(s.to < ranks);
              REQUIRE(s.to != rank);
              if (s.reply_bytes == 0 && s.awaited) ++come[s.to];
            }
          }
          for (std::uint32_t rank = 0; rank < ranks; ++rank)
            REQUIRE(program->receives(rank, round, step) == come[rank]);
        }
    }
}

TEST_CASE("ranks lie on a grid of least surface") {
  CHECK(near_cube(512, 3) == std::vector<std::uint32_t>{8, 8, 8});
  CHECK(near_cube(128, 3) == std::vector<std::uint32_t>{8, 4, 4});
  CHECK(near_cube(12, 2) == std::vector<std::uint32_t>{4, 3});
  CHECK(near_cube(7, 3) == std::vector<std::uint32_t>{7, 1, 1});
}

TEST_CASE(
    "a stencil on the torus of its shape: neighbours only, and a round takes as long as six messages on one port") {
  const JobConfig job{{"stencil-3d", 0, 4096, Time::us(1), 1}, 5};
  const ClosedLoopResult r = finish({"torus", {4, 4, 4}}, {job});
  CHECK(r.mean_hops == 1);
  CHECK(r.jobs[0].ranks == 64);
  CHECK(r.jobs[0].messages == 64 * 6 * 5);
  CHECK(r.jobs[0].bytes == r.jobs[0].messages * 4096);
  CHECK(r.packets == r.jobs[0].messages * 16);
  CHECK(r.jobs[0].first_finished <= r.finished);
  CHECK(r.jobs[0].fairness > 0.999);
  // The intra-tile port takes a word of 16 bytes each 6.4 ns: 6 messages of 16 packets of 18 words. The last packet's
  // way adds to it.
  const double round_ns = 1000 + 6 * 16 * 18 * 6.4;
  CHECK(r.finished.us_double() * 1e3 > 5 * round_ns);
  CHECK(r.finished.us_double() * 1e3 < 5 * (round_ns + 1000));
  // At random the same work goes over more links, and takes longer.
  const ClosedLoopResult mixed = finish({"torus", {4, 4, 4}}, {job}, "random");
  CHECK(mixed.mean_hops == near(3.0 * 64 / 63, 0.1));
  CHECK(mixed.finished > r.finished);
  CHECK(mixed.finished == finish({"torus", {4, 4, 4}}, {job}, "random").finished);
  CHECK(mixed.finished != finish({"torus", {4, 4, 4}}, {job}, "random", 2).finished);
}

TEST_CASE("collectives send as much as their algorithms say") {
  const auto bytes_and_steps = [](const std::string& name, std::uint32_t ranks) {
    const auto program = make_program({name, ranks, 1 << 20, Time(), 1});
    std::uint64_t sum = 0;
    std::vector<Sending> sends;
    for (std::uint32_t step = 0; step < program->steps(); ++step)
      for (std::uint32_t rank = 0; rank < ranks; ++rank) program->sends(rank, 0, step, sends);
    for (const Sending& s : sends) sum += s.bytes;
    return std::pair{sum, program->steps()};
  };
  constexpr std::uint64_t kMiB = 1 << 20;
  using Sum = std::pair<std::uint64_t, std::uint32_t>;
  CHECK(bytes_and_steps("allreduce-ring", 16) == Sum{16 * 30 * kMiB / 16, 30});
  CHECK(bytes_and_steps("allreduce-doubling", 16) == Sum{16 * 4 * kMiB, 4});
  CHECK(bytes_and_steps("allreduce-doubling", 18) == Sum{(16 * 4 + 2 * 2) * kMiB, 6});
  CHECK(bytes_and_steps("allreduce-rabenseifner", 16) == Sum{16 * 2 * 15 * kMiB / 16, 8});
  CHECK(bytes_and_steps("allreduce-tree", 16) == Sum{2 * 15 * kMiB, 8});
  CHECK(bytes_and_steps("broadcast", 100) == Sum{99 * kMiB, 7});
  CHECK(bytes_and_steps("reduce", 100) == Sum{99 * kMiB, 7});
  CHECK(bytes_and_steps("allgather-ring", 10) == Sum{10 * 9 * kMiB, 9});
  CHECK(bytes_and_steps("allgather-bruck", 10) == Sum{10 * 9 * kMiB, 4});
  CHECK(bytes_and_steps("alltoall", 10) == Sum{10 * 9 * kMiB, 1});
  CHECK(bytes_and_steps("alltoall-pairwise", 10) == Sum{10 * 9 * kMiB, 9});
  CHECK(bytes_and_steps("alltoall-bruck", 16) ==
        Sum{16 * 4 * 8 * kMiB, 4});  // each block moves once for each bit of its distance
  CHECK(bytes_and_steps("alltoall-bruck", 10) == Sum{10 * (5 + 4 + 4 + 2) * kMiB, 4});
  CHECK(bytes_and_steps("barrier", 10) == Sum{0, 4});
}

TEST_CASE("after a broadcast everybody has it, after an allgather all of it: what is sent can have been received") {
  for (const std::string name :
       {"broadcast", "allgather-ring", "allgather-bruck", "allreduce-tree", "allreduce-doubling", "barrier"})
    for (const std::uint32_t ranks : {2u, 5u, 8u, 13u, 16u}) {
      CAPTURE(name);
      const auto program = make_program({name, ranks, 1 << 20, Time(), 1});
      std::vector<std::set<std::uint32_t>> heard(ranks);  // of whom a rank may know by now
      for (std::uint32_t rank = 0; rank < ranks; ++rank) heard[rank] = {rank};
      for (std::uint32_t step = 0; step < program->steps(); ++step) {
        const auto before = heard;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          std::vector<Sending> sends;
          program->sends(rank, 0, step, sends);
          for (const Sending& s : sends) heard[s.to].insert(before[rank].begin(), before[rank].end());
        }
      }
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        if (name == "broadcast")
          CHECK(heard[rank].count(0) == 1);
        else
          CHECK(heard[rank].size() == ranks);
      }
    }
}

TEST_CASE("every program runs to its end, and an incast takes as long as its last link needs") {
  for (const std::string& name : program_names()) {
    CAPTURE(name);
    const ClosedLoopResult r = finish({"fat-tree", {4, 4}}, {{{name, 13, 2000, Time::us(1), 1}, 2}}, "random");
    CHECK(r.finished > Time::us(1));
    CHECK(r.jobs[0].messages > 0);
  }
  // 15 senders, 64 KiB each: 256 packets of 38 words of 6.4 ns (64 bit) over one link.
  const ClosedLoopResult r = finish({"fat-tree", {4, 4}}, {{{"incast", 16, 65536, Time(), 1}, 1}});
  CHECK(r.finished.us_double() == near(15 * 256 * 38 * 6.4e-3, 0.01));
}

TEST_CASE(
    "a rank sends the messages of its steps one after the other: collectives on one switch take their closed form") {
  constexpr std::uint64_t kBytes = 1 << 16;
  const double vector_us = 256 * 38 * 6.4e-3;  // packets of 38 words of 6.4 ns
  // Vectors or blocks that the slowest rank sends, or receives, one after the other; and rounds, each with a latency.
  const std::vector<std::tuple<std::string, double, double>> forms = {
      {"broadcast", 4, 4},
      {"reduce", 4, 4},
      {"allreduce-tree", 8, 8},
      {"allreduce-doubling", 4, 4},
      {"allreduce-ring", 30.0 / 16, 30},
      {"allreduce-rabenseifner", 30.0 / 16, 8},
      {"allgather-ring", 15, 15},
      {"allgather-bruck", 15, 4},
      {"alltoall", 15, 1},
      {"alltoall-pairwise", 15, 15},
      {"alltoall-bruck", 4 * 8, 4},
  };
  const TopologySpec one_switch{"fat-tree", {16}};
  for (const bool flow_level : {false, true}) {
    const auto us = [&](const std::string& name, std::uint64_t bytes, std::uint64_t rounds) {
      ClosedLoopConfig config{{{{name, 16, bytes, Time(), 1}, rounds}}, "linear", 1, 256};
      config.flow_level = flow_level;
      ClosedLoop loop(one_switch, testing::fabric_for(one_switch), config);
      REQUIRE(loop.run());
      return loop.result().finished.us_double();
    };
    const double latency_us = us("barrier", 0, 1) / 4;
    CHECK(latency_us < 1);
    for (const auto& [name, vectors, latencies] : forms)
      for (const std::uint64_t rounds : {1, 3}) {
        CAPTURE(flow_level);
        CAPTURE(name);
        CAPTURE(rounds);
        // A rank that only sends in the last steps of a round begins the next one earlier: at most this long.
        const double form = vectors * vector_us + latencies * latency_us;
        const double took = us(name, kBytes, rounds);
        CHECK(took < 1.02 * form * static_cast<double>(rounds));
        if (rounds == 1) CHECK(took == near(form, 0.02));
      }
  }
}

TEST_CASE("nobody waits for flows to leave") {
  // 40 flows of each rank, 1 us apart: all have begun long before the first of many have left.
  const ClosedLoopResult r = finish({"fat-tree", {16}}, {{{"hadoop", 16, 0, Time::us(1), 1}, 40}});
  CHECK(r.jobs[0].first_finished < Time::us(100));
  CHECK(r.finished > Time::us(1000));
}

TEST_CASE("interfaces that carry whole messages alone are refused for jobs, by name") {
  ClosedLoopConfig config{{{{"barrier", 4, 0, Time(), 1}, 1}}, "linear", 1, 256};
  config.nic = "ultra-ethernet";
  const TopologySpec spec{"fat-tree", {4}};
  CHECK_THROWS_WITH_AS(ClosedLoop(spec, published_fabric(), config).run(),
                       doctest::Contains("ultra-ethernet interfaces carry whole messages"), ConfigError);
}

TEST_CASE("a message that the network loses ends the simulation of a job, which says when") {
  for (const std::string& nic : nics_of_jobs()) {
    CAPTURE(nic);
    const TopologySpec spec{"fat-tree", {4, 4}};
    ClosedLoopConfig config{{{{"alltoall", 16, 4096, Time(), 1}, 1}}, "linear", 1, 256};
    config.nic = nic;
    ClosedLoop whole(spec, testing::dropping(testing::fabric_for(spec), 1 << 20), config);
    CHECK(whole.run());
    ClosedLoop losing(spec, testing::dropping(testing::fabric_for(spec)), config);
    CHECK_THROWS_WITH_AS(losing.run(), doctest::Contains("failed: a packet of it was lost"), ConfigError);
  }
}

TEST_CASE("a job whose messages are on a link that goes down ends, and says at which rank, on which node, and when") {
  const TopologySpec spec{"mesh", {4}};
  const auto shape = make_topology(spec);
  const JobConfig job{{"alltoall", 4, 100'000, Time(), 1}, 4};
  for (ClosedLoopConfig config : carried(job)) {
    CAPTURE(config.nic);
    CAPTURE(config.flow_level);
    ClosedLoop whole(spec, testing::fabric_for(spec), config);
    REQUIRE(whole.run());
    REQUIRE(whole.result().finished > Time::us(200));
    config.faults.fail(*shape, shape->node_name(2), Time::us(100));
    ClosedLoop cut(spec, testing::fabric_for(spec), config);
    std::string what;
    try {
      cut.run();
    } catch (const ConfigError& error) {
      what = error.what();
    }
    CAPTURE(what);
    CHECK(what.starts_with("the simulation cannot go on: at 1"));  // 100 us, and what more it takes
    CHECK(what.find(" us, rank ") != std::string::npos);
    CHECK(what.find(" on node ") != std::string::npos);
    CHECK(what.find("failed: ") != std::string::npos);
    config.faults = {};
    config.faults.fail(*shape, shape->node_name(2), whole.result().finished + Time::us(100));
    ClosedLoop after(spec, testing::fabric_for(spec), config);
    CHECK(after.run());  // nothing is on the link any more
  }
}

TEST_CASE(
    "a ring and Rabenseifner's algorithm take a quarter of the time of a tree for long vectors, and more for short "
    "ones") {
  const auto us = [](const std::string& name, std::uint64_t bytes) {
    return finish({"fat-tree", {4, 4}}, {{{name, 16, bytes, Time(), 1}, 1}}).finished.us_double();
  };
  CHECK(us("allreduce-ring", 1 << 20) < 0.35 * us("allreduce-tree", 1 << 20));
  CHECK(us("allreduce-rabenseifner", 1 << 20) < 0.5 * us("allreduce-tree", 1 << 20));
  CHECK(us("allreduce-ring", 64) > 2 * us("allreduce-tree", 64));
}

TEST_CASE("flows have the sizes of their distribution and nobody waits for them") {
  const ClosedLoopResult r = finish({"fat-tree", {4, 4}}, {{{"hadoop", 16, 0, Time::us(100), 1}, 30}});
  CHECK(r.jobs[0].messages == 16 * 30);
  const auto program = make_program({"web-search", 1000, 0, Time::us(10), 1});
  double sum = 0, gaps = 0;
  std::uint32_t small = 0;
  for (std::uint32_t rank = 0; rank < 1000; ++rank)
    for (std::uint64_t round = 0; round < 20; ++round) {
      std::vector<Sending> sends;
      program->sends(rank, round, 0, sends);
      sum += static_cast<double>(sends.at(0).bytes);
      small += sends[0].bytes <= 80'000;
      gaps += program->compute_gap(rank, round, 0).us_double();
    }
  // The mean by hand: the middle of each step of the table times its share.
  CHECK(sum / 20'000 == near(1'711'250, 0.03));
  CHECK(small / 20'000.0 == near(0.53, 0.03));
  CHECK(gaps / 20'000 == near(10, 0.03));
}

TEST_CASE("jobs get their endpoints in blocks, by switch, one by one, or at random") {
  const auto tree = make_topology({"fat-tree", {4, 4}});
  using Endpoints = std::vector<NodeId>;
  CHECK(map_jobs("linear", {4, 8}, *tree, 1) == std::vector<Endpoints>{{0, 1, 2, 3}, {4, 5, 6, 7, 8, 9, 10, 11}});
  CHECK(map_jobs("switch", {8, 8}, *tree, 1) ==
        std::vector<Endpoints>{{0, 1, 2, 3, 8, 9, 10, 11}, {4, 5, 6, 7, 12, 13, 14, 15}});
  CHECK(map_jobs("node", {3, 3}, *tree, 1) == std::vector<Endpoints>{{0, 2, 4}, {1, 3, 5}});
  const auto partial = map_jobs("switch", {6, 10}, *tree, 1);  // takes what is left of switches that are shared
  std::set<NodeId> all(partial[0].begin(), partial[0].end());
  all.insert(partial[1].begin(), partial[1].end());
  CHECK(all.size() == 16);
  const auto random = map_jobs("random", {16}, *tree, 1);
  CHECK(std::set<NodeId>(random[0].begin(), random[0].end()).size() == 16);
  CHECK(random != map_jobs("random", {16}, *tree, 2));
}

TEST_CASE("jobs without a number of ranks share the machine") {
  const JobConfig fixed{{"stencil-2d", 4, 256, Time(), 1}, 1}, open{{"stencil-2d", 0, 256, Time(), 1}, 1};
  const ClosedLoopResult r = finish({"fat-tree", {4, 4}}, {fixed, open, open}, "node");
  CHECK(r.jobs[0].ranks == 4);
  CHECK(r.jobs[1].ranks == 6);
  CHECK(r.jobs[2].ranks == 6);
  TopologySpec two_lost{"torus", {4, 4}};
  two_lost.failed = {"nodes:2:1"};
  CHECK(finish(two_lost, {open}).jobs[0].ranks == 14);
}

TEST_CASE("what cannot be run is refused with advice, and a stopped run says so") {
  const JobConfig job{{"stencil-2d", 0, 256, Time(), 1}, 1};
  CHECK(complaint({"torus", {4}}, {}).find("no job") != std::string::npos);
  CHECK(complaint({"torus", {4}}, {{{"stencil", 4, 1, Time(), 1}, 1}}).find("use one of stencil-2d") !=
        std::string::npos);
  CHECK(complaint({"torus", {4}}, {{{"stencil-2d", 5, 1, Time(), 1}, 1}}).find("5 ranks in total") !=
        std::string::npos);
  CHECK(complaint({"torus", {4}}, {{{"stencil-2d", 1, 1, Time(), 1}, 1}}).find("two or more") != std::string::npos);
  CHECK(complaint({"torus", {4}}, {job}, "scatter").find("use one of linear") != std::string::npos);
  ClosedLoop loop({"torus", {4}}, published_fabric(), {{job}, "linear", 1, 256});
  loop.stop();
  CHECK_FALSE(loop.run());
}
