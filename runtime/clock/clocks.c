/* SPDX-License-Identifier: Apache-2.0
 * The program's clocks.
 *
 * All of them read the program's time (now.c). Clocks of the date add EXANET_EPOCH_S, which is fixed, since runs
 * must repeat; clocks that count from the machine's start add EXANET_BOOT_S, so little that a double of seconds
 * keeps picoseconds. Clocks of CPU time (clock(), CLOCK_*_CPUTIME_ID, getrusage, times) count from 0: on the
 * simulated machine a rank owns its core and its MPI library polls, so its CPU time is its wall time.
 *
 * clock_gettime() may be called from signal handlers and constructors: no lock, no allocation.
 *
 * UCX, which several MPI libraries bring along, measures the processor's counter against the clock as soon as it is
 * loaded, for as long as its own measurements take to agree. Before MPI_Init it reads the system's clock.
 *
 * Limits: timerfd, setitimer, clocks of other processes, and programs that use rdtsc (but see tsc.c), the vDSO or
 * system calls directly see real time. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timeb.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

static bool is_in_ucx(const void *address) {
  return exanet_is_in_library(address, "libucs") || exanet_is_in_library(address, "libucm");
}

/* Whether the caller reads the clock to measure the host by it. */
static bool calibrates(const void *caller) {
  SHIM_TLS const void *known;
  SHIM_TLS bool answer;
  if (exanet_virtual_ni() != NULL) return false;
  if (caller != known) {
    answer = is_in_ucx(caller);
    known = caller;
  }
  return answer;
}

/* Clocks of CPU time by process or thread: the kernel's names for them, negative, with the process in the upper
   bits. */
static bool is_own_cpu_clock(clockid_t clock) {
  enum { KIND = 3, OF_A_FILE = 3, OF_A_THREAD = 4 };
  if (clock >= 0 || (clock & KIND) == OF_A_FILE) return false;
  const pid_t of = (pid_t) ~(clock >> 3);
  struct timespec used;
  return clock & OF_A_THREAD ? exanet_system_clock(clock, &used) == 0 : of == 0 || of == getpid();
}

/* The reading of a clock at the program's time 0, in seconds; -1: not a clock of the program's. */
static int64_t zero_of(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_REALTIME_ALARM:
    case CLOCK_TAI: return EXANET_EPOCH_S;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM: return EXANET_BOOT_S;
    case CLOCK_PROCESS_CPUTIME_ID:
    case CLOCK_THREAD_CPUTIME_ID: return exanet_in_child() ? -1 : 0;
    default: return is_own_cpu_clock(clock) && !exanet_in_child() ? 0 : -1;
  }
}

static int read_clock(clockid_t clock, struct timespec *out, const void *caller) {
  const int64_t zero = exanet_in_program_time() && !calibrates(caller) ? zero_of(clock) : -1;
  if (zero < 0) return exanet_system_clock(clock, out);
  const uint64_t ps = exanet_now_ps();
  *out = (struct timespec){.tv_sec = (time_t)(ps / PS_PER_S) + zero, .tv_nsec = (long)(ps % PS_PER_S / PS_PER_NS)};
  return 0;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *out) {
  return read_clock(clock, out, __builtin_return_address(0));
}

EXPORT int gettimeofday(struct timeval *restrict out, void *restrict zone) {
  struct timespec now;
  read_clock(CLOCK_REALTIME, &now, __builtin_return_address(0));
  *out = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  if (zone != NULL) memset(zone, 0, sizeof(struct timezone));
  return 0;
}

EXPORT time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}

EXPORT int timespec_get(struct timespec *out, int base) {
  return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, out) == 0 ? base : 0;
}

EXPORT int ftime(struct timeb *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  *out = (struct timeb){.time = now.tv_sec, .millitm = (unsigned short)(now.tv_nsec / 1000000)};
  return 0;
}

EXPORT clock_t clock(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0) return (clock_t)-1;
  return (clock_t)(now.tv_sec * CLOCKS_PER_SEC + now.tv_nsec / (1000000000 / CLOCKS_PER_SEC));
}

/* The CPU time is the program's own, in a rank; a child's is the system's. */
static bool owns_its_core(void) { return exanet_in_program_time() && !exanet_in_child(); }

EXPORT clock_t times(struct tms *out) {
  static void *slot;
  if (!owns_its_core()) return ((clock_t (*)(struct tms *))exanet_real(&slot, "times", NULL))(out);
  clock_t ticks = (clock_t)(exanet_now_ps() / (PS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK)));
  if (out != NULL) *out = (struct tms){.tms_utime = ticks};
  return ticks;
}

EXPORT int getrusage(__rusage_who_t who, struct rusage *out) {
  static void *slot;
  int status = ((int (*)(__rusage_who_t, struct rusage *))exanet_real(&slot, "getrusage", NULL))(who, out);
  if (status != 0 || who == RUSAGE_CHILDREN || !owns_its_core()) return status;
  const uint64_t ps = exanet_now_ps();
  out->ru_utime =
      (struct timeval){.tv_sec = (time_t)(ps / PS_PER_S), .tv_usec = (suseconds_t)(ps % PS_PER_S / PS_PER_US)};
  out->ru_stime = (struct timeval){0};
  return 0;
}
