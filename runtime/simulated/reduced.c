// SPDX-License-Identifier: Apache-2.0
// Collectives that reduce: what a member brings, and its result, which it computes itself (reductions.c). One that is
// alike for all members is computed by the first that needs it. Elements with gaps are packed, and laid out again for
// the operation. Limit: no elements that reach beyond their extent.
#include <stdlib.h>
#include <string.h>

#include "runtime/simulated/lists.h"

#define BUILT_IN 1u /* the two highest bits of a handle */
#define NO_OPERATION 0x18000000u /* MPI_OP_NULL */

/* Integers and characters of C and Fortran among MPICH's types. Source: the header of MPICH 5.0. */
static bool is_exact(long type, long op) {
  const uint32_t number = (uint32_t)type & 0xff;
  if ((uint32_t)op >> 30 != BUILT_IN || (uint32_t)type >> 30 != BUILT_IN) return false;
  return (number >= 0x01 && number <= 0x09) || number == 0x0d || (number >= 0x18 && number <= 0x1b) ||
         (number >= 0x37 && number <= 0x3e);
}

static void lay_out(const struct exanet_reduction *r, const void *packed, long count, void *elements, long comm) {
  int at = 0;
  exanet_own.unpack(packed, (int)((uint64_t)count * exanet_element_bytes(r->type)), &at, elements, (int)count, r->type,
                    comm);
}

/* Of elements with gaps: parts and result are packed. */
static bool compute_laid_out(const struct exanet_operation *o, const struct exanet_reduction *packed) {
  struct exanet_reduction r = *packed;
  long lower = 0, extent = 0;
  exanet_mpi.type_extent(r.type, &lower, &extent);
  r.element_bytes = (uint64_t)extent;
  const uint64_t vector = (uint64_t)r.count * r.element_bytes;
  char *vectors = exanet_simulated_memory(calloc(r.n + (size_t)1, vector + 1));
  char *result = exanet_simulated_memory(calloc((size_t)r.taken + 1, r.element_bytes));
  struct exanet_live_part *parts = exanet_simulated_memory(calloc(r.n + (size_t)1, sizeof *parts));
  for (uint32_t i = 0; i < r.n; i++) {
    /* Not there, or of another size. */
    if (packed->parts[i].bytes != (uint64_t)r.count * packed->element_bytes) continue;
    parts[i] = packed->parts[i];
    parts[i].data = vectors + i * vector;
    parts[i].bytes = vector;
    lay_out(&r, packed->parts[i].data, r.count, vectors + i * vector, o->s.comm);
  }
  r.parts = parts;
  const bool known = exanet_reduction_of(&r, result);
  int at = 0;
  if (known) exanet_own.pack(result, (int)r.taken, r.type, o->received.data, (int)o->received.bytes, &at, o->s.comm);
  free(parts);
  free(result);
  free(vectors);
  return known;
}

static void compute(const struct exanet_operation *o, const struct exanet_reduction *r) {
  if (!(o->received.copied ? compute_laid_out(o, r) : exanet_reduction_of(r, o->received.data)))
    exanet_simulated_refuse(&o->s, "by this algorithm, or of parts of several sizes");
}

static void reduce(const struct exanet_operation *o, const struct exanet_reduction *r) {
  struct exanet_live_result *shared = o->call.result;
  const uint64_t bytes = o->received.bytes;
  if (!exanet_reduction_is_alike(r) || bytes == 0) return compute(o, r);
  if (__atomic_load_n(&shared->state, __ATOMIC_ACQUIRE) == EXANET_LIVE_READY) {
    memcpy(o->received.data, shared->data, bytes);
    return;
  }
  uint32_t state = EXANET_LIVE_EMPTY;
  const bool first = __atomic_compare_exchange_n(&shared->state, &state, EXANET_LIVE_COMPUTING, false, __ATOMIC_ACQ_REL,
                                                 __ATOMIC_ACQUIRE);
  compute(o, r);
  if (!first) return;
  memcpy(shared->data, o->received.data, bytes);
  __atomic_store_n(&shared->state, EXANET_LIVE_READY, __ATOMIC_RELEASE);
}

/* Whether this member has a result. */
static bool takes(const struct exanet_operation *o) {
  if (o->code == EXANET_TRACE_Exscan) return o->comm->rank > 0;
  return o->code != EXANET_TRACE_Reduce || o->is_root;
}

/* Elements of the vector, and those of it that this member takes. */
struct extent {
  long count, first, taken;
};

static long listed(const struct exanet_operation *o, long i) {
  return o->s.large ? ((const long *)o->a[2])[i] : ((const int *)o->a[2])[i];
}

/* False: the library is to say what is wrong. */
static bool find_extent(const struct exanet_operation *o, struct extent *e) {
  const long n = o->comm->size, me = o->comm->rank;
  *e = (struct extent){0};
  if (o->code == EXANET_TRACE_Reduce_scatter) {
    if (o->a[2] == 0) return false;
    for (long i = 0; i < n; i++) {
      if (listed(o, i) < 0) return false;
      if (i < me) e->first += listed(o, i);
      e->count += listed(o, i);
    }
    e->taken = listed(o, me);
    return true;
  }
  e->count = e->taken = exanet_operation_count(o, 2);
  if (o->code != EXANET_TRACE_Reduce_scatter_block) return e->count >= 0;
  e->first = me * e->taken;
  e->count = n * e->taken;
  return e->count >= 0;
}

