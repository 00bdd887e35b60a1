/* SPDX-License-Identifier: Apache-2.0
 * Options of sockets, as far as they concern virtual time: the bounds of buffers, what has gone wrong, the longest
 * segment, and how many bytes are there (FIONREAD). All others are the host's.
 *
 * Model: buffers of datagrams have the double of what the program asks for, as in Linux; what an administrator would
 * allow is no bound here. Segmentation of datagrams by the host (UDP_SEGMENT) is not there, as on older kernels. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

#include "mailbox.h"
#include "sockets.h"

/* Linux's SOCK_MIN_RCVBUF and SOCK_MIN_SNDBUF. */
#define LEAST_RECEIVE 2304u
#define LEAST_SEND 4608u
/* Of <linux/udp.h>. */
#define SEGMENT_DATAGRAMS 103
#define JOIN_DATAGRAMS 104

static int leave(struct exanet_ni *ni, int result, int error) {
  exanet_streams_leave(ni);
  errno = error;
  return result;
}

/* False: the host has the option. */
static bool get(struct exanet_ni *ni, struct stream *s, int level, int option, int *value) {
  if (level == IPPROTO_TCP && option == TCP_MAXSEG && s->mailbox == NULL) {
    *value = (int)exanet_segment_max(ni);
    return true;
  }
  if (level != SOL_SOCKET) return false;
  if (option == SO_ERROR) {
    wait_take(ni);
    *value = s->error;
    if (s->state == STREAM_FAILED || s->mailbox != NULL) s->error = 0;
    return true;
  }
  if (s->mailbox == NULL || (option != SO_RCVBUF && option != SO_SNDBUF)) return false;
  *value = (int)(option == SO_RCVBUF ? s->mailbox->receive_limit : s->mailbox->send_limit);
  return true;
}

typedef int (*getsockopt_type)(int, int, int, void *, socklen_t *);
EXPORT int getsockopt(int fd, int level, int option, void *restrict value, socklen_t *restrict length) {
  static void *slot;
  struct stream *s = stream_of(fd);
  struct exanet_ni *ni = s != NULL ? exanet_streams_enter() : NULL;
  int found = 0;
  const bool ours = ni != NULL && length != NULL && *length >= sizeof found && get(ni, s, level, option, &found);
  if (ni != NULL) leave(ni, 0, errno);
  if (!ours) return ((getsockopt_type)sockets_next(&slot, "getsockopt"))(fd, level, option, value, length);
  memcpy(value, &found, sizeof found);
  *length = sizeof found;
  return 0;
}

static uint64_t doubled(int bytes, uint64_t least) {
  const uint64_t size = bytes > 0 ? 2 * (uint64_t)bytes : 0;
  return size > least ? size : least;
}

static void bound(struct exanet_ni *ni, struct stream *s, int option, int bytes) {
  const uint64_t least = 2 * (uint64_t)exanet_segment_max(ni);
  if (s->mailbox == NULL && option == SO_SNDBUF)
    s->window = bytes > 0 && (uint64_t)bytes > least ? (uint64_t)bytes : least;
  if (s->mailbox != NULL && option == SO_SNDBUF) s->mailbox->send_limit = doubled(bytes, LEAST_SEND);
  if (s->mailbox != NULL && option == SO_RCVBUF) s->mailbox->receive_limit = doubled(bytes, LEAST_RECEIVE);
}

typedef int (*setsockopt_type)(int, int, int, const void *, socklen_t);
EXPORT int setsockopt(int fd, int level, int option, const void *value, socklen_t length) {
  static void *slot;
  const bool bounds = level == SOL_SOCKET && (option == SO_SNDBUF || option == SO_RCVBUF);
  const bool segments = level == IPPROTO_UDP && (option == SEGMENT_DATAGRAMS || option == JOIN_DATAGRAMS);
  struct stream *s = bounds || segments ? stream_of(fd) : NULL;
  struct exanet_ni *ni = s != NULL && value != NULL && length >= sizeof(int) ? exanet_streams_enter() : NULL;
  if (ni != NULL && segments) return leave(ni, -1, ENOPROTOOPT);
  const int result = ((setsockopt_type)sockets_next(&slot, "setsockopt"))(fd, level, option, value, length);
  if (ni == NULL) return result;
  int bytes;
  memcpy(&bytes, value, sizeof bytes);
  bound(ni, s, option, bytes);
  return leave(ni, result, errno);
}

static int bytes_there(const struct stream *s) {
  if (s->mailbox == NULL) return (int)s->available;
  return s->mailbox->first != NULL ? (int)s->mailbox->first->length : 0;
}

typedef int (*ioctl_type)(int, unsigned long, ...);
EXPORT int ioctl(int fd, unsigned long request, ...) {
  static void *slot;
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  struct stream *s = request == FIONREAD ? stream_of(fd) : NULL;
  struct exanet_ni *ni = s != NULL ? exanet_streams_enter() : NULL;
  if (ni == NULL) return ((ioctl_type)sockets_next(&slot, "ioctl"))(fd, request, argument);
  wait_ask(ni);
  const int bytes = bytes_there(s);
  memcpy(argument, &bytes, sizeof bytes);
  return leave(ni, 0, errno);
}
