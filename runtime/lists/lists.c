/* SPDX-License-Identifier: Apache-2.0
 * Collectives with counts and displacements for each rank, in MPI 4's large-count form (MPI_Gatherv_c …).
 *
 * A shared object of its own, preloaded only where the program's MPI has these functions: programs probe for them by weak symbols, and the plain ones
 * cannot stand in for them, since arrays of int and of MPI_Count differ. They are counted under the plain call's name. */
#include "exanet/mpi_calls.h"
#include "runtime/clock/clock.h"

#define ARGUMENTS long a0, long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8, long a9
#define LIST(symbol, name, kind)                                                                     \
  EXPORT long symbol(ARGUMENTS);                                                                     \
  EXPORT long symbol(ARGUMENTS) {                                                                    \
    static void *slot;                                                                               \
    const long arguments[] = {a0, a1, a2, a3, a4, a5, a6, a7, a8, a9};                               \
    return exanet_call_with_lists(&slot, #symbol, EXANET_MPI_##name, EXANET_CALL_##kind, arguments); \
  }
#define LISTS(name, kind)          \
  LIST(MPI_##name##_c, name, kind) \
  LIST(PMPI_##name##_c, name, kind)

LISTS(Gatherv, BLOCKING)
LISTS(Scatterv, BLOCKING)
LISTS(Allgatherv, BLOCKING)
LISTS(Alltoallv, BLOCKING)
LISTS(Alltoallw, BLOCKING)
LISTS(Reduce_scatter, BLOCKING)
LISTS(Igatherv, IMMEDIATE)
LISTS(Iscatterv, IMMEDIATE)
LISTS(Iallgatherv, IMMEDIATE)
LISTS(Ialltoallv, IMMEDIATE)
LISTS(Ialltoallw, IMMEDIATE)
LISTS(Ireduce_scatter, IMMEDIATE)
LISTS(Neighbor_allgatherv, BLOCKING)
LISTS(Neighbor_alltoallv, BLOCKING)
LISTS(Neighbor_alltoallw, BLOCKING)
LISTS(Ineighbor_allgatherv, IMMEDIATE)
LISTS(Ineighbor_alltoallv, IMMEDIATE)
LISTS(Ineighbor_alltoallw, IMMEDIATE)
