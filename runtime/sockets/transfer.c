/* SPDX-License-Identifier: Apache-2.0
 * Bytes of sockets: read() and write() and their kin. Those of datagrams go to datagrams.c.
 *
 * Model: a read takes no more than has come in virtual time, and waits for that. A write puts bytes into the host's
 * socket first, then sends their segments; it waits while as many bytes are on their way, or unread, as the window has.
 * What a receiver has read is reported together, as by a host that joins segments before it acknowledges them.
 *
 * Limits: segments leave at once (no Nagle). Urgent data and ancillary data pass without a segment. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "datagrams.h"
#include "sockets.h"

#define REPORT_BYTES 65536u
#define HOST_FULL_PS UINT64_C(10000000)

static size_t total(const struct iovec *parts, size_t count) {
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += parts[i].iov_len;
  return bytes;
}

/* `bytes` of the parts from `skip` on; returns how many parts these are. */
static size_t slice(const struct iovec *parts, size_t count, size_t skip, size_t bytes, struct iovec *out) {
  size_t n = 0;
  for (size_t i = 0; i < count && bytes > 0 && n < IOV_MAX; ++i) {
    if (skip >= parts[i].iov_len) {
      skip -= parts[i].iov_len;
      continue;
    }
    const size_t here = parts[i].iov_len - skip < bytes ? parts[i].iov_len - skip : bytes;
    out[n++] = (struct iovec){.iov_base = (char *)parts[i].iov_base + skip, .iov_len = here};
    skip = 0;
    bytes -= here;
  }
  return n;
}

static bool blocks(int fd, int flags) { return (flags & MSG_DONTWAIT) == 0 && (kernel_flags(fd) & O_NONBLOCK) == 0; }

static ssize_t fail(int error) {
  errno = error;
  return -1;
}

/* A stream that can carry bytes; else the errno value. */
static int check_open(struct stream *s) {
  if (s->error != 0) {
    const int error = s->error;
    s->error = s->state == STREAM_FAILED ? 0 : error;
    return error;
  }
  if (s->state == STREAM_CONNECTED) s->state = STREAM_OPEN;
  return s->state == STREAM_OPEN ? 0 : s->state == STREAM_CONNECTS ? EAGAIN : ENOTCONN;
}

/* -- reading ------------------------------------------------------------------------------------------------------- */
/* 0: bytes or the end are there; else the errno value. */
static int wait_for_bytes(struct exanet_ni *ni, struct stream *s, int fd, int flags) {
  wait_take(ni);
  const uint64_t until = wait_limit(ni, fd, SO_RCVTIMEO);
  for (bool looked = false;;) {
    if (s->available > 0 || (s->finished && s->error == 0)) return 0;
    const int wrong = check_open(s);
    if (wrong != 0 && wrong != EAGAIN) return wrong;
    if (blocks(fd, flags)) {
      if (!wait_more(ni, until)) return EAGAIN;
    } else {
      if (looked) return EAGAIN;
      wait_look(ni);
      looked = true;
    }
  }
}

/* They are in the host's socket, or will be in no time: a part of them is what there is when something has broken. */
static ssize_t take_bytes(int fd, const struct iovec *parts, size_t count, size_t bytes, int flags) {
  struct iovec list[IOV_MAX];
  size_t got = 0;
  while (got < bytes) {
    struct msghdr message = {.msg_iov = list, .msg_iovlen = slice(parts, count, got, bytes - got, list)};
    const ssize_t n = kernel_recvmsg(fd, &message, (flags & MSG_PEEK) | MSG_DONTWAIT);
    if (n > 0) {
      got += (size_t)n;
      if (flags & MSG_PEEK) break;
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
      return got > 0 || n == 0 ? (ssize_t)got : -1;
    } else {
      struct pollfd file = {.fd = fd, .events = POLLIN};
      kernel_poll(&file, 1, 1000);
    }
  }
  return (ssize_t)got;
}

static void report(struct exanet_ni *ni, struct stream *s) {
  const uint64_t quarter = exanet_stream_window(ni) / 4, due = quarter < REPORT_BYTES ? quarter : REPORT_BYTES;
  const bool is_due = s->unreported >= due || (s->is_awaited && s->available == 0);
  if (!is_due || s->finished || s->state != STREAM_OPEN) return;
  stream_send(ni, s, EXANET_SEGMENT_WINDOW, s->unreported);
  s->unreported = 0;
  if (s->available == 0) s->is_awaited = false;
}

