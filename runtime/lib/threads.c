// SPDX-License-Identifier: Apache-2.0
// Several threads of one rank: when may its time pass?
//
// Each thread polls by itself, and none knows of the others' plans. Time may pass once every thread waits: it sleeps in the kernel (a lock, a
// join, a timer), or it is idle: it has looked for its completion, in vain, since the last one that came for anybody of the rank was dealt
// with. Looking is a poll, a post, a yield or a lock found taken inside MPI, or two calls of MPI_Test and its kin (the first may still have
// brought what came before). A thread that computes, has just entered MPI and is about to post, or has not looked since, goes first. Not
// every spinning thread polls: MPI libraries let one of them look after the network (who finds its lock taken goes round again) and the
// others spin on what it finds. Among those that do so without calling anything that is seen here, one that has posted is idle once it has spun
// for EXN_SPUN_NS. While the one that polls sleeps in virtual time the others are held, by a signal where they spin, or they would take
// the processors from the ranks that it waits for.
//
// Limit: a thread that spins on memory outside MPI until another one has received something looks like one that computes; after EXN_PATIENCE
// polls in vain time passes in spite of it. Which thread comes first is the host's choice, so such runs do not repeat to the byte.
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

#define EXN_PATIENCE 5000u /* polls in vain, each some tens of microseconds with its step aside */
#define EXN_YIELDS \
  16u /* steps aside that only yield; later ones sleep, since a yield lets nobody in whose processor is another one */

#define EXN_HOLD_SIGNAL (SIGRTMAX - 3)
#define EXN_YIELDS_IN_A_ROW 16u
#define EXN_YIELDED_NS UINT64_C(10000000)
#define EXN_SPUN_NS 30000u /* processor time in which a spinning thread surely sees what another one has found */

struct exn_thread exn_threads[EXN_MOST_THREADS];
static uint32_t moment = 1;
static bool dealing; /* completions were handed out, and nobody has polled since */
static uint32_t in_vain;
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread __attribute__((tls_model("initial-exec"))) struct exn_thread *own;

static void free_entry(void *entry) {
  struct exn_thread *thread = entry;
  exn_thread_goes(thread);
  thread->in_mpi = thread->at_lock = thread->helper = false;
  __atomic_store_n(&thread->tid, 0, __ATOMIC_RELEASE);
}

static void make_key(void) { pthread_key_create(&at_thread_end, free_entry); }

