/* SPDX-License-Identifier: Apache-2.0
 * Waiting for files with a time limit.
 *
 * Problem: files are ready in the host's time, and the limit is one of the program's.
 *
 * Model: the wait is real; when nothing came, the program's time has gone on to the limit. A wait for no files at all is a sleep.
 *
 * Limit: how long a wait on files really lasts is real time, so its outcome is not repeatable. */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "limits.h"

static struct exanet_limit limit_in(bool limited, int64_t s, int64_t ns) {
  return limited && (s > 0 || ns > 0) && exanet_in_program_time() ? exanet_limit_in(exanet_to_ps(s, ns))
                                                                  : (struct exanet_limit){0};
}

static struct exanet_limit limit_in_ms(int ms) {
  return limit_in(ms > 0, ms / 1000, ms % 1000 * (PS_PER_MS / PS_PER_NS));
}

static struct exanet_limit limit_in_timespec(const struct timespec *timeout) {
  return timeout != NULL ? limit_in(true, timeout->tv_sec, timeout->tv_nsec) : (struct exanet_limit){0};
}

/* No files at all: a way to sleep. */
static bool only_sleeps(const struct exanet_limit *limit, unsigned long files) {
  return limit->ni != NULL && files == 0;
}

static int over(const struct exanet_limit *limit, int ready) {
  if (!limit->ours || ready != 0) return ready;
  if (limit->ni != NULL)
    exanet_sleep(limit->ni, exanet_limit_ps(limit));
  else
    exanet_passed_until(limit->until_ps);
  return 0;
}

EXPORT int select(int n, fd_set *restrict readable, fd_set *restrict writable, fd_set *restrict other,
                  struct timeval *restrict timeout) {
  static void *slot;
  typedef int (*function)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
  const struct exanet_limit limit =
      limit_in(timeout != NULL, timeout ? timeout->tv_sec : 0, timeout ? timeout->tv_usec * INT64_C(1000) : 0);
  const int ready = only_sleeps(&limit, (unsigned long)n)
                        ? 0
                        : ((function)exanet_real(&slot, "select", NULL))(n, readable, writable, other, timeout);
  if (limit.ours && ready == 0) *timeout = (struct timeval){0};
  return over(&limit, ready);
}

EXPORT int pselect(int n, fd_set *restrict readable, fd_set *restrict writable, fd_set *restrict other,
                   const struct timespec *restrict timeout, const sigset_t *restrict mask) {
  static void *slot;
  typedef int (*function)(int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *);
  const struct exanet_limit limit = limit_in_timespec(timeout);
  return over(&limit, only_sleeps(&limit, (unsigned long)n) ? 0
                                                            : ((function)exanet_real(&slot, "pselect", NULL))(
                                                                  n, readable, writable, other, timeout, mask));
}

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout_ms) {
  static void *slot;
  typedef int (*function)(struct pollfd *, nfds_t, int);
  const struct exanet_limit limit = limit_in_ms(timeout_ms);
  return over(&limit, only_sleeps(&limit, n) ? 0 : ((function)exanet_real(&slot, "poll", NULL))(fds, n, timeout_ms));
}

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask) {
  static void *slot;
  typedef int (*function)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
  const struct exanet_limit limit = limit_in_timespec(timeout);
  return over(&limit,
              only_sleeps(&limit, n) ? 0 : ((function)exanet_real(&slot, "ppoll", NULL))(fds, n, timeout, mask));
}

EXPORT int epoll_wait(int epoll, struct epoll_event *events, int max, int timeout_ms) {
  static void *slot;
  typedef int (*function)(int, struct epoll_event *, int, int);
  const struct exanet_limit limit = limit_in_ms(timeout_ms);
  return over(&limit, ((function)exanet_real(&slot, "epoll_wait", NULL))(epoll, events, max, timeout_ms));
}

EXPORT int epoll_pwait(int epoll, struct epoll_event *events, int max, int timeout_ms, const sigset_t *mask) {
  static void *slot;
  typedef int (*function)(int, struct epoll_event *, int, int, const sigset_t *);
  const struct exanet_limit limit = limit_in_ms(timeout_ms);
  return over(&limit, ((function)exanet_real(&slot, "epoll_pwait", NULL))(epoll, events, max, timeout_ms, mask));
}
