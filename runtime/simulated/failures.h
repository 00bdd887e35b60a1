/* SPDX-License-Identifier: Apache-2.0
 * Errors of calls that have failed on the network, or with a rank that has died. */
#ifndef EXANET_SIMULATED_FAILURES_H
#define EXANET_SIMULATED_FAILURES_H

#include "runtime/simulated/engine.h"

/* The class of an error that the simulator has found (enum exanet_live_error); 0 for none. */
int exanet_failure_class(uint32_t error);
/* The code, once the communicator's handler has been called; or the end of the run. */
int exanet_simulated_failed(const struct exanet_simulated *s, long comm, uint32_t failure, int code);
/* The error of a call on the communicator that `s` is on; 0 for none. */
int exanet_simulated_call_failed(const struct exanet_simulated *s, const struct exanet_live_call *call);
/* The same of what the library is to carry out among all members. */
int exanet_simulated_check(struct exanet_simulated *s, long handle);
#endif
