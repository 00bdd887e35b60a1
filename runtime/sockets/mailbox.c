/* SPDX-License-Identifier: Apache-2.0
 * Sockets of datagrams (UDP): their ports, and what has come for each.
 *
 * Model: a datagram's bytes go over the simulated network with it, in fragments that IP would make of it, and wait here
 * until the program takes them. One that finds the socket's buffer full is dropped and counted. Buffers hold what
 * Linux's do: each fragment counts with the memory of a packet around it. Of several sockets at a port, the one that is
 * connected to the sender has a datagram, and else the newest that is connected to nobody.
 *
 * Contract: as of streams.c, which calls what is here when something has come. */
#define _GNU_SOURCE
#include "mailbox.h"

#include <errno.h>
#include <netinet/ip_icmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UDP_HEADER 8u
/* Of Linux on 64-bit processors: struct sk_buff and struct skb_shared_info (SKB_TRUESIZE); net.core.rmem_default and
   wmem_default. */
#define AROUND_A_FRAGMENT 576u
#define DEFAULT_LIMIT 212992u
/* net.ipv4.ip_local_port_range */
#define FIRST_FREE_PORT 32768u
#define FREE_PORTS 28232u

static struct stream *all; /* the newest first */
static struct datagram *coming; /* some of whose fragments have been taken */
static uint32_t come;

bool mailbox_new(struct stream *s, bool of_echoes) {
  static uint64_t numbers;
  struct mailbox *m = calloc(1, sizeof *m);
  if (m == NULL) return false;
  m->number = ++numbers;
  m->is_of_echoes = of_echoes;
  m->receive_limit = m->send_limit = DEFAULT_LIMIT;
  m->last = &m->first;
  m->next = all;
  s->mailbox = m;
  all = s;
  return true;
}

static bool option(int fd, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  return syscall(SYS_getsockopt, fd, SOL_SOCKET, name, &value, &size) == 0 && value != 0;
}

static struct stream *at_port(uint16_t port) {
  for (struct stream *s = all; s != NULL; s = s->mailbox->next)
    if (s->bound && s->port == port && !s->mailbox->is_of_echoes) return s;
  return NULL;
}

static bool is_taken(const struct stream *by, uint16_t port) {
  for (const struct stream *s = all; s != NULL; s = s->mailbox->next)
    if (s->bound && s->port == port && !s->mailbox->is_of_echoes && !(s->mailbox->shares && by->mailbox->shares))
      return true;
  return false;
}

static uint16_t free_port(void) {
  static uint32_t next;
  for (uint32_t tries = 0; tries < FREE_PORTS; ++tries) {
    const uint16_t port = (uint16_t)(FIRST_FREE_PORT + next++ % FREE_PORTS);
    if (at_port(port) == NULL) return port;
  }
  return 0;
}

int mailbox_bind(struct exanet_ni *ni, struct stream *s, uint16_t port) {
  if (s->mailbox->is_of_echoes) { /* the number that its messages have, which nobody else answers to */
    s->port = port != 0 ? port : (uint16_t)s->mailbox->number;
    s->bound = true;
    return 0;
  }
  s->mailbox->shares = option(s->fd, SO_REUSEADDR) || option(s->fd, SO_REUSEPORT);
  if (port == 0) port = free_port();
  if (port == 0 || is_taken(s, port)) return EADDRINUSE;
  const bool is_new = at_port(port) == NULL;
  s->port = port;
  s->bound = true;
  exanet_uncount(ni);
  if (is_new) exanet_take_datagrams(ni, port, true);
  return 0;
}

void mailbox_close(struct exanet_ni *ni, struct stream *s) {
  const bool was_bound = s->bound;
  s->bound = false;
  if (was_bound && !s->mailbox->is_of_echoes && at_port(s->port) == NULL) exanet_take_datagrams(ni, s->port, false);
}

void mailbox_free(struct exanet_ni *ni, struct stream *s) {
  mailbox_close(ni, s);
  struct stream **at = &all;
  while (*at != s) at = &(*at)->mailbox->next;
  *at = s->mailbox->next;
  while (s->mailbox->first != NULL) mailbox_pop(ni, s);
  free(s->mailbox);
}

bool mailboxes_serve(void) {
  for (const struct stream *s = all; s != NULL; s = s->mailbox->next)
    if (s->mailbox->is_bound_by_program && !s->mailbox->is_connected && !s->mailbox->is_of_echoes) return true;
  return false;
}

short mailbox_ready(const struct stream *s) {
  const struct mailbox *m = s->mailbox;
  int ready = s->error != 0 ? POLLERR | POLLIN : 0;
  if (m->first != NULL || m->is_shut) ready |= POLLIN | POLLRDNORM;
  if (2 * m->unsent < m->send_limit) ready |= POLLOUT | POLLWRNORM;
  return (short)ready;
}

/* -- what goes ----------------------------------------------------------------------------------------------------- */
static uint64_t memory(const struct exanet_ni *ni, uint32_t length) {
  const uint32_t most = exanet_fragment_max(ni);
  return length + (uint64_t)AROUND_A_FRAGMENT * ((length + UDP_HEADER + most - 1) / most);
}

