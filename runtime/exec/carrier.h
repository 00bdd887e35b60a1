/* SPDX-License-Identifier: Apache-2.0
 * Carriers: threads of the host that run packed ranks in turn, without the kernel in between (carrier.c; started and looked after by carriers.c). */
#ifndef EXANET_EXEC_CARRIER_H
#define EXANET_EXEC_CARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/lib/switch.h"

#define EXN_CARRIERS_LOOK_MS 50 /* how often exn_carriers_look() wants to be called */

/* Starts as many as there are processors, or as EXANET_CARRIERS says in the environment `variables`, for the run whose region EXANET_NI names there. Returns what ranks get in their
 * auxiliary vector; 0 when there are none: the region then says why. Called once, with all signals blocked. */
uintptr_t exn_carriers_start(char **variables);
bool exn_carriers_run(void);

/* Makes the calling thread the simulator's home: it may be run by carriers from then on. Its signals are blocked but for faults. Returns what it
 * calls, or NULL when there are no carriers. */
const struct exn_simulator_calls *exn_carriers_take_simulator(void);
/* Says that the simulator cannot be here. */
void exn_carriers_leave_simulator(void);

/* The value of an entry "NAME=value" of the environment, or NULL. */
const char *exn_variable(char **variables, const char *name);

/* Sends ranks home that have run for long without a wait. Gives the carriers up when that does not help. */
void exn_carriers_look(void);
/* The rank's process has been stopped: it must not run elsewhere. */
void exn_carriers_recall(uint32_t rank);
/* It has ended. */
void exn_carriers_forget(uint32_t rank);
#endif
