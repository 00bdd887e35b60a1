/* SPDX-License-Identifier: Apache-2.0
 * Names and addresses of ranks: rank0 is 127.77.0.1, rank1 127.77.0.2, and so on.
 *
 * Model: the names are found where programs look for names of hosts. All other addresses of loopback, and those of the
 * host, lead to whichever rank listens at the port. Limit: up to 65,534 ranks. */
#define _GNU_SOURCE
#include "names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sockets.h"

#define FIRST UINT32_C(0x7f4d0001) /* 127.77.0.1 */

struct in_addr address_of_rank(uint32_t rank) { return (struct in_addr){htonl(FIRST + rank)}; }

/* A socket can be bound to it. */
static bool is_of_host(struct in_addr address) {
  const struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = address};
  const int fd = (int)syscall(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool is = fd >= 0 && syscall(SYS_bind, fd, &at, sizeof at) == 0;
  if (fd >= 0) kernel_close(fd);
  return is;
}

uint32_t rank_at(struct in_addr address) {
  const uint32_t number = ntohl(address.s_addr);
  if (number >> 16 == FIRST >> 16) return number - FIRST;
  if (number >> 24 == 127 || number == INADDR_ANY || is_of_host(address)) return ANY_RANK;
  return ELSEWHERE;
}

const struct sockaddr_in *address_in(const struct sockaddr *address, socklen_t length) {
  const bool is = address != NULL && length >= sizeof(struct sockaddr_in) && address->sa_family == AF_INET;
  return is ? (const struct sockaddr_in *)(const void *)address : NULL;
}

int give_address(uint32_t rank, uint16_t port, struct sockaddr *out, socklen_t *length) {
  const struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = address_of_rank(rank)};
  if (out == NULL || length == NULL) return 0;
  memcpy(out, &address, *length < sizeof address ? *length : sizeof address);
  *length = sizeof address;
  return 0;
}

/* `name`, or the address of the rank that it names, in `text`. */
static const char *resolved(const char *name, char text[INET_ADDRSTRLEN]) {
  if (name == NULL || strncmp(name, "rank", 4) != 0) return name;
  char *end;
  errno = 0;
  const unsigned long rank = strtoul(name + 4, &end, 10);
  if (name[4] < '0' || name[4] > '9' || *end != 0 || errno != 0 || rank > 65533) return name;
  const struct in_addr address = address_of_rank((uint32_t)rank);
  return inet_ntop(AF_INET, &address, text, INET_ADDRSTRLEN);
}

EXPORT int getaddrinfo(const char *restrict name, const char *restrict service, const struct addrinfo *restrict hints,
                       struct addrinfo **restrict found) {
  static void *slot;
  typedef int (*function)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  char text[INET_ADDRSTRLEN];
  return ((function)sockets_next(&slot, "getaddrinfo"))(resolved(name, text), service, hints, found);
}

EXPORT struct hostent *gethostbyname(const char *name) {
  static void *slot;
  typedef struct hostent *(*function)(const char *);
  char text[INET_ADDRSTRLEN];
  return ((function)sockets_next(&slot, "gethostbyname"))(resolved(name, text));
}

EXPORT int gethostbyname_r(const char *restrict name, struct hostent *restrict entry, char *restrict buffer,
                           size_t size, struct hostent **restrict result, int *restrict error) {
  static void *slot;
  typedef int (*function)(const char *, struct hostent *, char *, size_t, struct hostent **, int *);
  char text[INET_ADDRSTRLEN];
  return ((function)sockets_next(&slot, "gethostbyname_r"))(resolved(name, text), entry, buffer, size, result, error);
}
