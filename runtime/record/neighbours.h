/* SPDX-License-Identifier: Apache-2.0
 * Collectives among the neighbours of a process topology. */
#ifndef EXANET_RECORD_NEIGHBOURS_H
#define EXANET_RECORD_NEIGHBOURS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/record/communicators.h"

/* Positions of a call's arguments. */
struct exanet_neighbour_call {
  int8_t send_count, send_type, receive_count, receive_type, comm;
  bool by_target, by_source, types; /* counts, and types, for each neighbour */
};
const struct exanet_neighbour_call *exanet_neighbour_call_of(uint8_t code);

struct exanet_neighbours {
  int sources, targets;
  int *source, *target; /* ranks of the communicator, or none; to be freed */
};
/* Asks the library. False: the communicator has no topology, or memory is short. */
bool exanet_neighbours_ask(struct exanet_neighbours *n, const struct exanet_communicator *comm, long handle);

/* The communicator among the arguments; a nonblocking one's request stands behind it. */
int exanet_neighbours_communicator_at(uint8_t code);
/* Puts communicator, request, and the neighbours with their sizes. */
void exanet_neighbours_put(uint8_t code, const struct exanet_communicator *comm, const long *arguments, bool large,
                           uint32_t request);
#endif
