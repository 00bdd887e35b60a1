// SPDX-License-Identifier: Apache-2.0
// Sleeping in a rank of several threads.
//
// Problem: threads of a rank share its clock. One that sleeps must neither move it under the feet of another one that
// is in the middle of a message, nor sleep on when the others' waiting has brought the clock to its time.
//
// Model: a thread that sleeps waits until a time of the rank's clock, on a futex. The clock comes there in one of two
// ways. A thread that waits in MPI goes no further than the end of the earliest sleep, and wakes who is due. If none
// does, and all others wait as well, in the kernel or asleep, whoever sleeps for the shortest time moves the clock
// itself. Who has been woken goes first: time does not pass until it sleeps again, waits for something, or has computed
// for EXN_WOKEN_LIMIT_NS. The same holds for a thread that has just been created. So a thread that sleeps in a loop
// beside one that communicates does so at the same moments in every run.
//
// Limits: a thread that spins on memory, or on a file, until a sleeping one has done something looks like one that
// computes: the clock moves after EXN_SPIN_LIMIT_NS. One that yields meanwhile, again and again, is seen to wait. A
// thread that something of the real world wakes (a file, a signal) and that then sleeps may be woken late, by the end
// of what another one is waiting for at that time.
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/lib/ni.h"
#include "runtime/lib/threads.h"

#define EXN_WOKEN_LIMIT_NS UINT64_C(20000000)
#define EXN_FIRST_CHECK_NS 20000L
#define EXN_LAST_CHECK_NS 2000000L
#define EXN_SPIN_LIMIT_NS 1000000000L /* of the host's time */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the entries' sleeps, and who moves the clock for them */
static uint64_t next_end_ps = EXN_NO_SLEEP; /* the earliest end */
static uint32_t woken; /* how many entries are EXN_WOKEN, and threads that have no entry yet */
static uint32_t settled; /* futex: one more each time that a thread sleeps or ends */

static void futex_wait(uint32_t *word, uint32_t value, long ns) {
  const struct timespec limit = {.tv_nsec = ns};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &limit, NULL, 0);
}

static void futex_wake_all(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0); }

static bool all_settled(void) { return __atomic_load_n(&woken, __ATOMIC_ACQUIRE) == 0; }

/* One of those that go first has no more part in what happens next. */
static void settle(void) {
  __atomic_sub_fetch(&woken, 1, __ATOMIC_ACQ_REL);
  __atomic_add_fetch(&settled, 1, __ATOMIC_ACQ_REL);
  futex_wake_all(&settled);
}

