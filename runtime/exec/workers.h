/* SPDX-License-Identifier: Apache-2.0
 * Worker threads: threads of the host that run packed ranks in turn, without the kernel in between (worker.c;
 * started and supervised by workers.c). */
#ifndef EXANET_EXEC_WORKERS_H
#define EXANET_EXEC_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/lib/switch.h"

#define EXN_WORKERS_CHECK_MS 50 /* how often exn_workers_check() wants to be called */

/* Starts as many as there are processors, or as EXANET_WORKER_THREADS says in the environment `variables`, for the
 * run whose region EXANET_NI names there. Returns what ranks get in their auxiliary vector; 0 when there are none:
 * the region then says why. Called once, with all signals blocked. */
uintptr_t exn_workers_start(char **variables);
bool exn_workers_run(void);

/* Makes the calling thread the simulator's own: it may be run by workers from then on. Its signals are blocked but
 * for faults. Returns what it calls, or NULL when there are no workers. */
const struct exn_simulator_calls *exn_workers_take_simulator(void);
/* Says that the simulator cannot be here. */
void exn_workers_leave_simulator(void);

/* The value of an entry "NAME=value" of the environment, or NULL. */
const char *exn_variable(char **variables, const char *name);

/* Returns ranks that have run for long without a wait to their own processes. Gives the workers up when that does
   not help. */
void exn_workers_check(void);
/* The rank's process has been stopped: it must not run elsewhere. */
void exn_workers_recall(uint32_t rank);
/* It has ended. */
void exn_workers_forget(uint32_t rank);
#endif
