// SPDX-License-Identifier: Apache-2.0
// Turns: which of a rank's threads goes on inside MPI.
//
// Time may pass once every thread waits: it sleeps in the kernel (a lock, a join, a timer), or it is idle (activity.c),
// which it says here by a poll or a spin. A thread that asks goes before one that waits, or the steps of its loop would
// be as long as the other's wait.
//
// The token (token.c) says which of the threads is inside MPI. The one that has it and whose polls are empty while
// another one has something to do returns at once, and steps aside at the library's next yield, or when it leaves its
// last lock, or with its next call. If it polls again before, and holds a lock that is seen here, it keeps that over
// all of its polls, and who wants it or the token waits as well. If it holds none, it may have one of the library's own
// making (Open MPI 4 polls under a spin lock, and its blocking sends do nothing but poll): it steps aside in its poll,
// and those that then spin for the lock without polling are stopped by a signal until it is their turn again. That
// comes when something of theirs has completed, if their call has posted anything (a blocking send or receive); it
// would take sixteen threads, of which one polls, a signal and two switches each to look at what came for one of them.
// A wait that was long and empty is everybody's turn.
//
// A thread that computes goes first for EXN_COMPUTE_LIMIT_NS of its processor time, and so does one that spins on
// memory; then time passes in spite of it, until it is next seen here.
//
// Limit: threads of a program that calls libfabric without MPI have no token. One that finds others at work yields or
// sleeps for a while.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/lib/ni.h"
#include "runtime/lib/threads.h"

#define EXN_COMPUTE_LIMIT_NS UINT64_C(100000000)
#define EXN_POLLS \
  5000u /* empty ones, each some tens of microseconds with its step aside, by threads that have no token */
#define EXN_YIELDS \
  16u /* steps aside that only yield; later ones sleep, since a yield lets nobody in whose processor is another one */

static bool dealing; /* completions were handed out, and nobody has polled since */
static uint32_t empty_polls;

#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))
THREAD_LOCAL uint32_t locks; /* that it has taken inside this MPI call, and holds */
THREAD_LOCAL bool others_first; /* it is to step aside, and has not yet */
THREAD_LOCAL bool posted; /* in this MPI call */
THREAD_LOCAL bool polled; /* since it last spun */
THREAD_LOCAL bool only_polls; /* it holds no lock that is seen here, and yet does not come to step aside */

static void free_entry(struct exn_thread *thread) {
  exn_token_give(thread);
  exn_thread_goes(thread);
  exn_token_lock();
  exn_thread_free(thread);
  exn_token_unlock();
}

static __attribute__((constructor)) void watch_ends(void) { exn_thread_ends = free_entry; }

void exn_something_happened(void) {
  empty_polls = 0;
  posted = true;
  if (exn_me) exn_me->has_polled = true;
}

void exn_completion_came(void) {
  empty_polls = 0;
  dealing = true;
}

void exn_dealt_with(void) {
  if (!dealing) return;
  dealing = false;
  exn_begin_epoch();
}

/* -- MPI calls ----------------------------------------------------------------------------------------------------- */
void exn_thread_enters_mpi(struct exanet_ni *ni, bool asks) {
  struct exn_thread *me = exn_own_thread();
  if (!me) return;
  const bool asks_again = asks && others_first;
  exn_acts(me);
  locks = 0;
  others_first = posted = me->has_polled = false;
  __atomic_store_n(&me->news, false, __ATOMIC_RELEASE);
  me->asks = asks;
  if (!asks) exn_set_busy(me); /* who has asked for nothing in this epoch need not ask again */
  me->in_mpi = true;
  if (!ni->multithreaded) return;
  if (asks_again)
    exn_token_let_others_go_first(me);
  else
    exn_token_take(me);
}

void exn_thread_leaves_mpi(void) {
  struct exn_thread *me = exn_own_thread();
  if (!me) return;
  if (!me->asks) {
    others_first = false;
    if (!posted) exn_begin_epoch();
    exn_set_busy(me);
  }
  me->in_mpi = false;
  exn_acts(me);
}

/* -- inside MPI: waiting, and letting others go first -------------------------------------------------------------- */
static bool takes_turns(void) { return exn_me && exn_me->in_mpi && exn_in_mpi(); }

static void let_others_go_first(void) {
  if (!others_first || locks > 0) return;
  others_first = only_polls = false;
  exn_token_let_others_go_first(exn_me);
}

void exanet_thread_locks(bool locked) {
  if (locked) {
    ++locks;
    return;
  }
  if (locks > 0) --locks;
  if (takes_turns()) let_others_go_first();
}

