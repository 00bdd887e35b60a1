/* SPDX-License-Identifier: Apache-2.0
 * Declares the stream of a rank's MPI calls: what the recorder writes and the reader reads.
 *
 * A stream is a header of 32 bytes and then records, one a call, in the order in which the calls returned. A record is a code (a byte), the number of
 * bytes of its fields, and its fields: whole numbers, each in groups of seven bits, lowest first, the highest bit of a byte saying that more follow
 * (LEB128). A byte of 0 in the place of a code, or the end of the file, ends the stream. The first three fields of every record are times in
 * picoseconds: computing since the last record, computing of the MPI library inside the call, and virtual time that the call took. The rest depends on the
 * code's form.
 *
 *   MESSAGE     communicator, peer, tag, bytes, request (0: none)
 *   EXCHANGE    communicator, then peer, tag and bytes of what is sent, then the same of what is received
 *   REQUESTS    requests that the call began, completed or gave up
 *   PROBE       communicator, peer, tag, whether a message was there
 *   COLLECTIVE  communicator, root, request (0: none), flags, bytes of an element, bytes sent, bytes received, and two lists of bytes by rank
 *               (a number and so many entries each): sent and received, empty unless the call has a count for each rank
 *   CREATE      communicator that it was made from, communicator made (0: the rank is no member), flags; then its members and, of an
 *               intercommunicator, the remote ones, as world ranks (a number and so many entries each)
 *   NEIGHBOURS  communicator, request (0: none), and four lists (a number and so many entries each): peers that the rank receives from, bytes from each,
 *               peers that it sends to, bytes to each
 *   WINDOW      communicator, window made, bytes of the rank's own memory in it
 *   ACCESS      window, peer, request (0: none), flags, bytes sent, bytes that come back
 *   SYNCHRONISE window, peer, flags, and a list of world ranks (a number and so many entries)
 *   END         none
 *   UNRECORDED  characters of the name of a call that messages depend on and that is not recorded; once for each name
 *
 * A peer is 0 for no process, 1 for any, and otherwise a rank of MPI_COMM_WORLD and 2; a tag is 0 for any, otherwise the tag and 1. Communicator 1 is
 * MPI_COMM_WORLD, 2 MPI_COMM_SELF; requests and communicators are numbered from 1 and 3, and numbers of requests are used again. Windows are numbered from 1.
 *
 * Version 2 has the calls of windows and neighbours; what else it has is as in version 1. */
#ifndef EXANET_REPLAY_TRACE_FORMAT_H
#define EXANET_REPLAY_TRACE_FORMAT_H

#include <stdint.h>

#define EXANET_TRACE_MAGIC "EXNTRACE"
#define EXANET_TRACE_VERSION 2 /* which is written */
#define EXANET_TRACE_OLDEST 1 /* which is read */

enum exanet_trace_mpi { EXANET_TRACE_MPICH = 1, EXANET_TRACE_OPEN_MPI = 2 };

struct exanet_trace_header {
  char magic[8];
  uint32_t version;
  uint32_t mpi; /* enum exanet_trace_mpi */
  uint32_t rank, ranks;
  uint64_t reserved;
};

enum exanet_trace_form {
  EXANET_TRACE_NO_FORM,
  EXANET_TRACE_MESSAGE,
  EXANET_TRACE_EXCHANGE,
  EXANET_TRACE_REQUESTS,
  EXANET_TRACE_PROBE,
  EXANET_TRACE_COLLECTIVE,
  EXANET_TRACE_CREATE,
  EXANET_TRACE_NEIGHBOURS,
  EXANET_TRACE_WINDOW,
  EXANET_TRACE_ACCESS,
  EXANET_TRACE_SYNCHRONISE,
  EXANET_TRACE_ENDING,
  EXANET_TRACE_NAME
};

/* Flags of collectives, and of communicators. */
#define EXANET_TRACE_BUILT_IN 1u     /* the reduction's operation is one of MPI's own */
#define EXANET_TRACE_COMMUTATIVE 2u  /* it commutes */
#define EXANET_TRACE_IN_PLACE 4u
#define EXANET_TRACE_IS_ROOT 8u
#define EXANET_TRACE_INTER 1u /* an intercommunicator */
#define EXANET_TRACE_OF_WORLD 2u /* its members are those of MPI_COMM_WORLD, which are not listed */
#define EXANET_TRACE_REORDERED 4u /* MPI was allowed to give its members other ranks */

