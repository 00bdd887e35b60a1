/* SPDX-License-Identifier: Apache-2.0
 * MPI_Win_sync of windows that the simulator accesses.
 *
 * Problem: the library refuses the call outside of its own epochs, and has none open where the simulator carries out
 * the calls. Model: ranks and simulator share one address space, so that a barrier of the processor is enough. */
#include "clock.h"
#include "runtime/simulated/simulated.h"

typedef int (*sync_function)(long win);
static int synchronise(sync_function real, long win) {
  if (exanet_mpi_instead == NULL || !exanet_simulated_has_window(win)) return real(win);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return 0;
}
EXANET_BOTH_NAMES(Win_sync, sync_function, int, (long win), synchronise(real, win))
