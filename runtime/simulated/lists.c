// SPDX-License-Identifier: Apache-2.0
// Collectives with a count for each rank, carried out by the simulator.
//
// Model: as in collectives.c. What a member brings to several is packed block by block, in the order of ranks; what it
// takes of each goes to that rank's displacement. Limit: one type for all blocks (no MPI_Alltoallw).
#include <stdlib.h>
#include <string.h>

#include "runtime/record/collectives.h"
#include "runtime/simulated/engine.h"

/* Blocks in a buffer, by rank: one count, or a list with displacements. */
struct blocks {
  long buffer, type, count;
  const void *counts, *displacements; /* NULL: one block, of `count` */
  bool large;
};

struct listed {
  struct exanet_simulated *s;
  const struct exanet_communicator *comm;
  struct blocks sent, received;
  bool sends, receives, in_place;
  uint64_t *sent_bytes, *received_bytes; /* by rank */
  char *packed;
  uint64_t packed_bytes;
};

static long listed_at(const struct blocks *b, const void *list, long i) {
  return b->large ? ((const long *)list)[i] : ((const int *)list)[i];
}
static long count_of(const struct blocks *b, long i) {
  return b->counts != NULL ? listed_at(b, b->counts, i) : b->count;
}
static uint64_t block_bytes(const struct blocks *b, long i) {
  return (uint64_t)count_of(b, i) * exanet_element_bytes(b->type);
}

static long place_of(const struct blocks *b, long i) {
  long lower = 0, extent = (long)exanet_element_bytes(b->type);
  if ((uint32_t)b->type >> 30 != 1) exanet_mpi.type_extent(b->type, &lower, &extent);
  return b->buffer + (b->displacements != NULL ? listed_at(b, b->displacements, i) * extent : 0);
}

static struct blocks blocks_of(const struct exanet_simulated *s, int buffer, int count, int type, bool list) {
  const long *a = s->a;
  struct blocks b = {.buffer = a[buffer], .type = a[type], .large = s->large};
  if (list)
    b.counts = (const void *)a[count], b.displacements = (const void *)a[count + 1];
  else
    b.count = exanet_simulated_count(s, count);
  return b;
}

/* False: the library is to say what is wrong. */
static bool are_valid(const struct blocks *b, long ranks) {
  const long blocks = b->counts != NULL ? ranks : 1;
  if (b->buffer == exanet_mpi.in_place || exanet_handle_of(b->type) == exanet_mpi.no_type) return false;
  for (long i = 0; i < blocks; i++)
    if (!exanet_bytes_valid(b->buffer, count_of(b, i), b->type)) return false;
  return true;
}

static uint64_t *bytes_of(const struct blocks *b, long ranks) {
  uint64_t *bytes = exanet_simulated_memory(calloc((size_t)ranks + 1, sizeof *bytes));
  for (long i = 0; i < ranks; i++) bytes[i] = block_bytes(b, i);
  return bytes;
}

/* Packs blocks [first, first + blocks), one after the other; an error, 0 for none. */
static int pack(struct listed *l, const struct blocks *b, long first, long blocks) {
  for (long i = first; i < first + blocks; i++) l->packed_bytes += block_bytes(b, i);
  l->packed = exanet_simulated_memory(malloc(l->packed_bytes + 1));
  char *to = l->packed;
  for (long i = first; i < first + blocks; i++) {
    struct exanet_bytes bytes;
    const int error = exanet_bytes_begin(l->s, &bytes, place_of(b, i), count_of(b, i), b->type);
    if (error != 0) return error;
    if (bytes.bytes > 0) memcpy(to, bytes.data, bytes.bytes);
    to += bytes.bytes;
    exanet_bytes_end(&bytes, false);
  }
  return 0;
}

