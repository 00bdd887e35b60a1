// SPDX-License-Identifier: Apache-2.0
// Does every algorithm end for every number of ranks, is each message expected, and are as many bytes sent as there must be?
#include "core/replay/algorithms.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <set>
#include <utility>

#include "core/config/error.hpp"
#include "core/replay/trace_format.h"

using namespace exanet;

namespace {

// Of elements of 4 bytes, at rank 0.
CollectiveCall vector_of(std::uint32_t ranks, std::uint64_t bytes) {
  CollectiveCall c;
  c.ranks = ranks;
  c.element_bytes = 4;
  c.bytes = bytes;
  return c;
}

CollectiveCall call_of(const std::string& collective, std::uint32_t ranks, std::uint32_t me, std::uint32_t root,
                       std::uint64_t bytes) {
  CollectiveCall c = vector_of(ranks, bytes);
  c.me = me;
  c.root = root;
  const bool all = collective == "allgatherv" || collective == "reduce-scatter" || collective == "alltoallv";
  // Sizes that differ by rank, some of them 0; the same pair has the same at both ends.
  const auto size = [bytes](std::uint32_t a, std::uint32_t b) { return bytes * ((a + b) % 3); };
  for (std::uint32_t r = 0; r < ranks; ++r) {
    if (collective == "alltoallv") c.sent.push_back(size(me, r));
    if (collective == "scatterv" && me == root) c.sent.push_back(size(r, 0));
    if (all || (collective == "gatherv" && me == root))
      c.received.push_back(collective == "alltoallv" ? size(me, r) : size(r, 0));
  }
  if (collective == "gatherv" || collective == "scatterv") c.bytes = size(me, 0);
  return c;
}

// Runs the schedules of all ranks, every message eager; returns the bytes sent, or -1 when a rank waits for ever or a message is left over.
std::int64_t carried(const std::vector<Schedule>& schedules) {
  const std::size_t ranks = schedules.size();
  std::vector<std::size_t> at(ranks);
  std::vector<std::int64_t> under_way(ranks * ranks);
  std::int64_t bytes = 0;
  for (bool any = true; any;) {
    any = false;
    for (std::size_t r = 0; r < ranks; ++r) {
      const auto& messages = schedules[r].messages();
      // A stage's sends leave at once; its receives have to be there before it ends.
      while (at[r] < messages.size()) {
        std::size_t end = at[r];
        while (!messages[end].ends_stage) ++end;
        for (std::size_t i = at[r]; i <= end; ++i) {
          if (!messages[i].sends) continue;
          ++under_way[r * ranks + messages[i].peer];
          bytes += static_cast<std::int64_t>(messages[i].bytes);
        }
        at[r] = end + 1;
        any = true;
      }
    }
  }
  for (std::size_t r = 0; r < ranks; ++r)
    for (const ScheduledMessage& m : schedules[r].messages())
      if (!m.sends && --under_way[m.peer * ranks + r] < 0) return -1;
  return std::accumulate(under_way.begin(), under_way.end(), std::int64_t{0}) == 0 ? bytes : -1;
}

// The same with synchronous messages, stage by stage: whether all come to their end.
bool ends(const std::vector<Schedule>& schedules) {
  const std::size_t ranks = schedules.size();
  std::vector<std::size_t> begin(ranks);
  std::vector<std::vector<bool>> done(ranks);
  for (std::size_t r = 0; r < ranks; ++r) done[r].resize(schedules[r].messages().size());
  const auto stage_end = [&](std::size_t r) {
    std::size_t end = begin[r];
    while (!schedules[r].messages()[end].ends_stage) ++end;
    return end + 1;
  };
  for (bool any = true; any;) {
    any = false;
    for (std::size_t r = 0; r < ranks; ++r) {
      const auto& mine = schedules[r].messages();
      if (begin[r] == mine.size()) continue;
      const std::size_t end = stage_end(r);
      bool whole = true;
      for (std::size_t i = begin[r]; i < end; ++i) {
        if (done[r][i]) continue;
        const std::size_t p = mine[i].peer;
        const auto& theirs = schedules[p].messages();
        for (std::size_t j = begin[p]; begin[p] < theirs.size() && j < stage_end(p) && !done[r][i]; ++j)
          if (!done[p][j] && theirs[j].peer == r && theirs[j].sends != mine[i].sends) done[p][j] = done[r][i] = true;
        whole = whole && done[r][i];
      }
      if (!whole) continue;
      begin[r] = end;
      any = true;
    }
  }
  for (std::size_t r = 0; r < ranks; ++r)
    if (begin[r] != schedules[r].messages().size()) return false;
  return true;
}

std::vector<Schedule> plan(const CollectiveAlgorithm& algorithm, std::uint32_t ranks, std::uint32_t root,
                           std::uint64_t bytes) {
  std::vector<Schedule> schedules(ranks);
  for (std::uint32_t me = 0; me < ranks; ++me)
    algorithm.plan(call_of(algorithm.collective, ranks, me, root, bytes), schedules[me]);
  return schedules;
}

std::int64_t sent(const std::string& collective, const std::string& name, std::uint32_t ranks, std::uint64_t bytes) {
  for (const CollectiveAlgorithm& algorithm : collective_algorithms())
    if (collective == algorithm.collective && name == algorithm.name) return carried(plan(algorithm, ranks, 0, bytes));
  return -2;
}

}  // namespace

