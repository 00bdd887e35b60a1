// SPDX-License-Identifier: Apache-2.0
// Several threads of one rank: when may its time pass?
//
// Each thread polls by itself, and none knows of the others' plans. Time may pass once every thread waits: it sleeps in the kernel (a lock, a
// join, a timer), or it is idle: it has looked for what it waits for, in vain, since anything last happened. Looking is a poll or a spin that is
// seen here. What happens is counted: a moment is over when completions have been dealt with, when an MPI call ends that neither posted
// nor asked (it may have served another thread inside the process), and when a wait was in vain; a step of MPI_Test is over sooner, and
// counts only for those that ask. A thread that asks goes before one that waits, or the steps of its loop would be as long as the other's wait.
//
// The token (token.c) says which of the threads is inside MPI. The one that has it and polls in vain while another one has something
// to do returns at once, and steps aside at the library's next yield, or when it leaves its last lock, or with its next call. If it polls
// again before, and holds a lock that is seen here, it keeps that over all of its polls, and who wants it or the token waits as well. If it holds
// none, it may have one of the library's own making (Open MPI 4 polls under a spin lock, and its blocking sends do nothing but poll): it steps
// aside in its poll, and those that then spin for the lock without polling are stopped by a signal until it is their turn again. That comes
// when something of theirs has completed, if their call has posted anything (a blocking send or receive); it would take sixteen threads, of
// which one polls, a signal and two switches each to look at what came for one of them. A wait that was long and in vain is everybody's turn.
//
// A thread that computes goes first for EXN_PATIENCE_NS of its processor time, and so does one that spins on memory; then time passes in spite
// of it, until it is next seen here.
//
// Limit: threads of a program that calls libfabric without MPI have no token. One that finds others at work yields or sleeps for a moment.
#define _GNU_SOURCE
#include "runtime/lib/threads.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/lib/ni.h"

#define EXN_PATIENCE_NS UINT64_C(100000000)
#define EXN_POLLS 5000u /* in vain, each some tens of microseconds with its step aside, by threads that have no token */
#define EXN_YIELDS \
  16u /* steps aside that only yield; later ones sleep, since a yield lets nobody in whose processor is another one */
#define EXN_HOLD_SIGNAL (SIGRTMAX - 3)
#define EXN_YIELDS_IN_A_ROW 16u
#define EXN_SPUN_NS \
  UINT64_C(30000) /* processor time in which a spinning thread surely sees what another one has found */
#define EXN_ASLEEP_NS 20000u /* of the host's time, without a word */
#define EXN_YIELDED_NS UINT64_C(10000000)

struct exn_thread exn_threads[EXN_MOST_THREADS];
static struct exn_thread *used_end = exn_threads;
struct exn_thread *exn_threads_end(void) { return __atomic_load_n(&used_end, __ATOMIC_ACQUIRE); }
static uint32_t created; /* entries handed out */
static bool announced; /* by the program's pthread_create(): those of all its threads */
static uint32_t moment = 1, step = 1; /* a new moment is a new step as well */
static bool dealing; /* completions were handed out, and nobody has polled since */
static uint32_t in_vain;
static uint32_t long_waits; /* in vain */
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))
THREAD_LOCAL struct exn_thread *own;
THREAD_LOCAL uint32_t locks; /* that it has taken inside this MPI call, and holds */
THREAD_LOCAL bool others_first; /* it is to step aside, and has not yet */
THREAD_LOCAL bool posted; /* in this MPI call */
THREAD_LOCAL bool polled; /* since it last spun */
THREAD_LOCAL bool only_polls; /* it holds no lock that is seen here, and yet does not come to step aside */

/* -- the table ------------------------------------------------------------------------------------------------------------------------- */
static void free_entry(void *entry) {
  struct exn_thread *thread = entry;
  exn_token_give(thread);
  exn_thread_goes(thread);
  exn_token_lock();
  if (thread->stat > 0) close(thread->stat - 1);
  *thread = (struct exn_thread){.tid = thread->tid, .go = thread->go};
  __atomic_store_n(&thread->tid, 0, __ATOMIC_RELEASE);
  exn_token_unlock();
}

static void make_key(void) { pthread_key_create(&at_thread_end, free_entry); }

