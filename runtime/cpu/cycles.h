/* SPDX-License-Identifier: Apache-2.0
 * Cycles of an in-order processor for a block of instructions, and for what its data caches miss. */
#ifndef EXANET_CPU_CYCLES_H
#define EXANET_CPU_CYCLES_H

#include <stdint.h>

#include "runtime/cpu/decode.h"

#define EXN_CPU_LEVELS 2

struct exn_cpu {
  uint32_t width;                /* instructions a cycle, at most */
  uint32_t latency[EXN_CLASSES]; /* cycles until a result can be used */
  uint32_t addend;               /* the same of a fused multiplication and addition that another one adds to */
  uint32_t mispredicted;         /* cycles lost by a branch that goes elsewhere than the last time */
  struct exn_cpu_cache {
    uint32_t sets, ways, line; /* 0 sets: no such level */
  } level[EXN_CPU_LEVELS];
  uint32_t beyond[EXN_CPU_LEVELS]; /* cycles that a load waits for what the level misses */
};

/* Issues the block's instructions in their order: each when its operands are there, `width` a cycle at most, one of
   them a load or store, one on floating-point or vector registers, one multiplication or division, and one branch.
   Dividers are not pipelined. What a block leaves unfinished is not waited for, except by the same block in a loop. */
struct exn_cpu_cycles {
  uint32_t first, again; /* behind another block, and behind itself */
};
struct exn_cpu_cycles exn_cpu_block_cycles(const struct exn_cpu *cpu, const struct exn_decoded *instructions,
                                           uint32_t count);

/* Tags of one thread's caches: least recently used of each set goes. */
struct exn_cpu_tags {
  uint64_t *lines[EXN_CPU_LEVELS]; /* sets x ways, the most recently used first */
};

struct exn_cpu_tags exn_cpu_new_tags(const struct exn_cpu *cpu);
void exn_cpu_free_tags(struct exn_cpu_tags *tags);

/* Cycles that a load of `address` waits beyond the latency of the first level; 0 for a store, which is written behind.
   Counts misses of each level in `misses`. */
uint32_t exn_cpu_access(const struct exn_cpu *cpu, struct exn_cpu_tags *tags, uint64_t address, int store,
                        uint64_t misses[EXN_CPU_LEVELS]);

#endif