static ssize_t receive(struct exanet_ni *ni, struct stream *s, int fd, const struct iovec *parts, size_t count,
                       int flags) {
  const size_t wanted = total(parts, count);
  size_t got = 0;
  while (got < wanted || wanted == 0) {
    const int wrong = wait_for_bytes(ni, s, fd, flags);
    if (wrong != 0) return got > 0 ? (ssize_t)got : fail(wrong);
    if (s->available == 0 || wanted == 0) break; /* the end */
    struct iovec rest[IOV_MAX];
    const size_t n_rest = slice(parts, count, got, wanted - got, rest);
    const size_t bytes = wanted - got < s->available ? wanted - got : s->available;
    const ssize_t n = take_bytes(fd, rest, n_rest, bytes, flags);
    if (n < 0 || (size_t)n < bytes) s->available = (size_t)(n < 0 ? 0 : n); /* reset */
    if (n < 0) return got > 0 ? (ssize_t)got : -1;
    got += (size_t)n;
    if (flags & MSG_PEEK) break;
    wait_done();
    s->available -= (size_t)n;
    s->unreported += (size_t)n;
    report(ni, s);
    if ((flags & MSG_WAITALL) == 0) break;
  }
  return (ssize_t)got;
}

/* -- writing ------------------------------------------------------------------------------------------------------- */
static void send_segments(struct exanet_ni *ni, struct stream *s, size_t bytes) {
  const size_t most = exanet_segment_max(ni);
  s->unread += bytes;
  const bool fills = s->window != 0 && stream_space(ni, s) < most;
  for (size_t sent = 0; sent < bytes; sent += most) {
    const bool last = bytes - sent <= most;
    stream_send(ni, s, last && fills ? EXANET_SEGMENT_FULL : EXANET_SEGMENT_DATA, last ? bytes - sent : most);
  }
}

/* The host's socket holds no more, though the window does: many small writes take more of it than their bytes. It is
   looked at again once the other end may have read. */
static uint64_t next_look(struct exanet_ni *ni, uint64_t until) {
  const uint64_t next = exanet_clock_ps(ni) + HOST_FULL_PS;
  return next < until ? next : until;
}

/* How many bytes may go now, whole segments of a longer rest. */
static size_t may_send(struct exanet_ni *ni, const struct stream *s, size_t rest) {
  const size_t most = exanet_segment_max(ni), space = stream_space(ni, s);
  if (space >= rest) return rest;
  return space - space % most;
}

static ssize_t send_all(struct exanet_ni *ni, struct stream *s, int fd, const struct iovec *parts, size_t count,
                        int flags) {
  struct iovec list[IOV_MAX];
  const size_t wanted = total(parts, count);
  size_t sent = 0;
  wait_take(ni);
  const uint64_t until = wait_limit(ni, fd, SO_SNDTIMEO);
  for (bool looked = false; sent < wanted;) {
    const int wrong = check_open(s);
    if (wrong != 0) return sent > 0 ? (ssize_t)sent : fail(wrong);
    const size_t bytes = may_send(ni, s, wanted - sent);
    ssize_t n = 0;
    if (bytes > 0) {
      const struct msghdr message = {.msg_iov = list, .msg_iovlen = slice(parts, count, sent, bytes, list)};
      n = kernel_sendmsg(fd, &message, flags | MSG_DONTWAIT);
      if (n < 0 && errno != EAGAIN && errno != EINTR) return sent > 0 ? (ssize_t)sent : -1;
    }
    if (n > 0) {
      wait_done();
      send_segments(ni, s, (size_t)n);
      sent += (size_t)n;
    } else if (blocks(fd, flags)) {
      if (!wait_more(ni, n < 0 ? next_look(ni, until) : until)) return sent > 0 ? (ssize_t)sent : fail(EAGAIN);
    } else {
      if (sent > 0) break;
      if (looked) return fail(EAGAIN);
      wait_look(ni);
      looked = true;
    }
  }
  return (ssize_t)sent;
}

/* -- the calls ----------------------------------------------------------------------------------------------------- */
static ssize_t take(struct exanet_ni *ni, struct stream *s, int fd, struct msghdr *message, int flags) {
  if (s->mailbox != NULL) return datagram_receive(ni, s, fd, message, flags);
  message->msg_namelen = 0; /* as of a stream */
  message->msg_controllen = message->msg_flags = 0;
  return receive(ni, s, fd, message->msg_iov, message->msg_iovlen, flags);
}

