// SPDX-License-Identifier: Apache-2.0
// The token: which of a rank's threads is inside MPI.
//
// Problem: threads of a rank share its clock, and each call moves it. If the host decided which of two threads comes
// first, no run would repeat; and threads that spin for a lock or for each other's completions would take the
// processors from the ranks that they wait for.
//
// Model: a thread that enters an MPI call takes the token, and keeps it, also outside MPI, until its
// polls are empty while others have something to do, or until it sleeps.
// The next one is of those that wait for it the first in the order of their creation, counted from the one that had it
// last; those that have something to do come before those that only poll again. It is handed on when no other thread is
// on its way there. The others sleep meanwhile.
//
// A thread that sleeps in the kernel without a word, or computes for long, loses the token: those that wait check it at
// growing intervals. So a program whose threads wait for each other by any means gets on, if not always in the same
// order.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/lib/ni.h"
#include "runtime/lib/threads.h"

#define EXN_COMES_NS UINT64_C(100000000) /* processor time for which others wait for one that is on its way */
#define EXN_OUTSIDE_NS UINT64_C(5000000) /* for which one that computes keeps the token outside MPI */
#define EXN_INSIDE_NS UINT64_C(20000000) /* and inside */
#define EXN_SPUN_NS UINT64_C(50000) /* and where it may spin for a lock that the one that waits has */
#define EXN_FIRST_CHECK_NS 20000L
#define EXN_POLL_CHECK_NS 80000L /* of one that may have a lock that the holder spins for */
#define EXN_LAST_CHECK_NS 5000000L
#define EXN_HELD_CHECK_NS 50000000L /* of those that others check */

#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t last; /* creation order of the thread that held the token last */

THREAD_LOCAL bool locked;

void exn_token_lock(void) {
  const bool was_in_place = exn_thread_is_in_place(true);
  locked = true;
  exanet_system_lock(&lock);
  exn_thread_is_in_place(was_in_place);
}
void exn_token_unlock(void) {
  exanet_system_unlock(&lock);
  locked = false;
}

/* Position in the queue for the token: round robin in the order of creation, so the last holder comes last. */
static uint32_t place(const struct exn_thread *thread) { return thread->order - last - 1; }

/* Who asks goes before who waits, even if it gets nothing: its next question is what moves the clock. */
enum { CANNOT_LOOK, WAITS, ASKS, WANTS_LOCK, HAS_WORK };
static unsigned merit(const struct exn_thread *thread) {
  if (thread->at_lock) return WANTS_LOCK;
  if (!exn_thread_is_idle(thread)) return HAS_WORK;
  return thread->blind || exn_thread_is_held(thread) ? CANNOT_LOOK : thread->asks ? ASKS : WAITS;
}

static struct exn_thread *first_in_line(void) {
  struct exn_thread *first = NULL;
  for (struct exn_thread *t = exn_threads; t < exn_threads_end(); ++t) {
    if (!t->queued) continue;
    if (!first || merit(t) > merit(first) || (merit(t) == merit(first) && place(t) < place(first))) first = t;
  }
  return first;
}

static bool any_on_its_way(const struct exn_thread *me) {
  for (struct exn_thread *t = exn_threads; t < exn_threads_end(); ++t)
    if (t->tid != 0 && t != me && !exn_thread_spins_idly(t) && exn_thread_may_act(t, EXN_COMES_NS)) return true;
  return false;
}

/* The lock is held, as below. */
static void pass_on(const struct exn_thread *me) {
  if (exn_token_holder) return;
  struct exn_thread *next = first_in_line();
  if (!next) return;
  const bool goes = !any_on_its_way(me);
  if (goes) {
    __atomic_store_n(&exn_token_holder, next, __ATOMIC_RELEASE);
    last = next->order;
    next->queued = false;
    __atomic_add_fetch(&next->acts, 1, __ATOMIC_RELEASE); /* what it does from here on counts */
  }
  if (next == me || (!goes && next->checks)) return;
  __atomic_add_fetch(&next->go, 1, __ATOMIC_RELEASE); /* to go, or to check when it may */
  syscall(SYS_futex, &next->go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static uint64_t limit_with(const struct exn_thread *thread, bool in_poll) {
  if (!thread->in_mpi) return EXN_OUTSIDE_NS;
  return in_poll && thread->has_polled ? EXN_SPUN_NS : EXN_INSIDE_NS;
}

/* It has lost the token, and spins (turns.c). */
static void hold(const struct exn_thread *thread) { syscall(SYS_tgkill, getpid(), thread->tid, EXN_HOLD_SIGNAL); }

static void look_after_holder(const struct exn_thread *me) {
  struct exn_thread *t = exn_token_holder;
  if (!t || exn_thread_may_act(t, limit_with(t, me->in_poll))) return;
  __atomic_store_n(&exn_token_holder, NULL, __ATOMIC_RELEASE);
  if (t->in_mpi && me->in_poll) hold(t);
}

static void queue(struct exn_thread *me) {
  exn_token_lock();
  if (exn_token_holder == me) __atomic_store_n(&exn_token_holder, NULL, __ATOMIC_RELEASE);
  me->queued = true;
  pass_on(me);
  for (long next_ns = EXN_FIRST_CHECK_NS; me->queued;) {
    me->checks = me->in_poll || (!(exn_token_holder && exn_token_holder->in_mpi) && first_in_line() == me);
    const long ns = me->checks ? next_ns : exn_thread_is_held(me) ? EXN_HELD_CHECK_NS : EXN_LAST_CHECK_NS;
    if (me->checks && ns < (me->in_poll ? EXN_POLL_CHECK_NS : EXN_LAST_CHECK_NS)) next_ns *= 2;
    const uint32_t seen = __atomic_load_n(&me->go, __ATOMIC_ACQUIRE);
    const struct timespec limit = {.tv_nsec = ns};
    exn_token_unlock();
    syscall(SYS_futex, &me->go, FUTEX_WAIT_PRIVATE, seen, &limit, NULL, 0);
    exn_token_lock();
    if (!me->queued) break;
    look_after_holder(me);
    pass_on(me);
  }
  me->checks = false;
  exn_token_unlock();
}

void exn_token_take(struct exn_thread *me) {
  if (!exn_token_is_with(me)) queue(me);
}

void exn_token_queue_where_it_is(struct exn_thread *me) {
  if (!locked && !exn_token_is_with(me) && !me->queued) queue(me);
}

void exn_token_let_others_go_first(struct exn_thread *me) { queue(me); }

void exn_token_give(struct exn_thread *me) {
  if (!exn_token_is_with(me)) return;
  exn_token_lock();
  if (exn_token_holder == me) {
    __atomic_store_n(&exn_token_holder, NULL, __ATOMIC_RELEASE);
    pass_on(me);
  }
  exn_token_unlock();
}
