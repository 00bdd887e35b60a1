/* SPDX-License-Identifier: Apache-2.0
 * Datagrams as a program sends and takes them.
 *
 * Model: sending waits while what the interface has yet to send fills the socket's buffer. A socket that sends without
 * having been bound has a port then. One that is not bound and sends to another host is the host's from then on.
 *
 * Limits: ancillary data are neither taken nor given; there is no queue of errors (MSG_ERRQUEUE). */
#define _GNU_SOURCE
#include "datagrams.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/ip_icmp.h>
#include <string.h>

#include "mailbox.h"
#include "names.h"

static ssize_t fail(int error) {
  errno = error;
  return -1;
}

static bool blocks(int fd, int flags) { return (flags & MSG_DONTWAIT) == 0 && (kernel_flags(fd) & O_NONBLOCK) == 0; }

/* What has gone wrong before, once. */
static int take_error(struct stream *s) {
  const int error = s->error;
  s->error = 0;
  return error;
}

/* The host's own addresses are the rank itself: nobody is asked who takes datagrams there. */
static uint32_t rank_in(const struct exanet_ni *ni, const struct sockaddr_in *to) {
  const uint32_t rank = rank_at(to->sin_addr);
  return rank == ANY_RANK ? exanet_rank(ni) : rank;
}

int datagram_bind(struct exanet_ni *ni, struct stream *s, uint16_t port) {
  const int error = mailbox_bind(ni, s, port);
  s->mailbox->is_bound_by_program = error == 0;
  return error;
}

int datagram_connect(struct exanet_ni *ni, struct stream *s, const struct sockaddr_in *to) {
  if (to == NULL) {
    s->mailbox->is_connected = false;
    return 0;
  }
  const uint32_t rank = rank_in(ni, to);
  if (rank >= exanet_size(ni)) return ENETUNREACH;
  if (!s->bound) {
    const int error = mailbox_bind(ni, s, 0);
    if (error != 0) return error;
  }
  s->peer = rank;
  s->peer_port = ntohs(to->sin_port);
  s->mailbox->is_connected = true;
  return 0;
}

/* -- receiving ----------------------------------------------------------------------------------------------------- */
/* 0: one is there, or the end; else the errno value. */
static int wait_for_one(struct exanet_ni *ni, struct stream *s, int fd, int flags) {
  wait_take(ni);
  const uint64_t until = wait_limit(ni, fd, SO_RCVTIMEO);
  for (bool looked = false;;) {
    if (s->error != 0) return take_error(s);
    if (s->mailbox->first != NULL || s->mailbox->is_shut) return 0;
    if (blocks(fd, flags)) {
      if (!wait_more(ni, until)) return EAGAIN;
    } else {
      if (looked) return EAGAIN;
      wait_look(ni);
      looked = true;
    }
  }
}

static size_t scatter(const struct datagram *d, const struct msghdr *message) {
  size_t given = 0;
  for (size_t i = 0; i < message->msg_iovlen && given < d->length; ++i) {
    const struct iovec *part = &message->msg_iov[i];
    const size_t bytes = part->iov_len < d->length - given ? part->iov_len : d->length - given;
    memcpy(part->iov_base, d->bytes + given, bytes);
    given += bytes;
  }
  return given;
}

ssize_t datagram_receive(struct exanet_ni *ni, struct stream *s, int fd, struct msghdr *message, int flags) {
  if (flags & MSG_ERRQUEUE) return fail(EAGAIN);
  const int wrong = wait_for_one(ni, s, fd, flags);
  if (wrong != 0) return fail(wrong);
  message->msg_controllen = 0;
  message->msg_flags = 0;
  const struct datagram *d = s->mailbox->first;
  if (d == NULL) return 0;
  const size_t given = scatter(d, message), length = d->length;
  if (given < length) message->msg_flags |= MSG_TRUNC;
  if (message->msg_name != NULL) give_address(d->peer, d->peer_port, message->msg_name, &message->msg_namelen);
  wait_done();
  if ((flags & MSG_PEEK) == 0) mailbox_pop(ni, s);
  return (ssize_t)(flags & MSG_TRUNC ? length : given);
}

