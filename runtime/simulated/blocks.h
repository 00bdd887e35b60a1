/* SPDX-License-Identifier: Apache-2.0
 * Blocks of a buffer that a collective sends or receives: one, or one for each rank or neighbour. */
#ifndef EXANET_SIMULATED_BLOCKS_H
#define EXANET_SIMULATED_BLOCKS_H

#include "runtime/simulated/engine.h"

struct exanet_blocks {
  long buffer, type, count;
  const void *counts, *displacements; /* NULL: all of `count`; and one after the other */
  const int *types; /* one for each, with displacements in bytes; NULL: one for all */
  bool large, far; /* counts are of 64 bits; displacements */
};

uint64_t exanet_block_bytes(const struct exanet_blocks *b, long i);
/* False: the library is to say what is wrong. */
bool exanet_blocks_are_valid(const struct exanet_blocks *b, long blocks);
/* Bytes of each; to be freed. */
uint64_t *exanet_blocks_bytes(const struct exanet_blocks *b, long blocks);
/* Packs blocks [first, first + blocks), one after the other; to be freed, also after an error, 0 for none. */
int exanet_blocks_pack(const struct exanet_simulated *s, const struct exanet_blocks *b, long first, long blocks,
                       struct exanet_bytes *packed);
/* Takes what has come for one: what does not fit is left. An error, 0 for none. */
int exanet_block_take(const struct exanet_simulated *s, const struct exanet_blocks *b, long i,
                      const struct exanet_live_part *part);
/* Keeps the types, which the program may free; to be given to exanet_types_drop(). */
int *exanet_blocks_keep(struct exanet_blocks *b, long blocks);
void exanet_types_drop(int *types, long count);
/* A place so many elements behind a buffer's start. */
long exanet_moved(long buffer, long elements, long type);
static inline bool exanet_is_in_place(long buffer) { return buffer == exanet_mpi.in_place; }
#endif
