/* SPDX-License-Identifier: Apache-2.0
 * Worker threads: threads of the host that run packed ranks in turn.
 *
 * Problem: with one memory map for all ranks, what is left of a hand-over between two of them is the kernel: a
 * wake-up, a sleep and a switch of processes, for a turn that often is shorter. Yet each rank must stay a process,
 * with its own pid, files and signals.
 *
 * Model: a rank that waits lays its registers down (EXN_DESCHEDULED), and its owning process sleeps on a stack of
 * its own. A worker takes the next rank that is due, sets the base of its thread-local storage, loads its registers
 * and goes on as that rank, until it waits again: then it takes the next one. That is a switch in user space.
 * Whatever needs the rank's own process returns it to that: workers have system calls dispatched to user space
 * (Linux 5.11, prctl(2)), and a call, a fault, or a turn that takes long is a signal, whose handler lays down all
 * registers (EXN_RETURNING) and wakes the owning process, which goes on from there with sigreturn: it makes the
 * call, or meets the fault again, as itself. With its next wait a worker may take the rank again. Calls that concern
 * nothing but memory are made in place.
 *
 * The simulator, where it is in the host, is one more of them: a thread of the host owns it, and the worker that
 * ends a round goes on as it.
 *
 * Progress does not depend on workers. A rank that waits is woken by its turn and its futex as any other, and its
 * owning process goes on with its registers if no worker has them. All waits here end by themselves. The simulator
 * gives turns on when nothing moves (coordinator.cpp), the host returns ranks that run for long to their processes,
 * and gives the workers up when one cannot be interrupted.
 *
 * While a rank is away, its owning process blocks all signals and checks every OWNER_CHECK_NS whether there are any.
 * A rank that returns to its process in most of its turns stays there for a while, which doubles each time.
 *
 * Limits: x86-64 whose kernel lets programs set the base of FS. Code between the section's marks may be run with any
 * rank's thread-local storage, and be interrupted by no switch: it calls no library. */
#define _GNU_SOURCE
#include "runtime/exec/worker.h"

#include <sys/mman.h>

#define OWNER_CHECK_NS 100000000L
#define WORKER_CHECK_NS 100000000L
#define SPIN_CYCLES 200000u /* of the time stamp counter, some 70 us: longer than the simulator takes for most rounds */
#define OWNER_STACK_BYTES ((size_t)1 << 14)

struct team exn_team;

/* -- a worker ------------------------------------------------------------------------------------------------------ */
/* Goes on as the one whose registers these are, if they are laid down. Then it does not return. */
WORKER_CODE static void go_on_as(struct context *c, struct worker *worker) {
  uint32_t descheduled = EXN_DESCHEDULED;
  if (!__atomic_compare_exchange_n(&c->slot->place, &descheduled, EXN_ON_WORKER, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE))
    return;
  c->worker = worker;
  ++c->away;
  ++c->slot->worker_turns;
  __atomic_store_n(&worker->turns, worker->turns + 1, __ATOMIC_RELAXED);
  __atomic_store_n(&worker->current, c, __ATOMIC_RELEASE);
  __asm__ volatile("wrfsbase %0" : : "r"(c->thread_base) : "memory");
  exn_enter(c->stack);
}

/* Lets the rank run, here if it may. Then it does not return. */
WORKER_CODE static void begin_turn(struct worker *worker, uint32_t rank) {
  struct context *c = &exn_team.contexts[rank];
  __atomic_fetch_add(&c->slot->turn, EXN_TURN, __ATOMIC_RELEASE);
  if (!__atomic_load_n(&c->recalled, __ATOMIC_ACQUIRE)) go_on_as(c, worker);
  wake(&c->slot->turn); /* in its own process */
}

/* True: the simulator has been called, sleeps, and is the caller's to let go on. */
WORKER_CODE static bool ends_round(void) {
  return __atomic_sub_fetch(&exn_team.region->running, 1, __ATOMIC_ACQ_REL) == 0 && exn_call_simulator(exn_team.region);
}

