/* SPDX-License-Identifier: Apache-2.0
 * The MPI calls that the clock shim stands in front of, one line each; a call's index in the profile is its position in
 * this list. The simulator prints the same names, so both sides include this file.
 *
 * X(name, kind, counts). Kinds: PLAIN; BLOCKING, a call that waits for messages and polls for nothing else; TEST, one
 * that asks whether something has happened and returns at once; IMMEDIATE, one that begins or ends something and waits
 * for nobody; ONE_SIDED, one on a window; OWN, one with a wrapper of its own; PERSISTENT, one that makes a persistent
 * collective, which waits for nobody and which not every MPI has (runtime/persistent); NEWER, another one that waits
 * for nobody and that not every MPI has. The kinds with _LARGE have a large-count variant MPI_<name>_c, whose calls are
 * counted under the same name and in which argument i is an MPI_Count if bit i of `counts` is set. Of the others only
 * functions that every supported MPI has are listed: programs probe for newer ones by weak symbols, which a wrapper of
 * ours would wrongly satisfy.
 *
 * Source of names, argument positions and the _c variants: the MPI standard, version 4.1, annex A.
 */
#ifndef EXANET_MPI_CALLS_H
#define EXANET_MPI_CALLS_H

#include <stdint.h>

/* clang-format off */
#define EXANET_MPI_CALL_LIST(X)                             \
  /* start and end */                                       \
  X(Init, OWN, 0)                                           \
  X(Init_thread, OWN, 0)                                    \
  X(Finalize, OWN, 0)                                       \
  X(Abort, OWN, 0)                                          \
  /* point to point */                                      \
  X(Send, BLOCKING_LARGE, 1u << 1)                          \
  X(Bsend, IMMEDIATE_LARGE, 1u << 1)                        \
  X(Ssend, BLOCKING_LARGE, 1u << 1)                         \
  X(Rsend, BLOCKING_LARGE, 1u << 1)                         \
  X(Isend, IMMEDIATE_LARGE, 1u << 1)                        \
  X(Ibsend, IMMEDIATE_LARGE, 1u << 1)                       \
  X(Issend, IMMEDIATE_LARGE, 1u << 1)                       \
  X(Irsend, IMMEDIATE_LARGE, 1u << 1)                       \
  X(Send_init, IMMEDIATE_LARGE, 1u << 1)                    \
  X(Bsend_init, IMMEDIATE_LARGE, 1u << 1)                   \
  X(Ssend_init, IMMEDIATE_LARGE, 1u << 1)                   \
  X(Rsend_init, IMMEDIATE_LARGE, 1u << 1)                   \
  X(Recv_init, IMMEDIATE_LARGE, 1u << 1)                    \
  X(Recv, BLOCKING_LARGE, 1u << 1)                          \
  X(Irecv, IMMEDIATE_LARGE, 1u << 1)                        \
  X(Mrecv, BLOCKING_LARGE, 1u << 1)                         \
  X(Imrecv, IMMEDIATE_LARGE, 1u << 1)                       \
  X(Sendrecv, BLOCKING_LARGE, 1u << 1 | 1u << 6)            \
  X(Sendrecv_replace, BLOCKING_LARGE, 1u << 1)              \
  X(Start, IMMEDIATE, 0)                                    \
  X(Startall, IMMEDIATE, 0)                                 \
  X(Probe, BLOCKING, 0)                                     \
  X(Mprobe, BLOCKING, 0)                                    \
  X(Wait, BLOCKING, 0)                                      \
  X(Waitany, BLOCKING, 0)                                   \
  X(Waitsome, BLOCKING, 0)                                  \
  X(Waitall, BLOCKING, 0)                                   \
  X(Cancel, IMMEDIATE, 0)                                   \
  X(Request_free, IMMEDIATE, 0)                             \
  X(Buffer_detach, PLAIN, 0)                                \
  X(Iprobe, TEST, 0)                                        \
  X(Improbe, TEST, 0)                                       \
  X(Test, TEST, 0)                                          \
  X(Testany, TEST, 0)                                       \
  X(Testsome, TEST, 0)                                      \
  X(Testall, TEST, 0)                                       \
  X(Request_get_status, TEST, 0)                            \
  /* collectives */                                         \
  X(Barrier, BLOCKING, 0)                                   \
  X(Bcast, BLOCKING_LARGE, 1u << 1)                         \
  X(Gather, BLOCKING_LARGE, 1u << 1 | 1u << 4)              \
  X(Gatherv, BLOCKING, 0)                                   \
  X(Scatter, BLOCKING_LARGE, 1u << 1 | 1u << 4)             \
  X(Scatterv, BLOCKING, 0)                                  \
  X(Allgather, BLOCKING_LARGE, 1u << 1 | 1u << 4)           \
  X(Allgatherv, BLOCKING, 0)                                \
  X(Alltoall, BLOCKING_LARGE, 1u << 1 | 1u << 4)            \
  X(Alltoallv, BLOCKING, 0)                                 \
  X(Alltoallw, BLOCKING, 0)                                 \
  X(Reduce, BLOCKING_LARGE, 1u << 2)                        \
  X(Allreduce, BLOCKING_LARGE, 1u << 2)                     \
  X(Reduce_scatter, BLOCKING, 0)                            \
  X(Reduce_scatter_block, BLOCKING_LARGE, 1u << 2)          \
  X(Scan, BLOCKING_LARGE, 1u << 2)                          \
  X(Exscan, BLOCKING_LARGE, 1u << 2)                        \
  X(Ibarrier, IMMEDIATE, 0)                                 \
  X(Ibcast, IMMEDIATE_LARGE, 1u << 1)                       \
  X(Igather, IMMEDIATE_LARGE, 1u << 1 | 1u << 4)            \
  X(Igatherv, IMMEDIATE, 0)                                 \
  X(Iscatter, IMMEDIATE_LARGE, 1u << 1 | 1u << 4)           \
  X(Iscatterv, IMMEDIATE, 0)                                \
  X(Iallgather, IMMEDIATE_LARGE, 1u << 1 | 1u << 4)         \
  X(Iallgatherv, IMMEDIATE, 0)                              \
  X(Ialltoall, IMMEDIATE_LARGE, 1u << 1 | 1u << 4)          \
  X(Ialltoallv, IMMEDIATE, 0)                               \
  X(Ialltoallw, IMMEDIATE, 0)                               \
  X(Ireduce, IMMEDIATE_LARGE, 1u << 2)                      \
  X(Iallreduce, IMMEDIATE_LARGE, 1u << 2)                   \
  X(Ireduce_scatter, IMMEDIATE, 0)                          \
  X(Ireduce_scatter_block, IMMEDIATE_LARGE, 1u << 2)        \
  X(Iscan, IMMEDIATE_LARGE, 1u << 2)                        \
  X(Iexscan, IMMEDIATE_LARGE, 1u << 2)                      \
  X(Neighbor_allgather, BLOCKING_LARGE, 1u << 1 | 1u << 4)  \
  X(Neighbor_allgatherv, BLOCKING, 0)                       \
  X(Neighbor_alltoall, BLOCKING_LARGE, 1u << 1 | 1u << 4)   \
  X(Neighbor_alltoallv, BLOCKING, 0)                        \
  X(Neighbor_alltoallw, BLOCKING, 0)                        \
  X(Ineighbor_allgather, IMMEDIATE_LARGE, 1u << 1 | 1u << 4)\
  X(Ineighbor_allgatherv, IMMEDIATE, 0)                     \
  X(Ineighbor_alltoall, IMMEDIATE_LARGE, 1u << 1 | 1u << 4) \
  X(Ineighbor_alltoallv, IMMEDIATE, 0)                      \
  X(Ineighbor_alltoallw, IMMEDIATE, 0)                      \
  /* persistent collectives */                               \
  X(Barrier_init, PERSISTENT, 0)                            \
  X(Bcast_init, PERSISTENT, 0)                              \
  X(Gather_init, PERSISTENT, 0)                             \
  X(Gatherv_init, PERSISTENT, 0)                            \
  X(Scatter_init, PERSISTENT, 0)                            \
  X(Scatterv_init, PERSISTENT, 0)                           \
  X(Allgather_init, PERSISTENT, 0)                          \
  X(Allgatherv_init, PERSISTENT, 0)                         \
  X(Alltoall_init, PERSISTENT, 0)                           \
  X(Alltoallv_init, PERSISTENT, 0)                          \
  X(Alltoallw_init, PERSISTENT, 0)                          \
  X(Reduce_init, PERSISTENT, 0)                             \
  X(Allreduce_init, PERSISTENT, 0)                          \
  X(Reduce_scatter_init, PERSISTENT, 0)                     \
  X(Reduce_scatter_block_init, PERSISTENT, 0)               \
  X(Scan_init, PERSISTENT, 0)                               \
  X(Exscan_init, PERSISTENT, 0)                             \
  X(Neighbor_allgather_init, PERSISTENT, 0)                 \
  X(Neighbor_allgatherv_init, PERSISTENT, 0)                \
  X(Neighbor_alltoall_init, PERSISTENT, 0)                  \
  X(Neighbor_alltoallv_init, PERSISTENT, 0)                 \
  X(Neighbor_alltoallw_init, PERSISTENT, 0)                 \
  /* point to point of MPI 4, whose messages are not recorded */\
  X(Psend_init, NEWER, 0)                                   \
  X(Precv_init, NEWER, 0)                                   \
  X(Isendrecv, NEWER, 0)                                    \
  X(Isendrecv_replace, NEWER, 0)                            \
  /* one-sided */                                           \
  X(Put, ONE_SIDED_LARGE, 1u << 1 | 1u << 5)                \
  X(Get, ONE_SIDED_LARGE, 1u << 1 | 1u << 5)                \
  X(Accumulate, ONE_SIDED_LARGE, 1u << 1 | 1u << 5)         \
  X(Get_accumulate, ONE_SIDED_LARGE, 1u << 1 | 1u << 4 | 1u << 8)\
  X(Fetch_and_op, ONE_SIDED, 0)                             \
  X(Compare_and_swap, ONE_SIDED, 0)                         \
  X(Rput, ONE_SIDED_LARGE, 1u << 1 | 1u << 5)               \
  X(Rget, ONE_SIDED_LARGE, 1u << 1 | 1u << 5)               \
  X(Raccumulate, ONE_SIDED_LARGE, 1u << 1 | 1u << 5)        \
  X(Rget_accumulate, ONE_SIDED_LARGE, 1u << 1 | 1u << 4 | 1u << 8)\
  X(Win_fence, ONE_SIDED, 0)                                \
  X(Win_start, ONE_SIDED, 0)                                \
  X(Win_complete, ONE_SIDED, 0)                             \
  X(Win_post, ONE_SIDED, 0)                                 \
  X(Win_wait, ONE_SIDED, 0)                                 \
  X(Win_test, TEST, 0)                                      \
  X(Win_lock, ONE_SIDED, 0)                                 \
  X(Win_lock_all, ONE_SIDED, 0)                             \
  X(Win_unlock, ONE_SIDED, 0)                               \
  X(Win_unlock_all, ONE_SIDED, 0)                           \
  X(Win_flush, ONE_SIDED, 0)                                \
  X(Win_flush_all, ONE_SIDED, 0)                            \
  X(Win_flush_local, ONE_SIDED, 0)                          \
  X(Win_flush_local_all, ONE_SIDED, 0)                      \
  X(Win_create, ONE_SIDED_LARGE, 1u << 2)                   \
  X(Win_create_dynamic, ONE_SIDED, 0)                       \
  X(Win_allocate, ONE_SIDED_LARGE, 1u << 1)                 \
  X(Win_allocate_shared, ONE_SIDED_LARGE, 1u << 1)          \
  X(Win_free, ONE_SIDED, 0)                                 \
  /* communicators */                                       \
  X(Comm_dup, PLAIN, 0)                                     \
  X(Comm_idup, IMMEDIATE, 0)                                \
  X(Comm_dup_with_info, PLAIN, 0)                           \
  X(Comm_split, PLAIN, 0)                                   \
  X(Comm_split_type, PLAIN, 0)                              \
  X(Comm_create, PLAIN, 0)                                  \
  X(Comm_create_group, PLAIN, 0)                            \
  X(Comm_free, PLAIN, 0)                                    \
  X(Comm_disconnect, PLAIN, 0)                              \
  X(Intercomm_create, PLAIN, 0)                             \
  X(Intercomm_merge, PLAIN, 0)                              \
  X(Cart_create, PLAIN, 0)                                  \
  X(Cart_sub, PLAIN, 0)                                     \
  X(Graph_create, PLAIN, 0)                                 \
  X(Dist_graph_create, PLAIN, 0)                            \
  X(Dist_graph_create_adjacent, PLAIN, 0)                   \
  /* files */                                               \
  X(File_open, PLAIN, 0)                                    \
  X(File_close, PLAIN, 0)                                   \
  X(File_set_view, PLAIN, 0)                                \
  X(File_read, PLAIN_LARGE, 1u << 2)                        \
  X(File_read_all, PLAIN_LARGE, 1u << 2)                    \
  X(File_read_at, PLAIN_LARGE, 1u << 3)                     \
  X(File_read_at_all, PLAIN_LARGE, 1u << 3)                 \
  X(File_write, PLAIN_LARGE, 1u << 2)                       \
  X(File_write_all, PLAIN_LARGE, 1u << 2)                   \
  X(File_write_at, PLAIN_LARGE, 1u << 3)                    \
  X(File_write_at_all, PLAIN_LARGE, 1u << 3)                \
  X(File_sync, PLAIN, 0)
