// SPDX-License-Identifier: Apache-2.0
// Are as many bytes sent as there must be, do rules choose what can carry a call out, and are unknown names refused?
// What every algorithm has to do is in collectives_contract_test.cpp.
#include <doctest/doctest.h>

#include <set>
#include <utility>

#include "core/collectives/collectives_harness.hpp"
#include "core/collectives/selection.hpp"
#include "core/config/error.hpp"
#include "core/units/size_harness.hpp"

using namespace exanet;
using namespace exanet::testing;

namespace {

// Of elements of 4 bytes, at rank 0.
CollectiveCall vector_of(std::uint32_t ranks, std::uint64_t bytes) {
  CollectiveCall c;
  c.ranks = ranks;
  c.element_bytes = 4;
  c.bytes = bytes;
  return c;
}

std::vector<Schedule> plan(const CollectiveAlgorithm& algorithm, std::uint32_t ranks, std::uint32_t root,
                           std::uint64_t bytes) {
  std::vector<Schedule> schedules(ranks);
  for (std::uint32_t me = 0; me < ranks; ++me)
    algorithm.generate(collective_call(algorithm.collective, ranks, me, root, bytes), schedules[me]);
  return schedules;
}

std::int64_t sent(const std::string& collective, const std::string& name, std::uint32_t ranks, std::uint64_t bytes) {
  for (const CollectiveAlgorithm& algorithm : collective_algorithms())
    if (collective == algorithm.collective && name == algorithm.name)
      return Execution(plan(algorithm, ranks, 0, bytes), false).run().bytes;
  return -2;
}

}  // namespace

TEST_CASE("algorithms send as many bytes as their sources say") {
  const std::int64_t n = 1 << 16;
  CHECK(sent("bcast", "binomial", 16, n) == 15 * n);
  CHECK(sent("bcast", "binomial", 13, n) == 12 * n);
  CHECK(sent("bcast", "binary", 13, n) == 12 * n);
  CHECK(sent("bcast", "LLF", 13, n) == 12 * n);
  CHECK(sent("bcast", "scatter-doubling", 16, n) ==
        4 * n / 2 + 15 * n);  // half of it on each level, then all pieces to all
  CHECK(sent("allreduce", "recursive-doubling", 16, n) == 16 * 4 * n);
  CHECK(sent("allreduce", "recursive-doubling", 10, n) == 8 * 3 * n + 4 * n);
  CHECK(sent("allreduce", "rabenseifner", 16, n) == 2 * 15 * n);
  CHECK(sent("allreduce", "ring", 16, n) == 2 * 15 * n);
  CHECK(sent("reduce", "rabenseifner", 16, n) == 15 * n + 4 * n / 2);
  CHECK(sent("allgather", "ring", 7, n) == 7 * 6 * n);
  CHECK(sent("allgather", "bruck", 7, n) == 7 * 6 * n);
  CHECK(sent("allgather", "recursive-doubling", 8, n) == 8 * 7 * n);
  CHECK(sent("alltoall", "pairwise", 9, n) == 9 * 8 * n);
  CHECK(sent("alltoall", "scattered", 40, n) == 40 * 39 * n);
  CHECK(sent("gather", "binomial", 8, n) == 4 * n + 2 * 2 * n + 4 * n);
  CHECK(sent("barrier", "dissemination", 9, n) == 0);
}

