// SPDX-License-Identifier: Apache-2.0
// Reductions of Verilated nodes: the results are those of the host's arithmetic, in every process, and each comes once.
#include <doctest/doctest.h>

#include <sstream>

#include "gateware/ni/tb/reduce_traffic.hpp"
#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {
constexpr std::uint64_t kMemory = 0x10'0000'0000;
constexpr auto kInt32 = ReduceType::kInt32;
constexpr auto kFloat64 = ReduceType::kFloat64;
constexpr auto kSum = ReduceOperation::kSum;

// Nodes in a line, the root first, each with a process in front of the node below it.
Tree chain(std::size_t nodes) {
  Tree tree;
  for (std::size_t n = 0; n < nodes; ++n) {
    Tree::Place place{n, static_cast<unsigned>(n) % kTrees, std::nullopt};
    if (n > 0) {
      place.above = n - 1;
      place.branch_above = 7;
    }
    place.branches[0].process = true;
    if (n + 1 < nodes) place.branches[7].below = n + 1;
    tree.places.push_back(place);
  }
  return tree;
}

std::vector<Reducers> one(ReduceNetwork& network, const Tree& tree, const std::vector<Reducers::Round>& rounds,
                          std::uint64_t pause = 0) {
  std::vector<Reducers> all;
  all.emplace_back(network, tree, kMemory, rounds, pause, 1);
  network.open(all[0].tree());
  network.run_until_stored();
  return all;
}
}  // namespace

