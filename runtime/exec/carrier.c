/* SPDX-License-Identifier: Apache-2.0
 * Carriers: threads of the host of packed ranks that run these in turn.
 *
 * Problem: with one memory map for all ranks, what is left of a hand-over between two of them is the kernel: a wake-up, a sleep and a switch of
 * processes, for a turn that often is shorter. Yet each rank must stay a process, with its own pid, files and signals.
 *
 * Model: a rank that waits lays its registers down (EXN_PARKED), and its own process, its home, sleeps on a stack of its own. A carrier takes the
 * next rank that is due, sets the base of its thread-local storage, loads its registers and goes on as that rank, until it waits again: then it takes
 * the next one. That is a switch in user space. Whatever needs the rank's own process sends it home: carriers have system calls
 * dispatched to user space (Linux 5.11, prctl(2)), and a call, a fault, or a turn that takes long is a signal, whose handler lays down all
 * registers (EXN_RETURNING) and wakes the home, which goes on from there with sigreturn: it makes the call, or meets the fault again, as itself. With
 * its next wait the rank may be carried again. Calls that concern nothing but memory are made in place.
 *
 * The simulator, where it is in the host, is one more of them: a thread of the host is its home, and the carrier that ends a round goes on as it.
 *
 * What keeps it going: a carrier is never needed. A rank that waits is woken by its turn and its futex as any other, and its home goes on with
 * its registers if no carrier has them. All waits here end by themselves. The simulator gives turns on when nothing moves (coordinator.cpp), the
 * host sends ranks home that run for long, and gives the carriers up when one cannot be interrupted.
 *
 * While a rank is away, its home blocks all signals and looks every HOME_LOOK_NS whether there are any. A rank that is sent home in most of
 * its turns stays there for a while, which doubles each time.
 *
 * Limits: x86-64 whose kernel lets programs set the base of FS. Code between the section's marks may be run with any rank's thread-local storage, and
 * be interrupted by no switch: it calls no library. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "runtime/exec/carrier.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "exanet/shm.h"
#include "runtime/lib/switch.h"

#define EXN_MOST_CARRIERS 256u
#define PREEMPT SIGUSR2 /* to a carrier: the rank on it has run for long */
#define HOME_LOOK_NS 100000000L
#define CARRIER_LOOK_NS 100000000L
#define START_LIMIT_S 5 /* to start all carriers and test them; a busy host takes milliseconds */
#define LOOKS_IN_VAIN 100 /* interruptions of one turn, EXN_CARRIERS_LOOK_MS apart, before the carriers are given up */
#define SHORT_STAY 16u /* turns away from home that are not worth the trip */
#define LONGEST_AT_HOME 4096u /* waits, in a row */
#define LOOK_CYCLES 200000u /* of the time stamp counter, some 70 us: longer than the simulator takes for most rounds */
#define CARRIER_BYTES ((size_t)1 << 18) /* a carrier with both its stacks; aligned to its size */
#define HOME_STACK_BYTES ((size_t)1 << 14)
#define PROBE_CALL 0x45584eL /* a system call that does not exist */
#define PROBE_ANSWER 0x455841L
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#endif
#define HWCAP2_FSGSBASE_BIT (1u << 1) /* arch/x86/include/uapi/asm/hwcap2.h */
#define FP_MAGIC 0x46505853u /* arch/x86/include/uapi/asm/sigcontext.h: FP_XSTATE_MAGIC1 */
#define FP_SOFTWARE_AT 464 /* in the same place: where magic number and size stand in the state */
#define FP_LEGACY_BYTES 512

#define CARRIER __attribute__((section("exn_carrier"), noinline))
extern const char carrier_begins[] __asm__("__start_exn_carrier") __attribute__((visibility("hidden")));
extern const char carrier_ends[] __asm__("__stop_exn_carrier") __attribute__((visibility("hidden")));

/* The kernel's struct ucontext as far as sigreturn reads it: glibc's has more behind it. */
#define CONTEXT_BYTES (offsetof(ucontext_t, uc_sigmask) + sizeof(uint64_t))

