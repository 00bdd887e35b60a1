// SPDX-License-Identifier: Apache-2.0
// Collectives with a count for each rank, carried out by the simulator.
//
// Model: what a member brings to several is packed block by block, in the order of ranks; what it takes of each goes to
// that rank's displacement. Of one with a request the counts are read again at its end, since MPI leaves them to it
// until then; types are kept, which the program may free.
#include "runtime/simulated/lists.h"

#include <stdlib.h>
#include <string.h>

struct exanet_lists *exanet_lists_of(struct exanet_operation *o) {
  return o->lists = exanet_simulated_memory(calloc(1, sizeof *o->lists));
}

void exanet_lists_free(struct exanet_operation *o) {
  struct exanet_lists *l = o->lists;
  if (l == NULL) return;
  exanet_types_drop(l->kept, l->kept_count);
  free(l->sent_bytes);
  free(l->received_bytes);
  free(l->sources);
  free(l->destinations);
  free(l);
  o->lists = NULL;
}

/* `list`: 0, a count; 1, counts; 2, counts and types. */
static struct exanet_blocks blocks_of(const struct exanet_operation *o, int buffer, int count, int type, int list) {
  const long *a = o->a;
  struct exanet_blocks b = {.buffer = a[buffer], .large = o->s.large, .far = o->s.large};
  if (list == 2)
    b.types = (const int *)a[type];
  else
    b.type = a[type];
  if (list != 0)
    b.counts = (const void *)a[count], b.displacements = (const void *)a[count + 1];
  else
    b.count = exanet_operation_count(o, count);
  return b;
}

/* Its lists are there, and what they say can be. */
static bool are_valid(const struct exanet_blocks *b, long ranks, int list) {
  if (list != 0 && (b->counts == NULL || b->displacements == NULL)) return false;
  return (list != 2 || b->types != NULL) && exanet_blocks_are_valid(b, list != 0 ? ranks : 1);
}

/* Takes what each of the others has brought; the last error, 0 for none. */
static int take(struct exanet_operation *o) {
  const struct exanet_lists *l = o->lists;
  const bool many = l->received.counts != NULL;
  for (long i = 0; i < (many ? o->comm->size : 1); i++) {
    const long from = many ? i : o->root;
    const struct exanet_live_part *part = &o->call.parts[from];
    const uint64_t space = exanet_block_bytes(&l->received, i);
    if (l->in_place && many && i == o->comm->rank) continue;
    if (part->bytes > space && o->truncated.bytes == 0)
      o->truncated =
          (struct exanet_truncated){o->s.comm, exanet_communicator_peer(o->comm, (int)from), part->bytes, space, 0};
    const int error = exanet_block_take(&o->s, &l->received, i, part);
    if (error != 0) return error;
  }
  return o->truncated.bytes == 0 ? 0 : EXANET_ERR_TRUNCATE;
}

static int end_lists(struct exanet_operation *o, bool over) {
  const int error = over && o->lists->receives ? take(o) : 0;
  exanet_bytes_end(&o->sent, false);
  exanet_lists_free(o);
  return error;
}

/* Who brings and takes what; as exanet_begin_lists(). */
static long begin(struct exanet_operation *o, struct exanet_lists *l) {
  const struct exanet_collective *at = o->at;
  const long n = o->comm->size, me = o->comm->rank;
  const bool scatters = o->code == EXANET_TRACE_Scatterv, gathers = o->code == EXANET_TRACE_Gatherv;
  l->sent = blocks_of(o, 0, at->send_count, at->send_type, at->send_list);
  l->received = blocks_of(o, at->receive_count - 1, at->receive_count, at->receive_type, at->receive_list);
  l->in_place = exanet_is_in_place(scatters ? o->is_root ? l->received.buffer : 0 : l->sent.buffer);
  l->sends = scatters ? o->is_root : !l->in_place;
  l->receives = gathers ? o->is_root : !(scatters && l->in_place);
  if (l->in_place && gathers && !o->is_root) return -1;
  if (l->sends && !are_valid(&l->sent, n, at->send_list)) return -1;
  if (l->receives && !are_valid(&l->received, n, at->receive_list)) return -1;
  if (l->receives && l->received.counts != NULL) l->received_bytes = exanet_blocks_bytes(&l->received, n);
  if (l->sends && l->sent.counts != NULL) l->sent_bytes = exanet_blocks_bytes(&l->sent, n);
  l->kept_count = l->received.types != NULL ? n : 1;
  if (l->receives && o->keeps) l->kept = exanet_blocks_keep(&l->received, n);
  if (l->sends) return exanet_blocks_pack(&o->s, &l->sent, 0, l->sent.counts != NULL ? n : 1, &o->sent);
  if (!l->in_place || gathers || scatters) return 0;
  if (o->code == EXANET_TRACE_Allgatherv) return exanet_blocks_pack(&o->s, &l->received, me, 1, &o->sent);
  l->sent_bytes = exanet_blocks_bytes(&l->received, n);
  return exanet_blocks_pack(&o->s, &l->received, 0, n, &o->sent);
}

long exanet_begin_lists(struct exanet_operation *o) {
  struct exanet_lists *l = exanet_lists_of(o);
  const long wrong = begin(o, l);
  if (wrong != 0) return end_lists(o, false), wrong;
  const struct exanet_blocks *any = l->sends ? &l->sent : &l->received;
  o->call.flags = l->in_place ? EXANET_TRACE_IN_PLACE : 0;
  o->call.element_bytes = any->types != NULL ? 0 : exanet_element_bytes(any->type);
  o->call.bytes = l->sends && l->sent.counts == NULL ? o->sent.bytes : 0;
  o->call.receive_bytes = l->receives && l->received.counts == NULL ? exanet_block_bytes(&l->received, 0) : 0;
  o->call.sent_by_rank = l->sent_bytes;
  o->call.received_by_rank = l->received_bytes;
  o->end = end_lists;
  return 0;
}
