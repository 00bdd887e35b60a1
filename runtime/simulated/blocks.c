// SPDX-License-Identifier: Apache-2.0
#include "runtime/simulated/blocks.h"

#include <stdlib.h>
#include <string.h>

static long listed_at(const void *list, long i, bool large) {
  return large ? ((const long *)list)[i] : ((const int *)list)[i];
}
static long count_of(const struct exanet_blocks *b, long i) {
  return b->counts != NULL ? listed_at(b->counts, i, b->large) : b->count;
}
static long type_of(const struct exanet_blocks *b, long i) { return b->types != NULL ? b->types[i] : b->type; }

uint64_t exanet_block_bytes(const struct exanet_blocks *b, long i) {
  const long count = count_of(b, i);
  return count == 0 ? 0 : (uint64_t)count * exanet_element_bytes(type_of(b, i));
}

long exanet_moved(long buffer, long elements, long type) {
  long lower = 0, extent = (long)exanet_element_bytes(type);
  if ((uint32_t)type >> 30 != 1) exanet_mpi.type_extent(type, &lower, &extent);
  return buffer + elements * extent;
}

static long place_of(const struct exanet_blocks *b, long i) {
  if (b->displacements == NULL) return exanet_moved(b->buffer, i * b->count, b->type);
  const long displacement = listed_at(b->displacements, i, b->far);
  return b->types != NULL ? b->buffer + displacement : exanet_moved(b->buffer, displacement, b->type);
}

bool exanet_blocks_are_valid(const struct exanet_blocks *b, long blocks) {
  if (exanet_is_in_place(b->buffer)) return false;
  for (long i = 0; i < blocks; i++) {
    if (b->types != NULL && count_of(b, i) == 0) continue;
    if (!exanet_bytes_valid(b->buffer, count_of(b, i), type_of(b, i))) return false;
  }
  return true;
}

uint64_t *exanet_blocks_bytes(const struct exanet_blocks *b, long blocks) {
  uint64_t *bytes = exanet_simulated_memory(calloc((size_t)blocks + 1, sizeof *bytes));
  for (long i = 0; i < blocks; i++) bytes[i] = exanet_block_bytes(b, i);
  return bytes;
}

int exanet_blocks_pack(const struct exanet_simulated *s, const struct exanet_blocks *b, long first, long blocks,
                       struct exanet_bytes *packed) {
  *packed = (struct exanet_bytes){.copied = true};
  for (long i = first; i < first + blocks; i++) packed->bytes += exanet_block_bytes(b, i);
  char *to = packed->data = exanet_simulated_memory(malloc(packed->bytes + 1));
  for (long i = first; i < first + blocks; i++) {
    if (exanet_block_bytes(b, i) == 0) continue;
    struct exanet_bytes bytes;
    const int error = exanet_bytes_begin(s, &bytes, place_of(b, i), count_of(b, i), type_of(b, i));
    if (error != 0) return error;
    memcpy(to, bytes.data, bytes.bytes);
    to += bytes.bytes;
    exanet_bytes_end(&bytes, false);
  }
  return 0;
}

int exanet_block_take(const struct exanet_simulated *s, const struct exanet_blocks *b, long i,
                      const struct exanet_live_part *part) {
  if (exanet_block_bytes(b, i) == 0) return 0;
  struct exanet_bytes bytes;
  const int error = exanet_bytes_begin(s, &bytes, place_of(b, i), count_of(b, i), type_of(b, i));
  if (error != 0) return error;
  const uint64_t taken = part->bytes < bytes.bytes ? part->bytes : bytes.bytes;
  if (taken > 0) memcpy(bytes.data, part->data, taken);
  exanet_bytes_end(&bytes, true);
  return 0;
}

int *exanet_blocks_keep(struct exanet_blocks *b, long blocks) {
  const long count = b->types != NULL ? blocks : 1;
  int *kept = exanet_simulated_memory(calloc((size_t)count + 1, sizeof *kept));
  for (long i = 0; i < count; i++) {
    kept[i] = (int)exanet_mpi.byte; /* of nothing */
    if (b->types != NULL && count_of(b, i) == 0) continue;
    const long type = type_of(b, i);
    if ((uint32_t)type >> 30 == 1)
      kept[i] = (int)type;
    else
      exanet_own.type_dup(type, &kept[i]);
  }
  if (b->types != NULL)
    b->types = kept;
  else
    b->type = kept[0];
  return kept;
}

void exanet_types_drop(int *types, long count) {
  for (long i = 0; types != NULL && i < count; i++)
    if ((uint32_t)types[i] >> 30 != 1) exanet_own.type_free(&types[i]);
  free(types);
}