struct carrier;
struct context { /* of a rank */
  void *stack; /* while parked: its stack pointer */
  uintptr_t thread_base; /* FS */
  struct exn_rank *slot;
  struct carrier *carrier; /* that has it, or had it last */
  uint64_t mask; /* signals that it blocks itself */
  uint32_t turn; /* that it waits to be over */
  uint32_t recalled; /* its home wants it */
  uint32_t away; /* turns since it left home */
  uint32_t at_home_for, stays; /* waits that it spends there yet, and after the last short stay */
  char *home_stack; /* NULL: not made yet; the state of what was interrupted lies below */
  ucontext_t *interrupted;
  char *floating; /* its floating-point state */
  bool called; /* the simulator: that is why it goes on */
  int64_t cpu_ns,
      cpu_ahead_ns; /* its processor time when it was sent home, and by how much that is ahead of the thread's that has it */
};

struct carrier {
  struct context *current; /* NULL: it runs no rank */
  uint64_t turns;
  uint64_t looked_at, preempted; /* `turns` when the host last looked, and when it last interrupted */
  uint32_t in_vain;
  struct exn_looks looks;
  pid_t tid;
  char *stack;
};

struct kernel_sigaction {
  void (*handler)(int, siginfo_t *, void *);
  uint64_t flags;
  void (*restorer)(void);
  uint64_t mask;
};
#define SA_RESTORER 0x04000000u

static const int kCaught[] = {SIGSYS, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, PREEMPT};

static struct exn_region *region;
static struct context *contexts; /* of region->ranks, and the simulator's behind them */
static struct context *simulator; /* NULL: it is another process's */
static struct exn_rank simulator_slot; /* of which it has but a place and a turn */
static struct carrier *carriers[EXN_MOST_CARRIERS];
static uint32_t carrier_count;
static uint32_t ready; /* futex: carriers that have passed their test */
static uint32_t failed; /* one has not */
static uint32_t quit; /* they end instead of waiting */
static pid_t host;
static size_t floating_bytes;

/* -- the kernel and the registers, without a library --------------------------------------------------------------------------------- */
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

/* exn_leave(&stack, other, then, argument) lays down the registers that a call preserves, stores where, and calls then(argument) on the other stack;
 * exn_enter(stack) goes on behind it; exn_jump(other, then, argument) lays nothing down. */
void exn_leave(void **stack, void *other, void (*then)(void *), void *argument) __attribute__((visibility("hidden")));
_Noreturn void exn_enter(void *stack) __attribute__((visibility("hidden")));
_Noreturn void exn_jump(void *other, void (*then)(void *), void *argument) __attribute__((visibility("hidden")));
_Noreturn void exn_sigreturn(ucontext_t *context) __attribute__((visibility("hidden")));
void exn_restorer(void) __attribute__((visibility("hidden")));
long exn_probe(long number) __attribute__((visibility("hidden")));
__asm__(
    ".pushsection exn_carrier, \"ax\", @progbits\n"
    ".hidden exn_leave\n.hidden exn_enter\n.hidden exn_jump\n.hidden exn_sigreturn\n.hidden exn_restorer\n"
    "exn_leave:\n"
    "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
    "  sub $8, %rsp\n  stmxcsr (%rsp)\n  fnstcw 4(%rsp)\n"
    "  mov %rsp, (%rdi)\n  mov %rsi, %rsp\n  mov %rcx, %rdi\n  xor %ebp, %ebp\n  call *%rdx\n  ud2\n"
    "exn_enter:\n"
    "  mov %rdi, %rsp\n  ldmxcsr (%rsp)\n  fldcw 4(%rsp)\n  add $8, %rsp\n"
    "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n  ret\n"
    "exn_jump:\n"
    "  mov %rdi, %rsp\n  mov %rdx, %rdi\n  xor %ebp, %ebp\n  call *%rsi\n  ud2\n"
    "exn_sigreturn:\n"
    "  mov %rdi, %rsp\n  mov $15, %eax\n  syscall\n  ud2\n"
    "exn_restorer:\n"
    "  mov $15, %eax\n  syscall\n  ud2\n"
    ".popsection\n"
    ".pushsection .text\n.hidden exn_probe\n" /* a system call as a rank makes it */
    "exn_probe:\n"
    "  mov %rdi, %rax\n  syscall\n  ret\n"
    ".popsection\n");

CARRIER static void wake(uint32_t *word) { CALL(SYS_futex, word, FUTEX_WAKE, 1, 0); }

/* Returns false on timeout. */
CARRIER static bool wait_for(uint32_t *word, uint32_t value, long ns) {
  const struct timespec limit = {.tv_nsec = ns};
  return CALL(SYS_futex, word, FUTEX_WAIT, value, &limit) != -ETIMEDOUT;
}