WORKER_CODE static void begin_simulator(struct worker *worker) {
  if (exn_team.simulator && __atomic_load_n(&exn_team.region->workers, __ATOMIC_RELAXED)) {
    exn_team.simulator->called = true;
    go_on_as(exn_team.simulator, worker);
  }
  wake(&exn_team.region->simulator_wake);
}

/* The simulator has laid its registers down. False: it has been called meanwhile. */
WORKER_CODE bool exn_simulator_sleeps(void) {
  uint32_t awake = EXN_AWAKE;
  __atomic_store_n(&exn_team.simulator->slot->place, EXN_DESCHEDULED, __ATOMIC_SEQ_CST);
  return __atomic_compare_exchange_n(&exn_team.region->simulator_wake, &awake, EXN_ASLEEP, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST);
}

/* Looks at the word for a while, if a processor is to spare for it. True: it has changed. */
WORKER_CODE static bool spin(struct worker *worker, uint32_t seen) {
  if (!exn_spin_now(&worker->spin)) return false;
  bool changed = false;
  if (__atomic_fetch_add(&exn_team.region->workers_spinning, 1, __ATOMIC_SEQ_CST) <
      __atomic_load_n(&exn_team.region->most_looking, __ATOMIC_RELAXED)) {
    const uint64_t began = __builtin_ia32_rdtsc();
    do {
      __builtin_ia32_pause();
      changed = __atomic_load_n(&exn_team.region->worker_turn, __ATOMIC_SEQ_CST) != seen;
    } while (!changed && __builtin_ia32_rdtsc() - began < SPIN_CYCLES);
    exn_spin_ended(&worker->spin, !changed);
  }
  __atomic_fetch_sub(&exn_team.region->workers_spinning, 1, __ATOMIC_SEQ_CST);
  return changed;
}

/* Runs one rank after another. Comes here anew, on an empty stack, when a rank waits or has returned to its process. */
WORKER_CODE void exn_worker_runs(void *argument) {
  struct worker *worker = argument;
  struct context *waits = worker->current;
  __atomic_store_n(&worker->current, NULL, __ATOMIC_RELEASE);
  if (waits && waits == exn_team.simulator) {
    if (!exn_simulator_sleeps()) begin_simulator(worker);
    waits = NULL;
  } else if (waits) {
    __atomic_store_n(&waits->slot->place, EXN_DESCHEDULED, __ATOMIC_RELEASE);
  }
  for (; !__atomic_load_n(&exn_team.quit, __ATOMIC_ACQUIRE); waits = NULL) {
    const uint32_t seen = __atomic_load_n(&exn_team.region->worker_turn, __ATOMIC_ACQUIRE);
    const int64_t next =
        __atomic_load_n(&exn_team.region->workers, __ATOMIC_RELAXED) ? exn_take_due(exn_team.region) : -1;
    if (waits && ends_round()) begin_simulator(worker); /* not before: what is taken is of the same round */
    if (next >= 0 && exn_due(exn_team.region)[next] < exn_team.region->ranks)
      begin_turn(worker, exn_due(exn_team.region)[next]);
    if (!spin(worker, seen)) wait_for(&exn_team.region->worker_turn, seen, WORKER_CHECK_NS);
  }
  CALL(SYS_exit, 0, 0, 0, 0);
  __builtin_unreachable();
}

/* -- a rank's own process ------------------------------------------------------------------------------------------ */
WORKER_CODE void exn_go_on_interrupted(struct context *c) {
  __atomic_store_n(&c->recalled, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&c->slot->place, EXN_IN_OWN_PROCESS, __ATOMIC_RELEASE);
  c->cpu_ahead_ns = c->cpu_ns - thread_cpu_ns();
  CALL(SYS_sigaltstack, 0, &c->interrupted->uc_stack, 0, 0); /* the rank's own, which sigreturn sets */
  exn_sigreturn(c->interrupted);
}

WORKER_CODE void exn_go_on_descheduled(struct context *c) {
  uint32_t descheduled = EXN_DESCHEDULED;
  if (!__atomic_compare_exchange_n(&c->slot->place, &descheduled, EXN_IN_OWN_PROCESS, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE))
    return;
  __atomic_store_n(&c->recalled, 0, __ATOMIC_RELEASE);
  exn_enter(c->stack);
}

