/* SPDX-License-Identifier: Apache-2.0
 * Sockets from their beginning to their end: socket, bind, listen, connect, accept, shutdown, close.
 *
 * Model: each TCP or UDP socket that is made in virtual time is ours until it connects to another host, which is
 * reached beside the simulated network. Ports are a rank's own: which ports of the host stand behind them, the program
 * does not see. A listener takes all connections that the host has for it, of which each waits for its rank's turn to
 * be accepted.
 *
 * Limit: no IPv6: a socket of that family cannot be made, as on a host without it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "datagrams.h"
#include "mailbox.h"
#include "names.h"
#include "sockets.h"

#define NEXT(name, type)                     \
  static type next_##name(void) {            \
    static void *slot;                       \
    return (type)sockets_next(&slot, #name); \
  }

static int fail(int error) {
  errno = error;
  return -1;
}

/* The value of a call that is ours, after leaving. */
static int leave(struct exanet_ni *ni, int result) {
  const int error = errno;
  exanet_streams_leave(ni);
  errno = error;
  return result;
}

static struct exanet_ni *enter_with(int fd) { return stream_of(fd) != NULL ? exanet_streams_enter() : NULL; }

static bool is_tcp(int type, int protocol) { return type == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP); }
static bool is_udp(int type, int protocol) { return type == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP); }

static bool is_of_echoes(int domain, int type, int protocol) {
  return domain == AF_INET && type == SOCK_DGRAM && protocol == IPPROTO_ICMP;
}

/* A file that has been closed past us is a new one now. */
static struct stream *fresh(struct exanet_ni *ni, int fd) {
  if (fd >= SOCKETS_FILES) return NULL;
  stream_drop_file(ni, fd);
  return stream_new(fd);
}

typedef int (*socket_type)(int, int, int);
NEXT(socket, socket_type)
EXPORT int socket(int domain, int type, int protocol) {
  const int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
  const bool echoes = is_of_echoes(domain, kind, protocol), datagrams = echoes || is_udp(kind, protocol);
  const bool ip = (domain == AF_INET || domain == AF_INET6) && (is_tcp(kind, protocol) || datagrams);
  if (ip) streams_begin();
  struct exanet_ni *ni = ip ? exanet_streams_enter() : NULL;
  if (ni == NULL) return next_socket()(domain, type, protocol);
  if (domain == AF_INET6) return leave(ni, fail(EAFNOSUPPORT));
  const int fd = next_socket()(domain, type, echoes ? 0 : protocol); /* the host may not allow those */
  struct stream *s = fd >= 0 ? fresh(ni, fd) : NULL;
  if (s != NULL && datagrams && !mailbox_new(s, echoes)) stream_drop_file(ni, fd);
  return leave(ni, fd);
}

/* -- addresses ----------------------------------------------------------------------------------------------------- */
static bool is_taken(uint16_t port) { return port != 0 && stream_listening(port) != NULL; }

/* To a port of the host, whatever the program's is; 0: that one. */
static int bind_stream(struct stream *s, int fd, uint16_t port) {
  const int host_port = s->bound ? s->host_port : kernel_bind_anywhere(fd);
  if (host_port < 0) return -1;
  s->bound = true;
  s->host_port = (uint16_t)host_port;
  s->port = port != 0 ? port : s->host_port;
  return 0;
}

typedef int (*bind_type)(int, const struct sockaddr *, socklen_t);
NEXT(bind, bind_type)
EXPORT int bind(int fd, const struct sockaddr *address, socklen_t length) {
  struct exanet_ni *ni = enter_with(fd);
  if (ni == NULL) return next_bind()(fd, address, length);
  struct stream *s = stream_of(fd);
  const struct sockaddr_in *at = address_in(address, length);
  if (at == NULL || s->state != STREAM_NEW || s->bound) return leave(ni, fail(EINVAL));
  const uint32_t rank = rank_at(at->sin_addr);
  if (rank != ANY_RANK && rank != exanet_rank(ni)) return leave(ni, fail(EADDRNOTAVAIL));
  if (s->mailbox != NULL) {
    const int error = datagram_bind(ni, s, ntohs(at->sin_port));
    return leave(ni, error != 0 ? fail(error) : 0);
  }
  if (is_taken(ntohs(at->sin_port))) return leave(ni, fail(EADDRINUSE));
  return leave(ni, bind_stream(s, fd, ntohs(at->sin_port)));
}

