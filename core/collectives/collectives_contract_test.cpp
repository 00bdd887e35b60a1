// SPDX-License-Identifier: Apache-2.0
// Does every algorithm of the registry keep the contract of algorithm.hpp, for many numbers of ranks, roots and sizes?
// Extensions' algorithms, too (docs/extend.md).
#include <doctest/doctest.h>

#include <set>

#include "core/collectives/collectives_harness.hpp"
#include "core/collectives/selection.hpp"

using namespace exanet;
using namespace exanet::testing;

namespace {

constexpr std::uint32_t kRanks[] = {2, 3, 5, 8, 12, 17, 33};
// Of a vector or a block: none, less than an element each, and about the limits of pieces (8 KiB, 32 KiB).
constexpr std::uint64_t kBytes[] = {0, 1, 4, 100, 8188, 8192, 8196, 32764, 32768, 32772, 1 << 20};

struct Case {
  const CollectiveAlgorithm& algorithm;
  std::uint32_t ranks, root;
  std::uint64_t bytes, element_bytes;

  std::string collective() const { return algorithm.collective; }
  bool is(const char* name) const { return collective() == name; }
  CollectiveCall call(std::uint32_t me) const {
    return collective_call(collective(), ranks, me, root, bytes, element_bytes);
  }
  std::vector<Schedule> schedules() const {
    std::vector<Schedule> all(ranks);
    for (std::uint32_t me = 0; me < ranks; ++me) algorithm.generate(call(me), all[me]);
    return all;
  }
  std::string text() const {
    return collective() + "=" + algorithm.name + " of " + std::to_string(ranks) + " ranks, root " +
           std::to_string(root) + ", " + std::to_string(bytes) + " B of " + std::to_string(element_bytes);
  }
};

// A collective without a root has one schedule whatever the root: one root stands for all.
std::set<std::uint32_t> roots_of(const std::string& collective, std::uint32_t ranks) {
  for (const char* rooted : {"bcast", "reduce", "gather", "gatherv", "scatter", "scatterv"})
    if (collective == rooted) return {0, ranks / 2, ranks - 1};
  return {0};
}

template <typename Check>
void for_all_cases(Check check) {
  for (const CollectiveAlgorithm& algorithm : collective_algorithms())
    for (const std::uint32_t ranks : kRanks)
      for (const std::uint32_t root : roots_of(algorithm.collective, ranks))
        for (const std::uint64_t bytes : kBytes)
          for (const std::uint64_t element_bytes : {1u, 4u})
            if (bytes % element_bytes == 0) check(Case{algorithm, ranks, root, bytes, element_bytes});
}

// Whether `me` is to have data of `from` at the end.
bool needs(const Case& c, std::uint32_t me, std::uint32_t from) {
  if (c.is("barrier")) return true;
  if (c.is("gather") || c.is("reduce")) return me == c.root;
  if (c.is("gatherv")) return me == c.root && size_between(from, 0, c.bytes) > 0;
  if (c.is("bcast") || c.is("scatter")) return from == c.root;
  if (c.is("scatterv")) return from == c.root && size_between(me, 0, c.bytes) > 0;
  if (c.is("allgatherv")) return size_between(from, 0, c.bytes) > 0;
  if (c.is("alltoallv")) return size_between(from, me, c.bytes) > 0;
  if (c.is("reduce-scatter")) return size_between(me, 0, c.bytes) > 0;
  if (c.is("scan")) return from < me;
  return true;
}

// The least that a rank has to receive.
std::uint64_t least_received(const Case& c, std::uint32_t me) {
  const auto others = [&](auto size) {
    std::uint64_t sum = 0;
    for (std::uint32_t r = 0; r < c.ranks; ++r) sum += r == me ? 0 : size(r);
    return sum;
  };
  if (c.is("barrier")) return 0;
  if (c.is("bcast") || c.is("scatter")) return me == c.root ? 0 : c.bytes;
  if (c.is("scatterv")) return me == c.root ? 0 : size_between(me, 0, c.bytes);
  if (c.is("gather")) return me == c.root ? c.bytes * (c.ranks - 1) : 0;
  if (c.is("gatherv")) return me == c.root ? others([&](std::uint32_t r) { return size_between(r, 0, c.bytes); }) : 0;
  if (c.is("allgather") || c.is("alltoall")) return c.bytes * (c.ranks - 1);
  if (c.is("allgatherv")) return others([&](std::uint32_t r) { return size_between(r, 0, c.bytes); });
  if (c.is("alltoallv")) return others([&](std::uint32_t r) { return size_between(r, me, c.bytes); });
  if (c.is("reduce")) return me == c.root ? c.bytes : 0;
  if (c.is("reduce-scatter")) return size_between(me, 0, c.bytes);
  if (c.is("scan")) return me == 0 ? 0 : c.bytes;
  return c.bytes;
}

bool sends_whole_vectors(const std::vector<Schedule>& schedules, std::uint64_t bytes) {
  for (const Schedule& schedule : schedules)
    for (const ScheduledMessage& m : schedule.messages())
      if (m.sends && m.bytes != bytes) return false;
  return true;
}

}  // namespace