static void extend_to(struct exn_thread *end) {
  struct exn_thread *known = exn_threads_end();
  while (known < end && !__atomic_compare_exchange_n(&used_end, &known, end, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    continue;
}

static struct exn_thread *take_entry(pid_t tid) {
  for (struct exn_thread *p = exn_threads; p < exn_threads + EXN_MOST_THREADS; ++p) {
    pid_t none = 0;
    if (!__atomic_compare_exchange_n(&p->tid, &none, tid, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) continue;
    p->order = __atomic_add_fetch(&created, 1, __ATOMIC_RELAXED);
    extend_to(p + 1);
    return p;
  }
  return NULL;
}

static void keep_entry(struct exn_thread *entry) {
  pthread_once(&once, make_key);
  own = entry;
  pthread_setspecific(at_thread_end, entry);
}

struct exn_thread *exn_own_thread(void) {
  if (own) return own;
  struct exn_thread *entry = take_entry((pid_t)syscall(SYS_gettid));
  if (entry) keep_entry(entry);
  return entry;
}

struct exn_thread *exanet_thread_expect(void) {
  exn_own_thread(); /* who creates threads is one of them */
  __atomic_store_n(&announced, true, __ATOMIC_RELEASE);
  return take_entry(EXN_COMING);
}

void exanet_thread_expect_no_more(struct exn_thread *entry) {
  if (entry) __atomic_store_n(&entry->tid, 0, __ATOMIC_RELEASE);
}

void exanet_thread_begins(struct exn_thread *entry) {
  if (!entry) return;
  __atomic_store_n(&entry->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
  keep_entry(entry);
}

static struct exn_thread *find(pid_t tid) {
  for (struct exn_thread *p = exn_threads; p < exn_threads_end(); ++p)
    if (__atomic_load_n(&p->tid, __ATOMIC_ACQUIRE) == tid) return p;
  return NULL;
}

static bool any_other_task(bool (*is)(struct exn_thread *, pid_t)) {
  DIR *tasks = opendir("/proc/self/task");
  if (!tasks) return false;
  const pid_t self = (pid_t)syscall(SYS_gettid);
  bool found = false;
  for (struct dirent *entry; !found && (entry = readdir(tasks));) {
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    const pid_t tid = (pid_t)atoi(entry->d_name);
    if (tid == self) continue;
    struct exn_thread *thread = find(tid);
    found = !(thread && thread->helper) && is(thread, tid);
  }
  closedir(tasks);
  return found;
}

bool exn_any_other_thread(bool (*is)(struct exn_thread *, pid_t)) {
  if (!__atomic_load_n(&announced, __ATOMIC_ACQUIRE)) return any_other_task(is);
  const struct exn_thread *me = exn_own_thread();
  for (struct exn_thread *p = exn_threads; p < exn_threads_end(); ++p) {
    const pid_t tid = __atomic_load_n(&p->tid, __ATOMIC_ACQUIRE);
    if (tid != 0 && p != me && !p->helper && is(p, tid)) return true;
  }
  return false;
}

static uint64_t clock_ns(clockid_t clock) {
  struct timespec now;
  exanet_system_clock(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t host_ns(void) { return clock_ns(CLOCK_MONOTONIC_COARSE); }

/* -- what the kernel says ---------------------------------------------------------------------------------------------------------------- */
static int open_stat(pid_t tid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
  return open(path, O_RDONLY | O_CLOEXEC);
}

static bool says_running(int stat) {
  char text[256];
  const ssize_t n = stat < 0 ? 0 : pread(stat, text, sizeof text - 1, 0);
  if (n <= 0) return false;
  text[n] = 0;
  const char *after = strrchr(text, ')');
  return after && after[1] && (after[2] == 'R' || after[2] == 'D');
}

bool exn_thread_runs(pid_t tid) {
  if (tid == EXN_COMING) return true;
  const int stat = open_stat(tid);
  const bool runs = says_running(stat);
  if (stat >= 0) close(stat);
  return runs;
}

uint64_t exn_thread_ns(pid_t tid) {
  struct timespec used = {0};
  syscall(SYS_clock_gettime, (clockid_t)(~(unsigned)tid << 3 | 6u),
          &used); /* the kernel's name for a thread's processor clock */
  return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

bool exn_thread_spins_idly(const struct exn_thread *thread) {
  return thread->in_mpi && exn_thread_is_idle(thread) && !thread->sleeps && !exn_token_is_with(thread);
}

static uint32_t now(void) { return __atomic_load_n(&moment, __ATOMIC_ACQUIRE); }

/* Not just for a lock of the C library's. */
static bool sleeps_for_long(struct exn_thread *thread, uint64_t used) {
  const uint64_t ns = clock_ns(CLOCK_MONOTONIC);
  if (thread->slept_ns != used || thread->slept_since == 0) {
    thread->slept_ns = used;
    thread->slept_since = ns;
  }
  return ns - thread->slept_since > EXN_ASLEEP_NS;
}

bool exn_thread_may_act(struct exn_thread *thread, uint64_t patience_ns) {
  const pid_t tid = __atomic_load_n(&thread->tid, __ATOMIC_ACQUIRE);
  if (tid == 0 || thread->queued || thread->helper) return false;
  if (tid == EXN_COMING || __atomic_load_n(&thread->in_place, __ATOMIC_ACQUIRE)) return true;
  if (__atomic_load_n(&thread->nap, __ATOMIC_ACQUIRE) == EXN_NAPPING) return false;
  if (thread->stat == 0) thread->stat = 1 + open_stat(tid);
  const bool runs = says_running(thread->stat - 1);
  if ((!runs && thread->sleeps) || exn_thread_only_yields(thread)) return false;
  const uint64_t used = exn_thread_ns(tid);
  if (!runs) return !sleeps_for_long(thread, used);
  const uint32_t acts = __atomic_load_n(&thread->acts, __ATOMIC_ACQUIRE), at = now();
  const bool spins = thread->in_mpi && thread->looked && !exn_token_is_with(thread);
  if (thread->seen_acts != acts || thread->seen_ns == 0 || (spins && thread->seen_moment != at)) {
    thread->seen_acts = acts;
    thread->seen_moment = at;
    thread->seen_ns = used;
  }
  return used - thread->seen_ns < (spins ? EXN_SPUN_NS : patience_ns);
}

void exanet_thread_yields(void) {
  struct exn_thread *me = exn_own_thread();
  if (!me) return;
  __atomic_store_n(&me->yielded_ns, host_ns(), __ATOMIC_RELEASE);
  __atomic_add_fetch(&me->yields, 1, __ATOMIC_RELEASE);
}

bool exn_thread_only_yields(const struct exn_thread *thread) {
  return __atomic_load_n(&thread->yields, __ATOMIC_ACQUIRE) >= EXN_YIELDS_IN_A_ROW &&
         host_ns() - __atomic_load_n(&thread->yielded_ns, __ATOMIC_ACQUIRE) < EXN_YIELDED_NS;
}

/* -- moments ----------------------------------------------------------------------------------------------------------------------------- */
static uint32_t next_of(uint32_t *count) {
  uint32_t next = __atomic_add_fetch(count, 1, __ATOMIC_ACQ_REL);
  if (next == 0) next = __atomic_add_fetch(count, 1, __ATOMIC_ACQ_REL); /* 0 is never */
  return next;
}

static void begin_moment(void) {
  next_of(&moment);
  next_of(&step);
}

void exn_step_is_over(void) { next_of(&step); }

void exn_wait_was_in_vain(bool was_long) {
  if (was_long) __atomic_add_fetch(&long_waits, 1, __ATOMIC_ACQ_REL);
  begin_moment();
}

struct exn_thread *exanet_thread_posting(void) { return own; }

void exanet_thread_has_news(struct exn_thread *thread) {
  if (thread) __atomic_store_n(&thread->news, true, __ATOMIC_RELEASE);
}

void exn_something_happened(void) {
  in_vain = 0;
  posted = true;
  if (own) own->looked = true;
}

void exn_completion_came(void) {
  in_vain = 0;
  dealing = true;
}

void exn_dealt_with(void) {
  if (!dealing) return;
  dealing = false;
  begin_moment();
}

static void set_idle(struct exn_thread *me) {
  __atomic_store_n(&me->idle_step, __atomic_load_n(&step, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
  __atomic_store_n(&me->idle_moment, __atomic_load_n(&moment, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

static void set_busy(struct exn_thread *me) {
  __atomic_store_n(&me->idle_step, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&me->idle_moment, 0, __ATOMIC_RELEASE);
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
  return __atomic_load_n(&thread->idle_moment, __ATOMIC_ACQUIRE) == __atomic_load_n(&moment, __ATOMIC_ACQUIRE);
}

/* -- MPI calls ---------------------------------------------------------------------------------------------------------------------------- */
static void acts(struct exn_thread *me) {
  me->yields = 0;
  __atomic_add_fetch(&me->acts, 1, __ATOMIC_RELEASE);
}

void exn_thread_enters_mpi(struct exanet_ni *ni, bool asks) {
  struct exn_thread *me = exn_own_thread();
  if (!me) return;
  const bool asks_again = asks && others_first;
  acts(me);
  locks = 0;
  others_first = posted = me->looked = false;
  __atomic_store_n(&me->news, false, __ATOMIC_RELEASE);
  me->asks = asks;
  if (!asks) set_busy(me); /* who has asked in vain at this moment need not ask again */
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
    if (!posted) begin_moment();
    set_busy(me);
  }
  me->in_mpi = false;
  acts(me);
}

void exanet_thread_is_helper(void) {
  struct exn_thread *me = exn_own_thread();
  if (me) me->helper = true;
}

/* -- inside MPI: waiting, and letting others go first ---------------------------------------------------------------------------------------- */
static bool takes_turns(void) { return own && own->in_mpi && exn_in_mpi(); }

static void let_others_go_first(void) {
  if (!others_first || locks > 0) return;
  others_first = only_polls = false;
  exn_token_let_others_go_first(own);
}

bool exn_thread_is_in_place(bool in_place) {
  return own && __atomic_exchange_n(&own->in_place, in_place, __ATOMIC_ACQ_REL);
}

void exanet_thread_is_at_work(bool at_work) { exn_thread_is_in_place(at_work); }

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
  own->at_lock = true;
  exn_token_let_others_go_first(own);
  own->at_lock = false;
}

void exanet_thread_sleeps_at_lock(bool asleep) {
  struct exn_thread *me = takes_turns() ? own : NULL;
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
  struct exn_thread *me = takes_turns() ? own : NULL;
  if (!me) return;
  set_busy(me);
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

/* It waits for something that another thread has to do. Those that have polled since have let others go first already. */
void exanet_thread_spins(void) {
  if (!takes_turns()) return;
  if (!polled) {
    set_idle(own);
    own->blind = others_first = true;
  }
  polled = false;
  let_others_go_first();
}

void exanet_thread_waits_until(uint64_t ps) {
  struct exn_thread *me = exanet_program_threads() ? exn_own_thread() : NULL;
  if (me) __atomic_store_n(&me->limit_ps, ps, __ATOMIC_RELEASE);
}

static bool has_work(struct exn_thread *p, pid_t tid) {
  (void)tid;
  if (p && p->queued)
    return !others_first && (p->at_lock || !exn_thread_is_idle(p) || (p->asks && !p->blind && !own->asks));
  if (p && p->at_lock && !others_first) return true;
  if (!p) return exn_thread_runs(tid);
  return !exn_thread_spins_idly(p) && exn_thread_may_act(p, EXN_PATIENCE_NS);
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
  set_idle(me);
  polled = true;
  if (!takes_turns()) return (others_first = ++in_vain <= EXN_POLLS && exn_any_other_thread(runs_without_token));
  me->looked = true;
  me->blind = false;
  only_polls = others_first && locks == 0;
  const bool first = only_polls || (!others_first && !exn_token_is_with(me)) || others_have_work();
  others_first |= first;
  return first;
}

static bool sleeps_on_futex(pid_t tid) {
  char path[64], text[16] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)tid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t n = read(file, text, sizeof text - 1);
  close(file);
  return n > 0 && atoi(text) == SYS_futex;
}

static bool may_wake(struct exn_thread *p, pid_t tid) {
  if (p && p->in_mpi) return p->asks;
  return (p && p->limit_ps != 0) || !sleeps_on_futex(tid);
}

bool exn_others_wait_for_ever(void) { return !exn_any_other_thread(may_wake); }

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
    own->in_poll = true;
    be_quick();
    let_others_go_first();
    own->in_poll = false;
    return;
  }
  others_first = false;
  const struct timespec moment_of_host = {.tv_nsec = 50000};
  if (in_vain <= EXN_YIELDS)
    syscall(SYS_sched_yield); /* not the interposed ones */
  else
    syscall(SYS_nanosleep, &moment_of_host, NULL);
}

/* -- holding those that spin -------------------------------------------------------------------------------------------------------------- */
static void hold(int signal) {
  (void)signal;
  const int kept = errno;
  if (own && own->in_mpi && own->looked) {
    set_idle(own);
    if (posted && !own->asks)
      __atomic_store_n(&own->held, __atomic_load_n(&long_waits, __ATOMIC_ACQUIRE) + 1, __ATOMIC_RELEASE);
    exn_token_queue_where_it_is(own);
    __atomic_store_n(&own->held, 0, __ATOMIC_RELEASE);
    /* Not before: what came since it last looked, perhaps just before the signal, is what its next turn is for. */
    __atomic_store_n(&own->news, false, __ATOMIC_RELEASE);
  }
  errno = kept;
}

void exn_hold(struct exn_thread *thread) { syscall(SYS_tgkill, getpid(), thread->tid, EXN_HOLD_SIGNAL); }

void exn_may_hold(void) {
  static bool may;
  if (may) return;
  may = true;
  struct sigaction action = {.sa_handler = hold, .sa_flags = SA_RESTART};
  sigaction(EXN_HOLD_SIGNAL, &action, NULL);
}

/* -- others' questions ---------------------------------------------------------------------------------------------------------------------- */
static bool is_busy(struct exn_thread *p, pid_t tid) {
  if (p && p->in_mpi) return true;
  return !(p && __atomic_load_n(&p->nap, __ATOMIC_ACQUIRE) == EXN_NAPPING) && exn_thread_runs(tid);
}

int exanet_other_threads_busy(void) { return exn_any_other_thread(is_busy); }
