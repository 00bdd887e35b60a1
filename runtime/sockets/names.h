/* SPDX-License-Identifier: Apache-2.0
 * Names and addresses of ranks. */
#ifndef EXANET_SOCKETS_NAMES_H
#define EXANET_SOCKETS_NAMES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define ANY_RANK UINT32_MAX
#define ELSEWHERE (UINT32_MAX - 1)

struct in_addr address_of_rank(uint32_t rank);
/* Whose address it is: a rank's, ANY_RANK of any address of the host, or ELSEWHERE. */
uint32_t rank_at(struct in_addr address);
/* NULL: it is none of IPv4. */
const struct sockaddr_in *address_in(const struct sockaddr *address, socklen_t length);
/* As getsockname() does; 0. */
int give_address(uint32_t rank, uint16_t port, struct sockaddr *out, socklen_t *length);
#endif
