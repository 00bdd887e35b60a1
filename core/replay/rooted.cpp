// SPDX-License-Identifier: Apache-2.0
#include "core/replay/rooted.hpp"

#include <algorithm>
#include <bit>

namespace exanet {

namespace {

// The bit at which a rank hangs on its parent in a binomial tree; of the root, the first one beyond all ranks.
std::uint32_t own_bit(const CollectiveCall& c) {
  const std::uint32_t relative = c.relative();
  return relative == 0 ? std::bit_ceil(c.ranks) : relative & ~(relative - 1);
}

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

void along_binomial_tree(const CollectiveCall& c, SendTo send_to, Schedule& out) {
  const std::uint32_t relative = c.relative(), bit = own_bit(c);
  if (relative != 0) out.receive_alone(c.absolute(relative - bit));
  for (std::uint32_t mask = bit / 2; mask > 0; mask /= 2)
    if (relative + mask < c.ranks) (out.*send_to)(c.absolute(relative + mask), c.bytes);
}

void scatter_pieces(const CollectiveCall& c, const Pieces& pieces, SendTo send_to, Schedule& out) {
  const std::uint32_t relative = c.relative(), bit = own_bit(c);
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

}  // namespace

// Rank i, counted from the root, sends to 2i + 1 and 2i + 2.
void bcast_binary(const CollectiveCall& c, Schedule& out) {
  const std::uint64_t relative = c.relative();
  if (relative != 0) out.receive_alone(c.absolute(static_cast<std::uint32_t>((relative - 1) / 2)));
  for (std::uint64_t child = 2 * relative + 1; child <= 2 * relative + 2 && child < c.ranks; ++child)
    out.send_alone(c.absolute(static_cast<std::uint32_t>(child)), c.bytes);
}

void bcast_binomial(const CollectiveCall& c, Schedule& out) { along_binomial_tree(c, kSendInTurn, out); }

void bcast_binomial_at_once(const CollectiveCall& c, Schedule& out) {
  along_binomial_tree(c, kSendTogether, out);
  out.stage();
}

void bcast_scatter_doubling(const CollectiveCall& c, Schedule& out) {
  if (!std::has_single_bit(c.ranks)) return bcast_scatter_ring(c, out);
  scatter_and_double(c, kSendInTurn, out);
}

void bcast_scatter_doubling_at_once(const CollectiveCall& c, Schedule& out) {
  if (!std::has_single_bit(c.ranks)) return bcast_scatter_ring_at_once(c, out);
  scatter_and_double(c, kSendTogether, out);
}

void bcast_scatter_ring(const CollectiveCall& c, Schedule& out) { scatter_and_go_round(c, kSendInTurn, out); }
void bcast_scatter_ring_at_once(const CollectiveCall& c, Schedule& out) { scatter_and_go_round(c, kSendTogether, out); }

void scatter_binomial(const CollectiveCall& c, Schedule& out) {
  const std::uint32_t relative = c.relative(), bit = own_bit(c);
  if (relative != 0) out.receive_alone(c.absolute(relative - bit));
  for (std::uint32_t mask = bit / 2; mask > 0; mask /= 2) {
    if (relative + mask < c.ranks)
      out.send_alone(c.absolute(relative + mask), c.bytes * std::min(mask, c.ranks - relative - mask));
  }
}

void gather_binomial(const CollectiveCall& c, Schedule& out) {
  const std::uint32_t relative = c.relative(), bit = own_bit(c);
  for (std::uint32_t mask = 1; mask < bit; mask *= 2)
    if (relative + mask < c.ranks) out.receive_alone(c.absolute(relative + mask));
  if (relative != 0) out.send_alone(c.absolute(relative - bit), c.bytes * std::min(bit, c.ranks - relative));
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

void gather_linear(const CollectiveCall& c, Schedule& out) {
  if (c.me != c.root) {
    if (c.bytes > 0) out.send_alone(c.root, c.bytes);
    return;
  }
  for (std::uint32_t rank = 0; rank < c.received.size(); ++rank)
    if (rank != c.me && c.received[rank] > 0) out.receive(rank);
  out.stage();
}

void reduce_binomial(const CollectiveCall& call, Schedule& out) {
  CollectiveCall c = call;
  if (!c.commutative) c.root = 0;  // in the order of ranks, and then to the root
  const std::uint32_t relative = c.relative(), bit = own_bit(c);
  for (std::uint32_t mask = 1; mask < bit; mask *= 2)
    if (relative + mask < c.ranks) out.receive_alone(c.absolute(relative + mask));
  if (relative != 0) out.send_alone(c.absolute(relative - bit), c.bytes);
  if (call.root == c.root) return;
  if (c.me == c.root) out.send_alone(call.root, c.bytes);
  if (c.me == call.root) out.receive_alone(c.root);
}

}  // namespace exanet
