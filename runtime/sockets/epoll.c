/* SPDX-License-Identifier: Apache-2.0
 * epoll where streams are among the files.
 *
 * Model: streams are kept in a list of ours for each epoll, all other files in the host's. Edge-triggered files are
 * reported when something has come since they were reported last. Limit: an epoll inside another one. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sockets.h"

struct watched {
  int epoll, fd;
  struct epoll_event event;
  uint64_t seen; /* 1 + the stream's news when it was reported last */
  bool disabled; /* EPOLLONESHOT */
  struct watched *next;
};

static struct watched *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

typedef int (*ctl_type)(int, int, int, struct epoll_event *);
static ctl_type next_ctl(void) {
  static void *slot;
  return (ctl_type)sockets_next(&slot, "epoll_ctl");
}

static struct watched **find(int epoll, int fd) {
  struct watched **at = &all;
  while (*at != NULL && ((*at)->epoll != epoll || (*at)->fd != fd)) at = &(*at)->next;
  return at;
}

static void take_out(struct watched **at) {
  struct watched *gone = *at;
  *at = gone->next;
  free(gone);
}

static int control(int epoll, int what, int fd, const struct epoll_event *event) {
  struct watched **at = find(epoll, fd);
  if (what == EPOLL_CTL_ADD) {
    if (*at != NULL) return EEXIST;
    struct watched *one = malloc(sizeof *one);
    if (one == NULL) return ENOMEM;
    *one = (struct watched){.epoll = epoll, .fd = fd, .event = *event};
    *at = one;
    return 0;
  }
  if (*at == NULL) return ENOENT;
  if (what == EPOLL_CTL_DEL) {
    take_out(at);
    return 0;
  }
  (*at)->event = *event;
  (*at)->seen = 0;
  (*at)->disabled = false;
  return 0;
}

EXPORT int epoll_ctl(int epoll, int what, int fd, struct epoll_event *event) {
  if (stream_of(fd) == NULL) return next_ctl()(epoll, what, fd, event);
  pthread_mutex_lock(&lock);
  const int error = control(epoll, what, fd, event);
  pthread_mutex_unlock(&lock);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

void epoll_forget(int fd) {
  if (__atomic_load_n(&all, __ATOMIC_ACQUIRE) == NULL) return;
  pthread_mutex_lock(&lock);
  for (struct watched **at = &all; *at != NULL;) {
    if ((*at)->fd == fd || (*at)->epoll == fd)
      take_out(at);
    else
      at = &(*at)->next;
  }
  pthread_mutex_unlock(&lock);
}

void epoll_give_back(int fd) {
  for (struct watched *one = all; one != NULL; one = one->next)
    if (one->fd == fd) next_ctl()(one->epoll, EPOLL_CTL_ADD, fd, &one->event);
  epoll_forget(fd);
}

static bool watches(int epoll) {
  for (const struct watched *one = __atomic_load_n(&all, __ATOMIC_ACQUIRE); one != NULL; one = one->next)
    if (one->epoll == epoll) return true;
  return false;
}

static int look_at(struct exanet_ni *ni, int epoll, struct epoll_event *events, int max) {
  int n = 0;
  for (struct watched *one = all; one != NULL && n < max; one = one->next) {
    const struct stream *s = one->epoll == epoll && !one->disabled ? stream_of(one->fd) : NULL;
    if (s == NULL) continue;
    const uint32_t ready = (uint32_t)stream_ready(ni, s) & (one->event.events | EPOLLERR | EPOLLHUP);
    if (ready == 0 || ((one->event.events & EPOLLET) && one->seen == 1 + s->news)) continue;
    one->seen = 1 + s->news;
    one->disabled = (one->event.events & EPOLLONESHOT) != 0;
    events[n++] = (struct epoll_event){.events = ready, .data = one->event.data};
  }
  if (n == max) return n;
  const long others = syscall(SYS_epoll_pwait, epoll, events + n, max - n, 0, NULL, 0);
  return n + (others > 0 ? (int)others : 0);
}

/* -1: no stream is among its files. */
static int ready_events(int epoll, struct epoll_event *events, int max, uint64_t timeout_ps) {
  struct exanet_ni *ni = max > 0 && watches(epoll) ? exanet_streams_enter() : NULL;
  if (ni == NULL) return -1;
  wait_ask(ni);
  int ready = look_at(ni, epoll, events, max);
  const uint64_t until = timeout_ps == FOR_EVER ? FOR_EVER : exanet_clock_ps(ni) + timeout_ps;
  if (ready == 0 && timeout_ps == 0) {
    wait_look(ni);
    ready = look_at(ni, epoll, events, max);
  }
  while (ready == 0 && timeout_ps != 0 && wait_more(ni, until)) ready = look_at(ni, epoll, events, max);
  exanet_streams_leave(ni);
  return ready;
}

static uint64_t ps_of_ms(int ms) { return ms < 0 ? FOR_EVER : (uint64_t)ms * 1000000000u; }

EXPORT int epoll_wait(int epoll, struct epoll_event *events, int max, int timeout_ms) {
  static void *slot;
  typedef int (*function)(int, struct epoll_event *, int, int);
  const int ready = ready_events(epoll, events, max, ps_of_ms(timeout_ms));
  return ready >= 0 ? ready : ((function)sockets_next(&slot, "epoll_wait"))(epoll, events, max, timeout_ms);
}

EXPORT int epoll_pwait(int epoll, struct epoll_event *events, int max, int timeout_ms, const sigset_t *mask) {
  static void *slot;
  typedef int (*function)(int, struct epoll_event *, int, int, const sigset_t *);
  const int ready = ready_events(epoll, events, max, ps_of_ms(timeout_ms));
  return ready >= 0 ? ready : ((function)sockets_next(&slot, "epoll_pwait"))(epoll, events, max, timeout_ms, mask);
}