TEST_CASE("every algorithm ends, and each message is expected") {
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    for (std::uint32_t ranks = 2; ranks <= 19; ++ranks) {
      for (const std::uint32_t root : {0u, ranks / 2, ranks - 1}) {
        for (const std::uint64_t bytes : {4u, 100u, 40000u}) {
          const std::vector<Schedule> schedules = plan(algorithm, ranks, root, bytes);
          INFO(algorithm.collective << "=" << algorithm.name << " of " << ranks << " ranks, root " << root << ", "
                                    << bytes << " B");
          CHECK(carried(schedules) >= 0);
          CHECK(ends(schedules));
        }
      }
    }
  }
}

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
  const auto messages = [](std::uint8_t code, std::uint32_t ranks, std::uint64_t bytes) {
    Schedule out;
    plan_collective(code, vector_of(ranks, bytes), {}, selection_rules("mpich"), out);
    return out.messages().size();
  };
  CHECK(messages(EXANET_TRACE_Allreduce, 16, 8) == 2 * 4);
  CHECK(messages(EXANET_TRACE_Allreduce, 16, 60) == 2 * 4);  // fewer elements than ranks
  CHECK(messages(EXANET_TRACE_Allreduce, 16, 64) == 2 * 8);
  CHECK(messages(EXANET_TRACE_Iallreduce, 16, 2048) == 2 * 4);
  CHECK(messages(EXANET_TRACE_Bcast, 8, 12288) == 3);
  CHECK(messages(EXANET_TRACE_Ibcast, 8, 12288) == 3 + 2 * 3);
  CHECK(messages(EXANET_TRACE_Bcast, 8, 524289) == 3 + 2 * 7);
  CHECK(messages(EXANET_TRACE_Bcast, 7, 1 << 20) == 3);
  CHECK(messages(EXANET_TRACE_Alltoall, 9, 256) == 2 * 4);
  CHECK(messages(EXANET_TRACE_Alltoall, 9, 257) == 2 * 8);
  CHECK(messages(EXANET_TRACE_Alltoall, 8, 4) == 2 * 7);
  CHECK(messages(EXANET_TRACE_Allreduce, 16, 0) == 0);
  Schedule ring;
  plan_collective(EXANET_TRACE_Allreduce, vector_of(16, 8), {{"allreduce", "ring"}}, selection_rules("mpich"), ring);
  CHECK(ring.messages().size() == 2 * 30);
}

