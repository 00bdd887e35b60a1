/* SPDX-License-Identifier: Apache-2.0
 * Time limits of sleeps and waits, in the program's time. */
#ifndef EXANET_CLOCK_LIMITS_H
#define EXANET_CLOCK_LIMITS_H

#include <stdbool.h>
#include <time.h>

#include "clock.h"

#define NS_PER_S INT64_C(1000000000)

static inline bool exanet_valid(const struct timespec *t) {
  return t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < NS_PER_S;
}

/* More than half a year would overflow sums of picoseconds; nobody wakes from that either. */
static inline uint64_t exanet_to_ps(int64_t s, int64_t ns) {
  const int64_t longest_s = INT64_C(15000000);
  if (s < 0) return 0;
  if (s > longest_s) s = longest_s;
  return (uint64_t)s * PS_PER_S + (uint64_t)ns * PS_PER_NS;
}

/* The time at which a deadline on a clock that reads `zero_s` at the program's time 0 is over. */
static inline uint64_t exanet_time_of(const struct timespec *deadline, int64_t zero_s) {
  return exanet_to_ps(deadline->tv_sec - zero_s, deadline->tv_nsec);
}

/* The zero of the wall clock that a deadline was made from, of the date or since the machine's start: its size says
   which. */
static inline int64_t exanet_zero_of_deadline(const struct timespec *deadline) {
  return deadline->tv_sec >= EXANET_EPOCH_S / 2 ? EXANET_EPOCH_S : EXANET_BOOT_S;
}

static inline struct timespec exanet_to_timespec(uint64_t ps) {
  return (struct timespec){.tv_sec = (time_t)(ps / PS_PER_S), .tv_nsec = (long)(ps % PS_PER_S / PS_PER_NS)};
}

/* A sleep or wait that may last until `until_ps`. */
struct exanet_limit {
  bool ours; /* in the program's time; else there is nothing to do */
  struct exanet_ni *ni; /* in virtual time */
  uint64_t from_ps, until_ps;
};

static inline struct exanet_limit exanet_limit_at(uint64_t until_ps) {
  const uint64_t now = exanet_now_ps();
  return (struct exanet_limit){true, exanet_virtual_ni(), now, until_ps > now ? until_ps : now};
}
static inline struct exanet_limit exanet_limit_in(uint64_t ps) {
  struct exanet_limit limit = exanet_limit_at(0);
  limit.until_ps += ps;
  return limit;
}
static inline uint64_t exanet_limit_ps(const struct exanet_limit *limit) { return limit->until_ps - limit->from_ps; }

#endif