typedef int (*name_type)(int, struct sockaddr *, socklen_t *);
NEXT(getsockname, name_type)
EXPORT int getsockname(int fd, struct sockaddr *restrict address, socklen_t *restrict length) {
  struct exanet_ni *ni = enter_with(fd);
  if (ni == NULL) return next_getsockname()(fd, address, length);
  return leave(ni, give_address(exanet_rank(ni), stream_of(fd)->port, address, length));
}

NEXT(getpeername, name_type)
EXPORT int getpeername(int fd, struct sockaddr *restrict address, socklen_t *restrict length) {
  struct exanet_ni *ni = enter_with(fd);
  if (ni == NULL) return next_getpeername()(fd, address, length);
  const struct stream *s = stream_of(fd);
  const bool is_connected =
      s->mailbox != NULL ? s->mailbox->is_connected : s->state == STREAM_OPEN || s->state == STREAM_CONNECTED;
  if (!is_connected) return leave(ni, fail(ENOTCONN));
  return leave(ni, give_address(s->peer, s->peer_port, address, length));
}

/* -- connections --------------------------------------------------------------------------------------------------- */
typedef int (*listen_type)(int, int);
NEXT(listen, listen_type)
EXPORT int listen(int fd, int backlog) {
  struct exanet_ni *ni = enter_with(fd);
  if (ni == NULL) return next_listen()(fd, backlog);
  struct stream *s = stream_of(fd);
  if (s->mailbox != NULL) return leave(ni, fail(EOPNOTSUPP));
  if (s->state == STREAM_LISTENS) return leave(ni, 0);
  if (s->state != STREAM_NEW) return leave(ni, fail(EINVAL));
  if (is_taken(s->port)) return leave(ni, fail(EADDRINUSE));
  if (!s->bound && bind_stream(s, fd, 0) != 0) return leave(ni, -1);
  /* The host must not turn away whom the simulated network has let in. */
  if (next_listen()(fd, SOMAXCONN) != 0) return leave(ni, -1);
  s->state = STREAM_LISTENS;
  exanet_uncount(ni);
  exanet_listen(ni, s->port, s->host_port);
  return leave(ni, 0);
}

static int is_connected(struct stream *s) {
  if (s->state == STREAM_FAILED) {
    const int error = s->error != 0 ? s->error : ECONNREFUSED;
    s->error = 0;
    return fail(error);
  }
  s->state = STREAM_OPEN;
  return 0;
}

static int connect_stream(struct exanet_ni *ni, struct stream *s, int fd, uint32_t rank, uint16_t port) {
  if (s->state == STREAM_OPEN) return fail(EISCONN);
  const bool waits = (kernel_flags(fd) & O_NONBLOCK) == 0;
  if (s->state == STREAM_CONNECTED || s->state == STREAM_FAILED) return is_connected(s);
  if (s->state == STREAM_CONNECTS && !waits) return fail(EALREADY);
  if (s->state == STREAM_LISTENS) return fail(EISCONN);
  if (s->state == STREAM_NEW) {
    if (rank != ANY_RANK && rank >= exanet_size(ni)) return fail(ENETUNREACH);
    if (bind_stream(s, fd, 0) != 0) return -1;
    s->port = s->host_port;
    s->peer_port = port;
    s->state = STREAM_CONNECTS;
    exanet_uncount(ni);
    exanet_connect(ni, rank, s->port, port);
    if (!waits) return fail(EINPROGRESS);
  }
  const uint64_t until = wait_limit(ni, fd, SO_SNDTIMEO);
  while (s->state == STREAM_CONNECTS)
    if (!wait_more(ni, until)) return fail(EINPROGRESS);
  return is_connected(s);
}

