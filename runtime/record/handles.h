/* SPDX-License-Identifier: Apache-2.0
 * A table from MPI's handles to numbers of ours: open addressing, linear probing. */
#ifndef EXANET_RECORD_HANDLES_H
#define EXANET_RECORD_HANDLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exanet_handles {
  struct exanet_handle {
    uint64_t handle;
    uint32_t number; /* 0: free */
    bool kept; /* a persistent request: a wait does not end it */
  } *slots;
  size_t capacity, used;
};

/* NULL where there is none. Valid until the table changes. */
struct exanet_handle *exanet_handles_find(const struct exanet_handles *table, uint64_t handle);
/* In place of an earlier one of the same handle. False where memory is short. */
bool exanet_handles_set(struct exanet_handles *table, uint64_t handle, uint32_t number, bool kept);
void exanet_handles_remove(struct exanet_handles *table, uint64_t handle);
#endif
