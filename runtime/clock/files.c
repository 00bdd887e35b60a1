/* SPDX-License-Identifier: Apache-2.0
 * Waiting for files with a time limit.
 *
 * Problem: files are ready in the host's time, and the limit is one of the program's. Among them may be a socket to
 * another rank, whose answer may come behind a message of the simulated network; virtual time waits for this rank,
 * as for all that are at work.
 *
 * Model: the wait is real; when nothing came, the program's time has gone on to the limit. A wait for no files at
 * all is a sleep. Where a socket is among the files, a longer wait than EXANET_WAIT_MS goes as that of a blocking
 * call (sockets.c): virtual time goes on by steps until something is ready or the limit has come, and the call
 * itself then finds what it needs.
 *
 * Limits: how long a wait on files really lasts is real time, so its outcome is not repeatable. A thread beside
 * others outside MPI is left alone. A pair of sockets that a process has with itself or its child (socketpair) is no
 * other rank's. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "beside.h"
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

/* -- waits in which another rank may be waited for ----------------------------------------------------------------- */

enum outcome { READY_OR_OURS, LIMIT_HAS_COME, INTERRUPTED };

static bool is_of_a_pair(int fd) {
  struct sockaddr_un here = {0}, there = {0};
  socklen_t sizes[2] = {sizeof here, sizeof there};
  return getsockname(fd, (struct sockaddr *)&here, &sizes[0]) == 0 && here.sun_family == AF_UNIX &&
         sizes[0] == sizeof here.sun_family && getpeername(fd, (struct sockaddr *)&there, &sizes[1]) == 0 &&
         sizes[1] == sizeof there.sun_family;
}

static bool leads_to_a_rank(int fd) { return exanet_is_rank_socket(fd) && !is_of_a_pair(fd); }

/* One of an epoll's files that does, as the kernel lists them; -1: none. */
static int socket_of_epoll(int epoll) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", epoll);
  FILE *list = fopen(path, "re");
  int found = -1, fd;
  while (list != NULL && found < 0 && fgets(line, sizeof line, list) != NULL)
    if (sscanf(line, "tfd: %d", &fd) == 1 && leads_to_a_rank(fd)) found = fd;
  if (list != NULL) fclose(list);
  return found;
}

/* One of the files, or of those that an epoll among them stands for. */
static int socket_of(const struct pollfd *files, nfds_t n) {
  for (nfds_t i = 0; i < n; i++) {
    const int fd = leads_to_a_rank(files[i].fd) ? files[i].fd : socket_of_epoll(files[i].fd);
    if (fd >= 0) return fd;
  }
  return -1;
}

static int look(struct pollfd *files, nfds_t n, const sigset_t *mask) {
  static void *slot;
  typedef int (*function)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
  const struct timespec wait = {.tv_nsec = EXANET_WAIT_MS * (long)(PS_PER_MS / PS_PER_NS)};
  return ((function)exanet_real(&slot, "ppoll", NULL))(files, n, &wait, mask);
}

/* By a step, but not beyond the limit. */
static void step_to(struct exanet_ni *ni, const struct exanet_limit *limit, uint64_t *steps) {
  const uint64_t now = exanet_now_ps(), left = limit->ours && limit->until_ps > now ? limit->until_ps - now : 0;
  if (limit->ours && left <= *steps * EXANET_STEP_PS)
    exanet_sleep_with_others(ni, left);
  else
    exanet_step(ni, steps);
}

/* Waits for the files, for ever where there is no limit. */
static enum outcome wait_beside(struct pollfd *files, nfds_t n, const sigset_t *mask, struct exanet_limit *limit) {
  struct exanet_ni *ni = exanet_virtual_ni();
  if (ni == NULL || n == 0 || (limit->ours && exanet_limit_ps(limit) <= EXANET_WAIT_MS * PS_PER_MS) ||
      (exanet_mpi_depth == 0 && exanet_program_threads() > 0))
    return READY_OR_OURS;
  int fd = -1;
  uint64_t steps = 1;
  for (int looks = 0;; looks++) {
    const int ready = look(files, n, mask);
    if (ready < 0 && errno == EINTR) return INTERRUPTED;
    if (ready != 0 || (ni = exanet_virtual_ni()) == NULL) return READY_OR_OURS;
    if (looks == 0 && (fd = socket_of(files, n)) < 0) return READY_OR_OURS;
    if (looks == EXANET_WAITS_UNTIL_WARNING) exanet_socket_warn(fd);
    step_to(ni, limit, &steps);
    if (limit->ours && exanet_now_ps() >= limit->until_ps) return LIMIT_HAS_COME;
  }
}

static int interrupted(void) {
  errno = EINTR;
  return -1;
}

/* The sets of select() as poll() takes them. */
static nfds_t as_files(int n, const fd_set *sets[3], struct pollfd *files) {
  static const short events[3] = {POLLIN, POLLOUT, POLLPRI};
  nfds_t count = 0;
  for (int fd = 0; fd < n && n <= FD_SETSIZE; fd++) {
    short asked = 0;
    for (int i = 0; i < 3; i++)
      if (sets[i] != NULL && FD_ISSET(fd, sets[i])) asked |= events[i];
    if (asked != 0) files[count++] = (struct pollfd){.fd = fd, .events = asked};
  }
  return count;
}