WORKER_CODE static bool has_signals(const struct context *c) {
  uint64_t pending = 0;
  CALL(SYS_rt_sigpending, &pending, sizeof pending, 0, 0);
  return (pending & ~c->mask) != 0;
}

/* Waits, on a stack of its own, until the rank returns to its process. */
WORKER_CODE static void wait_in_own_process(void *argument) {
  struct context *c = argument;
  struct exn_rank *slot = c->slot;
  __atomic_store_n(&slot->place, EXN_DESCHEDULED, __ATOMIC_RELEASE);
  if ((uint32_t)__atomic_load_n(&exn_team.region->due, __ATOMIC_ACQUIRE) > 0 &&
      exn_call_workers(exn_team.region, 1) > 0)
    wake(&exn_team.region->worker_turn);
  if (ends_round()) wake(&exn_team.region->simulator_wake);
  for (;;) {
    const uint32_t turn = __atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE);
    const uint32_t place = __atomic_load_n(&slot->place, __ATOMIC_ACQUIRE);
    if (place == EXN_RETURNING) exn_go_on_interrupted(c);
    if (place == EXN_DESCHEDULED &&
        (!exn_is_same_turn(turn, c->turn) || __atomic_load_n(&c->recalled, __ATOMIC_ACQUIRE) ||
         __atomic_load_n(&exn_team.region->stop, __ATOMIC_ACQUIRE)))
      exn_go_on_descheduled(c);
    /* Whoever changes what is asked above changes the word, too. */
    if (!wait_for(&slot->turn, turn, OWNER_CHECK_NS) && has_signals(c))
      __atomic_store_n(&c->recalled, 1, __ATOMIC_RELEASE);
  }
}

/* Space for what is interrupted, and above it the stack. */
bool exn_make_owner_stack(struct context *c) {
  const size_t context = (sizeof(ucontext_t) + 63) & ~(size_t)63,
               floating = (exn_team.floating_bytes + 4095) & ~(size_t)4095;
  const size_t bytes = floating + ((context + 4095) & ~(size_t)4095) + OWNER_STACK_BYTES;
  const long at = call6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at < 0 && at > -4096) return false;
  char *space = (char *)at; /* NOLINT(performance-no-int-to-ptr): what the kernel has answered */
  c->floating = space;
  c->interrupted = (ucontext_t *)(void *)(space + floating);
  c->owner_stack = space + bytes;
  return true;
}

/* In the rank's own process: whether a worker may take it from here on. */
static bool may_leave(struct context *c) {
  if (!__atomic_load_n(&exn_team.region->workers, __ATOMIC_RELAXED)) return false;
  if (c->own_turns_left > 0) {
    --c->own_turns_left;
    return false;
  }
  return c->owner_stack || exn_make_owner_stack(c);
}

WORKER_CODE bool exn_worker_wait(uint32_t rank, uint32_t turn) {
  struct context *c = &exn_team.contexts[rank];
  if (__atomic_load_n(&c->slot->place, __ATOMIC_RELAXED) == EXN_ON_WORKER) {
    c->turn = turn;
    exn_leave(&c->stack, c->worker->stack, exn_worker_runs, c->worker);
  } else {
    const uint64_t all = ~UINT64_C(0);
    if (!may_leave(c)) return false;
    c->turn = turn;
    c->away = 0;
    CALL(SYS_rt_sigprocmask, SIG_SETMASK, &all, &c->mask, sizeof all);
    __asm__ volatile("rdfsbase %0" : "=r"(c->thread_base));
    exn_leave(&c->stack, c->owner_stack, wait_in_own_process, c);
  }
  /* In its own process or on a worker, and not of necessity where it was before. */
  if (__atomic_load_n(&c->slot->place, __ATOMIC_RELAXED) == EXN_IN_OWN_PROCESS)
    CALL(SYS_rt_sigprocmask, SIG_SETMASK, &c->mask, 0, sizeof c->mask);
  return true;
}