static int end_reduction(struct exanet_operation *o, bool over) {
  const long *a = o->a;
  struct extent e;
  if (over && takes(o) && find_extent(o, &e)) {
    const struct exanet_reduction r = {.parts = o->call.parts,
                                       .algorithm = o->call.algorithm,
                                       .code = o->code,
                                       .n = (uint32_t)o->comm->size,
                                       .me = (uint32_t)o->comm->rank,
                                       .root = (uint32_t)o->root,
                                       .count = e.count,
                                       .first = e.first,
                                       .taken = e.taken,
                                       .type = o->received.copied ? o->received.type : a[3],
                                       .op = a[4],
                                       .element_bytes = o->call.element_bytes,
                                       .commutes = (o->call.flags & EXANET_TRACE_COMMUTATIVE) != 0,
                                       .exact = is_exact(a[3], a[4])};
    reduce(o, &r);
  }
  exanet_bytes_end(&o->sent, false);
  exanet_bytes_end(&o->received, over);
  exanet_lists_free(o);
  return 0;
}

/* False: the library is to say what is wrong. */
static bool is_valid(const struct exanet_operation *o, const struct extent *e) {
  const long *a = o->a;
  const bool in_place = exanet_is_in_place(a[0]);
  if (in_place && !takes(o) && o->code != EXANET_TRACE_Exscan) return false;
  if (!exanet_bytes_valid(in_place ? a[1] : a[0], e->count, a[3])) return false;
  if (takes(o) && !exanet_bytes_valid(a[1], e->taken, a[3])) return false;
  if ((uint32_t)a[4] == NO_OPERATION || !exanet_simulated_op_fits(a[3], a[4])) return false;
  const bool aliases = (takes(o) || o->code == EXANET_TRACE_Exscan) && !in_place && a[0] == a[1] && e->count > 0;
  return exanet_element_bytes(a[3]) != 0 && !aliases;
}

static bool has_gaps(const struct exanet_operation *o, long type) {
  if ((uint32_t)type >> 30 == BUILT_IN) return false;
  long lower = 0, extent = 0, first = 0, reach = 0;
  exanet_mpi.type_extent(type, &lower, &extent);
  exanet_own.type_true_extent(type, &first, &reach);
  if (lower != 0 || first < 0 || first + reach > extent)
    exanet_simulated_refuse(&o->s, "of a datatype whose elements reach beyond their extent");
  return (uint64_t)extent != exanet_element_bytes(type);
}

/* What is sent, and the space for the result, packed. An error, which the library has reported; 0 for none. */
static int begin_packed(struct exanet_operation *o, const struct extent *e) {
  const long *a = o->a;
  int error = exanet_bytes_begin(&o->s, &o->sent, exanet_is_in_place(a[0]) ? a[1] : a[0], e->count, a[3]);
  if (error == 0 && takes(o)) error = exanet_bytes_begin(&o->s, &o->received, a[1], e->taken, a[3]);
  if (error != 0) return exanet_bytes_end(&o->sent, false), error;
  if (o->keeps) exanet_bytes_keep(&o->received);
  return 0;
}

/* (sent, received, count or counts, type, op, [root,] comm) */
long exanet_begin_reduction(struct exanet_operation *o) {
  const long *a = o->a;
  struct extent e;
  if (!find_extent(o, &e) || !is_valid(o, &e)) return -1;
  const uint64_t bytes = exanet_element_bytes(a[3]);
  if (has_gaps(o, a[3])) {
    const int error = begin_packed(o, &e);
    if (error != 0) return error;
  } else {
    o->sent = (struct exanet_bytes){.data = (void *)(exanet_is_in_place(a[0]) ? a[1] : a[0])};
    o->received = (struct exanet_bytes){.data = (void *)a[1]};
  }
  o->sent.bytes = (uint64_t)e.count * bytes;
  o->received.bytes = (uint64_t)e.taken * bytes;
  int commutes = 1;
  exanet_mpi.op_commutative(a[4], &commutes);
  o->call.flags =
      ((uint32_t)a[4] >> 30 == BUILT_IN ? EXANET_TRACE_BUILT_IN : 0) | (commutes ? EXANET_TRACE_COMMUTATIVE : 0);
  o->call.element_bytes = bytes;
  o->call.operation = exanet_simulated_op_name(a[4]);
  const struct exanet_blocks counts = {.counts = (const void *)a[2], .type = a[3], .large = o->s.large};
  if (o->code == EXANET_TRACE_Reduce_scatter_block)
    o->call.receive_bytes = o->received.bytes;
  else if (o->code == EXANET_TRACE_Reduce_scatter)
    o->call.received_by_rank = exanet_lists_of(o)->received_bytes = exanet_blocks_bytes(&counts, o->comm->size);
  else
    o->call.bytes = o->sent.bytes;
  o->end = end_reduction;
  return 0;
}
