/* SPDX-License-Identifier: Apache-2.0
 * Waiting for another thread without a time limit, outside MPI: its end, a barrier, a semaphore. A thread that is
 * about to sleep there hands its turn inside MPI on (runtime/lib/token.c): others would find out that it sleeps, but
 * some milliseconds of the host's later, and each at its own time.
 *
 * A lock is no such place: it is left soon, and whether it is taken just then is up to the host.
 *
 * Limit: the calls of pthreads, and no others; condition variables are in yield.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "clock.h"

EXPORT int pthread_join(pthread_t thread, void **result) {
  typedef int (*function)(pthread_t, void **);
  static void *join, *try_join;
  const function real = (function)exanet_real(&join, "pthread_join", "GLIBC_2.34");
  if (!exanet_may_hand_turn_on()) return real(thread, result);
  const int status = ((function)exanet_real(&try_join, "pthread_tryjoin_np", "GLIBC_2.34"))(thread, result);
  return status == EBUSY ? EXANET_ASLEEP(real(thread, result)) : status;
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier) {
  typedef int (*function)(pthread_barrier_t *);
  static void *slot;
  const function real = (function)exanet_real(&slot, "pthread_barrier_wait", "GLIBC_2.34");
  return exanet_may_hand_turn_on() ? EXANET_ASLEEP(real(barrier)) : real(barrier);
}

EXPORT int sem_wait(sem_t *sem) {
  typedef int (*function)(sem_t *);
  static void *slot;
  const function real = (function)exanet_real(&slot, "sem_wait", "GLIBC_2.34");
  if (!exanet_may_hand_turn_on()) return real(sem);
  return sem_trywait(sem) == 0 ? 0 : EXANET_ASLEEP(real(sem));
}
