/* SPDX-License-Identifier: Apache-2.0
 * Sleeping and waiting with a time limit, in the virtual phase.
 *
 * A sleep advances the rank's clock and takes no real time. A wait for another thread with a limit (condition variables, semaphores,
 * mutexes) must really wait, since the other thread really works: its deadline, which the program made from the virtual clock, becomes
 * the same distance in real time. If it expires, the clock is moved to the deadline, or a program that looks at its clock and waits
 * again would do so for ever; but not when another thread is computing or in an MPI call, for then that one moves the clock (Python's
 * threads wait so for each other every 5 ms). A wait for files with a limit likewise advances the clock when nothing came.
 *
 * Limit: how long a wait on files really lasts is real time, so its outcome is not repeatable; signals do not cut a sleep short. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

#define NS_PER_S INT64_C(1000000000)

static int valid(const struct timespec *t) { return t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < NS_PER_S; }

/* Sleeps of more than half a year of virtual time would overflow sums of picoseconds; nobody wakes from them either. */
static uint64_t to_ps(int64_t s, int64_t ns) {
  const int64_t longest_s = INT64_C(15000000);
  if (s < 0) return 0;
  if (s > longest_s) s = longest_s;
  return (uint64_t)s * PS_PER_S + (uint64_t)ns * PS_PER_NS;
}

/* Virtual time left until `deadline` on any of the wall clocks; 0 when it has passed. */
static uint64_t ps_until(struct exanet_ni *ni, const struct timespec *deadline, int64_t epoch_s) {
  uint64_t at = to_ps(deadline->tv_sec - epoch_s, deadline->tv_nsec);
  uint64_t now = exanet_clock_read(ni);
  return at > now ? at - now : 0;
}

/* -- sleeping ------------------------------------------------------------------------------------------------------------------- */
EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *request, struct timespec *remaining) {
  static void *slot;
  struct exanet_ni *ni = exanet_virtual_ni();
  if (ni == NULL)
    return ((int (*)(clockid_t, int, const struct timespec *, struct timespec *))exanet_real(&slot, "clock_nanosleep", "GLIBC_2.17"))(
        clock, flags, request, remaining);
  if (!valid(request)) return EINVAL;
  int64_t epoch = clock == CLOCK_PROCESS_CPUTIME_ID ? 0 : EXANET_EPOCH_S;
  exanet_advance(ni, flags & TIMER_ABSTIME ? ps_until(ni, request, epoch) : to_ps(request->tv_sec, request->tv_nsec));
  if (remaining != NULL && !(flags & TIMER_ABSTIME)) *remaining = (struct timespec){0};
  return 0;
}

EXPORT int nanosleep(const struct timespec *request, struct timespec *remaining) {
  int status = clock_nanosleep(CLOCK_REALTIME, 0, request, remaining);
  if (status == 0) return 0;
  errno = status;
  return -1;
}

EXPORT int usleep(useconds_t us) {
  struct timespec request = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
  return nanosleep(&request, NULL);
}

EXPORT unsigned sleep(unsigned seconds) {
  struct timespec request = {.tv_sec = seconds}, remaining = {0};
  if (nanosleep(&request, &remaining) == 0) return 0;
  return (unsigned)(remaining.tv_sec + (remaining.tv_nsec > 0));
}

/* -- waiting for files ---------------------------------------------------------------------------------------------------------- */
EXPORT int select(int n, fd_set *restrict readable, fd_set *restrict writable, fd_set *restrict other, struct timeval *restrict timeout) {
  static void *slot;
  struct exanet_ni *ni = timeout != NULL ? exanet_virtual_ni() : NULL;
  uint64_t ps = ni != NULL ? to_ps(timeout->tv_sec, timeout->tv_usec * INT64_C(1000)) : 0;
  int ready = 0;
  if (ni == NULL || n > 0)
    ready = ((int (*)(int, fd_set *, fd_set *, fd_set *, struct timeval *))exanet_real(&slot, "select", NULL))(n, readable, writable, other,
                                                                                                            timeout);
  if (ni != NULL && ready == 0) {
    exanet_advance(ni, ps);
    *timeout = (struct timeval){0};
  }
  return ready;
}

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout_ms) {
  static void *slot;
  struct exanet_ni *ni = timeout_ms > 0 ? exanet_virtual_ni() : NULL;
  int ready = 0;
  if (ni == NULL || n > 0) ready = ((int (*)(struct pollfd *, nfds_t, int))exanet_real(&slot, "poll", NULL))(fds, n, timeout_ms);
  if (ni != NULL && ready == 0) exanet_advance(ni, (uint64_t)timeout_ms * PS_PER_MS);
  return ready;
}

EXPORT int epoll_wait(int epoll, struct epoll_event *events, int max, int timeout_ms) {
  static void *slot;
  struct exanet_ni *ni = timeout_ms > 0 ? exanet_virtual_ni() : NULL;
  int ready = ((int (*)(int, struct epoll_event *, int, int))exanet_real(&slot, "epoll_wait", NULL))(epoll, events, max, timeout_ms);
  if (ni != NULL && ready == 0) exanet_advance(ni, (uint64_t)timeout_ms * PS_PER_MS);
  return ready;
}

