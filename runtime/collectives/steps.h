/* SPDX-License-Identifier: Apache-2.0
 * Carries out a rank's steps of a collective (struct exn_tree_question, which the simulator answers with the
 * schedule of the chosen algorithm) by calls of the MPI library, and what routers copy by the interface. */
#ifndef EXANET_COLLECTIVES_STEPS_H
#define EXANET_COLLECTIVES_STEPS_H

#include "exanet/shm.h"
#include "runtime/collectives/copies.h"

/* The MPI library's own functions. A count is an int, or an MPI_Count. */
struct exanet_step_messages {
  int (*send)(const void *buffer, long count, long type, int to, int tag, long comm);
  int (*receive)(void *buffer, long count, long type, int from, int tag, long comm, void *status);
  int (*isend)(const void *buffer, long count, long type, int to, int tag, long comm, void *request);
  int (*ireceive)(void *buffer, long count, long type, int from, int tag, long comm, void *request);
  int (*waitall)(int count, void *requests, void *statuses);
};

/* A broadcast as this rank calls it. */
struct exanet_step_call {
  const struct exanet_step_messages *by;
  long comm; /* which the program does not see */
  void *buffer;
  long count, type;
  uint32_t root; /* of the run's ranks: where copies come from */
  uint64_t tag; /* of what is copied */
  struct exanet_contents contents; /* likewise */
};

/* 0, or the first error: who fails goes on all the same, for those who wait for it. */
int exanet_carry_out(const struct exn_tree_question *mine, struct exanet_step_call *call);
#endif
