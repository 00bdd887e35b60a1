// SPDX-License-Identifier: Apache-2.0
#include "core/replay/halving.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/replay/rooted.hpp"

namespace exanet {

namespace {

// The power of two of ranks that exchange, and the pairs of the others: of each of the first `rest` pairs one rank takes part, the odd one where
// `odd`, else the even one.
struct Core {
  Core(const CollectiveCall& c, bool odd) : size(std::bit_floor(c.ranks)), rest(c.ranks - size), odd_stays(odd) {
    if (c.me >= 2 * rest)
      number = c.me - rest;
    else if (c.me % 2 == (odd ? 1u : 0u))
      number = c.me / 2;
  }
  std::uint32_t rank(std::uint32_t n) const { return n < rest ? 2 * n + odd_stays : n + rest; }
  bool takes_part() const { return number < size; }
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

// Blocks of a vector, one for each rank of the core: [first, last) belong to this rank.
struct Blocks {
  Blocks(const CollectiveCall& c, const Core& core) : each(core.size), last(core.size) {
    const std::uint64_t elements = c.elements(), width = std::max<std::uint64_t>(c.element_bytes, 1);
    for (std::uint32_t i = 0; i < core.size; ++i) each[i] = (elements / core.size + (i < elements % core.size)) * width;
  }
  std::uint64_t sum(std::uint32_t from, std::uint32_t to) const {
    return std::accumulate(each.begin() + from, each.begin() + to, std::uint64_t{0});
  }
  std::vector<std::uint64_t> each;
  std::uint32_t first = 0, last;
};

// The half that stays shrinks with each partner, the nearest one first.
void halve(const Core& core, Blocks& blocks, Schedule& out) {
  for (std::uint32_t mask = 1; mask < core.size; mask *= 2) {
    const std::uint32_t partner = core.number ^ mask, middle = blocks.first + core.size / (2 * mask);
    const bool lower = core.number < partner;
    out.exchange(core.rank(partner), lower ? blocks.sum(middle, blocks.last) : blocks.sum(blocks.first, middle),
                 core.rank(partner));
    (lower ? blocks.last : blocks.first) = middle;
  }
}

}  // namespace

void allreduce_doubling(const CollectiveCall& c, Schedule& out) {
  const Core core(c, true);
  join_pairs(c, core, out);
  for (std::uint32_t mask = 1; core.takes_part() && mask < core.size; mask *= 2) {
    const std::uint32_t partner = core.rank(core.number ^ mask);
    out.exchange(partner, c.bytes, partner);
  }
  part_pairs(c, core, c.bytes, out);
}

void allreduce_rabenseifner(const CollectiveCall& c, Schedule& out) {
  const Core core(c, true);
  join_pairs(c, core, out);
  if (core.takes_part()) {
    Blocks blocks(c, core);
    halve(core, blocks, out);
    for (std::uint32_t mask = core.size / 2; mask > 0; mask /= 2) {
      const std::uint32_t partner = core.number ^ mask, width = core.size / (2 * mask);
      out.exchange(core.rank(partner), blocks.sum(blocks.first, blocks.last), core.rank(partner));
      if (core.number < partner)
        blocks.last += width;
      else
        blocks.first -= width;
    }
  }
  part_pairs(c, core, c.bytes, out);
}

// Blocks are whole elements; the first ones are longer by one where ranks do not divide them.
void allreduce_ring(const CollectiveCall& c, Schedule& out) {
  const std::uint64_t width = std::max<std::uint64_t>(c.element_bytes, 1), elements = c.elements();
  const auto block = [&](std::uint32_t i) { return (elements / c.ranks + (i < elements % c.ranks)) * width; };
  for (std::uint32_t step = 0; step + 1 < c.ranks; ++step) out.exchange(c.after(1), block(c.before(step)), c.before(1));
  for (std::uint32_t step = 0; step + 1 < c.ranks; ++step)
    out.exchange(c.after(1), block(c.before(step + c.ranks - 1)), c.before(1));
}

void allreduce_tree(const CollectiveCall& c, Schedule& out) {
  reduce_binomial(c, out);
  bcast_binomial(c, out);
}

// As the allreduce, but the blocks gather along a tree at the root. A root that has left the core at the beginning takes the place of the core's
// first rank.
void reduce_rabenseifner(const CollectiveCall& c, Schedule& out) {
  const Core core(c, false);
  join_pairs(c, core, out);
  Blocks blocks(c, core);
  std::uint32_t number = core.number;
  if (core.takes_part()) halve(core, blocks, out);
  const bool outside = core.paired(c.root) && c.root % 2 == 1;
  const std::uint32_t root = outside ? 0 : core.paired(c.root) ? c.root / 2 : c.root - core.rest;
  if (outside && c.me == c.root) {
    out.receive_alone(core.rank(0));
    number = 0;
    blocks.last = 1;
  } else if (outside && number == 0) {
    out.send_alone(c.root, blocks.each[0]);
    return;
  }
  if (number >= core.size) return;
  for (std::uint32_t mask = core.size / 2; mask > 0; mask /= 2) {
    const std::uint32_t partner = number ^ mask, width = core.size / (2 * mask);
    const std::uint32_t peer = outside && partner == 0 ? c.root : core.rank(partner);
    if ((partner & mask) == (root & mask)) return out.send_alone(peer, blocks.sum(blocks.first, blocks.last));
    out.receive_alone(peer);
    if (number < partner)
      blocks.last += width;
    else
      blocks.first -= width;
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

}  // namespace exanet
