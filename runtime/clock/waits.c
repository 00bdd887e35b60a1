/* SPDX-License-Identifier: Apache-2.0
 * Waiting for another thread with a time limit: condition variables, locks, semaphores, a thread's end.
 *
 * The wait is real, since the other thread really works: the deadline, which the program made from its own time,
 * becomes the same distance in real time. If it expires, the program's time goes on to the deadline, or a program
 * that looks at its clock and waits again would do so for ever; but in virtual time not when another thread is
 * computing or in an MPI call, for then that one moves the clock (Python's threads wait so for each other every 5
 * ms).
 *
 * Who is woken goes on at the time of the one that woke it (meetings.h).
 *
 * Limit: which comes first, the deadline or what was waited for, is up to the host. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

#include "limits.h"
#include "meetings.h"

struct wait {
  struct exanet_limit limit;
  struct timespec deadline; /* on CLOCK_MONOTONIC of the system */
};

/* False: the deadline is no time. */
static bool wait_begin(struct wait *w, const struct timespec *deadline) {
  if (!exanet_valid(deadline)) return false;
  w->limit = exanet_limit_at(exanet_time_of(deadline, exanet_zero_of_deadline(deadline)));
  w->deadline = exanet_to_timespec(exanet_system_ps() + exanet_limit_ps(&w->limit));
  return true;
}

/* Others that sleep for longer do not move the clock beyond the deadline meanwhile. */
static void wait_waits(const struct wait *w) {
  if (w->limit.ni != NULL) exanet_thread_waits_until(exanet_clock_own(w->limit.ni) + exanet_limit_ps(&w->limit));
}

static void wait_expired(const struct wait *w) {
  if (w->limit.ni == NULL)
    exanet_passed_until(w->limit.until_ps);
  else if (!exanet_other_threads_busy())
    exanet_sleep(w->limit.ni, exanet_limit_ps(&w->limit));
}

/* A join may have no deadline. */
static bool has_limit(const struct timespec *deadline) { return deadline != NULL && exanet_in_program_time(); }

/* Functions come in pairs: one takes a clock beside the deadline, its older kin does not. The one with a clock
 * serves both. `version` is the older one's, which has several. */
#define WAIT_PAIR(CLOCK_NAME, TIMED_NAME, version, object, PARAMETERS, ARGUMENTS)                  \
  typedef int (*CLOCK_NAME##_function)(PARAMETERS, clockid_t, const struct timespec *);            \
  typedef int (*TIMED_NAME##_function)(PARAMETERS, const struct timespec *);                       \
  static CLOCK_NAME##_function real_##CLOCK_NAME(void) {                                           \
    static void *slot;                                                                             \
    return (CLOCK_NAME##_function)exanet_real(&slot, #CLOCK_NAME, NULL);                           \
  }                                                                                                \
  static int CLOCK_NAME##_until(PARAMETERS, const struct timespec *deadline) {                     \
    struct wait w;                                                                                 \
    if (!wait_begin(&w, deadline)) return EINVAL;                                                  \
    wait_waits(&w);                                                                                \
    const bool counts = exanet_wait_begins();                                                      \
    const int status = real_##CLOCK_NAME()(ARGUMENTS, CLOCK_MONOTONIC, &w.deadline);               \
    exanet_wait_ends(counts, status == 0 ? (const void *)(object) : NULL);                         \
    exanet_thread_waits_until(0);                                                                  \
    if (status == ETIMEDOUT) wait_expired(&w);                                                     \
    return status;                                                                                 \
  }                                                                                                \
  EXPORT int CLOCK_NAME(PARAMETERS, clockid_t clock, const struct timespec *deadline) {            \
    if (has_limit(deadline)) return CLOCK_NAME##_until(ARGUMENTS, deadline);                       \
    return real_##CLOCK_NAME()(ARGUMENTS, clock, deadline);                                        \
  }                                                                                                \
  EXPORT int TIMED_NAME(PARAMETERS, const struct timespec *deadline) {                             \
    static void *slot;                                                                             \
    if (has_limit(deadline)) return CLOCK_NAME##_until(ARGUMENTS, deadline);                       \
    return ((TIMED_NAME##_function)exanet_real(&slot, #TIMED_NAME, version))(ARGUMENTS, deadline); \
  }

#define COMMA ,
WAIT_PAIR(pthread_mutex_clocklock, pthread_mutex_timedlock, "GLIBC_2.34", mutex, pthread_mutex_t *mutex, mutex)
WAIT_PAIR(pthread_rwlock_clockrdlock, pthread_rwlock_timedrdlock, "GLIBC_2.34", lock, pthread_rwlock_t *lock, lock)
WAIT_PAIR(pthread_rwlock_clockwrlock, pthread_rwlock_timedwrlock, "GLIBC_2.34", lock, pthread_rwlock_t *lock, lock)
WAIT_PAIR(pthread_cond_clockwait, pthread_cond_timedwait, "GLIBC_2.3.2", cond,
          pthread_cond_t *cond COMMA pthread_mutex_t *mutex, cond COMMA mutex)
WAIT_PAIR(pthread_clockjoin_np, pthread_timedjoin_np, "GLIBC_2.34", thread, pthread_t thread COMMA void **result,
          thread COMMA result) /* NOLINT(performance-no-int-to-ptr) */

/* Semaphores say in errno what went wrong. */
typedef int (*sem_clockwait_function)(sem_t *, clockid_t, const struct timespec *);
static sem_clockwait_function real_sem_clockwait(void) {
  static void *slot;
  return (sem_clockwait_function)exanet_real(&slot, "sem_clockwait", NULL);
}

static int sem_until(sem_t *sem, const struct timespec *deadline) {
  struct wait w;
  if (!wait_begin(&w, deadline)) {
    errno = EINVAL;
    return -1;
  }
  wait_waits(&w);
  const bool counts = exanet_wait_begins();
  const int status = real_sem_clockwait()(sem, CLOCK_MONOTONIC, &w.deadline);
  exanet_wait_ends(counts, status == 0 ? sem : NULL);
  exanet_thread_waits_until(0);
  if (status != 0 && errno == ETIMEDOUT) {
    wait_expired(&w);
    errno = ETIMEDOUT;
  }
  return status;
}

EXPORT int sem_clockwait(sem_t *restrict sem, clockid_t clock, const struct timespec *restrict deadline) {
  return exanet_in_program_time() ? sem_until(sem, deadline) : real_sem_clockwait()(sem, clock, deadline);
}

EXPORT int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict deadline) {
  static void *slot;
  typedef int (*function)(sem_t *, const struct timespec *);
  if (exanet_in_program_time()) return sem_until(sem, deadline);
  return ((function)exanet_real(&slot, "sem_timedwait", "GLIBC_2.34"))(sem, deadline);
}

/* C11's kin are those of POSIX under other names. */
static int to_c11(int status) { return status == 0 ? thrd_success : status == ETIMEDOUT ? thrd_timedout : thrd_error; }

EXPORT int cnd_timedwait(cnd_t *restrict cond, mtx_t *restrict mutex, const struct timespec *restrict deadline) {
  return to_c11(pthread_cond_timedwait((pthread_cond_t *)cond, (pthread_mutex_t *)mutex, deadline));
}

EXPORT int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict deadline) {
  return to_c11(pthread_mutex_timedlock((pthread_mutex_t *)mutex, deadline));
}
