/* SPDX-License-Identifier: Apache-2.0
 * What moves a rank's clock besides waiting.
 *
 * Model: the processor time that a thread has used between two calls of libexanet, times the run's factor, is what
 * the program has computed. When the next call begins, before that call charges what it costs, the clock moves on by
 * it. Sleeps, and readings of the clock in a loop, are added at the same place. Empty polls that turn out to have
 * been work (nonblocking_polls.c) take a fixed step each.
 *
 * Threads of a rank compute at the same time. Each has a time of its own: where the rank's clock stood when it last
 * was there, and what it has computed since. A call moves the clock to the caller's time, if that is later. A thread
 * that waits for another one goes on at the later one of both times, and what it computes while it waits is not
 * counted: so a region takes as long as the longest way through it, on any number of the host's processors. Who waits
 * for whom is found out in runtime/clock.
 *
 * Limit: who waits for a thread in a way that is not seen there does not learn of its time. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/lib/ni.h"
#include "runtime/lib/switch.h"
#include "runtime/lib/threads.h"

/* Loaded before the program starts, so thread-local state fits the static block: one instruction to reach. */
#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))
THREAD_LOCAL uint64_t counted_cpu; /* CPU time of this thread at the last call's end */
THREAD_LOCAL uint64_t uncounted_from;

/* In cycles of an emulated processor, or in picoseconds of the host's. Differences count alone, modulo 2^64: on a
   worker thread it goes on from what it was in the rank's own process. */
static uint64_t thread_cpu(const struct exanet_ni *ni) {
  if (exn_runs_on_worker(ni)) return ni->workers->cpu_ns(ni->rank) * 1000u;
  if (exn_counts_cycles()) return exn_own_cycles();
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);  /* not the interposed one */
  return ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) * 1000u;
}

void exn_count(const struct exanet_ni *ni) {
  const uint64_t now = thread_cpu(ni);
  const int64_t used = (int64_t)(now - counted_cpu);
  if (used > 0 && counted_cpu != 0) {
    const uint64_t used_ps = exn_counts_cycles() ? exn_cycles_to_ps((uint64_t)used) : (uint64_t)used;
    exn_own_ps += (uint64_t)((double)used_ps * ni->region->compute_factor);
  }
  counted_cpu = now;
}

void exn_charge_nonblocking(struct exanet_ni *ni) {
  exn_charge(ni, exn_polls.nonblocking * ni->slot->costs.test_step_ps);
  exn_polls.nonblocking = 0;
  ni->ahead = true;
}

static void account(struct exanet_ni *ni) {
  if (exn_polls.nonblocking) exn_charge_nonblocking(ni);
  if (__atomic_load_n(&ni->pending_ps, __ATOMIC_RELAXED)) {
    const uint64_t ps = __atomic_exchange_n(&ni->pending_ps, 0, __ATOMIC_RELAXED);
    ni->clock_ps += ps;
    ni->slot->compute_ps += ps;
  }
  if (ni->region->compute_factor <= 0) return;
  exn_count(ni);
  if (exn_own_ps > ni->clock_ps) {
    const uint64_t ps = exn_own_ps - ni->clock_ps;
    ni->clock_ps += ps;
    ni->slot->compute_ps += ps;
    ni->idle_ps += ps;
  }
  exn_own_ps = ni->clock_ps;
}

/* Its host has died: the rank goes on no more, and is no more let run. */
static void stay_if_dead(struct exanet_ni *ni) {
  const uint64_t dies_ps = ni->slot->dies_ps;
  while (dies_ps > 0 && ni->clock_ps >= dies_ps) exn_sleep(ni, EXN_SLEEPING, UINT64_MAX, false);
}

void exn_account_enter(struct exanet_ni *ni) {
  ni->clock_reads = 0;
  if (!exn_virtual(ni)) return;
  account(ni);
  stay_if_dead(ni);
}

void exn_account_stop(struct exanet_ni *ni) {
  exn_account_enter(ni);
  exn_cycles_stop(true);
}

void exn_account_leave(struct exanet_ni *ni) {
  exn_cycles_stop(false);
  if (ni->region->compute_factor <= 0) return;
  counted_cpu = thread_cpu(ni);
  exn_own_ps = exanet_clock_peek(ni);
}

