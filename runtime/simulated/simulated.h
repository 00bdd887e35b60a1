/* SPDX-License-Identifier: Apache-2.0
 * MPI calls of a program that the simulator carries out, not its MPI library (docs/mpi-simulated.md).
 *
 * Contract: after virtual time has begun; one call at a time in a rank. */
#ifndef EXANET_SIMULATED_SIMULATED_H
#define EXANET_SIMULATED_SIMULATED_H

#include <stdbool.h>

#include "exanet/mpi_calls.h"
#include "runtime/lib/internal.h"

/* Whether the run asks for it. Ends the run where this MPI library cannot be stood in for, or where the program has
   begun MPI by a session and has no MPI_COMM_WORLD. */
bool exanet_simulated_open(struct exanet_ni *ni, void *(*find)(const char *name), bool has_world);

/* A window that it accesses. */
bool exanet_simulated_has_window(long handle);

/* A call of the program's, as it came; `real` is the library's own function. The call's result. */
long exanet_simulated_call(struct exanet_ni *ni, uint32_t call, exanet_mpi_function real, bool large, const long *a);
#endif