TEST_CASE("every algorithm ends, and who is to have data has heard from its owner, and has received enough") {
  for_all_cases([](const Case& c) {
    const std::vector<Schedule> schedules = c.schedules();
    INFO(c.text());
    for (const bool synchronous : {false, true}) {
      const CarriedOut done = Execution(schedules, synchronous).run();
      REQUIRE(done.ends);
      if (c.bytes == 0 && !c.is("barrier")) continue;
      bool heard = true, enough = true;
      for (std::uint32_t me = 0; me < c.ranks; ++me) {
        enough = enough && done.received[me] >= least_received(c, me);
        for (std::uint32_t from = 0; from < c.ranks; ++from)
          heard = heard && (!needs(c, me, from) || done.heard[me].test(from));
      }
      REQUIRE(heard);
      REQUIRE(enough);
      const bool reduces = c.is("reduce") || c.is("allreduce") || c.is("scan");
      if (reduces && sends_whole_vectors(schedules, c.bytes)) REQUIRE(done.adds_up);
    }
  });
}

TEST_CASE("messages of a round are received in it") {
  for_all_cases([](const Case& c) {
    if (c.algorithm.rounds.count == nullptr) return;
    INFO(c.text());
    const std::uint32_t rounds = c.algorithm.rounds.count(c.call(0));
    for (std::uint32_t me = 1; me < c.ranks; ++me) REQUIRE(c.algorithm.rounds.count(c.call(me)) == rounds);
    for (std::uint32_t round = 0; round < rounds; ++round) {
      std::map<std::pair<std::uint32_t, std::uint32_t>, int> left;
      for (std::uint32_t me = 0; me < c.ranks; ++me) {
        Schedule out;
        c.algorithm.rounds.add(c.call(me), round, out);
        for (const ScheduledMessage& m : out.messages()) {
          REQUIRE(m.peer < c.ranks);
          REQUIRE(m.peer != me);
          left[m.sends ? std::pair{me, m.peer} : std::pair{m.peer, me}] += m.sends ? 1 : -1;
        }
      }
      for (const auto& [between, count] : left) REQUIRE(count == 0);
    }
  });
}

TEST_CASE("programs are given whole messages, and no more of a rank's own than there are ranks") {
  for_all_cases([](const Case& c) {
    if (!c.algorithm.for_programs) return;
    INFO(c.text());
    const std::vector<Schedule> schedules = c.schedules();
    CHECK(sends_whole_vectors(schedules, c.bytes));
    for (const Schedule& schedule : schedules) REQUIRE(schedule.messages().size() <= c.ranks);
  });
}

TEST_CASE("algorithms have names of their own, and a help") {
  std::set<std::pair<std::string, std::string>> names;
  std::set<std::string> jobs;
  for (const CollectiveAlgorithm& a : collective_algorithms()) {
    INFO(a.collective << "=" << a.name);
    CHECK(names.emplace(a.collective, a.name).second);
    CHECK(std::string(a.help) != "");
    const bool one_of_them = (a.plan != nullptr) != (a.rounds.count != nullptr);
    CHECK(one_of_them);
    const bool both_or_none = (a.rounds.count != nullptr) == (a.rounds.add != nullptr);
    CHECK(both_or_none);
    if (a.job == nullptr) continue;
    const bool has_rounds = a.rounds.count != nullptr;
    CHECK(has_rounds);
    CHECK(jobs.insert(a.job).second);
  }
}

TEST_CASE("a rank alone sends nothing") {
  for (const SelectionRules& rules : all_selection_rules())
    for (const Collective operation : kCollectives)
      for (const CollectiveAlgorithm& a : collective_algorithms()) {
        if (a.collective != std::string(collective_name(operation))) continue;
        Schedule out;
        plan_collective({operation}, collective_call(a.collective, 1, 0, 0, 64), {{a.collective, a.name}}, rules, out);
        CHECK(out.messages().empty());
      }
}
