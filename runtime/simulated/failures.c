// SPDX-License-Identifier: Apache-2.0
// Calls that fail with what they need, and the calls of MPI's fault tolerance (MPIX_Comm_shrink and its kin).
//
// Model: the simulator says how a call has failed, and carries out what members agree on. An error goes to the handler
// of the communicator; where that ends the program, the simulator ends the run, with what has failed. A communicator of
// those who are left is made by the library once all of them know who they are. Limits: intracommunicators.
#include "runtime/simulated/failures.h"

#include <stdlib.h>

/* Classes of errors. Source: the header of MPICH 5.0. */
enum { PROCESS_FAILED = 101, PROCESS_FAILED_PENDING, REVOKED };
#define SHRINK_TAG 0 /* of the library's messages for the group alone, among those of its kind */

int exanet_failure_class(uint32_t error) {
  switch ((enum exanet_live_error)error) {
    case EXANET_LIVE_NO_ERROR: return 0;
    case EXANET_LIVE_PROCESS_FAILED: return PROCESS_FAILED;
    case EXANET_LIVE_MAY_FAIL: return PROCESS_FAILED_PENDING;
    case EXANET_LIVE_REVOKED: return REVOKED;
    case EXANET_LIVE_LOST: break;
  }
  return EXANET_ERR_OTHER;
}

int exanet_simulated_failed(const struct exanet_simulated *s, long comm, uint32_t failure, int code) {
  if (exanet_simulated_ends_program(comm)) {
    struct exanet_live_call fatal = {.code = EXANET_LIVE_FATAL, .failure = failure};
    exanet_live_call(s->ni, &fatal, true);
  }
  return exanet_simulated_error(comm, code);
}

int exanet_simulated_call_failed(const struct exanet_simulated *s, const struct exanet_live_call *call) {
  if (call->error == EXANET_LIVE_NO_ERROR) return 0;
  return exanet_simulated_failed(s, s->comm, call->failure, exanet_failure_class(call->error));
}

int exanet_simulated_check(struct exanet_simulated *s, long handle) {
  const struct exanet_communicator *comm = exanet_communicator_find(handle);
  if (comm == NULL || comm->remote != NULL || !exanet_live_knows_failures()) return 0;
  s->comm = handle;
  struct exanet_live_call call = {.code = EXANET_LIVE_CHECK, .comm = comm->number};
  exanet_live_call(s->ni, &call, false);
  return exanet_simulated_call_failed(s, &call);
}

/* A call on the communicator, with space for a list of its members. */
struct asked {
  const struct exanet_communicator *comm;
  uint32_t *members;
  struct exanet_live_call call;
};

static bool begin(struct exanet_simulated *s, struct asked *q, uint32_t code) {
  *q = (struct asked){.comm = exanet_simulated_intracomm(s, s->a[0])};
  if (q->comm == NULL) return false;
  q->members = exanet_simulated_memory(calloc((size_t)q->comm->size + 1, sizeof *q->members));
  q->call = (struct exanet_live_call){.code = code, .comm = q->comm->number, .failed = q->members};
  return true;
}

/* Of the members in the list, or of the others. */
static int group_of(const struct exanet_simulated *s, const struct asked *q, bool others, void *made) {
  long all = 0;
  int error = exanet_mpi.comm_group(s->comm, &all);
  if (error != 0) return error;
  all = exanet_handle_at((long)&all, 0);
  const int count = (int)q->call.failed_count, *members = (const int *)q->members;
  error = others ? exanet_own.group_excl(all, count, members, made) : exanet_own.group_incl(all, count, members, made);
  exanet_mpi.group_free(&all);
  return error;
}

static long shrink(struct exanet_simulated *s, struct asked *q) {
  exanet_live_call(s->ni, &q->call, true);
  int error = exanet_simulated_call_failed(s, &q->call);
  long left = 0;
  if (error == 0) error = group_of(s, q, true, &left);
  if (error != 0) return error;
  left = exanet_handle_at((long)&left, 0);
  error = exanet_own.comm_create_group(s->comm, left, SHRINK_TAG, (void *)s->a[1]);
  exanet_mpi.group_free(&left);
  if (error == 0) exanet_simulated_made(s, exanet_handle_at(s->a[1], 0));
  return error;
}

static long agree(struct exanet_simulated *s, struct asked *q) {
  q->call.value = (uint32_t)*(int *)s->a[1];
  exanet_live_call(s->ni, &q->call, true);
  *(int *)s->a[1] = (int)q->call.value;
  return exanet_simulated_call_failed(s, &q->call);
}

static uint32_t code_of(uint32_t call) {
  switch (call) {
    case EXANET_MPI_Comm_revoke: return EXANET_LIVE_REVOKE;
    case EXANET_MPI_Comm_shrink: return EXANET_LIVE_SHRINK;
    case EXANET_MPI_Comm_agree: return EXANET_LIVE_AGREE;
    case EXANET_MPI_Comm_failure_ack: return EXANET_LIVE_ACKNOWLEDGE;
    case EXANET_MPI_Comm_failure_get_acked: return EXANET_LIVE_ACKNOWLEDGED;
    default: return EXANET_LIVE_FAILED;
  }
}

/* (comm[, communicator, flag or group]) */
long exanet_simulated_tolerance(struct exanet_simulated *s, uint8_t code) {
  (void)code;
  const uint32_t does = code_of(s->call);
  const bool answers = does != EXANET_LIVE_REVOKE && does != EXANET_LIVE_ACKNOWLEDGE;
  struct asked q;
  if ((answers && s->a[1] == 0) || !begin(s, &q, does)) return exanet_simulated_real(s);
  long result = 0;
  if (does == EXANET_LIVE_SHRINK)
    result = shrink(s, &q);
  else if (does == EXANET_LIVE_AGREE)
    result = agree(s, &q);
  else
    exanet_live_call(s->ni, &q.call, false);
  if (does == EXANET_LIVE_ACKNOWLEDGED || does == EXANET_LIVE_FAILED) result = group_of(s, &q, false, (void *)s->a[1]);
  free(q.members);
  return result;
}
