/* SPDX-License-Identifier: Apache-2.0
 * MPI's calls of fault tolerance (ULFM), as MPICH 5 and Open MPI 5 name them: MPIX_Comm_revoke and its kin.
 *
 * A shared object of its own, preloaded only where the program's MPI has these functions: programs probe for them by
 * weak symbols. */
#include "exanet/mpi_calls.h"
#include "runtime/clock/clock.h"

#define TOLERANCE(symbol, name, kind)                                                                   \
  EXPORT long symbol(EXANET_MPI_ARGUMENTS);                                                             \
  EXPORT long symbol(EXANET_MPI_ARGUMENTS) {                                                            \
    static void *slot;                                                                                  \
    const long arguments[] = {EXANET_MPI_PASSED};                                                       \
    return exanet_call_beside(&slot, #symbol, EXANET_MPI_##name, EXANET_CALL_##kind, false, arguments); \
  }
#define DEFINE(name, kind)           \
  TOLERANCE(MPIX_##name, name, kind) \
  TOLERANCE(PMPIX_##name, name, kind)
EXANET_MPI_TOLERANCE_LIST(DEFINE)
