/* SPDX-License-Identifier: Apache-2.0
 * What a collective with blocks of several sizes keeps until its end. */
#ifndef EXANET_SIMULATED_LISTS_H
#define EXANET_SIMULATED_LISTS_H

#include "runtime/simulated/blocks.h"
#include "runtime/simulated/operation.h"

struct exanet_lists {
  struct exanet_blocks sent, received;
  bool sends, receives, in_place;
  uint64_t *sent_bytes, *received_bytes; /* by rank, or by neighbour */
  uint32_t *sources, *destinations;
  int *kept; /* types of what is received */
  long kept_count;
};

struct exanet_lists *exanet_lists_of(struct exanet_operation *o); /* new and empty */
void exanet_lists_free(struct exanet_operation *o);
#endif
