// SPDX-License-Identifier: Apache-2.0
// Windows of memory: how they are made, and what synchronises accesses to them.
//
// Model: the library makes and frees the window, over its own messages; the members then exchange where their
// memory is, so that an access is a matter of the simulator's alone. Which epochs are open is kept here: a call outside
// of one goes to the library, which has none open and says what is wrong. Limits: a lock that the rank already has, and
// accesses beyond a window's end, are not found.
#include "runtime/simulated/windows.h"

#include <stdlib.h>

#include "runtime/record/handles.h"
#include "runtime/record/windows.h"
#include "runtime/simulated/simulated.h"

#define MODE_NOSUCCEED 16384 /* source: the header of MPICH 5.0 */

static struct exanet_handles table;
static struct exanet_window *windows; /* by number, less one */
static uint32_t count, capacity;

struct exanet_window *exanet_window_of(long handle) {
  const struct exanet_handle *found = exanet_handles_find(&table, exanet_handle_of(handle));
  return found != NULL ? &windows[found->number - 1] : NULL;
}

bool exanet_simulated_has_window(long handle) { return exanet_window_of(handle) != NULL; }

bool exanet_window_is_open(const struct exanet_window *w, int member) {
  return w->fenced || w->started || w->all_locked || w->locked[member];
}

/* -- making and freeing ---------------------------------------------------------------------------------------------*/

static struct exanet_window *add(long handle, const struct exanet_communicator *comm) {
  if (count == capacity) {
    capacity = capacity > 0 ? 2 * capacity : 16;
    windows = exanet_simulated_memory(realloc(windows, sizeof *windows * capacity));
  }
  struct exanet_window *w = &windows[count++];
  *w = (struct exanet_window){.number = count, .comm = comm->number};
  w->members = exanet_simulated_memory(calloc((size_t)comm->size, sizeof *w->members));
  w->locked = exanet_simulated_memory(calloc((size_t)comm->size, sizeof *w->locked));
  if (!exanet_handles_set(&table, exanet_handle_of(handle), count, true)) exanet_simulated_memory(NULL);
  return w;
}

/* Of the arguments of the call that has made it. */
static struct exanet_window_member own_memory(const struct exanet_simulated *s, uint8_t code) {
  const long *a = s->a;
  if (code == EXANET_TRACE_Win_create_dynamic) return (struct exanet_window_member){0, 1};
  const bool given = code == EXANET_TRACE_Win_create;
  const long unit = exanet_simulated_count(s, given ? 2 : 1);
  return (struct exanet_window_member){given ? (uint64_t)a[0] : (uint64_t)*(const long *)a[4], (uint64_t)unit};
}

/* Members exchange where their memory is; by then all of them have made the window known to the simulator. */
static void share(const struct exanet_simulated *s, const struct exanet_communicator *comm, struct exanet_window *w,
                  const struct exanet_window_member *own) {
  struct exanet_live_access access = {.window = w->number, .peer = EXANET_LIVE_NOBODY};
  struct exanet_live_call made = {.code = EXANET_TRACE_WINDOW_MADE, .comm = w->comm, .access = &access};
  exanet_live_call(s->ni, &made, false);
  struct exanet_live_part *parts = exanet_simulated_memory(calloc((size_t)comm->size, sizeof *parts));
  struct exanet_live_call call = {.code = EXANET_TRACE_Allgather,
                                  .comm = w->comm,
                                  .sent = {.address = (uint64_t)(uintptr_t)own, .bytes = sizeof *own},
                                  .element_bytes = 1,
                                  .bytes = sizeof *own,
                                  .receive_bytes = sizeof *own,
                                  .parts = parts};
  exanet_live_call(s->ni, &call, true);
  for (int i = 0; i < comm->size; i++) w->members[i] = *(const struct exanet_window_member *)parts[i].data;
  free(parts);
}

long exanet_simulated_window(struct exanet_simulated *s, uint8_t code) {
  static const int8_t window_at[] = {5, 5, 5, 2};
  const struct exanet_communicator *comm = exanet_simulated_intracomm(s, s->a[exanet_window_communicator_at(code)]);
  const long result = exanet_simulated_real(s);
  if (comm == NULL || (int)result != 0) return result;
  const struct exanet_window_member own = own_memory(s, code);
  struct exanet_window *w = add(exanet_handle_at(s->a[window_at[code - EXANET_TRACE_Win_create]], 0), comm);
  share(s, comm, w, &own);
  return result;
}

long exanet_simulated_window_free(struct exanet_simulated *s, uint8_t code) {
  const long handle = s->a[0] != 0 ? exanet_handle_at(s->a[0], 0) : 0;
  struct exanet_window *w = exanet_window_of(handle);
  if (w == NULL) return exanet_simulated_real(s);
  struct exanet_live_access access = {.window = w->number, .peer = EXANET_LIVE_NOBODY};
  struct exanet_live_call call = {.code = code, .comm = w->comm, .access = &access};
  exanet_live_call(s->ni, &call, true);
  exanet_handles_remove(&table, exanet_handle_of(handle));
  free(w->members);
  free(w->locked);
  return exanet_simulated_real(s);
}

