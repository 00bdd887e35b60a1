// SPDX-License-Identifier: Apache-2.0
// Results of reductions, each rank's in the order in which MPICH's algorithm would have computed it there.
//
// Problem: sums of floating-point numbers depend on their order, and an operation of the user's may not commute. Model:
// what a rank holds after a round is the operation of what its partner and itself held before; the members' parts are
// the leaves of that tree. Of vectors that are halved each block is computed as at the rank that ends up with it.
//
// Sources: MPICH 5.0, src/mpi/coll/allreduce/allreduce_intra_recursive_doubling, …_reduce_scatter_allgather,
// src/mpi/coll/reduce/reduce_intra_binomial, …_reduce_scatter_gather, src/mpi/coll/scan, exscan and reduce_scatter.
// Limit: of scattered reductions by an operation that does not commute the grouping of operands is not MPICH's.
#include <stdlib.h>
#include <string.h>

#include "runtime/simulated/engine.h"

/* The power of two of ranks that exchange; of each of the first `rest` pairs the other one has joined before. */
struct core {
  const struct exanet_reduction *r;
  uint32_t size, rest;
  bool odd_stays, farthest_first;
  char *spare; /* a vector for each level */
  uint64_t width; /* of one */
};

static uint64_t vector_bytes(const struct exanet_reduction *r) { return (uint64_t)r->count * r->element_bytes; }

static void combine(const struct exanet_reduction *r, const void *in, void *inout, long count) {
  exanet_own.reduce_local(in, inout, (int)count, r->type, r->op);
}

static const char *part(const struct exanet_reduction *r, uint32_t rank, long from) {
  return (const char *)r->parts[rank].data + (uint64_t)from * r->element_bytes;
}

/* `to` = one op other, of which `lower` comes first in the ranks' order. */
static void join(const struct exanet_reduction *r, char *to, char *other, bool other_is_lower, long count) {
  const uint64_t bytes = (uint64_t)count * r->element_bytes;
  if (r->commutes || other_is_lower) return combine(r, other, to, count);
  combine(r, to, other, count);
  memcpy(to, other, bytes);
}

static uint32_t rank_of(const struct core *c, uint32_t number) {
  return number < c->rest ? 2 * number + c->odd_stays : number + c->rest;
}

/* What `number` holds after so many rounds, of the elements [from, from + count). */
static void held(const struct core *c, uint32_t number, unsigned rounds, long from, long count, char *to) {
  const uint64_t bytes = (uint64_t)count * c->r->element_bytes;
  const uint32_t rank = rank_of(c, number);
  if (rounds == 0) {
    memcpy(to, part(c->r, rank, from), bytes);
    if (number >= c->rest) return;
    char *other = c->spare;
    memcpy(other, part(c->r, rank ^ 1, from), bytes);
    return join(c->r, to, other, (rank ^ 1) < rank, count);
  }
  const uint32_t partner = number ^ (c->farthest_first ? c->size >> rounds : 1u << (rounds - 1));
  char *other = c->spare + rounds * c->width;
  held(c, number, rounds - 1, from, count, to);
  held(c, partner, rounds - 1, from, count, other);
  join(c->r, to, other, rank_of(c, partner) < rank, count);
}

static unsigned levels(uint32_t size) { return (unsigned)__builtin_ctz(size); }

static uint32_t reversed(uint32_t number, unsigned bits) {
  uint32_t back = 0;
  for (unsigned i = 0; i < bits; i++) back |= (number >> i & 1u) << (bits - 1 - i);
  return back;
}

/* Elements that the rank is to have, also one that has joined another: it is given them. */
static void held_by_me(const struct core *c, long from, long count, char *to) {
  const uint32_t me = c->r->me, number = me < 2 * c->rest ? me / 2 : me - c->rest;
  held(c, number, levels(c->size), from, count, to);
}

/* The first blocks are longer by an element where they do not divide the vector. */
static void halving(const struct core *c, char *to) {
  const long each = c->r->count / c->size, longer = c->r->count % c->size;
  long from = 0;
  for (uint32_t block = 0; block < c->size; block++) {
    const long count = each + (block < longer);
    held(c, reversed(block, levels(c->size)), levels(c->size), from, count, to + (uint64_t)from * c->r->element_bytes);
    from += count;
  }
}

/* What the rank so far from the root holds once it has heard from those below `mask`. */
static void gathered(const struct core *c, uint32_t root, uint32_t relative, uint32_t mask, unsigned depth, char *to) {
  const struct exanet_reduction *r = c->r;
  if (r->n == 0) return;
  const uint32_t rank = (relative + root) % r->n;
  memcpy(to, part(r, rank, 0), vector_bytes(r));
  char *other = c->spare + depth * c->width;
  for (uint32_t bit = 1; bit < mask && relative + bit < r->n; bit *= 2) {
    const uint32_t source = relative + bit;
    gathered(c, root, source, bit, depth + 1, other);
    join(r, to, other, (source + root) % r->n < rank, r->count);
  }
}