/* Takes what each of the others has brought; the last error, 0 for none. */
static int take(struct listed *l, const struct exanet_live_part *parts, uint32_t root) {
  struct exanet_truncated first = {0};
  const bool many = l->received.counts != NULL;
  for (long i = 0; i < (many ? l->comm->size : 1); i++) {
    const struct exanet_live_part *part = &parts[many ? i : root];
    if (l->in_place && many && i == l->comm->rank) continue;
    struct exanet_bytes bytes;
    const int own =
        exanet_bytes_begin(l->s, &bytes, place_of(&l->received, i), count_of(&l->received, i), l->received.type);
    if (own != 0) return own;
    if (part->bytes > bytes.bytes && first.bytes == 0)
      first = (struct exanet_truncated){l->s->comm, exanet_communicator_peer(l->comm, (int)(many ? i : root)),
                                        part->bytes, bytes.bytes};
    const uint64_t taken = part->bytes < bytes.bytes ? part->bytes : bytes.bytes;
    if (taken > 0) memcpy(bytes.data, part->data, taken);
    exanet_bytes_end(&bytes, true);
  }
  return first.bytes == 0 ? 0 : exanet_simulated_truncated(l->s, &first, EXANET_ERR_TRUNCATE);
}

/* Who brings and takes what; an error, 0 for none, -1: the library is to say what is wrong. */
static int begin(struct listed *l, uint8_t code, const struct exanet_collective *at, bool is_root) {
  const long n = l->comm->size, me = l->comm->rank;
  const bool scatters = code == EXANET_TRACE_Scatterv, gathers = code == EXANET_TRACE_Gatherv;
  l->sent = blocks_of(l->s, 0, at->send_count, at->send_type, at->send_list != 0);
  l->received = blocks_of(l->s, at->receive_count - 1, at->receive_count, at->receive_type, at->receive_list != 0);
  l->in_place = (scatters ? is_root ? l->received.buffer : 0 : l->sent.buffer) == exanet_mpi.in_place;
  l->sends = scatters ? is_root : !l->in_place;
  l->receives = gathers ? is_root : !(scatters && l->in_place);
  if (l->in_place && gathers && !is_root) return -1;
  if ((l->sends && !are_valid(&l->sent, n)) || (l->receives && !are_valid(&l->received, n))) return -1;
  if (l->receives && l->received.counts != NULL) l->received_bytes = bytes_of(&l->received, n);
  if (l->sends && l->sent.counts != NULL) l->sent_bytes = bytes_of(&l->sent, n);
  if (l->sends) return pack(l, &l->sent, 0, l->sent.counts != NULL ? n : 1);
  if (!l->in_place) return 0;
  if (code == EXANET_TRACE_Alltoallv) l->sent_bytes = bytes_of(&l->received, n);
  if (code == EXANET_TRACE_Alltoallv) return pack(l, &l->received, 0, n);
  return gathers ? 0 : pack(l, &l->received, me, 1);
}

long exanet_simulated_list(struct exanet_simulated *s, uint8_t code) {
  const struct exanet_collective *at = exanet_collective_of(code);
  struct listed l = {.s = s, .comm = exanet_simulated_comm(s, s->a[at->comm])};
  const int root = at->root >= 0 ? (int)s->a[at->root] : 0;
  if (l.comm == NULL || root < 0 || root >= l.comm->size) return exanet_simulated_real(s);
  const bool is_root = at->root >= 0 && root == l.comm->rank;
  int error = begin(&l, code, at, is_root);
  if (error == 0) {
    struct exanet_live_part *parts = exanet_simulated_memory(calloc((size_t)l.comm->size, sizeof *parts));
    struct exanet_live_call call = {
        .code = code,
        .comm = l.comm->number,
        .root = (uint32_t)root,
        .flags = (l.in_place ? EXANET_TRACE_IN_PLACE : 0) | (is_root ? EXANET_TRACE_IS_ROOT : 0),
        .element_bytes = exanet_element_bytes(l.sends ? l.sent.type : l.received.type),
        .bytes = l.sends && l.sent.counts == NULL ? l.packed_bytes : 0,
        .receive_bytes = l.receives && l.received.counts == NULL ? block_bytes(&l.received, 0) : 0,
        .sent = {.address = (uint64_t)(uintptr_t)l.packed, .bytes = l.packed_bytes},
        .sent_by_rank = l.sent_bytes,
        .received_by_rank = l.received_bytes,
        .parts = parts};
    exanet_live_call(s->ni, &call, true);
    if (l.receives) error = take(&l, parts, (uint32_t)root);
    free(parts);
  }
  free(l.packed);
  free(l.sent_bytes);
  free(l.received_bytes);
  return error < 0 ? exanet_simulated_real(s) : error;
}
