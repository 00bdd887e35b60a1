/* SPDX-License-Identifier: Apache-2.0
 * Endpoint names.
 *
 * Problem: programs ask for addresses in the provider's own format, or insist on internet addresses.
 *
 * Model: the native form is the 8-byte exanet_addr. As an internet address, rank r, endpoint e is 10.r.r.r and port
 * e. In text an endpoint is exanet://rank:endpoint.
 *
 * Limit: an internet address has 24 bits of rank. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exanet_prov.h"

#define EXANET_IN_NET (10u << 24)
#define EXANET_IN_HOSTS (1u << 24)

static bool exanet_name_is_sockaddr(uint32_t format) { return format == FI_SOCKADDR || format == FI_SOCKADDR_IN; }

bool exanet_name_known(uint32_t format) {
  return format == FI_FORMAT_UNSPEC || format == EXANET_ADDR_FORMAT || exanet_name_is_sockaddr(format);
}

size_t exanet_name_size(uint32_t format) {
  return exanet_name_is_sockaddr(format) ? sizeof(struct sockaddr_in) : sizeof(exanet_addr);
}

void exanet_name_write(uint32_t format, exanet_addr addr, void *name) {
  if (exanet_name_is_sockaddr(format)) {
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_port = htons(exanet_addr_ep(addr)),
                             .sin_addr.s_addr = htonl(EXANET_IN_NET | exanet_addr_rank(addr))};
    memcpy(name, &in, sizeof in);
  } else {
    memcpy(name, &addr, sizeof addr);
  }
}

int exanet_name_read(uint32_t format, const void *name, exanet_addr *addr) {
  if (exanet_name_is_sockaddr(format)) {
    struct sockaddr_in in;
    memcpy(&in, name, sizeof in);
    uint32_t host = ntohl(in.sin_addr.s_addr);
    if (in.sin_family != AF_INET || (host & ~(EXANET_IN_HOSTS - 1)) != EXANET_IN_NET) return -FI_EINVAL;
    *addr = exanet_address(host & (EXANET_IN_HOSTS - 1), ntohs(in.sin_port));
  } else {
    memcpy(addr, name, sizeof *addr);
  }
  bool inside = *addr >> 48 == 0 && exanet_addr_rank(*addr) < exanet_size(exanet_process.ni);
  return inside ? 0 : -FI_EINVAL;
}

static int exanet_name_parse_native(const char *node, exanet_addr *addr) {
  unsigned rank, ep;
  char rest;
  if (sscanf(node, "exanet://%u:%u%c", &rank, &ep, &rest) != 2 || ep > UINT16_MAX) return -FI_ENODATA;
  *addr = exanet_address(rank, (uint16_t)ep);
  return 0;
}

static int exanet_name_parse_internet(const char *node, const char *service, exanet_addr *addr) {
  struct sockaddr_in in = {.sin_family = AF_INET};
  char *end = NULL;
  unsigned long port = service ? strtoul(service, &end, 10) : 0;
  if (inet_pton(AF_INET, node, &in.sin_addr) != 1 || port > UINT16_MAX || (end && *end)) return -FI_ENODATA;
  in.sin_port = htons((uint16_t)port);
  return exanet_name_read(FI_SOCKADDR_IN, &in, addr);
}

/* A loopback address names the asking process itself, whatever its rank. */
bool exanet_name_is_self(const char *node) {
  struct in_addr in;
  return inet_pton(AF_INET, node, &in) == 1 && ntohl(in.s_addr) >> 24 == IN_LOOPBACKNET;
}

int exanet_name_parse(const char *node, const char *service, exanet_addr *addr) {
  int rc = exanet_name_parse_native(node, addr);
  if (rc) rc = exanet_name_parse_internet(node, service, addr);
  if (!rc && exanet_addr_rank(*addr) >= exanet_size(exanet_process.ni)) rc = -FI_ENODATA;
  return rc ? -FI_ENODATA : 0;
}

int exanet_name_print(exanet_addr addr, char *buf, size_t len) {
  return snprintf(buf, len, "exanet://%u:%u", exanet_addr_rank(addr), exanet_addr_ep(addr));
}