TEST_CASE("reductions: one node, and every number of processes") {
  for (unsigned processes = 1; processes <= kBranches; ++processes) {
    CAPTURE(processes);
    ReduceNetwork network(2, {.before_reset = static_cast<int>(processes)});
    Tree tree;
    tree.places.push_back({0, 15, std::nullopt});
    for (unsigned b = 0; b < processes; ++b) tree.places[0].branches[kBranches - 1 - b].process = true;
    std::vector<Reducers::Round> rounds;
    for (const std::size_t bytes : {0, 4, 8, 16, 20, 128, 508, 512}) rounds.push_back({kInt32, kSum, bytes});
    auto all = one(network, tree, rounds);
    REQUIRE(run_reducers(network, all, 20'000));
    CHECK(all[0].wrong() == 0);
    CHECK(network.counts(0) == std::array<std::uint32_t, 5>{8, 0, 0, 0, 0});
  }
}

TEST_CASE("reductions: the deepest tree and the widest one, each type and operation") {
  std::vector<Reducers::Round> rounds;
  for (const ReduceType type : kTypes)
    for (const ReduceOperation operation : kOperations)
      if (is_legal(type, operation))
        rounds.push_back({type, operation, std::size_t{rounds.size() % 8 == 0 ? 512u : 16u}});
  for (const bool wide : {false, true}) {
    CAPTURE(wide);
    const std::size_t nodes = 9;
    ReduceNetwork network(nodes, {.timeout = 100, .before_reset = 1});
    Tree tree = chain(nodes);
    if (wide) {
      // A root without a process, with nodes below at all of its branches.
      tree = {};
      tree.pdid = 1023;
      tree.epoch = 255;
      for (std::size_t n = 0; n < nodes; ++n) tree.places.push_back({n, static_cast<unsigned>(15 - n), std::nullopt});
      for (unsigned b = 0; b < kBranches; ++b) {
        tree.places[0].branches[b].below = b + 1;
        tree.places[b + 1].above = 0;
        tree.places[b + 1].branch_above = b;
        tree.places[b + 1].branches[b].process = true;
      }
    }
    auto all = one(network, tree, rounds);
    REQUIRE(run_reducers(network, all, 200'000));
    CHECK(all[0].wrong() == 0);
    for (std::size_t n = 0; n < nodes; ++n)
      CHECK(network.counts(n) == std::array<std::uint32_t, 5>{static_cast<std::uint32_t>(rounds.size()), 0, 0, 0, 0});
  }
}

TEST_CASE("reductions: all trees of all nodes at once, in drawn shapes, with losses and short timeouts") {
  std::uint64_t repeated = 0, damaged = 0, dropped = 0;
  for (const auto& [nodes, two_dimensions] : {std::pair{2u, false}, {4u, true}, {8u, false}})
    for (const double loss : {0.0, 0.02, 0.2}) {
      CAPTURE(nodes);
      CAPTURE(loss);
      std::mt19937_64 random(nodes + static_cast<unsigned>(100 * loss));
      std::mt19937_64 losses(random());
      std::vector<std::size_t> last(nodes, SIZE_MAX);
      std::vector<bool> verdict(nodes);
      ReduceNetworkConfig config{
          .memory = {.stalls = 0.1}, .timeout = loss == 0 ? 40u : 1u, .before_reset = static_cast<int>(nodes)};
      config.damages = [&, p = loss](std::size_t node, std::size_t packet) {
        if (packet != last[node]) verdict[node] = std::uniform_real_distribution<>{}(losses) < p;
        last[node] = packet;
        return bool{verdict[node]};
      };
      ReduceNetwork network(nodes, config, two_dimensions);
      std::vector<std::array<unsigned, kTrees>> numbers(nodes);
      for (auto& order : numbers) {
        for (unsigned t = 0; t < kTrees; ++t) order[t] = t;
        std::shuffle(order.begin(), order.end(), random);
      }
      std::vector<Reducers> all;
      for (unsigned t = 0; t < kTrees; ++t) {
        Tree tree = random_tree(nodes, 3, random);
        tree.pdid = static_cast<unsigned>(random() % 1024);
        tree.epoch = static_cast<unsigned>(random() % 256);
        for (Tree::Place& place : tree.places) place.number = numbers[place.node][t];
        std::vector<Reducers::Round> rounds;
        for (int i = 0; i < 6; ++i) rounds.push_back(random_round(random));
        all.emplace_back(network, tree, kMemory + 0x10'0000 * t, rounds, t % 2 == 0 ? 0 : 3000, random());
        network.open(all.back().tree());
      }
      network.run_until_stored();
      REQUIRE(run_reducers(network, all, 600'000));
      for (const Reducers& reducers : all) {
        CHECK(reducers.wrong() == 0);
        CHECK(reducers.failed() == 0);
      }
      for (std::size_t n = 0; n < nodes; ++n) {
        const auto counts = network.counts(n);
        CHECK(counts[0] == 6 * kTrees);
        CHECK(counts[1] == 0);
        repeated += counts[2];
        dropped += counts[3];
        damaged += counts[4];
        if (loss == 0) CHECK(counts[4] == 0);
        CHECK(network.node(n).in[0].framing_errors() + network.node(n).out[0].framing_errors() == 0);
      }
    }
  CHECK(repeated > 1000);
  CHECK(damaged > 300);
  CHECK(dropped > 300);
  MESSAGE(repeated << " packets sent again, " << damaged << " damaged, " << dropped << " that nobody waited for");
}

TEST_CASE(
    "reductions: a process that does not call: the others are notified, and again, until the tree is opened anew") {
  ReduceNetwork network(4, {.timeout = 2, .limit = 10});
  Tree tree = chain(4);
  std::uint64_t results = kMemory;
  for (Tree::Place& place : tree.places) place.branches[0].results = results += 1024;
  network.open(tree);
  network.run_until_stored();
  const Bytes part(16, 1);
  const auto call = [&](std::size_t n) { network.call(n, tree.places[n].number, 0, kInt32, kSum, part); };
  const auto reason_at = [&](std::size_t n) -> int {
    const auto end = network.end(n, tree.places[n].branches[0].results);
    return end ? static_cast<int>(end->reason()) : -1;
  };
  const auto silent = static_cast<int>(spec::NackReason::kSilent);
  for (const std::size_t n : {0, 1, 3}) call(n);
  network.run(256 * 9);
  for (std::size_t n = 0; n < 4; ++n) CHECK(reason_at(n) == -1);
  network.run(256 * 2 + 600);
  for (std::size_t n = 0; n < 4; ++n) CHECK(reason_at(n) == silent);
  // It comes late: it is notified at once.
  for (const std::size_t n : {2, 0}) {
    for (unsigned i = 0; i < 16; ++i)
      network.node(n).memory->set(tree.places[n].branches[0].results + kEndOffset + i, 0);
    CHECK(reason_at(n) == -1);
    call(n);
  }
  network.run(200);
  CHECK(reason_at(2) == silent);
  CHECK(reason_at(0) == silent);
  for (std::size_t n = 0; n < 4; ++n) CHECK(network.counts(n)[1] == 1);
  // With another epoch it begins anew.
  tree.epoch = 1;
  std::vector<Reducers> all;
  all.emplace_back(network, tree, kMemory + 0x10'0000, std::vector<Reducers::Round>(3, {kFloat64, kSum, 64}), 0, 1);
  network.open(all[0].tree());
  network.run_until_stored();
  REQUIRE(run_reducers(network, all, 20'000));
  CHECK(all[0].wrong() + all[0].failed() == 0);
}

TEST_CASE("reductions: parts that do not agree, or are none, end the tree with Mismatch") {
  struct Call {
    ReduceType type;
    unsigned operation, bytes;
  };
  const Call good{kInt32, 0, 16};
  const Call bad[] = {{ReduceType::kUint32, 0, 16},
                      {kInt32, 1, 16},
                      {kInt32, 0, 12},
                      {kInt32, 0, 0},
                      {kInt32, 6, 16},
                      {kInt32, 7, 16},
                      {static_cast<ReduceType>(6), 0, 16},
                      {static_cast<ReduceType>(7), 0, 16},
                      {kInt32, 0, 516},
                      {kInt32, 0, 1020}};
  // The same at both, but none.
  const Call none[] = {{kInt32, 0, 18},  {kFloat64, 0, 12}, {kFloat64, 3, 16}, {ReduceType::kFloat32, 5, 16},
                       {kInt32, 0, 516}, {kInt32, 6, 16}};
  std::vector<std::pair<Call, Call>> pairs;
  for (const Call& call : bad) pairs.push_back({good, call}), pairs.push_back({call, good});
  for (const Call& call : none) pairs.push_back({call, call});
  ReduceNetwork network(2, {.timeout = 4, .limit = 100});
  const auto mismatch = static_cast<int>(spec::NackReason::kMismatch);
  unsigned epoch = 0;
  for (const bool same_node : {false, true})
    for (const auto& [first, second] : pairs) {
      CAPTURE(epoch);
      Tree tree = chain(2);
      if (same_node) {
        tree = {};
        tree.places.push_back({0, 3, std::nullopt});
        tree.places[0].branches[2].process = tree.places[0].branches[5].process = true;
      }
      tree.epoch = epoch++;
      std::uint64_t results = kMemory + 0x10'0000 * epoch;
      std::vector<std::pair<std::size_t, std::uint64_t>> ends;
      network.run(600);
      for (Tree::Place& place : tree.places)
        for (Tree::Branch& branch : place.branches)
          if (branch.process) ends.push_back({place.node, branch.results = results += 1024});
      network.open(tree);
      network.run_until_stored();
      const Call* call = &first;
      for (const Tree::Place& place : tree.places)
        for (unsigned b = 0; b < kBranches; ++b)
          if (place.branches[b].process) {
            network.call_word(place.node, place.number, b, static_cast<unsigned>(call->type), call->operation,
                              call->bytes);
            call = &second;
          }
      network.run(400);
      for (const auto& [node, at] : ends) {
        const auto end = network.end(node, at);
        REQUIRE(end);
        CHECK(static_cast<int>(end->reason()) == mismatch);
        CHECK(end->bytes() == 0);
      }
    }
}

TEST_CASE("reductions: memory that refuses a result ends the tree with Memory") {
  ReduceNetwork network(4, {.timeout = 2, .limit = 200});
  Tree tree = chain(4);
  std::uint64_t results = kMemory;
  for (Tree::Place& place : tree.places) place.branches[0].results = results += 1024;
  network.open(tree);
  network.run_until_stored();
  network.node(1).memory->refuses = [&](std::uint64_t address) {
    return address >= kMemory && address < kMemory + 0x1'0000;
  };
  const Bytes part(512, 1);
  for (std::size_t n = 0; n < 4; ++n) network.call(n, tree.places[n].number, 0, kInt32, kSum, part);
  network.run(2500);
  for (std::size_t n = 0; n < 4; ++n) {
    CAPTURE(n);
    const auto end = network.end(n, tree.places[n].branches[0].results);
    CHECK(end.has_value() == (n != 1));
    // Those that are far enough may have had the result before; then they hear of it.
    if (end) CHECK(static_cast<int>(end->reason()) == static_cast<int>(spec::NackReason::kMemory));
  }
}

TEST_CASE(
    "reductions: a node that is reset amid a reduction: the others end by their limit, and a new epoch begins at "
    "once") {
  for (const std::size_t victim : {0, 1, 3})
    for (const std::uint64_t when : {5, 60, 150}) {
      CAPTURE(victim);
      CAPTURE(when);
      ReduceNetwork network(4, {.timeout = 1, .limit = 6}, true);
      std::vector<Reducers> all;
      all.emplace_back(network, chain(4), kMemory, std::vector<Reducers::Round>(50, {kFloat64, kSum, 256}), 0, 1);
      network.open(all[0].tree());
      network.run_until_stored();
      for (std::uint64_t i = 0; i < 800 + when; ++i) all[0].step(), network.step();
      REQUIRE(!all[0].done());
      network.enable(victim, false);
      network.run(200);  // what was under way at its port
      network.reset_unit(victim);
      network.enable(victim, true);
      for (int i = 0; i < 256 * 8 + 1000; ++i) all[0].step(), network.step();
      CHECK(all[0].wrong() == 0);
      CHECK(all[0].failed() == 3);
      Tree tree = chain(4);
      tree.epoch = 77;
      std::vector<Reducers> again;
      again.emplace_back(network, tree, kMemory + 0x10'0000, std::vector<Reducers::Round>(5, {kFloat64, kSum, 256}), 0,
                         2);
      network.open(again[0].tree());
      network.run_until_stored();
      REQUIRE(run_reducers(network, again, 100'000));
      CHECK(again[0].wrong() + again[0].failed() == 0);
    }
}

TEST_CASE("reductions: packets of another epoch, domain or place of the tree are nobody's") {
  for (const unsigned kind : {0, 1, 2, 3}) {
    CAPTURE(kind);
    ReduceNetwork network(2, {.timeout = 1, .limit = 20});
    Tree tree = chain(2);
    std::uint64_t results = kMemory;
    for (Tree::Place& place : tree.places) place.branches[0].results = results += 1024;
    network.open(tree);
    Tree other = tree;
    if (kind == 0) other.epoch = 1;
    if (kind == 1) other.pdid = 6;
    if (kind == 2) other.places[1].branch_above = 3;  // which the node above has not
    if (kind == 3) other.places[1].branch_above = 0;  // which is its process
    network.open_place(other, 1);
    network.run_until_stored();
    const Bytes part(16, 1);
    for (std::size_t n = 0; n < 2; ++n) network.call(n, tree.places[n].number, 0, kInt32, kSum, part);
    network.run(256 * 22);
    for (std::size_t n = 0; n < 2; ++n) {
      const auto end = network.end(n, tree.places[n].branches[0].results);
      REQUIRE(end);
      CHECK(static_cast<int>(end->reason()) == static_cast<int>(spec::NackReason::kSilent));
      CHECK(network.counts(n)[0] == 0);
    }
    CHECK(network.counts(0)[3] > 2);
  }
}

TEST_CASE("reductions: parts of another domain right before and behind one that counts do not change it") {
  constexpr unsigned kOthers = 6, kCall = 60;
  for (unsigned delay = 0; delay < 2 * kCall; ++delay) {
    CAPTURE(delay);
    ReduceNetwork network(3, {.timeout = 0});
    Tree tree = chain(2);
    tree.places[0].branches[0].results = kMemory;
    network.open(tree);
    Tree other = tree;  // from the other side, to the same place
    other.pdid = 6;
    other.places[1].node = 2;
    for (unsigned i = 0; i < kOthers; ++i) {
      other.places[1].number = i;
      network.open_place(other, 1);
    }
    network.run_until_stored();
    for (unsigned cycle = 0; cycle < 2 * kCall; ++cycle) {
      if (cycle == kCall) network.call(1, tree.places[1].number, 0, kInt32, kSum, Bytes(8, 1));
      if (cycle == delay)
        for (unsigned i = 0; i < kOthers; ++i) network.call(2, i, 0, kInt32, kSum, Bytes(8, 0xee));
      network.run(1);
    }
    network.run(600);
    network.call(0, tree.places[0].number, 0, kInt32, kSum, Bytes(8, 2));
    network.run(600);
    REQUIRE(network.end(0, kMemory));
    CHECK(network.vector(0, kMemory, 8) == Bytes(8, 3));
    CHECK(network.counts(0)[3] == kOthers);
  }
}

TEST_CASE("reductions: a tree that was closed is at rest when the unit says so, and its places can be given away") {
  constexpr std::uint64_t kPlace = 1024, kNext = kMemory + 16 * kPlace;
  constexpr unsigned kNumber = 9, kProcesses = 4;
  unsigned waited = 0, written = 0;
  for (unsigned delay = 0; delay < 800; delay += 13) {
    CAPTURE(delay);
    ReduceNetwork network(2, {.memory = {.stalls = 0.8, .seed = 1 + delay}});
    Tree tree;
    tree.places.push_back({0, kNumber, std::nullopt});
    for (unsigned b = 0; b < kProcesses; ++b)
      tree.places[0].branches[b] = {.process = true, .results = kMemory + kPlace * b};
    CHECK(network.unrest(0) == 0);
    network.open(tree);
    network.run_until_stored();
    CHECK(network.unrest(0) == 1u << kNumber);
    for (unsigned b = 0; b < kProcesses; ++b) network.call(0, kNumber, b, kInt32, kSum, Bytes(512, 1));
    network.run_until_stored();
    network.run(delay);
    network.open_place(tree, 0, false);
    network.run_until_stored();
    waited += network.unrest(0) != 0;
    for (unsigned i = 0; network.unrest(0) != 0; ++i) REQUIRE(i < 2000);
    std::array<Bytes, kProcesses> before;
    for (unsigned b = 0; b < kProcesses; ++b) before[b] = network.vector(0, kMemory + kPlace * b, 512);
    Tree next = tree;
    next.pdid = 6, next.epoch = 1;
    for (unsigned b = 0; b < kProcesses; ++b) next.places[0].branches[b].results = kNext + kPlace * b;
    network.open(next);
    network.run(8000);
    for (unsigned b = 0; b < kProcesses; ++b) {
      CHECK(network.vector(0, kMemory + kPlace * b, 512) == before[b]);
      CHECK(!network.end(0, kNext + kPlace * b));
      CHECK(network.vector(0, kNext + kPlace * b, 512) == Bytes(512, 0));
    }
    written += network.end(0, kMemory + kPlace * (kProcesses - 1)).has_value();
  }
  CHECK(waited > 10);
  CHECK(written > 0);  // so some were closed at each stage
  CHECK(written < 50);
}

TEST_CASE("reductions: a failure of the last epoch does not break the next one") {
  // The one that fails first is below, or above.
  for (const std::size_t first : {1, 0}) {
    CAPTURE(first);
    ReduceNetwork network(2, {.line = {.latency_cycles = 400}, .timeout = 8});
    Tree tree = chain(2);
    network.open(tree);
    network.run_until_stored();
    network.call_word(first, tree.places[first].number, 0, 7, 7, 1);
    network.run(60);
    REQUIRE(network.counts(first)[1] == 1);
    REQUIRE(network.node(first).in[0].arrivals.size() == 1);
    tree.epoch = 1;
    std::vector<Reducers> all;
    all.emplace_back(network, tree, kMemory, std::vector<Reducers::Round>(3, {kInt32, kSum, 4}), 2000, 1);
    network.open(all[0].tree());
    network.run_until_stored();
    REQUIRE(network.node(1 - first).out[0].arrivals.empty());
    REQUIRE(run_reducers(network, all, 50'000));
    CHECK(all[0].wrong() + all[0].failed() == 0);
    CHECK(network.counts(1 - first) == std::array<std::uint32_t, 5>{3, 0, 0, 1, 0});
  }
}

TEST_CASE("reductions: opened again with packets of the last epoch under way, and never twice the same result") {
  std::mt19937_64 random(7);
  ReduceNetwork network(4, {.timeout = 1, .limit = 0}, true);
  for (unsigned epoch = 0; epoch < 12; ++epoch) {
    CAPTURE(epoch);
    Tree tree = random_tree(4, 2, random);
    tree.epoch = epoch;
    std::vector<Reducers> all;
    all.emplace_back(network, tree, kMemory + 0x10'0000 * epoch,
                     std::vector<Reducers::Round>(20, {kFloat64, kSum, 512}), 0, epoch);
    network.open(all[0].tree());
    network.run_until_stored();
    // Every second one is left amid its rounds.
    if (epoch % 2 == 0) {
      for (std::uint64_t i = 0; i < 900 + random() % 700; ++i) all[0].step(), network.step();
      REQUIRE(!all[0].done());
      for (std::size_t n = 0; n < 4; ++n) network.node(n).stores.clear();
    } else {
      REQUIRE(run_reducers(network, all, 100'000));
    }
    CHECK(all[0].wrong() + all[0].failed() == 0);
  }
}

// With more than 65,536 rounds the numbers begin anew.
TEST_CASE("reductions: one behind the other, without a pause") {
  const std::size_t rounds = given("EXANET_REDUCE_ROUNDS", 300);
  std::size_t packets = 0;
  ReduceNetwork network(2, {.line = {.latency_cycles = 1}, .memory = {.latency_cycles = 1}, .timeout = 1});
  Tree tree = chain(2);
  tree.epoch = 255;
  auto all = one(network, tree, std::vector<Reducers::Round>(rounds, {kInt32, kSum, 4}));
  REQUIRE(run_reducers(network, all, 400 * rounds));
  CHECK(all[0].wrong() + all[0].failed() == 0);
  for (std::size_t n = 0; n < 2; ++n) {
    CHECK(network.counts(n)[0] == rounds);
    packets += network.node(n).in[0].arrivals.size();
  }
  // What is asked for twice before it goes, goes once.
  CHECK(packets >= 2 * rounds);
  CHECK(packets <= 2 * rounds + network.counts(0)[2] + network.counts(1)[2]);
}

TEST_CASE("reductions: packets are taken while none can be sent") {
  // The line from node 1 to the one above it takes nothing.
  ReduceNetwork network(3, {.timeout = 1});
  std::vector<Tree> trees;
  for (unsigned t = 0; t < kTrees; ++t) {
    Tree tree = chain(3);
    for (Tree::Place& place : tree.places) {
      place.number = t;
      place.branches[0].results = kMemory + 1024 * t;
    }
    network.open(tree);
    trees.push_back(tree);
  }
  network.run_until_stored();
  network.node(1).stuck[1] = true;
  const Bytes part(512, 1);
  for (unsigned t = 0; t < kTrees; ++t)
    for (std::size_t n = 1; n < 3; ++n) network.call(n, t, 0, kInt32, kSum, part);
  // Parts that are sent again fill all that the router takes; those of node 2 come all the same, again and again.
  network.run(256 * 70);
  const std::size_t sent = network.node(1).in[0].arrivals.size(), before = network.node(1).out[0].arrivals.size();
  const std::uint32_t dropped = network.counts(1)[3];
  network.run(256 * 40);
  CHECK(network.node(1).in[0].arrivals.size() == sent);
  CHECK(network.node(1).out[0].arrivals.size() > before);
  // All that has come has had its step: each was the first of its tree, or dropped.
  CHECK(network.counts(1)[3] > dropped);
  CHECK(network.counts(1)[3] + kTrees == network.node(1).out[0].arrivals.size());
  CHECK(before > 2 * kTrees);
  network.node(1).stuck[1] = false;
  for (unsigned t = 0; t < kTrees; ++t) network.call(0, t, 0, kInt32, kSum, part);
  network.run(256 * 100);
  for (std::size_t n = 0; n < 3; ++n) CHECK(network.counts(n)[0] == kTrees);
}

TEST_CASE("reductions: cycles of each stage, and of four nodes") {
  // Lines and memories of 20 cycles. The leaf is last.
  for (const std::size_t bytes : {8, 512}) {
    CAPTURE(bytes);
    ReduceNetwork network(2, {.timeout = 0});
    Tree tree = chain(2);
    for (Tree::Place& place : tree.places) place.branches[0].results = kMemory;
    network.open(tree);
    network.run_until_stored();
    const Bytes part(bytes, 1);
    network.call(0, 0, 0, kFloat64, kSum, part);
    network.run_until_stored();
    network.call(1, 1, 0, kFloat64, kSum, part);
    network.run_until_stored();
    network.run(1000);
    const auto &up = network.node(1), &root = network.node(0);
    REQUIRE(up.out[0].arrivals.size() == 1);
    REQUIRE(root.out[0].arrivals.size() == 1);
    const std::array<std::uint64_t, 6> stages = {up.in[0].arrivals[0].head_cycle - up.taken.back(),
                                                 root.out[0].arrivals[0].tail_cycle - up.in[0].arrivals[0].head_cycle,
                                                 root.in[0].arrivals[0].head_cycle - root.out[0].arrivals[0].tail_cycle,
                                                 up.out[0].arrivals[0].tail_cycle - root.in[0].arrivals[0].head_cycle,
                                                 up.memory->beats.back().cycle - up.out[0].arrivals[0].tail_cycle,
                                                 up.memory->beats.back().cycle - up.taken.back()};
    std::ostringstream s;
    for (const std::uint64_t stage : stages) s << ' ' << stage;
    MESSAGE(
        bytes << " bytes, store to part at the router, to its end at the root, to the result there, to its end at the "
                 "leaf, to memory; all:"
              << s.str());
    CHECK(stages[5] <= (bytes == 8 ? 170 : 570));
  }
  // The root is two hops at most from the others.
  for (const std::size_t bytes : {8, 512}) {
    ReduceNetwork network(4, {.timeout = 0});
    Tree tree;
    for (std::size_t n = 0; n < 4; ++n) {
      Tree::Place place{n, 0, std::nullopt};
      place.branches[0].process = true;
      place.branches[0].results = kMemory;
      if (n > 0) {
        place.above = 0;
        place.branch_above = static_cast<unsigned>(n);
        tree.places[0].branches[n].below = n;
      }
      tree.places.push_back(place);
    }
    network.open(tree);
    network.run_until_stored();
    const Bytes part(bytes, 1);
    for (std::size_t n = 0; n < 4; ++n) network.call(n, 0, 0, kFloat64, kSum, part);
    network.run_until_stored();
    network.run(3000);
    std::uint64_t begin = 0, end = 0;
    for (std::size_t n = 0; n < 4; ++n) {
      begin = std::max(begin, network.node(n).taken.back());
      REQUIRE(!network.node(n).memory->beats.empty());
      end = std::max(end, network.node(n).memory->beats.back().cycle);
    }
    MESSAGE("4 nodes, " << bytes << " bytes: " << end - begin << " cycles");
    CHECK(end - begin <= (bytes == 8 ? 250 : 770));
  }
}
