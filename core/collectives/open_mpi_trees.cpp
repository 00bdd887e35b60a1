// SPDX-License-Identifier: Apache-2.0
// Trees of Open MPI: chains, binary, binomial and k-nomial trees, and those in the order of ranks.
//
// Problem: a replay is to send what Open MPI sends. Model: a rank's place in a tree is its parent and its children;
// data goes down it, to all children at once, or up. Limits: its fixed rules name no size of segments, so a vector goes
// whole; where Open MPI posts a receive one step ahead, it is posted with those of all children here.
//
// Source: what coll/base, coll/tuned and coll/libnbc of Open MPI 4.1.4 do, read from their sources.
#include <algorithm>
#include <bit>
#include <vector>

#include "core/collectives/algorithm.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kRadix = 4;  // of the k-nomial tree: coll_tuned_bcast_algorithm_knomial_radix

// A rank's place in a tree, by ranks of the communicator.
struct Place {
  bool is_root = true;
  std::uint32_t parent = 0;
  std::vector<std::uint32_t> children;
};

// Each level has twice as many ranks as the one above, and a rank's children are one and two levels' widths further on.
Place in_binary_tree(const CollectiveCall& c) {
  const std::uint32_t relative = c.relative(), width = std::bit_floor(relative + 1);
  Place place{relative == 0, 0, {}};
  // A rank of a level of 2^k ranks, from 2^k - 1 on, hangs on that of the level above which is the same number modulo
  // its width.
  if (!place.is_root) {
    const std::uint32_t above = width / 2;
    place.parent = c.absolute(above - 1 + (relative + 1 - width) % above);
  }
  for (std::uint64_t child = std::uint64_t{relative} + width;
       child <= std::uint64_t{relative} + 2 * std::uint64_t{width}; child += width)
    if (child < c.ranks) place.children.push_back(c.absolute(static_cast<std::uint32_t>(child)));
  return place;
}

// A rank without its highest bit is its parent.
Place in_binomial_tree(const CollectiveCall& c) {
  const std::uint32_t relative = c.relative();
  Place place{relative == 0, 0, {}};
  if (!place.is_root) place.parent = c.absolute(relative - std::bit_floor(relative));
  for (std::uint64_t mask = relative == 0 ? 1 : 2 * std::uint64_t{std::bit_floor(relative)}; relative + mask < c.ranks;
       mask *= 2)
    place.children.push_back(c.absolute(static_cast<std::uint32_t>(relative + mask)));
  return place;
}

// A rank without its lowest digit that is not 0 is its parent.
Place in_knomial_tree(const CollectiveCall& c) {
  const std::uint32_t relative = c.relative();
  Place place{relative == 0, 0, {}};
  std::uint64_t digit = 1;
  for (; digit < c.ranks; digit *= kRadix) {
    if (relative % (digit * kRadix) == 0) continue;
    place.parent = c.absolute(static_cast<std::uint32_t>(relative - relative % (digit * kRadix)));
    break;
  }
  for (digit /= kRadix; digit > 0; digit /= kRadix) {
    for (std::uint64_t times = 1; times < kRadix; ++times)
      if (relative + times * digit < c.ranks)
        place.children.push_back(c.absolute(static_cast<std::uint32_t>(relative + times * digit)));
  }
  return place;
}

// A rank without its lowest bit is its parent.
Place in_lowest_bit_tree(const CollectiveCall& c) {
  const std::uint32_t relative = c.relative(), bit = c.lowest_bit();
  Place place{relative == 0, c.absolute(relative - (relative == 0 ? 0 : bit)), {}};
  for (std::uint32_t mask = 1; mask < bit && relative + mask < c.ranks; mask *= 2)
    place.children.push_back(c.absolute(relative + mask));
  return place;
}

// A tree of coll/libnbc: from rank 0, with which the root has changed places.
Place from_rank_0(Place (*tree)(const CollectiveCall&), const CollectiveCall& c) {
  const auto swapped = [&c](std::uint32_t rank) { return rank == 0 ? c.root : rank == c.root ? 0 : rank; };
  CollectiveCall there = c;
  there.root = 0;
  there.me = swapped(c.me);
  Place place = tree(there);
  place.parent = swapped(place.parent);
  for (std::uint32_t& child : place.children) child = swapped(child);
  return place;
}

// The last of consecutive ranks is the parent of the two halves of the others, the upper one first.
Place in_ordered_tree(const CollectiveCall& c) {
  std::uint32_t first = 0, count = c.ranks;
  Place place;
  while (c.me != first + count - 1) {
    const std::uint32_t own = first + count - 1, lower = count / 2;
    place.is_root = false;
    place.parent = own;
    // Of two ranks the other one is the upper half.
    if (count > 2 && c.me < first + lower) {
      count = lower;
    } else {
      if (count > 2) first += lower;
      count = own - first;
    }
  }
  if (count >= 2) place.children.push_back(first + count - 2);
  if (count > 2) place.children.push_back(first + count / 2 - 1);
  return place;
}

