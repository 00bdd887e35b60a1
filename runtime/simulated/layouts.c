// SPDX-License-Identifier: Apache-2.0
// Where the elements of a datatype lie in memory, and what they are.
//
// Model: a type of MPI's own lies in one piece; of any other MPICH lists the blocks of one element, in the order of its
// type map, and those of the next one follow at its extent. Blocks that touch are one.
//
// Source of handles and of MPIX_Type_iov: the header of MPICH 5.0.
#include <stdlib.h>

#include "runtime/simulated/windows.h"

#define BUILT_IN 1u /* the two highest bits of a handle */
#define COMBINER_NAMED 1

static void append(struct exanet_live_block *blocks, uint32_t *count, uint64_t address, uint64_t bytes) {
  struct exanet_live_block *last = *count > 0 ? &blocks[*count - 1] : NULL;
  if (last != NULL && last->address + last->bytes == address)
    last->bytes += bytes;
  else if (bytes > 0)
    blocks[(*count)++] = (struct exanet_live_block){address, bytes};
}

struct exanet_live_memory exanet_layout_of(long buffer, long count, long type) {
  struct exanet_live_memory m = {.address = (uint64_t)buffer, .bytes = (uint64_t)count * exanet_element_bytes(type)};
  if ((uint32_t)type >> 30 == BUILT_IN || m.bytes == 0) return m;
  long lower = 0, extent = 0, listed = 0, bytes = 0;
  exanet_mpi.type_extent(type, &lower, &extent);
  exanet_own.type_iov_len(type, (long)exanet_element_bytes(type), &listed, &bytes);
  struct iovec *each = exanet_simulated_memory(calloc((size_t)listed + 1, sizeof *each));
  exanet_own.type_iov(type, 0, each, listed, &listed);
  struct exanet_live_block *blocks = exanet_simulated_memory(calloc((size_t)(listed * count) + 1, sizeof *blocks));
  for (long i = 0; i < count; i++)
    for (long k = 0; k < listed; k++)
      append(blocks, &m.block_count, (uint64_t)(buffer + i * extent) + (uint64_t)(uintptr_t)each[k].iov_base,
             each[k].iov_len);
  free(each);
  m.blocks = blocks;
  if (m.block_count > 1) return m;
  m.address = blocks[0].address;
  exanet_layout_free(&m);
  return m;
}

void exanet_layout_free(struct exanet_live_memory *memory) {
  free((void *)(uintptr_t)memory->blocks);
  memory->blocks = NULL;
  memory->block_count = 0;
}

long exanet_element_type(long type) {
  int ints = 0, addresses = 0, types = 0, combiner = COMBINER_NAMED;
  if ((uint32_t)type >> 30 == BUILT_IN ||
      exanet_own.type_get_envelope(type, &ints, &addresses, &types, &combiner) != 0 || combiner == COMBINER_NAMED ||
      types == 0)
    return type;
  int *int_list = exanet_simulated_memory(calloc((size_t)ints + 1, sizeof *int_list));
  long *address_list = exanet_simulated_memory(calloc((size_t)addresses + 1, sizeof *address_list));
  int *type_list = exanet_simulated_memory(calloc((size_t)types + 1, sizeof *type_list));
  long element = type;
  if (exanet_own.type_get_contents(type, ints, addresses, types, int_list, address_list, type_list) == 0) {
    element = exanet_element_type(type_list[0]);
    for (int i = 0; i < types; i++) {
      int kind = COMBINER_NAMED, none;
      exanet_own.type_get_envelope(type_list[i], &none, &none, &none, &kind);
      if (kind != COMBINER_NAMED) exanet_own.type_free(&type_list[i]);
    }
  }
  free(int_list);
  free(address_list);
  free(type_list);
  return element;
}

/* By the lowest byte of a handle of one piece, which says its size, too; the others are pairs with gaps. */
static const uint8_t dense[] = {
    [0x01] = EXANET_LIVE_I8,      [0x02] = EXANET_LIVE_U8,      [0x03] = EXANET_LIVE_I16, [0x04] = EXANET_LIVE_U16,
    [0x05] = EXANET_LIVE_I32,     [0x06] = EXANET_LIVE_U32,     [0x07] = EXANET_LIVE_I64, [0x08] = EXANET_LIVE_U64,
    [0x09] = EXANET_LIVE_I64,     [0x0a] = EXANET_LIVE_F32,     [0x0b] = EXANET_LIVE_F64, [0x0c] = EXANET_LIVE_F80,
    [0x0d] = EXANET_LIVE_U8,      [0x0e] = EXANET_LIVE_I32,     [0x0f] = EXANET_LIVE_U8,  [0x16] = EXANET_LIVE_I32_I32,
    [0x18] = EXANET_LIVE_I8,      [0x19] = EXANET_LIVE_U64,     [0x1a] = EXANET_LIVE_I8,  [0x1b] = EXANET_LIVE_I32,
    [0x1c] = EXANET_LIVE_F32,     [0x1d] = EXANET_LIVE_I32,     [0x1e] = EXANET_LIVE_C32, [0x1f] = EXANET_LIVE_F64,
    [0x20] = EXANET_LIVE_I32_I32, [0x21] = EXANET_LIVE_F32_F32, [0x22] = EXANET_LIVE_C64, [0x23] = EXANET_LIVE_F64_F64,
    [0x27] = EXANET_LIVE_F32,     [0x28] = EXANET_LIVE_C32,     [0x29] = EXANET_LIVE_F64, [0x2a] = EXANET_LIVE_C64,
    [0x2d] = EXANET_LIVE_I8,      [0x2f] = EXANET_LIVE_I16,     [0x30] = EXANET_LIVE_I32, [0x31] = EXANET_LIVE_I64,
    [0x33] = EXANET_LIVE_U8,      [0x34] = EXANET_LIVE_C32,     [0x35] = EXANET_LIVE_C64, [0x36] = EXANET_LIVE_C80,
    [0x37] = EXANET_LIVE_I8,      [0x38] = EXANET_LIVE_I16,     [0x39] = EXANET_LIVE_I32, [0x3a] = EXANET_LIVE_I64,
    [0x3b] = EXANET_LIVE_U8,      [0x3c] = EXANET_LIVE_U16,     [0x3d] = EXANET_LIVE_U32, [0x3e] = EXANET_LIVE_U64,
    [0x3f] = EXANET_LIVE_U8,      [0x40] = EXANET_LIVE_C32,     [0x41] = EXANET_LIVE_C64, [0x42] = EXANET_LIVE_C80,
    [0x43] = EXANET_LIVE_I64,     [0x44] = EXANET_LIVE_I64,     [0x45] = EXANET_LIVE_I64, [0x47] = EXANET_LIVE_I8,
    [0x48] = EXANET_LIVE_I16,     [0x49] = EXANET_LIVE_I32,     [0x4a] = EXANET_LIVE_I64,
};
static const uint8_t with_gaps[] = {EXANET_LIVE_F32_I32, EXANET_LIVE_F64_I32, EXANET_LIVE_I64_I32, EXANET_LIVE_I16_I32,
                                    EXANET_LIVE_F80_I32};

int exanet_live_type_of(long type) {
  const uint32_t number = (uint32_t)type & 0xff;
  if ((uint32_t)type >> 30 != BUILT_IN) return number < sizeof with_gaps ? with_gaps[number] : -1;
  return number < sizeof dense && dense[number] != EXANET_LIVE_BYTES ? dense[number] : -1;
}
