/* SPDX-License-Identifier: Apache-2.0
 * Records the program's MPI calls into a stream of this rank (docs/reference/trace.md), if the run was asked to.
 *
 * Contract: of each outermost call prepare() comes before it, begins() when its computing so far has been counted,
 * and ends() after it. What these take moves no clock. Several threads may call at once; calls stand in the order in
 * which they returned. */
#ifndef EXANET_RECORD_RECORD_H
#define EXANET_RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/lib/internal.h"

/* Whether calls are recorded. */
extern bool exanet_recording;

/* The rank's time has begun: virtual time, or the host's (runtime/outside). `find` gives the MPI library's own
   functions. */
void exanet_record_open(struct exanet_ni *ni, void *(*find)(const char *name));
void exanet_record_close(struct exanet_ni *ni);

/* `large`: its counts are MPI_Count. */
struct exanet_recorded_call {
  uint32_t call; /* enum exanet_mpi_call */
  bool large;
  const long *arguments;
  uint64_t begin_ps, compute_ps; /* when it began: the rank's clock, and what it has computed */
};
void exanet_record_prepare(struct exanet_ni *ni, struct exanet_recorded_call *call);
void exanet_record_begins(struct exanet_ni *ni, struct exanet_recorded_call *call);
void exanet_record_ends(struct exanet_ni *ni, const struct exanet_recorded_call *call, int result);
#endif
