/* SPDX-License-Identifier: Apache-2.0
 * The streams of a rank: which files are theirs, and what has come for them.
 *
 * Model: a stream is found by its file, or by both ends' ports when a segment comes. A connection that has come waits
 * at its listener; what comes for it before the program takes it counts already. Contract: calls on streams are made
 * between exanet_streams_enter() and exanet_streams_leave(), but for stream_of().
 *
 * Limit: a child of the process that has not executed another program cannot use them, and ends if it tries. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sockets.h"

static struct stream *of_file[SOCKETS_FILES];
static struct stream *all;
static bool in_child;
static unsigned answered; /* connections whose other end has said yes, and which the host does not know yet */

static void note_child(void) { in_child = true; }
static __attribute__((constructor)) void begin(void) {
  pthread_atfork(NULL, NULL, note_child);
  exanet_map_early();
}

struct stream *stream_of(int fd) {
  struct stream *s = fd >= 0 && fd < SOCKETS_FILES ? __atomic_load_n(&of_file[fd], __ATOMIC_ACQUIRE) : NULL;
  if (s != NULL && in_child) {
    fprintf(stderr,
            "exanet: a child of a rank uses a socket of the simulated network, which only the rank itself can; serve "
            "connections by threads or by events\n");
    _exit(2);
  }
  return s;
}

struct stream *stream_new(int fd) {
  struct stream *s = calloc(1, sizeof *s);
  if (s == NULL) return NULL;
  s->fd = -1;
  s->next = all;
  all = s;
  if (fd >= 0) stream_add_file(s, fd);
  return s;
}

void stream_add_file(struct stream *s, int fd) {
  ++s->users;
  if (s->fd < 0) s->fd = fd;
  __atomic_store_n(&of_file[fd], s, __ATOMIC_RELEASE);
}

static void destroy(struct exanet_ni *ni, struct stream *s) {
  if (s->state == STREAM_LISTENS) exanet_listen(ni, s->port, 0);
  stream_finish(ni, s);
  if (s->mailbox != NULL) mailbox_free(ni, s);
  for (struct stream **at = &all; *at != NULL; at = &(*at)->next)
    if (*at == s) {
      *at = s->next;
      break;
    }
  for (struct stream *waits; (waits = stream_take_pending(s)) != NULL;) destroy(ni, waits);
  free(s);
}

void stream_hold(struct stream *s) { ++s->users; }

void stream_release(struct exanet_ni *ni, struct stream *s) {
  if (--s->users == 0) {
    if (s->state == STREAM_CONNECTED && s->to_host_port != 0) --answered;
    destroy(ni, s);
  }
}

void stream_drop_file(struct exanet_ni *ni, int fd) {
  struct stream *s = of_file[fd];
  if (s == NULL) return;
  __atomic_store_n(&of_file[fd], NULL, __ATOMIC_RELEASE);
  if (s->fd == fd) {
    s->fd = -1;
    for (int other = 0; s->users > 1 && other < SOCKETS_FILES && s->fd < 0; ++other)
      if (of_file[other] == s) s->fd = other;
  }
  stream_release(ni, s);
}

struct stream *stream_listening(uint16_t port) {
  for (struct stream *s = all; s != NULL; s = s->next)
    if (s->state == STREAM_LISTENS && s->port == port) return s;
  return NULL;
}

bool streams_serve(void) {
  for (const struct stream *s = all; s != NULL; s = s->next)
    if (s->state == STREAM_LISTENS) return true;
  return false;
}

struct stream *stream_take_pending(struct stream *listener) {
  struct stream *first = listener->pending;
  if (first != NULL) listener->pending = first->next_pending;
  return first;
}

void stream_send(struct exanet_ni *ni, struct stream *s, enum exanet_segment_kind kind, uint64_t length) {
  exanet_uncount(ni);
  exanet_segment_send(ni, &(struct exanet_segment){.peer = s->peer,
                                                   .port = s->port,
                                                   .peer_port = s->peer_port,
                                                   .kind = kind,
                                                   .sequence = kind == EXANET_SEGMENT_WINDOW ? 0 : s->sequence++,
                                                   .length = length});
}

void stream_finish(struct exanet_ni *ni, struct stream *s) {
  const bool open = s->state == STREAM_OPEN || s->state == STREAM_CONNECTED;
  if (open && !s->has_finished && s->error == 0) stream_send(ni, s, EXANET_SEGMENT_FINISH, 0);
  s->has_finished = true;
}

uint64_t stream_space(const struct exanet_ni *ni, const struct stream *s) {
  uint64_t window = exanet_stream_window(ni);
  if (s->window != 0 && s->window < window) window = s->window;
  return window > s->unread ? window - s->unread : 0;
}