void exanet_thread_waits_for_lock(void) {
  if (!takes_turns()) return;
  exn_me->at_lock = true;
  exn_token_let_others_go_first(exn_me);
  exn_me->at_lock = false;
}

void exanet_thread_sleeps_at_lock(bool asleep) {
  struct exn_thread *me = takes_turns() ? exn_me : NULL;
  if (!me) return;
  if (asleep) {
    __atomic_store_n(&me->at_lock, true, __ATOMIC_RELEASE);
    me->sleeps = true;
    exn_token_give(me);
  } else {
    __atomic_store_n(&me->at_lock, false, __ATOMIC_RELEASE);
    me->sleeps = false;
    exn_token_take(me);
  }
}

void exanet_thread_sleeps(bool asleep) {
  struct exn_thread *me = takes_turns() ? exn_me : NULL;
  if (!me) return;
  exn_set_busy(me);
  me->sleeps = asleep;
  if (asleep)
    exn_token_give(me);
  else
    exn_token_take(me);
}

void exanet_thread_blocks(bool asleep) {
  struct exn_thread *me = exn_own_thread();
  if (!me) return;
  me->sleeps = asleep;
  if (asleep) exn_token_give(me);
}

/* It waits for something that another thread has to do. Those that have polled since have let others go first
   already. */
void exanet_thread_spins(void) {
  if (!takes_turns()) return;
  if (!polled) {
    exn_set_idle(exn_me);
    exn_me->blind = others_first = true;
  }
  polled = false;
  let_others_go_first();
}

static bool has_work(struct exn_thread *p, pid_t tid) {
  (void)tid;
  if (p && p->queued)
    return !others_first && (p->at_lock || !exn_thread_is_idle(p) || (p->asks && !p->blind && !exn_me->asks));
  if (p && p->at_lock && !others_first) return true;
  if (!p) return exn_thread_runs(tid);
  return !exn_thread_spins_idly(p) && exn_thread_may_act(p, EXN_COMPUTE_LIMIT_NS);
}

/* With a token; others_first still stands: it has not come to step aside since the last poll. */
static bool others_have_work(void) {
  exn_token_lock();
  const bool have = exn_any_other_thread(has_work);
  exn_token_unlock();
  return have;
}

static bool runs_without_token(struct exn_thread *p, pid_t tid) {
  return !(p && exn_thread_is_idle(p)) && exn_thread_runs(tid);
}

bool exn_other_threads_run(void) {
  struct exn_thread *me = exn_own_thread();
  if (!me) return false;
  exn_set_idle(me);
  polled = true;
  if (!takes_turns()) return (others_first = ++empty_polls <= EXN_POLLS && exn_any_other_thread(runs_without_token));
  me->has_polled = true;
  me->blind = false;
  only_polls = others_first && locks == 0;
  const bool first = only_polls || (!others_first && !exn_token_is_with(me)) || others_have_work();
  others_first |= first;
  return first;
}

/* Those that spin must not keep the processor from it until their time slice is over. */
static void be_quick(void) {
  THREAD_LOCAL bool quick;
  if (quick) return;
  quick = true;
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
  } attributes = {.size = sizeof attributes, .runtime_ns = 100000};
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void exanet_step_aside(void) {
  if (!others_first) return;
  if (takes_turns()) {
    if (!only_polls) return;
    exn_me->in_poll = true;
    be_quick();
    let_others_go_first();
    exn_me->in_poll = false;
    return;
  }
  others_first = false;
  const struct timespec step_aside = {.tv_nsec = 50000};
  if (empty_polls <= EXN_YIELDS)
    syscall(SYS_sched_yield); /* not the interposed ones */
  else
    syscall(SYS_nanosleep, &step_aside, NULL);
}

/* -- holding those that spin --------------------------------------------------------------------------------------- */
static void hold(int signal) {
  (void)signal;
  const int kept = errno;
  if (exn_me && exn_me->in_mpi && exn_me->has_polled) {
    exn_set_idle(exn_me);
    if (posted && !exn_me->asks) exn_set_held(exn_me);
    exn_token_queue_where_it_is(exn_me);
    __atomic_store_n(&exn_me->held, 0, __ATOMIC_RELEASE);
    /* Not before: what came since it last looked, perhaps just before the signal, is what its next turn is for. */
    __atomic_store_n(&exn_me->news, false, __ATOMIC_RELEASE);
  }
  errno = kept;
}

void exn_may_hold(void) {
  static bool may;
  if (may) return;
  may = true;
  struct sigaction action = {.sa_handler = hold, .sa_flags = SA_RESTART};
  sigaction(EXN_HOLD_SIGNAL, &action, NULL);
}
