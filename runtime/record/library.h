/* SPDX-License-Identifier: Apache-2.0
 * What the recorder knows of the program's MPI library: constants that differ from one to the next, and functions
 * that it asks.
 *
 * MPICH's handles are ints, Open MPI's are pointers; as a long either is passed on as it is (runtime/clock/calls.c). */
#ifndef EXANET_RECORD_LIBRARY_H
#define EXANET_RECORD_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/replay/trace_format.h"

struct exanet_mpi_library {
  enum exanet_trace_mpi kind;
  unsigned handle_bytes;
  int any_source, process_null, any_tag;
  long in_place;
  uint64_t world, self, no_communicator, byte;
  uint64_t no_type, errors_return, no_op;
  uint64_t status_ignore; /* and an array of them */
  unsigned status_source, status_tag; /* offsets in MPI_Status */
  int graph, cartesian; /* kinds of topologies */
  int lock_exclusive, mode_nocheck;
  int (*bcast)(void *buffer, int count, long type, int root, long comm);
  int (*type_size)(long type, int *bytes);
  int (*op_commutative)(long op, int *commutes);
  int (*comm_size)(long comm, int *size);
  int (*comm_rank)(long comm, int *rank);
  int (*comm_remote_size)(long comm, int *size);
  int (*comm_test_inter)(long comm, int *inter);
  int (*comm_group)(long comm, void *group);
  int (*comm_remote_group)(long comm, void *group);
  int (*group_translate_ranks)(long group, int n, const int *ranks, long other, int *out);
  int (*group_size)(long group, int *size);
  int (*group_free)(void *group);
  int (*type_extent)(long type, long *lower, long *extent);
  int (*type_true_extent)(long type, long *lower, long *extent);
  int (*topo_test)(long comm, int *kind);
  int (*cartdim_get)(long comm, int *dimensions);
  int (*cart_shift)(long comm, int dimension, int steps, int *source, int *target);
  int (*graph_neighbors_count)(long comm, int rank, int *count);
  int (*graph_neighbors)(long comm, int rank, int most, int *neighbours);
  int (*dist_graph_neighbors_count)(long comm, int *sources, int *targets, int *weighted);
  int (*dist_graph_neighbors)(long comm, int sources, int *source, int *source_weights, int targets, int *target,
                              int *target_weights);
};
extern struct exanet_mpi_library exanet_mpi;

/* The program's copy of the library's object, which stands in its place where the program is linked without
   position-independent code. */
void *exanet_mpi_object(const char *name, void *(*find)(const char *name));

/* A function of the library, and where its address goes; the last of a list has no name. */
struct exanet_wanted {
  const char *name;
  void *to;
};
/* False where the library lacks one, but for those of large counts, which end in _c: not every MPI has them. */
bool exanet_mpi_functions(void *(*find)(const char *name), const struct exanet_wanted *wanted);

/* NULL, or why this MPI is not recorded. */
const char *exanet_mpi_find_out(void *(*find)(const char *name));

/* A handle that an argument is, or that is stored at an address. */
static inline uint64_t exanet_handle_of(long argument) {
  return exanet_mpi.handle_bytes == 4 ? (uint32_t)argument : (uint64_t)argument;
}
static inline long exanet_handle_at(long address, long index) {
  return exanet_mpi.handle_bytes == 4 ? ((const int *)address)[index] : ((const long *)address)[index];
}
static inline uint64_t exanet_type_bytes_of(long type) {
  int bytes = 0;
  return exanet_mpi.type_size(type, &bytes) == 0 && bytes > 0 ? (uint64_t)bytes : 0;
}
#endif