short stream_ready(const struct exanet_ni *ni, const struct stream *s) {
  if (s->mailbox != NULL) return mailbox_ready(s);
  switch (s->state) {
    case STREAM_NEW: return POLLOUT | POLLHUP;
    case STREAM_LISTENS: return s->pending != NULL ? POLLIN | POLLRDNORM : 0;
    case STREAM_CONNECTS: return 0;
    case STREAM_FAILED: return POLLIN | POLLOUT | POLLERR | POLLHUP;
    case STREAM_CONNECTED:
    case STREAM_OPEN: break;
  }
  int ready = s->error != 0 ? POLLIN | POLLOUT | POLLERR : 0;
  if (s->available > 0 || s->finished) ready |= POLLIN | POLLRDNORM;
  if (s->finished) ready |= POLLRDHUP;
  if (s->finished && s->has_finished) ready |= POLLHUP;
  if (stream_space(ni, s) >= exanet_segment_max(ni)) ready |= POLLOUT | POLLWRNORM;
  return (short)ready;
}

/* -- what comes ---------------------------------------------------------------------------------------------------- */
static struct stream *find(uint32_t peer, uint16_t port, uint16_t peer_port) {
  for (struct stream *s = all; s != NULL; s = s->next)
    if (s->state != STREAM_NEW && s->state != STREAM_LISTENS && s->peer == peer && s->port == port &&
        s->peer_port == peer_port)
      return s;
  return NULL;
}

static struct stream *connecting(uint16_t port) {
  for (struct stream *s = all; s != NULL; s = s->next)
    if (s->state == STREAM_CONNECTS && s->port == port) return s;
  return NULL;
}

static void has_connected(const struct exanet_stream_event *event) {
  struct stream *s = connecting(event->port);
  if (s == NULL) return;
  s->peer = event->peer;
  s->error = -event->status;
  s->to_host_port = event->host_port;
  s->state = s->error == 0 ? STREAM_CONNECTED : STREAM_FAILED;
  answered += s->error == 0;
  ++s->news;
}

void streams_settle(struct exanet_ni *ni) {
  for (struct stream *s = all; answered > 0 && s != NULL; s = s->next) {
    if (s->to_host_port == 0 || s->state != STREAM_CONNECTED) continue;
    --answered;
    s->error = kernel_connect(s->fd, s->to_host_port);
    s->to_host_port = 0;
    if (s->error == 0)
      stream_send(ni, s, EXANET_SEGMENT_OPENED, 0);
    else
      s->state = STREAM_FAILED;
  }
}

static void has_come(const struct exanet_stream_event *event) {
  struct stream *listener = stream_listening(event->port);
  struct stream *s = listener != NULL ? stream_new(-1) : NULL;
  if (s == NULL) return;
  s->state = STREAM_OPEN;
  s->peer = event->peer;
  s->port = event->port;
  s->peer_port = event->peer_port;
  s->window = listener->window;
  struct stream **last = &listener->pending;
  while (*last != NULL) last = &(*last)->next_pending;
  *last = s;
  ++listener->news;
}

static void arrived(const struct exanet_stream_event *event) {
  if (event->kind == EXANET_C_DATAGRAM) return mailbox_arrived(event);
  if (event->kind == EXANET_C_CONNECT) return has_connected(event);
  if (event->segment == EXANET_SEGMENT_OPENED && event->status == 0) return has_come(event);
  struct stream *s = find(event->peer, event->port, event->peer_port);
  if (s == NULL) return;
  ++s->news;
  if (event->status != 0) {
    s->error = -event->status;
    return;
  }
  switch ((enum exanet_segment_kind)event->segment) {
    case EXANET_SEGMENT_FULL: s->is_awaited = true; /* fall through */
    case EXANET_SEGMENT_DATA: s->available += event->length; break;
    case EXANET_SEGMENT_FINISH: s->finished = true; break;
    case EXANET_SEGMENT_WINDOW: s->unread -= event->length < s->unread ? event->length : s->unread; break;
    case EXANET_SEGMENT_OPENED: break;
  }
}

/* What is still open when the program ends. */
static void finish_all(int status, void *unused) {
  (void)unused;
  struct exanet_ni *ni = status == 0 ? exanet_streams_enter() : NULL;
  if (ni == NULL) return;
  for (struct stream *s = all; s != NULL; s = s->next) {
    if (s->state == STREAM_LISTENS) exanet_listen(ni, s->port, 0);
    stream_finish(ni, s);
  }
  mailboxes_close(ni);
  exanet_streams_leave(ni);
}

/* Threads may make their first sockets at once: none goes on before virtual time has begun. */
void streams_begin(void) {
  static bool begun;
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  if (__atomic_load_n(&begun, __ATOMIC_ACQUIRE)) return;
  pthread_mutex_lock(&lock);
  if (!begun && exanet_streams_begin()) {
    exanet_on_stream = arrived;
    on_exit(finish_all, NULL); /* before virtual time ends */
    __atomic_store_n(&begun, true, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&lock);
}