void spread(const Place& place, std::uint64_t bytes, Schedule& out) {
  if (!place.is_root) out.receive_alone(place.parent);
  for (const std::uint32_t child : place.children) out.send(child, bytes);
  out.stage();
}

void collect(const Place& place, std::uint64_t bytes, Schedule& out) {
  for (const std::uint32_t child : place.children) out.receive(child);
  out.stage();
  if (!place.is_root) out.send_alone(place.parent, bytes);
}

void barrier_tree(const CollectiveCall& c, Schedule& out) {
  const std::uint32_t end = std::bit_ceil(c.ranks);
  const auto partner = [&c](std::uint32_t jump) {
    const std::uint32_t other = c.me ^ jump;
    return (other & (jump - 1)) == 0 && other < c.ranks ? other : c.me;
  };
  for (std::uint32_t jump = 1; jump < end; jump *= 2) {
    if (partner(jump) > c.me) out.receive_alone(partner(jump));
    if (partner(jump) < c.me) out.send_alone(partner(jump), 0);
  }
  for (std::uint32_t jump = end / 2; jump > 0; jump /= 2) {
    if (partner(jump) > c.me) out.send_alone(partner(jump), 0);
    if (partner(jump) < c.me) out.receive_alone(partner(jump));
  }
}

void bcast_chain(const CollectiveCall& c, Schedule& out) {
  if (c.relative() != 0) out.receive_alone(c.before(1));
  if (c.relative() + 1 < c.ranks) out.send_alone(c.after(1), c.bytes);
}

void bcast_knomial(const CollectiveCall& c, Schedule& out) { spread(in_knomial_tree(c), c.bytes, out); }

void bcast_open_mpi_binary(const CollectiveCall& c, Schedule& out) { spread(in_binary_tree(c), c.bytes, out); }

void bcast_open_mpi_binomial(const CollectiveCall& c, Schedule& out) { spread(in_binomial_tree(c), c.bytes, out); }

void bcast_libnbc_binomial(const CollectiveCall& c, Schedule& out) {
  spread(from_rank_0(in_binomial_tree, c), c.bytes, out);
}

// Each half of the vector goes down one side of the binary tree, whose odd places, counted from the root, are left;
// then neighbours exchange halves, and the root gives the right one to a last rank that has no neighbour.
void bcast_split_binary(const CollectiveCall& c, Schedule& out) {
  if (c.elements() < 2 || c.ranks < 3) return bcast_chain(c, out);
  const std::uint64_t width = std::max<std::uint64_t>(c.element_bytes, 1);
  const std::uint64_t left = (c.elements() + 1) / 2 * width, right = c.bytes - left;
  const Place place = in_binary_tree(c);
  const std::uint32_t relative = c.relative();
  const bool is_left = relative % 2 == 1;
  const std::uint64_t own = is_left ? left : right;
  if (!place.is_root) out.receive_alone(place.parent);
  for (std::size_t i = 0; i < place.children.size(); ++i)
    out.send_alone(place.children[i], place.is_root ? (i == 0 ? left : right) : own);
  const bool last_alone = c.ranks % 2 == 0;
  if (place.is_root) {
    if (last_alone) out.send_alone(c.before(1), right);
  } else if (last_alone && relative == c.ranks - 1) {
    out.receive_alone(c.root);
  } else {
    const std::uint32_t neighbour = is_left ? c.after(1) : c.before(1);
    out.exchange(neighbour, own, neighbour);
  }
}

// Pieces of as many whole elements go to the ranks along a binomial tree, and all get all by recursive doubling. Where
// a rank has no partner, one of those that have the partner's pieces already gives them on, by halves of the ranks.
void bcast_open_mpi_scatter_doubling(const CollectiveCall& c, Schedule& out) {
  const std::uint64_t width = std::max<std::uint64_t>(c.element_bytes, 1);
  const std::uint64_t each = (c.elements() + c.ranks - 1) / c.ranks * width;
  const auto pieces = [&c, each](std::uint64_t first, std::uint64_t count) {
    return std::min(c.bytes, (first + count) * each) - std::min(c.bytes, first * each);
  };
  const std::uint32_t own = c.relative(), bit = c.lowest_bit();
  if (own != 0 && pieces(own, bit) > 0) out.receive_alone(c.absolute(own - bit));
  for (std::uint32_t mask = bit / 2; mask > 0; mask /= 2)
    if (own + mask < c.ranks && pieces(own + mask, mask) > 0)
      out.send_alone(c.absolute(own + mask), pieces(own + mask, mask));
  for (std::uint32_t mask = 1; mask < c.ranks; mask *= 2) {
    const std::uint32_t first = own & ~(mask - 1), partner = own ^ mask;
    if (partner < c.ranks) out.exchange(c.absolute(partner), pieces(first, mask), c.absolute(partner));
    if ((own & mask) != 0 || first + mask >= c.ranks) continue;
    const std::uint32_t have = c.ranks - first - mask;  // so many of the lower ranks have had partners
    for (std::uint32_t half = mask / 2; half > 0; half /= 2) {
      const std::uint32_t other = own ^ half, end = (own & ~(2 * half - 1)) + have;
      if (own < end && other >= end) out.send_alone(c.absolute(other), pieces(first + mask, mask));
      if (other < end && own >= end) out.receive_alone(c.absolute(other));
    }
  }
}