typedef int (*connect_type)(int, const struct sockaddr *, socklen_t);
NEXT(connect, connect_type)
EXPORT int connect(int fd, const struct sockaddr *address, socklen_t length) {
  struct exanet_ni *ni = enter_with(fd);
  if (ni == NULL) return next_connect()(fd, address, length);
  struct stream *s = stream_of(fd);
  const struct sockaddr_in *to = address_in(address, length);
  const bool to_nobody = s->mailbox != NULL && length >= sizeof address->sa_family && address->sa_family == AF_UNSPEC;
  if (to == NULL && !to_nobody) return leave(ni, fail(EAFNOSUPPORT));
  if (to_nobody) return leave(ni, datagram_connect(ni, s, NULL));
  const uint32_t rank = rank_at(to->sin_addr);
  if (rank == ELSEWHERE && s->state == STREAM_NEW && !(s->mailbox != NULL && s->bound)) {
    epoll_give_back(fd);
    stream_drop_file(ni, fd);
    exanet_streams_leave(ni);
    return next_connect()(fd, address, length);
  }
  wait_take(ni);
  if (s->mailbox != NULL) {
    const int error = datagram_connect(ni, s, to);
    return leave(ni, error != 0 ? fail(error) : 0);
  }
  stream_hold(s);
  const int result = connect_stream(ni, s, fd, rank, ntohs(to->sin_port)), error = errno;
  stream_release(ni, s);
  errno = error;
  return leave(ni, result);
}

/* Connections that the host has had ready before it was their turn. */
static struct early {
  int fd;
  uint16_t host_port;
  struct early *next;
} *early;

static int take_early(uint16_t host_port) {
  for (struct early **at = &early; *at != NULL; at = &(*at)->next) {
    struct early *found = *at;
    if (found->host_port != host_port) continue;
    const int fd = found->fd;
    *at = found->next;
    free(found);
    return fd;
  }
  return -1;
}

