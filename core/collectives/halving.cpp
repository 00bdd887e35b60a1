// SPDX-License-Identifier: Apache-2.0
// Reductions by exchanging whole vectors (recursive doubling), and by exchanging halves of halves (Rabenseifner).
//
// Problem: all ranks are to have a reduction in a logarithm of rounds; long vectors are to be sent about twice at most.
// Model: partners differ in one bit of their numbers. They exchange all that they have, or each keeps the half of a
// vector that it goes on reducing, and the same partners give each other what is reduced, backwards. Ranks beyond a
// power of two join in pairs before, and get the result after. The nearest partner comes first (MPICH), or the
// farthest. Limits: as in rings.cpp, parts are whole elements, or all of one size, of a byte at least.
//
// Sources: Rabenseifner, "Optimization of collective reduction operations" (2004); Thakur, Rabenseifner and Gropp
// (2005).
#include <algorithm>
#include <bit>
#include <numeric>

#include "core/collectives/algorithm.hpp"

namespace exanet {

namespace {

// The power of two of ranks that exchange, and the pairs of the others: of each of the first `rest` pairs one rank
// takes part, the odd one where `odd`, else the even one.
struct Core {
  Core(const CollectiveCall& c, bool odd) : size(std::bit_floor(c.ranks)), rest(c.ranks - size), odd_stays(odd) {
    if (c.me >= 2 * rest)
      number = c.me - rest;
    else if (c.me % 2 == (odd ? 1u : 0u))
      number = c.me / 2;
  }
  std::uint32_t rank(std::uint32_t n) const { return n < rest ? 2 * n + odd_stays : n + rest; }
  bool takes_part() const { return number < size; }
  std::uint32_t levels() const { return static_cast<std::uint32_t>(std::bit_width(size) - 1); }
  bool paired(std::uint32_t me) const { return me < 2 * rest; }