TEST_CASE("MPICH's choices change where its table says") {
  const auto messages = [](CollectiveOperation operation, std::uint32_t ranks, std::uint64_t bytes) {
    Schedule out;
    plan_collective(operation, vector_of(ranks, bytes), {}, selection_rules("mpich"), out);
    return out.messages().size();
  };
  CHECK(messages({Collective::allreduce}, 16, 8) == 2 * 4);
  CHECK(messages({Collective::allreduce}, 16, 60) == 2 * 4);  // fewer elements than ranks
  CHECK(messages({Collective::allreduce}, 16, 64) == 2 * 8);
  CHECK(messages({Collective::allreduce, false}, 16, 2048) == 2 * 4);
  CHECK(messages({Collective::bcast}, 8, 12288) == 3);
  CHECK(messages({Collective::bcast, false}, 8, 12288) == 3 + 2 * 3);
  CHECK(messages({Collective::bcast}, 8, 524289) == 3 + 2 * 7);
  CHECK(messages({Collective::bcast}, 7, 1 << 20) == 3);
  CHECK(messages({Collective::alltoall}, 9, 256) == 2 * 4);
  CHECK(messages({Collective::alltoall}, 9, 257) == 2 * 8);
  CHECK(messages({Collective::alltoall}, 8, 4) == 2 * 7);
  CHECK(messages({Collective::allreduce}, 16, 0) == 0);
  Schedule ring;
  plan_collective({Collective::allreduce}, vector_of(16, 8), {{"allreduce", "ring"}}, selection_rules("mpich"), ring);
  CHECK(ring.messages().size() == 2 * 30);
}

namespace {

std::vector<Schedule> plan_by(const SelectionRules& rules, Collective collective, bool waits, bool commutative,
                              std::uint32_t ranks, std::uint64_t bytes) {
  std::vector<Schedule> schedules(ranks);
  for (std::uint32_t me = 0; me < ranks; ++me) {
    CollectiveCall c = collective_call(collective_name(collective), ranks, me, ranks / 2, bytes);
    c.commutative = commutative;
    if (collective == Collective::reduce_scatter_block) c.received.assign(ranks, bytes);
    plan_collective({collective, waits}, c, {}, rules, schedules[me]);
  }
  return schedules;
}

std::int64_t messages_of(const std::vector<Schedule>& schedules) {
  std::int64_t count = 0;
  for (const Schedule& schedule : schedules)
    for (const ScheduledMessage& m : schedule.messages()) count += m.sends;
  return count;
}

}  // namespace