static enum outcome wait_for_sets(int n, fd_set *readable, fd_set *writable, fd_set *other, const sigset_t *mask,
                                  struct exanet_limit *limit) {
  const fd_set *sets[3] = {readable, writable, other};
  struct pollfd files[FD_SETSIZE];
  return exanet_virtual_ni() != NULL ? wait_beside(files, as_files(n, sets, files), mask, limit) : READY_OR_OURS;
}

static enum outcome wait_for_epoll(int epoll, const sigset_t *mask, struct exanet_limit *limit) {
  struct pollfd file = {.fd = epoll, .events = POLLIN};
  return wait_beside(&file, 1, mask, limit);
}

/* -- the calls ----------------------------------------------------------------------------------------------------- */

EXPORT int select(int n, fd_set *restrict readable, fd_set *restrict writable, fd_set *restrict other,
                  struct timeval *restrict timeout) {
  static void *slot;
  typedef int (*function)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
  struct exanet_limit limit =
      limit_in(timeout != NULL, timeout ? timeout->tv_sec : 0, timeout ? timeout->tv_usec * INT64_C(1000) : 0);
  struct timeval none = {0};
  const bool waits = timeout == NULL || limit.ours;
  const enum outcome outcome = waits ? wait_for_sets(n, readable, writable, other, NULL, &limit) : READY_OR_OURS;
  if (outcome == INTERRUPTED) return interrupted();
  const bool over_now = outcome == LIMIT_HAS_COME;
  const int ready =
      only_sleeps(&limit, (unsigned long)n)
          ? 0
          : ((function)exanet_real(&slot, "select", NULL))(n, readable, writable, other, over_now ? &none : timeout);
  if (timeout != NULL && limit.ours && ready == 0) *timeout = none;
  return over_now ? ready : over(&limit, ready);
}

EXPORT int pselect(int n, fd_set *restrict readable, fd_set *restrict writable, fd_set *restrict other,
                   const struct timespec *restrict timeout, const sigset_t *restrict mask) {
  static void *slot;
  typedef int (*function)(int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *);
  struct exanet_limit limit = limit_in_timespec(timeout);
  static const struct timespec none = {0};
  const bool waits = timeout == NULL || limit.ours;
  const enum outcome outcome = waits ? wait_for_sets(n, readable, writable, other, mask, &limit) : READY_OR_OURS;
  if (outcome == INTERRUPTED) return interrupted();
  if (only_sleeps(&limit, (unsigned long)n)) return over(&limit, 0);
  const bool over_now = outcome == LIMIT_HAS_COME;
  const int ready =
      ((function)exanet_real(&slot, "pselect", NULL))(n, readable, writable, other, over_now ? &none : timeout, mask);
  return over_now ? ready : over(&limit, ready);
}

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout_ms) {
  static void *slot;
  typedef int (*function)(struct pollfd *, nfds_t, int);
  struct exanet_limit limit = limit_in_ms(timeout_ms);
  const enum outcome outcome = timeout_ms != 0 ? wait_beside(fds, n, NULL, &limit) : READY_OR_OURS;
  if (outcome == INTERRUPTED) return interrupted();
  if (outcome == LIMIT_HAS_COME) return ((function)exanet_real(&slot, "poll", NULL))(fds, n, 0);
  return over(&limit, only_sleeps(&limit, n) ? 0 : ((function)exanet_real(&slot, "poll", NULL))(fds, n, timeout_ms));
}

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask) {
  static void *slot;
  typedef int (*function)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
  struct exanet_limit limit = limit_in_timespec(timeout);
  static const struct timespec none = {0};
  const bool waits = timeout == NULL || limit.ours;
  const enum outcome outcome = waits ? wait_beside(fds, n, mask, &limit) : READY_OR_OURS;
  if (outcome == INTERRUPTED) return interrupted();
  if (outcome == LIMIT_HAS_COME) return ((function)exanet_real(&slot, "ppoll", NULL))(fds, n, &none, mask);
  return over(&limit,
              only_sleeps(&limit, n) ? 0 : ((function)exanet_real(&slot, "ppoll", NULL))(fds, n, timeout, mask));
}

EXPORT int epoll_wait(int epoll, struct epoll_event *events, int max, int timeout_ms) {
  static void *slot;
  typedef int (*function)(int, struct epoll_event *, int, int);
  struct exanet_limit limit = limit_in_ms(timeout_ms);
  const enum outcome outcome = timeout_ms != 0 ? wait_for_epoll(epoll, NULL, &limit) : READY_OR_OURS;
  if (outcome == INTERRUPTED) return interrupted();
  const bool over_now = outcome == LIMIT_HAS_COME;
  const int ready = ((function)exanet_real(&slot, "epoll_wait", NULL))(epoll, events, max, over_now ? 0 : timeout_ms);
  return over_now ? ready : over(&limit, ready);
}

EXPORT int epoll_pwait(int epoll, struct epoll_event *events, int max, int timeout_ms, const sigset_t *mask) {
  static void *slot;
  typedef int (*function)(int, struct epoll_event *, int, int, const sigset_t *);
  struct exanet_limit limit = limit_in_ms(timeout_ms);
  const enum outcome outcome = timeout_ms != 0 ? wait_for_epoll(epoll, mask, &limit) : READY_OR_OURS;
  if (outcome == INTERRUPTED) return interrupted();
  const bool over_now = outcome == LIMIT_HAS_COME;
  const int ready =
      ((function)exanet_real(&slot, "epoll_pwait", NULL))(epoll, events, max, over_now ? 0 : timeout_ms, mask);
  return over_now ? ready : over(&limit, ready);
}
