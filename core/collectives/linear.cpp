// SPDX-License-Identifier: Apache-2.0
// No tree: the root, or each rank, deals with every other one itself, in turn or with all at once.
//
// Problem: trees hand the same data on several times, and have to be known. Model: the root sends to each rank, or
// receives from each. Limits: the root's messages, and its memory, grow with the number of ranks; what of it is in turn
// and what at once is as Open MPI has it.
//
// Source: what coll/base, coll/basic and coll/libnbc of Open MPI 4.1.4 do, read from their sources, and MPICH for
// MPI_Gatherv and MPI_Scatterv.
#include "core/collectives/algorithm.hpp"

namespace exanet {

namespace {

void barrier_linear(const CollectiveCall& c, Schedule& out) {
  if (c.me != 0) {
    out.send_alone(0, 0);
    return out.receive_alone(0);
  }
  for (std::uint32_t rank = 1; rank < c.ranks; ++rank) out.receive(rank);
  out.stage();
  for (std::uint32_t rank = 1; rank < c.ranks; ++rank) out.send_alone(rank, 0);
}

void bcast_linear(const CollectiveCall& c, Schedule& out) {
  if (c.me != c.root) return out.receive_alone(c.root);
  for (std::uint32_t rank = 0; rank < c.ranks; ++rank)
    if (rank != c.me) out.send(rank, c.bytes);
  out.stage();
}

// From the last rank to the first.
void reduce_linear(const CollectiveCall& c, Schedule& out) {
  if (c.me != c.root) return out.send_alone(c.root, c.bytes);
  for (std::uint32_t rank = c.ranks; rank-- > 0;)
    if (rank != c.me) out.receive_alone(rank);
}

void allreduce_linear(const CollectiveCall& c, Schedule& out) {
  CollectiveCall to_first = c;
  to_first.root = 0;
  reduce_linear(to_first, out);
  bcast_linear(to_first, out);
}

// The root goes on as each message comes, or begins all at once.
void gather_from_each(const CollectiveCall& c, Schedule& out) {
  if (c.me != c.root) return out.send_alone(c.root, c.bytes);
  for (std::uint32_t rank = 0; rank < c.ranks; ++rank)
    if (rank != c.me) out.receive_alone(rank);
}

void gather_at_once(const CollectiveCall& c, Schedule& out) {
  if (c.me != c.root) return out.send_alone(c.root, c.bytes);
  for (std::uint32_t rank = 0; rank < c.ranks; ++rank)
    if (rank != c.me) out.receive(rank);
  out.stage();
}

// The root asks each rank in turn; a second message, of a second segment, has nothing in it.
void gather_on_demand(const CollectiveCall& c, Schedule& out) {
  if (c.me != c.root) {
    out.receive_alone(c.root);
    out.send_alone(c.root, c.bytes);
    return out.send_alone(c.root, 0);
  }
  for (std::uint32_t rank = 0; rank < c.ranks; ++rank)
    if (rank != c.me) out.exchange(rank, 0, rank);
  for (std::uint32_t rank = 0; rank < c.ranks; ++rank)
    if (rank != c.me) out.receive(rank);
  out.stage();
}

void gather_linear(const CollectiveCall& c, Schedule& out) {
  if (c.me != c.root) {
    if (c.bytes > 0) out.send_alone(c.root, c.bytes);
    return;
  }
  for (std::uint32_t rank = 0; rank < c.received.size(); ++rank)
    if (rank != c.me && c.received[rank] > 0) out.receive(rank);
  out.stage();
}

void scatter_to_each(const CollectiveCall& c, Schedule& out) {
  if (c.me != c.root) return out.receive_alone(c.root);
  for (std::uint32_t rank = 0; rank < c.ranks; ++rank)
    if (rank != c.me) out.send_alone(rank, c.bytes);
}

void scatter_linear(const CollectiveCall& c, Schedule& out) {
  if (c.me != c.root) {
    if (c.bytes > 0) out.receive_alone(c.root);
    return;
  }
  for (std::uint32_t rank = 0; rank < c.sent.size(); ++rank)
    if (rank != c.me && c.sent[rank] > 0) out.send(rank, c.sent[rank]);
  out.stage();
}

void scan_linear(const CollectiveCall& c, Schedule& out) {
  if (c.me > 0) out.receive_alone(c.me - 1);
  if (c.me + 1 < c.ranks) out.send_alone(c.me + 1, c.bytes);
}

void allgather_linear(const CollectiveCall& c, Schedule& out) {
  for (std::uint32_t rank = 0; rank < c.ranks; ++rank)
    if (rank != c.me) out.receive(rank);
  for (std::uint32_t rank = 0; rank < c.ranks; ++rank)
    if (rank != c.me) out.send(rank, c.block_of(c.me));
  out.stage();
}

// Blocks of one size are received from the next rank on, and sent to the one before on; those of several in the order
// of ranks, also empty ones.
void alltoall_linear(const CollectiveCall& c, Schedule& out) {
  const bool one_size = c.sent.empty() && c.received.empty();
  for (std::uint32_t i = 0; i < c.ranks; ++i)
    if (const std::uint32_t from = one_size ? c.after(i) : i; from != c.me) out.receive(from);
  for (std::uint32_t i = 0; i < c.ranks; ++i)
    if (const std::uint32_t to = one_size ? c.before(i) : i; to != c.me) out.send(to, c.given_to(to));
  out.stage();
}

// In the order of ranks, of whatever sizes.
void alltoall_libnbc_linear(const CollectiveCall& c, Schedule& out) {
  for (std::uint32_t rank = 0; rank < c.ranks; ++rank) {
    if (rank == c.me) continue;
    out.receive(rank);
    out.send(rank, c.given_to(rank));
  }
  out.stage();
}

}  // namespace

namespace collectives {

std::vector<CollectiveAlgorithm> linear() {
  return {
      {.collective = "barrier",
       .name = "linear",
       .help = "rank 0 hears from all, and answers one after the other",
       .plan = barrier_linear},
      {.collective = "bcast",
       .name = "linear",
       .help = "the root sends to all at once",
       .plan = bcast_linear,
       .for_programs = true},
      {.collective = "reduce",
       .name = "linear",
       .help = "the root receives from one after the other, the last rank first",
       .plan = reduce_linear},
      {.collective = "allreduce",
       .name = "linear",
       .help = "a linear reduction to rank 0, and a linear broadcast",
       .plan = allreduce_linear},
      {.collective = "gather",
       .name = "linear",
       .help = "the root receives from one after the other",
       .plan = gather_from_each},
      {.collective = "gather",
       .name = "linear-at-once",
       .help = "the root receives from all at once",
       .plan = gather_at_once},
      {.collective = "gather",
       .name = "linear-sync",
       .help = "the root asks each rank in turn",
       .plan = gather_on_demand},
      {.collective = "gatherv", .name = "linear", .help = "the root receives from all at once", .plan = gather_linear},
      {.collective = "scatter",
       .name = "linear",
       .help = "the root sends to one after the other",
       .plan = scatter_to_each},
      {.collective = "scatter",
       .name = "linear-at-once",
       .help = "the root sends to all at once",
       .plan = bcast_linear},
      {.collective = "scatterv", .name = "linear", .help = "the root sends to all at once", .plan = scatter_linear},
      {.collective = "scan", .name = "linear", .help = "from each rank to the next", .plan = scan_linear},
      {.collective = "allgather", .name = "linear", .help = "each to all at once", .plan = allgather_linear},
      {.collective = "allgatherv", .name = "linear", .help = "each to all at once", .plan = allgather_linear},
      {.collective = "alltoall",
       .name = "linear",
       .help = "all at once, the rank before first",
       .plan = alltoall_linear},
      {.collective = "alltoall",
       .name = "libnbc-linear",
       .help = "all at once, in the order of ranks",
       .plan = alltoall_libnbc_linear},
      {.collective = "alltoallv",
       .name = "linear",
       .help = "all at once, in the order of ranks",
       .plan = alltoall_linear},
  };
}

}  // namespace collectives

}  // namespace exanet
