/* SPDX-License-Identifier: Apache-2.0
 * Collectives among the neighbours of a process topology. */
#ifndef EXANET_RECORD_NEIGHBOURS_H
#define EXANET_RECORD_NEIGHBOURS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/record/communicators.h"

/* The communicator among the arguments; a nonblocking one's request stands behind it. */
int exanet_neighbours_communicator_at(uint8_t code);
/* Puts communicator, request, and the neighbours with their sizes. */
void exanet_neighbours_put(uint8_t code, const struct exanet_communicator *comm, const long *arguments, bool large,
                           uint32_t request);
#endif