/* clang-format on */

/* MPI's fault tolerance (runtime/tolerance), whose names begin with MPIX_: X(name, kind). Source: the headers of MPICH
 * 5.0 and Open MPI 5.0, those calls that both have. */
#define EXANET_MPI_TOLERANCE_LIST(X) \
  X(Comm_revoke, PLAIN)              \
  X(Comm_shrink, BLOCKING)           \
  X(Comm_agree, BLOCKING)            \
  X(Comm_failure_ack, PLAIN)         \
  X(Comm_failure_get_acked, PLAIN)   \
  X(Comm_get_failed, PLAIN)

enum exanet_mpi_call {
#define EXANET_MPI_ENUM(name, kind, counts) EXANET_MPI_##name,
  EXANET_MPI_CALL_LIST(EXANET_MPI_ENUM)
#undef EXANET_MPI_ENUM
#define EXANET_MPI_ENUM(name, kind) EXANET_MPI_##name,
      EXANET_MPI_TOLERANCE_LIST(EXANET_MPI_ENUM)
#undef EXANET_MPI_ENUM
          EXANET_MPI_CALL_COUNT
};

static inline int exanet_mpi_call_is_persistent(uint32_t call) {
  return call >= EXANET_MPI_Barrier_init && call <= EXANET_MPI_Neighbor_alltoallw_init;
}

/* Any MPI call (runtime/clock/calls.c). */
#define EXANET_MPI_ARGUMENTS \
  long a0, long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8, long a9, long a10, long a11, long a12
#define EXANET_MPI_PASSED a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12
typedef long (*exanet_mpi_function)(EXANET_MPI_ARGUMENTS);

#define EXANET_MPI_NAME(name, kind, counts) "MPI_" #name,
#define EXANET_MPIX_NAME(name, kind) "MPIX_" #name,
static const char *const exanet_mpi_call_names[] = {EXANET_MPI_CALL_LIST(EXANET_MPI_NAME)
                                                        EXANET_MPI_TOLERANCE_LIST(EXANET_MPIX_NAME)};
#undef EXANET_MPIX_NAME
#undef EXANET_MPI_NAME

/* "" for an index outside the list. */
static inline const char *exanet_mpi_call_name(uint32_t call) {
  return call < EXANET_MPI_CALL_COUNT ? exanet_mpi_call_names[call] : "";
}
#endif
