/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cpu/cycles.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum unit { MEMORY, FLOATING_POINT, MULTIPLIER, BRANCHES, ANY, UNITS };

static enum unit unit_of(enum exn_class kind) {
  switch (kind) {
    case EXN_LOAD:
    case EXN_STORE: return MEMORY;
    case EXN_MULTIPLY:
    case EXN_DIVIDE: return MULTIPLIER;
    case EXN_BRANCH: return BRANCHES;
    case EXN_ALU: return ANY;
    default: return FLOATING_POINT;
  }
}

static bool occupies_its_unit(enum exn_class kind) {
  return kind == EXN_DIVIDE || kind == EXN_FP_DIVIDE || kind == EXN_FP_SQUARE_ROOT;
}

static bool adds_to(const struct exn_decoded *d, int source) { return d->kind == EXN_FP_MULTIPLY_ADD && source == 2; }

static void later(uint32_t *cycle, uint32_t than) {
  if (*cycle < than) *cycle = than;
}

struct pipeline {
  uint32_t ready[EXN_REGISTERS], added[EXN_REGISTERS]; /* when a result can be used, and be added to */
  uint32_t unit_free[UNITS], cycle, issued;
};

static void issue(const struct exn_cpu *cpu, struct pipeline *p, const struct exn_decoded *d) {
  const enum unit unit = unit_of(d->kind);
  uint32_t at = p->cycle;
  for (int s = 0; s < 4; s++)
    if (d->from[s] != EXN_NO_REGISTER) later(&at, (adds_to(d, s) ? p->added : p->ready)[d->from[s]]);
  later(&at, p->unit_free[unit]);
  if (at == p->cycle && p->issued == cpu->width) at++;
  if (at != p->cycle) p->issued = 0;
  p->cycle = at;
  p->issued++;
  if (unit != ANY) p->unit_free[unit] = at + (occupies_its_unit(d->kind) ? cpu->latency[d->kind] : 1);
  for (int r = 0; r < 2; r++) {
    if (d->to[r] == EXN_NO_REGISTER) continue;
    p->ready[d->to[r]] = at + cpu->latency[d->kind];
    p->added[d->to[r]] = d->kind == EXN_FP_MULTIPLY_ADD ? at + cpu->addend : p->ready[d->to[r]];
  }
}

struct exn_cpu_cycles exn_cpu_block_cycles(const struct exn_cpu *cpu, const struct exn_decoded *instructions,
                                           uint32_t count) {
  struct pipeline pipeline;
  memset(&pipeline, 0, sizeof pipeline);
  uint32_t ends[3] = {0};
  for (int round = 0; round < 3; round++) { /* the third time is like all that follow */
    for (uint32_t i = 0; i < count; i++) issue(cpu, &pipeline, &instructions[i]);
    ends[round] = pipeline.cycle + (count > 0);
    pipeline.cycle += count > 0;
    pipeline.issued = 0;
  }
  return (struct exn_cpu_cycles){ends[0], ends[2] - ends[1]};
}

struct exn_cpu_tags exn_cpu_new_tags(const struct exn_cpu *cpu) {
  struct exn_cpu_tags tags = {{NULL, NULL}};
  for (int level = 0; level < EXN_CPU_LEVELS; level++) {
    const size_t bytes = (size_t)cpu->level[level].sets * cpu->level[level].ways * sizeof(uint64_t);
    if (bytes == 0) continue;
    tags.lines[level] = malloc(bytes);
    if (!tags.lines[level]) abort();
    memset(tags.lines[level], 0xff, bytes); /* no line has this number */
  }
  return tags;
}

void exn_cpu_free_tags(struct exn_cpu_tags *tags) {
  for (int level = 0; level < EXN_CPU_LEVELS; level++) free(tags->lines[level]);
  *tags = (struct exn_cpu_tags){{NULL, NULL}};
}

/* Whether the level had the line; it has it afterwards. */
static bool hit(const struct exn_cpu_cache *cache, uint64_t *lines, uint64_t address) {
  const uint64_t line = address / cache->line;
  uint64_t *set = lines + line % cache->sets * cache->ways, before = line;
  for (uint32_t way = 0; way < cache->ways; way++) {
    const uint64_t here = set[way];
    set[way] = before;
    if (here == line) return true;
    before = here;
  }
  return false;
}

uint32_t exn_cpu_access(const struct exn_cpu *cpu, struct exn_cpu_tags *tags, uint64_t address, int store,
                        uint64_t misses[EXN_CPU_LEVELS]) {
  uint32_t waits = 0;
  for (int level = 0; level < EXN_CPU_LEVELS && tags->lines[level]; level++) {
    if (hit(&cpu->level[level], tags->lines[level], address)) break;
    misses[level]++;
    waits += cpu->beyond[level];
  }
  return store ? 0 : waits;
}