  std::uint32_t size, rest;
  bool odd_stays;
  std::uint32_t number = 0xffffffffu;
};

void join_pairs(const CollectiveCall& c, const Core& core, Schedule& out) {
  if (!core.paired(c.me)) return;
  if (core.takes_part())
    out.receive_alone(c.me ^ 1);
  else
    out.send_alone(c.me ^ 1, c.bytes);
}

void part_pairs(const CollectiveCall& c, const Core& core, std::uint64_t bytes, Schedule& out) {
  if (!core.paired(c.me)) return;
  if (core.takes_part())
    out.send_alone(c.me ^ 1, bytes);
  else
    out.receive_alone(c.me ^ 1);
}

// Where pairs join and part there is a round before and one after.
std::uint32_t with_pairs(const Core& core, std::uint32_t rounds) { return rounds + (core.rest > 0 ? 2 : 0); }

// A round of so many; `exchange` has those between the pairs' own.
template <typename Exchange>
void between_pairs(const CollectiveCall& c, const Core& core, std::uint32_t round, std::uint32_t rounds,
                   Exchange exchange, Schedule& out) {
  const std::uint32_t before = core.rest > 0 ? 1 : 0;
  if (round < before) return join_pairs(c, core, out);
  if (round == rounds + before) return part_pairs(c, core, c.bytes, out);
  if (core.takes_part()) exchange(round - before);
}

std::uint32_t doubling_rounds(const CollectiveCall& c) {
  const Core core(c, true);
  return with_pairs(core, core.levels());
}

void double_up(const CollectiveCall& c, std::uint32_t round, Schedule& out) {
  const Core core(c, true);
  const auto exchange = [&](std::uint32_t level) {
    const std::uint32_t partner = core.rank(core.number ^ 1u << level);
    out.exchange(partner, c.bytes, partner);
  };
  between_pairs(c, core, round, core.levels(), exchange, out);
}

// The part of a vector of `size` blocks that a rank of the core keeps; all of it at first.
struct Part {
  Part(const CollectiveCall& c, std::uint32_t size)
      : elements(c.elements()), width(std::max<std::uint64_t>(c.element_bytes, 1)), blocks(size), last(size) {}
  // Bytes of the blocks [from, to), of which the first ones are longer by an element where they do not divide the
  // vector.
  std::uint64_t sum(std::uint32_t from, std::uint32_t to) const {
    const std::uint64_t rest = elements % blocks;
    return (elements / blocks * (to - from) + std::min<std::uint64_t>(to, rest) - std::min<std::uint64_t>(from, rest)) *
           width;
  }
  std::uint64_t bytes() const { return sum(first, last); }
  void keep(bool upper) {
    const std::uint32_t middle = first + (last - first) / 2;
    (upper ? first : last) = middle;
  }
  std::uint64_t elements, width;
  std::uint32_t blocks, first = 0, last;
};

enum class First : std::uint8_t { nearest, farthest };

// The bit in which a rank's number differs from its partner's at a depth of halving, 1 at first.
std::uint32_t bit_at(First first, const Core& core, std::uint32_t depth) {
  return first == First::nearest ? 1u << (depth - 1) : core.size >> depth;
}

// What `number` keeps after so many halvings.
std::uint64_t kept(const CollectiveCall& c, First first, const Core& core, std::uint32_t number, std::uint32_t depth) {
  if (c.equal_parts) return std::max<std::uint64_t>(c.bytes >> depth, 1);
  Part part(c, core.size);
  for (std::uint32_t i = 1; i <= depth; ++i) part.keep((number & bit_at(first, core, i)) != 0);
  return part.bytes();
}

std::uint32_t rabenseifner_rounds(const CollectiveCall& c) {
  const Core core(c, true);
  return with_pairs(core, 2 * core.levels());
}

template <First kFirst>
void rabenseifner(const CollectiveCall& c, std::uint32_t round, Schedule& out) {
  const Core core(c, true);
  const std::uint32_t levels = core.levels();
  const auto exchange = [&](std::uint32_t step) {
    const bool halves = step < levels;
    const std::uint32_t depth = halves ? step + 1 : 2 * levels - step;
    const std::uint32_t partner = core.number ^ bit_at(kFirst, core, depth);
    out.exchange(core.rank(partner), kept(c, kFirst, core, halves ? partner : core.number, depth), core.rank(partner));
  };
  between_pairs(c, core, round, 2 * levels, exchange, out);
}

// As the allreduce, but the blocks gather along a tree at the root. A root that has left the core at the beginning
// takes the place of the core's first rank.
void reduce_rabenseifner(const CollectiveCall& c, Schedule& out) {
  const Core core(c, false);
  join_pairs(c, core, out);
  Part part(c, core.size);
  std::uint32_t number = core.number;
  for (std::uint32_t depth = 1; core.takes_part() && depth <= core.levels(); ++depth) {
    const std::uint32_t bit = bit_at(First::nearest, core, depth), partner = core.number ^ bit;
    out.exchange(core.rank(partner), kept(c, First::nearest, core, partner, depth), core.rank(partner));
    part.keep((core.number & bit) != 0);
  }
  const bool outside = core.paired(c.root) && c.root % 2 == 1;
  const std::uint32_t root = outside ? 0 : core.paired(c.root) ? c.root / 2 : c.root - core.rest;
  if (outside && c.me == c.root) {
    out.receive_alone(core.rank(0));
    number = 0;
    part.last = 1;
  } else if (outside && number == 0) {
    out.send_alone(c.root, part.sum(0, 1));
    return;
  }
  if (number >= core.size) return;
  for (std::uint32_t mask = core.size / 2; mask > 0; mask /= 2) {
    const std::uint32_t partner = number ^ mask, width = core.size / (2 * mask);
    const std::uint32_t peer = outside && partner == 0 ? c.root : core.rank(partner);
    if ((partner & mask) == (root & mask)) return out.send_alone(peer, part.bytes());
    out.receive_alone(peer);
    if (number < partner)
      part.last += width;
    else
      part.first -= width;
  }
}

void reduce_scatter_halving(const CollectiveCall& c, Schedule& out) {
  const Core core(c, true);
  CollectiveCall whole = c;
  whole.bytes = std::accumulate(c.received.begin(), c.received.end(), std::uint64_t{0});
  join_pairs(whole, core, out);
  if (core.takes_part()) {
    std::vector<std::uint64_t> each(core.size);
    for (std::uint32_t i = 0; i < core.size; ++i) {
      const std::uint32_t rank = core.rank(i);
      each[i] = c.received[rank] + (core.paired(rank) ? c.received[rank - 1] : 0);
    }
    const auto sum = [&each](std::uint32_t from, std::uint32_t to) {
      return std::accumulate(each.begin() + from, each.begin() + to, std::uint64_t{0});
    };
    std::uint32_t first = 0, last = core.size;
    for (std::uint32_t mask = core.size / 2; mask > 0; mask /= 2) {
      const std::uint32_t partner = core.rank(core.number ^ mask), middle = first + mask;
      const bool lower = (core.number & mask) == 0;
      const std::uint64_t kept = lower ? sum(first, middle) : sum(middle, last);
      const std::uint64_t given = lower ? sum(middle, last) : sum(first, middle);
      if (kept > 0) out.receive(partner);
      if (given > 0) out.send(partner, given);
      out.stage();
      (lower ? last : first) = middle;
    }
  }
  if (core.paired(c.me) && c.received[c.me & ~1u] > 0) part_pairs(c, core, c.received[c.me & ~1u], out);
}

void reduce_scatter_pairwise(const CollectiveCall& c, Schedule& out) {
  for (std::uint32_t step = 1; step < c.ranks; ++step)
    out.exchange(c.after(step), c.received[c.after(step)], c.before(step));
}

void scan_doubling(const CollectiveCall& c, Schedule& out) {
  for (std::uint32_t mask = 1; mask < c.ranks; mask *= 2) {
    const std::uint32_t partner = c.me ^ mask;
    if (partner < c.ranks) out.exchange(partner, c.bytes, partner);
  }
}

}  // namespace

namespace collectives {

std::vector<CollectiveAlgorithm> halving() {
  return {
      {.collective = "allreduce",
       .name = "recursive-doubling",
       .help = "allreduce by recursive doubling; `bytes` is the vector",
       .rounds = {doubling_rounds, double_up},
       .job = "allreduce-doubling"},
      {.collective = "allreduce",
       .name = "rabenseifner",
       .help = "halving and doubling, the nearest partner first",
       .rounds = {rabenseifner_rounds, rabenseifner<First::nearest>}},
      {.collective = "allreduce",
       .name = "rabenseifner-farthest-first",
       .help = "allreduce by halving and doubling (Rabenseifner); `bytes` is the vector",
       .rounds = {rabenseifner_rounds, rabenseifner<First::farthest>},
       .job = "allreduce-rabenseifner"},
      {.collective = "reduce",
       .name = "rabenseifner",
       .help = "halving, and a gather of the parts along a tree",
       .plan = reduce_rabenseifner},
      {.collective = "reduce-scatter",
       .name = "recursive-halving",
       .help = "halves of what is left, the farthest partner first",
       .plan = reduce_scatter_halving},
      {.collective = "reduce-scatter",
       .name = "pairwise",
       .help = "each block from its sender to its owner, one partner a step",
       .plan = reduce_scatter_pairwise},
      {.collective = "scan",
       .name = "recursive-doubling",
       .help = "whole vectors with partners at doubling distances",
       .plan = scan_doubling},
  };
}

}  // namespace collectives

}  // namespace exanet
