// SPDX-License-Identifier: Apache-2.0
// Collectives among the neighbours of a process topology, carried out by the simulator.
//
// Model: who is whose neighbour is asked of the library at each call; blocks are packed in the order of destinations,
// and taken in that of sources. Where there is none, its block stays as it is.
#include "runtime/record/neighbours.h"

#include <stdlib.h>

#include "runtime/simulated/lists.h"

static struct exanet_blocks blocks_of(const struct exanet_operation *o, int buffer, int count, int type, bool listed,
                                      bool types) {
  const long *a = o->a;
  struct exanet_blocks b = {.buffer = a[buffer], .large = o->s.large, .far = o->s.large || types};
  if (types)
    b.types = (const int *)a[type];
  else
    b.type = a[type];
  if (listed)
    b.counts = (const void *)a[count], b.displacements = (const void *)a[count + 1];
  else
    b.count = exanet_operation_count(o, count);
  return b;
}

static uint32_t *ranks_of(const int *ranks, int count) {
  uint32_t *out = exanet_simulated_memory(calloc((size_t)count + 1, sizeof *out));
  for (int i = 0; i < count; i++) out[i] = ranks[i] < 0 ? EXANET_LIVE_NOBODY : (uint32_t)ranks[i];
  return out;
}

/* False: there is no topology, as the library is to say. */
static bool find_neighbours(struct exanet_operation *o) {
  int kind = 0;
  struct exanet_neighbours n = {0};
  const bool some = exanet_mpi.topo_test(o->s.comm, &kind) == 0 && kind >= 0;
  if (!some || !exanet_neighbours_ask(&n, o->comm, o->s.comm)) return false;
  o->lists->sources = ranks_of(n.source, n.sources);
  o->lists->destinations = ranks_of(n.target, n.targets);
  o->call.sources = o->lists->sources;
  o->call.destinations = o->lists->destinations;
  o->call.source_count = (uint32_t)n.sources;
  o->call.destination_count = (uint32_t)n.targets;
  o->call.crossed = kind == exanet_mpi.cartesian; /* seen in runs of MPICH */
  free(n.source);
  free(n.target);
  return true;
}

static int end_neighbours(struct exanet_operation *o, bool over) {
  const struct exanet_lists *l = o->lists;
  int error = 0;
  for (uint32_t i = 0; over && error == 0 && i < o->call.source_count; i++) {
    const struct exanet_live_part *part = &o->call.parts[i];
    const uint64_t space = exanet_block_bytes(&l->received, i);
    if (l->sources[i] == EXANET_LIVE_NOBODY) continue;
    if (part->bytes > space && o->truncated.bytes == 0)
      o->truncated = (struct exanet_truncated){o->s.comm, exanet_communicator_peer(o->comm, (int)l->sources[i]),
                                               part->bytes, space, 0};
    error = exanet_block_take(&o->s, &l->received, i, part);
  }
  exanet_bytes_end(&o->sent, false);
  exanet_lists_free(o);
  return error != 0 || o->truncated.bytes == 0 ? error : EXANET_ERR_TRUNCATE;
}

/* As exanet_begin_neighbours(). */
static long begin(struct exanet_operation *o, struct exanet_lists *l) {
  const struct exanet_neighbour_call *at = exanet_neighbour_call_of(o->code);
  if (!find_neighbours(o)) return -1;
  const bool gathers = o->code <= EXANET_TRACE_Neighbor_allgatherv;
  const long sources = o->call.source_count, targets = o->call.destination_count, packed = gathers ? 1 : targets;
  l->sent = blocks_of(o, 0, at->send_count, at->send_type, at->by_target, at->types);
  l->received = blocks_of(o, at->receive_count - 1, at->receive_count, at->receive_type, at->by_source, at->types);
  if (!exanet_blocks_are_valid(&l->sent, packed) || !exanet_blocks_are_valid(&l->received, sources)) return -1;
  l->sent_bytes = exanet_simulated_memory(calloc((size_t)targets + 1, sizeof *l->sent_bytes));
  for (long i = 0; i < targets; i++) l->sent_bytes[i] = exanet_block_bytes(&l->sent, gathers ? 0 : i);
  l->kept_count = l->received.types != NULL ? sources : 1;
  if (o->keeps) l->kept = exanet_blocks_keep(&l->received, sources);
  o->call.sent_by_rank = l->sent_bytes;
  return exanet_blocks_pack(&o->s, &l->sent, 0, packed, &o->sent);
}

long exanet_begin_neighbours(struct exanet_operation *o) {
  const long wrong = begin(o, exanet_lists_of(o));
  o->end = end_neighbours;
  return wrong != 0 ? end_neighbours(o, false), wrong : 0;
}
