/* SPDX-License-Identifier: Apache-2.0
 * MPI 4's sessions: the wrappers that begin and end virtual time for programs without MPI_Init (phases.c does it).
 *
 * A shared object of its own, preloaded only where the program's MPI has sessions: programs probe for them by weak
 * symbols, which these would wrongly satisfy with an older one. Handles are ints in MPICH and pointers in Open MPI;
 * as longs they fit both (calls.c). */
#include "runtime/clock/clock.h"

#define SESSION(prefix)                                                             \
  EXPORT int prefix##_Session_init(long info, long errhandler, void *session);      \
  EXPORT int prefix##_Session_finalize(void *session);                              \
  EXPORT int prefix##_Session_init(long info, long errhandler, void *session) {     \
    return exanet_session_init(#prefix "_Session_init", info, errhandler, session); \
  }                                                                                 \
  EXPORT int prefix##_Session_finalize(void *session) {                             \
    return exanet_session_finalize(#prefix "_Session_finalize", session);           \
  }

SESSION(MPI)
SESSION(PMPI)
