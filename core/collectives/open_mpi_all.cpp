// SPDX-License-Identifier: Apache-2.0
// Collectives of Open MPI in which all ranks get something: compositions by its own rules, and halving its way.
//
// Problem: a replay is to send what Open MPI sends. Model: where it makes a collective of others, those are planned by
// its selection rules or by name; its halving joins ranks beyond a power of two by halves. Limits: where Open MPI posts
// a receive one step ahead, it is posted with its own step here (the ring).
//
// Source: what coll/base, coll/tuned and coll/libnbc of Open MPI 4.1.4 do, read from their sources.
#include <algorithm>
#include <bit>
#include <vector>

#include "core/collectives/registry.hpp"
#include "core/collectives/selection.hpp"

namespace exanet {

namespace {

// The same vector with rank 0 as the root.
CollectiveCall rooted(const CollectiveCall& c, std::uint64_t bytes) {
  CollectiveCall made = c;
  made.root = 0;
  made.bytes = bytes;
  made.sent.clear();
  made.received.clear();
  return made;
}

void by_rules(Collective collective, const CollectiveCall& c, Schedule& out) {
  plan_collective({collective}, c, {}, selection_rules("open-mpi"), out);
}

// Ranks beyond a power of two join the even one before them by halves; then what a rank keeps is halved with each
// partner.
struct Halved {
  Halved(const CollectiveCall& c, Schedule& out) : size(std::bit_floor(c.ranks)), rest(c.ranks - size) {
    const std::uint64_t width = std::max<std::uint64_t>(c.element_bytes, 1), left = c.elements() / 2 * width;
    const bool paired = c.me < 2 * rest;
    takes_part = !paired || c.me % 2 == 0;
    if (!takes_part) {
      out.exchange(c.me - 1, left, c.me - 1);
      out.send_alone(c.me - 1, c.bytes - left);
      return;
    }
    if (paired) {
      out.exchange(c.me + 1, c.bytes - left, c.me + 1);
      out.receive_alone(c.me + 1);
    }
    number = paired ? c.me / 2 : c.me - rest;
    std::uint64_t window = c.elements();
    for (std::uint32_t mask = 1; mask < size; mask *= 2) {
      const std::uint32_t partner = rank(number ^ mask);
      const std::uint64_t keeps = c.me < partner ? window / 2 : window - window / 2;
      out.exchange(partner, (window - keeps) * width, partner);
      window = keeps;
      kept.push_back(window * width);
    }
  }
  std::uint32_t rank(std::uint32_t n) const { return n < rest ? 2 * n : n + rest; }

