/* SPDX-License-Identifier: Apache-2.0
 * A call of MPI as a live rank hands it to the simulator, which carries it out and writes the answers beside it.
 *
 * Calls are known by the codes of the stream of recorded calls (trace_format.h). Rank and simulator share one address
 * space, so that addresses are the rank's own. The rank waits meanwhile; calls that wait for nobody are posted in a
 * chain, before the next one that it waits for, and the rank adds to its clock what they cost. What the start of a
 * collective costs it asks, with the collective's own record. */
#ifndef EXANET_REPLAY_LIVE_CALL_H
#define EXANET_REPLAY_LIVE_CALL_H

#include <stdint.h>

#define EXANET_LIVE_ANY 0xffffffffu /* as a source or tag: any */
#define EXANET_LIVE_NOBODY 0xfffffffeu /* as a peer: no process */

/* Calls that are not recorded, among the codes of those that are. */
enum exanet_live_code {
  EXANET_LIVE_ISENDRECV = 256, /* MPI_Isendrecv */
  EXANET_LIVE_REVOKE, /* MPIX_Comm_revoke and its kin */
  EXANET_LIVE_SHRINK,
  EXANET_LIVE_AGREE,
  EXANET_LIVE_ACKNOWLEDGE,
  EXANET_LIVE_ACKNOWLEDGED,
  EXANET_LIVE_FAILED,
  EXANET_LIVE_MADE, /* the communicator of MPIX_Comm_shrink */
  EXANET_LIVE_CHECK, /* whether the communicator's members can carry out a collective call */
  EXANET_LIVE_FATAL /* the failure ends the program */
};

/* How an operation has failed. */
enum exanet_live_error {
  EXANET_LIVE_NO_ERROR,
  EXANET_LIVE_PROCESS_FAILED, /* a rank that it needs has died */
  EXANET_LIVE_MAY_FAIL, /* one that it may need has; it goes on */
  EXANET_LIVE_REVOKED,
  EXANET_LIVE_LOST /* otherwise, on the network */
};

/* A message that is sent, or may be received. Peers are ranks of MPI_COMM_WORLD. */
struct exanet_live_message {
  uint32_t peer, tag;
  uint64_t address, bytes; /* received: space */
};

/* What has been received. */
struct exanet_live_status {
  uint32_t source, tag; /* as above */
  uint64_t bytes; /* of the message, which may exceed the space */
  uint32_t truncated, cancelled;
  uint32_t error, failure; /* enum exanet_live_error, and the number of the failure */
};

/* What another member has brought to a collective. */
struct exanet_live_part {
  const void *data;
  uint64_t bytes;
};

struct exanet_live_result;

/* Memory of a program's: `bytes` at an address, or in blocks, which are listed then. */
struct exanet_live_block {
  uint64_t address, bytes;
};
struct exanet_live_memory {
  uint64_t address, bytes;
  const struct exanet_live_block *blocks;
  uint32_t block_count;
};

/* What an accumulate computes, in the order of MPICH's numbers. */
enum exanet_live_operation {
  EXANET_LIVE_MAX = 1,
  EXANET_LIVE_MIN,
  EXANET_LIVE_SUM,
  EXANET_LIVE_PROD,
  EXANET_LIVE_LAND,
  EXANET_LIVE_BAND,
  EXANET_LIVE_LOR,
  EXANET_LIVE_BOR,
  EXANET_LIVE_LXOR,
  EXANET_LIVE_BXOR,
  EXANET_LIVE_MINLOC,
  EXANET_LIVE_MAXLOC,
  EXANET_LIVE_REPLACE,
  EXANET_LIVE_NO_OP
};

