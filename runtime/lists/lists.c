/* SPDX-License-Identifier: Apache-2.0
 * Collectives with counts and displacements for each rank, in MPI 4's large-count form (MPI_Gatherv_c …), and MPI
 * 4's other calls in that form.
 *
 * A shared object of its own, preloaded only where the program's MPI has these functions: programs probe for them by
 * weak symbols, and the plain ones cannot stand in for them, since arrays of int and of MPI_Count differ. They are
 * counted under the plain call's name. */
#include "exanet/mpi_calls.h"
#include "runtime/clock/clock.h"

#define LIST(symbol, name, kind)                                                                       \
  EXPORT long symbol(EXANET_MPI_ARGUMENTS);                                                            \
  EXPORT long symbol(EXANET_MPI_ARGUMENTS) {                                                           \
    static void *slot;                                                                                 \
    const long arguments[] = {EXANET_MPI_PASSED};                                                      \
    return exanet_call_beside(&slot, #symbol, EXANET_MPI_##name, EXANET_CALL_##kind, true, arguments); \
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

LISTS(Bcast_init, IMMEDIATE)
LISTS(Gather_init, IMMEDIATE)
LISTS(Gatherv_init, IMMEDIATE)
LISTS(Scatter_init, IMMEDIATE)
LISTS(Scatterv_init, IMMEDIATE)
LISTS(Allgather_init, IMMEDIATE)
LISTS(Allgatherv_init, IMMEDIATE)
LISTS(Alltoall_init, IMMEDIATE)
LISTS(Alltoallv_init, IMMEDIATE)
LISTS(Alltoallw_init, IMMEDIATE)
LISTS(Reduce_init, IMMEDIATE)
LISTS(Allreduce_init, IMMEDIATE)
LISTS(Reduce_scatter_init, IMMEDIATE)
LISTS(Reduce_scatter_block_init, IMMEDIATE)
LISTS(Scan_init, IMMEDIATE)
LISTS(Exscan_init, IMMEDIATE)
LISTS(Neighbor_allgather_init, IMMEDIATE)
LISTS(Neighbor_allgatherv_init, IMMEDIATE)
LISTS(Neighbor_alltoall_init, IMMEDIATE)
LISTS(Neighbor_alltoallv_init, IMMEDIATE)
LISTS(Neighbor_alltoallw_init, IMMEDIATE)
LISTS(Isendrecv, IMMEDIATE)
LISTS(Isendrecv_replace, IMMEDIATE)