/* What the rank has of its partners up to a distance of 2^rounds, those on both sides. */
static void partial(const struct core *c, uint32_t rank, unsigned rounds, char *to) {
  const struct exanet_reduction *r = c->r;
  if (rounds == 0) {
    memcpy(to, part(r, rank, 0), vector_bytes(r));
    return;
  }
  const uint32_t partner = rank ^ 1u << (rounds - 1);
  partial(c, rank, rounds - 1, to);
  if (partner >= r->n) return;
  char *other = c->spare + rounds * c->width;
  partial(c, partner, rounds - 1, other);
  join(r, to, other, partner < rank, r->count);
}

/* Of those below alone, and of the rank itself. */
static void scan(const struct core *c, bool exclusive, char *to) {
  const struct exanet_reduction *r = c->r;
  bool empty = exclusive;
  if (!exclusive) memcpy(to, part(r, r->me, 0), vector_bytes(r));
  for (unsigned round = 0; 1u << round < r->n; round++) {
    const uint32_t partner = r->me ^ 1u << round;
    if (partner > r->me) continue;
    char *other = c->spare + (round + 1) * c->width;
    partial(c, partner, round, other);
    if (empty)
      memcpy(to, other, vector_bytes(r));
    else
      combine(r, other, to, r->count);
    empty = false;
  }
}

static void pairwise(const struct exanet_reduction *r, char *to) {
  memcpy(to, part(r, r->me, r->first), (uint64_t)r->taken * r->element_bytes);
  for (uint32_t i = 1; i < r->n; i++) combine(r, part(r, (r->me + r->n - i) % r->n, r->first), to, r->taken);
}

static void fold(const struct exanet_reduction *r, uint32_t to, char *result) {
  const uint64_t bytes = (uint64_t)r->taken * r->element_bytes;
  char *last = exanet_simulated_memory(malloc(bytes));
  memcpy(result, part(r, 0, r->first), bytes);
  for (uint32_t rank = 1; rank < to; rank++) {
    if (r->commutes) {
      combine(r, part(r, rank, r->first), result, r->taken);
      continue;
    }
    memcpy(last, part(r, rank, r->first), bytes);
    combine(r, result, last, r->taken);
    memcpy(result, last, bytes);
  }
  free(last);
}

bool exanet_reduction_is_alike(const struct exanet_reduction *r) {
  return r->code == EXANET_TRACE_Allreduce && (r->exact || strcmp(r->algorithm, "rabenseifner") == 0);
}

static bool is_scan(uint8_t code) { return code == EXANET_TRACE_Scan || code == EXANET_TRACE_Exscan; }
static bool is_scattered(uint8_t code) {
  return code == EXANET_TRACE_Reduce_scatter || code == EXANET_TRACE_Reduce_scatter_block;
}

/* By the algorithm, of which the spare vectors are there. */
static bool compute(struct core *c, char *result) {
  const struct exanet_reduction *r = c->r;
  c->farthest_first = is_scattered(r->code);
  if (is_scan(r->code))
    scan(c, r->code == EXANET_TRACE_Exscan, result);
  else if (is_scattered(r->code) && strcmp(r->algorithm, "pairwise") == 0)
    pairwise(r, result);
  else if (is_scattered(r->code))
    held_by_me(c, r->first, r->taken, result);
  else if (strcmp(r->algorithm, "binomial") == 0)
    gathered(c, r->commutes ? r->root : 0, 0, 2 * c->size, 0, result);
  else if (strcmp(r->algorithm, "rabenseifner") == 0)
    halving(c, result);
  else if (strcmp(r->algorithm, "recursive-doubling") == 0 && r->code == EXANET_TRACE_Allreduce)
    held_by_me(c, 0, r->count, result);
  else
    return false;
  return true;
}

bool exanet_reduction_of(const struct exanet_reduction *r, void *result) {
  const uint64_t bytes = vector_bytes(r), taken = (uint64_t)r->taken * r->element_bytes;
  const uint32_t used = is_scan(r->code) ? r->me + (r->code == EXANET_TRACE_Scan) : r->n;
  if (taken == 0 || used == 0) return true;
  for (uint32_t i = 0; i < used; i++)
    if (r->parts[i].bytes != bytes) return false;
  if (r->n == 1) return memcpy(result, part(r, 0, r->first), taken), true;
  if (r->exact || (is_scattered(r->code) && !r->commutes)) return fold(r, used, result), true;
  struct core c = {.r = r, .size = 1, .width = taken};
  c.odd_stays = r->code != EXANET_TRACE_Reduce;
  while (2 * c.size <= r->n) c.size *= 2;
  c.rest = r->n - c.size;
  c.spare = exanet_simulated_memory(malloc((levels(c.size) + 3) * taken));
  const bool known = compute(&c, result);
  free(c.spare);
  return known;
}