/* Flags of accesses to windows, and of their synchronisation. */
#define EXANET_TRACE_CONTIGUOUS 1u /* one piece of memory at the target */
#define EXANET_TRACE_EXCLUSIVE 1u /* a lock */
#define EXANET_TRACE_UNCHECKED 2u /* by MPI_MODE_NOCHECK */
#define EXANET_TRACE_IN_VAIN 4u /* a test that was false */

#define EXANET_TRACE_WORLD 1u
#define EXANET_TRACE_SELF 2u

/* X(name, code, form): codes are never given anew. */
/* clang-format off */
#define EXANET_TRACE_CALLS(X)              \
  X(Send, 1, MESSAGE)                      \
  X(Bsend, 2, MESSAGE)                     \
  X(Ssend, 3, MESSAGE)                     \
  X(Rsend, 4, MESSAGE)                     \
  X(Isend, 5, MESSAGE)                     \
  X(Ibsend, 6, MESSAGE)                    \
  X(Issend, 7, MESSAGE)                    \
  X(Irsend, 8, MESSAGE)                    \
  X(Send_init, 9, MESSAGE)                 \
  X(Bsend_init, 10, MESSAGE)               \
  X(Ssend_init, 11, MESSAGE)               \
  X(Rsend_init, 12, MESSAGE)               \
  X(Recv, 13, MESSAGE)                     \
  X(Irecv, 14, MESSAGE)                    \
  X(Recv_init, 15, MESSAGE)                \
  X(Mrecv, 16, MESSAGE)                    \
  X(Imrecv, 17, MESSAGE)                   \
  X(Sendrecv, 18, EXCHANGE)                \
  X(Sendrecv_replace, 19, EXCHANGE)        \
  X(Start, 20, REQUESTS)                   \
  X(Startall, 21, REQUESTS)                \
  X(Wait, 22, REQUESTS)                    \
  X(Waitany, 23, REQUESTS)                 \
  X(Waitsome, 24, REQUESTS)                \
  X(Waitall, 25, REQUESTS)                 \
  X(Test, 26, REQUESTS)                    \
  X(Testany, 27, REQUESTS)                 \
  X(Testsome, 28, REQUESTS)                \
  X(Testall, 29, REQUESTS)                 \
  X(Request_get_status, 30, REQUESTS)      \
  X(Request_free, 31, REQUESTS)            \
  X(Cancel, 32, REQUESTS)                  \
  X(Probe, 33, PROBE)                      \
  X(Mprobe, 34, PROBE)                     \
  X(Iprobe, 35, PROBE)                     \
  X(Improbe, 36, PROBE)                    \
  X(Barrier, 40, COLLECTIVE)               \
  X(Bcast, 41, COLLECTIVE)                 \
  X(Gather, 42, COLLECTIVE)                \
  X(Gatherv, 43, COLLECTIVE)               \
  X(Scatter, 44, COLLECTIVE)               \
  X(Scatterv, 45, COLLECTIVE)              \
  X(Allgather, 46, COLLECTIVE)             \
  X(Allgatherv, 47, COLLECTIVE)            \
  X(Alltoall, 48, COLLECTIVE)              \
  X(Alltoallv, 49, COLLECTIVE)             \
  X(Alltoallw, 50, COLLECTIVE)             \
  X(Reduce, 51, COLLECTIVE)                \
  X(Allreduce, 52, COLLECTIVE)             \
  X(Reduce_scatter, 53, COLLECTIVE)        \
  X(Reduce_scatter_block, 54, COLLECTIVE)  \
  X(Scan, 55, COLLECTIVE)                  \
  X(Exscan, 56, COLLECTIVE)                \
  X(Ibarrier, 60, COLLECTIVE)              \
  X(Ibcast, 61, COLLECTIVE)                \
  X(Igather, 62, COLLECTIVE)               \
  X(Igatherv, 63, COLLECTIVE)              \
  X(Iscatter, 64, COLLECTIVE)              \
  X(Iscatterv, 65, COLLECTIVE)             \
  X(Iallgather, 66, COLLECTIVE)            \
  X(Iallgatherv, 67, COLLECTIVE)           \
  X(Ialltoall, 68, COLLECTIVE)             \
  X(Ialltoallv, 69, COLLECTIVE)            \
  X(Ialltoallw, 70, COLLECTIVE)            \
  X(Ireduce, 71, COLLECTIVE)               \
  X(Iallreduce, 72, COLLECTIVE)            \
  X(Ireduce_scatter, 73, COLLECTIVE)       \
  X(Ireduce_scatter_block, 74, COLLECTIVE) \
  X(Iscan, 75, COLLECTIVE)                 \
  X(Iexscan, 76, COLLECTIVE)               \
  X(Comm_dup, 80, CREATE)                  \
  X(Comm_dup_with_info, 81, CREATE)        \
  X(Comm_split, 82, CREATE)                \
  X(Comm_split_type, 83, CREATE)           \
  X(Comm_create, 84, CREATE)               \
  X(Comm_create_group, 85, CREATE)         \
  X(Intercomm_create, 86, CREATE)          \
  X(Intercomm_merge, 87, CREATE)           \
  X(Cart_create, 88, CREATE)               \
  X(Cart_sub, 89, CREATE)                  \
  X(Graph_create, 90, CREATE)              \
  X(Dist_graph_create, 91, CREATE)         \
  X(Dist_graph_create_adjacent, 92, CREATE) \
  X(Comm_idup, 93, CREATE)                 \
  X(Neighbor_allgather, 140, NEIGHBOURS)   \
  X(Neighbor_allgatherv, 141, NEIGHBOURS)  \
  X(Neighbor_alltoall, 142, NEIGHBOURS)    \
  X(Neighbor_alltoallv, 143, NEIGHBOURS)   \
  X(Neighbor_alltoallw, 144, NEIGHBOURS)   \
  X(Ineighbor_allgather, 145, NEIGHBOURS)  \
  X(Ineighbor_allgatherv, 146, NEIGHBOURS) \
  X(Ineighbor_alltoall, 147, NEIGHBOURS)   \
  X(Ineighbor_alltoallv, 148, NEIGHBOURS)  \
  X(Ineighbor_alltoallw, 149, NEIGHBOURS)  \
  X(Put, 160, ACCESS)                      \
  X(Get, 161, ACCESS)                      \
  X(Accumulate, 162, ACCESS)               \
  X(Get_accumulate, 163, ACCESS)           \
  X(Fetch_and_op, 164, ACCESS)             \
  X(Compare_and_swap, 165, ACCESS)         \
  X(Rput, 166, ACCESS)                     \
  X(Rget, 167, ACCESS)                     \
  X(Raccumulate, 168, ACCESS)              \
  X(Rget_accumulate, 169, ACCESS)          \
  X(Win_create, 170, WINDOW)               \
  X(Win_allocate, 171, WINDOW)             \
  X(Win_allocate_shared, 172, WINDOW)      \
  X(Win_create_dynamic, 173, WINDOW)       \
  X(Win_free, 174, SYNCHRONISE)            \
  X(Win_fence, 175, SYNCHRONISE)           \
  X(Win_start, 176, SYNCHRONISE)           \
  X(Win_complete, 177, SYNCHRONISE)        \
  X(Win_post, 178, SYNCHRONISE)            \
  X(Win_wait, 179, SYNCHRONISE)            \
  X(Win_test, 180, SYNCHRONISE)            \
  X(Win_lock, 181, SYNCHRONISE)            \
  X(Win_unlock, 182, SYNCHRONISE)          \
  X(Win_lock_all, 183, SYNCHRONISE)        \
  X(Win_unlock_all, 184, SYNCHRONISE)      \
  X(Win_flush, 185, SYNCHRONISE)           \
  X(Win_flush_local, 186, SYNCHRONISE)     \
  X(Win_flush_all, 187, SYNCHRONISE)       \
  X(Win_flush_local_all, 188, SYNCHRONISE) \
  X(Finalize, 100, ENDING)
/* clang-format on */

enum exanet_trace_code {
#define EXANET_TRACE_ENUM(name, code, form) EXANET_TRACE_##name = code,
  EXANET_TRACE_CALLS(EXANET_TRACE_ENUM)
#undef EXANET_TRACE_ENUM
      EXANET_TRACE_COMMUNICATOR = 101, /* a communicator that no recorded call has made */
  EXANET_TRACE_UNRECORDED = 102,
  EXANET_TRACE_WINDOW_MADE = 103 /* a window that no recorded call has made */
};

/* The offset between a blocking collective's code and that of its nonblocking form. */
#define EXANET_TRACE_NONBLOCKING 20
#endif
