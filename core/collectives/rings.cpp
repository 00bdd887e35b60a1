// SPDX-License-Identifier: Apache-2.0
// Rings: each rank sends to the next one what it has got, or reduced, last.
//
// Problem: long vectors are to pass each link as few times as can be. Model: a vector is cut into a block for each
// rank; a block is reduced on its way round, and goes round once more. Blocks of an allgather go round once, as they
// are. Limits: blocks are whole elements, the first ones longer by one where ranks do not divide them, or all of one
// size, rounded up; blocks of an allgather of several sizes go on in pieces, as a setting of MPICH says
// (MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE).
//
// Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations" (2009); Thakur,
// Rabenseifner and Gropp (2005) for the allgather.
#include <algorithm>
#include <numeric>

#include "core/collectives/algorithm.hpp"

namespace exanet {

namespace {

constexpr std::uint64_t kRingPiece = 32768;  // MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE

std::uint64_t ring_block(const CollectiveCall& c, std::uint32_t rank) {
  if (c.equal_parts) return (c.bytes + c.ranks - 1) / c.ranks;
  const std::uint64_t elements = c.elements();
  return (elements / c.ranks + (rank < elements % c.ranks)) * std::max<std::uint64_t>(c.element_bytes, 1);
}

std::uint32_t ring_allreduce_rounds(const CollectiveCall& c) { return 2 * (c.ranks - 1); }

void allreduce_ring(const CollectiveCall& c, std::uint32_t round, Schedule& out) {
  out.exchange(c.after(1), ring_block(c, c.before(round)), c.before(1));
}

std::uint32_t ring_allgather_rounds(const CollectiveCall& c) { return c.ranks - 1; }

void allgather_ring(const CollectiveCall& c, std::uint32_t, Schedule& out) {
  out.exchange(c.after(1), c.bytes, c.before(1));
}

void allgatherv_ring_in_pieces(const CollectiveCall& c, Schedule& out) {
  const std::uint64_t whole = std::accumulate(c.received.begin(), c.received.end(), std::uint64_t{0});
  std::uint64_t to_send = whole - c.received[c.after(1)], to_receive = whole - c.received[c.me];
  std::uint32_t sends = c.me, receives = c.before(1);
  std::uint64_t sent = 0, received = 0;
  while (to_send > 0 || to_receive > 0) {
    const std::uint64_t given = std::min({c.received[sends] - sent, kRingPiece, to_send});
    const std::uint64_t taken = std::min({c.received[receives] - received, kRingPiece, to_receive});
    if (taken > 0) out.receive(c.before(1));
    if (given > 0) out.send(c.after(1), given);
    out.stage();
    to_send -= given, to_receive -= taken;
    sent += given, received += taken;
    if (sent == c.received[sends]) sent = 0, sends = (sends + c.ranks - 1) % c.ranks;
    if (received == c.received[receives]) received = 0, receives = (receives + c.ranks - 1) % c.ranks;
  }
}

void allgatherv_ring(const CollectiveCall& c, Schedule& out) {
  if (!c.received.empty()) return allgatherv_ring_in_pieces(c, out);
  for (std::uint32_t round = 0; round < ring_allgather_rounds(c); ++round) allgather_ring(c, round, out);
}

}  // namespace

namespace collectives {

std::vector<CollectiveAlgorithm> rings() {
  return {
      {.collective = "allreduce",
       .name = "ring",
       .help = "allreduce round a ring; `bytes` is the vector",
       .rounds = {ring_allreduce_rounds, allreduce_ring},
       .job = "allreduce-ring"},
      {.collective = "allgather",
       .name = "ring",
       .help = "each rank's block of `bytes` to all, round a ring",
       .rounds = {ring_allgather_rounds, allgather_ring},
       .job = "allgather-ring"},
      {.collective = "allgatherv", .name = "ring", .help = "round a ring, in pieces", .plan = allgatherv_ring},
  };
}

}  // namespace collectives

}  // namespace exanet