CARRIER static int64_t thread_cpu_ns(void) {
  struct timespec now = {0};
  CALL(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now, 0, 0);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* -- a carrier ------------------------------------------------------------------------------------------------------------------------ */
/* Goes on as the one whose registers these are, if they are laid down. Then it does not return. */
CARRIER static void go_on_as(struct context *c, struct carrier *carrier) {
  uint32_t parked = EXN_PARKED;
  if (!__atomic_compare_exchange_n(&c->slot->place, &parked, EXN_CARRIED, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return;
  c->carrier = carrier;
  ++c->away;
  ++c->slot->carried_turns;
  __atomic_store_n(&carrier->turns, carrier->turns + 1, __ATOMIC_RELAXED);
  __atomic_store_n(&carrier->current, c, __ATOMIC_RELEASE);
  __asm__ volatile("wrfsbase %0" : : "r"(c->thread_base) : "memory");
  exn_enter(c->stack);
}

/* Lets the rank run, here if it may. Then it does not return. */
CARRIER static void begin_turn(struct carrier *carrier, uint32_t rank) {
  struct context *c = &contexts[rank];
  __atomic_fetch_add(&c->slot->turn, EXN_TURN, __ATOMIC_RELEASE);
  if (!__atomic_load_n(&c->recalled, __ATOMIC_ACQUIRE)) go_on_as(c, carrier);
  wake(&c->slot->turn); /* in its own process */
}

/* True: the simulator has been called, sleeps, and is the caller's to let go on. */
CARRIER static bool ends_round(void) {
  return __atomic_sub_fetch(&region->running, 1, __ATOMIC_ACQ_REL) == 0 && exn_call_simulator(region);
}

CARRIER static void begin_simulator(struct carrier *carrier) {
  if (simulator && __atomic_load_n(&region->carriers, __ATOMIC_RELAXED)) {
    simulator->called = true;
    go_on_as(simulator, carrier);
  }
  wake(&region->simulator_wake);
}

/* The simulator has laid its registers down. False: it has been called meanwhile. */
CARRIER static bool simulator_sleeps(void) {
  uint32_t awake = EXN_AWAKE;
  __atomic_store_n(&simulator->slot->place, EXN_PARKED, __ATOMIC_SEQ_CST);
  return __atomic_compare_exchange_n(&region->simulator_wake, &awake, EXN_ASLEEP, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST);
}

/* Looks at the word for a while, if a processor is to spare for it. True: it has changed. */
CARRIER static bool look(struct carrier *carrier, uint32_t seen) {
  if (!exn_looks_now(&carrier->looks)) return false;
  bool changed = false;
  if (__atomic_fetch_add(&region->carriers_looking, 1, __ATOMIC_SEQ_CST) <
      __atomic_load_n(&region->most_looking, __ATOMIC_RELAXED)) {
    const uint64_t began = __builtin_ia32_rdtsc();
    do {
      __builtin_ia32_pause();
      changed = __atomic_load_n(&region->carrier_turn, __ATOMIC_SEQ_CST) != seen;
    } while (!changed && __builtin_ia32_rdtsc() - began < LOOK_CYCLES);
    exn_looked(&carrier->looks, !changed);
  }
  __atomic_fetch_sub(&region->carriers_looking, 1, __ATOMIC_SEQ_CST);
  return changed;
}

/* Runs one rank after another. Comes here anew, on an empty stack, when a rank waits or has been sent home. */
CARRIER static void work(void *argument) {
  struct carrier *carrier = argument;
  struct context *waits = carrier->current;
  __atomic_store_n(&carrier->current, NULL, __ATOMIC_RELEASE);
  if (waits && waits == simulator) {
    if (!simulator_sleeps()) begin_simulator(carrier);
    waits = NULL;
  } else if (waits) {
    __atomic_store_n(&waits->slot->place, EXN_PARKED, __ATOMIC_RELEASE);
  }
  for (; !__atomic_load_n(&quit, __ATOMIC_ACQUIRE); waits = NULL) {
    const uint32_t seen = __atomic_load_n(&region->carrier_turn, __ATOMIC_ACQUIRE);
    const int64_t next = __atomic_load_n(&region->carriers, __ATOMIC_RELAXED) ? exn_take_due(region) : -1;
    if (waits && ends_round()) begin_simulator(carrier); /* not before: what is taken is of the same round */
    if (next >= 0 && exn_due(region)[next] < region->ranks) begin_turn(carrier, exn_due(region)[next]);
    if (!look(carrier, seen)) wait_for(&region->carrier_turn, seen, CARRIER_LOOK_NS);
  }
  CALL(SYS_exit, 0, 0, 0, 0);
  __builtin_unreachable();
}

/* -- a rank's own process ---------------------------------------------------------------------------------------------------------------- */
CARRIER static void go_on_interrupted(struct context *c) {
  __atomic_store_n(&c->recalled, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&c->slot->place, EXN_AT_HOME, __ATOMIC_RELEASE);
  c->cpu_ahead_ns = c->cpu_ns - thread_cpu_ns();
  CALL(SYS_sigaltstack, 0, &c->interrupted->uc_stack, 0, 0); /* the rank's own, which sigreturn sets */
  exn_sigreturn(c->interrupted);
}

CARRIER static void go_on_parked(struct context *c) {
  uint32_t parked = EXN_PARKED;
  if (!__atomic_compare_exchange_n(&c->slot->place, &parked, EXN_AT_HOME, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return;
  __atomic_store_n(&c->recalled, 0, __ATOMIC_RELEASE);
  exn_enter(c->stack);
}

CARRIER static bool has_signals(const struct context *c) {
  uint64_t pending = 0;
  CALL(SYS_rt_sigpending, &pending, sizeof pending, 0, 0);
  return (pending & ~c->mask) != 0;
}

/* Waits, on a stack of its own, until the rank comes home. */
CARRIER static void stay_at_home(void *argument) {
  struct context *c = argument;
  struct exn_rank *slot = c->slot;
  __atomic_store_n(&slot->place, EXN_PARKED, __ATOMIC_RELEASE);
  if ((uint32_t)__atomic_load_n(&region->due, __ATOMIC_ACQUIRE) > 0 && exn_call_carriers(region, 1) > 0)
    wake(&region->carrier_turn);
  if (ends_round()) wake(&region->simulator_wake);
  for (;;) {
    const uint32_t turn = __atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE);
    const uint32_t place = __atomic_load_n(&slot->place, __ATOMIC_ACQUIRE);
    if (place == EXN_RETURNING) go_on_interrupted(c);
    if (place == EXN_PARKED && (!exn_is_same_turn(turn, c->turn) || __atomic_load_n(&c->recalled, __ATOMIC_ACQUIRE) ||
                                __atomic_load_n(&region->stop, __ATOMIC_ACQUIRE)))
      go_on_parked(c);
    /* Whoever changes what is asked above changes the word, too. */
    if (!wait_for(&slot->turn, turn, HOME_LOOK_NS) && has_signals(c))
      __atomic_store_n(&c->recalled, 1, __ATOMIC_RELEASE);
  }
}

/* Room for what is interrupted, and above it the stack. */
static bool make_home(struct context *c) {
  const size_t context = (sizeof(ucontext_t) + 63) & ~(size_t)63, floating = (floating_bytes + 4095) & ~(size_t)4095;
  const size_t bytes = floating + ((context + 4095) & ~(size_t)4095) + HOME_STACK_BYTES;
  const long at = call6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at < 0 && at > -4096) return false;
  char *space = (char *)at; /* NOLINT(performance-no-int-to-ptr): what the kernel has answered */
  c->floating = space;
  c->interrupted = (ucontext_t *)(void *)(space + floating);
  c->home_stack = space + bytes;
  return true;
}

/* In the rank's own process: whether it may be carried from here on. */
static bool may_leave(struct context *c) {
  if (!__atomic_load_n(&region->carriers, __ATOMIC_RELAXED)) return false;
  if (c->at_home_for > 0) {
    --c->at_home_for;
    return false;
  }
  return c->home_stack || make_home(c);
}

CARRIER static bool wait_turn(uint32_t rank, uint32_t turn) {
  struct context *c = &contexts[rank];
  if (__atomic_load_n(&c->slot->place, __ATOMIC_RELAXED) == EXN_CARRIED) {
    c->turn = turn;
    exn_leave(&c->stack, c->carrier->stack, work, c->carrier);
  } else {
    const uint64_t all = ~UINT64_C(0);
    if (!may_leave(c)) return false;
    c->turn = turn;
    c->away = 0;
    CALL(SYS_rt_sigprocmask, SIG_SETMASK, &all, &c->mask, sizeof all);
    __asm__ volatile("rdfsbase %0" : "=r"(c->thread_base));
    exn_leave(&c->stack, c->home_stack, stay_at_home, c);
  }
  /* At home or on a carrier, and not of necessity where it was before. */
  if (__atomic_load_n(&c->slot->place, __ATOMIC_RELAXED) == EXN_AT_HOME)
    CALL(SYS_rt_sigprocmask, SIG_SETMASK, &c->mask, 0, sizeof c->mask);
  return true;
}

/* -- the simulator ------------------------------------------------------------------------------------------------------------------------ */
/* Waits, on a stack of its own, in the thread that the simulator was started on, until that is to go on with it. */
CARRIER static void stay_as_simulator(void *argument) {
  const long patience = (long)(intptr_t)argument;
  struct context *c = simulator;
  bool called = !simulator_sleeps(), late = false;
  for (;;) {
    const uint32_t place = __atomic_load_n(&c->slot->place, __ATOMIC_ACQUIRE);
    if (place == EXN_RETURNING) go_on_interrupted(c);
    const uint32_t seen = __atomic_load_n(&region->simulator_wake, __ATOMIC_SEQ_CST);
    called |= seen == EXN_CALLED;
    /* Between the two words it is the carrier's that has just laid it down. */
    if (place == EXN_PARKED && (called || (late && seen == EXN_ASLEEP))) {
      c->called = called;
      go_on_parked(c);
    }
    called = false;
    late = !wait_for(&region->simulator_wake, seen, patience);
  }
}

CARRIER static bool wait_as_simulator(int64_t ns) {
  struct context *c = simulator;
  if (__atomic_load_n(&c->slot->place, __ATOMIC_RELAXED) == EXN_CARRIED) {
    exn_leave(&c->stack, c->carrier->stack, work, c->carrier);
  } else {
    c->away = 0;
    exn_leave(&c->stack, c->home_stack, stay_as_simulator, (void *)(intptr_t)ns);
  }
  return c->called;
}

static bool simulator_is_carried(void) {
  return __atomic_load_n(&simulator->slot->place, __ATOMIC_RELAXED) == EXN_CARRIED;
}

CARRIER static void wake_many(uint32_t *word, int most) { CALL(SYS_futex, word, FUTEX_WAKE, most, 0); }

/* A fault in it makes it go on at exn_copy_fails, and so return false. */
bool exn_copy(void *to, const void *from, size_t bytes) __attribute__((visibility("hidden")));
void exn_copy_fails(void) __attribute__((visibility("hidden")));
__asm__(
    ".pushsection exn_carrier, \"ax\", @progbits\n"
    ".hidden exn_copy\n.hidden exn_copy_fails\n"
    "exn_copy:\n"
    "  mov %rdx, %rcx\n  rep movsb\n  mov $1, %eax\n  ret\n"
    "exn_copy_fails:\n"
    "  xor %eax, %eax\n  ret\n"
    ".popsection\n");

static struct exn_simulator_calls simulator_calls = {wait_as_simulator, simulator_is_carried, wake_many, exn_copy};

const struct exn_simulator_calls *exn_carriers_take_simulator(void) {
  if (!exn_carriers_run()) return NULL;
  struct context *c = &contexts[region->ranks];
  c->slot = &simulator_slot;
  if (!make_home(c)) return NULL;
  uint64_t faults = 0;
  for (size_t i = 0; i < sizeof kCaught / sizeof *kCaught; i++)
    if (kCaught[i] != PREEMPT) faults |= UINT64_C(1) << (kCaught[i] - 1);
  if (syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &faults, NULL, sizeof c->mask) ||
      syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &c->mask, sizeof c->mask))
    return NULL;
  __asm__ volatile("rdfsbase %0" : "=r"(c->thread_base));
  simulator = c;
  return &simulator_calls;
}

void exn_carriers_leave_simulator(void) {
  if (!region) return;
  __atomic_store_n(&region->where, EXN_APART, __ATOMIC_RELEASE);
  syscall(SYS_futex, &region->where, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* -- what interrupts a rank on a carrier -------------------------------------------------------------------------------------------------- */
CARRIER static bool is_ours(uintptr_t at) { return at >= (uintptr_t)carrier_begins && at < (uintptr_t)carrier_ends; }

/* Bytes of the floating-point state that lies there. */
CARRIER static size_t floating_size(const char *state) {
  const uint32_t *software = (const uint32_t *)(const void *)(state + FP_SOFTWARE_AT);
  return software[0] == FP_MAGIC ? software[1] : FP_LEGACY_BYTES;
}

CARRIER _Noreturn static void die(const char *what, size_t length) {
  CALL(SYS_write, 2, what, length, 0);
  CALL(SYS_kill, host, SIGKILL, 0, 0);
  for (;;) CALL(SYS_exit_group, 1, 0, 0, 0);
}
#define DIE(text) die(text "\n", sizeof text)

CARRIER _Noreturn static void send_home(struct carrier *carrier, const ucontext_t *now) {
  struct context *c = carrier->current;
  const char *state = (const char *)now->uc_mcontext.fpregs;
  const size_t bytes = state ? floating_size(state) : 0;
  if (bytes > floating_bytes)
    DIE("exanet: a carrier met more floating-point state than there is; this is a defect of exanet");
  copy(c->interrupted, now, CONTEXT_BYTES);
  if (state) {
    copy(c->floating, state, bytes);
    c->interrupted->uc_mcontext.fpregs = (fpregset_t)(void *)c->floating;
  }
  copy(&c->interrupted->uc_sigmask, &c->mask, sizeof c->mask);
  /* Longer at home each time that it was hardly worth leaving. */
  c->stays = c->away >= SHORT_STAY ? 0 : c->stays == 0 ? 1 : c->stays < LONGEST_AT_HOME ? 2 * c->stays : c->stays;
  c->at_home_for = c->stays;
  c->cpu_ns = thread_cpu_ns() + c->cpu_ahead_ns;
  struct exn_rank *slot = c->slot;
  __atomic_store_n(&carrier->current, NULL, __ATOMIC_RELEASE);
  __atomic_store_n(&slot->place, EXN_RETURNING, __ATOMIC_RELEASE);
  __atomic_fetch_xor(&slot->turn, EXN_CAME_HOME, __ATOMIC_RELEASE); /* no turn: it may be about to wait for one */
  wake(c == simulator ? &region->simulator_wake : &slot->turn);
  exn_jump(carrier->stack, work, carrier);
}

/* Makes system calls that concern the common memory, or nothing at all; what they return is the rank's. */
CARRIER static bool call_in_place(greg_t *registers) {
  const long number = registers[REG_RAX];
  bool may = false;
  if (number == SYS_futex)
    may = (registers[REG_RSI] & FUTEX_CMD_MASK) == FUTEX_WAKE;
  else if (number == SYS_mmap)
    may = (registers[REG_R10] & MAP_ANONYMOUS) != 0 && (registers[REG_R10] & MAP_LOCKED) == 0;
  else
    may = number == SYS_munmap || number == SYS_mprotect || number == SYS_madvise || number == SYS_mremap ||
          number == SYS_brk || number == SYS_sched_yield;
  if (may)
    registers[REG_RAX] = call6(number, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX], registers[REG_R10],
                               registers[REG_R8], registers[REG_R9]);
  return may;
}

CARRIER static bool is_carrier(const struct carrier *carrier) {
  for (uint32_t i = 0; i < carrier_count; i++)
    if (carriers[i] == carrier) return true;
  return false;
}

CARRIER static void on_signal(int number, siginfo_t *info, void *context) {
  ucontext_t *now = context;
  greg_t *registers = now->uc_mcontext.gregs;
  /* Its signal stack lies where it lies itself. */
  struct carrier *carrier = (struct carrier *)((uintptr_t)__builtin_frame_address(0) & ~(CARRIER_BYTES - 1));
  const uintptr_t at = (uintptr_t)registers[REG_RIP];
  if ((number == SIGSEGV || number == SIGBUS) && at >= (uintptr_t)exn_copy && at < (uintptr_t)exn_copy_fails) {
    registers[REG_RIP] = (greg_t)(uintptr_t)exn_copy_fails;
    return;
  }
  if (!is_carrier(carrier)) { /* the simulator, at home: once more, and the host ends by it */
    const struct kernel_sigaction usual = {.flags = SA_RESTORER, .restorer = exn_restorer};
    CALL(SYS_rt_sigaction, number, &usual, 0, sizeof usual.mask);
    return;
  }
  const bool ours = is_ours(at), runs = carrier->current != NULL;
  if (number == PREEMPT) {
    if (!ours && runs && carrier->preempted == carrier->turns) send_home(carrier, now);
    return;
  }
  if (number == SIGSYS && !runs && registers[REG_RAX] == PROBE_CALL) {
    registers[REG_RAX] = PROBE_ANSWER;
    return;
  }
  if (ours || !runs) DIE("exanet: a carrier of packed ranks crashed; this is a defect of exanet");
  if (number == SIGSYS) {
    if (info->si_arch == AUDIT_ARCH_X86_64 && call_in_place(registers)) return;
    registers[REG_RIP] -= 2; /* at home once more, the length of a syscall or an int 0x80 */
  }
  if (number == SIGTRAP && ((const uint8_t *)registers[REG_RIP])[-1] == 0xcc)
    --registers[REG_RIP]; /* NOLINT(performance-no-int-to-ptr): int3 */
  send_home(carrier, now);
}

/* -- starting -------------------------------------------------------------------------------------------------------------------------------- */
/* With a way back from a handler that is no system call of a rank's. */
static bool catch_signals(void) {
  const struct kernel_sigaction action = {on_signal, SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART | SA_RESTORER,
                                          exn_restorer, 0};
  for (size_t i = 0; i < sizeof kCaught / sizeof *kCaught; i++)
    if (syscall(SYS_rt_sigaction, kCaught[i], &action, NULL, sizeof action.mask)) return false;
  return true;
}

/* A thread of the host, which has nothing of the C library's: neither its thread-local storage nor its stack. */
CARRIER static int carry(void *argument) {
  struct carrier *carrier = argument;
  const struct sched_param none = {0};
  char *const signal_stack = (char *)(carrier + 1);
  const stack_t stack = {.ss_sp = signal_stack, .ss_size = CARRIER_BYTES / 2 - sizeof *carrier};
  uint64_t blocked = ~UINT64_C(0);
  for (size_t i = 0; i < sizeof kCaught / sizeof *kCaught; i++) blocked &= ~(UINT64_C(1) << (kCaught[i] - 1));
  CALL(SYS_sched_setscheduler, 0, SCHED_BATCH, &none, 0); /* who wakes another one sleeps next */
  const bool set = CALL(SYS_sigaltstack, &stack, 0, 0, 0) == 0 &&
                   CALL(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, 0, sizeof blocked) == 0 &&
                   call6(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, (long)carrier_begins,
                         carrier_ends - carrier_begins, 0, 0) == 0;
  const bool passed = set && exn_probe(PROBE_CALL) == PROBE_ANSWER;
  if (!passed) __atomic_store_n(&failed, 1, __ATOMIC_RELEASE);
  __atomic_fetch_add(&ready, 1, __ATOMIC_RELEASE);
  wake(&ready);
  if (!passed) CALL(SYS_exit, 0, 0, 0, 0);
  exn_jump(carrier->stack, work, carrier);
}

static bool start_carrier(void) {
  char *space =
      mmap(NULL, 2 * CARRIER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return false;
  struct carrier *carrier = (struct carrier *)(((uintptr_t)space + CARRIER_BYTES - 1) & ~(CARRIER_BYTES - 1));
  carrier->stack = (char *)carrier + CARRIER_BYTES;
  const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  carriers[carrier_count++] = carrier;
  carrier->tid = clone(carry, carrier->stack, flags, carrier);
  return carrier->tid > 0;
}

/* Returns NULL once all have passed their test, else the reason why there are none. */
static const char *start_carriers(uint32_t count) {
  host = getpid();
  floating_bytes = getauxval(AT_MINSIGSTKSZ);
  if (floating_bytes == 0 || floating_bytes > CARRIER_BYTES / 4 || !catch_signals())
    return "the kernel does not say how large a signal's frame is";
  contexts = calloc(region->ranks + 1, sizeof *contexts);
  if (!contexts) return "there is no memory for them";
  for (uint32_t rank = 0; rank < region->ranks; rank++) contexts[rank].slot = exn_rank_slot(region, rank);
  while (carrier_count < count)
    if (!start_carrier()) return "no more threads could be started";
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
  if (fstat(file, &status) == 0 && (size_t)status.st_size >= sizeof *region)
    space = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (space == MAP_FAILED) return false;
  region = space;
  return region->magic == EXN_MAGIC && region->version == EXN_VERSION && region->bytes == (uint64_t)status.st_size;
}

static uint32_t wanted(const char *given) {
  cpu_set_t set;
  CPU_ZERO(&set);
  uint32_t count = sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
  if (given) count = (uint32_t)strtoul(given, NULL, 10);
  if (count > region->ranks) count = region->ranks;
  return count < EXN_MOST_CARRIERS ? count : EXN_MOST_CARRIERS;
}

/* NULL when there may be carriers, else the reason why not. */
static const char *refusal(uint32_t count) {
  struct rlimit limit;
  if (count == 0) return "EXANET_CARRIERS is 0";
  if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE_BIT)) return "the kernel does not let programs set their thread's base";
  if (getrlimit(RLIMIT_CPU, &limit) || limit.rlim_cur != RLIM_INFINITY)
    return "there is a limit of processor time for each process (ulimit -t)";
  return start_carriers(count);
}

/* Of a rank's computing: between two of its waits it may go on in another thread. */
CARRIER static uint64_t rank_cpu_ns(uint32_t rank) { return (uint64_t)(thread_cpu_ns() + contexts[rank].cpu_ahead_ns); }

static struct exn_texts texts;
static struct exn_carriers interface = {EXN_VERSION, &texts, wait_turn, rank_cpu_ns};

/* Makes the memory file of which ranks map pieces. It stays open as long as the host lives, which is how they find it. */
static void make_texts(void) {
  const int file = memfd_create("exanet-texts", MFD_CLOEXEC);
  if (file < 0) return;
  if (ftruncate(file, (off_t)(EXN_MOST_TEXTS * EXN_MOST_TEXT_BYTES)) == 0)
    snprintf(texts.path, sizeof texts.path, "/proc/%ld/fd/%d", (long)host, file);
}

uintptr_t exn_carriers_start(char **variables) {
  if (!map_region(exn_variable(variables, "EXANET_NI"))) return 0;
  const char *reason = refusal(wanted(exn_variable(variables, "EXANET_CARRIERS")));
  if (!reason) {
    make_texts();
    __atomic_store_n(&region->carriers, carrier_count, __ATOMIC_RELEASE);
    return (uintptr_t)&interface;
  }
  __atomic_store_n(&quit, 1, __ATOMIC_RELEASE);
  snprintf(region->no_carriers, sizeof region->no_carriers, "%s", reason);
  return 0;
}

/* -- looking after them ---------------------------------------------------------------------------------------------------------------------- */
bool exn_carriers_run(void) { return region && __atomic_load_n(&region->carriers, __ATOMIC_ACQUIRE) > 0; }

static void preempt(struct carrier *carrier, uint64_t turns) {
  __atomic_store_n(&carrier->preempted, turns, __ATOMIC_RELEASE);
  syscall(SYS_tgkill, host, carrier->tid, PREEMPT);
}

void exn_carriers_look(void) {
  if (!exn_carriers_run()) return;
  for (uint32_t i = 0; i < carrier_count; i++) {
    struct carrier *carrier = carriers[i];
    const uint64_t turns = __atomic_load_n(&carrier->turns, __ATOMIC_ACQUIRE);
    const bool same = __atomic_load_n(&carrier->current, __ATOMIC_ACQUIRE) && turns == carrier->looked_at;
    carrier->looked_at = turns;
    carrier->in_vain = same ? carrier->in_vain + 1 : 0;
    if (same) preempt(carrier, turns);
    if (carrier->in_vain < LOOKS_IN_VAIN) continue;
    snprintf(region->no_carriers, sizeof region->no_carriers, "one of them stood still for %d s",
             LOOKS_IN_VAIN * EXN_CARRIERS_LOOK_MS / 1000);
    __atomic_store_n(&region->carriers, 0, __ATOMIC_RELEASE); /* ranks stay at home, where they are given their turns */
  }
}

void exn_carriers_recall(uint32_t rank) {
  if (!exn_carriers_run() || rank >= region->ranks) return;
  struct context *c = &contexts[rank];
  __atomic_store_n(&c->recalled, 1, __ATOMIC_RELEASE);
  for (uint32_t i = 0; i < carrier_count; i++) {
    const uint64_t turns = __atomic_load_n(&carriers[i]->turns, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&carriers[i]->current, __ATOMIC_ACQUIRE) == c) preempt(carriers[i], turns);
  }
}

void exn_carriers_forget(uint32_t rank) {
  uint32_t parked = EXN_PARKED;
  if (!region || rank >= region->ranks || !contexts) return;
  __atomic_compare_exchange_n(&exn_rank_slot(region, rank)->place, &parked, EXN_AT_HOME, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
}