void mailbox_ask_for_echo(struct exanet_ni *ni, struct stream *s, uint32_t peer, const uint8_t *bytes,
                          uint32_t length) {
  const struct exanet_fragment fragment = {.socket = s->mailbox->number,
                                           .peer = peer,
                                           .port = s->port,
                                           .length = (uint16_t)length,
                                           .count = 1,
                                           .echo = true};
  s->mailbox->unsent += length + AROUND_A_FRAGMENT;
  exanet_uncount(ni);
  exanet_fragment_send(ni, &fragment, bytes, length);
}

void mailbox_send(struct exanet_ni *ni, struct stream *s, uint32_t peer, uint16_t peer_port, const uint8_t *bytes,
                  uint32_t length) {
  static uint32_t identifications;
  const uint32_t most = exanet_fragment_max(ni), count = (length + UDP_HEADER + most - 1) / most;
  struct exanet_fragment fragment = {.socket = s->mailbox->number,
                                     .peer = peer,
                                     .identification = identifications++,
                                     .port = s->port,
                                     .peer_port = peer_port,
                                     .length = (uint16_t)length,
                                     .count = (uint8_t)count};
  s->mailbox->unsent += memory(ni, length);
  exanet_uncount(ni);
  for (uint32_t sent = 0; fragment.number < count; ++fragment.number) {
    const uint32_t space = fragment.number == 0 ? most - UDP_HEADER : most;
    const uint32_t size = length - sent < space ? length - sent : space;
    exanet_fragment_send(ni, &fragment, bytes + sent, size);
    sent += size;
  }
}

/* The Internet checksum of a message of ICMP (RFC 1071), in its place. */
void echo_checksum(uint8_t *bytes, uint32_t length) {
  uint32_t sum = 0;
  bytes[2] = bytes[3] = 0;
  for (uint32_t i = 0; i < length; ++i) sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  bytes[2] = (uint8_t)(~sum >> 8);
  bytes[3] = (uint8_t)~sum;
}

/* -- what comes ---------------------------------------------------------------------------------------------------- */
static struct stream *numbered(uint64_t number) {
  for (struct stream *s = all; s != NULL; s = s->mailbox->next)
    if (s->mailbox->number == number) return s;
  return NULL;
}

static struct stream *receiver(const struct exanet_stream_event *event) {
  struct stream *found = NULL;
  for (struct stream *s = all; s != NULL; s = s->mailbox->next) {
    if (!s->bound || s->port != event->port || s->mailbox->is_shut || s->mailbox->is_of_echoes) continue;
    if (s->mailbox->is_connected && s->peer == event->peer && s->peer_port == event->peer_port) return s;
    if (!s->mailbox->is_connected && found == NULL) found = s;
  }
  return found;
}

static void enqueue(const struct exanet_stream_event *event, struct stream *s, struct datagram *d) {
  if (s == NULL || s->mailbox->held > s->mailbox->receive_limit) {
    if (s != NULL) exanet_datagram_dropped(event->ni);
    free(d);
    return;
  }
  ++s->news;
  s->mailbox->held += memory(event->ni, d->length);
  *s->mailbox->last = d;
  s->mailbox->last = &d->next;
}

void mailbox_pop(struct exanet_ni *ni, struct stream *s) {
  struct mailbox *m = s->mailbox;
  struct datagram *d = m->first;
  m->first = d->next;
  if (m->first == NULL) m->last = &m->first;
  m->held -= memory(ni, d->length);
  free(d);
}

/* The fragments of one follow one another. */
static void take_fragment(const struct exanet_stream_event *event) {
  const uint32_t length = (uint32_t)event->length;
  if (coming == NULL) {
    coming = malloc(sizeof *coming + length);
    if (coming == NULL) abort();
    *coming = (struct datagram){.peer = event->peer, .peer_port = event->peer_port, .length = length};
    come = 0;
  }
  memcpy(coming->bytes + come, event->bytes, event->carried);
  come += event->carried;
  if (come < length) return;
  enqueue(event, receiver(event), coming);
  coming = NULL;
}

static void take_echo(const struct exanet_stream_event *event) {
  struct datagram *d = malloc(sizeof *d + event->carried);
  if (d == NULL) abort();
  *d = (struct datagram){.peer = event->peer, .length = event->carried};
  memcpy(d->bytes, event->bytes, event->carried);
  d->bytes[0] = ICMP_ECHOREPLY;
  echo_checksum(d->bytes, d->length);
  enqueue(event, numbered(event->socket), d);
}

void mailbox_arrived(const struct exanet_stream_event *event) {
  struct stream *s = NULL;
  switch ((enum exanet_datagram_kind)event->datagram) {
    case EXANET_DATAGRAM_ARRIVED: return take_fragment(event);
    case EXANET_DATAGRAM_PART: return;
    case EXANET_DATAGRAM_ECHOED: return take_echo(event);
    case EXANET_DATAGRAM_SENT:
      s = numbered(event->socket);
      if (s == NULL) return;
      s->mailbox->unsent -= event->length + AROUND_A_FRAGMENT;
      break;
    case EXANET_DATAGRAM_REFUSED:
      s = numbered(event->socket);
      if (s == NULL || !s->mailbox->is_connected) return;
      s->error = ECONNREFUSED;
      break;
  }
  ++s->news;
}

/* The program ends: nobody takes datagrams any more. */
void mailboxes_close(struct exanet_ni *ni) {
  for (struct stream *s = all; s != NULL; s = s->mailbox->next) mailbox_close(ni, s);
}
