// SPDX-License-Identifier: Apache-2.0
// A rank's virtual clock: what moves it besides waiting, and when it starts and stops.
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "exanet/mpi_calls.h"
#include "runtime/lib/ni.h"
#include "runtime/lib/switch.h"

/* Loaded before the program starts, so thread-local state fits the static block: one instruction to reach. */
#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))
THREAD_LOCAL int testing;
THREAD_LOCAL unsigned mpi_depth;
THREAD_LOCAL uint32_t mpi_call; /* as in the rank's slot */
THREAD_LOCAL bool noted; /* this MPI call, since there were other threads when it began */
THREAD_LOCAL uint64_t counted_cpu_ps;   /* CPU time of this thread at the last call's end */
THREAD_LOCAL uint64_t uncounted_from_ps;
THREAD_LOCAL uint64_t mpi_entered_ps;

void exanet_testing_begin(void) { ++testing; }
void exanet_testing_end(void) { --testing; }
int exn_testing(void) { return testing; }
bool exn_in_mpi(void) { return mpi_depth > 0; }
uint32_t exn_mpi_call(void) { return mpi_call; }

static uint64_t thread_cpu_ps(const struct exanet_ni *ni) {
  if (exn_is_carried(ni)) return ni->carriers->cpu_ns(ni->rank) * 1000u;
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);  /* not the interposed one */
  return ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) * 1000u;
}

void exn_account_enter(struct exanet_ni *ni) {
  ni->clock_reads = 0;
  if (!exn_virtual(ni)) return;
  if (exn_polls.looked) exn_looks_were_work(ni);
  if (__atomic_load_n(&ni->pending_ps, __ATOMIC_RELAXED)) {
    const uint64_t ps = __atomic_exchange_n(&ni->pending_ps, 0, __ATOMIC_RELAXED);
    ni->clock_ps += ps;
    ni->slot->compute_ps += ps;
  }
  const double factor = ni->region->compute_factor;
  if (factor <= 0) return;
  const uint64_t now = thread_cpu_ps(ni);
  if (now > counted_cpu_ps && counted_cpu_ps != 0) {
    const uint64_t ps = (uint64_t)((double)(now - counted_cpu_ps) * factor);
    ni->clock_ps += ps;
    ni->slot->compute_ps += ps;
    ni->idle_ps += ps;
  }
  counted_cpu_ps = now;
}

void exn_account_leave(struct exanet_ni *ni) {
  if (ni->region->compute_factor > 0) counted_cpu_ps = thread_cpu_ps(ni);
}

uint64_t exanet_computed_ps(const struct exanet_ni *ni) { return ni->slot->compute_ps - ni->swallowed_ps; }

bool exanet_is_receiving(const struct exanet_ni *ni) { return ni->slot->receiving != 0; }

void exanet_uncounted_begin(struct exanet_ni *ni) {
  if (ni->region->compute_factor > 0) uncounted_from_ps = thread_cpu_ps(ni);
}

void exanet_uncounted_end(struct exanet_ni *ni) {
  if (ni->region->compute_factor > 0 && counted_cpu_ps != 0) counted_cpu_ps += thread_cpu_ps(ni) - uncounted_from_ps;
}

int exanet_start(struct exanet_ni *ni) {
  if (ni->region->phase != EXN_FREE) return 0;
  exn_sleep(ni, EXN_AT_START, 0, false);
  exn_polls.fresh = true;
  exn_polls.window_ps = EXN_FIRST_WINDOW_PS;
  exn_account_leave(ni);
  return 0;
}

int exanet_finish(struct exanet_ni *ni) {
  if (!exn_virtual(ni)) return 0;
  exn_account_enter(ni);
  exn_sleep(ni, EXN_AT_FINISH, 0, false);
  return 0;
}

int exanet_is_virtual(const struct exanet_ni *ni) { return exn_virtual(ni); }
uint64_t exanet_clock_ps(const struct exanet_ni *ni) { return ni->clock_ps; }

void exanet_advance(struct exanet_ni *ni, uint64_t ps) {
  if (exn_virtual(ni)) __atomic_add_fetch(&ni->pending_ps, ps, __ATOMIC_RELAXED);
}

uint64_t exanet_clock_peek(const struct exanet_ni *ni) {
  return ni->clock_ps + __atomic_load_n(&ni->pending_ps, __ATOMIC_RELAXED);
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

uint64_t exanet_clock_read(struct exanet_ni *ni) {
  /* Another thread may be inside a call: then what has been computed is counted at the end of that. */
  if (ni->region->compute_factor > 0 && exn_virtual(ni) && !exanet_program_threads()) {
    const unsigned reads = ni->clock_reads;
    exn_account_enter(ni);
    ni->clock_reads = reads;
  }
  if (++ni->clock_reads > 1000) exanet_advance(ni, 100000);
  if (exanet_program_threads()) {
    exn_wake_nappers(ni);
    if (!exn_is_roused()) exn_let_roused_go_first();
  }
  return exanet_clock_peek(ni);
}

/* Nonblocking, among neighbours, or persistent. */
static bool is_collective_in_rounds(uint32_t call) {
  return call >= EXANET_MPI_Ibarrier && call <= EXANET_MPI_Neighbor_alltoallw_init;
}

void exanet_mpi_enter(struct exanet_ni *ni, uint32_t call, enum exanet_call_kind kind) {
  if (mpi_depth++ > 0) return;
  noted = exanet_program_threads() > 0;
  if (noted) {
    exn_let_roused_go_first();
    exn_thread_enters_mpi(ni, testing > 0);
  }
  exn_account_enter(ni);
  ni->idle_ps = 0;
  exn_looks_begin(ni, kind);
  if (is_collective_in_rounds(call)) ni->rounds = true;
  ni->slot->mpi_call = mpi_call = call + 1;
  mpi_entered_ps = ni->clock_ps;
}

void exanet_mpi_leave(struct exanet_ni *ni, uint32_t call, enum exanet_call_kind kind) {
  if (mpi_depth == 0) return;
  --mpi_depth;
  if (mpi_depth > 0) return;
  if (noted) exn_thread_leaves_mpi();
  exn_looks_end(ni, kind);
  ni->slot->mpi_call = mpi_call = 0;
  if (call >= EXN_MPI_CALLS || !exn_virtual(ni)) return;
  ++ni->slot->mpi[call].calls;
  ni->slot->mpi[call].time_ps += ni->clock_ps - mpi_entered_ps;
}

void exanet_set_multithreaded(struct exanet_ni *ni) {
  exn_may_hold();
  ni->multithreaded = true;
}
bool exanet_takes_turns(const struct exanet_ni *ni) { return ni->multithreaded; }

void exanet_abort(struct exanet_ni *ni, int code) {
  ni->slot->abort_code = 1u + (uint32_t)code;
  exn_kick(ni);
}
