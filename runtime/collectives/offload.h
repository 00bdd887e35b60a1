/* SPDX-License-Identifier: Apache-2.0
 * Collectives that the network interfaces carry out, in the place of the MPI library. */
#ifndef EXANET_COLLECTIVES_OFFLOAD_H
#define EXANET_COLLECTIVES_OFFLOAD_H

#include "exanet/mpi_calls.h"
#include "runtime/lib/internal.h"

/* After MPI_Init and before virtual time begins, in all ranks; `find` gives the MPI library's own functions. */
void exanet_offload_open(struct exanet_ni *ni, void *(*find)(const char *name));
/* After virtual time has ended, before MPI_Finalize. */
void exanet_offload_close(void);
/* What stands in the place of a function of the library's, or that itself where there is nothing. */
exanet_mpi_function exanet_offload_mended(const char *name, exanet_mpi_function found);
#endif
