/* SPDX-License-Identifier: Apache-2.0
 * Waiting for other ranks beside the network: Open MPI 5 has its launcher find a number for a communicator that is made from a group.
 *
 * Problem: PMIx_Group_construct() and PMIx_Group_destruct() return when all members have called them, and some may still wait for messages, which come when
 * virtual time passes. That waits for the rank that is in PMIx, since it does not sleep in the network: nobody would go on.
 *
 * Model: before the first one the rank sleeps until the end of the next whole millisecond of virtual time; meanwhile the other members finish what
 * they are in, and come to the same moment. A call is made on another thread, and the caller waits for it in the host's time, which moves no
 * clock, so that runs repeat. Where somebody does not come for EXANET_PATIENCE_NS, time goes on by a step, again and again, until he does. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

#define EXANET_STEP_PS PS_PER_MS
#define EXANET_PATIENCE_NS 200000000L

typedef int (*construct_function)(const char *, const void *, size_t, const void *, size_t, void *, size_t *);
typedef int (*destruct_function)(const char *, const void *, size_t);

struct call {
  void *real;
  bool constructs;
  const char *group;
  const void *members, *directives;
  size_t member_count, directive_count;
  void *results;
  size_t *result_count;
  int status;
  uint32_t done; /* futex */
};

static void *make(void *argument) {
  struct call *call = argument;
  if (call->constructs)
    call->status = ((construct_function)call->real)(call->group, call->members, call->member_count, call->directives,
                                                    call->directive_count, call->results, call->result_count);
  else
    call->status = ((destruct_function)call->real)(call->group, call->directives, call->directive_count);
  __atomic_store_n(&call->done, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &call->done, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  return NULL;
}

/* False after EXANET_PATIENCE_NS of the host's time. */
static bool is_done(struct call *call) {
  const struct timespec limit = {.tv_nsec = EXANET_PATIENCE_NS};
  if (!__atomic_load_n(&call->done, __ATOMIC_ACQUIRE))
    syscall(SYS_futex, &call->done, FUTEX_WAIT_PRIVATE, 0, &limit, NULL, 0);
  return __atomic_load_n(&call->done, __ATOMIC_ACQUIRE);
}

/* The rest of the present one counts as one: all members end at the same moment. */
static void sleep_for_steps(struct exanet_ni *ni, uint64_t steps) {
  const uint64_t now = exanet_clock_peek(ni);
  exanet_sleep_with_others(ni, (now / EXANET_STEP_PS + steps) * EXANET_STEP_PS - now);
}

static int make_beside_time(struct call *call) {
  struct exanet_ni *ni = exanet_virtual_ni();
  pthread_t thread;
  if (call->real == NULL) return call->status;
  if (ni != NULL && call->constructs) sleep_for_steps(ni, 2);
  ++exanet_mpi_depth; /* the thread is not the program's */
  const bool beside = ni != NULL && pthread_create(&thread, NULL, make, call) == 0;
  --exanet_mpi_depth;
  if (!beside) {
    make(call);
    return call->status;
  }
  while (!is_done(call)) sleep_for_steps(ni, 1);
  pthread_join(thread, NULL);
  return call->status;
}

EXPORT int PMIx_Group_construct(const char *group, const void *members, size_t member_count, const void *directives,
                                size_t directive_count, void *results, size_t *result_count);
EXPORT int PMIx_Group_construct(const char *group, const void *members, size_t member_count, const void *directives,
                                size_t directive_count, void *results, size_t *result_count) {
  struct call call = {.real = exanet_mpi_real("PMIx_Group_construct"),
                      .constructs = true,
                      .group = group,
                      .members = members,
                      .directives = directives,
                      .member_count = member_count,
                      .directive_count = directive_count,
                      .results = results,
                      .result_count = result_count,
                      .status = -1};
  return make_beside_time(&call);
}

EXPORT int PMIx_Group_destruct(const char *group, const void *directives, size_t directive_count);
EXPORT int PMIx_Group_destruct(const char *group, const void *directives, size_t directive_count) {
  struct call call = {.real = exanet_mpi_real("PMIx_Group_destruct"),
                      .group = group,
                      .directives = directives,
                      .directive_count = directive_count,
                      .status = -1};
  return make_beside_time(&call);
}
