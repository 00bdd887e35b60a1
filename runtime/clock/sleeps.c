/* SPDX-License-Identifier: Apache-2.0
 * Sleeping. In virtual time a sleep is one of the rank's clock (runtime/lib/timed_sleeps.c) and takes no real time.
 * Before and after, where the program may wait for something of the real world, it takes its time, and the program's
 * time goes on by it. A program that sleeps in a loop until it sees a file or a value in shared memory waits for
 * another rank, so a sleep outside MPI lets all go first whose time is earlier.
 *
 * Open MPI's btl/ofi sleeps for a second when it is closed, for the sake of another provider (sockets). Here it does
 * not: that second would be most of a short run's real time.
 *
 * Limit: signals do not cut a sleep in virtual time short. */
#define _GNU_SOURCE
#include <errno.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "limits.h"

typedef int (*nanosleep_function)(clockid_t, int, const struct timespec *, struct timespec *);

static nanosleep_function real_nanosleep(void) {
  static void *slot;
  return (nanosleep_function)exanet_real(&slot, "clock_nanosleep", "GLIBC_2.17");
}

/* Returns what of it is left, in ps. */
static uint64_t sleep_really(const struct exanet_limit *limit) {
  const struct timespec length = exanet_to_timespec(exanet_limit_ps(limit));
  struct timespec rest = {0};
  if (real_nanosleep()(CLOCK_MONOTONIC, 0, &length, &rest) != EINTR) rest = (struct timespec){0};
  const uint64_t left = exanet_to_ps(rest.tv_sec, rest.tv_nsec);
  exanet_passed_until(limit->until_ps - left);
  return left;
}

static uint64_t sleep_until(const struct exanet_limit *limit) {
  if (limit->ni == NULL) return sleep_really(limit);
  if (exanet_mpi_depth == 0)
    exanet_sleep_with_others(limit->ni, exanet_limit_ps(limit)); /* it may wait for what another rank does */
  else
    exanet_sleep(limit->ni, exanet_limit_ps(limit));
  return 0;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *request, struct timespec *remaining) {
  if (!exanet_in_program_time()) return real_nanosleep()(clock, flags, request, remaining);
  if (!exanet_valid(request)) return EINVAL;
  if (flags & TIMER_ABSTIME) {
    const int64_t zero = clock == CLOCK_PROCESS_CPUTIME_ID ? 0 : exanet_zero_of_deadline(request);
    const struct exanet_limit limit = exanet_limit_at(exanet_time_of(request, zero));
    return sleep_until(&limit) > 0 ? EINTR : 0;
  }
  const struct exanet_limit limit = exanet_limit_in(exanet_to_ps(request->tv_sec, request->tv_nsec));
  const uint64_t left = sleep_until(&limit);
  if (remaining != NULL) *remaining = exanet_to_timespec(left);
  return left > 0 ? EINTR : 0;
}

EXPORT int nanosleep(const struct timespec *request, struct timespec *remaining) {
  const int status = clock_nanosleep(CLOCK_REALTIME, 0, request, remaining);
  if (status == 0) return 0;
  errno = status;
  return -1;
}

EXPORT int usleep(useconds_t us) {
  struct timespec request = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
  return nanosleep(&request, NULL);
}

EXPORT unsigned sleep(unsigned seconds) {
  const void *caller = __builtin_return_address(0);
  if (exanet_is_in_library(caller, "libopen-pal") || exanet_is_in_library(caller, "mca_btl_ofi")) return 0;
  struct timespec request = {.tv_sec = seconds}, remaining = {0};
  if (nanosleep(&request, &remaining) == 0) return 0;
  return (unsigned)(remaining.tv_sec + (remaining.tv_nsec > 0));
}

EXPORT int thrd_sleep(const struct timespec *request, struct timespec *remaining) {
  const int status = clock_nanosleep(CLOCK_REALTIME, 0, request, remaining);
  return status == 0 ? 0 : status == EINTR ? -1 : -2;
}
