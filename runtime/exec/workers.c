/* SPDX-License-Identifier: Apache-2.0
 * Starts the worker threads (worker.c), and supervises them.
 *
 * Problem: whether there can be workers depends on the kernel, and one that cannot be interrupted would hold its
 * rank for ever.
 *
 * Model: each worker tests what it needs before it works; unless all pass in time there are none, and the region
 * says why. Later the host calls exn_workers_check() at fixed intervals: a turn that has lasted from one call to the
 * next is interrupted.
 *
 * Limit: a worker that is not interrupted by MOST_SIGNALS signals ends the use of all of them; ranks then run in
 * their own processes. */
#define _GNU_SOURCE
#include "runtime/exec/workers.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "runtime/exec/worker.h"

#define START_LIMIT_S 5 /* to start all workers and test them; a busy host takes milliseconds */
#define MOST_SIGNALS 100 /* interruptions of one turn, EXN_WORKERS_CHECK_MS apart, before the workers are given up */
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#endif
#define HWCAP2_FSGSBASE_BIT (1u << 1) /* arch/x86/include/uapi/asm/hwcap2.h */

static uint32_t ready; /* futex: workers that have passed their test */
static uint32_t failed; /* one has not */

/* -- starting ------------------------------------------------------------------------------------------------------ */
/* A thread of the host, which has nothing of the C library's: neither its thread-local storage nor its stack. */
WORKER_CODE static int carry(void *argument) {
  struct worker *worker = argument;
  const struct sched_param none = {0};
  char *const signal_stack = (char *)(worker + 1);
  const stack_t stack = {.ss_sp = signal_stack, .ss_size = WORKER_BYTES / 2 - sizeof *worker};
  const uint64_t blocked = ~CAUGHT;
  CALL(SYS_sched_setscheduler, 0, SCHED_BATCH, &none, 0); /* who wakes another one sleeps next */
  const bool set = CALL(SYS_sigaltstack, &stack, 0, 0, 0) == 0 &&
                   CALL(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, 0, sizeof blocked) == 0 &&
                   call6(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, (long)worker_code_begins,
                         (long)((uintptr_t)worker_code_ends - (uintptr_t)worker_code_begins), 0, 0) == 0;
  const bool passed = set && exn_probe(PROBE_CALL) == PROBE_ANSWER;
  if (!passed) __atomic_store_n(&failed, 1, __ATOMIC_RELEASE);
  __atomic_fetch_add(&ready, 1, __ATOMIC_RELEASE);
  wake(&ready);
  if (!passed) CALL(SYS_exit, 0, 0, 0, 0);
  exn_jump(worker->stack, exn_worker_runs, worker);
}

static bool start_worker(void) {
  char *space =
      mmap(NULL, 2 * WORKER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return false;
  struct worker *worker = (struct worker *)(((uintptr_t)space + WORKER_BYTES - 1) & ~(WORKER_BYTES - 1));
  worker->stack = (char *)worker + WORKER_BYTES;
  const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  exn_team.workers[exn_team.size++] = worker;
  worker->tid = clone(carry, worker->stack, flags, worker);
  return worker->tid > 0;
}

/* Returns NULL once all have passed their test, else the reason why there are none. */
static const char *start_workers(uint32_t count) {
  exn_team.host = getpid();
  exn_team.floating_bytes = getauxval(AT_MINSIGSTKSZ);
  if (exn_team.floating_bytes == 0 || exn_team.floating_bytes > WORKER_BYTES / 4 || !exn_catch_signals())
    return "the kernel does not say how large a signal's frame is";
  exn_team.contexts = calloc(exn_team.region->ranks + 1, sizeof *exn_team.contexts);
  if (!exn_team.contexts) return "there is no memory for them";
  for (uint32_t rank = 0; rank < exn_team.region->ranks; rank++)
    exn_team.contexts[rank].slot = exn_rank_slot(exn_team.region, rank);
  while (exn_team.size < count)
    if (!start_worker()) return "no more threads could be started";
  struct timespec now, until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += START_LIMIT_S;
  for (uint32_t passed; (passed = __atomic_load_n(&ready, __ATOMIC_ACQUIRE)) < count;) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec > until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec))
      return "they did not start in time";
    wait_for(&ready, passed, 10000000);
  }
  return __atomic_load_n(&failed, __ATOMIC_ACQUIRE) ? "the kernel does not dispatch system calls to user space" : NULL;
}

/* The C library has not noted the environment yet (host.c). */
const char *exn_variable(char **variables, const char *name) {
  const size_t length = strlen(name);
  for (; *variables; variables++)
    if (strncmp(*variables, name, length) == 0 && (*variables)[length] == '=') return *variables + length + 1;
  return NULL;
}

static bool map_region(const char *path) {
  const int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  struct stat status;
  if (file < 0) return false;
  void *space = MAP_FAILED;
  if (fstat(file, &status) == 0 && (size_t)status.st_size >= sizeof *exn_team.region)
    space = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (space == MAP_FAILED) return false;
  exn_team.region = space;
  return exn_team.region->magic == EXN_MAGIC && exn_team.region->version == EXN_VERSION &&
         exn_team.region->bytes == (uint64_t)status.st_size;
}

