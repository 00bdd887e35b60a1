/* SPDX-License-Identifier: Apache-2.0
 * Datagrams as a program sends and takes them; `s` has a mailbox. */
#ifndef EXANET_SOCKETS_DATAGRAMS_H
#define EXANET_SOCKETS_DATAGRAMS_H

#include "sockets.h"

int datagram_bind(struct exanet_ni *ni, struct stream *s, uint16_t port); /* an errno value, or 0 */
int datagram_connect(struct exanet_ni *ni, struct stream *s, const struct sockaddr_in *to); /* NULL: to nobody */
ssize_t datagram_receive(struct exanet_ni *ni, struct stream *s, int fd, struct msghdr *message, int flags);
ssize_t datagram_send(struct exanet_ni *ni, struct stream *s, int fd, const struct msghdr *message, int flags);
#endif
