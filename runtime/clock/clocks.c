/* SPDX-License-Identifier: Apache-2.0
 * The program's clocks in the virtual phase.
 *
 * All wall clocks (real, monotonic, boot time, their coarse and raw kin) read the same: EXANET_EPOCH_S plus the rank's virtual clock.
 * One base for all of them lets an absolute deadline be understood without knowing which clock it was made from (waits.c).
 * Clocks of CPU time (clock(), CLOCK_*_CPUTIME_ID, getrusage, times) read the virtual clock from 0: on the simulated machine a rank owns
 * its core and its MPI library polls, so its CPU time is its wall time. Before and after the phase all of them are the system's.
 *
 * clock_gettime() may be called from signal handlers and constructors: no lock, no allocation; before its libc function is known it
 * asks the kernel.
 *
 * Limits: the clock jumps where the phase begins and ends; clocks of other processes and threads (pthread_getcpuclockid), timerfd,
 * setitimer and programs that use rdtsc or the vDSO directly see real time. */
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

typedef int (*gettime_function)(clockid_t, struct timespec *);
static gettime_function real_gettime;

static __attribute__((constructor)) void find_clock(void) {
  static void *slot;
  real_gettime = (gettime_function)exanet_real(&slot, "clock_gettime", NULL);
}

int exanet_system_clock(clockid_t clock, struct timespec *out) {
  return real_gettime != NULL ? real_gettime(clock, out) : (int)syscall(SYS_clock_gettime, clock, out);
}

enum clock_base { BASE_NONE, BASE_EPOCH, BASE_ZERO };

static enum clock_base base_of(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_TAI:
      return BASE_EPOCH;
    case CLOCK_PROCESS_CPUTIME_ID:
    case CLOCK_THREAD_CPUTIME_ID:
      return BASE_ZERO;
    default:
      return BASE_NONE;
  }
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *out) {
  struct exanet_ni *ni = exanet_virtual_ni();
  enum clock_base base = ni != NULL ? base_of(clock) : BASE_NONE;
  if (base == BASE_NONE) return exanet_system_clock(clock, out);
  uint64_t ps = exanet_clock_read(ni);
  out->tv_sec = (time_t)(ps / PS_PER_S) + (base == BASE_EPOCH ? EXANET_EPOCH_S : 0);
  out->tv_nsec = (long)(ps % PS_PER_S / PS_PER_NS);
  return 0;
}

EXPORT int gettimeofday(struct timeval *restrict out, void *restrict zone) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
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

EXPORT clock_t times(struct tms *out) {
  static void *slot;
  struct exanet_ni *ni = exanet_virtual_ni();
  if (ni == NULL) return ((clock_t(*)(struct tms *))exanet_real(&slot, "times", NULL))(out);
  clock_t ticks = (clock_t)(exanet_clock_read(ni) / (PS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK)));
  if (out != NULL) *out = (struct tms){.tms_utime = ticks};
  return ticks;
}

EXPORT int getrusage(__rusage_who_t who, struct rusage *out) {
  static void *slot;
  int status = ((int (*)(__rusage_who_t, struct rusage *))exanet_real(&slot, "getrusage", NULL))(who, out);
  struct exanet_ni *ni = exanet_virtual_ni();
  if (status != 0 || ni == NULL || who == RUSAGE_CHILDREN) return status;
  uint64_t ps = exanet_clock_read(ni);
  out->ru_utime = (struct timeval){.tv_sec = (time_t)(ps / PS_PER_S), .tv_usec = (suseconds_t)(ps % PS_PER_S / PS_PER_US)};
  out->ru_stime = (struct timeval){0};
  return 0;
}