static uint32_t wanted(const char *given) {
  cpu_set_t set;
  CPU_ZERO(&set);
  uint32_t count = sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
  if (given) count = (uint32_t)strtoul(given, NULL, 10);
  if (count > exn_team.region->ranks) count = exn_team.region->ranks;
  return count < EXN_MOST_WORKERS ? count : EXN_MOST_WORKERS;
}

/* NULL when there may be workers, else the reason why not. */
static const char *refusal(uint32_t count) {
  struct rlimit limit;
  if (count == 0) return "EXANET_WORKER_THREADS is 0";
  if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE_BIT)) return "the kernel does not let programs set their thread's base";
  if (getrlimit(RLIMIT_CPU, &limit) || limit.rlim_cur != RLIM_INFINITY)
    return "there is a limit of processor time for each process (ulimit -t)";
  return start_workers(count);
}

/* Of a rank's computing: between two of its waits it may go on in another thread. */
WORKER_CODE static uint64_t rank_cpu_ns(uint32_t rank) {
  return (uint64_t)(thread_cpu_ns() + exn_team.contexts[rank].cpu_ahead_ns);
}

static struct exn_texts texts;
static struct exn_workers interface = {EXN_VERSION, &texts, exn_worker_wait, rank_cpu_ns};

/* Makes the memory file of which ranks map pieces. It stays open as long as the host lives, which is how they find
   it. */
static void make_texts(void) {
  const int file = memfd_create("exanet-texts", MFD_CLOEXEC);
  if (file < 0) return;
  if (ftruncate(file, (off_t)(EXN_MOST_TEXTS * EXN_MOST_TEXT_BYTES)) == 0)
    snprintf(texts.path, sizeof texts.path, "/proc/%ld/fd/%d", (long)exn_team.host, file);
}

uintptr_t exn_workers_start(char **variables) {
  if (!map_region(exn_variable(variables, "EXANET_NI"))) return 0;
  const char *reason = refusal(wanted(exn_variable(variables, "EXANET_WORKER_THREADS")));
  if (!reason) {
    make_texts();
    __atomic_store_n(&exn_team.region->workers, exn_team.size, __ATOMIC_RELEASE);
    return (uintptr_t)&interface;
  }
  __atomic_store_n(&exn_team.quit, 1, __ATOMIC_RELEASE);
  snprintf(exn_team.region->no_workers, sizeof exn_team.region->no_workers, "%s", reason);
  return 0;
}

/* -- supervising them ---------------------------------------------------------------------------------------------- */
bool exn_workers_run(void) {
  return exn_team.region && __atomic_load_n(&exn_team.region->workers, __ATOMIC_ACQUIRE) > 0;
}

static void preempt(struct worker *worker, uint64_t turns) {
  __atomic_store_n(&worker->preempted, turns, __ATOMIC_RELEASE);
  syscall(SYS_tgkill, exn_team.host, worker->tid, PREEMPT);
}

void exn_workers_check(void) {
  if (!exn_workers_run()) return;
  for (uint32_t i = 0; i < exn_team.size; i++) {
    struct worker *worker = exn_team.workers[i];
    const uint64_t turns = __atomic_load_n(&worker->turns, __ATOMIC_ACQUIRE);
    const bool same = __atomic_load_n(&worker->current, __ATOMIC_ACQUIRE) && turns == worker->checked_turns;
    worker->checked_turns = turns;
    worker->signals = same ? worker->signals + 1 : 0;
    if (same) preempt(worker, turns);
    if (worker->signals < MOST_SIGNALS) continue;
    snprintf(exn_team.region->no_workers, sizeof exn_team.region->no_workers, "one of them stood still for %d s",
             MOST_SIGNALS * EXN_WORKERS_CHECK_MS / 1000);
    __atomic_store_n(&exn_team.region->workers, 0,
                     __ATOMIC_RELEASE); /* ranks stay in their own processes, where they are given their turns */
  }
}

void exn_workers_recall(uint32_t rank) {
  if (!exn_workers_run() || rank >= exn_team.region->ranks) return;
  struct context *c = &exn_team.contexts[rank];
  __atomic_store_n(&c->recalled, 1, __ATOMIC_RELEASE);
  for (uint32_t i = 0; i < exn_team.size; i++) {
    const uint64_t turns = __atomic_load_n(&exn_team.workers[i]->turns, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&exn_team.workers[i]->current, __ATOMIC_ACQUIRE) == c) preempt(exn_team.workers[i], turns);
  }
}

void exn_workers_forget(uint32_t rank) {
  uint32_t descheduled = EXN_DESCHEDULED;
  if (!exn_team.region || rank >= exn_team.region->ranks || !exn_team.contexts) return;
  __atomic_compare_exchange_n(&exn_rank_slot(exn_team.region, rank)->place, &descheduled, EXN_IN_OWN_PROCESS, false,
                              __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