void reduce_chain(const CollectiveCall& c, Schedule& out) {
  if (c.relative() + 1 < c.ranks) out.receive_alone(c.after(1));
  if (c.relative() != 0) out.send_alone(c.before(1), c.bytes);
}

void reduce_open_mpi_binomial(const CollectiveCall& c, Schedule& out) { collect(in_lowest_bit_tree(c), c.bytes, out); }

void reduce_open_mpi_binary(const CollectiveCall& c, Schedule& out) { collect(in_binary_tree(c), c.bytes, out); }

// A child's vector is added before the next one's is received.
void reduce_libnbc_binomial(const CollectiveCall& call, Schedule& out) {
  CollectiveCall c = call;
  if (!c.commutative) c.root = 0;
  const Place place = from_rank_0(in_lowest_bit_tree, c);
  for (const std::uint32_t child : place.children) out.receive_alone(child);
  if (!place.is_root) out.send_alone(place.parent, c.bytes);
  if (call.root == c.root) return;
  if (c.me == c.root) out.send_alone(call.root, c.bytes);
  if (c.me == call.root) out.receive_alone(c.root);
}

// In pieces of 8 KiB or less, one after the other, of which the last one has what is left.
void reduce_libnbc_chain(const CollectiveCall& c, Schedule& out) {
  constexpr std::uint64_t kPiece = 8192;
  const std::uint64_t pieces = std::max<std::uint64_t>((c.bytes + kPiece - 1) / kPiece, 1),
                      each = c.elements() / pieces;
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const std::uint64_t elements = i + 1 < pieces ? each : c.elements() - i * each;
    if (c.relative() + 1 < c.ranks) out.receive_alone(c.after(1));
    if (c.relative() != 0) out.send_alone(c.before(1), elements * std::max<std::uint64_t>(c.element_bytes, 1));
  }
}

void reduce_in_order_binary(const CollectiveCall& c, Schedule& out) {
  collect(in_ordered_tree(c), c.bytes, out);
  const std::uint32_t last = c.ranks - 1;
  if (c.root == last) return;
  if (c.me == last) out.send_alone(c.root, c.bytes);
  if (c.me == c.root) out.receive_alone(last);
}

}  // namespace

namespace collectives {

std::vector<CollectiveAlgorithm> open_mpi_trees() {
  return {
      {.collective = "barrier",
       .name = "tree",
       .help = "up and down a tree of the bits of ranks",
       .plan = barrier_tree},
      {.collective = "bcast",
       .name = "chain",
       .help = "from each rank to the next",
       .plan = bcast_chain,
       .for_programs = true},
      {.collective = "bcast",
       .name = "knomial",
       .help = "a tree of radix 4",
       .plan = bcast_knomial,
       .for_programs = true},
      {.collective = "bcast",
       .name = "split-binary",
       .help = "halves down both sides of a binary tree, exchanged at the end",
       .plan = bcast_split_binary},
      {.collective = "bcast",
       .name = "open-mpi-binary",
       .help = "a binary tree, to both children at once",
       .plan = bcast_open_mpi_binary,
       .for_programs = true},
      {.collective = "bcast",
       .name = "open-mpi-binomial",
       .help = "a binomial tree, to all children at once",
       .plan = bcast_open_mpi_binomial,
       .for_programs = true},
      {.collective = "bcast",
       .name = "libnbc-binomial",
       .help = "the same, from rank 0, with which the root changes places",
       .plan = bcast_libnbc_binomial},
      {.collective = "bcast",
       .name = "open-mpi-scatter-doubling",
       .help = "a scatter along a binomial tree, and recursive doubling of any number of ranks",
       .plan = bcast_open_mpi_scatter_doubling},
      {.collective = "reduce", .name = "chain", .help = "from each rank to the one before", .plan = reduce_chain},
      {.collective = "reduce",
       .name = "in-order-binary",
       .help = "a binary tree that keeps the order of ranks",
       .plan = reduce_in_order_binary},
      {.collective = "reduce",
       .name = "open-mpi-binary",
       .help = "a binary tree, from both children at once",
       .plan = reduce_open_mpi_binary},
      {.collective = "reduce",
       .name = "open-mpi-binomial",
       .help = "a binomial tree, from all children at once",
       .plan = reduce_open_mpi_binomial},
      {.collective = "reduce",
       .name = "libnbc-binomial",
       .help = "a binomial tree to rank 0, with which the root changes places",
       .plan = reduce_libnbc_binomial},
      {.collective = "reduce",
       .name = "libnbc-chain",
       .help = "from each rank to the one before, in pieces of 8 KiB",
       .plan = reduce_libnbc_chain},
  };
}

}  // namespace collectives

}  // namespace exanet
