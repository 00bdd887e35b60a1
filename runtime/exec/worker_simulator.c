/* SPDX-License-Identifier: Apache-2.0
 * The simulator as one of those that workers run (worker.c): a thread of the host owns it, and waits while nobody
 * has its registers. */
#define _GNU_SOURCE
#include "runtime/exec/worker.h"
#include "runtime/exec/workers.h"

static struct exn_rank simulator_slot; /* of which it has but a place and a turn */

/* Waits, on a stack of its own, in the thread that the simulator was started on, until that is to go on with it. */
WORKER_CODE static void stay_as_simulator(void *argument) {
  const long limit_ns = (long)(intptr_t)argument;
  struct context *c = exn_team.simulator;
  bool called = !exn_simulator_sleeps(), late = false;
  for (;;) {
    const uint32_t place = __atomic_load_n(&c->slot->place, __ATOMIC_ACQUIRE);
    if (place == EXN_RETURNING) exn_go_on_interrupted(c);
    const uint32_t seen = __atomic_load_n(&exn_team.region->simulator_wake, __ATOMIC_SEQ_CST);
    called |= seen == EXN_CALLED;
    /* Between the two words it is the worker's that has just laid it down. */
    if (place == EXN_DESCHEDULED && (called || (late && seen == EXN_ASLEEP))) {
      c->called = called;
      exn_go_on_descheduled(c);
    }
    called = false;
    late = !wait_for(&exn_team.region->simulator_wake, seen, limit_ns);
  }
}

WORKER_CODE static bool wait_as_simulator(int64_t ns) {
  struct context *c = exn_team.simulator;
  if (__atomic_load_n(&c->slot->place, __ATOMIC_RELAXED) == EXN_ON_WORKER) {
    exn_leave(&c->stack, c->worker->stack, exn_worker_runs, c->worker);
  } else {
    c->away = 0;
    exn_leave(&c->stack, c->owner_stack, stay_as_simulator, (void *)(intptr_t)ns);
  }
  return c->called;
}

static bool simulator_is_on_worker(void) {
  return __atomic_load_n(&exn_team.simulator->slot->place, __ATOMIC_RELAXED) == EXN_ON_WORKER;
}

WORKER_CODE static void wake_many(uint32_t *word, int most) { CALL(SYS_futex, word, FUTEX_WAKE, most, 0); }

static struct exn_simulator_calls simulator_calls = {wait_as_simulator, simulator_is_on_worker, wake_many, exn_copy};

const struct exn_simulator_calls *exn_workers_take_simulator(void) {
  if (!exn_workers_run()) return NULL;
  struct context *c = &exn_team.contexts[exn_team.region->ranks];
  c->slot = &simulator_slot;
  if (!exn_make_owner_stack(c)) return NULL;
  const uint64_t faults = FAULTS;
  if (syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &faults, NULL, sizeof c->mask) ||
      syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &c->mask, sizeof c->mask))
    return NULL;
  __asm__ volatile("rdfsbase %0" : "=r"(c->thread_base));
  exn_team.simulator = c;
  return &simulator_calls;
}

void exn_workers_leave_simulator(void) {
  if (!exn_team.region) return;
  __atomic_store_n(&exn_team.region->where, EXN_APART, __ATOMIC_RELEASE);
  syscall(SYS_futex, &exn_team.region->where, FUTEX_WAKE, 1, NULL, NULL, 0);
}
