// SPDX-License-Identifier: Apache-2.0
// Binomial trees, and the binary one: broadcasts, reductions, gathers and scatters.
//
// Problem: data of a root is to reach all ranks, or data of all to reach the root, in as few rounds as can be. Model:
// in each round of a binomial tree whoever has the data gives it to one more rank. Distances between the two halve from
// round to round (MPICH's trees: a rank's parent is its number without the lowest bit), or double (the number without
// the highest bit). A reduction goes the same tree backwards. Limits: a reduction in the order of ranks, for operations
// that do not commute, goes to rank 0 and from there to the root.
//
// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH" (2005),
// section 4.
#include <algorithm>
#include <bit>

#include "core/collectives/algorithm.hpp"

namespace exanet {

namespace {

enum class TreeDistances : std::uint8_t { halve, double_up };

std::uint32_t tree_levels(const CollectiveCall& c) { return static_cast<std::uint32_t>(std::bit_width(c.ranks - 1)); }

// One round between the ranks that have the data, counted from the root, and those that get it: down, or up the tree.
template <TreeDistances kDistances, bool kDown>
void along_level(const CollectiveCall& c, std::uint32_t level, Schedule& out) {
  const std::uint32_t rank = c.relative(),
                      distance = 1u << (kDistances == TreeDistances::halve ? tree_levels(c) - 1 - level : level);
  const std::uint32_t place = kDistances == TreeDistances::halve ? rank % (2 * distance) : rank;
  const bool holds = kDistances == TreeDistances::halve ? place == 0 : place < distance;
  const bool parent = holds && rank + distance < c.ranks;
  const bool child = kDistances == TreeDistances::halve ? place == distance : place >= distance && place < 2 * distance;
  if (parent && kDown) out.send(c.absolute(rank + distance), c.bytes);
  if (parent && !kDown) out.receive(c.absolute(rank + distance));
  if (child && kDown) out.receive(c.absolute(rank - distance));
  if (child && !kDown) out.send(c.absolute(rank - distance), c.bytes);
}

template <TreeDistances kDistances>
void spread_binomial(const CollectiveCall& c, std::uint32_t round, Schedule& out) {
  along_level<kDistances, true>(c, round, out);
}

// In the order of ranks it goes to rank 0, and in a last round to the root.
bool goes_over_rank_0(const CollectiveCall& c) { return !c.commutative && c.root != 0; }

std::uint32_t tree_reduce_rounds(const CollectiveCall& c) { return tree_levels(c) + goes_over_rank_0(c); }

template <TreeDistances kDistances>
void reduce_binomial(const CollectiveCall& c, std::uint32_t round, Schedule& out) {
  if (!goes_over_rank_0(c)) return along_level<kDistances, false>(c, tree_levels(c) - 1 - round, out);
  CollectiveCall to_first = c;
  to_first.root = 0;
  if (round < tree_levels(c)) return along_level<kDistances, false>(to_first, tree_levels(c) - 1 - round, out);
  if (c.me == 0) out.send(c.root, c.bytes);
  if (c.me == c.root) out.receive(0);
}

std::uint32_t tree_allreduce_rounds(const CollectiveCall& c) { return tree_reduce_rounds(c) + tree_levels(c); }

template <TreeDistances kDistances>
void allreduce_tree(const CollectiveCall& c, std::uint32_t round, Schedule& out) {
  if (round < tree_reduce_rounds(c)) return reduce_binomial<kDistances>(c, round, out);
  spread_binomial<kDistances>(c, round - tree_reduce_rounds(c), out);
}

// A rank sends to all of its children at once.
void bcast_binomial_at_once(const CollectiveCall& c, Schedule& out) {
  for (std::uint32_t round = 0; round < tree_levels(c); ++round) {
    const std::size_t before = out.messages().size();
    spread_binomial<TreeDistances::halve>(c, round, out);
    if (out.messages().size() > before && !out.messages().back().sends) out.stage();
  }
  out.stage();
}

// Rank i, counted from the root, sends to 2i + 1 and 2i + 2.
void bcast_binary(const CollectiveCall& c, Schedule& out) {
  const std::uint64_t relative = c.relative();
  if (relative != 0) out.receive_alone(c.absolute(static_cast<std::uint32_t>((relative - 1) / 2)));
  for (std::uint64_t child = 2 * relative + 1; child <= 2 * relative + 2 && child < c.ranks; ++child)
    out.send_alone(c.absolute(static_cast<std::uint32_t>(child)), c.bytes);
}

// A subtree's blocks go together.
void scatter_binomial(const CollectiveCall& c, Schedule& out) {
  const std::uint32_t relative = c.relative(), bit = c.lowest_bit();
  if (relative != 0) out.receive_alone(c.absolute(relative - bit));
  for (std::uint32_t mask = bit / 2; mask > 0; mask /= 2) {
    if (relative + mask < c.ranks)
      out.send_alone(c.absolute(relative + mask), c.bytes * std::min(mask, c.ranks - relative - mask));
  }
}

void gather_binomial(const CollectiveCall& c, Schedule& out) {
  const std::uint32_t relative = c.relative(), bit = c.lowest_bit();
  for (std::uint32_t mask = 1; mask < bit; mask *= 2)
    if (relative + mask < c.ranks) out.receive_alone(c.absolute(relative + mask));
  if (relative != 0) out.send_alone(c.absolute(relative - bit), c.bytes * std::min(bit, c.ranks - relative));
}

}  // namespace

namespace collectives {

std::vector<CollectiveAlgorithm> binomial() {
  constexpr TreeDistances kHalve = TreeDistances::halve, kDouble = TreeDistances::double_up;
  return {
      {.collective = "bcast",
       .name = "binomial",
       .help = "a binomial tree of distances that halve",
       .rounds = {tree_levels, spread_binomial<kHalve>},
       .for_programs = true},
      {.collective = "bcast",
       .name = "binary",
       .help = "a binary tree in the order of ranks",
       .plan = bcast_binary,
       .for_programs = true},
      {.collective = "bcast",
       .name = "binomial-doubling",
       .help = "a binomial tree of distances that double; `bytes` is the vector",
       .rounds = {tree_levels, spread_binomial<kDouble>},
       .job = "broadcast",
       .for_programs = true},
      {.collective = "bcast",
       .name = "binomial-at-once",
       .help = "a binomial tree whose ranks send to all of their children at once",
       .plan = bcast_binomial_at_once},
      {.collective = "reduce",
       .name = "binomial",
       .help = "a binomial tree of distances that double",
       .rounds = {tree_reduce_rounds, reduce_binomial<kHalve>}},
      {.collective = "reduce",
       .name = "binomial-halving",
       .help = "a binomial tree of distances that halve; `bytes` is the vector",
       .rounds = {tree_reduce_rounds, reduce_binomial<kDouble>},
       .job = "reduce"},
      {.collective = "allreduce",
       .name = "tree",
       .help = "a reduction to rank 0 and a broadcast, along binomial trees",
       .rounds = {tree_allreduce_rounds, allreduce_tree<kHalve>}},
      {.collective = "allreduce",
       .name = "tree-halving",
       .help = "allreduce as reduce and broadcast; `bytes` is the vector",
       .rounds = {tree_allreduce_rounds, allreduce_tree<kDouble>},
       .job = "allreduce-tree"},
      {.collective = "gather", .name = "binomial", .help = "a binomial tree", .plan = gather_binomial},
      {.collective = "scatter", .name = "binomial", .help = "a binomial tree", .plan = scatter_binomial},
  };
}

}  // namespace collectives

}  // namespace exanet
