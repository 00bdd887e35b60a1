/* SPDX-License-Identifier: Apache-2.0
 * A rank's virtual clock: when it starts and stops, and what reading it costs. */
#include "runtime/lib/ni.h"
#include "runtime/lib/threads.h"

#define READ_STEP_PS UINT64_C(100000)
#define READS_A_TURN 256

int exanet_start(struct exanet_ni *ni) {
  if (ni->region->phase != EXN_FREE) return 0;
  exn_cycles_stop(true);
  exn_sleep(ni, EXN_AT_START, 0, false);
  exn_polls.fresh = true;
  exn_polls.window_ps = ni->first_window_ps;
  exn_cycles_begin();
  exn_account_leave(ni);
  return 0;
}

int exanet_finish(struct exanet_ni *ni) {
  if (!exn_virtual(ni)) return 0;
  exn_account_stop(ni);
  exn_sleep(ni, EXN_AT_FINISH, 0, false);
  return 0;
}

void exanet_note_before(struct exanet_ni *ni, uint64_t ps) {
  uint64_t furthest = __atomic_load_n(&ni->region->before_ps, __ATOMIC_RELAXED);
  while (furthest < ps &&
         !__atomic_compare_exchange_n(&ni->region->before_ps, &furthest, ps, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    continue;
}

uint64_t exanet_before_ps(const struct exanet_ni *ni) {
  return __atomic_load_n(&ni->region->before_ps, __ATOMIC_ACQUIRE);
}

/* A loop that reads the clock may wait for another rank, at a file or in shared memory. A turn costs as much as many
   readings. */
static void let_others_go_first(struct exanet_ni *ni) {
  const unsigned reads = ni->clock_reads;
  if (reads % READS_A_TURN != 0 || exn_in_mpi()) return;
  exanet_sleep_with_others(ni, 0);
  ni->clock_reads = reads;
}

/* Another thread may be inside a call, and move the rank's clock: the caller's own is what it sees. */
static void count(struct exanet_ni *ni) {
  if (exanet_program_threads()) {
    exn_count(ni);
    exn_take_from_waiting();
    return;
  }
  const unsigned reads = ni->clock_reads;
  exn_account_enter(ni);
  ni->clock_reads = reads;
}

uint64_t exanet_clock_read(struct exanet_ni *ni) {
  if (ni->region->compute_factor > 0 && exn_virtual(ni)) count(ni);
  if (++ni->clock_reads > 1000) {
    __atomic_add_fetch(&ni->slot->clock_reads, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&ni->slot->clock_reads_ps, READ_STEP_PS, __ATOMIC_RELAXED);
    exanet_advance(ni, READ_STEP_PS);
    let_others_go_first(ni);
  }
  if (exanet_program_threads()) {
    exn_wake_nappers(ni);
    if (!exn_is_woken()) exn_let_woken_go_first();
  }
  return exanet_clock_own(ni);
}
