/* SPDX-License-Identifier: Apache-2.0
 * Barriers of pthreads: who waits hands its turn on, as in blocks.c, and all go on at the time of the last one.
 *
 * How many meet is known from the barrier's beginning. Limit: of barriers of several processes nothing is known. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "meetings.h"

struct known {
  const pthread_barrier_t *barrier;
  unsigned members;
  struct exanet_meeting meeting;
  struct known *next;
};
static struct known *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct known *find(const pthread_barrier_t *barrier) {
  exanet_system_lock(&lock);
  struct known *known = all;
  while (known != NULL && known->barrier != barrier) known = known->next;
  exanet_system_unlock(&lock);
  return known;
}

static void forget(const pthread_barrier_t *barrier) {
  exanet_system_lock(&lock);
  struct known **link = &all;
  while (*link != NULL && (*link)->barrier != barrier) link = &(*link)->next;
  struct known *gone = *link;
  if (gone != NULL) *link = gone->next;
  exanet_system_unlock(&lock);
  free(gone);
}

static void know(const pthread_barrier_t *barrier, unsigned members) {
  struct known *known = calloc(1, sizeof *known);
  if (known == NULL) return;
  known->barrier = barrier;
  known->members = members;
  exanet_system_lock(&lock);
  known->next = all;
  all = known;
  exanet_system_unlock(&lock);
}

EXPORT int pthread_barrier_init(pthread_barrier_t *restrict barrier, const pthread_barrierattr_t *restrict attributes,
                                unsigned count) {
  typedef int (*function)(pthread_barrier_t *, const pthread_barrierattr_t *, unsigned);
  static void *slot;
  forget(barrier);
  const int status = ((function)exanet_real(&slot, "pthread_barrier_init", "GLIBC_2.34"))(barrier, attributes, count);
  int shared = PTHREAD_PROCESS_PRIVATE;
  if (attributes != NULL) pthread_barrierattr_getpshared(attributes, &shared);
  if (status == 0 && shared == PTHREAD_PROCESS_PRIVATE) know(barrier, count);
  return status;
}

EXPORT int pthread_barrier_destroy(pthread_barrier_t *barrier) {
  typedef int (*function)(pthread_barrier_t *);
  static void *slot;
  const int status = ((function)exanet_real(&slot, "pthread_barrier_destroy", "GLIBC_2.34"))(barrier);
  if (status == 0) forget(barrier);
  return status;
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier) {
  typedef int (*function)(pthread_barrier_t *);
  static void *slot;
  const function real = (function)exanet_real(&slot, "pthread_barrier_wait", "GLIBC_2.34");
  struct known *known = find(barrier);
  const unsigned round = known != NULL ? exanet_meeting_come(&known->meeting, known->members) : 0;
  const int status = exanet_may_hand_turn_on() ? EXANET_ASLEEP(real(barrier)) : real(barrier);
  if (known != NULL) exanet_thread_goes_on_at(exanet_meeting_latest(&known->meeting, round));
  return status;
}
