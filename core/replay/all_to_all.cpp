// SPDX-License-Identifier: Apache-2.0
#include "core/replay/all_to_all.hpp"

#include <algorithm>
#include <bit>

namespace exanet {

namespace {

constexpr std::uint32_t kAtOnce = 32;  // MPIR_CVAR_ALLTOALL_THROTTLE
constexpr std::uint64_t kPiece = 32768;  // MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE

bool by_rank(const CollectiveCall& c) { return !c.sent.empty() || !c.received.empty(); }

// Bytes of `count` ranks' blocks in an allgather, from one on, round the circle.
std::uint64_t blocks(const CollectiveCall& c, std::uint64_t first, std::uint32_t count) {
  if (c.received.empty()) return c.bytes * count;
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) sum += c.received[(first + i) % c.ranks];
  return sum;
}

std::uint64_t to_rank(const CollectiveCall& c, std::uint32_t rank) { return by_rank(c) ? c.sent[rank] : c.bytes; }
std::uint64_t from_rank(const CollectiveCall& c, std::uint32_t rank) { return by_rank(c) ? c.received[rank] : c.bytes; }

// Blocks of several sizes go round in pieces.
void ring_in_pieces(const CollectiveCall& c, Schedule& out) {
  std::uint64_t to_send = blocks(c, 0, c.ranks) - c.received[c.after(1)],
                to_receive = blocks(c, 0, c.ranks) - c.received[c.me];
  std::uint32_t sends = c.me, receives = c.before(1);
  std::uint64_t sent = 0, received = 0;
  while (to_send > 0 || to_receive > 0) {
    const std::uint64_t given = std::min({c.received[sends] - sent, kPiece, to_send});
    const std::uint64_t taken = std::min({c.received[receives] - received, kPiece, to_receive});
    if (taken > 0) out.receive(c.before(1));
    if (given > 0) out.send(c.after(1), given);
    out.stage();
    to_send -= given, to_receive -= taken;
    sent += given, received += taken;
    if (sent == c.received[sends]) sent = 0, sends = (sends + c.ranks - 1) % c.ranks;
    if (received == c.received[receives]) received = 0, receives = (receives + c.ranks - 1) % c.ranks;
  }
}

}  // namespace

void barrier_dissemination(const CollectiveCall& c, Schedule& out) {
  for (std::uint32_t distance = 1; distance < c.ranks; distance *= 2)
    out.exchange(c.after(distance), 0, c.before(distance));
}

void allgather_doubling(const CollectiveCall& c, Schedule& out) {
  if (!std::has_single_bit(c.ranks)) return allgather_bruck(c, out);
  for (std::uint32_t mask = 1; mask < c.ranks; mask *= 2)
    out.exchange(c.me ^ mask, blocks(c, c.me & ~(mask - 1), mask), c.me ^ mask);
}

void allgather_bruck(const CollectiveCall& c, Schedule& out) {
  for (std::uint32_t distance = 1; distance < c.ranks; distance *= 2)
    out.exchange(c.before(distance), blocks(c, c.me, std::min(distance, c.ranks - distance)), c.after(distance));
}

void allgather_ring(const CollectiveCall& c, Schedule& out) {
  if (!c.received.empty()) return ring_in_pieces(c, out);
  for (std::uint32_t step = 0; step + 1 < c.ranks; ++step) out.exchange(c.after(1), c.bytes, c.before(1));
}

void alltoall_bruck(const CollectiveCall& c, Schedule& out) {
  for (std::uint32_t distance = 1; distance < c.ranks; distance *= 2) {
    std::uint64_t count = 0;
    for (std::uint32_t block = 0; block < c.ranks; ++block) count += (block & distance) != 0;
    out.exchange(c.after(distance), count * c.bytes, c.before(distance));
  }
}

void alltoall_scattered(const CollectiveCall& c, Schedule& out) {
  for (std::uint32_t first = 0; first < c.ranks; first += kAtOnce) {
    const std::uint32_t end = std::min(first + kAtOnce, c.ranks);
    for (std::uint32_t i = std::max(first, 1u); i < end; ++i)
      if (!by_rank(c) || from_rank(c, c.after(i)) > 0) out.receive(c.after(i));
    for (std::uint32_t i = std::max(first, 1u); i < end; ++i)
      if (!by_rank(c) || to_rank(c, c.before(i)) > 0) out.send(c.before(i), to_rank(c, c.before(i)));
    out.stage();
  }
}

void alltoall_pairwise(const CollectiveCall& c, Schedule& out) {
  const bool by_bits = std::has_single_bit(c.ranks);
  for (std::uint32_t i = 1; i < c.ranks; ++i) {
    const std::uint32_t to = by_bits ? c.me ^ i : c.after(i), from = by_bits ? c.me ^ i : c.before(i);
    out.exchange(to, to_rank(c, to), from);
  }
}

void alltoall_in_place(const CollectiveCall& c, Schedule& out) {
  for (std::uint32_t i = 0; i < c.ranks; ++i) {
    // In the order of pairs (low, high): those of low ranks first.
    for (std::uint32_t j = i + 1; j < c.ranks; ++j) {
      if (c.me != i && c.me != j) continue;
      const std::uint32_t partner = c.me == i ? j : i;
      if (by_rank(c) && c.received[partner] == 0) continue;
      out.exchange(partner, from_rank(c, partner), partner);
    }
  }
}

}  // namespace exanet
