/* SPDX-License-Identifier: Apache-2.0
 * poll() and select() where streams are among the files: these are ready by what has come in virtual time, all others
 * by what the host says whenever something has come, and at the end.
 *
 * Limit: a file that is none of ours does not end a wait in virtual time by itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>

#include "sockets.h"

static bool any_stream(const struct pollfd *files, nfds_t n) {
  for (nfds_t i = 0; i < n; ++i)
    if (stream_of(files[i].fd) != NULL) return true;
  return false;
}

static int look_at(struct exanet_ni *ni, struct pollfd *files, nfds_t n, struct pollfd *others) {
  int ready = 0;
  for (nfds_t i = 0; i < n; ++i) {
    others[i] = files[i];
    const struct stream *s = stream_of(files[i].fd);
    if (s != NULL) others[i].fd = -1;
  }
  kernel_poll(others, n, 0);
  for (nfds_t i = 0; i < n; ++i) {
    const struct stream *s = stream_of(files[i].fd);
    files[i].revents = others[i].fd >= 0 || s == NULL
                           ? others[i].revents
                           : (short)(stream_ready(ni, s) & (files[i].events | POLLERR | POLLHUP));
    ready += files[i].revents != 0;
  }
  return ready;
}

/* How many are ready; -1: no stream is among them. */
int ready_files(struct pollfd *files, nfds_t n, uint64_t timeout_ps) {
  struct exanet_ni *ni = any_stream(files, n) ? exanet_streams_enter() : NULL;
  if (ni == NULL) return -1;
  struct pollfd *others = calloc(n, sizeof *others);
  wait_ask(ni);
  int ready = look_at(ni, files, n, others);
  const uint64_t until = timeout_ps == FOR_EVER ? FOR_EVER : exanet_clock_ps(ni) + timeout_ps;
  if (ready == 0 && timeout_ps == 0) {
    wait_look(ni);
    ready = look_at(ni, files, n, others);
  }
  while (ready == 0 && timeout_ps != 0 && wait_more(ni, until)) ready = look_at(ni, files, n, others);
  free(others);
  exanet_streams_leave(ni);
  return ready;
}

static uint64_t ps_of(const struct timespec *timeout) {
  return timeout == NULL ? FOR_EVER : (uint64_t)timeout->tv_sec * 1000000000000u + (uint64_t)timeout->tv_nsec * 1000u;
}

EXPORT int poll(struct pollfd *files, nfds_t n, int timeout_ms) {
  static void *slot;
  typedef int (*function)(struct pollfd *, nfds_t, int);
  const int ready = ready_files(files, n, timeout_ms < 0 ? FOR_EVER : (uint64_t)timeout_ms * 1000000000u);
  return ready >= 0 ? ready : ((function)sockets_next(&slot, "poll"))(files, n, timeout_ms);
}

EXPORT int __poll_chk(struct pollfd *files, nfds_t n, int timeout_ms, size_t space);
EXPORT int __poll_chk(struct pollfd *files, nfds_t n, int timeout_ms, size_t space) {
  (void)space;
  return poll(files, n, timeout_ms);
}

EXPORT int ppoll(struct pollfd *files, nfds_t n, const struct timespec *timeout, const sigset_t *mask) {
  static void *slot;
  typedef int (*function)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
  const int ready = ready_files(files, n, ps_of(timeout));
  return ready >= 0 ? ready : ((function)sockets_next(&slot, "ppoll"))(files, n, timeout, mask);
}

/* -- select -------------------------------------------------------------------------------------------------------- */
static const short asked_for[3] = {POLLIN, POLLOUT, POLLPRI};
static const short set_by[3] = {POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR, POLLPRI};

/* -1: no stream is among them. */
static int ready_sets(int n, fd_set *sets[3], uint64_t timeout_ps) {
  struct pollfd files[FD_SETSIZE];
  nfds_t count = 0;
  for (int fd = 0; fd < n && n <= FD_SETSIZE; ++fd) {
    int events = 0;
    for (int i = 0; i < 3; ++i)
      if (sets[i] != NULL && FD_ISSET(fd, sets[i])) events |= asked_for[i];
    if (events != 0) files[count++] = (struct pollfd){.fd = fd, .events = (short)events};
  }
  if (ready_files(files, count, timeout_ps) < 0) return -1;
  int ready = 0;
  for (nfds_t k = 0; k < count; ++k)
    for (int i = 0; i < 3; ++i) {
      if (sets[i] == NULL || (files[k].events & asked_for[i]) == 0) continue;
      if (files[k].revents & set_by[i])
        ++ready;
      else
        FD_CLR(files[k].fd, sets[i]);
    }
  return ready;
}

EXPORT int select(int n, fd_set *restrict readable, fd_set *restrict writable, fd_set *restrict other,
                  struct timeval *restrict timeout) {
  static void *slot;
  typedef int (*function)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
  const struct timespec limit = {.tv_sec = timeout != NULL ? timeout->tv_sec : 0,
                                 .tv_nsec = timeout != NULL ? timeout->tv_usec * 1000L : 0};
  const int ready = ready_sets(n, (fd_set *[3]){readable, writable, other}, timeout != NULL ? ps_of(&limit) : FOR_EVER);
  return ready >= 0 ? ready : ((function)sockets_next(&slot, "select"))(n, readable, writable, other, timeout);
}

EXPORT int pselect(int n, fd_set *restrict readable, fd_set *restrict writable, fd_set *restrict other,
                   const struct timespec *restrict timeout, const sigset_t *restrict mask) {
  static void *slot;
  typedef int (*function)(int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *);
  const int ready = ready_sets(n, (fd_set *[3]){readable, writable, other}, ps_of(timeout));
  return ready >= 0 ? ready : ((function)sockets_next(&slot, "pselect"))(n, readable, writable, other, timeout, mask);
}
