/* SPDX-License-Identifier: Apache-2.0
 * Waiting inside a collective for what the interface reports, while the MPI library goes on with what others want of
 * it. */
#ifndef EXANET_COLLECTIVES_WAITS_H
#define EXANET_COLLECTIVES_WAITS_H

#include "runtime/lib/internal.h"

/* After exanet_mpi_find_out(); as often as exanet_waits_close(). False: the library lacks functions that this takes. */
bool exanet_waits_open(void *(*find)(const char *name));
void exanet_waits_close(void);
/* Its status. */
int exanet_await(struct exanet_awaited *awaited);
#endif
