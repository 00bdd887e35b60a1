/* SPDX-License-Identifier: Apache-2.0
 * Numbers a rank's requests, by MPI's handles.
 *
 * Problem: a record names requests, and MPI uses its handles again. Model: a table from handles to numbers; the
 * number that became free last is the next one's, so that the reader's tables stay as small as the most requests
 * that were under way. Limit: the built-in request that MPICH gives to all operations that are over at once has no
 * number. */
#include "runtime/record/requests.h"

#include <stdlib.h>

#include "runtime/record/handles.h"
#include "runtime/record/library.h"
#include "runtime/record/persistent.h"

/* Numbers from 1 on, of which the last given back is the next given out. */
struct numbers {
  uint32_t *free;
  uint32_t free_count, capacity, last;
};

static uint32_t take(struct numbers *numbers) {
  return numbers->free_count > 0 ? numbers->free[--numbers->free_count] : ++numbers->last;
}

static void give_back(struct numbers *numbers, uint32_t number) {
  if (numbers->free_count == numbers->capacity) {
    const uint32_t capacity = numbers->capacity ? 2 * numbers->capacity : 64;
    uint32_t *grown = realloc(numbers->free, sizeof *grown * capacity);
    if (grown == NULL) return; /* the number is not used again */
    numbers->free = grown;
    numbers->capacity = capacity;
  }
  numbers->free[numbers->free_count++] = number;
}

static struct exanet_handles requests, messages;
static struct numbers request_numbers, message_numbers;
static struct exanet_probed *probed;
static uint32_t probed_capacity;

/* MPICH gives one built-in request to all operations that are over at once. */
static bool is_shared(uint64_t handle) {
  const bool simulated = handle >= EXANET_FIRST_SIMULATED_REQUEST && handle <= EXANET_LAST_SIMULATED_REQUEST;
  return exanet_mpi.kind == EXANET_TRACE_MPICH && handle >> 30 != 2 && handle >> 30 != 3 && !simulated;
}

uint32_t exanet_request_begin(long handle, bool persistent) {
  const uint64_t key = exanet_handle_of(handle);
  if (is_shared(key)) return 0;
  exanet_request_end(key, true);
  const uint32_t number = take(&request_numbers);
  if (exanet_handles_set(&requests, key, number, persistent)) return number;
  give_back(&request_numbers, number);
  return 0;
}

uint32_t exanet_request_find(uint64_t handle) {
  const struct exanet_handle *found = exanet_handles_find(&requests, handle);
  return found != NULL ? found->number : 0;
}

void exanet_request_end(uint64_t handle, bool freed) {
  const struct exanet_handle *found = exanet_handles_find(&requests, handle);
  if (found == NULL || (found->kept && !freed)) return;
  exanet_persistent_forget(found->number);
  give_back(&request_numbers, found->number);
  exanet_handles_remove(&requests, handle);
}

void exanet_probed_add(long message, const struct exanet_probed *found) {
  const uint32_t number = take(&message_numbers);
  if (number > probed_capacity) {
    struct exanet_probed *grown = realloc(probed, sizeof *grown * 2 * number);
    if (grown == NULL) return;
    probed = grown;
    probed_capacity = 2 * number;
  }
  probed[number - 1] = *found;
  exanet_handles_set(&messages, exanet_handle_of(message), number, false);
}

struct exanet_probed exanet_probed_take(uint64_t message) {
  const struct exanet_handle *found = exanet_handles_find(&messages, message);
  if (found == NULL) return (struct exanet_probed){0};
  const struct exanet_probed taken = probed[found->number - 1];
  give_back(&message_numbers, found->number);
  exanet_handles_remove(&messages, message);
  return taken;
}
