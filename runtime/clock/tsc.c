/* SPDX-License-Identifier: Apache-2.0
 * The time stamp counter of x86-64, on demand (`exanet run --trap-tsc`).
 *
 * Problem: a program that executes rdtsc reads the host's time, which no call shows.
 *
 * Model: the kernel lets rdtsc and rdtscp fault (PR_SET_TSC), and the handler puts the program's time (now.c) in the
 * registers, in nanoseconds: a counter of 1 GHz on core 0 of node 0. It is a clock like any other, so reading it in
 * a loop lets time pass. The vDSO's and UCX's own readings get the host's counter. Inside MPI_Init nothing faults,
 * since libraries there measure the host.
 *
 * Limits: a thread inherits the setting from the one that starts it. A reading costs a signal, about a microsecond
 * of real time. A program that handles SIGSEGV itself after MPI_Init ends at its next reading. Ranks are processes
 * (exanet/run/packed.py). */
#define _GNU_SOURCE
#include "tsc.h"

#if defined(__x86_64__)
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

#include "clock.h"

enum { VDSO_BYTES = 4 * 4096, RDTSC_BYTES = 2, RDTSCP_BYTES = 3 };

static bool asked;
static struct sigaction replaced; /* what handled SIGSEGV before */

static void set(int how) {
  if (prctl(PR_SET_TSC, how, 0, 0, 0) == 0) return;
  static const char text[] = "exanet: --trap-tsc: this kernel does not let the time stamp counter fault (PR_SET_TSC)\n";
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) { /* nothing more can be done */
  }
  _exit(1);
}

static uint64_t host_counter(void) {
  uint32_t low, high;
  set(PR_TSC_ENABLE);
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  set(PR_TSC_SIGSEGV);
  return (uint64_t)high << 32 | low;
}

/* Bytes of the instruction; 0: it is neither. */
static int reads_counter(const siginfo_t *info, const uint8_t *code) {
  if (info->si_code != SI_KERNEL) return 0; /* the code could not be read */
  if (code[0] == 0x0f && code[1] == 0x31) return RDTSC_BYTES;
  return code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9 ? RDTSCP_BYTES : 0;
}

static bool is_the_programs(uintptr_t at) {
  const uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
  if (at - vdso < VDSO_BYTES || !exanet_in_program_time()) return false;
  return !exanet_is_in_library((const void *)at, "libucs") && !exanet_is_in_library((const void *)at, "libucm");
}

static void pass_on(int number, siginfo_t *info, void *context) {
  if (replaced.sa_flags & SA_SIGINFO)
    replaced.sa_sigaction(number, info, context);
  else if (replaced.sa_handler != SIG_DFL && replaced.sa_handler != SIG_IGN)
    replaced.sa_handler(number);
  else
    sigaction(SIGSEGV, &replaced, NULL); /* the instruction faults once more */
}

static void faulted(int number, siginfo_t *info, void *context) {
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  const uintptr_t at = (uintptr_t)registers[REG_RIP];
  const int bytes = reads_counter(info, (const uint8_t *)at);
  if (bytes == 0) return pass_on(number, info, context);
  const uint64_t now = is_the_programs(at)
                           ? (uint64_t)EXANET_BOOT_S * (PS_PER_S / PS_PER_NS) + exanet_now_ps() / PS_PER_NS
                           : host_counter();
  registers[REG_RAX] = (greg_t)(now & UINT32_MAX);
  registers[REG_RDX] = (greg_t)(now >> 32);
  if (bytes == RDTSCP_BYTES) registers[REG_RCX] = 0; /* core and node */
  registers[REG_RIP] += bytes;
}

void exanet_tsc_trap(void) {
  if (!asked) return;
  struct sigaction action = {.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK}, before;
  action.sa_sigaction = faulted;
  sigaction(SIGSEGV, &action, &before);
  if (!(before.sa_flags & SA_SIGINFO) || before.sa_sigaction != faulted) replaced = before;
  set(PR_TSC_SIGSEGV);
}

void exanet_tsc_release(void) {
  if (asked) set(PR_TSC_ENABLE);
}

__attribute__((constructor)) static void begin(void) {
  const char *wanted = getenv("EXANET_TRAP_TSC"), *region = getenv("EXANET_NI");
  asked = wanted != NULL && strcmp(wanted, "1") == 0 && region != NULL && *region != 0;
  exanet_tsc_trap();
}
#else
void exanet_tsc_trap(void) {}
void exanet_tsc_release(void) {}
#endif
