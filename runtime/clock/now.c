/* SPDX-License-Identifier: Apache-2.0
 * The time that a program sees, from its first instruction to its last.
 *
 * Problem: a program reads clocks before MPI_Init, in virtual time and after MPI_Finalize, and subtracts one reading
 * from another. Clocks of different kinds on the two sides of a call would make nonsense of that, and the host's
 * time before MPI_Init would make digits of what is computed from it differ from run to run.
 *
 * Model: one count of picoseconds a process, which starts at 0, never goes back, and runs through all phases. In
 * virtual time it grows with the rank's clock. Before and after it stands still, but for what must move it: a sleep,
 * a wait that expires, and a loop that does nothing but read it. MPI_Init sets it to the furthest of all ranks,
 * since that is when the last of them has come.
 *
 * In a forked child, which is no rank, it goes on from the parent's at the system's rate.
 *
 * Limit: the MPI library's own threads, and the library itself inside MPI_Init and MPI_Finalize, live in the
 * system's time, since they deal with the world outside; so does what a program has called back from there. */
#include <stdatomic.h>
#include <stdlib.h>

#include "clock.h"

enum { READS_IN_A_ROW = 1000 };
#define READ_STEP_PS UINT64_C(100000)

static _Atomic uint64_t still_ps; /* what went by outside virtual time */
static atomic_uint reads; /* in a row, outside virtual time */

static bool is_child;
static uint64_t child_ps, child_system_ps; /* both clocks at the fork */

/* Asked for before any constructor of ours has run: other libraries' may come first, and read a clock. */
static bool belongs_to_a_run(void) {
  static atomic_int known; /* 0: not yet */
  int answer = atomic_load_explicit(&known, memory_order_relaxed);
  if (answer == 0) {
    const char *region = getenv("EXANET_NI");
    answer = region != NULL && *region != 0 ? 1 : -1;
    atomic_store_explicit(&known, answer, memory_order_relaxed);
  }
  return answer > 0 || exanet_process_ni() != NULL;
}

bool exanet_in_program_time(void) {
  if (exanet_helper_thread || !belongs_to_a_run()) return false;
  return exanet_mpi_depth == 0 || exanet_virtual_ni() != NULL;
}

bool exanet_in_child(void) { return is_child; }

uint64_t exanet_system_ps(void) {
  struct timespec now;
  exanet_system_clock(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * PS_PER_S + (uint64_t)now.tv_nsec * PS_PER_NS;
}

void exanet_still_until(uint64_t ps) {
  uint64_t before = atomic_load(&still_ps);
  while (before < ps && !atomic_compare_exchange_weak(&still_ps, &before, ps)) continue;
  atomic_store(&reads, 0);
}

uint64_t exanet_now_ps(void) {
  if (is_child) return child_ps + (exanet_system_ps() - child_system_ps);
  /* Read before the phase is: when virtual time begins meanwhile this is too little, never too much. */
  uint64_t still = atomic_load(&still_ps);
  struct exanet_ni *ni = exanet_process_ni();
  if (ni != NULL && exanet_is_virtual(ni)) return still + exanet_clock_read(ni);
  if (atomic_fetch_add(&reads, 1) >= READS_IN_A_ROW) still = atomic_fetch_add(&still_ps, READ_STEP_PS) + READ_STEP_PS;
  return still + (ni != NULL ? exanet_clock_own(ni) : 0);
}

void exanet_passed_until(uint64_t ps) {
  struct exanet_ni *ni = exanet_process_ni();
  if (ni != NULL && exanet_is_virtual(ni)) return; /* begun meanwhile */
  const uint64_t clock = ni != NULL ? exanet_clock_own(ni) : 0;
  if (!is_child && ps > clock) exanet_still_until(ps - clock);
}

void exanet_now_in_child(void) {
  if (is_child || !belongs_to_a_run()) return;
  struct exanet_ni *ni = exanet_process_ni();
  child_ps = atomic_load(&still_ps) + (ni != NULL ? exanet_clock_own(ni) : 0);
  child_system_ps = exanet_system_ps();
  is_child = true;
}