struct exn_thread *exn_own_thread(void) {
  if (own) return own;
  pthread_once(&once, make_key);
  const pid_t self = (pid_t)syscall(SYS_gettid);
  for (struct exn_thread *p = exn_threads; p < exn_threads + EXN_MOST_THREADS && !own; ++p) {
    pid_t none = 0;
    if (__atomic_compare_exchange_n(&p->tid, &none, self, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) own = p;
  }
  if (own) pthread_setspecific(at_thread_end, own);
  return own;
}

static uint32_t now(void) { return __atomic_load_n(&moment, __ATOMIC_ACQUIRE); }

static void set_idle(struct exn_thread *me, uint32_t at) { __atomic_store_n(&me->idle_at, at, __ATOMIC_RELEASE); }

void exn_thread_waits(void) {
  struct exn_thread *me = exn_own_thread();
  if (!me) return;
  me->looked = true;
  set_idle(me, now());
}

static uint64_t host_ns(void) {
  struct timespec now;
  exanet_system_clock(CLOCK_MONOTONIC_COARSE, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
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

void exn_thread_enters_mpi(struct exanet_ni *ni, bool asks) {
  struct exn_thread *me = exn_own_thread();
  if (!me) return;
  me->yields = 0;
  if (asks && me->idle_at == now()) exn_doze(ni);
  me->in_mpi = true;
  me->entered_at = now();
  if (asks) return;
  me->asked_at = 0;
  me->looked = false;
  set_idle(me, 0);
}

void exn_thread_leaves_mpi(bool asked) {
  struct exn_thread *me = exn_own_thread();
  if (!me) return;
  me->in_mpi = false;
  if (!asked) {
    set_idle(me, 0);
    return;
  }
  if (me->entered_at == now() && me->asked_at == me->entered_at) set_idle(me, me->entered_at);
  me->asked_at = me->entered_at;
}

void exanet_thread_spins(struct exanet_ni *ni) {
  exn_thread_waits();
  exn_doze(ni);
}

void exanet_thread_is_helper(void) {
  struct exn_thread *me = exn_own_thread();
  if (me) me->helper = true;
}

void exanet_thread_at_lock(bool at_lock) {
  struct exn_thread *me = exanet_program_threads() ? exn_own_thread() : NULL;
  if (me) __atomic_store_n(&me->at_lock, at_lock, __ATOMIC_RELEASE);
}

void exn_something_happened(void) { in_vain = 0; }

void exn_completion_came(void) {
  in_vain = 0;
  dealing = true;
}

void exn_dealt_with(void) {
  if (!dealing) return;
  dealing = false;
  if (__atomic_add_fetch(&moment, 1, __ATOMIC_ACQ_REL) == 0) __atomic_store_n(&moment, 1, __ATOMIC_RELEASE);
}

bool exn_thread_runs(pid_t tid) {
  char path[64], stat[256];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, stat, sizeof stat - 1);
  close(fd);
  if (n <= 0) return false;
  stat[n] = 0;
  const char *after = strrchr(stat, ')');
  return after && after[1] && (after[2] == 'R' || after[2] == 'D');
}

static struct exn_thread *find(pid_t tid) {
  for (struct exn_thread *p = exn_threads; p < exn_threads + EXN_MOST_THREADS; ++p)
    if (__atomic_load_n(&p->tid, __ATOMIC_ACQUIRE) == tid) return p;
  return NULL;
}

uint64_t exn_thread_ns(pid_t tid) {
  struct timespec used = {0};
  syscall(SYS_clock_gettime, (clockid_t)(~(unsigned)tid << 3 | 6u),
          &used); /* the kernel's name for a thread's processor clock */
  return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static bool has_spun(struct exn_thread *p) {
  const uint64_t used = exn_thread_ns(p->tid);
  if (p->seen_at != now()) {
    p->seen_at = now();
    p->seen_ns = used;
  }
  return used - p->seen_ns >= EXN_SPUN_NS;
}

static bool has_work(struct exn_thread *p, pid_t tid) {
  if (p && __atomic_load_n(&p->idle_at, __ATOMIC_ACQUIRE) == now()) return false;
  if (p && __atomic_load_n(&p->at_lock, __ATOMIC_ACQUIRE)) return true;
  return exn_thread_runs(tid) && !(p && p->in_mpi && p->looked && has_spun(p));
}

static bool is_busy(struct exn_thread *p, pid_t tid) { return (p && p->in_mpi) || exn_thread_runs(tid); }

bool exn_any_other_thread(bool (*is)(struct exn_thread *, pid_t)) {
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

bool exn_other_threads_run(void) {
  exn_thread_waits();
  return ++in_vain <= EXN_PATIENCE && exn_any_other_thread(has_work);
}

bool exanet_others_first(struct exanet_ni *ni) {
  const bool first = ni->others_first;
  ni->others_first = false;
  return first;
}

void exanet_step_aside(void) {
  const struct timespec moment_of_host = {.tv_nsec = 50000};
  if (in_vain <= EXN_YIELDS)
    syscall(SYS_sched_yield); /* not the interposed ones */
  else
    syscall(SYS_nanosleep, &moment_of_host, NULL);
}

int exanet_other_threads_busy(void) { return exn_any_other_thread(is_busy); }

/* -- holding --------------------------------------------------------------------------------------------------------------------------- */
static struct exanet_ni *held_by;

static void hold(int signal) {
  (void)signal;
  const int kept = errno;
  exn_doze(held_by);
  errno = kept;
}

void exn_may_hold(struct exanet_ni *ni) {
  if (held_by) return;
  held_by = ni;
  struct sigaction action = {.sa_handler = hold, .sa_flags = SA_RESTART};
  sigaction(EXN_HOLD_SIGNAL, &action, NULL);
}

void exn_hold_spinners(void) {
  const pid_t self = (pid_t)syscall(SYS_gettid), process = getpid();
  for (const struct exn_thread *p = exn_threads; p < exn_threads + EXN_MOST_THREADS; ++p) {
    const pid_t tid = __atomic_load_n(&p->tid, __ATOMIC_ACQUIRE);
    if (tid == 0 || tid == self || !p->in_mpi) continue;
    if (exn_thread_runs(tid)) syscall(SYS_tgkill, process, tid, EXN_HOLD_SIGNAL);
  }
}
