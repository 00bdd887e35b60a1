/* SPDX-License-Identifier: Apache-2.0
 * Begins and ends the program's MPI calls. The outermost call of a thread counts in the profile, decides how often
 * the library may look at the network before its polls wait (nonblocking_polls.c), and takes part in the turns of
 * the rank's threads (turns.c). */
#include "exanet/mpi_calls.h"

#include "runtime/lib/ni.h"

#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))
THREAD_LOCAL bool noted; /* this MPI call, since there were other threads when it began */
THREAD_LOCAL struct {
  uint64_t clock_ps, compute_ps, reads, reads_ps;
} entered; /* when this MPI call began */

static void note_entry(const struct exanet_ni *ni) {
  entered.clock_ps = ni->clock_ps;
  entered.compute_ps = ni->slot->compute_ps;
  entered.reads = ni->slot->clock_reads;
  entered.reads_ps = ni->slot->clock_reads_ps;
}

void exanet_testing_begin(void) { ++exn_call.testing; }
void exanet_testing_end(void) { --exn_call.testing; }

/* Nonblocking, among neighbours, or persistent. */
static bool is_collective_in_rounds(uint32_t call) {
  return call >= EXANET_MPI_Ibarrier && call <= EXANET_MPI_Neighbor_alltoallw_init;
}

void exanet_mpi_enter(struct exanet_ni *ni, uint32_t call, enum exanet_call_kind kind) {
  if (exn_call.depth++ > 0) return;
  noted = exanet_program_threads() > 0;
  if (noted) {
    exn_let_woken_go_first();
    exn_thread_enters_mpi(ni, exn_call.testing > 0);
    exn_take_from_waiting();
  }
  exn_account_enter(ni);
  ni->idle_ps = 0;
  exn_nonblocking_begin(ni, kind);
  if (is_collective_in_rounds(call)) ni->rounds = true;
  ni->slot->mpi_call = exn_call.number = call < EXN_MPI_CALLS ? call + 1 : 0;
  note_entry(ni);
}

void exanet_mpi_leave(struct exanet_ni *ni, uint32_t call, enum exanet_call_kind kind) {
  if (exn_call.depth == 0) return;
  --exn_call.depth;
  if (exn_call.depth > 0) return;
  if (noted) exn_thread_leaves_mpi();
  exn_nonblocking_end(ni, kind);
  ni->slot->mpi_call = exn_call.number = 0;
  if (call >= EXN_MPI_CALLS || !exn_virtual(ni)) return;
  ni->slot->last_call_ps = ni->clock_ps;
  ++ni->slot->mpi[call].calls;
  ni->slot->mpi[call].time_ps += ni->clock_ps - entered.clock_ps;
}

void exanet_set_multithreaded(struct exanet_ni *ni) {
  exn_may_hold();
  ni->multithreaded = true;
}

void exanet_abort(struct exanet_ni *ni, int code) {
  if (ni->slot->abort_code == 0) {
    if (exn_call.depth == 0 && exn_virtual(ni)) {
      exn_account_enter(ni);
      note_entry(ni);
    }
    ni->slot->abort_code = 1u + (uint32_t)code;
  }
  exn_kick(ni);
}

/* Before Open MPI aborts it reads clocks and sleeps in a loop, until its launcher has taken the message about the
   error: that is the host's time, and is taken off again. */
static void forget_waiting_for_launcher(struct exanet_ni *ni) {
  __atomic_store_n(&ni->pending_ps, 0, __ATOMIC_RELAXED);
  const uint64_t clock_ps = ni->clock_ps - (ni->slot->compute_ps - entered.compute_ps);
  ni->clock_ps = clock_ps > ni->woken_ps ? clock_ps : ni->woken_ps;
  ni->slot->compute_ps = entered.compute_ps;
  ni->slot->clock_reads = entered.reads;
  ni->slot->clock_reads_ps = entered.reads_ps;
}

void exanet_go_no_further(struct exanet_ni *ni) {
  if (exn_virtual(ni) && ni->slot->abort_code != 0 && exanet_program_threads() == 0) forget_waiting_for_launcher(ni);
  while (exn_virtual(ni) && exanet_program_threads() == 0) {
    __atomic_store_n(&ni->slot->ended, 1, __ATOMIC_RELEASE);
    exanet_sleep_with_others(ni, 0);
  }
}
