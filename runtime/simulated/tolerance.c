// SPDX-License-Identifier: Apache-2.0
// The calls of MPI's fault tolerance (MPIX_Comm_shrink and its kin).
//
// Model: the simulator carries out what members agree on. A communicator of those who are left is made by the library
// once all of them know who they are, over its own messages. Meanwhile nothing fails (EXANET_LIVE_MADE). Limits:
// intracommunicators.
#include <stdlib.h>

#include "runtime/simulated/engine.h"

#define SHRINK_TAG 0 /* of the library's messages for the group alone, among those of its kind */

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
  struct exanet_live_call made = {.code = EXANET_LIVE_MADE, .comm = q->comm->number};
  exanet_live_call(s->ni, &made, false);
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
