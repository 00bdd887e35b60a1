// SPDX-License-Identifier: Apache-2.0
// MPI libraries yield the processor in their progress loops, so that others on it may get on. In the virtual phase a poll that finds nothing
// already gives the processor away for exactly as long as needed; the yield would only cost two context switches more.
#define _GNU_SOURCE
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

EXPORT int sched_yield(void) {
  if (exanet_virtual_ni() != NULL) {
    if (!exanet_program_threads()) return 0;
    if (exanet_mpi_depth > 0) exanet_thread_spins();
  }
  return (int)syscall(SYS_sched_yield);
}