/* On elements of what type; pairs are a value and an index, without a gap. */
enum exanet_live_type {
  EXANET_LIVE_BYTES,
  EXANET_LIVE_I8,
  EXANET_LIVE_U8,
  EXANET_LIVE_I16,
  EXANET_LIVE_U16,
  EXANET_LIVE_I32,
  EXANET_LIVE_U32,
  EXANET_LIVE_I64,
  EXANET_LIVE_U64,
  EXANET_LIVE_F32,
  EXANET_LIVE_F64,
  EXANET_LIVE_F80,
  EXANET_LIVE_C32,
  EXANET_LIVE_C64,
  EXANET_LIVE_C80,
  EXANET_LIVE_I16_I32,
  EXANET_LIVE_I32_I32,
  EXANET_LIVE_I64_I32,
  EXANET_LIVE_F32_I32,
  EXANET_LIVE_F64_I32,
  EXANET_LIVE_F80_I32,
  EXANET_LIVE_F32_F32,
  EXANET_LIVE_F64_F64
};

/* What a one-sided call says beside the fields of a recorded one: its window, as its rank counts them, and the other
   rank in MPI_COMM_WORLD, or nobody where it concerns all. */
struct exanet_live_access {
  uint32_t window, peer;
  uint32_t operation, type;
  struct exanet_live_memory origin, result, target; /* target: the other rank's */
  uint64_t compared; /* address of what an MPI_Compare_and_swap expects */
  const uint32_t *ranks; /* of a group */
  uint32_t rank_count;
};

struct exanet_live_call {
  struct exanet_live_call *next; /* of calls that are posted: the one after it */
  uint64_t time_ps; /* when it begins, by the rank's clock */
  uint32_t code; /* enum exanet_trace_code */
  uint32_t asks; /* of a collective that returns at once: 1 it is posted, too, and begins in its turn there */
  uint32_t comm; /* number of the communicator, as its rank counts them; 1 MPI_COMM_WORLD, 2 MPI_COMM_SELF */
  uint32_t
      request; /* of a call that returns at once: the number of its request, free so far; of a matched probe that of
                       the message, and of its receive, where the receive goes on with it as its request */
  struct exanet_live_message sent, received; /* of a collective `sent` is what the rank brings, if anything */
  /* collectives, as in a recorded call; lists of bytes by rank, or NULL */
  uint32_t root, flags;
  uint64_t element_bytes, bytes, receive_bytes;
  const uint64_t *sent_by_rank, *received_by_rank;
  const char *operation; /* of a reduction: its name, alike for all that are the program's own */
  /* of neighbours: their ranks in the communicator, or nobody; bytes sent are those of the destinations */
  const uint32_t *sources, *destinations;
  uint32_t source_count, destination_count;
  uint32_t crossed; /* of several blocks from one neighbour the last place takes the first, else the first */
  /* requests that are waited for, or tested; members of a communicator that has been made, NULL: those of the world */
  const uint32_t *requests, *members;
  uint32_t request_count, member_count;
  const uint32_t *remote_members; /* of an intercommunicator that has been made, else NULL */
  uint32_t remote_member_count;
  const struct exanet_live_access *access; /* of a one-sided call */
  uint32_t value; /* of an agreement, and what has been agreed on */
  /* answers: how the call has failed, of requests where one that is not over may fail; and whether the rank knows of
     any failure, so that nothing is to be posted without asking */
  uint32_t error, failure, knows;
  uint32_t *failed; /* members that have died, as far as it is asked, with space for all */
  uint32_t failed_count;
  /* answers: of a receive or probe one status; of requests one for each that has completed, and its place there */
  struct exanet_live_status *statuses;
  uint32_t *places;
  uint32_t completed; /* of a probe: 1 where there is a message; of MPI_Win_test: 1 where it is over */
  /* answer of a collective: by rank, or by source, what of each is for this one; valid until the rank's next call. That
     of one that returns at once is here once its request has completed, and its record stays valid until then. */
  struct exanet_live_part *parts;
  const char *algorithm; /* by which the collective was carried out */
  struct exanet_live_result *result;
};

/* The result of a reduction that is the same for all members: the first one that needs it computes it. */
struct exanet_live_result {
  uint32_t state; /* enum exanet_live_state */
  uint64_t bytes;
  void *data;
};
enum exanet_live_state { EXANET_LIVE_EMPTY, EXANET_LIVE_COMPUTING, EXANET_LIVE_READY };

#endif