void exanet_uncount(struct exanet_ni *ni) { exn_account_leave(ni); }

uint64_t exanet_computed_ps(const struct exanet_ni *ni) { return ni->slot->compute_ps - ni->swallowed_ps; }

void exanet_uncounted_begin(struct exanet_ni *ni) {
  exn_cycles_stop(true); /* its caches stay the program's, too */
  if (ni->region->compute_factor > 0) uncounted_from = thread_cpu(ni);
}

void exanet_uncounted_end(struct exanet_ni *ni) {
  if (ni->region->compute_factor > 0 && counted_cpu != 0) counted_cpu += thread_cpu(ni) - uncounted_from;
  exn_cycles_stop(false);
}

void exanet_advance(struct exanet_ni *ni, uint64_t ps) {
  if (!exn_virtual(ni)) return;
  __atomic_add_fetch(&ni->pending_ps, ps, __ATOMIC_RELAXED);
  exn_own_ps += ps;
}

/* -- threads that wait for each other ------------------------------------------------------------------------------ */
/* The interface, if the calling thread is one of the program's, outside MPI, and computing counts. */
static struct exanet_ni *counting_ni(void) {
  struct exanet_ni *ni = exanet_helper_thread || exanet_mpi_depth > 0 ? NULL : exanet_process_ni();
  return ni && exn_virtual(ni) && ni->region->compute_factor > 0 ? ni : NULL;
}

bool exanet_thread_time(uint64_t *ps) {
  const struct exanet_ni *ni = counting_ni();
  if (!ni) return false;
  exn_count(ni);
  *ps = exanet_clock_own(ni);
  return true;
}

void exanet_thread_learns(uint64_t ps) {
  if (exn_own_ps < ps) exn_own_ps = ps;
}

void exanet_thread_goes_on_at(uint64_t ps) {
  const struct exanet_ni *ni = counting_ni();
  if (!ni) return;
  counted_cpu = thread_cpu(ni);
  exanet_thread_learns(ps);
}

void exanet_thread_begins_at(uint64_t ps) {
  exn_own_ps = 0;
  exanet_thread_goes_on_at(ps);
}

static void set_waits(uint64_t ps) {
  if (exn_me) __atomic_store_n(&exn_me->waits_from_ps, ps, __ATOMIC_RELEASE);
}
void exanet_thread_waits_from(uint64_t ps) { set_waits(ps + 1); }
void exanet_thread_waits_no_more(void) { set_waits(0); }

void exn_take_from_waiting(void) {
  for (const struct exn_thread *t = exn_threads; exn_me && t < exn_threads_end(); ++t) {
    const uint64_t from = t->creator == exn_me ? __atomic_load_n(&t->waits_from_ps, __ATOMIC_ACQUIRE) : 0;
    if (from > 0) exanet_thread_learns(from - 1);
  }
}

static uint64_t used_ps(pid_t tid) {
  return exn_counts_cycles() ? exn_cycles_to_ps(exn_cycles(tid)) : exn_thread_ns(tid) * 1000;
}

void exanet_part_begins(const void *whole, uint64_t ps) {
  exanet_thread_begins_at(ps);
  if (exn_own_thread()) exanet_part_resumes(whole, used_ps(exn_me->tid));
}

uint64_t exanet_part_began(void) { return exn_me ? exn_me->part_ps : 0; }

void exanet_part_resumes(const void *whole, uint64_t began) {
  struct exn_thread *me = exn_own_thread();
  if (!me) return;
  me->part_of = whole;
  me->part_ps = began;
}

uint64_t exanet_parts_ps(const void *whole) {
  const struct exanet_ni *ni = counting_ni();
  uint64_t most_ps = 0;
  for (const struct exn_thread *t = exn_threads; ni && t < exn_threads_end(); ++t) {
    if (t == exn_me || t->part_of != whole) continue;
    const uint64_t ps = used_ps(t->tid) - t->part_ps;
    if (most_ps < ps) most_ps = ps;
  }
  return ni ? (uint64_t)((double)most_ps * ni->region->compute_factor) : 0;
}
