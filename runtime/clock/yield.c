// SPDX-License-Identifier: Apache-2.0
// MPI libraries yield the processor in their progress loops, so that others on it may get on. In the virtual phase a poll that finds nothing
// already gives the processor away for exactly as long as needed; the yield would only cost two context switches more.
//
// With several threads a yield inside MPI tells that the thread waits; so does a lock that is found taken, since Open MPI's threads look after
// the network one at a time and the others go round and round without a yield.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

EXPORT int sched_yield(void) {
  struct exanet_ni *ni = exanet_virtual_ni();
  if (ni != NULL) {
    if (!exanet_program_threads()) return 0;
    if (exanet_mpi_depth > 0)
      exanet_thread_spins(ni);
    else
      exanet_thread_yields();
  }
  return (int)syscall(SYS_sched_yield);
}

int exanet_system_trylock(pthread_mutex_t *mutex) {
  static void *slot;
  return ((int (*)(pthread_mutex_t *))exanet_real(&slot, "pthread_mutex_trylock", "GLIBC_2.34"))(mutex);
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex) {
  const int status = exanet_system_trylock(mutex);
  if (status == EBUSY && exanet_mpi_depth > 0 && exanet_program_threads()) {
    struct exanet_ni *ni = exanet_virtual_ni();
    if (ni != NULL) exanet_thread_spins(ni);
  }
  return status;
}
