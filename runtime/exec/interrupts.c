/* SPDX-License-Identifier: Apache-2.0
 * What interrupts a rank on a worker: a system call, a fault, or a turn that takes long (worker.c).
 *
 * Each is a signal. Its handler makes a call in place where that concerns nothing but the common memory; else it
 * lays down all registers, as the kernel has saved them, and wakes the rank's owning process, which goes on from
 * there with sigreturn.
 *
 * Limit: a signal in the workers' own code is a defect, and ends the host. */
#define _GNU_SOURCE
#include <linux/audit.h>
#include <sys/mman.h>

#include "runtime/exec/worker.h"

#define SHORT_STAY 16u /* turns on workers that are not worth the switch */
#define LONGEST_STAY 4096u /* waits, in a row */
#define FP_MAGIC 0x46505853u /* arch/x86/include/uapi/asm/sigcontext.h: FP_XSTATE_MAGIC1 */
#define FP_SOFTWARE_AT 464 /* in the same place: where magic number and size stand in the state */
#define FP_LEGACY_BYTES 512
/* The kernel's struct ucontext as far as sigreturn reads it: glibc's has more behind it. */
#define CONTEXT_BYTES (offsetof(ucontext_t, uc_sigmask) + sizeof(uint64_t))

struct kernel_sigaction {
  void (*handler)(int, siginfo_t *, void *);
  uint64_t flags;
  void (*restorer)(void);
  uint64_t mask;
};
#define SA_RESTORER 0x04000000u

WORKER_CODE static bool is_ours(uintptr_t at) {
  return at >= (uintptr_t)worker_code_begins && at < (uintptr_t)worker_code_ends;
}

/* Bytes of the floating-point state that lies there. */
WORKER_CODE static size_t floating_size(const char *state) {
  const uint32_t *software = (const uint32_t *)(const void *)(state + FP_SOFTWARE_AT);
  return software[0] == FP_MAGIC ? software[1] : FP_LEGACY_BYTES;
}

WORKER_CODE _Noreturn static void die(const char *what, size_t length) {
  CALL(SYS_write, 2, what, length, 0);
  CALL(SYS_kill, exn_team.host, SIGKILL, 0, 0);
  for (;;) CALL(SYS_exit_group, 1, 0, 0, 0);
}
#define DIE(text) die(text "\n", sizeof text)

WORKER_CODE _Noreturn static void return_to_owner(struct worker *worker, const ucontext_t *now) {
  struct context *c = worker->current;
  const char *state = (const char *)now->uc_mcontext.fpregs;
  const size_t bytes = state ? floating_size(state) : 0;
  if (bytes > exn_team.floating_bytes)
    DIE("exanet: a worker met more floating-point state than there is; this is a defect of exanet");
  copy(c->interrupted, now, CONTEXT_BYTES);
  if (state) {
    copy(c->floating, state, bytes);
    c->interrupted->uc_mcontext.fpregs = (fpregset_t)(void *)c->floating;
  }
  copy(&c->interrupted->uc_sigmask, &c->mask, sizeof c->mask);
  /* Longer in its own process each time that it was hardly worth leaving. */
  c->stays = c->away >= SHORT_STAY ? 0 : c->stays == 0 ? 1 : c->stays < LONGEST_STAY ? 2 * c->stays : c->stays;
  c->own_turns_left = c->stays;
  c->cpu_ns = thread_cpu_ns() + c->cpu_ahead_ns;
  struct exn_rank *slot = c->slot;
  __atomic_store_n(&worker->current, NULL, __ATOMIC_RELEASE);
  __atomic_store_n(&slot->place, EXN_RETURNING, __ATOMIC_RELEASE);
  __atomic_fetch_xor(&slot->turn, EXN_RETURNED_TO_OWNER,
                     __ATOMIC_RELEASE); /* no turn: it may be about to wait for one */
  wake(c == exn_team.simulator ? &exn_team.region->simulator_wake : &slot->turn);
  exn_jump(worker->stack, exn_worker_runs, worker);
}

/* Makes system calls that concern the common memory, or nothing at all; what they return is the rank's. */
WORKER_CODE static bool call_in_place(greg_t *registers) {
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

WORKER_CODE static bool is_worker(const struct worker *worker) {
  for (uint32_t i = 0; i < exn_team.size; i++)
    if (exn_team.workers[i] == worker) return true;
  return false;
}

WORKER_CODE static void on_signal(int number, siginfo_t *info, void *context) {
  ucontext_t *now = context;
  greg_t *registers = now->uc_mcontext.gregs;
  /* Its signal stack lies where it lies itself. */
  struct worker *worker = (struct worker *)((uintptr_t)__builtin_frame_address(0) & ~(WORKER_BYTES - 1));
  const uintptr_t at = (uintptr_t)registers[REG_RIP];
  if ((number == SIGSEGV || number == SIGBUS) && at >= (uintptr_t)exn_copy && at < (uintptr_t)exn_copy_fails) {
    registers[REG_RIP] = (greg_t)(uintptr_t)exn_copy_fails;
    return;
  }
  if (!is_worker(worker)) { /* the simulator, on its own thread: once more, and the host ends by it */
    const struct kernel_sigaction usual = {.flags = SA_RESTORER, .restorer = exn_restorer};
    CALL(SYS_rt_sigaction, number, &usual, 0, sizeof usual.mask);
    return;
  }
  const bool ours = is_ours(at), runs = worker->current != NULL;
  if (number == PREEMPT) {
    if (!ours && runs && worker->preempted == worker->turns) return_to_owner(worker, now);
    return;
  }
  if (number == SIGSYS && !runs && registers[REG_RAX] == PROBE_CALL) {
    registers[REG_RAX] = PROBE_ANSWER;
    return;
  }
  if (ours || !runs) DIE("exanet: a worker of packed ranks crashed; this is a defect of exanet");
  if (number == SIGSYS) {
    if (info->si_arch == AUDIT_ARCH_X86_64 && call_in_place(registers)) return;
    registers[REG_RIP] -= 2; /* in its own process once more, the length of a syscall or an int 0x80 */
  }
  if (number == SIGTRAP && ((const uint8_t *)registers[REG_RIP])[-1] == 0xcc)
    --registers[REG_RIP]; /* NOLINT(performance-no-int-to-ptr): int3 */
  return_to_owner(worker, now);
}

/* With a way back from a handler that is no system call of a rank's. */
bool exn_catch_signals(void) {
  const struct kernel_sigaction action = {on_signal, SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART | SA_RESTORER,
                                          exn_restorer, 0};
  for (int number = 1; number < NSIG; number++)
    if ((CAUGHT & SIGNAL_BIT(number)) && syscall(SYS_rt_sigaction, number, &action, NULL, sizeof action.mask))
      return false;
  return true;
}
