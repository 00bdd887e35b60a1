/* SPDX-License-Identifier: Apache-2.0
 * Broadcasts along the tree that the run chose, in the place of the MPI library's. */
#ifndef EXANET_COLLECTIVES_BCAST_H
#define EXANET_COLLECTIVES_BCAST_H

#include "exanet/mpi_calls.h"
#include "runtime/lib/internal.h"

/* After MPI_Init and before virtual time begins, in all ranks; `find` gives the MPI library's own functions. */
void exanet_bcast_open(struct exanet_ni *ni, void *(*find)(const char *name));
/* After virtual time has ended, before MPI_Finalize. */
void exanet_bcast_close(void);
/* What stands in the place of MPI_Bcast, PMPI_Bcast, MPI_Bcast_c or PMPI_Bcast_c. */
exanet_mpi_function exanet_bcast_mended(const char *name, exanet_mpi_function found);
#endif
