/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/record/handles.h"

#include <stdlib.h>

#define FIRST_CAPACITY 64

static size_t place(const struct exanet_handles *table, uint64_t handle) {
  return (size_t)(handle * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (table->capacity - 1);
}

/* The handle's slot, or the free one where it would stand. */
static struct exanet_handle *slot_of(const struct exanet_handles *table, uint64_t handle) {
  size_t i = place(table, handle);
  while (table->slots[i].number != 0 && table->slots[i].handle != handle) i = (i + 1) & (table->capacity - 1);
  return &table->slots[i];
}

struct exanet_handle *exanet_handles_find(const struct exanet_handles *table, uint64_t handle) {
  if (table->used == 0) return NULL;
  struct exanet_handle *slot = slot_of(table, handle);
  return slot->number != 0 ? slot : NULL;
}

static bool grow(struct exanet_handles *table) {
  struct exanet_handles larger = {.capacity = table->capacity ? 2 * table->capacity : FIRST_CAPACITY,
                                  .used = table->used};
  larger.slots = calloc(larger.capacity, sizeof *larger.slots);
  if (larger.slots == NULL) return false;
  for (size_t i = 0; i < table->capacity; i++)
    if (table->slots[i].number != 0) *slot_of(&larger, table->slots[i].handle) = table->slots[i];
  free(table->slots);
  *table = larger;
  return true;
}

bool exanet_handles_set(struct exanet_handles *table, uint64_t handle, uint32_t number, bool kept) {
  if (2 * (table->used + 1) > table->capacity && !grow(table)) return false;
  struct exanet_handle *slot = slot_of(table, handle);
  table->used += slot->number == 0;
  *slot = (struct exanet_handle){handle, number, kept};
  return true;
}

void exanet_handles_remove(struct exanet_handles *table, uint64_t handle) {
  struct exanet_handle *slot = exanet_handles_find(table, handle);
  if (slot == NULL) return;
  table->used--;
  /* Those behind it that would no longer be found move up. */
  size_t hole = (size_t)(slot - table->slots);
  for (size_t i = (hole + 1) & (table->capacity - 1); table->slots[i].number != 0;
       i = (i + 1) & (table->capacity - 1)) {
    const size_t wanted = place(table, table->slots[i].handle);
    if (((i - wanted) & (table->capacity - 1)) < ((i - hole) & (table->capacity - 1))) continue;
    table->slots[hole] = table->slots[i];
    hole = i;
  }
  table->slots[hole].number = 0;
}
