// SPDX-License-Identifier: Apache-2.0
// Collectives, carried out by the simulator.
//
// Model: each member brings its bytes, packed, and says how many it expects, so that the simulator plans the library's
// own algorithm. Once the algorithm has come to its end at this rank, what it needs of the others' lies in the
// simulator's memory, and it takes it from there. Reductions are computed by the rank (reductions.c). Limits: blocking
// collectives with one count for all; a reduction's type has no gaps.
#include "runtime/record/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/simulated/engine.h"

static bool is_in_place(long buffer) { return buffer == exanet_mpi.in_place; }

/* A collective under way. */
struct collective {
  struct exanet_simulated *s;
  const struct exanet_collective *at;
  const struct exanet_communicator *comm;
  uint8_t code;
  int root;
  bool is_root;
  struct exanet_live_call call;
  struct exanet_bytes sent, received;
  struct exanet_truncated truncated;
};

static struct exanet_live_part *parts_for(uint32_t count) {
  static struct exanet_live_part *parts;
  static uint32_t capacity;
  if (count > capacity) parts = exanet_simulated_memory(realloc(parts, sizeof *parts * (capacity = 2 * count)));
  return parts;
}

static long count_at(const struct collective *c, int at) { return exanet_simulated_count(c->s, at); }

/* -- reductions ---------------------------------------------------------------------------------------------------- */

/* Integers and characters of C and Fortran among MPICH's types. Source: the header of MPICH 5.0. */
static bool is_exact(long type, long op) {
  const uint32_t number = (uint32_t)type & 0xff;
  if ((uint32_t)op >> 30 != 1 || (uint32_t)type >> 30 != 1) return false;
  return (number >= 0x01 && number <= 0x09) || number == 0x0d || (number >= 0x18 && number <= 0x1b) ||
         (number >= 0x37 && number <= 0x3e);
}