namespace {

std::vector<Schedule> plan_by(const SelectionRules& rules, const CollectiveCode& coded, bool waits, bool commutative,
                              std::uint32_t ranks, std::uint64_t bytes) {
  std::vector<Schedule> schedules(ranks);
  const auto code = static_cast<std::uint8_t>(coded.code + (waits ? 0 : EXANET_TRACE_NONBLOCKING));
  for (std::uint32_t me = 0; me < ranks; ++me) {
    CollectiveCall c = call_of(coded.collective, ranks, me, ranks / 2, bytes);
    c.commutative = commutative;
    if (coded.code == EXANET_TRACE_Reduce_scatter_block) c.received.assign(ranks, bytes);
    plan_collective(code, c, {}, rules, schedules[me]);
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
    for (const CollectiveCode& coded : kCollectiveCodes) {
      for (const bool waits : {true, false}) {
        for (const bool commutative : {true, false}) {
          for (const std::uint32_t ranks : {2u, 3u, 4u, 5u, 7u, 8u, 11u, 16u, 19u}) {
            for (const std::uint64_t bytes : {4u, 400u, 20000u, 3000000u}) {
              const std::vector<Schedule> schedules = plan_by(rules, coded, waits, commutative, ranks, bytes);
              INFO(rules.name << ": " << coded.collective << ", " << int{coded.code} << ", waits " << waits << ", "
                              << ranks << " ranks, " << bytes << " B");
              CHECK(carried(schedules) >= 0);
              CHECK(ends(schedules));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("rules name what there is on any number of ranks") {
  for (const SelectionRules& rules : all_selection_rules()) {
    for (const CollectiveCode& coded : kCollectiveCodes) {
      for (std::uint32_t ranks = 2; ranks < 20000; ranks = ranks * 5 / 4 + 1) {
        for (std::uint64_t bytes = 4; bytes < 1 << 24; bytes *= 2) {
          CollectiveCall c = call_of(coded.collective, ranks, 0, 0, bytes);
          if (coded.code == EXANET_TRACE_Reduce_scatter_block) c.received.assign(ranks, bytes);
          const std::string name = rules.select(coded.code, c, true);
          INFO(rules.name << ": " << coded.collective << " by " << name);
          CHECK_NOTHROW(check_choices({{coded.collective, name}}));
        }
      }
    }
  }
}

TEST_CASE("Open MPI's choices change where its table says") {
  const SelectionRules& rules = selection_rules("open-mpi");
  const auto by = [&rules](std::uint8_t code, std::uint32_t ranks, std::uint64_t bytes) {
    return std::string(rules.select(code, vector_of(ranks, bytes), true));
  };
  CHECK(by(EXANET_TRACE_Bcast, 8, 7) == "knomial");
  CHECK(by(EXANET_TRACE_Bcast, 8, 8) == "open-mpi-binary");
  CHECK(by(EXANET_TRACE_Bcast, 15, 32767) == "open-mpi-binomial");
  CHECK(by(EXANET_TRACE_Bcast, 15, 32768) == "linear");
  CHECK(by(EXANET_TRACE_Bcast, 17, (1 << 20) - 4) == "open-mpi-binomial");
  CHECK(by(EXANET_TRACE_Bcast, 17, 1 << 20) == "open-mpi-scatter-doubling");
  CHECK(by(EXANET_TRACE_Allreduce, 16, 60) == "recursive-doubling");  // fewer elements than ranks
  CHECK(by(EXANET_TRACE_Allreduce, 31, 4095) == "recursive-doubling");
  CHECK(by(EXANET_TRACE_Allreduce, 31, 4096) == "open-mpi-rabenseifner");
  CHECK(by(EXANET_TRACE_Allreduce, 40, 124) == "recursive-doubling");
  CHECK(by(EXANET_TRACE_Allreduce, 32, 124) == "recursive-doubling");
  CHECK(by(EXANET_TRACE_Allreduce, 63, 128) == "open-mpi-rabenseifner");
  CHECK(by(EXANET_TRACE_Allreduce, 64, 128) == "recursive-doubling");
  CHECK(by(EXANET_TRACE_Alltoall, 16, 511) == "bruck");
  CHECK(by(EXANET_TRACE_Alltoall, 16, 512) == "linear");
  CHECK(by(EXANET_TRACE_Reduce, 16, 4095) == "open-mpi-binary");
  CHECK(by(EXANET_TRACE_Reduce, 16, 4096) == "open-mpi-binomial");
  CHECK(by(EXANET_TRACE_Barrier, 63, 0) == "recursive-doubling");
  CHECK(by(EXANET_TRACE_Barrier, 64, 0) == "dissemination");
  CHECK_THROWS_WITH_AS(selection_rules("lam"), "there are no rules \"lam\": use one of mpich, open-mpi", ConfigError);
}

TEST_CASE("libraries begin some collectives of nothing") {
  const auto begun = [](const char* rules, std::uint8_t code, std::vector<std::uint64_t> received) {
    CollectiveCall c = vector_of(4, 0);
    c.received = std::move(received);
    Schedule out;
    plan_collective(code, c, {}, selection_rules(rules), out);
    return !out.messages().empty();
  };
  CHECK(begun("mpich", EXANET_TRACE_Iallreduce, {}));
  CHECK_FALSE(begun("mpich", EXANET_TRACE_Allreduce, {}));
  CHECK_FALSE(begun("mpich", EXANET_TRACE_Iallgatherv, {0, 0, 0, 0}));
  CHECK(begun("mpich", EXANET_TRACE_Iallgatherv, {0, 8, 0, 0}));
  CHECK(begun("open-mpi", EXANET_TRACE_Iallgatherv, {0, 0, 0, 0}));
  CHECK_FALSE(begun("open-mpi", EXANET_TRACE_Iallreduce, {}));
  CHECK(begun("open-mpi", EXANET_TRACE_Ialltoall, {}));
  CHECK_FALSE(begun("open-mpi", EXANET_TRACE_Ireduce_scatter, {0, 0, 0, 0}));
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
  // Of 5 ranks, a piece of n each: 1 + 2 + 1 + 1 pieces along the tree; 2 + 2 between neighbours, 4 times 2 between pairs;
  // 4 to the last rank, whose one goes back, and on to the three others, who have had no partner.
  CHECK(sent("bcast", "open-mpi-scatter-doubling", 5, 5 * n) == (1 + 2 + 1 + 1 + 4 + 8 + 4 + 1 + 3) * n);
  CHECK(sent("reduce", "libnbc-chain", 3, n + 8) == 2 * (n + 8));
  const SelectionRules& rules = selection_rules("open-mpi");
  // A piece of 8 KiB at most each.
  CHECK(messages_of(plan_by(rules, {EXANET_TRACE_Reduce, "reduce"}, false, true, 2, 2 * n)) == 16);
  CHECK(messages_of(plan_by(rules, {EXANET_TRACE_Barrier, "barrier"}, true, true, 12, 0)) == 8 * 3 + 3 * 4);
  CHECK(messages_of(plan_by(rules, {EXANET_TRACE_Gather, "gather"}, true, true, 3, 2 * n)) == 2 * 3);
}

TEST_CASE("unknown algorithms are refused with those that there are") {
  CHECK_NOTHROW(check_choices({{"bcast", "binomial"}}));
  CHECK_THROWS_WITH_AS(check_choices({{"bcast", "ring"}}),
                       "bcast by \"ring\" is unknown: use one of binomial, binary, LLF, GLF, hardware, accelerator, "
                       "scatter-doubling, scatter-ring, binomial-at-once, "
                       "scatter-doubling-at-once, scatter-ring-at-once, linear, "
                       "chain, knomial, split-binary, open-mpi-binary, open-mpi-binomial, libnbc-binomial, "
                       "open-mpi-scatter-doubling",
                       ConfigError);
  CHECK_THROWS_AS(check_choices({{"broadcast", "binomial"}}), ConfigError);
}
