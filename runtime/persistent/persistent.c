/* SPDX-License-Identifier: Apache-2.0
 * MPI 4's persistent collectives (MPI_Allreduce_init …), which begin nothing before MPI_Start; and its messages that
 * the recorder reports, and has no record for.
 *
 * A shared object of its own, preloaded only where the program's MPI has these functions: programs probe for them by
 * weak symbols. */
#include "exanet/mpi_calls.h"
#include "runtime/clock/clock.h"

#define PERSISTENT(symbol, name)                                                                           \
  EXPORT long symbol(EXANET_MPI_ARGUMENTS);                                                                \
  EXPORT long symbol(EXANET_MPI_ARGUMENTS) {                                                               \
    static void *slot;                                                                                     \
    const long arguments[] = {EXANET_MPI_PASSED};                                                          \
    return exanet_call_beside(&slot, #symbol, EXANET_MPI_##name, EXANET_CALL_IMMEDIATE, false, arguments); \
  }

#define DEFINE_PERSISTENT(name, counts) \
  PERSISTENT(MPI_##name, name)          \
  PERSISTENT(PMPI_##name, name)
#define DEFINE_NEWER(name, counts) DEFINE_PERSISTENT(name, counts)
#define DEFINE_PLAIN(name, counts)
#define DEFINE_BLOCKING(name, counts)
#define DEFINE_TEST(name, counts)
#define DEFINE_IMMEDIATE(name, counts)
#define DEFINE_ONE_SIDED(name, counts)
#define DEFINE_PLAIN_LARGE(name, counts)
#define DEFINE_BLOCKING_LARGE(name, counts)
#define DEFINE_IMMEDIATE_LARGE(name, counts)
#define DEFINE_ONE_SIDED_LARGE(name, counts)
#define DEFINE_OWN(name, counts)
#define DEFINE(name, kind, counts) DEFINE_##kind(name, counts)
EXANET_MPI_CALL_LIST(DEFINE)
