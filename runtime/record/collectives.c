/* SPDX-License-Identifier: Apache-2.0
 * Source of the positions: the MPI standard, version 4.1, annex A. */
#include "runtime/record/collectives.h"

#include <stddef.h>

#include "runtime/record/communicators.h"
#include "runtime/record/fields.h"
#include "runtime/record/library.h"

#define FIRST EXANET_TRACE_Barrier
#define AT(name) [EXANET_TRACE_##name - FIRST]
static const struct exanet_collective collectives[EXANET_TRACE_NONBLOCKING] = {
    AT(Barrier) = {0, -1, -1, -1, -1, -1, -1, 0, 0},
    AT(Bcast) = {4, 3, -1, 1, 2, -1, -1, 0, 0},
    AT(Gather) = {7, 6, -1, 1, 2, 4, 5, 0, 0},
    AT(Gatherv) = {8, 7, -1, 1, 2, 4, 6, 0, 1},
    AT(Scatter) = {7, 6, -1, 1, 2, 4, 5, 0, 0},
    AT(Scatterv) = {8, 7, -1, 1, 3, 5, 6, 1, 0},
    AT(Allgather) = {6, -1, -1, 1, 2, 4, 5, 0, 0},
    AT(Allgatherv) = {7, -1, -1, 1, 2, 4, 6, 0, 1},
    AT(Alltoall) = {6, -1, -1, 1, 2, 4, 5, 0, 0},
    AT(Alltoallv) = {8, -1, -1, 1, 3, 5, 7, 1, 1},
    AT(Alltoallw) = {8, -1, -1, 1, 3, 5, 7, 2, 2},
    AT(Reduce) = {6, 5, 4, 2, 3, -1, -1, 0, 0},
    AT(Allreduce) = {5, -1, 4, 2, 3, -1, -1, 0, 0},
    AT(Reduce_scatter) = {5, -1, 4, -1, -1, 2, 3, 0, 1},
    AT(Reduce_scatter_block) = {5, -1, 4, -1, -1, 2, 3, 0, 0},
    AT(Scan) = {5, -1, 4, 2, 3, -1, -1, 0, 0},
    AT(Exscan) = {5, -1, 4, 2, 3, -1, -1, 0, 0},
};

const struct exanet_collective *exanet_collective_of(uint8_t code) {
  if (code >= EXANET_TRACE_Ibarrier && code <= EXANET_TRACE_Iexscan) code -= EXANET_TRACE_NONBLOCKING;
  return code >= EXANET_TRACE_Barrier && code <= EXANET_TRACE_Exscan ? &collectives[code - FIRST] : NULL;
}

/* Who gives what: at ranks other than the root some arguments mean nothing. */
struct significance {
  bool send, receive;
};

static struct significance significance_of(uint8_t code, const struct exanet_communicator *comm, bool is_root,
                                           bool in_place) {
  struct significance s = {!in_place, true};
  if (comm->remote != NULL) return (struct significance){false, false};
  switch (code >= EXANET_TRACE_Ibarrier ? code - EXANET_TRACE_NONBLOCKING : code) {
    case EXANET_TRACE_Gather:
    case EXANET_TRACE_Gatherv: s.receive = is_root; break;
    case EXANET_TRACE_Scatter:
    case EXANET_TRACE_Scatterv: s = (struct significance){is_root, !(is_root && in_place)}; break;
    case EXANET_TRACE_Reduce:
    case EXANET_TRACE_Allreduce:
    case EXANET_TRACE_Scan:
    case EXANET_TRACE_Exscan: s.send = true; break; /* one count, in place or not */
    default: break;
  }
  return s;
}

static uint64_t count_at(const long *arguments, int at, bool large) {
  const long count = large ? arguments[at] : (int)arguments[at];
  return count > 0 ? (uint64_t)count : 0;
}

/* Where a call's counts by rank stand among its arguments, and their types: one, or by rank as well. */
struct counts {
  const long *arguments;
  bool large, types_by_rank;
  int counts, types;
};

static uint64_t listed_bytes(const void *of, uint64_t i) {
  const struct counts *c = of;
  const long *a = c->arguments;
  const long count = c->large ? ((const long *)a[c->counts])[i] : ((const int *)a[c->counts])[i];
  const long type = c->types_by_rank ? exanet_handle_at(a[c->types], (long)i) : a[c->types];
  return count > 0 ? (uint64_t)count * exanet_type_bytes_of(type) : 0;
}

static uint64_t reduction_flags(long op) {
  int commutes = 1;
  exanet_mpi.op_commutative(op, &commutes);
  const bool built_in = exanet_mpi.kind != EXANET_TRACE_MPICH || (uint32_t)op >> 30 == 1;
  return (built_in ? EXANET_TRACE_BUILT_IN : 0) | (commutes ? EXANET_TRACE_COMMUTATIVE : 0);
}

void exanet_collective_put(uint8_t code, const long *a, bool large, uint32_t request) {
  const struct exanet_collective *c = exanet_collective_of(code);
  const struct exanet_communicator *comm = exanet_communicator_find(a[c->comm]);
  const int root = c->root >= 0 ? (int)a[c->root] : -1;
  const bool is_root = root == comm->rank;
  const bool in_place = c->receive_count >= 0 && a[0] == exanet_mpi.in_place;
  const bool reduces_in_place = c->op >= 0 && a[0] == exanet_mpi.in_place;
  const bool scatters = code % EXANET_TRACE_NONBLOCKING == EXANET_TRACE_Scatter % EXANET_TRACE_NONBLOCKING ||
                        code % EXANET_TRACE_NONBLOCKING == EXANET_TRACE_Scatterv % EXANET_TRACE_NONBLOCKING;
  const struct significance s = significance_of(
      code, comm, is_root, in_place || (scatters && is_root && a[c->receive_count - 1] == exanet_mpi.in_place));
  const bool sends = s.send && c->send_count >= 0, receives = s.receive && c->receive_count >= 0;
  const int any_type = sends && c->send_list != 2         ? c->send_type
                       : receives && c->receive_list != 2 ? c->receive_type
                                                          : -1;
  const struct counts sent = {a, large, c->send_list == 2, c->send_count, c->send_type};
  const struct counts received = {a, large, c->receive_list == 2, c->receive_count, c->receive_type};
  exanet_put_collective(&(struct exanet_collective_fields){
      .communicator = comm->number,
      .root = (uint64_t)(root >= 0 ? root : 0),
      .request = request,
      .flags = (c->op >= 0 ? reduction_flags(a[c->op]) : 0) |
               (in_place || reduces_in_place ? EXANET_TRACE_IN_PLACE : 0) | (is_root ? EXANET_TRACE_IS_ROOT : 0),
      .element_bytes = any_type >= 0 ? exanet_type_bytes_of(a[any_type]) : 0,
      .bytes =
          sends && c->send_list == 0 ? count_at(a, c->send_count, large) * exanet_type_bytes_of(a[c->send_type]) : 0,
      .receive_bytes = receives && c->receive_list == 0
                           ? count_at(a, c->receive_count, large) * exanet_type_bytes_of(a[c->receive_type])
                           : 0,
      .sent = {sends && c->send_list != 0 ? (uint64_t)comm->size : 0, listed_bytes, &sent},
      .received = {receives && c->receive_list != 0 ? (uint64_t)comm->size : 0, listed_bytes, &received}});
}