  std::uint32_t size, rest, number = 0;
  bool takes_part = true;
  std::vector<std::uint64_t> kept;  // bytes, after each step
};

// Ranks beyond a power of two join a lower one. A last message is synchronous: it is answered by an empty one.
void barrier_doubling(const CollectiveCall& c, Schedule& out) {
  const std::uint32_t size = std::bit_floor(c.ranks), rest = c.ranks - size;
  if (c.me >= size) {
    out.exchange(c.me - size, 0, c.me - size);
    return out.send_alone(c.me - size, 0);
  }
  if (c.me < rest) out.receive_alone(c.me + size);
  for (std::uint32_t mask = 1; mask < size; mask *= 2) out.exchange(c.me ^ mask, 0, c.me ^ mask);
  if (c.me < rest) out.exchange(c.me + size, 0, c.me + size);
}

void allreduce_reduce_bcast(const CollectiveCall& c, Schedule& out) {
  const CollectiveCall to_first = rooted(c, c.bytes);
  by_rules(Collective::reduce, to_first, out);
  by_rules(Collective::bcast, to_first, out);
}

void allreduce_open_mpi_tree(const CollectiveCall& c, Schedule& out) {
  const CollectiveCall to_first = rooted(c, c.bytes);
  plan_algorithm("reduce", "binomial", to_first, out);
  plan_algorithm("bcast", "open-mpi-binomial", to_first, out);
}

void allreduce_open_mpi_rabenseifner(const CollectiveCall& c, Schedule& out) {
  Halved h(c, out);
  if (!h.takes_part) return out.receive_alone(c.me - 1);
  for (std::uint32_t mask = h.size / 2; mask > 0; mask /= 2) {
    out.exchange(h.rank(h.number ^ mask), h.kept.back(), h.rank(h.number ^ mask));
    h.kept.pop_back();
  }
  if (c.me < 2 * h.rest) out.send_alone(c.me + 1, c.bytes);
}

// A root that takes no part in the halving then takes the place of the first rank.
void reduce_open_mpi_rabenseifner(const CollectiveCall& c, Schedule& out) {
  Halved h(c, out);
  const bool outside = c.root < 2 * h.rest && c.root % 2 == 1;
  const std::uint32_t root = outside ? 0 : c.root < 2 * h.rest ? c.root / 2 : c.root - h.rest;
  if (outside && c.me == 0) return out.send_alone(c.root, h.kept.back());
  if (outside && c.me == c.root) out.receive_alone(0);
  if (!h.takes_part && c.me != c.root) return;
  for (std::uint32_t mask = h.size / 2; mask > 0; mask /= 2) {
    const std::uint32_t partner = h.number ^ mask, peer = outside && partner == 0 ? c.root : h.rank(partner);
    if (partner / mask == root / mask) return out.send_alone(peer, h.kept.back());
    out.receive_alone(peer);
    if (!h.kept.empty()) h.kept.pop_back();
  }
}

void reduce_scatter_ring(const CollectiveCall& c, Schedule& out) {
  for (std::uint32_t step = 1; step < c.ranks; ++step)
    out.exchange(c.after(1), c.received[c.before(step)], c.before(1));
}

void reduce_scatterv_by_root(const CollectiveCall& c, Schedule& out) {
  by_rules(Collective::reduce, rooted(c, c.in_all()), out);
  CollectiveCall blocks = rooted(c, c.received[c.me]);
  if (c.me == 0) blocks.sent = c.received;
  plan_algorithm("scatterv", "linear", blocks, out);
}

// Reduces to rank 0, which gives each its block: by the rules of MPI_Scatter, or, if they differ, to one after the
// other.
void reduce_scatter_by_root(const CollectiveCall& c, Schedule& out) {
  const auto same = [&c](std::uint64_t bytes) { return bytes == c.received[0]; };
  if (!std::all_of(c.received.begin(), c.received.end(), same)) return reduce_scatterv_by_root(c, out);
  by_rules(Collective::reduce, rooted(c, c.in_all()), out);
  by_rules(Collective::scatter, rooted(c, c.received[c.me]), out);
}

void reduce_scatter_libnbc(const CollectiveCall& c, Schedule& out) {
  plan_algorithm("reduce", "libnbc-binomial", rooted(c, c.in_all()), out);
  CollectiveCall blocks = rooted(c, c.received[c.me]);
  if (c.me == 0) blocks.sent = c.received;
  plan_algorithm("scatterv", "linear", blocks, out);
}

void allgather_whole_blocks(const CollectiveCall& c, Schedule& out) {
  for (std::uint32_t step = 0; step + 1 < c.ranks; ++step)
    out.exchange(c.after(1), c.block_of(c.before(step)), c.before(1));
}

// Pairs exchange their blocks, and then hand on the two that came last, to the neighbours on both sides in turn.
void allgather_neighbours(const CollectiveCall& c, Schedule& out) {
  if (c.ranks % 2 == 1) return allgather_whole_blocks(c, out);
  const bool even = c.me % 2 == 0;
  const std::uint32_t neighbour[2] = {even ? c.after(1) : c.before(1), even ? c.before(1) : c.after(1)};
  out.exchange(neighbour[0], c.block_of(c.me), neighbour[0]);
  std::uint32_t held = even ? c.me : c.me - 1;  // the first of the two blocks that go on
  std::uint32_t from[2] = {held, held};
  for (std::uint32_t step = 1; step < c.ranks / 2; ++step) {
    const std::uint32_t side = step % 2;
    out.exchange(neighbour[side], c.block_of(held) + c.block_of((held + 1) % c.ranks), neighbour[side]);
    from[side] = (from[side] + (even == (side == 0) ? 2 : c.ranks - 2)) % c.ranks;
    held = from[side];
  }
}

// All blocks go to rank 0, one after the other, which broadcasts them as one element.
void allgather_by_root(const CollectiveCall& c, Schedule& out) {
  CollectiveCall own = c;
  own.root = 0;
  own.bytes = c.received[c.me];
  plan_algorithm("gatherv", "linear", own, out);
  CollectiveCall whole = rooted(c, c.in_all());
  whole.element_bytes = whole.bytes;
  by_rules(Collective::bcast, whole, out);
}

// With the two ranks at a distance, the one below first; what is empty is left out.
void alltoall_open_mpi_in_place(const CollectiveCall& c, Schedule& out) {
  for (std::uint32_t distance = 1; distance <= c.ranks / 2; ++distance) {
    const std::uint32_t above = c.after(distance), below = c.before(distance);
    if (c.block_of(above) > 0) out.receive(above);
    if (above != below && c.block_of(below) > 0) {
      out.send(below, c.block_of(below));
      out.stage();
      out.receive(below);
    }
    if (c.block_of(above) > 0) out.send(above, c.block_of(above));
    out.stage();
  }
}

}  // namespace

namespace collectives {

std::vector<CollectiveAlgorithm> open_mpi_all() {
  return {
      {.collective = "barrier",
       .name = "recursive-doubling",
       .help = "empty messages with partners at doubling distances",
       .plan = barrier_doubling},
      {.collective = "allreduce",
       .name = "reduce-bcast",
       .help = "a reduction to rank 0 and a broadcast, by the rules of Open MPI",
       .plan = allreduce_reduce_bcast},
      {.collective = "allreduce",
       .name = "open-mpi-tree",
       .help = "a reduction along a binomial tree, and a broadcast to all children at once",
       .plan = allreduce_open_mpi_tree},
      {.collective = "allreduce",
       .name = "open-mpi-rabenseifner",
       .help = "halving and doubling, ranks beyond a power of two joining by halves",
       .plan = allreduce_open_mpi_rabenseifner},
      {.collective = "reduce",
       .name = "open-mpi-rabenseifner",
       .help = "halving, and a gather of the parts along a tree",
       .plan = reduce_open_mpi_rabenseifner},
      {.collective = "reduce-scatter",
       .name = "ring",
       .help = "blocks reduced on their way round",
       .plan = reduce_scatter_ring},
      {.collective = "reduce-scatter",
       .name = "reduce-scatter",
       .help = "a reduction to rank 0, and a scatter, by the rules of Open MPI",
       .plan = reduce_scatter_by_root},
      {.collective = "reduce-scatter",
       .name = "reduce-scatterv",
       .help = "a reduction to rank 0, and a linear scatter",
       .plan = reduce_scatterv_by_root},
      {.collective = "reduce-scatter",
       .name = "libnbc-binomial",
       .help = "a reduction along a binomial tree, and a linear scatter",
       .plan = reduce_scatter_libnbc},
      {.collective = "allgather",
       .name = "neighbor-exchange",
       .help = "pairs of blocks to the neighbours on both sides in turn",
       .plan = allgather_neighbours},
      {.collective = "allgatherv",
       .name = "neighbor-exchange",
       .help = "pairs of blocks to the neighbours on both sides in turn",
       .plan = allgather_neighbours},
      {.collective = "allgatherv",
       .name = "gatherv-bcast",
       .help = "a gather to rank 0, and a broadcast by the rules of Open MPI",
       .plan = allgather_by_root},
      {.collective = "allgatherv",
       .name = "open-mpi-ring",
       .help = "round a ring, whole blocks",
       .plan = allgather_whole_blocks},
      {.collective = "alltoall",
       .name = "open-mpi-in-place",
       .help = "with the two ranks at a distance in turn",
       .plan = alltoall_open_mpi_in_place},
      {.collective = "alltoallv",
       .name = "open-mpi-in-place",
       .help = "with the two ranks at a distance in turn",
       .plan = alltoall_open_mpi_in_place},
  };
}

}  // namespace collectives

}  // namespace exanet