TEST_CASE("rules choose algorithms that carry the call out") {
  for (const SelectionRules& rules : all_selection_rules()) {
    for (const Collective collective : kCollectives) {
      for (const bool waits : {true, false}) {
        for (const bool commutative : {true, false}) {
          for (const std::uint32_t ranks : {2u, 3u, 4u, 5u, 7u, 8u, 11u, 16u, 19u}) {
            for (const std::uint64_t bytes : {4u, 400u, 20000u, 3000000u}) {
              const std::vector<Schedule> schedules = plan_by(rules, collective, waits, commutative, ranks, bytes);
              INFO(rules.name << ": " << collective_name(collective) << ", " << static_cast<int>(collective)
                              << ", waits " << waits << ", " << ranks << " ranks, " << bytes << " B");
              CHECK(Execution(schedules, false).run().ends);
              CHECK(Execution(schedules, true).run().ends);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("rules name what there is on any number of ranks") {
  for (const SelectionRules& rules : all_selection_rules()) {
    for (const Collective collective : kCollectives) {
      for (std::uint32_t ranks = 2; ranks < 20000; ranks = ranks * (testing::in_full() ? 5 : 8) / 4 + 1) {
        for (std::uint64_t bytes = 4; bytes < 1 << 24; bytes *= testing::in_full() ? 2 : 4) {
          CollectiveCall c = collective_call(collective_name(collective), ranks, 0, 0, bytes);
          if (collective == Collective::reduce_scatter_block) c.received.assign(ranks, bytes);
          const std::string name = rules.select(collective, c, true);
          INFO(rules.name << ": " << collective_name(collective) << " by " << name);
          CHECK_NOTHROW(check_choices({{collective_name(collective), name}}));
        }
      }
    }
  }
}

TEST_CASE("Open MPI's choices change where its table says") {
  const SelectionRules& rules = selection_rules("open-mpi");
  const auto by = [&rules](Collective collective, std::uint32_t ranks, std::uint64_t bytes) {
    return std::string(rules.select(collective, vector_of(ranks, bytes), true));
  };
  CHECK(by(Collective::bcast, 8, 7) == "knomial");
  CHECK(by(Collective::bcast, 8, 8) == "open-mpi-binary");
  CHECK(by(Collective::bcast, 15, 32767) == "open-mpi-binomial");
  CHECK(by(Collective::bcast, 15, 32768) == "linear");
  CHECK(by(Collective::bcast, 17, (1 << 20) - 4) == "open-mpi-binomial");
  CHECK(by(Collective::bcast, 17, 1 << 20) == "open-mpi-scatter-doubling");
  CHECK(by(Collective::allreduce, 16, 60) == "recursive-doubling");  // fewer elements than ranks
  CHECK(by(Collective::allreduce, 31, 4095) == "recursive-doubling");
  CHECK(by(Collective::allreduce, 31, 4096) == "open-mpi-rabenseifner");
  CHECK(by(Collective::allreduce, 40, 124) == "recursive-doubling");
  CHECK(by(Collective::allreduce, 32, 124) == "recursive-doubling");
  CHECK(by(Collective::allreduce, 63, 128) == "open-mpi-rabenseifner");
  CHECK(by(Collective::allreduce, 64, 128) == "recursive-doubling");
  CHECK(by(Collective::alltoall, 16, 511) == "bruck");
  CHECK(by(Collective::alltoall, 16, 512) == "linear");
  CHECK(by(Collective::reduce, 16, 4095) == "open-mpi-binary");
  CHECK(by(Collective::reduce, 16, 4096) == "open-mpi-binomial");
  CHECK(by(Collective::barrier, 63, 0) == "recursive-doubling");
  CHECK(by(Collective::barrier, 64, 0) == "dissemination");
  CHECK_THROWS_WITH_AS(selection_rules("lam"), "there are no rules \"lam\": use one of mpich, open-mpi", ConfigError);
}

TEST_CASE("libraries begin some collectives of nothing") {
  const auto begun = [](const char* rules, CollectiveOperation operation, std::vector<std::uint64_t> received) {
    CollectiveCall c = vector_of(4, 0);
    c.received = std::move(received);
    Schedule out;
    plan_collective(operation, c, {}, selection_rules(rules), out);
    return !out.messages().empty();
  };
  CHECK(begun("mpich", {Collective::allreduce, false}, {}));
  CHECK_FALSE(begun("mpich", {Collective::allreduce}, {}));
  CHECK_FALSE(begun("mpich", {Collective::allgatherv, false}, {0, 0, 0, 0}));
  CHECK(begun("mpich", {Collective::allgatherv, false}, {0, 8, 0, 0}));
  CHECK(begun("open-mpi", {Collective::allgatherv, false}, {0, 0, 0, 0}));
  CHECK_FALSE(begun("open-mpi", {Collective::allreduce, false}, {}));
  CHECK(begun("open-mpi", {Collective::alltoall, false}, {}));
  CHECK_FALSE(begun("open-mpi", {Collective::reduce_scatter, false}, {0, 0, 0, 0}));
}

// Each message of a broadcast or a reduction along a tree goes over one of its edges.
TEST_CASE("Open MPI's trees have the edges that its sources draw") {
  const auto edges = [](const char* collective, const char* name, std::uint32_t ranks, std::uint32_t root) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> found;
    for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
      if (algorithm.collective != std::string(collective) || algorithm.name != std::string(name)) continue;
      const std::vector<Schedule> schedules = plan(algorithm, ranks, root, 4);
      for (std::uint32_t me = 0; me < ranks; ++me)
        for (const ScheduledMessage& m : schedules[me].messages())
          if (m.sends) found.emplace(me, m.peer);
    }
    return found;
  };
  using Edges = std::set<std::pair<std::uint32_t, std::uint32_t>>;
  CHECK(edges("bcast", "open-mpi-binary", 7, 0) == Edges{{0, 1}, {0, 2}, {1, 3}, {1, 5}, {2, 4}, {2, 6}});
  CHECK(edges("bcast", "open-mpi-binomial", 8, 0) == Edges{{0, 1}, {0, 2}, {0, 4}, {1, 3}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(edges("bcast", "knomial", 10, 0) ==
        Edges{{0, 4}, {0, 8}, {0, 1}, {0, 2}, {0, 3}, {4, 5}, {4, 6}, {4, 7}, {8, 9}});
  CHECK(edges("bcast", "open-mpi-binary", 4, 2) == Edges{{2, 3}, {2, 0}, {3, 1}});
  // Rank 0 and the root have changed places.
  CHECK(edges("bcast", "libnbc-binomial", 6, 1) == Edges{{1, 0}, {1, 2}, {1, 4}, {0, 3}, {0, 5}});
  CHECK(edges("reduce", "libnbc-binomial", 6, 2) == Edges{{1, 2}, {3, 0}, {0, 2}, {5, 4}, {4, 2}});
  CHECK(edges("reduce", "in-order-binary", 7, 6) == Edges{{0, 2}, {1, 2}, {2, 6}, {3, 5}, {4, 5}, {5, 6}});
  CHECK(edges("reduce", "in-order-binary", 2, 0) == Edges{{0, 1}, {1, 0}});
}

TEST_CASE("Open MPI's algorithms send as many messages and bytes as their sources say") {
  const std::int64_t n = 1 << 16;
  CHECK(sent("allreduce", "open-mpi-rabenseifner", 16, n) == 2 * 15 * n);
  CHECK(sent("allreduce", "open-mpi-rabenseifner", 10, n) == 2 * 7 * n + 2 * (n / 2 + n / 2 + n / 2 + n));
  CHECK(sent("reduce", "open-mpi-rabenseifner", 16, n) == 15 * n + 4 * n / 2);
  CHECK(sent("allreduce", "linear", 9, n) == 16 * n);
  CHECK(sent("allreduce", "ring", 9, n) == 2 * 8 * n);  // whole elements, though 9 does not divide them
  CHECK(sent("allgather", "neighbor-exchange", 8, n) == 8 * 7 * n);
  CHECK(sent("alltoall", "open-mpi-in-place", 8, n) == 8 * 7 * n);
  CHECK(sent("bcast", "split-binary", 8, n) == 7 * n);
  CHECK(sent("bcast", "split-binary", 9, n) == 8 * n);
  CHECK(sent("bcast", "open-mpi-scatter-doubling", 16, n) == sent("bcast", "scatter-doubling", 16, n));
  // Of 5 ranks, a piece of n each: 1 + 2 + 1 + 1 pieces along the tree; 2 + 2 between neighbours, 4 times 2 between
  // pairs; 4 to the last rank, whose one goes back, and on to the three others, who have had no partner.
  CHECK(sent("bcast", "open-mpi-scatter-doubling", 5, 5 * n) == (1 + 2 + 1 + 1 + 4 + 8 + 4 + 1 + 3) * n);
  CHECK(sent("reduce", "libnbc-chain", 3, n + 8) == 2 * (n + 8));
  const SelectionRules& rules = selection_rules("open-mpi");
  // A piece of 8 KiB at most each.
  CHECK(messages_of(plan_by(rules, Collective::reduce, false, true, 2, 2 * n)) == 16);
  CHECK(messages_of(plan_by(rules, Collective::barrier, true, true, 12, 0)) == 8 * 3 + 3 * 4);
  CHECK(messages_of(plan_by(rules, Collective::gather, true, true, 3, 2 * n)) == 2 * 3);
}

TEST_CASE("unknown algorithms are refused with those that there are") {
  CHECK_NOTHROW(check_choices({{"bcast", "binomial"}}));
  CHECK_THROWS_WITH_AS(check_choices({{"bcast", "ring"}}),
                       "bcast by \"ring\" is unknown: use one of binomial, binary, binomial-doubling, "
                       "binomial-at-once, LLF, GLF, hardware, scatter-doubling, scatter-ring, "
                       "scatter-doubling-at-once, scatter-ring-at-once, linear, chain, knomial, split-binary, "
                       "open-mpi-binary, open-mpi-binomial, libnbc-binomial, open-mpi-scatter-doubling, accelerator",
                       ConfigError);
  CHECK_THROWS_AS(check_choices({{"broadcast", "binomial"}}), ConfigError);
}
