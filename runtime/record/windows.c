/* SPDX-License-Identifier: Apache-2.0
 * Source of the positions: the MPI standard, version 4.1, annex A. */
#include "runtime/record/windows.h"

#include <stdlib.h>

#include "runtime/record/fields.h"
#include "runtime/record/handles.h"
#include "runtime/record/library.h"

static struct exanet_handles table;
static uint32_t *communicators; /* numbers, by the window's, less one */
static uint32_t count, capacity;

#define AT(name) [EXANET_TRACE_##name - EXANET_TRACE_Put]
static const struct exanet_access accesses[] = {
    AT(Put) = {3, 7, 1, 2, -1, -1, 5, 6, false},           AT(Get) = {3, 7, -1, -1, 1, 2, 5, 6, false},
    AT(Accumulate) = {3, 8, 1, 2, -1, -1, 5, 6, false},    AT(Get_accumulate) = {6, 11, 1, 2, 4, 5, 8, 9, false},
    AT(Fetch_and_op) = {3, 6, -1, 2, -1, 2, -1, 2, false}, AT(Compare_and_swap) = {4, 6, -1, 3, -1, 3, -1, 3, false},
    AT(Rput) = {3, 7, 1, 2, -1, -1, 5, 6, true},           AT(Rget) = {3, 7, -1, -1, 1, 2, 5, 6, true},
    AT(Raccumulate) = {3, 8, 1, 2, -1, -1, 5, 6, true},    AT(Rget_accumulate) = {6, 11, 1, 2, 4, 5, 8, 9, true},
};
#undef AT

const struct exanet_access *exanet_access_of(uint8_t code) { return &accesses[code - EXANET_TRACE_Put]; }

int exanet_window_communicator_at(uint8_t code) {
  return code == EXANET_TRACE_Win_create ? 4 : code == EXANET_TRACE_Win_create_dynamic ? 1 : 3;
}

int exanet_window_at(uint8_t code) {
  switch (code) {
    case EXANET_TRACE_Win_start:
    case EXANET_TRACE_Win_post: return 2;
    case EXANET_TRACE_Win_lock: return 3;
    case EXANET_TRACE_Win_fence:
    case EXANET_TRACE_Win_unlock:
    case EXANET_TRACE_Win_lock_all:
    case EXANET_TRACE_Win_flush:
    case EXANET_TRACE_Win_flush_local: return 1;
    default: return 0;
  }
}

bool exanet_window_is_known(uint64_t handle) { return exanet_handles_find(&table, handle) != NULL; }
void exanet_window_forget(uint64_t handle) { exanet_handles_remove(&table, handle); }

static uint32_t number_of(uint64_t handle) {
  const struct exanet_handle *found = exanet_handles_find(&table, handle);
  return found != NULL ? found->number : 0;
}

static uint32_t add(uint64_t handle, uint32_t comm) {
  if (count == capacity) {
    uint32_t *grown = realloc(communicators, sizeof *grown * (capacity ? 2 * capacity : 16));
    if (grown == NULL) return 0;
    communicators = grown;
    capacity = capacity ? 2 * capacity : 16;
  }
  if (!exanet_handles_set(&table, handle, count + 1, true)) return 0;
  communicators[count++] = comm;
  return count;
}

static uint64_t count_at(const long *arguments, int at, bool large) {
  const long n = large ? arguments[at] : (int)arguments[at];
  return n > 0 ? (uint64_t)n : 0;
}

void exanet_window_put_made(uint8_t code, const struct exanet_communicator *comm, const long *a, bool large) {
  static const int8_t window_at[] = {5, 5, 5, 2};
  const long handle = exanet_handle_at(a[window_at[code - EXANET_TRACE_Win_create]], 0);
  const bool dynamic = code == EXANET_TRACE_Win_create_dynamic;
  (void)large; /* sizes are MPI_Aint in both forms */
  exanet_put_window(
      &(struct exanet_window_fields){.communicator = comm->number,
                                     .window = add(exanet_handle_of(handle), comm->number),
                                     .bytes = dynamic ? 0 : (uint64_t)a[code == EXANET_TRACE_Win_create ? 1 : 0]});
}