/* -- sending ------------------------------------------------------------------------------------------------------- */
static int wait_for_space(struct exanet_ni *ni, struct stream *s, int fd, int flags) {
  wait_take(ni);
  const uint64_t until = wait_limit(ni, fd, SO_SNDTIMEO);
  for (bool looked = false;;) {
    if (s->error != 0) return take_error(s);
    if (s->mailbox->unsent < s->mailbox->send_limit) return 0;
    if (blocks(fd, flags)) {
      if (!wait_more(ni, until)) return EAGAIN;
    } else {
      if (looked) return EAGAIN;
      wait_look(ni);
      looked = true;
    }
  }
}

static size_t gather(const struct msghdr *message, uint8_t *bytes) {
  size_t length = 0;
  for (size_t i = 0; i < message->msg_iovlen; ++i) {
    const struct iovec *part = &message->msg_iov[i];
    if (part->iov_len > LONGEST_DATAGRAM - length) return LONGEST_DATAGRAM + 1;
    if (part->iov_len > 0) memcpy(bytes + length, part->iov_base, part->iov_len);
    length += part->iov_len;
  }
  return length;
}

/* To another host, beside the simulated network. */
static ssize_t send_elsewhere(struct exanet_ni *ni, const struct stream *s, int fd, const struct msghdr *message,
                              int flags) {
  if (s->bound) return fail(ENETUNREACH);
  epoll_give_back(fd);
  stream_drop_file(ni, fd);
  return kernel_sendmsg(fd, message, flags);
}

/* The host numbers it. */
static void ask_for_echo(struct exanet_ni *ni, struct stream *s, uint32_t rank, uint8_t *bytes, uint32_t length) {
  bytes[4] = (uint8_t)(s->port >> 8);
  bytes[5] = (uint8_t)s->port;
  echo_checksum(bytes, length);
  mailbox_ask_for_echo(ni, s, rank, bytes, length);
}

ssize_t datagram_send(struct exanet_ni *ni, struct stream *s, int fd, const struct msghdr *message, int flags) {
  uint8_t bytes[LONGEST_DATAGRAM];
  uint32_t rank = s->peer;
  uint16_t port = s->peer_port;
  if (message->msg_name != NULL) {
    const struct sockaddr_in *to = address_in(message->msg_name, message->msg_namelen);
    if (to == NULL) return fail(EAFNOSUPPORT);
    rank = rank_in(ni, to);
    port = ntohs(to->sin_port);
    if (rank == ELSEWHERE) return send_elsewhere(ni, s, fd, message, flags);
    if (rank >= exanet_size(ni)) return fail(ENETUNREACH);
    if (port == 0 && !s->mailbox->is_of_echoes) return fail(EINVAL);
  } else if (!s->mailbox->is_connected) {
    return fail(EDESTADDRREQ);
  }
  const size_t length = gather(message, bytes);
  if (length > LONGEST_DATAGRAM || (s->mailbox->is_of_echoes && length > exanet_fragment_max(ni)))
    return fail(EMSGSIZE);
  if (s->mailbox->is_of_echoes && (length < ICMP_MINLEN || bytes[0] != ICMP_ECHO)) return fail(EINVAL);
  int wrong = s->bound ? 0 : mailbox_bind(ni, s, 0);
  if (wrong == 0) wrong = wait_for_space(ni, s, fd, flags);
  if (wrong != 0) return fail(wrong);
  wait_done();
  if (s->mailbox->is_of_echoes)
    ask_for_echo(ni, s, rank, bytes, (uint32_t)length);
  else
    mailbox_send(ni, s, rank, port, bytes, (uint32_t)length);
  return (ssize_t)length;
}