static void reduce(struct collective *c, const struct exanet_reduction *r) {
  struct exanet_live_result *shared = c->call.result;
  char *to = c->received.data;
  const uint64_t bytes = c->received.bytes;
  if (exanet_reduction_is_alike(r) && bytes > 0) {
    uint32_t state = EXANET_LIVE_EMPTY;
    if (__atomic_load_n(&shared->state, __ATOMIC_ACQUIRE) == EXANET_LIVE_READY) {
      memcpy(to, shared->data, bytes);
      return;
    }
    if (__atomic_compare_exchange_n(&shared->state, &state, EXANET_LIVE_COMPUTING, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      if (!exanet_reduction_of(r, to)) exanet_simulated_refuse(c->s, "by this algorithm, or of parts of several sizes");
      memcpy(shared->data, to, bytes);
      __atomic_store_n(&shared->state, EXANET_LIVE_READY, __ATOMIC_RELEASE);
      return;
    }
  }
  if (!exanet_reduction_of(r, to)) exanet_simulated_refuse(c->s, "by this algorithm, or of parts of several sizes");
}

/* (sent, received, count, type, op, [root,] comm) */
static long begin_reduction(struct collective *c) {
  const long *a = c->s->a, count = count_at(c, 2);
  const bool takes = c->code == EXANET_TRACE_Allreduce || c->is_root;
  const long from = is_in_place(a[0]) ? a[1] : a[0];
  if (is_in_place(a[0]) && !takes) return -1;
  if (!exanet_bytes_valid(from, count, a[3]) || (takes && !exanet_bytes_valid(a[1], count, a[3]))) return -1;
  if ((uint32_t)a[4] == 0x18000000u || !exanet_simulated_op_fits(a[3], a[4])) return -1; /* MPI_OP_NULL */
  if (exanet_element_bytes(a[3]) == 0 || (takes && !is_in_place(a[0]) && a[0] == a[1] && count > 0)) return -1;
  long lower = 0, extent = 0;
  if ((uint32_t)a[3] >> 30 != 1 && (exanet_mpi.type_extent(a[3], &lower, &extent) != 0 || lower != 0 ||
                                    (uint64_t)extent != exanet_element_bytes(a[3])))
    exanet_simulated_refuse(c->s, "of a datatype with gaps");
  c->sent = (struct exanet_bytes){
      .data = (void *)from, .count = count, .bytes = (uint64_t)count * exanet_element_bytes(a[3])};
  c->received = c->sent;
  c->received.data = (void *)a[1];
  int commutes = 1;
  exanet_mpi.op_commutative(a[4], &commutes);
  c->call.flags = ((uint32_t)a[4] >> 30 == 1 ? EXANET_TRACE_BUILT_IN : 0) | (commutes ? EXANET_TRACE_COMMUTATIVE : 0);
  c->call.element_bytes = exanet_element_bytes(a[3]);
  c->call.bytes = c->sent.bytes;
  return 0;
}

static long end_reduction(struct collective *c) {
  const long *a = c->s->a;
  if (c->code == EXANET_TRACE_Reduce && !c->is_root) return 0;
  const struct exanet_reduction r = {.parts = c->call.parts,
                                     .algorithm = c->call.algorithm,
                                     .code = c->code,
                                     .n = (uint32_t)c->comm->size,
                                     .me = (uint32_t)c->comm->rank,
                                     .root = (uint32_t)c->root,
                                     .count = c->sent.count,
                                     .type = a[3],
                                     .op = a[4],
                                     .element_bytes = c->call.element_bytes,
                                     .commutes = (c->call.flags & EXANET_TRACE_COMMUTATIVE) != 0,
                                     .exact = is_exact(a[3], a[4])};
  reduce(c, &r);
  return 0;
}

/* -- data that moves ----------------------------------------------------------------------------------------------- */

/* Bytes of what this member brings and takes: blocks by the ranks' numbers. */
struct shape {
  bool sends, receives;
  long send_blocks, receive_blocks;
};

static struct shape shape_of(const struct collective *c) {
  const long n = c->comm->size;
  switch (c->code) {
    case EXANET_TRACE_Bcast: return (struct shape){c->is_root, !c->is_root, 1, 1};
    case EXANET_TRACE_Gather: return (struct shape){true, c->is_root, 1, n};
    case EXANET_TRACE_Scatter: return (struct shape){c->is_root, true, n, 1};
    case EXANET_TRACE_Allgather: return (struct shape){true, true, 1, n};
    default: return (struct shape){true, true, n, n};
  }
}

/* Moves the buffer's start by so many elements. */
static long moved(long buffer, long elements, long type) {
  long lower = 0, extent = (long)exanet_element_bytes(type);
  if ((uint32_t)type >> 30 != 1) exanet_mpi.type_extent(type, &lower, &extent);
  return buffer + elements * extent;
}

/* -1: the library is to say what is wrong; or an error that it has reported. */
static long begin_move(struct collective *c) {
  const long *a = c->s->a;
  const struct shape shape = shape_of(c);
  const bool alone = c->code == EXANET_TRACE_Bcast;
  const long send_buffer = a[0], receive_buffer = alone ? a[0] : a[3];
  const long send_count = count_at(c, 1), receive_count = count_at(c, alone ? 1 : 4);
  const long send_type = a[2], receive_type = alone ? a[2] : a[5];
  const bool scatters = c->code == EXANET_TRACE_Scatter;
  const bool keeps_sent = !alone && !scatters && is_in_place(send_buffer);
  const bool keeps_received = scatters && c->is_root && is_in_place(receive_buffer);
  if (shape.sends && !keeps_sent && !exanet_bytes_valid(send_buffer, send_count, send_type)) return -1;
  if (shape.receives && !keeps_received && !exanet_bytes_valid(receive_buffer, receive_count, receive_type)) return -1;
  if (keeps_sent && !shape.receives) return -1;
  c->call.flags = keeps_sent ? EXANET_TRACE_IN_PLACE : 0;
  int error = 0;
  if (shape.receives && !keeps_received)
    error = exanet_bytes_begin(c->s, &c->received, receive_buffer, receive_count * shape.receive_blocks, receive_type);
  if (error != 0) return error;
  if (shape.sends && !keeps_sent)
    error = exanet_bytes_begin(c->s, &c->sent, send_buffer, send_count * shape.send_blocks, send_type);
  else if (shape.sends && c->code == EXANET_TRACE_Alltoall)
    error = exanet_bytes_begin(c->s, &c->sent, receive_buffer, receive_count * shape.send_blocks, receive_type);
  else if (shape.sends)
    error = exanet_bytes_begin(c->s, &c->sent, moved(receive_buffer, receive_count * c->comm->rank, receive_type),
                               receive_count, receive_type);
  if (error != 0) return exanet_bytes_end(&c->received, false), error;
  const bool sends = alone || (shape.sends && !keeps_sent);
  c->call.bytes = sends ? (uint64_t)send_count * exanet_element_bytes(send_type) : 0;
  c->call.receive_bytes =
      shape.receives && !keeps_received && !alone ? (uint64_t)receive_count * exanet_element_bytes(receive_type) : 0;
  c->call.element_bytes = exanet_element_bytes(sends ? send_type : receive_type);
  return 0;
}

/* An error, 0 for none; its first one is kept. */
static int take(struct collective *c, uint32_t from, uint64_t at, uint64_t space) {
  const struct exanet_live_part *part = &c->call.parts[from];
  if (part->bytes > space && c->truncated.bytes == 0)
    c->truncated =
        (struct exanet_truncated){c->s->comm, exanet_communicator_peer(c->comm, (int)from), part->bytes, space};
  if (part->bytes > 0) memcpy((char *)c->received.data + at, part->data, part->bytes < space ? part->bytes : space);
  return part->bytes > space ? EXANET_ERR_TRUNCATE : 0;
}

static long end_move(struct collective *c) {
  const struct shape shape = shape_of(c);
  int error = 0;
  if (shape.receives && c->received.data != NULL) {
    const uint64_t block = c->received.bytes / (uint64_t)shape.receive_blocks;
    if (shape.receive_blocks == 1)
      error = take(c, (uint32_t)c->root, 0, block);
    else
      for (uint32_t i = 0; i < (uint32_t)c->comm->size; i++) {
        const int own = take(c, i, i * block, block);
        if (own != 0) error = own;
      }
  }
  exanet_bytes_end(&c->sent, false);
  exanet_bytes_end(&c->received, true);
  return error;
}

/* -- calls --------------------------------------------------------------------------------------------------------- */

long exanet_simulated_collective(struct exanet_simulated *s, uint8_t code) {
  const struct exanet_collective *at = exanet_collective_of(code);
  struct collective c = {.s = s, .at = at, .code = code};
  c.comm = exanet_simulated_comm(s, s->a[at->comm]);
  if (c.comm == NULL) return exanet_simulated_real(s);
  c.root = at->root >= 0 ? (int)s->a[at->root] : 0;
  if (c.root < 0 || c.root >= c.comm->size) return exanet_simulated_real(s);
  c.is_root = at->root >= 0 && c.root == c.comm->rank;
  const bool reduces = code == EXANET_TRACE_Reduce || code == EXANET_TRACE_Allreduce;
  const long wrong = code == EXANET_TRACE_Barrier ? 0 : reduces ? begin_reduction(&c) : begin_move(&c);
  if (wrong != 0) return wrong < 0 ? exanet_simulated_real(s) : wrong;
  c.call.code = code;
  c.call.comm = c.comm->number;
  c.call.root = (uint32_t)c.root;
  c.call.flags |= c.is_root ? EXANET_TRACE_IS_ROOT : 0;
  c.call.sent.address = (uint64_t)(uintptr_t)c.sent.data;
  c.call.sent.bytes = c.sent.bytes;
  c.call.parts = parts_for((uint32_t)c.comm->size);
  exanet_live_call(s->ni, &c.call, true);
  if (code == EXANET_TRACE_Barrier) return 0;
  const int error = (int)(reduces ? end_reduction(&c) : end_move(&c));
  return error == 0 ? 0 : exanet_simulated_truncated(s, &c.truncated, error);
}
