/* SPDX-License-Identifier: Apache-2.0
 * What a socket of datagrams has beside its file. */
#ifndef EXANET_SOCKETS_MAILBOX_H
#define EXANET_SOCKETS_MAILBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "sockets.h"

#define LONGEST_DATAGRAM 65507u /* what IP's length leaves behind both headers (RFC 791, RFC 768) */

struct datagram {
  struct datagram *next;
  uint32_t peer;
  uint16_t peer_port;
  uint32_t length;
  uint8_t bytes[];
};

struct mailbox {
  uint64_t number; /* among a rank's */
  bool is_of_echoes; /* of ICMP: ping's */
  bool is_connected;
  bool is_bound_by_program; /* and so may serve */
  bool shares; /* SO_REUSEADDR, SO_REUSEPORT */
  bool is_shut; /* to what comes */
  uint64_t held, receive_limit; /* what has come, as Linux counts it; SO_RCVBUF */
  uint64_t unsent, send_limit; /* what the interface has, likewise; SO_SNDBUF */
  struct datagram *first, **last;
  struct stream *next; /* of those that have mailboxes */
};

bool mailbox_new(struct stream *s, bool of_echoes);
/* To the program's port, or to one that is free: 0. An errno value, or 0. */
int mailbox_bind(struct exanet_ni *ni, struct stream *s, uint16_t port);
void mailbox_free(struct exanet_ni *ni, struct stream *s);
void mailbox_pop(struct exanet_ni *ni, struct stream *s);
void mailbox_send(struct exanet_ni *ni, struct stream *s, uint32_t peer, uint16_t peer_port, const uint8_t *bytes,
                  uint32_t length);
/* A message of ICMP that asks for an echo; `bytes` with its header. */
void mailbox_ask_for_echo(struct exanet_ni *ni, struct stream *s, uint32_t peer, const uint8_t *bytes, uint32_t length);
void echo_checksum(uint8_t *bytes, uint32_t length);
#endif
