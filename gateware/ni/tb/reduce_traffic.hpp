// SPDX-License-Identifier: Apache-2.0
// Processes that reduce along trees, one reduction after the other, and check each result.
#pragma once

#include <functional>

#include "gateware/ni/tb/reduce_network.hpp"

namespace exanet::gateware {

// A tree over all nodes in a drawn order, each below one that came before; processes at some of what is left of the
// branches, one at least at each leaf.
inline Tree random_tree(std::size_t nodes, unsigned most_processes, std::mt19937_64& random) {
  Tree tree;
  std::vector<std::size_t> order(nodes);
  for (std::size_t n = 0; n < nodes; ++n) order[n] = n;
  std::shuffle(order.begin(), order.end(), random);
  const auto free_branch = [&](Tree::Place& place) {
    unsigned b = static_cast<unsigned>(random() % kBranches);
    while (place.branches[b].used()) b = (b + 1) % kBranches;
    return b;
  };
  for (std::size_t p = 0; p < nodes; ++p) {
    tree.places.push_back({order[p], 0, std::nullopt});
    if (p == 0) continue;
    // One branch of each stays free for a process.
    const auto full = [&](const Tree::Place& place) {
      return std::count_if(place.branches.begin(), place.branches.end(), [](const auto& b) { return b.used(); }) >=
             kBranches - 1;
    };
    std::size_t above = random() % p;
    while (full(tree.places[above])) above = (above + 1) % p;
    Tree::Place& place = tree.places[above];
    const unsigned b = free_branch(place);
    place.branches[b].below = p;
    tree.places[p].above = above;
    tree.places[p].branch_above = b;
  }
  for (Tree::Place& place : tree.places) {
    const auto below = static_cast<unsigned>(
        std::count_if(place.branches.begin(), place.branches.end(), [](const auto& b) { return b.used(); }));
    const unsigned least = below == 0 ? 1 : 0, most = std::min(kBranches - below, most_processes);
    for (unsigned i = static_cast<unsigned>(least + random() % (most - least + 1)); i > 0; --i)
      place.branches[free_branch(place)].process = true;
  }
  return tree;
}

// The processes of one tree.
class Reducers {
 public:
  struct Round {
    ReduceType type;
    ReduceOperation operation;
    std::size_t bytes;
  };

  // `pause`: cycles until a process calls again, drawn each time. Places of results begin at `memory`.
  Reducers(ReduceNetwork& network, Tree tree, std::uint64_t memory, std::vector<Round> rounds, std::uint64_t most_pause,
           std::uint64_t seed)
      : network_(network), tree_(std::move(tree)), rounds_(std::move(rounds)), most_pause_(most_pause), random_(seed) {
    for (std::size_t p = 0; p < tree_.places.size(); ++p)
      for (unsigned b = 0; b < kBranches; ++b)
        if (Tree::Branch& branch = tree_.places[p].branches[b]; branch.process) {
          branch.results = memory + 1024 * processes_.size();
          processes_.push_back({p, b, 0, 0, false});
        }
    for (const Round& round : rounds_) {
      auto& parts = parts_.emplace_back();
      for (std::size_t i = 0; i < processes_.size(); ++i)
        parts.push_back(random_vector(round.type, round.bytes, random_));
      results_.push_back(tree_.result(round.type, round.operation, [&](std::size_t p, unsigned b) {
        for (std::size_t i = 0; i < processes_.size(); ++i)
          if (processes_[i].place == p && processes_[i].branch == b) return parts[i];
        return Bytes{};
      }));
    }
  }

  // One call in so many says another operation than the others, or does not come at all.
  void disturb(unsigned mismatch_one_in, unsigned silent_one_in) {
    mismatch_one_in_ = mismatch_one_in;
    silent_one_in_ = silent_one_in;
  }
  const Tree& tree() const { return tree_; }
  std::size_t processes() const { return processes_.size(); }
  bool done() const {
    return std::all_of(processes_.begin(), processes_.end(),
                       [&](const Process& p) { return p.round == rounds_.size(); });
  }
  unsigned wrong() const { return wrong_; }
  unsigned failed() const { return failed_; }
  // A cycle of each process, behind one of the network.
  void step() {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      Process& process = processes_[i];
      if (process.round == rounds_.size()) continue;
      const Tree::Place& place = tree_.places[process.place];
      const Round& round = rounds_[process.round];
      if (!process.waits) {
        if (network_.cycle() < process.next) continue;
        if (silent_one_in_ != 0 && random_() % silent_one_in_ == 0) {
          process.round = rounds_.size();
          continue;
        }
        const bool other = mismatch_one_in_ != 0 && random_() % mismatch_one_in_ == 0;
        network_.call(place.node, place.number, process.branch, round.type,
                      other ? ReduceOperation::kXor : round.operation, parts_[process.round][i]);
        process.waits = true;
        continue;
      }
      const std::uint64_t results = place.branches[process.branch].results;
      const auto end = network_.end(place.node, results);
      if (!end || (end->reason() == 0 && end->number() != (tree_.epoch << 16 | (process.round & 0xffff)))) continue;
      failed_ += end->reason() != 0;
      if (end->reason() == 0 && (end->bytes() != round.bytes ||
                                 network_.vector(place.node, results, round.bytes) != results_[process.round])) {
        ++wrong_;
        CAPTURE(process.round);
        CAPTURE(round.bytes);
        FAIL_CHECK("a wrong result at node " << place.node << ", element " << static_cast<int>(round.type)
                                             << ", operation " << static_cast<int>(round.operation));
      }
      process.waits = false;
      process.next = network_.cycle() + (most_pause_ == 0 ? 0 : random_() % most_pause_);
      process.round = end->reason() == 0 ? process.round + 1 : rounds_.size();
    }
  }

 private:
  struct Process {
    std::size_t place;
    unsigned branch;
    std::size_t round;
    std::uint64_t next;
    bool waits;
  };
  ReduceNetwork& network_;
  Tree tree_;
  std::vector<Round> rounds_;
  std::uint64_t most_pause_;
  std::mt19937_64 random_;
  std::vector<Process> processes_;
  std::vector<std::vector<Bytes>> parts_;  // by round and process
  std::vector<Bytes> results_;
  unsigned wrong_ = 0, failed_ = 0, mismatch_one_in_ = 0, silent_one_in_ = 0;
};

inline Reducers::Round random_round(std::mt19937_64& random) {
  Reducers::Round round{};
  do {
    round.type = kTypes[random() % std::size(kTypes)];
    round.operation = kOperations[random() % std::size(kOperations)];
  } while (!is_legal(round.type, round.operation));
  const unsigned width = bytes_of(round.type);
  const std::size_t counts[] = {0, 1, 2, 16 / width, 16 / width + 1, 512 / width, random() % (512 / width + 1)};
  round.bytes = width * counts[random() % std::size(counts)];
  return round;
}

// Runs until all are done; false where they are not after so many cycles.
inline bool run_reducers(ReduceNetwork& network, std::vector<Reducers>& all, std::uint64_t most) {
  for (std::uint64_t i = 0; i < most; ++i) {
    bool done = true;
    for (Reducers& reducers : all) {
      reducers.step();
      done = done && reducers.done();
    }
    if (done) return true;
    network.step();
  }
  return false;
}

}  // namespace exanet::gateware
