/* SPDX-License-Identifier: Apache-2.0
 * Problem: a schedule is of messages in stages, and the program's call has a buffer, a count and a type. Model: each
 * message is the whole buffer; those of a stage are begun together, and all are complete before the next stage
 * begins. Limits: steps that send a part of a vector, or reduce, are not carried out: those algorithms are for
 * replays and jobs. */
#include "runtime/collectives/steps.h"

#include <stdlib.h>

#include "runtime/collectives/members.h"
#include "runtime/record/library.h"

static void note(int *result, int error) {
  if (*result == 0) *result = error;
}

static int message(const struct exanet_step_call *c, uint32_t step) {
  const bool signals = step & EXN_STEP_SIGNALS;
  const long count = signals ? 0 : c->count, type = signals ? (long)exanet_mpi.byte : c->type, comm = c->comm;
  const int peer = (int)EXN_STEP_PEER(step);
  if (step & EXN_STEP_SENDS) return c->by->send(c->buffer, count, type, peer, 0, comm);
  return c->by->receive(c->buffer, count, type, peer, 0, comm, (void *)(uintptr_t)exanet_mpi.status_ignore);
}

static int begin(const struct exanet_step_call *c, uint32_t step, void *request) {
  const bool signals = step & EXN_STEP_SIGNALS;
  const long count = signals ? 0 : c->count, type = signals ? (long)exanet_mpi.byte : c->type, comm = c->comm;
  const int peer = (int)EXN_STEP_PEER(step);
  if (step & EXN_STEP_SENDS) return c->by->isend(c->buffer, count, type, peer, 0, comm, request);
  return c->by->ireceive(c->buffer, count, type, peer, 0, comm, request);
}

/* Messages of one stage, at once, and what is copied. */
static int stage(struct exanet_step_call *c, const uint32_t *steps, uint32_t n) {
  if (n == 1 && !(steps[0] & EXN_STEP_COPIED)) return message(c, steps[0]);
  char *requests = exanet_kept(calloc(n, exanet_mpi.handle_bytes));
  struct exanet_awaited coming;
  int result = 0, begun = 0;
  bool comes = false;
  for (uint32_t i = 0; i < n; i++) {
    if (!(steps[i] & EXN_STEP_COPIED)) {
      const int error = begin(c, steps[i], requests + (size_t)begun * exanet_mpi.handle_bytes);
      note(&result, error);
      begun += error == 0;
    } else if (steps[i] & EXN_STEP_SENDS) {
      note(&result, exanet_copy_send(&c->contents, EXN_STEP_PEER(steps[i]), c->tag));
    } else {
      exanet_copy_receive(&c->contents, c->root, c->tag, &coming);
      comes = true;
    }
  }
  if (begun > 0) note(&result, c->by->waitall(begun, requests, (void *)(uintptr_t)exanet_mpi.status_ignore));
  free(requests);
  if (!comes) return result;
  note(&result, exanet_copy_wait(&coming));
  /* From here on the buffer has it, for those beside this rank. */
  note(&result, exanet_contents_end(&c->contents, true));
  return result;
}

int exanet_carry_out(const struct exn_tree_question *mine, struct exanet_step_call *c) {
  int result = 0;
  bool sends_copies = false, takes_copies = false;
  for (uint32_t i = 0; i < mine->steps; i++) {
    sends_copies |= (mine->list[i] & EXN_STEP_COPIED) && (mine->list[i] & EXN_STEP_SENDS);
    takes_copies |= (mine->list[i] & EXN_STEP_COPIED) && !(mine->list[i] & EXN_STEP_SENDS);
  }
  if (sends_copies || takes_copies) result = exanet_contents_begin(&c->contents, sends_copies);
  for (uint32_t i = 0; i < mine->steps;) {
    uint32_t n = 1;
    while (i + n < mine->steps && !(mine->list[i + n - 1] & EXN_STEP_ENDS_STAGE)) n++;
    note(&result, stage(c, &mine->list[i], n));
    i += n;
  }
  if (sends_copies) note(&result, exanet_contents_end(&c->contents, false));
  return result;
}
