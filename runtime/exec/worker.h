/* SPDX-License-Identifier: Apache-2.0
 * What the files of the worker threads share (worker.c).
 *
 * Contract: code in the section WORKER_CODE may be run with any rank's thread-local storage, and be interrupted by
 * no switch: it calls no library, and nothing outside the section but what is inlined here. Everything here is
 * hidden, so that calls need no table of the loader's. */
#ifndef EXANET_EXEC_CARRYING_H
#define EXANET_EXEC_CARRYING_H

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "exanet/shm.h"

#pragma GCC visibility push(hidden)

#define EXN_MOST_WORKERS 256u
#define WORKER_BYTES ((size_t)1 << 18) /* a worker with both its stacks; aligned to its size */
#define PROBE_CALL 0x45584eL /* a system call that does not exist */
#define PROBE_ANSWER 0x455841L
#define PREEMPT SIGUSR2 /* to a worker: the rank on it has run for long */
#define SIGNAL_BIT(number) (UINT64_C(1) << ((number) - 1))
#define FAULTS                                                                                               \
  (SIGNAL_BIT(SIGSYS) | SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGILL) | \
   SIGNAL_BIT(SIGTRAP))
#define CAUGHT (FAULTS | SIGNAL_BIT(PREEMPT)) /* what a worker's signal handler is for */

#define WORKER_CODE __attribute__((section("exn_worker"), noinline))
extern const char worker_code_begins[] __asm__("__start_exn_worker");
extern const char worker_code_ends[] __asm__("__stop_exn_worker");

struct worker;
struct context { /* of a rank */
  void *stack; /* while descheduled: its stack pointer */
  uintptr_t thread_base; /* FS */
  struct exn_rank *slot;
  struct worker *worker; /* that has it, or had it last */
  uint64_t mask; /* signals that it blocks itself */
  uint32_t turn; /* that it waits to be over */
  uint32_t recalled; /* its owning process wants it */
  uint32_t away; /* turns since it left its process */
  uint32_t own_turns_left, stays; /* waits that it spends there yet, and after the last short stay */
  char *owner_stack; /* NULL: not made yet; the state of what was interrupted lies below */
  ucontext_t *interrupted;
  char *floating; /* its floating-point state */
  bool called; /* the simulator: that is why it goes on */
  /* its processor time when it returned to its process, and by how much that is ahead of the thread's that has it */
  int64_t cpu_ns, cpu_ahead_ns;
};

struct worker {
  struct context *current; /* NULL: it runs no rank */
  uint64_t turns;
  uint64_t checked_turns, preempted; /* `turns` when the host last checked, and when it last interrupted */
  uint32_t signals;
  struct exn_spin spin;
  pid_t tid;
  char *stack;
};

/* The workers of this process, and what they run. */
struct team {
  struct exn_region *region;
  struct context *contexts; /* of region->ranks, and the simulator's behind them */
  struct context *simulator; /* NULL: it is another process's */
  struct worker *workers[EXN_MOST_WORKERS];
  uint32_t size;
  uint32_t quit; /* they end instead of waiting */
  pid_t host;
  size_t floating_bytes; /* of a processor's floating-point state, at most */
};
extern struct team exn_team;

/* -- the kernel, without a library --------------------------------------------------------------------------------- */
static inline __attribute__((always_inline)) long call6(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#define CALL(number, a, b, c, d) call6(number, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

static inline __attribute__((always_inline)) void copy(void *to, const void *from, size_t bytes) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static inline __attribute__((always_inline)) void wake(uint32_t *word) { CALL(SYS_futex, word, FUTEX_WAKE, 1, 0); }

/* Returns false on timeout. */
static inline __attribute__((always_inline)) bool wait_for(uint32_t *word, uint32_t value, long ns) {
  const struct timespec limit = {.tv_nsec = ns};
  return CALL(SYS_futex, word, FUTEX_WAIT, value, &limit) != -ETIMEDOUT;
}

static inline __attribute__((always_inline)) int64_t thread_cpu_ns(void) {
  struct timespec now = {0};
  CALL(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now, 0, 0);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* -- registers.c: without a library, too --------------------------------------------------------------------------- */
/* exn_leave(&stack, other, then, argument) lays down the registers that a call preserves, stores where, and calls
 * then(argument) on the other stack; exn_enter(stack) goes on behind it; exn_jump(other, then, argument) lays
 * nothing down. */
void exn_leave(void **stack, void *other, void (*then)(void *), void *argument);
_Noreturn void exn_enter(void *stack);
_Noreturn void exn_jump(void *other, void (*then)(void *), void *argument);
_Noreturn void exn_sigreturn(ucontext_t *context);
void exn_restorer(void);
long exn_probe(long number);
/* A fault in it makes it go on at exn_copy_fails, and so return false. */
bool exn_copy(void *to, const void *from, size_t bytes);
void exn_copy_fails(void);
/* -- worker.c ------------------------------------------------------------------------------------------------------ */
/* Runs one rank after another. Comes here anew, on an empty stack, when a rank waits or has returned to its process. */
void exn_worker_runs(void *worker);
bool exn_worker_wait(uint32_t rank, uint32_t turn); /* exn_workers.wait */
/* Space for what is interrupted, and above it the stack. */
bool exn_make_owner_stack(struct context *c);
/* In its own process: with registers that were laid down by a signal, or by a wait unless a worker has them. On
   success they do not return. */
void exn_go_on_interrupted(struct context *c);
void exn_go_on_descheduled(struct context *c);
/* The simulator has laid its registers down. False: it has been called meanwhile. */
bool exn_simulator_sleeps(void);

/* -- interrupts.c -------------------------------------------------------------------------------------------------- */
bool exn_catch_signals(void);

#pragma GCC visibility pop
#endif