/* -- synchronisation ------------------------------------------------------------------------------------------------*/

static bool is_of_one(uint8_t code) {
  return code == EXANET_TRACE_Win_lock || code == EXANET_TRACE_Win_unlock || code == EXANET_TRACE_Win_flush ||
         code == EXANET_TRACE_Win_flush_local;
}
static bool has_group(uint8_t code) { return code == EXANET_TRACE_Win_start || code == EXANET_TRACE_Win_post; }

/* Whether the epoch that the call ends, or is in, is open. */
static bool is_in_order(const struct exanet_window *w, uint8_t code, int member) {
  switch (code) {
    case EXANET_TRACE_Win_complete: return w->started;
    case EXANET_TRACE_Win_wait:
    case EXANET_TRACE_Win_test: return w->posted;
    case EXANET_TRACE_Win_unlock: return w->locked[member];
    case EXANET_TRACE_Win_unlock_all: return w->all_locked;
    case EXANET_TRACE_Win_flush:
    case EXANET_TRACE_Win_flush_local: return w->all_locked || w->locked[member];
    case EXANET_TRACE_Win_flush_all:
    case EXANET_TRACE_Win_flush_local_all: return w->all_locked || w->locks > 0;
    default: return true;
  }
}

static void note(struct exanet_window *w, uint8_t code, int member, long assertion, bool over) {
  switch (code) {
    case EXANET_TRACE_Win_fence: w->fenced = (assertion & MODE_NOSUCCEED) == 0; return;
    case EXANET_TRACE_Win_start: w->started = true; return;
    case EXANET_TRACE_Win_complete: w->started = false; return;
    case EXANET_TRACE_Win_post: w->posted = true; return;
    case EXANET_TRACE_Win_wait:
    case EXANET_TRACE_Win_test: w->posted = w->posted && !over; return;
    case EXANET_TRACE_Win_lock_all: w->all_locked = true; return;
    case EXANET_TRACE_Win_unlock_all: w->all_locked = false; return;
    case EXANET_TRACE_Win_lock:
    case EXANET_TRACE_Win_unlock:
      w->locked[member] = code == EXANET_TRACE_Win_lock;
      w->locks += code == EXANET_TRACE_Win_lock ? 1 : -1;
      return;
    default: return;
  }
}

static long assertion_of(uint8_t code, const long *a) {
  if (has_group(code)) return (int)a[1];
  if (code == EXANET_TRACE_Win_lock) return (int)a[2];
  return code == EXANET_TRACE_Win_fence || code == EXANET_TRACE_Win_lock_all ? (int)a[0] : 0;
}

long exanet_simulated_synchronise(struct exanet_simulated *s, uint8_t code) {
  const long *a = s->a;
  struct exanet_window *w = exanet_window_of(a[exanet_window_at(code)]);
  const struct exanet_communicator *comm = w != NULL ? exanet_communicator_of(w->comm) : NULL;
  const bool of_one = is_of_one(code);
  const int member = of_one ? (int)a[code == EXANET_TRACE_Win_lock ? 1 : 0] : -1;
  if (comm == NULL || (code == EXANET_TRACE_Win_test && a[1] == 0)) return exanet_simulated_real(s);
  if (of_one && member == exanet_mpi.process_null) return 0;
  if (of_one && (member < 0 || member >= comm->size)) return exanet_simulated_real(s);
  int size = 0;
  if (has_group(code) && exanet_mpi.group_size(a[0], &size) != 0) return exanet_simulated_real(s);
  if (!is_in_order(w, code, member)) return exanet_simulated_real(s);
  int *ranks = has_group(code) ? exanet_group_members(a[0], size) : NULL;
  const long assertion = assertion_of(code, a);
  struct exanet_live_access access = {
      .window = w->number,
      .peer = of_one ? (uint32_t)exanet_communicator_peer(comm, member) : EXANET_LIVE_NOBODY,
      .ranks = (const uint32_t *)ranks,
      .rank_count = ranks != NULL ? (uint32_t)size : 0};
  const bool exclusive = code == EXANET_TRACE_Win_lock && (int)a[0] == exanet_mpi.lock_exclusive;
  struct exanet_live_call call = {.code = code,
                                  .comm = w->comm,
                                  .flags = (exclusive ? EXANET_TRACE_EXCLUSIVE : 0) |
                                           (assertion & exanet_mpi.mode_nocheck ? EXANET_TRACE_UNCHECKED : 0),
                                  .access = &access};
  exanet_live_call(s->ni, &call, code != EXANET_TRACE_Win_test);
  free(ranks);
  note(w, code, member, assertion, code == EXANET_TRACE_Win_wait || call.completed != 0);
  if (code == EXANET_TRACE_Win_test) *(int *)a[1] = call.completed != 0;
  return 0;
}
