// SPDX-License-Identifier: Apache-2.0
// What each thread of a rank is about, as others see it: idle, held, spinning, or at work.
//
// Problem: time may pass once every thread waits, but each thread polls by itself, and none knows of the others' plans.
//
// Model: what happens is counted. A thread is idle if its poll for what it waits for has been empty since anything last
// happened. An epoch is over when completions have been dealt with, when an MPI call ends that neither posted nor asked
// (it may have served another thread inside the process), and when a wait was empty; a step of MPI_Test is over sooner,
// and counts only for those that ask. A thread that computes may act for a given processor time since it was last seen
// here, and so may one that spins on memory.
//
// Limit: a thread that sleeps in the kernel for no longer than EXN_ASLEEP_NS looks like one on a lock of the C
// library's, and may act.
#include "runtime/lib/ni.h"
#include "runtime/lib/threads.h"

#define EXN_YIELDS_IN_A_ROW 16u
#define EXN_SPUN_NS \
  UINT64_C(30000) /* processor time in which a spinning thread surely sees what another one has found */
#define EXN_ASLEEP_NS 20000u /* of the host's time, without a word */
#define EXN_YIELDED_NS UINT64_C(10000000)

static uint32_t epoch = 1, step = 1; /* a new epoch is a new step as well */
static uint32_t long_waits; /* empty ones */

/* -- moments ------------------------------------------------------------------------------------------------------- */
static uint32_t next_of(uint32_t *count) {
  uint32_t next = __atomic_add_fetch(count, 1, __ATOMIC_ACQ_REL);
  if (next == 0) next = __atomic_add_fetch(count, 1, __ATOMIC_ACQ_REL); /* 0 is never */
  return next;
}

static uint32_t now(void) { return __atomic_load_n(&epoch, __ATOMIC_ACQUIRE); }

void exn_begin_epoch(void) {
  next_of(&epoch);
  next_of(&step);
}

void exn_step_is_over(void) { next_of(&step); }

void exn_wait_was_empty(bool was_long) {
  if (was_long) __atomic_add_fetch(&long_waits, 1, __ATOMIC_ACQ_REL);
  exn_begin_epoch();
}

void exn_set_idle(struct exn_thread *me) {
  __atomic_store_n(&me->idle_step, __atomic_load_n(&step, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
  __atomic_store_n(&me->idle_epoch, now(), __ATOMIC_RELEASE);
}

void exn_set_busy(struct exn_thread *me) {
  __atomic_store_n(&me->idle_step, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&me->idle_epoch, 0, __ATOMIC_RELEASE);
}

void exanet_thread_has_news(struct exn_thread *thread) {
  if (thread) __atomic_store_n(&thread->news, true, __ATOMIC_RELEASE);
}

void exn_set_held(struct exn_thread *me) {
  __atomic_store_n(&me->held, __atomic_load_n(&long_waits, __ATOMIC_ACQUIRE) + 1, __ATOMIC_RELEASE);
}

static bool is_held(const struct exn_thread *thread) {
  return __atomic_load_n(&thread->held, __ATOMIC_ACQUIRE) == __atomic_load_n(&long_waits, __ATOMIC_ACQUIRE) + 1;
}

bool exn_thread_is_held(const struct exn_thread *thread) {
  return is_held(thread) && !__atomic_load_n(&thread->news, __ATOMIC_ACQUIRE);
}

bool exn_thread_is_idle(const struct exn_thread *thread) {
  if (is_held(thread)) return exn_thread_is_held(thread);
  if (thread->asks)
    return __atomic_load_n(&thread->idle_step, __ATOMIC_ACQUIRE) == __atomic_load_n(&step, __ATOMIC_ACQUIRE);
  return __atomic_load_n(&thread->idle_epoch, __ATOMIC_ACQUIRE) == now();
}

/* -- what others see ----------------------------------------------------------------------------------------------- */
void exn_acts(struct exn_thread *me) {
  me->yields = 0;
  __atomic_add_fetch(&me->acts, 1, __ATOMIC_RELEASE);
}

void exanet_thread_yields(void) {
  struct exn_thread *me = exn_own_thread();
  if (!me) return;
  __atomic_store_n(&me->yielded_ns, exn_host_coarse_ns(), __ATOMIC_RELEASE);
  __atomic_add_fetch(&me->yields, 1, __ATOMIC_RELEASE);
}

bool exn_thread_only_yields(const struct exn_thread *thread) {
  return __atomic_load_n(&thread->yields, __ATOMIC_ACQUIRE) >= EXN_YIELDS_IN_A_ROW &&
         exn_host_coarse_ns() - __atomic_load_n(&thread->yielded_ns, __ATOMIC_ACQUIRE) < EXN_YIELDED_NS;
}

bool exn_thread_spins_idly(const struct exn_thread *thread) {
  return thread->in_mpi && exn_thread_is_idle(thread) && !thread->sleeps && !exn_token_is_with(thread);
}

/* Not just for a lock of the C library's. */
static bool sleeps_for_long(struct exn_thread *thread, uint64_t used) {
  const uint64_t ns = exn_host_ns();
  if (thread->slept_ns != used || thread->slept_since == 0) {
    thread->slept_ns = used;
    thread->slept_since = ns;
  }
  return ns - thread->slept_since > EXN_ASLEEP_NS;
}

bool exn_thread_may_act(struct exn_thread *thread, uint64_t limit_ns) {
  const pid_t tid = __atomic_load_n(&thread->tid, __ATOMIC_ACQUIRE);
  if (tid == 0 || thread->queued || thread->helper) return false;
  if (tid == EXN_COMING || __atomic_load_n(&thread->in_place, __ATOMIC_ACQUIRE)) return true;
  if (__atomic_load_n(&thread->timed_sleep, __ATOMIC_ACQUIRE) == EXN_IN_SLEEP) return false;
  if (thread->stat == 0) thread->stat = 1 + exn_task_open_stat(tid);
  const bool runs = exn_task_stat_runs(thread->stat - 1);
  if ((!runs && thread->sleeps) || exn_thread_only_yields(thread)) return false;
  const uint64_t used = exn_thread_ns(tid);
  if (!runs) return !sleeps_for_long(thread, used);
  const uint32_t acts = __atomic_load_n(&thread->acts, __ATOMIC_ACQUIRE), at = now();
  const bool spins = thread->in_mpi && thread->has_polled && !exn_token_is_with(thread);
  if (thread->seen_acts != acts || thread->seen_ns == 0 || (spins && thread->seen_epoch != at)) {
    thread->seen_acts = acts;
    thread->seen_epoch = at;
    thread->seen_ns = used;
  }
  return used - thread->seen_ns < (spins ? EXN_SPUN_NS : limit_ns);
}

static bool may_wake(struct exn_thread *p, pid_t tid) {
  if (p && p->in_mpi) return p->asks;
  return (p && p->limit_ps != 0) || !exn_task_sleeps_on_futex(tid);
}

bool exn_others_wait_for_ever(void) { return !exn_any_other_thread(may_wake); }

static bool is_busy(struct exn_thread *p, pid_t tid) {
  if (p && p->in_mpi) return true;
  return !(p && __atomic_load_n(&p->timed_sleep, __ATOMIC_ACQUIRE) == EXN_IN_SLEEP) && exn_thread_runs(tid);
}

int exanet_other_threads_busy(void) {
  const struct exanet_ni *ni = exanet_process_ni();
  if (ni && (__atomic_load_n(&ni->in_storage, __ATOMIC_ACQUIRE) || __atomic_load_n(&ni->using_files, __ATOMIC_ACQUIRE)))
    return true;
  return exn_any_other_thread(is_busy);
}
