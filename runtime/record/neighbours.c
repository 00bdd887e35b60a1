/* SPDX-License-Identifier: Apache-2.0
 * Who is whose neighbour is asked at each call: libraries keep it at hand. Source of the positions and of the order
 * of neighbours: the MPI standard, version 4.1, annex A and section 8.6. */
#include "runtime/record/neighbours.h"

#include <stdlib.h>

#include "runtime/record/fields.h"
#include "runtime/record/library.h"

#define KINDS (EXANET_TRACE_Ineighbor_allgather - EXANET_TRACE_Neighbor_allgather)
#define AT(name) [EXANET_TRACE_##name - EXANET_TRACE_Neighbor_allgather]
static const struct exanet_neighbour_call calls[KINDS] = {
    AT(Neighbor_allgather) = {1, 2, 4, 5, 6, false, false, false},
    AT(Neighbor_allgatherv) = {1, 2, 4, 6, 7, false, true, false},
    AT(Neighbor_alltoall) = {1, 2, 4, 5, 6, false, false, false},
    AT(Neighbor_alltoallv) = {1, 3, 5, 7, 8, true, true, false},
    AT(Neighbor_alltoallw) = {1, 3, 5, 7, 8, true, true, true},
};

const struct exanet_neighbour_call *exanet_neighbour_call_of(uint8_t code) {
  return &calls[(code - EXANET_TRACE_Neighbor_allgather) % KINDS];
}

static bool have(struct exanet_neighbours *n) {
  const size_t least = 1;
  n->source = calloc((size_t)n->sources + least, sizeof *n->source);
  n->target = calloc((size_t)n->targets + least, sizeof *n->target);
  return n->source != NULL && n->target != NULL;
}

bool exanet_neighbours_ask(struct exanet_neighbours *n, const struct exanet_communicator *comm, long handle) {
  int kind = 0, dimensions = 0, weighted = 0;
  if (exanet_mpi.topo_test(handle, &kind) != 0) return false;
  if (kind == exanet_mpi.cartesian) {
    if (exanet_mpi.cartdim_get(handle, &dimensions) != 0) return false;
    n->sources = n->targets = 2 * dimensions;
    if (!have(n)) return false;
    for (int d = 0; d < dimensions; d++) {
      int *source = &n->source[2 * d], *target = &n->target[2 * d];
      if (exanet_mpi.cart_shift(handle, d, 1, &source[0], &source[1]) != 0) return false;
      target[0] = source[0];
      target[1] = source[1];
    }
    return true;
  }
  if (kind == exanet_mpi.graph) {
    if (exanet_mpi.graph_neighbors_count(handle, comm->rank, &n->sources) != 0) return false;
    n->targets = n->sources;
    return have(n) && exanet_mpi.graph_neighbors(handle, comm->rank, n->sources, n->source) == 0 &&
           exanet_mpi.graph_neighbors(handle, comm->rank, n->targets, n->target) == 0;
  }
  if (exanet_mpi.dist_graph_neighbors_count(handle, &n->sources, &n->targets, &weighted) != 0 || !have(n)) return false;
  int *weights = calloc((size_t)(n->sources + n->targets) + 1, sizeof *weights);
  const bool found =
      weights != NULL && exanet_mpi.dist_graph_neighbors(handle, n->sources, n->source, weights, n->targets, n->target,
                                                         weights + n->sources) == 0;
  free(weights);
  return found;
}

/* A call's neighbours on one side, its arguments, and where their counts and types stand among these. */
struct side {
  const struct exanet_communicator *comm;
  const int *ranks;
  const long *arguments;
  bool large, listed, types;
  int count, type;
};

static uint64_t bytes_of(const void *of, uint64_t i) {
  const struct side *s = of;
  const long *a = s->arguments;
  const long n = !s->listed ? (s->large ? a[s->count] : (int)a[s->count])
                 : s->large ? ((const long *)a[s->count])[i]
                            : ((const int *)a[s->count])[i];
  return n > 0 ? (uint64_t)n * exanet_type_bytes_of(s->types ? exanet_handle_at(a[s->type], (long)i) : a[s->type]) : 0;
}

static uint64_t peer_of(const void *of, uint64_t i) {
  const struct side *s = of;
  const int world = exanet_communicator_peer(s->comm, s->ranks[i]);
  return world < 0 ? 0 : (uint64_t)world + 2;
}

int exanet_neighbours_communicator_at(uint8_t code) { return exanet_neighbour_call_of(code)->comm; }

void exanet_neighbours_put(uint8_t code, const struct exanet_communicator *comm, const long *a, bool large,
                           uint32_t request) {
  const int kind = (code - EXANET_TRACE_Neighbor_allgather) % KINDS;
  struct exanet_neighbours n = {0};
  if (!exanet_neighbours_ask(&n, comm, a[calls[kind].comm])) n.sources = n.targets = 0;
  const struct side from = {.comm = comm,
                            .ranks = n.source,
                            .arguments = a,
                            .large = large,
                            .listed = calls[kind].by_source,
                            .types = calls[kind].types,
                            .count = calls[kind].receive_count,
                            .type = calls[kind].receive_type};
  const struct side to = {.comm = comm,
                          .ranks = n.target,
                          .arguments = a,
                          .large = large,
                          .listed = calls[kind].by_target,
                          .types = calls[kind].types,
                          .count = calls[kind].send_count,
                          .type = calls[kind].send_type};
  const uint64_t sources = (uint64_t)n.sources, targets = (uint64_t)n.targets;
  exanet_put_neighbours(&(struct exanet_neighbours_fields){.communicator = comm->number,
                                                           .request = request,
                                                           .sources = {sources, peer_of, &from},
                                                           .received = {sources, bytes_of, &from},
                                                           .destinations = {targets, peer_of, &to},
                                                           .sent = {targets, bytes_of, &to}});
  free(n.source);
  free(n.target);
}
