// SPDX-License-Identifier: Apache-2.0
// Hands the processor over.
//
// Problem: ranks take turns many times per simulated microsecond, and each switch by way of the simulator would cost
// two.
//
// Model: a rank that waits in virtual time sleeps on a futex, wakes the next rank that is due, and the last one to
// sleep wakes the simulator. Packed ranks with one thread lay their registers down for their host's workers instead
// (switch.h).
//
// Limit: a sleep ends by a turn or with the run. It has no time limit of its own in the host's time.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/lib/ni.h"
#include "runtime/lib/switch.h"

/* The calling thread is the one that has opened the interface of a rank with workers. */
static __thread __attribute__((tls_model("initial-exec"))) bool opened_here;

static void futex_wake(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0); }

static void futex_wait(uint32_t *word, uint32_t value, const struct timespec *limit) {
  syscall(SYS_futex, word, FUTEX_WAIT, value, limit, NULL, 0);
}

void exn_kick(struct exanet_ni *ni) {
  if (exn_call_simulator(ni->region)) futex_wake(&ni->region->simulator_wake);
}

void exanet_end_run(struct exanet_ni *ni, const char *reason) {
  struct exn_region *region = ni->region;
  uint32_t unreported = 0;
  if (__atomic_compare_exchange_n(&region->reporting, &unreported, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    const size_t bytes = strnlen(reason, sizeof region->reason - 1);
    memcpy(region->reason, reason, bytes);
    region->reason[bytes] = '\0';
    __atomic_store_n(&region->reporting, 2, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&region->stopping, 1, __ATOMIC_RELEASE);
  exn_kick(ni);
  _exit(EXN_STOPPED_EXIT);
}

/* A rank whose registers a worker may take is left to one. */
static void wake_next(struct exn_region *region) {
  const uint32_t left = (uint32_t)__atomic_load_n(&region->due, __ATOMIC_ACQUIRE);
  if (left == 0) return;
  if (__atomic_load_n(&region->workers, __ATOMIC_RELAXED) > 0 && left <= region->ranks) {
    const struct exn_rank *last = exn_rank_slot(region, exn_due(region)[left - 1]);
    if (__atomic_load_n(&last->place, __ATOMIC_ACQUIRE) == EXN_DESCHEDULED) {
      if (exn_call_workers(region, 1) > 0) futex_wake(&region->worker_turn);
      return;
    }
  }
  const int64_t next = exn_take_due(region);
  if (next < 0) return;
  struct exn_rank *slot = exn_rank_slot(region, exn_due(region)[next]);
  __atomic_fetch_add(&slot->turn, EXN_TURN, __ATOMIC_RELEASE);
  futex_wake(&slot->turn);
}

static void hand_over(struct exanet_ni *ni) {
  struct exn_region *region = ni->region;
  wake_next(region);
  if (__atomic_sub_fetch(&region->running, 1, __ATOMIC_ACQ_REL) == 0) exn_kick(ni);
}

void exn_find_workers(struct exanet_ni *ni) {
  const struct exn_workers *found =
      (const struct exn_workers *)getauxval(EXN_AT_WORKERS); /* NOLINT(performance-no-int-to-ptr) */
  const bool usable = found && found->version == EXN_VERSION;
  ni->slot->hosted = usable;
  if (!usable || getpid() != (pid_t)syscall(SYS_gettid)) return;
  ni->workers = found;
  opened_here = true;
  exn_share_texts(found->texts);
}

bool exn_runs_on_worker(const struct exanet_ni *ni) { return ni->workers && opened_here; }

/* Only the thread that has opened the interface, the process's first, while the program has no other. */
static bool sleeps_on_worker(const struct exanet_ni *ni, uint32_t turn) {
  if (!exn_runs_on_worker(ni) || ni->multithreaded || exanet_program_threads()) return false;
  return ni->workers->wait(ni->rank, turn);
}

/* The rank's place at the simulator is taken. */
static void refuse_beside_storage(struct exanet_ni *ni) {
  const void *user = __atomic_load_n(&ni->in_storage, __ATOMIC_ACQUIRE);
  if ((user != NULL && user != &exn_polls) || (user != NULL && __atomic_load_n(&ni->asleep, __ATOMIC_ACQUIRE)))
    exanet_end_run(ni,
                   "--storage: a thread of a rank uses a file of a storage while another one waits in MPI, which is "
                   "not simulated yet: let one thread do both");
}

void exn_sleep(struct exanet_ni *ni, uint32_t state, uint64_t deadline_ps, bool blocking) {
  struct exn_rank *slot = ni->slot;
  const bool counted = exn_virtual(ni);
  /* Counted, not flagged: a rank that has handed over may be let run again before it comes to wait, and must wait
     for just that. */
  const uint32_t turn = slot->turn;
  slot->clock_ps = ni->clock_ps;
  slot->deadline_ps = deadline_ps;
  slot->blocking = blocking ? 1 + exn_polls.empty : 0;
  __atomic_store_n(&slot->state, state, __ATOMIC_RELEASE);
  const bool was_in_place = exn_thread_is_in_place(true);
  if (exanet_program_threads()) {
    refuse_beside_storage(ni);
    __atomic_store_n(&ni->asleep, true, __ATOMIC_RELEASE);
    slot->mpi_call = exn_mpi_call(); /* another thread may have been in one, or left it */
  }
  if (!counted)
    exn_kick(ni);
  else if (!sleeps_on_worker(ni, turn))
    hand_over(ni);
  /* No time limit, whose timer would cost as much as a cache miss or two each time: a simulator that ends gives
   * everybody a last turn, and one that is killed takes the ranks with it, since exanet-exec dies with its parent
   * and the rank with exanet-exec. */
  exn_exit_if_stopped(ni);
  for (uint32_t now; exn_is_same_turn(now = __atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE), turn);)
    futex_wait(&slot->turn, now, NULL);
  __atomic_store_n(&ni->asleep, false, __ATOMIC_RELEASE);
  exn_exit_if_stopped(ni);
  ni->woken_ps = ni->clock_ps = slot->clock_ps;
  exn_thread_is_in_place(was_in_place);
}

void exn_await_stop(struct exanet_ni *ni) {
  struct exn_rank *slot = ni->slot;
  __atomic_store_n(&slot->left, 1, __ATOMIC_RELEASE);
  exn_kick(ni);
  for (;;) {
    const uint32_t turn = __atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&ni->region->stop, __ATOMIC_ACQUIRE)) return;
    futex_wait(&slot->turn, turn, NULL);
  }
}

bool exn_free_wait(struct exanet_ni *ni) {
  exn_kick(ni);
  /* Many ranks start up on few processors, and what they wait for is often another rank: get out of its way. What
   * comes from the network wakes them, so they look after all else the less often the more they are: 64,000 looks a
   * second of up to 3,000 ranks together. */
  const long patient = 500000L * (1 + ni->region->ranks / 32);
  const struct timespec limit = {.tv_nsec = ni->idle_polls < 20 ? 20000 : patient < 50000000 ? patient : 50000000};
  futex_wait(&ni->slot->wake, 0, &limit);
  const bool woken = __atomic_exchange_n(&ni->slot->wake, 0, __ATOMIC_ACQUIRE) != 0;
  exn_exit_if_stopped(ni);
  return woken;
}
