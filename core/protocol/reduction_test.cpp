// SPDX-License-Identifier: Apache-2.0
// Do interfaces combine the parts of their ranks in the order of the tree, in the time that its steps take, once, and
// report what does not fit?
#include "core/protocol/reduction.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "core/protocol/engine_harness.hpp"
#include "core/topology/metrics.hpp"

using namespace exanet;
using testing::A;
using testing::B;
using testing::kLine;
using testing::Ranks;

namespace {

NiConfig with_units(std::uint32_t trees) {
  NiConfig ni = testing::odd_costs();
  ni.reduction_trees = trees;
  ni.reduction = Time::ps(71'000);
  ni.reduction_word = Time::ps(6'400);
  return ni;
}

// Units in the gateware's cycles, which have trees of their own, and the machine that these need.
NiConfig with_trees() {
  NiConfig ni = testing::odd_costs();
  ni.messages = ni.transfers = ni.reductions = NiConfig::Costs::kGateware;
  ni.packetizer = ni.mailbox_word = ni.dma_start = ni.dma_completion = ni.translation = Time();
  ni.reduction_trees = 4;
  return ni;
}
NetworkConfig fabric_with_trees() {
  NetworkConfig fabric = testing::steady_fabric();
  fabric.router.intra_ports = 4;
  fabric.router.max_payload_bytes = 512;
  return fabric;
}

enum class Units { kTimes, kGateware };

struct Reducing : Ranks {
  Reducing(const TopologySpec& spec, std::vector<NodeId> placement, std::uint32_t trees = 4)
      : Ranks(spec, placement, testing::steady_fabric(), with_units(trees)), placed(std::move(placement)) {}
  Reducing(const TopologySpec& spec, std::vector<NodeId> placement, Units units)
      : Ranks(spec, placement, units == Units::kTimes ? testing::steady_fabric() : fabric_with_trees(),
              units == Units::kTimes ? with_units(4) : with_trees()),
        placed(std::move(placement)) {}

  // The completion of an opening by the first of the members.
  ReductionOpenCompletion open_tree(const std::vector<RankId>& members, RankId by, std::uint64_t at = A) {
    if (!members.empty() && inside(at, members.size() * sizeof(RankId)))
      write(by, at, reinterpret_cast<const std::byte*>(members.data()), members.size() * sizeof(RankId));
    ReductionOpenDescriptor d;
    d.time = queue.now();
    d.cookie = ++cookies;
    d.members = at;
    d.count = static_cast<std::uint32_t>(members.size());
    engine.submit(by, d);
    run();
    return only<ReductionOpenCompletion>(by, cookies);
  }
  std::uint32_t tree_of(const std::vector<RankId>& members) {
    const auto done = open_tree(members, members[0]);
    CHECK(done.status == 0);
    return done.tree;
  }
  void close(std::uint32_t tree, RankId rank) {
    ReductionCloseDescriptor d;
    d.time = queue.now();
    d.tree = tree;
    engine.submit(rank, d);
    run();
  }
  template <typename T>
  void hand_over(RankId rank, std::uint32_t tree, int op, int type, const std::vector<T>& part, std::uint64_t cookie,
                 Time at) {
    ReductionDescriptor d;
    d.time = at;
    d.cookie = cookie;
    d.buffer = B;
    d.tree = tree;
    d.count = static_cast<std::uint16_t>(part.size());
    d.operation = static_cast<std::uint8_t>(op);
    d.datatype = static_cast<std::uint8_t>(type);
    engine.submit(rank, d, Payload(reinterpret_cast<const std::byte*>(part.data()), part.size() * sizeof(T)));
  }
  // What a rank's reduction has brought, by its cookie.
  template <typename T>
  std::vector<T> result(RankId rank, std::uint64_t cookie) const {
    for (const testing::Done& d : done[rank]) {
      if (!std::holds_alternative<ReductionCompletion>(d.c) || testing::cookie_of(d.c) != cookie) continue;
      CHECK(testing::header(d.c).status == 0);
      std::vector<T> values(d.payload.size() / sizeof(T));
      if (!values.empty()) std::memcpy(values.data(), d.payload.data(), d.payload.size());
      return values;
    }
    REQUIRE(false);  // no result
    return {};
  }
  std::int32_t status(RankId rank, std::uint64_t cookie) const {
    return only<ReductionCompletion>(rank, cookie).status;
  }

  std::vector<NodeId> placed;
  std::uint64_t cookies = 1000;
};

template <typename T>
std::vector<T> drawn(std::mt19937_64& random, std::size_t count) {
  std::vector<T> values(count);
  for (T& value : values)
    value =
        static_cast<T>(std::ldexp(static_cast<double>(random() % 2000) - 1000, static_cast<int>(random() % 40) - 20));
  return values;
}

}  // namespace

TEST_CASE(
    "reductions: a tree has each rank once, no unit more branches than it has, and each node behind the one above") {
  std::mt19937_64 random(7);
  const std::vector<TopologySpec> machines{
      {"qfdb-torus", {4, 4, 2}}, {"torus", {5, 5}}, {"mesh", {16}}, {"fat-tree", {4, 3}}, {"dragonfly", {4, 2, 2}}};
  for (const TopologySpec& spec : machines) {
    const auto topology = make_topology(spec);
    for (int draw = 0; draw < 20; ++draw) {
      std::vector<NodeId> placement(topology->endpoint_count() * 3);
      for (std::size_t i = 0; i < placement.size(); ++i) placement[i] = static_cast<NodeId>(i / 3);
      std::vector<RankId> members(placement.size());
      std::iota(members.begin(), members.end(), 0);
      std::shuffle(members.begin(), members.end(), random);
      members.resize(1 + random() % members.size());
      const auto tree = plan_reduction(*topology, placement, members);
      REQUIRE(tree);
      std::vector<RankId> found;
      std::size_t below = 0;
      for (std::uint32_t n = 0; n < tree->nodes.size(); ++n) {
        const ReductionTree::Node& node = tree->nodes[n];
        CHECK(node.branches() <= ReductionTree::kBranches);
        CHECK((n == 0 || node.above < n));
        for (const std::uint32_t child : node.below) CHECK(tree->nodes[child].above == n);
        for (const RankId rank : node.ranks) CHECK(placement[rank] == node.node);
        below += node.below.size();
        found.insert(found.end(), node.ranks.begin(), node.ranks.end());
      }
      CHECK(below == tree->nodes.size() - 1);
      std::sort(found.begin(), found.end());
      std::sort(members.begin(), members.end());
      CHECK(found == members);
    }
  }
}

TEST_CASE("reductions: each step takes its time, up to the root and down again") {
  // Ranks 0 and 2 on node 0, rank 1 on node 1, its neighbour: the first one is the root.
  for (const std::size_t count : {0u, 1u, 2u, 32u}) {
    Reducing ranks(kLine, {0, 1, 0});
    const std::uint32_t tree = ranks.tree_of({0, 1, 2});
    const Time start = ranks.queue.now() + Time::us(1);
    const std::vector<double> part(count, 1.5);
    for (const RankId rank : {0u, 1u, 2u}) ranks.hand_over(rank, tree, exanet_op_sum, exanet_type_f64, part, 5, start);
    ranks.run();
    const NiConfig& ni = ranks.config;
    const auto bytes = static_cast<std::uint16_t>(count * 8);
    const std::int64_t in = ranks.router.words(bytes), pass = std::max<std::int64_t>(9, in);
    const Time step = ranks.network(0, 1, bytes);
    const Time up = start + ni.reduction + ni.reduction_word * (pass + in) + step;
    const Time root = up + ni.reduction + ni.reduction_word * (3 * pass + 2 * in);
    const Time words = ni.mailbox_word * ranks.router.words(bytes + 16);
    CHECK(ranks.only<ReductionCompletion>(0, 5).time == root + words + ni.mailbox);
    CHECK(ranks.only<ReductionCompletion>(2, 5).time == root + words * 2 + ni.mailbox);
    CHECK(ranks.only<ReductionCompletion>(1, 5).time == root + step + words + ni.mailbox);
    for (const RankId rank : {0u, 1u, 2u}) CHECK(ranks.result<double>(rank, 5) == std::vector<double>(count, 4.5));
    CHECK(ranks.engine.reductions() == 1);
    CHECK((ranks.engine.operations() == 0 && ranks.engine.idle()));
  }
}

TEST_CASE("reductions: sums of floats are those of the tree's order, on all ranks and whoever comes last") {
  const std::vector<NodeId> placement{0, 0, 1, 2, 2, 3, 3, 1, 0};
  std::mt19937_64 random(11);
  for (int draw = 0; draw < 10; ++draw) {
    std::vector<std::vector<double>> parts;
    for (std::size_t r = 0; r < placement.size(); ++r) parts.push_back(drawn<double>(random, 3));
    std::vector<double> wanted;
    for (int again = 0; again < 4; ++again) {
      Reducing ranks(kLine, placement, again < 2 ? Units::kTimes : Units::kGateware);
      std::vector<RankId> members(placement.size());
      std::iota(members.begin(), members.end(), 0);
      const std::uint32_t tree = ranks.tree_of(members);
      if (again == 0) {
        const auto planned = plan_reduction(*ranks.topology, placement, members);
        std::vector<std::vector<double>> sums(planned->nodes.size());
        for (std::size_t n = planned->nodes.size(); n-- > 0;) {
          const auto add = [&](const std::vector<double>& part) {
            if (sums[n].empty()) return void(sums[n] = part);
            for (std::size_t i = 0; i < part.size(); ++i) sums[n][i] += part[i];
          };
          for (const RankId rank : planned->nodes[n].ranks) add(parts[rank]);
          for (const std::uint32_t child : planned->nodes[n].below) add(sums[child]);
        }
        wanted = sums[0];
      }
      for (RankId r = 0; r < placement.size(); ++r)
        ranks.hand_over(r, tree, exanet_op_sum, exanet_type_f64, parts[r], 5,
                        ranks.queue.now() + Time::ns(static_cast<std::int64_t>(random() % 5000)));
      ranks.run();
      for (RankId r = 0; r < placement.size(); ++r) CHECK(ranks.result<double>(r, 5) == wanted);
    }
  }
}

TEST_CASE("reductions: what is no number, and zeros of both signs") {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  struct Case {
    int op;
    double a, b, wanted;
  };
  const std::vector<Case> cases{
      {exanet_op_sum, kInf, -kInf, kNone}, {exanet_op_sum, -kNone, 1, kNone}, {exanet_op_sum, -0.0, -0.0, -0.0},
      {exanet_op_min, -kNone, 1, kNone},   {exanet_op_max, 1, -kNone, kNone}, {exanet_op_min, 0.0, -0.0, -0.0},
      {exanet_op_max, -0.0, 0.0, 0.0},     {exanet_op_min, -0.0, 0.0, -0.0},  {exanet_op_max, 0.0, -0.0, 0.0},
      {exanet_op_min, -kInf, 5, -kInf},    {exanet_op_max, 4.0, 5.0, 5.0},    {exanet_op_min, 4.0, 5.0, 4.0}};
  Reducing ranks(kLine, {0, 1});
  const std::uint32_t tree = ranks.tree_of({0, 1});
  std::uint64_t cookie = 5;
  for (const Case& c : cases) {
    ranks.hand_over(0, tree, c.op, exanet_type_f64, std::vector<double>{c.a}, ++cookie, ranks.queue.now());
    ranks.hand_over(1, tree, c.op, exanet_type_f64, std::vector<double>{c.b}, cookie, ranks.queue.now());
    ranks.run();
    for (const RankId rank : {0u, 1u}) CHECK(bits(ranks.result<double>(rank, cookie)[0]) == bits(c.wanted));
  }
}

TEST_CASE(
    "reductions: one after the other, several at once, and a barrier that nobody leaves before the last has come") {
  const TopologySpec on_rails{"fat-tree", {2, 2}, {}, {}, "", {}, {}, 2};
  for (const auto& [units, spec] : {std::pair{Units::kTimes, kLine}, std::pair{Units::kGateware, kLine},
                                    std::pair{Units::kTimes, on_rails}, std::pair{Units::kGateware, on_rails}}) {
    Reducing ranks(spec, {0, 1, 2, 3}, units);
    const std::uint32_t all = ranks.tree_of({0, 1, 2, 3}), some = ranks.tree_of({3, 1});
    CHECK(all != some);
    const std::vector<std::uint32_t> nothing;
    for (int round = 0; round < 3; ++round) {
      const Time late = ranks.queue.now() + Time::us(50);
      for (RankId r = 0; r < 4; ++r)
        ranks.hand_over(r, all, exanet_op_max, exanet_type_i32, std::vector<std::int32_t>{static_cast<int>(r) - round},
                        20 + round, ranks.queue.now());
      for (const RankId r : {1u, 3u})
        ranks.hand_over(r, some, exanet_op_sum, exanet_type_u32, nothing, 40 + round,
                        r == 1 ? late : ranks.queue.now());
      ranks.run();
      for (RankId r = 0; r < 4; ++r)
        CHECK(ranks.result<std::int32_t>(r, 20 + round) == std::vector<std::int32_t>{3 - round});
      for (const RankId r : {1u, 3u}) CHECK(ranks.only<ReductionCompletion>(r, 40 + round).time > late);
    }
    CHECK(ranks.engine.reductions() == 6);
  }
}

TEST_CASE("reductions: ranks that do not agree all learn of it, and the next one is well again") {
  Reducing ranks(kLine, {0, 1, 2, 3});
  const std::uint32_t tree = ranks.tree_of({0, 1, 2, 3});
  const std::vector<std::int32_t> two{1, 2}, one{1};
  const std::vector<float> other{1, 2};
  for (int wrong = 0; wrong < 3; ++wrong) {
    const std::uint64_t cookie = 60 + static_cast<std::uint64_t>(wrong);
    for (RankId r = 0; r < 3; ++r)
      ranks.hand_over(r, tree, exanet_op_sum, exanet_type_i32, two, cookie, ranks.queue.now());
    if (wrong == 0) ranks.hand_over(3, tree, exanet_op_max, exanet_type_i32, two, cookie, ranks.queue.now());
    if (wrong == 1) ranks.hand_over(3, tree, exanet_op_sum, exanet_type_i32, one, cookie, ranks.queue.now());
    if (wrong == 2) ranks.hand_over(3, tree, exanet_op_sum, exanet_type_f32, other, cookie, ranks.queue.now());
    ranks.run();
    for (RankId r = 0; r < 4; ++r) CHECK(ranks.status(r, cookie) == -EINVAL);
  }
  for (RankId r = 0; r < 4; ++r) ranks.hand_over(r, tree, exanet_op_bxor, exanet_type_i32, one, 70, ranks.queue.now());
  ranks.run();
  for (RankId r = 0; r < 4; ++r) CHECK(ranks.result<std::int32_t>(r, 70) == std::vector<std::int32_t>{0});
}

// As gateware/ni has it: a tree that breaks stays broken until it is opened anew, here for the next communicator.
TEST_CASE("reductions: ranks that do not agree break a tree of the gateware's, and all who call learn of it") {
  Reducing ranks(kLine, {0, 1, 2, 3, 1}, Units::kGateware);
  const std::vector<std::int32_t> two{1, 2}, one{1};
  const std::vector<RankId> all{0, 1, 2, 3, 4};
  const std::uint32_t tree = ranks.tree_of(all);
  ranks.hand_over(0, tree, exanet_op_sum, exanet_type_i32, two, 60, ranks.queue.now());
  ranks.run();
  CHECK(ranks.engine.idle());  // it waits for the others
  ranks.hand_over(3, tree, exanet_op_sum, exanet_type_i32, one, 60, ranks.queue.now());
  ranks.hand_over(1, tree, exanet_op_sum, exanet_type_i32, two, 60, ranks.queue.now() + Time::us(1));
  CHECK(!ranks.engine.idle());
  ranks.run();
  for (const RankId r : {0u, 1u, 3u}) CHECK(ranks.status(r, 60) == -EINVAL);
  for (const RankId r : {2u, 4u, 0u})
    ranks.hand_over(r, tree, exanet_op_sum, exanet_type_i32, two, 61, ranks.queue.now());
  ranks.run();
  for (const RankId r : {2u, 4u, 0u}) CHECK(ranks.status(r, 61) == -EINVAL);
  CHECK(ranks.engine.idle());
  for (const RankId r : all) ranks.close(tree, r);
  const std::uint32_t next = ranks.tree_of(all);
  for (const RankId r : all) ranks.hand_over(r, next, exanet_op_sum, exanet_type_i32, two, 70, ranks.queue.now());
  ranks.run();
  for (const RankId r : all) CHECK(ranks.result<std::int32_t>(r, 70) == std::vector<std::int32_t>{5, 10});
  CHECK((ranks.engine.operations() == 0 && ranks.engine.idle()));
}

// Rank 0's node is the root, or rank 1's: either way one part goes up and one result comes back.
// core/nic/reductions/reductions_test.cpp counts the cycles of a unit; here they are those of the bus and of the
// memory's visibility beside it.
TEST_CASE("reductions: in the gateware's cycles") {
  for (const std::size_t count : {0u, 1u, 32u}) {
    Reducing ranks(kLine, {0, 1}, Units::kGateware);
    const std::uint32_t tree = ranks.tree_of({0, 1});
    const Time start = ranks.router.cycle * 1000, cycle = ranks.router.cycle;
    const std::vector<double> part(count, 1.5);
    for (const RankId rank : {0u, 1u}) ranks.hand_over(rank, tree, exanet_op_sum, exanet_type_f64, part, 5, start);
    ranks.run();
    const auto bytes = static_cast<std::uint16_t>(count * 8);
    const std::int64_t words = ranks.router.words(bytes), across = ranks.network(0, 1, bytes).ps() / cycle.ps();
    const std::int64_t least = 1 + words + 2 * (across + 20), most = 1 + words + 2 * (across + 4 * words + 45);
    const std::int64_t last =
        std::max(ranks.only<ReductionCompletion>(0, 5).time, ranks.only<ReductionCompletion>(1, 5).time).ps();
    const std::int64_t took = (last - start.ps() - ranks.config.mailbox.ps()) / cycle.ps();
    CHECK((took >= least && took <= most));
    CHECK((last - ranks.config.mailbox.ps()) % cycle.ps() == 0);
  }
}

TEST_CASE("reductions: who is no member, has left or does not wait for its result is refused, and disturbs nobody") {
  for (const Units units : {Units::kTimes, Units::kGateware}) {
    Reducing ranks(kLine, {0, 1, 2}, units);
    const std::uint32_t tree = ranks.tree_of({0, 1});
    const std::vector<std::int32_t> one{1};
    ranks.hand_over(2, tree, exanet_op_sum, exanet_type_i32, one, 5, ranks.queue.now());
    ranks.hand_over(0, tree + 1, exanet_op_sum, exanet_type_i32, one, 6, ranks.queue.now());
    ranks.hand_over(0, tree, exanet_op_sum, exanet_type_i32, one, 7, ranks.queue.now());
    ranks.hand_over(0, tree, exanet_op_sum, exanet_type_i32, one, 8, ranks.queue.now());
    ranks.run();
    CHECK((ranks.status(2, 5) == -EINVAL && ranks.status(0, 6) == -EINVAL && ranks.status(0, 8) == -EINVAL));
    CHECK(ranks.count<ReductionCompletion>(1) == 0);
    CHECK(ranks.engine.idle());  // the part at node 0 waits, and goes on with the other
    ranks.close(tree, 0);  // who waits has not left
    ranks.hand_over(1, tree, exanet_op_sum, exanet_type_i32, one, 9, ranks.queue.now());
    ranks.run();
    CHECK(ranks.result<std::int32_t>(0, 7) == std::vector<std::int32_t>{2});
    CHECK(ranks.result<std::int32_t>(1, 9) == std::vector<std::int32_t>{2});
    ranks.close(tree, 0);
    ranks.hand_over(0, tree, exanet_op_sum, exanet_type_i32, one, 10, ranks.queue.now());
    ranks.run();
    CHECK(ranks.status(0, 10) == -EINVAL);
  }
}

TEST_CASE("reductions: trees are for members that there are, as many as units have space and branches for") {
  Reducing ranks(kLine, {0, 1, 2, 0, 0, 0, 0, 0, 0, 0}, 2);
  CHECK(ranks.open_tree({0, 1, 1}, 0).status == -EINVAL);
  CHECK(ranks.open_tree({0, 10}, 0).status == -EINVAL);
  CHECK(ranks.open_tree({1, 2}, 0).status == -EINVAL);
  CHECK(ranks.open_tree({}, 0).status == -EINVAL);
  CHECK(ranks.open_tree({0, 1}, 0, Ranks::kBase - 8).status == -EFAULT);
  CHECK(ranks.open_tree({0, 3, 4, 5, 6, 7, 8, 1}, 0).status == 0);  // seven ranks and a node below
  CHECK(ranks.open_tree({0, 3, 4, 5, 6, 7, 8, 9, 1}, 0).status == -EOPNOTSUPP);
  const auto second = ranks.open_tree({1, 0}, 1);
  CHECK(second.status == 0);
  CHECK(ranks.open_tree({0, 2}, 0).status == -ENOSPC);
  CHECK(ranks.open_tree({2}, 2).status == 0);
  ranks.close(second.tree, 1);
  ranks.close(second.tree, 1);  // again: nothing
  CHECK(ranks.open_tree({0, 2}, 0).status == -ENOSPC);
  ranks.close(second.tree, 0);
  CHECK(ranks.open_tree({0, 2}, 0).status == 0);
  Reducing without(kLine, {0, 1}, 0);
  CHECK(without.open_tree({0, 1}, 0).status == -EOPNOTSUPP);
}