static uint64_t peer_of(uint64_t window, long rank) {
  const uint32_t number = number_of(window);
  const struct exanet_communicator *comm = number > 0 ? exanet_communicator_of(communicators[number - 1]) : NULL;
  const int world = comm != NULL ? exanet_communicator_peer(comm, (int)rank) : -1;
  return world < 0 ? 0 : (uint64_t)world + 2;
}

uint64_t exanet_access_peer(uint8_t code, const long *a) {
  const struct exanet_access *access = exanet_access_of(code);
  return peer_of(exanet_handle_of(a[access->window]), a[access->peer]);
}

/* So many elements of a type: their bytes, and whether they lie one behind the other. */
static uint64_t elements(const long *a, bool large, int count_position, int type, bool *contiguous) {
  if (type < 0) return 0;
  const uint64_t n = count_position < 0 ? 1 : count_at(a, count_position, large);
  const uint64_t bytes = exanet_type_bytes_of(a[type]);
  long lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  if (exanet_mpi.type_extent(a[type], &lower, &extent) != 0 ||
      exanet_mpi.type_true_extent(a[type], &true_lower, &true_extent) != 0)
    return n * bytes;
  if ((uint64_t)true_extent != bytes || (n > 1 && (uint64_t)extent != bytes)) *contiguous = false;
  return n * bytes;
}

void exanet_access_put(uint8_t code, const long *a, bool large, uint32_t request) {
  const struct exanet_access *access = exanet_access_of(code);
  bool contiguous = true, here = true;
  const bool fetches = code == EXANET_TRACE_Fetch_and_op, accumulates = access->window == 11;
  const bool reads = (fetches || accumulates) && exanet_handle_of(a[fetches ? 5 : 10]) == exanet_mpi.no_op;
  const uint64_t sent = reads ? 0 : elements(a, large, access->count, access->type, &here);
  const uint64_t back = elements(a, large, access->result_count, access->result_type, &here);
  elements(a, large, access->target_count, access->target_type, &contiguous);
  exanet_put_access(&(struct exanet_access_fields){.window = number_of(exanet_handle_of(a[access->window])),
                                                   .peer = exanet_access_peer(code, a),
                                                   .request = request,
                                                   .flags = contiguous ? EXANET_TRACE_CONTIGUOUS : 0,
                                                   .bytes = sent,
                                                   .receive_bytes = back});
}

void exanet_synchronisation_put(uint8_t code, uint64_t window, const long *a) {
  const bool of_one = code == EXANET_TRACE_Win_lock || code == EXANET_TRACE_Win_unlock ||
                      code == EXANET_TRACE_Win_flush || code == EXANET_TRACE_Win_flush_local;
  const bool groups = code == EXANET_TRACE_Win_start || code == EXANET_TRACE_Win_post;
  const bool exclusive = code == EXANET_TRACE_Win_lock && (int)a[0] == exanet_mpi.lock_exclusive;
  const bool empty = code == EXANET_TRACE_Win_test && *(const int *)a[1] == 0;
  const long assertion = groups                              ? a[1]
                         : code == EXANET_TRACE_Win_lock     ? a[2]
                         : code == EXANET_TRACE_Win_fence    ? a[0]
                         : code == EXANET_TRACE_Win_lock_all ? a[0]
                                                             : 0;
  int size = 0;
  int *world = groups && exanet_mpi.group_size(a[0], &size) == 0 ? exanet_group_members(a[0], size) : NULL;
  exanet_put_synchronise(&(struct exanet_synchronise_fields){
      .window = number_of(window),
      .peer = of_one ? peer_of(window, a[code == EXANET_TRACE_Win_lock ? 1 : 0]) : 0,
      .flags = (exclusive ? EXANET_TRACE_EXCLUSIVE : 0) | (empty ? EXANET_TRACE_EMPTY : 0) |
               ((int)assertion & exanet_mpi.mode_nocheck ? EXANET_TRACE_UNCHECKED : 0),
      .ranks = exanet_list_of_ranks(world, size)});
  free(world);
}
