// SPDX-License-Identifier: Apache-2.0
// Broadcasts of long messages: a scatter of pieces along a binomial tree, and an allgather of them.
//
// Problem: along a tree the whole message passes each link of it in turn. Model: the root's pieces go down a binomial
// tree, one for each rank, and then all ranks exchange them, by recursive doubling or round a ring, so that each rank
// sends about twice the message. Limits: doubling takes a power of two of ranks, and is the ring elsewhere; where MPICH
// sends the pieces at once, a first child gets what is behind its place as MPICH's runs show it.
//
// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH" (2005),
// section 5.
#include <algorithm>
#include <bit>

#include "core/collectives/algorithm.hpp"

namespace exanet {

namespace {

// The pieces of a broadcast by scatter: as many as ranks, the last ones shorter or empty.
struct Pieces {
  explicit Pieces(const CollectiveCall& c) : bytes(c.bytes), each((c.bytes + c.ranks - 1) / c.ranks) {}
  std::uint64_t from(std::uint64_t first, std::uint64_t count) const {
    return std::min(bytes, (first + count) * each) - std::min(bytes, first * each);
  }
  std::uint64_t bytes, each;
};

// How a rank sends to its children: each message behind the one before, or all at once, together with what follows.
using SendTo = void (Schedule::*)(std::uint32_t to, std::uint64_t bytes);
constexpr SendTo kSendInTurn = &Schedule::send_alone, kSendTogether = &Schedule::send;

void scatter_pieces(const CollectiveCall& c, const Pieces& pieces, SendTo send_to, Schedule& out) {
  const std::uint32_t relative = c.relative(), bit = c.lowest_bit();
  if (relative != 0 && pieces.from(relative, bit) > 0) out.receive_alone(c.absolute(relative - bit));
  std::uint64_t left = pieces.from(relative, c.ranks);
  for (std::uint32_t mask = bit / 2; mask > 0; mask /= 2) {
    if (relative + mask >= c.ranks) continue;
    std::uint64_t bytes = pieces.from(relative + mask, std::min(mask, c.ranks - relative - mask));
    // Seen in runs: all behind its place goes to a rank's first child, also what the rank itself has not got.
    if (send_to == kSendTogether) bytes = left - std::min(left, mask * pieces.each), left -= bytes;
    if (bytes > 0) (out.*send_to)(c.absolute(relative + mask), bytes);
  }
}

void scatter_and_double(const CollectiveCall& c, SendTo send_to, Schedule& out) {
  const Pieces pieces(c);
  scatter_pieces(c, pieces, send_to, out);
  const std::uint32_t relative = c.relative();
  for (std::uint32_t mask = 1; mask < c.ranks; mask *= 2) {
    const std::uint32_t partner = c.absolute(relative ^ mask);
    out.exchange(partner, pieces.from(relative & ~(mask - 1), mask), partner);
  }
}

void scatter_and_go_round(const CollectiveCall& c, SendTo send_to, Schedule& out) {
  const Pieces pieces(c);
  scatter_pieces(c, pieces, send_to, out);
  for (std::uint32_t step = 0; step + 1 < c.ranks; ++step) {
    const std::uint32_t piece = (c.relative() + c.ranks - step) % c.ranks;
    out.exchange(c.after(1), pieces.from(piece, 1), c.before(1));
  }
}

template <SendTo kSendTo>
void scatter_ring(const CollectiveCall& c, Schedule& out) {
  scatter_and_go_round(c, kSendTo, out);
}

template <SendTo kSendTo>
void scatter_doubling(const CollectiveCall& c, Schedule& out) {
  if (!std::has_single_bit(c.ranks)) return scatter_ring<kSendTo>(c, out);
  scatter_and_double(c, kSendTo, out);
}

}  // namespace

namespace collectives {

std::vector<CollectiveAlgorithm> scatter_broadcasts() {
  return {
      {.collective = "bcast",
       .name = "scatter-doubling",
       .help = "a scatter along a binomial tree, and an allgather by recursive doubling",
       .plan = scatter_doubling<kSendInTurn>},
      {.collective = "bcast",
       .name = "scatter-ring",
       .help = "a scatter along a binomial tree, and an allgather round a ring",
       .plan = scatter_ring<kSendInTurn>},
      {.collective = "bcast",
       .name = "scatter-doubling-at-once",
       .help = "the same as scatter-doubling, its ranks sending to all of their children at once",
       .plan = scatter_doubling<kSendTogether>},
      {.collective = "bcast",
       .name = "scatter-ring-at-once",
       .help = "the same as scatter-ring, its ranks sending to all of their children at once",
       .plan = scatter_ring<kSendTogether>},
  };
}

}  // namespace collectives

}  // namespace exanet
