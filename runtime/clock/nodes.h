/* SPDX-License-Identifier: Apache-2.0
 * The machine's nodes, as a program sees them. */
#ifndef EXANET_CLOCK_NODES_H
#define EXANET_CLOCK_NODES_H

#include "clock.h"

/* `found`, or what stands in its place: each as exanet_mended(). */
exanet_mpi_function exanet_nodes_mended(const char *name, exanet_mpi_function found);
exanet_mpi_function exanet_shared_windows_mended(const char *name, exanet_mpi_function found);
/* Before virtual time begins, in a program with MPI_COMM_WORLD. */
void exanet_shared_windows_open(const struct exanet_ni *ni);
#endif