static ssize_t give(struct exanet_ni *ni, struct stream *s, int fd, const struct msghdr *message, int flags) {
  return s->mailbox != NULL ? datagram_send(ni, s, fd, message, flags)
                            : send_all(ni, s, fd, message->msg_iov, message->msg_iovlen, flags);
}

/* The value of `own`, with the interface and the stream of `fd`; where it is none of ours that of the next definition
   of the function. */
#define CALL(name, type, fd, own, ...)                                    \
  static void *slot;                                                      \
  struct stream *s = stream_of(fd);                                       \
  struct exanet_ni *ni = s != NULL ? exanet_streams_enter() : NULL;       \
  if (ni == NULL) return ((type)sockets_next(&slot, #name))(__VA_ARGS__); \
  stream_hold(s);                                                         \
  const ssize_t result = own;                                             \
  const int error = errno;                                                \
  stream_release(ni, s);                                                  \
  exanet_streams_leave(ni);                                               \
  errno = error;                                                          \
  return result

#define PARTS(parts, count) (&(struct msghdr){.msg_iov = (struct iovec *)(parts), .msg_iovlen = (size_t)(count)})
#define ONE(buffer, size) PARTS((&(struct iovec){.iov_base = (void *)(buffer), .iov_len = (size)}), 1)

typedef ssize_t (*read_type)(int, void *, size_t);
EXPORT ssize_t read(int fd, void *buffer, size_t size) {
  CALL(read, read_type, fd, take(ni, s, fd, ONE(buffer, size), 0), fd, buffer, size);
}

typedef ssize_t (*readv_type)(int, const struct iovec *, int);
EXPORT ssize_t readv(int fd, const struct iovec *parts, int count) {
  CALL(readv, readv_type, fd, take(ni, s, fd, PARTS(parts, count), 0), fd, parts, count);
}

typedef ssize_t (*recv_type)(int, void *, size_t, int);
EXPORT ssize_t recv(int fd, void *buffer, size_t size, int flags) {
  CALL(recv, recv_type, fd, take(ni, s, fd, ONE(buffer, size), flags), fd, buffer, size, flags);
}

static ssize_t take_from(struct exanet_ni *ni, struct stream *s, int fd, struct msghdr *message, int flags,
                         socklen_t *length) {
  const ssize_t n = take(ni, s, fd, message, flags);
  if (length != NULL) *length = message->msg_namelen;
  return n;
}

typedef ssize_t (*recvfrom_type)(int, void *, size_t, int, struct sockaddr *, socklen_t *);
EXPORT ssize_t recvfrom(int fd, void *restrict buffer, size_t size, int flags, struct sockaddr *restrict from,
                        socklen_t *restrict length) {
  struct iovec part = {.iov_base = buffer, .iov_len = size};
  struct msghdr message = {.msg_name = from, .msg_iov = &part, .msg_iovlen = 1};
  if (length != NULL) message.msg_namelen = *length;
  CALL(recvfrom, recvfrom_type, fd, take_from(ni, s, fd, &message, flags, length), fd, buffer, size, flags, from,
       length);
}

typedef ssize_t (*recvmsg_type)(int, struct msghdr *, int);
EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
  CALL(recvmsg, recvmsg_type, fd, take(ni, s, fd, message, flags), fd, message, flags);
}

typedef ssize_t (*write_type)(int, const void *, size_t);
EXPORT ssize_t write(int fd, const void *bytes, size_t size) {
  CALL(write, write_type, fd, give(ni, s, fd, ONE(bytes, size), 0), fd, bytes, size);
}

typedef ssize_t (*writev_type)(int, const struct iovec *, int);
EXPORT ssize_t writev(int fd, const struct iovec *parts, int count) {
  CALL(writev, writev_type, fd, give(ni, s, fd, PARTS(parts, count), 0), fd, parts, count);
}

typedef ssize_t (*send_type)(int, const void *, size_t, int);
EXPORT ssize_t send(int fd, const void *bytes, size_t size, int flags) {
  CALL(send, send_type, fd, give(ni, s, fd, ONE(bytes, size), flags), fd, bytes, size, flags);
}

typedef ssize_t (*sendto_type)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
EXPORT ssize_t sendto(int fd, const void *bytes, size_t size, int flags, const struct sockaddr *to, socklen_t length) {
  struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
  const struct msghdr message = {.msg_name = (void *)to, .msg_namelen = length, .msg_iov = &part, .msg_iovlen = 1};
  CALL(sendto, sendto_type, fd, give(ni, s, fd, &message, flags), fd, bytes, size, flags, to, length);
}

typedef ssize_t (*sendmsg_type)(int, const struct msghdr *, int);
EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  CALL(sendmsg, sendmsg_type, fd, give(ni, s, fd, message, flags), fd, message, flags);
}