/* From one state to another; false if it has been in a third one. */
static bool turn(struct exn_thread *thread, enum exn_timed_sleep from, enum exn_timed_sleep to) {
  uint32_t was = from;
  return __atomic_compare_exchange_n(&thread->timed_sleep, &was, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

uint64_t exn_next_sleep_end(void) { return __atomic_load_n(&next_end_ps, __ATOMIC_ACQUIRE); }

/* The lock is held. */
static void find_next_end(struct exanet_ni *ni) {
  uint64_t next = EXN_NO_SLEEP;
  for (const struct exn_thread *t = exn_threads; t < exn_threads_end(); ++t)
    if (t->tid != 0 && t->timed_sleep == EXN_IN_SLEEP && t->sleep_until_ps < next) next = t->sleep_until_ps;
  __atomic_store_n(&next_end_ps, next, __ATOMIC_RELEASE);
  ni->slot->timed_sleep = next != EXN_NO_SLEEP;
}

static void wake_due(struct exanet_ni *ni, uint64_t clock_ps) {
  for (struct exn_thread *t = exn_threads; t < exn_threads_end(); ++t) {
    if (t->tid == 0 || t->sleep_until_ps > clock_ps || t->timed_sleep != EXN_IN_SLEEP) continue;
    t->woken_ns = exn_thread_ns(t->tid);
    __atomic_add_fetch(&woken, 1, __ATOMIC_ACQ_REL);
    if (turn(t, EXN_IN_SLEEP, EXN_WOKEN))
      futex_wake_all(&t->timed_sleep);
    else
      settle();
  }
  find_next_end(ni);
}

void exn_wake_nappers(struct exanet_ni *ni) {
  if (exanet_clock_peek(ni) < exn_next_sleep_end()) return;
  exanet_system_lock(&lock);
  wake_due(ni, exanet_clock_peek(ni));
  exanet_system_unlock(&lock);
}

void exanet_thread_is_coming(void) { __atomic_add_fetch(&woken, 1, __ATOMIC_ACQ_REL); }
void exanet_thread_has_not_come(void) { settle(); }

void exanet_thread_has_come(void) {
  struct exn_thread *me = exn_own_thread();
  if (me) {
    me->woken_ns = exn_thread_ns(me->tid);
    __atomic_store_n(&me->timed_sleep, EXN_WOKEN, __ATOMIC_RELEASE);
  } else {
    settle();
  }
}

void exn_thread_goes(struct exn_thread *thread) {
  if (turn(thread, EXN_WOKEN, EXN_UP)) settle();
}

/* Takes those that wait or compute for long from the ones that go first. */
static void check_woken(void) {
  for (struct exn_thread *t = exn_threads; t < exn_threads_end(); ++t) {
    const pid_t tid = __atomic_load_n(&t->tid, __ATOMIC_ACQUIRE);
    if (tid == 0 || __atomic_load_n(&t->timed_sleep, __ATOMIC_ACQUIRE) != EXN_WOKEN) continue;
    /* In MPI others see what it is about (activity.c). */
    if (t->in_mpi || !exn_thread_runs(tid) || exn_thread_ns(tid) - t->woken_ns > EXN_WOKEN_LIMIT_NS) exn_thread_goes(t);
  }
}

bool exn_is_woken(void) {
  if (all_settled()) return false;
  struct exn_thread *me = exn_own_thread();
  return me && __atomic_load_n(&me->timed_sleep, __ATOMIC_ACQUIRE) == EXN_WOKEN;
}

void exn_let_woken_go_first(void) {
  if (all_settled()) return;
  struct exn_thread *me = exn_own_thread();
  if (me) exn_thread_goes(me);
  const bool was_in_place = exn_thread_is_in_place(true);
  for (long ns = EXN_FIRST_CHECK_NS, waited = 0; !all_settled() && waited < (long)EXN_WOKEN_LIMIT_NS * 5;
       waited += ns) {
    const uint32_t seen = __atomic_load_n(&settled, __ATOMIC_ACQUIRE);
    if (all_settled()) break;
    futex_wait(&settled, seen, ns);
    if (seen != __atomic_load_n(&settled, __ATOMIC_ACQUIRE)) continue;
    check_woken();
    if (ns < EXN_LAST_CHECK_NS) ns *= 2;
  }
  exn_thread_is_in_place(was_in_place);
}

/* Whoever may move the clock, or is about to wake somebody. Those that sleep wait. */
static bool is_at_work(struct exn_thread *thread, pid_t tid) {
  if (thread && __atomic_load_n(&thread->timed_sleep, __ATOMIC_ACQUIRE) == EXN_IN_SLEEP) return false;
  if (thread && (thread->in_mpi || thread->at_lock || thread->in_place)) return true;
  const uint64_t limit_ps = thread ? __atomic_load_n(&thread->limit_ps, __ATOMIC_ACQUIRE) : 0;
  if (limit_ps != 0 && limit_ps < exn_own_thread()->sleep_until_ps) return true;
  return !(thread && exn_thread_only_yields(thread)) && exn_thread_runs(tid);
}

/* Two checks, since one is not at all of them at once. */
static bool all_others_wait(const struct exanet_ni *ni) {
  if (__atomic_load_n(&ni->asleep, __ATOMIC_ACQUIRE)) return false;
  if (!all_settled()) check_woken();
  if (!all_settled()) return false;
  if (exn_any_other_thread(is_at_work)) return false;
  return !exn_any_other_thread(is_at_work);
}

static bool is_next(const struct exn_thread *me) { return me->sleep_until_ps <= exn_next_sleep_end(); }

/* Not at the first look: for some microseconds a thread also sleeps on a lock of the C library's. Returns whether
   all others waited. */
static bool try_to_move_clock(struct exanet_ni *ni, const struct exn_thread *me, bool patient, bool waited_before) {
  bool all_wait = false;
  exanet_system_lock(&lock);
  if (is_next(me) && me->timed_sleep == EXN_IN_SLEEP) all_wait = all_others_wait(ni) || !patient;
  if (all_wait && waited_before) {
    const uint64_t clock = exanet_clock_peek(ni);
    if (me->sleep_until_ps > clock) exanet_advance(ni, me->sleep_until_ps - clock);
    wake_due(ni, me->sleep_until_ps);
  }
  exanet_system_unlock(&lock);
  return all_wait;
}

static void lie_down(struct exanet_ni *ni, struct exn_thread *me, uint64_t until_ps) {
  me->at_lock = true;
  exanet_system_lock(&lock);
  me->at_lock = false;
  me->yields = 0;
  __atomic_add_fetch(&me->acts, 1, __ATOMIC_RELEASE);
  me->sleep_until_ps = until_ps;
  const bool was_woken = __atomic_exchange_n(&me->timed_sleep, EXN_IN_SLEEP, __ATOMIC_ACQ_REL) == EXN_WOKEN;
  find_next_end(ni);
  exanet_system_unlock(&lock);
  exn_token_give(me);
  if (was_woken) settle();
}

static void get_up(struct exanet_ni *ni, struct exn_thread *me) {
  exanet_system_lock(&lock);
  if (turn(me, EXN_IN_SLEEP, EXN_UP)) find_next_end(ni);
  exanet_system_unlock(&lock);
}

void exanet_sleep(struct exanet_ni *ni, uint64_t ps) {
  struct exn_thread *me = exanet_program_threads() > 0 && !exn_in_mpi() ? exn_own_thread() : NULL;
  if (!me) {
    exanet_advance(ni, ps); /* alone, or with the MPI library's locks in hand, where others may wait for them */
    return;
  }
  if (ni->region->compute_factor > 0) exn_count(ni);
  uint64_t clock = exanet_clock_peek(ni);
  const uint64_t until_ps = exanet_clock_own(ni) + ps;
  lie_down(ni, me, until_ps);
  long waited = 0; /* since the clock has moved */
  bool others_wait = false;
  for (long ns = EXN_FIRST_CHECK_NS;
       exn_virtual(ni) && __atomic_load_n(&me->timed_sleep, __ATOMIC_ACQUIRE) == EXN_IN_SLEEP;) {
    const bool asleep = __atomic_load_n(&ni->asleep, __ATOMIC_ACQUIRE);
    const bool patient = asleep || waited < EXN_SPIN_LIMIT_NS;
    others_wait = is_next(me) && try_to_move_clock(ni, me, patient, others_wait);
    futex_wait(&me->timed_sleep, EXN_IN_SLEEP, ns);
    waited = asleep || exanet_clock_peek(ni) != clock ? 0 : waited + ns;
    clock = exanet_clock_peek(ni);
    if (ns < EXN_LAST_CHECK_NS) ns *= 2;
  }
  get_up(ni, me);
  exn_own_ps = until_ps;
  exanet_thread_goes_on_at(until_ps);
}

void exanet_sleep_with_others(struct exanet_ni *ni, uint64_t ps) {
  exanet_sleep(ni, ps);
  if (exanet_program_threads() || !exn_virtual(ni)) return;
  exn_account_stop(ni);
  exn_sleep(ni, EXN_SLEEPING, ni->clock_ps, false);
  exn_account_leave(ni);
}