/* -- waiting for threads -------------------------------------------------------------------------------------------------------- */
struct wait {
  struct exanet_ni *ni;
  struct timespec deadline; /* on CLOCK_MONOTONIC of the system */
  uint64_t ps;
};

static void wait_begin(struct wait *w, struct exanet_ni *ni, const struct timespec *deadline) {
  *w = (struct wait){.ni = ni, .ps = ps_until(ni, deadline, EXANET_EPOCH_S)};
  struct timespec now;
  exanet_system_clock(CLOCK_MONOTONIC, &now);
  int64_t end = now.tv_sec * NS_PER_S + now.tv_nsec + (int64_t)(w->ps / PS_PER_NS);
  w->deadline = (struct timespec){.tv_sec = end / NS_PER_S, .tv_nsec = end % NS_PER_S};
}

static void wait_expired(const struct wait *w) {
  if (!exanet_other_threads_busy()) exanet_advance(w->ni, w->ps);
}

typedef int (*cond_wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
typedef int (*cond_clock_wait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
typedef int (*mutex_lock)(pthread_mutex_t *, const struct timespec *);
typedef int (*mutex_clock_lock)(pthread_mutex_t *, clockid_t, const struct timespec *);
typedef int (*sem_wait_until)(sem_t *, const struct timespec *);
typedef int (*sem_clock_wait)(sem_t *, clockid_t, const struct timespec *);

static cond_clock_wait real_cond_clockwait(void) {
  static void *slot;
  return (cond_clock_wait)exanet_real(&slot, "pthread_cond_clockwait", NULL);
}

static int cond_wait_virtual(struct exanet_ni *ni, pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *deadline) {
  if (!valid(deadline)) return EINVAL;
  struct wait w;
  wait_begin(&w, ni, deadline);
  int status = real_cond_clockwait()(cond, mutex, CLOCK_MONOTONIC, &w.deadline);
  if (status == ETIMEDOUT) wait_expired(&w);
  return status;
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex, const struct timespec *restrict deadline) {
  static void *slot;
  struct exanet_ni *ni = exanet_virtual_ni();
  if (ni != NULL) return cond_wait_virtual(ni, cond, mutex, deadline);
  return ((cond_wait)exanet_real(&slot, "pthread_cond_timedwait", "GLIBC_2.3.2"))(cond, mutex, deadline);
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex, clockid_t clock,
                                  const struct timespec *restrict deadline) {
  struct exanet_ni *ni = exanet_virtual_ni();
  if (ni != NULL) return cond_wait_virtual(ni, cond, mutex, deadline);
  return real_cond_clockwait()(cond, mutex, clock, deadline);
}

static mutex_clock_lock real_mutex_clocklock(void) {
  static void *slot;
  return (mutex_clock_lock)exanet_real(&slot, "pthread_mutex_clocklock", NULL);
}

static int mutex_lock_virtual(struct exanet_ni *ni, pthread_mutex_t *mutex, const struct timespec *deadline) {
  if (!valid(deadline)) return EINVAL;
  struct wait w;
  wait_begin(&w, ni, deadline);
  int status = real_mutex_clocklock()(mutex, CLOCK_MONOTONIC, &w.deadline);
  if (status == ETIMEDOUT) wait_expired(&w);
  return status;
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict deadline) {
  static void *slot;
  struct exanet_ni *ni = exanet_virtual_ni();
  if (ni != NULL) return mutex_lock_virtual(ni, mutex, deadline);
  return ((mutex_lock)exanet_real(&slot, "pthread_mutex_timedlock", "GLIBC_2.34"))(mutex, deadline);
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *restrict mutex, clockid_t clock, const struct timespec *restrict deadline) {
  struct exanet_ni *ni = exanet_virtual_ni();
  if (ni != NULL) return mutex_lock_virtual(ni, mutex, deadline);
  return real_mutex_clocklock()(mutex, clock, deadline);
}

static sem_clock_wait real_sem_clockwait(void) {
  static void *slot;
  return (sem_clock_wait)exanet_real(&slot, "sem_clockwait", NULL);
}

static int sem_wait_virtual(struct exanet_ni *ni, sem_t *sem, const struct timespec *deadline) {
  if (!valid(deadline)) {
    errno = EINVAL;
    return -1;
  }
  struct wait w;
  wait_begin(&w, ni, deadline);
  int status = real_sem_clockwait()(sem, CLOCK_MONOTONIC, &w.deadline);
  if (status != 0 && errno == ETIMEDOUT) {
    wait_expired(&w);
    errno = ETIMEDOUT;
  }
  return status;
}

EXPORT int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict deadline) {
  static void *slot;
  struct exanet_ni *ni = exanet_virtual_ni();
  if (ni != NULL) return sem_wait_virtual(ni, sem, deadline);
  return ((sem_wait_until)exanet_real(&slot, "sem_timedwait", "GLIBC_2.34"))(sem, deadline);
}

EXPORT int sem_clockwait(sem_t *restrict sem, clockid_t clock, const struct timespec *restrict deadline) {
  struct exanet_ni *ni = exanet_virtual_ni();
  if (ni != NULL) return sem_wait_virtual(ni, sem, deadline);
  return real_sem_clockwait()(sem, clock, deadline);
}