/* A part of a file at a time, as a caller has to expect. */
static ssize_t send_file(struct exanet_ni *ni, struct stream *s, int fd, int from, off_t *offset, size_t count) {
  char piece[65536];
  const size_t wanted = count < sizeof piece ? count : sizeof piece;
  const off_t at = offset != NULL ? *offset : lseek(from, 0, SEEK_CUR);
  const ssize_t n = pread(from, piece, wanted, at);
  const ssize_t sent = n > 0 ? give(ni, s, fd, ONE(piece, (size_t)n), 0) : n;
  if (sent > 0 && offset != NULL) *offset = at + sent;
  if (sent > 0 && offset == NULL) lseek(from, at + sent, SEEK_SET);
  return sent;
}

typedef ssize_t (*sendfile_type)(int, int, off_t *, size_t);
EXPORT ssize_t sendfile(int fd, int from, off_t *offset, size_t count);
EXPORT ssize_t sendfile(int fd, int from, off_t *offset, size_t count) {
  CALL(sendfile, sendfile_type, fd, send_file(ni, s, fd, from, offset, count), fd, from, offset, count);
}
EXPORT ssize_t sendfile64(int fd, int from, off_t *offset, size_t count);
EXPORT ssize_t sendfile64(int fd, int from, off_t *offset, size_t count) { return sendfile(fd, from, offset, count); }

/* -- several at once ----------------------------------------------------------------------------------------------- */
static int64_t ns_of(const struct timespec *t) { return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec; }

typedef int (*sendmmsg_type)(int, struct mmsghdr *, unsigned, int);
EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
  static void *slot;
  if (stream_of(fd) == NULL) return ((sendmmsg_type)sockets_next(&slot, "sendmmsg"))(fd, messages, count, flags);
  unsigned sent = 0;
  for (; sent < count; ++sent) {
    const ssize_t n = sendmsg(fd, &messages[sent].msg_hdr, flags);
    if (n < 0) return sent > 0 ? (int)sent : -1;
    messages[sent].msg_len = (unsigned)n;
  }
  return (int)sent;
}

/* As Linux's, it looks at its limit of time only when something has come. */
typedef int (*recvmmsg_type)(int, struct mmsghdr *, unsigned, int, struct timespec *);
EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *limit) {
  static void *slot;
  if (stream_of(fd) == NULL) return ((recvmmsg_type)sockets_next(&slot, "recvmmsg"))(fd, messages, count, flags, limit);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t until = limit != NULL ? ns_of(&now) + ns_of(limit) : INT64_MAX;
  unsigned got = 0;
  for (; got < count; ++got) {
    const ssize_t n = recvmsg(fd, &messages[got].msg_hdr, flags & ~MSG_WAITFORONE);
    if (n < 0) return got > 0 ? (int)got : -1;
    messages[got].msg_len = (unsigned)n;
    if (flags & MSG_WAITFORONE) flags |= MSG_DONTWAIT;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (ns_of(&now) >= until) return (int)got + 1;
  }
  return (int)got;
}

/* What programs that are built with _FORTIFY_SOURCE call: the size of the buffer has been checked where it is known. */
EXPORT ssize_t __read_chk(int fd, void *buffer, size_t size, size_t space);
EXPORT ssize_t __read_chk(int fd, void *buffer, size_t size, size_t space) {
  return size <= space ? read(fd, buffer, size) : fail(EFAULT);
}
EXPORT ssize_t __recv_chk(int fd, void *buffer, size_t size, size_t space, int flags);
EXPORT ssize_t __recv_chk(int fd, void *buffer, size_t size, size_t space, int flags) {
  return size <= space ? recv(fd, buffer, size, flags) : fail(EFAULT);
}
EXPORT ssize_t __recvfrom_chk(int fd, void *restrict buffer, size_t size, size_t space, int flags,
                              struct sockaddr *restrict from, socklen_t *restrict length);
EXPORT ssize_t __recvfrom_chk(int fd, void *restrict buffer, size_t size, size_t space, int flags,
                              struct sockaddr *restrict from, socklen_t *restrict length) {
  return size <= space ? recvfrom(fd, buffer, size, flags, from, length) : fail(EFAULT);
}
