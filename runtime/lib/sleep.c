// SPDX-License-Identifier: Apache-2.0
// Handing the processor over: a rank that waits in virtual time sleeps on a futex, wakes the next rank that is due, and the last one to
// sleep wakes the simulator.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/lib/ni.h"

static void futex_wake(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0); }

static void futex_wait(uint32_t *word, uint32_t value, const struct timespec *limit) {
  syscall(SYS_futex, word, FUTEX_WAIT, value, limit, NULL, 0);
}

void exn_kick(struct exanet_ni *ni) {
  if (__atomic_exchange_n(&ni->region->simulator_wake, 1, __ATOMIC_ACQ_REL) == 0)
    futex_wake(&ni->region->simulator_wake);
}

static void hand_over(struct exanet_ni *ni) {
  struct exn_region *region = ni->region;
  const uint32_t next = __atomic_fetch_add(&region->due_next, 1, __ATOMIC_ACQ_REL);
  if (next < region->due_count) {
    struct exn_rank *slot = exn_rank_slot(region, exn_due(region)[next]);
    __atomic_fetch_add(&slot->turn, 1, __ATOMIC_RELEASE);
    futex_wake(&slot->turn);
  }
  if (__atomic_sub_fetch(&region->running, 1, __ATOMIC_ACQ_REL) == 0) exn_kick(ni);
}

void exn_sleep(struct exanet_ni *ni, uint32_t state, uint64_t deadline_ps, bool blocking) {
  struct exn_rank *slot = ni->slot;
  const bool counted = exn_virtual(ni);
  /* Counted, not flagged: a rank that has handed over may be let run again before it comes to wait, and must wait for just that. */
  const uint32_t turn = slot->turn;
  slot->clock_ps = ni->clock_ps;
  slot->deadline_ps = deadline_ps;
  slot->blocking = blocking ? 1 + exn_polls.vain : 0;
  __atomic_store_n(&slot->state, state, __ATOMIC_RELEASE);
  const bool was_in_place = exn_thread_is_in_place(true);
  if (exanet_program_threads()) {
    __atomic_store_n(&ni->asleep, true, __ATOMIC_RELEASE);
    slot->mpi_call = exn_mpi_call(); /* another thread may have been in one, or left it */
  }
  if (counted)
    hand_over(ni);
  else
    exn_kick(ni);
  /* No time limit, whose timer would cost as much as a cache miss or two each time: a simulator that ends gives everybody a last turn, and one
   * that is killed takes the ranks with it, since exanet-exec dies with its parent and the rank with exanet-exec. */
  exn_exit_if_stopped(ni);
  while (__atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE) == turn) futex_wait(&slot->turn, turn, NULL);
  __atomic_store_n(&ni->asleep, false, __ATOMIC_RELEASE);
  exn_exit_if_stopped(ni);
  ni->clock_ps = slot->clock_ps;
  exn_thread_is_in_place(was_in_place);
}

bool exn_free_wait(struct exanet_ni *ni) {
  exn_kick(ni);
  /* Many ranks start up on few processors, and what they wait for is often another rank: get out of its way. */
  const struct timespec limit = {.tv_nsec = ni->idle_polls < 20 ? 20000 : 500000};
  futex_wait(&ni->slot->wake, 0, &limit);
  const bool woken = __atomic_exchange_n(&ni->slot->wake, 0, __ATOMIC_ACQUIRE) != 0;
  exn_exit_if_stopped(ni);
  return woken;
}
