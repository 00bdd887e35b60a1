/* SPDX-License-Identifier: Apache-2.0
 * Waiting for another thread without a time limit, outside MPI: its end, a semaphore. A thread that is about to sleep
 * there hands its turn inside MPI on (runtime/lib/token.c): others would find out that it sleeps, but some
 * milliseconds of the host's later, and each at its own time. It goes on at the other one's time (meetings.h).
 *
 * A lock is no such place: it is left soon, and whether it is taken just then is up to the host.
 *
 * Limit: the calls of pthreads, and no others. Barriers are in barriers.c, condition variables in yield.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "meetings.h"

static int join(pthread_t thread, void **result) {
  typedef int (*function)(pthread_t, void **);
  static void *whole, *try_join;
  const function real = (function)exanet_real(&whole, "pthread_join", "GLIBC_2.34");
  if (!exanet_may_hand_turn_on()) return real(thread, result);
  const int status = ((function)exanet_real(&try_join, "pthread_tryjoin_np", "GLIBC_2.34"))(thread, result);
  return status == EBUSY ? EXANET_ASLEEP(real(thread, result)) : status;
}

EXPORT int pthread_join(pthread_t thread, void **result) {
  return EXANET_WAITS((const void *)thread, join(thread, result)); /* NOLINT(performance-no-int-to-ptr) */
}

static int try_at(sem_t *sem) {
  static void *slot;
  return ((int (*)(sem_t *))exanet_real(&slot, "sem_trywait", "GLIBC_2.34"))(sem);
}

static int wait_at(sem_t *sem) {
  typedef int (*function)(sem_t *);
  static void *slot;
  const function real = (function)exanet_real(&slot, "sem_wait", "GLIBC_2.34");
  if (!exanet_may_hand_turn_on()) return real(sem);
  return try_at(sem) == 0 ? 0 : EXANET_ASLEEP(real(sem));
}

EXPORT int sem_wait(sem_t *sem) { return EXANET_WAITS(sem, wait_at(sem)); }

EXPORT int sem_trywait(sem_t *sem) {
  const int status = try_at(sem);
  if (status == 0) exanet_takes(sem);
  return status;
}

EXPORT int sem_post(sem_t *sem) {
  static void *slot;
  if (exanet_program_threads() > 0) exanet_gives(sem);
  return ((int (*)(sem_t *))exanet_real(&slot, "sem_post", "GLIBC_2.34"))(sem);
}
