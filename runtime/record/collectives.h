/* SPDX-License-Identifier: Apache-2.0
 * Where the arguments of each collective stand, and their fields in a record. */
#ifndef EXANET_RECORD_COLLECTIVES_H
#define EXANET_RECORD_COLLECTIVES_H

#include <stdbool.h>
#include <stdint.h>

struct exanet_collective {
  int8_t comm, root, op; /* positions; -1: none. A nonblocking one's request stands behind the communicator. */
  int8_t send_count, send_type, receive_count, receive_type;
  int8_t send_list, receive_list; /* 0: a count; 1: counts by rank; 2: counts and types by rank */
};

/* By the code of a blocking or nonblocking one; NULL: it is none. */
const struct exanet_collective *exanet_collective_of(uint8_t code);
/* Puts root, request, flags and sizes. */
void exanet_collective_put(uint8_t code, const long *arguments, bool large, uint32_t request);
#endif
