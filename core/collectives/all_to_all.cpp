// SPDX-License-Identifier: Apache-2.0
// Collectives in which everybody has something for everybody: allgathers by doubling what each has, and exchanges of
// all with all.
//
// Problem: each rank has a block for all, or one for each. Model: blocks that go the same way travel together, so that
// a logarithm of rounds is enough (doubling, Bruck), or each goes by itself, to one partner a step or to many at once.
// Limits: what is chosen by size is for blocks of one size; how many messages MPICH posts at once is a default of its
// settings (MPIR_CVAR_ALLTOALL_THROTTLE).
//
// Sources: Bruck and others, "Efficient algorithms for all-to-all communications in multiport message-passing systems"
// (1997); Thakur, Rabenseifner and Gropp (2005).
#include <algorithm>
#include <bit>

#include "core/collectives/algorithm.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kAtOnce = 32;  // MPIR_CVAR_ALLTOALL_THROTTLE

bool by_rank(const CollectiveCall& c) { return !c.sent.empty() || !c.received.empty(); }

// Bytes of `count` ranks' blocks in an allgather, from one on, round the ring.
std::uint64_t blocks(const CollectiveCall& c, std::uint64_t first, std::uint32_t count) {
  if (c.received.empty()) return c.bytes * count;
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) sum += c.received[(first + i) % c.ranks];
  return sum;
}

std::uint32_t bruck_rounds(const CollectiveCall& c) { return static_cast<std::uint32_t>(std::bit_width(c.ranks - 1)); }

void allgather_bruck(const CollectiveCall& c, std::uint32_t round, Schedule& out) {
  const std::uint32_t distance = 1u << round;
  out.exchange(c.before(distance), blocks(c, c.me, std::min(distance, c.ranks - distance)), c.after(distance));
}

void allgather_doubling(const CollectiveCall& c, std::uint32_t round, Schedule& out) {
  if (!std::has_single_bit(c.ranks)) return allgather_bruck(c, round, out);
  const std::uint32_t mask = 1u << round;
  out.exchange(c.me ^ mask, blocks(c, c.me & ~(mask - 1), mask), c.me ^ mask);
}

// Blocks whose distance has the round's bit.
void alltoall_bruck(const CollectiveCall& c, std::uint32_t round, Schedule& out) {
  const std::uint64_t bit = std::uint64_t{1} << round, whole = c.ranks / (2 * bit) * bit, left = c.ranks % (2 * bit);
  const auto distance = static_cast<std::uint32_t>(bit);
  out.exchange(c.after(distance), (whole + (left > bit ? left - bit : 0)) * c.bytes, c.before(distance));
}

std::uint32_t all_others(const CollectiveCall& c) { return c.ranks - 1; }

void alltoall_rotation(const CollectiveCall& c, std::uint32_t round, Schedule& out) {
  out.exchange(c.after(round + 1), c.given_to(c.after(round + 1)), c.before(round + 1));
}

std::uint32_t one_round(const CollectiveCall&) { return 1; }

void alltoall_at_once(const CollectiveCall& c, std::uint32_t, Schedule& out) {
  for (std::uint32_t i = 1; i < c.ranks; ++i) out.receive(c.before(i));
  for (std::uint32_t i = 1; i < c.ranks; ++i) out.send(c.after(i), c.bytes);
}

void alltoall_scattered(const CollectiveCall& c, Schedule& out) {
  for (std::uint32_t first = 0; first < c.ranks; first += kAtOnce) {
    const std::uint32_t end = std::min(first + kAtOnce, c.ranks);
    for (std::uint32_t i = std::max(first, 1u); i < end; ++i)
      if (!by_rank(c) || c.block_of(c.after(i)) > 0) out.receive(c.after(i));
    for (std::uint32_t i = std::max(first, 1u); i < end; ++i)
      if (!by_rank(c) || c.given_to(c.before(i)) > 0) out.send(c.before(i), c.given_to(c.before(i)));
    out.stage();
  }
}

void alltoall_pairwise(const CollectiveCall& c, Schedule& out) {
  const bool by_bits = std::has_single_bit(c.ranks);
  for (std::uint32_t i = 1; i < c.ranks; ++i) {
    const std::uint32_t to = by_bits ? c.me ^ i : c.after(i), from = by_bits ? c.me ^ i : c.before(i);
    out.exchange(to, c.given_to(to), from);
  }
}

void alltoall_in_place(const CollectiveCall& c, Schedule& out) {
  for (std::uint32_t i = 0; i < c.ranks; ++i) {
    // In the order of pairs (low, high): those of low ranks first.
    for (std::uint32_t j = i + 1; j < c.ranks; ++j) {
      if (c.me != i && c.me != j) continue;
      const std::uint32_t partner = c.me == i ? j : i;
      if (by_rank(c) && c.received[partner] == 0) continue;
      out.exchange(partner, c.block_of(partner), partner);
    }
  }
}

}  // namespace

namespace collectives {

std::vector<CollectiveAlgorithm> all_to_all() {
  constexpr Rounds kBruck{bruck_rounds, allgather_bruck}, kDoubling{bruck_rounds, allgather_doubling};
  constexpr Rounds kRotation{all_others, alltoall_rotation};
  const char* const doubling = "recursive doubling, of a power of two of ranks; else bruck";
  const char* const in_place = "pairs of ranks in their order, one after the other";
  return {
      {.collective = "allgather", .name = "recursive-doubling", .help = doubling, .rounds = kDoubling},
      {.collective = "allgather",
       .name = "bruck",
       .help = "each rank's block of `bytes` to all, by doubling distances (Bruck)",
       .rounds = kBruck,
       .job = "allgather-bruck"},
      {.collective = "allgatherv", .name = "recursive-doubling", .help = doubling, .rounds = kDoubling},
      {.collective = "allgatherv", .name = "bruck", .help = "by doubling distances", .rounds = kBruck},
      {.collective = "alltoall",
       .name = "bruck",
       .help = "a block of `bytes` from each to each, by the bits of the distance (Bruck)",
       .rounds = {bruck_rounds, alltoall_bruck},
       .job = "alltoall-bruck"},
      {.collective = "alltoall", .name = "scattered", .help = "32 messages at once", .plan = alltoall_scattered},
      {.collective = "alltoall",
       .name = "pairwise",
       .help = "one partner a step, by the bits of a power of two",
       .plan = alltoall_pairwise},
      {.collective = "alltoall", .name = "in-place", .help = in_place, .plan = alltoall_in_place},
      {.collective = "alltoall",
       .name = "at-once",
       .help = "a block of `bytes` from each to each, all at once",
       .rounds = {one_round, alltoall_at_once},
       .job = "alltoall"},
      {.collective = "alltoall",
       .name = "open-mpi-pairwise",
       .help = "a block of `bytes` from each to each, one partner a step",
       .rounds = kRotation,
       .job = "alltoall-pairwise"},
      {.collective = "alltoallv", .name = "scattered", .help = "32 messages at once", .plan = alltoall_scattered},
      {.collective = "alltoallv",
       .name = "pairwise",
       .help = "one partner a step, by the bits of a power of two",
       .plan = alltoall_pairwise},
      {.collective = "alltoallv", .name = "in-place", .help = in_place, .plan = alltoall_in_place},
      {.collective = "alltoallv",
       .name = "open-mpi-pairwise",
       .help = "one partner a step, further on each time",
       .rounds = kRotation},
  };
}

}  // namespace collectives

}  // namespace exanet
