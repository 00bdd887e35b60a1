/* SPDX-License-Identifier: Apache-2.0
 * What moves a rank's clock besides waiting.
 *
 * Model: the processor time that a thread has used between two calls of libexanet, times the run's factor, is what
 * the program has computed. It is added to the clock when the next call begins, before that call charges what it
 * costs. Sleeps, and readings of the clock in a loop, are added at the same place. Empty polls that turn out to have
 * been work (nonblocking_polls.c) take a fixed step each.
 *
 * Limit: threads account for themselves; a thread that never calls libexanet moves no clock. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/lib/ni.h"
#include "runtime/lib/switch.h"

/* Loaded before the program starts, so thread-local state fits the static block: one instruction to reach. */
#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))
THREAD_LOCAL uint64_t counted_cpu_ps; /* CPU time of this thread at the last call's end */
THREAD_LOCAL uint64_t uncounted_from_ps;

static uint64_t thread_cpu_ps(const struct exanet_ni *ni) {
  if (exn_runs_on_worker(ni)) return ni->workers->cpu_ns(ni->rank) * 1000u;
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);  /* not the interposed one */
  return ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) * 1000u;
}

void exn_charge_nonblocking(struct exanet_ni *ni) {
  exn_charge(ni, exn_polls.nonblocking * ni->region->test_step_ps);
  exn_polls.nonblocking = 0;
  ni->ahead = true;
}

void exn_account_enter(struct exanet_ni *ni) {
  ni->clock_reads = 0;
  if (!exn_virtual(ni)) return;
  if (exn_polls.nonblocking) exn_charge_nonblocking(ni);
  if (__atomic_load_n(&ni->pending_ps, __ATOMIC_RELAXED)) {
    const uint64_t ps = __atomic_exchange_n(&ni->pending_ps, 0, __ATOMIC_RELAXED);
    ni->clock_ps += ps;
    ni->slot->compute_ps += ps;
  }
  const double factor = ni->region->compute_factor;
  if (factor <= 0) return;
  const uint64_t now = thread_cpu_ps(ni);
  if (now > counted_cpu_ps && counted_cpu_ps != 0) {
    const uint64_t ps = (uint64_t)((double)(now - counted_cpu_ps) * factor);
    ni->clock_ps += ps;
    ni->slot->compute_ps += ps;
    ni->idle_ps += ps;
  }
  counted_cpu_ps = now;
}

void exn_account_leave(struct exanet_ni *ni) {
  if (ni->region->compute_factor > 0) counted_cpu_ps = thread_cpu_ps(ni);
}

uint64_t exanet_computed_ps(const struct exanet_ni *ni) { return ni->slot->compute_ps - ni->swallowed_ps; }

void exanet_uncounted_begin(struct exanet_ni *ni) {
  if (ni->region->compute_factor > 0) uncounted_from_ps = thread_cpu_ps(ni);
}

void exanet_uncounted_end(struct exanet_ni *ni) {
  if (ni->region->compute_factor > 0 && counted_cpu_ps != 0) counted_cpu_ps += thread_cpu_ps(ni) - uncounted_from_ps;
}

void exanet_advance(struct exanet_ni *ni, uint64_t ps) {
  if (exn_virtual(ni)) __atomic_add_fetch(&ni->pending_ps, ps, __ATOMIC_RELAXED);
}
