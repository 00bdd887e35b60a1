/* SPDX-License-Identifier: Apache-2.0
 * The simulator as a shared object, which the host of packed ranks opens (runtime/exec/host.c). */
#ifndef EXANET_HOSTED_SIMULATOR_H
#define EXANET_HOSTED_SIMULATOR_H

#include "runtime/lib/switch.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EXN_SIMULATE "exn_simulate"

/* Runs what the file `order` says over the region, both by their paths, and writes the run's record into that file
 * in the order's place. To be called by a thread of its own. What goes wrong before the run is reported by the
 * region, and `exanet run` simulates then itself. */
typedef void exn_simulate_function(const char *region, const char *order, const struct exn_simulator_calls *calls);

#ifdef __cplusplus
}
#endif
#endif
