/* SPDX-License-Identifier: Apache-2.0
 * Waits of a rank for what lies beside the simulated network, while virtual time goes on. */
#ifndef EXANET_CLOCK_BESIDE_H
#define EXANET_CLOCK_BESIDE_H

#include <sys/types.h>

#include "clock.h"

/* A rank that waits for the host moves no clock for so long: what comes meanwhile comes at the same virtual time in
   every run. */
#define EXANET_WAIT_MS 200
#define EXANET_STEP_PS PS_PER_MS
#define EXANET_MOST_STEPS 1000

#define EXANET_WAITS_UNTIL_WARNING 25 /* that says who waits */

/* sockets.c: another rank may be the other end, which MPICH's launcher is not; and the warning, once in a process. */
bool exanet_is_rank_socket(int fd);
void exanet_socket_warn(int fd);

/* The rank sleeps for so many whole milliseconds of virtual time, of which the rest of the present one is the first,
 * so that all who wait end at the same time; the next step is twice as long. */
static inline void exanet_step(struct exanet_ni *ni, uint64_t *steps) {
  const uint64_t now = exanet_clock_peek(ni);
  exanet_sleep_with_others(ni, (now / EXANET_STEP_PS + *steps) * EXANET_STEP_PS - now);
  if (*steps < EXANET_MOST_STEPS) *steps *= 2;
}

/* A question to MPICH's launcher that is answered here (pmi_table.c): true, and the answer is read by the other one,
 * which returns 0 while there is none. Contract: one thread of a rank at a time. */
bool exanet_pmi_asked(const char *text, size_t size);
ssize_t exanet_pmi_answered(char *buffer, size_t size);
/* What is written to MPICH's launcher ends the job: does not return in virtual time. MPICH waits for an answer then,
 * and goes on with a null pointer if the launcher leaves instead; exanet_pmi_left() ends the rank in its place. */
void exanet_pmi_aborts(const char *text, size_t size);
void exanet_pmi_left(void);
#endif