static int set_flags(int fd, int flags) {
  if (flags & SOCK_NONBLOCK) syscall(SYS_fcntl, fd, F_SETFL, O_RDWR | O_NONBLOCK);
  if (flags & SOCK_CLOEXEC) syscall(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

/* The host's connection with this port at its other end. */
static int take_from_host(int listener, uint16_t wanted, int flags) {
  const int kept = take_early(wanted);
  if (kept >= 0) return set_flags(kept, flags);
  for (;;) {
    uint16_t host_port = 0;
    const int fd = kernel_accept(listener, flags, &host_port);
    if (fd < 0 || host_port == wanted) return fd;
    struct early *one = malloc(sizeof *one);
    if (one == NULL) abort();
    *one = (struct early){.fd = fd, .host_port = host_port, .next = early};
    early = one;
  }
}

static int accept_stream(struct exanet_ni *ni, struct stream *s, int fd, int flags) {
  if (s->state != STREAM_LISTENS) return fail(s->mailbox != NULL ? EOPNOTSUPP : EINVAL);
  wait_take(ni);
  const bool waits = (kernel_flags(fd) & O_NONBLOCK) == 0;
  const uint64_t until = wait_limit(ni, fd, SO_RCVTIMEO);
  for (bool looked = false; s->pending == NULL; looked = true) {
    if (!waits) {
      if (looked) return fail(EAGAIN);
      wait_look(ni);
    } else if (!wait_more(ni, until)) {
      return fail(EAGAIN);
    }
  }
  wait_done();
  struct stream *came = stream_take_pending(s);
  const int accepted = take_from_host(fd, came->peer_port, flags);
  if (accepted >= 0 && accepted < SOCKETS_FILES) {
    stream_drop_file(ni, accepted);
    stream_add_file(came, accepted);
  }
  return accepted;
}

typedef int (*accept4_type)(int, struct sockaddr *, socklen_t *, int);
NEXT(accept4, accept4_type)
EXPORT int accept4(int fd, struct sockaddr *restrict from, socklen_t *restrict length, int flags) {
  struct exanet_ni *ni = enter_with(fd);
  if (ni == NULL) return next_accept4()(fd, from, length, flags);
  struct stream *s = stream_of(fd);
  stream_hold(s);
  const int accepted = accept_stream(ni, s, fd, flags), error = errno;
  stream_release(ni, s);
  const struct stream *came = accepted >= 0 ? stream_of(accepted) : NULL;
  if (came != NULL) give_address(came->peer, came->peer_port, from, length);
  errno = error;
  return leave(ni, accepted);
}

typedef int (*accept_type)(int, struct sockaddr *, socklen_t *);
NEXT(accept, accept_type)
EXPORT int accept(int fd, struct sockaddr *restrict from, socklen_t *restrict length) {
  return stream_of(fd) != NULL ? accept4(fd, from, length, 0) : next_accept()(fd, from, length);
}

/* -- ends ---------------------------------------------------------------------------------------------------------- */
typedef int (*shutdown_type)(int, int);
NEXT(shutdown, shutdown_type)
EXPORT int shutdown(int fd, int how) {
  struct exanet_ni *ni = enter_with(fd);
  if (ni == NULL) return next_shutdown()(fd, how);
  struct stream *s = stream_of(fd);
  if (s->mailbox != NULL) {
    if (how != SHUT_WR) s->mailbox->is_shut = true;
    return leave(ni, s->mailbox->is_connected ? 0 : fail(ENOTCONN));
  }
  if (s->state != STREAM_OPEN) return leave(ni, fail(ENOTCONN));
  const int result = next_shutdown()(fd, how);
  if (how != SHUT_RD) stream_finish(ni, s);
  if (how != SHUT_WR) s->finished = true;
  return leave(ni, result);
}

typedef int (*close_type)(int);
NEXT(close, close_type)
EXPORT int close(int fd) {
  epoll_forget(fd);
  struct exanet_ni *ni = enter_with(fd);
  if (ni == NULL) return next_close()(fd);
  stream_drop_file(ni, fd);
  return leave(ni, kernel_close(fd));
}

static int add_file(int fd, int copy) {
  struct exanet_ni *ni = copy >= 0 ? enter_with(fd) : NULL;
  if (ni == NULL) return copy;
  if (copy != fd && copy < SOCKETS_FILES) {
    stream_drop_file(ni, copy);
    stream_add_file(stream_of(fd), copy);
  }
  return leave(ni, copy);
}

/* What another file's number is taken from. */
static void drop(int fd) {
  epoll_forget(fd);
  struct exanet_ni *ni = enter_with(fd);
  if (ni == NULL) return;
  stream_drop_file(ni, fd);
  leave(ni, 0);
}

typedef int (*dup_type)(int);
NEXT(dup, dup_type)
EXPORT int dup(int fd) { return add_file(fd, next_dup()(fd)); }

typedef int (*dup2_type)(int, int);
NEXT(dup2, dup2_type)
EXPORT int dup2(int fd, int copy) {
  if (fd != copy) drop(copy);
  return add_file(fd, next_dup2()(fd, copy));
}

typedef int (*dup3_type)(int, int, int);
NEXT(dup3, dup3_type)
EXPORT int dup3(int fd, int copy, int flags) {
  if (fd != copy) drop(copy);
  return add_file(fd, next_dup3()(fd, copy, flags));
}

typedef int (*fcntl_type)(int, int, ...);
NEXT(fcntl, fcntl_type)
static int control(int fd, int what, long argument) {
  const int result = next_fcntl()(fd, what, argument);
  return what == F_DUPFD || what == F_DUPFD_CLOEXEC ? add_file(fd, result) : result;
}

#define FCNTL(name)                           \
  EXPORT int name(int fd, int what, ...);     \
  EXPORT int name(int fd, int what, ...) {    \
    va_list list;                             \
    va_start(list, what);                     \
    const long argument = va_arg(list, long); \
    va_end(list);                             \
    return control(fd, what, argument);       \
  }
FCNTL(fcntl)
FCNTL(fcntl64)
