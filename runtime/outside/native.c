/* SPDX-License-Identifier: Apache-2.0
 * Answers what the wrappers of the MPI calls and the recorder ask of libexanet, for a rank of an ordinary MPI: no
 * network, no virtual time.
 *
 * Model: a call lasts as long as it does on the host's monotonic clock. What a rank computes is the processor time
 * of its threads between their MPI calls: it stays the same where ranks share processors, and leaves out what a
 * thread sleeps. An MPI library polls while it waits, so what it computes inside a call cannot be distinguished from
 * waiting, and counts as none.
 *
 * Limit: threads that never call MPI are not counted; they work beside one that does, which waits for them. */
#include "runtime/outside/native.h"

#include <stdatomic.h>

struct exanet_ni {
  uint32_t rank, ranks;
};
static struct exanet_ni own;
static bool recorded;

__thread __attribute__((tls_model("initial-exec"))) int exanet_mpi_depth;
__thread __attribute__((tls_model("initial-exec"))) int exanet_helper_thread;
SHIM_TLS uint64_t counted_until_ps; /* of this thread's processor time */
SHIM_TLS bool in_call;
static _Atomic uint64_t computed_ps;

static uint64_t clock_ps(clockid_t clock) {
  struct timespec now;
  exanet_system_clock(clock, &now);
  return (uint64_t)now.tv_sec * PS_PER_S + (uint64_t)now.tv_nsec * PS_PER_NS;
}

void exanet_native_is(int rank, int ranks) { own = (struct exanet_ni){(uint32_t)rank, (uint32_t)ranks}; }

struct exanet_ni *exanet_native_ni(void) { return &own; }

void exanet_native_is_recorded(bool is) { recorded = is; }

void exanet_native_skip(void) { counted_until_ps = clock_ps(CLOCK_THREAD_CPUTIME_ID); }

void exanet_native_count(void) {
  const uint64_t now = clock_ps(CLOCK_THREAD_CPUTIME_ID);
  atomic_fetch_add_explicit(&computed_ps, now - counted_until_ps, memory_order_relaxed);
  counted_until_ps = now;
}

/* -- libexanet's interface ----------------------------------------------------------------------------------------- */

struct exanet_ni *exanet_process_ni(void) { return recorded ? &own : NULL; }
int exanet_is_virtual(const struct exanet_ni *ni) {
  (void)ni;
  return recorded;
}
uint32_t exanet_rank(const struct exanet_ni *ni) { return ni->rank; }
uint32_t exanet_size(const struct exanet_ni *ni) { return ni->ranks; }
uint64_t exanet_computed_ps(const struct exanet_ni *ni) {
  (void)ni;
  return atomic_load_explicit(&computed_ps, memory_order_relaxed);
}
uint64_t exanet_clock_peek(const struct exanet_ni *ni) {
  (void)ni;
  return clock_ps(CLOCK_MONOTONIC);
}

/* The recorder's own work stands before and behind a call: the program's time ends at the first, and goes on at the
   end of the second. */
void exanet_uncounted_begin(struct exanet_ni *ni) {
  (void)ni;
  if (!in_call) exanet_native_count();
}
void exanet_uncounted_end(struct exanet_ni *ni) {
  (void)ni;
  if (in_call) exanet_native_skip();
  in_call = false;
}
void exanet_mpi_enter(struct exanet_ni *ni, uint32_t call, enum exanet_call_kind kind) {
  (void)ni, (void)call, (void)kind;
  in_call = true;
}
void exanet_mpi_leave(struct exanet_ni *ni, uint32_t call, enum exanet_call_kind kind) {
  (void)ni, (void)call, (void)kind;
}
exanet_mpi_function exanet_mended(const char *name, exanet_mpi_function found) {
  (void)name;
  return found;
}
void exanet_testing_begin(void) {}
void exanet_testing_end(void) {}
