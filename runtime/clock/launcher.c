/* SPDX-License-Identifier: Apache-2.0
 * Waiting for other ranks beside the network: Open MPI has its launcher join processes that have nothing to do with
 * each other yet, and find a number for a communicator that is made from a group.
 *
 * Problem: PMIx's calls return when all members have called them, or somebody has published what is looked up, and
 * some may still wait for messages, which come when virtual time passes. That waits for the rank that is in PMIx,
 * since it does not sleep in the network: nobody would go on.
 *
 * Model: a call is made on another thread, and the caller waits for it in the host's time, which moves no clock, so
 * that runs repeat. Where somebody does not come for EXANET_WAIT_MS, time goes on by a step of whole milliseconds,
 * and by a longer one each time, until he does. Before a group is made the rank sleeps until the end of the next
 * whole millisecond of virtual time; meanwhile the other members finish what they are in, and come to the same time. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "beside.h"
#include "clock.h"

#define MOST_ARGUMENTS 7
typedef int (*launcher_function)(long, long, long, long, long, long, long);

struct call {
  launcher_function real;
  const long *arguments; /* MOST_ARGUMENTS; what the function does not have is not looked at */
  int status;
  uint32_t done; /* futex */
};

static void *make(void *argument) {
  struct call *call = argument;
  const long *a = call->arguments;
  call->status = call->real(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
  __atomic_store_n(&call->done, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &call->done, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  return NULL;
}

/* False after EXANET_WAIT_MS of the host's time. */
static bool is_done(struct call *call) {
  const struct timespec limit = {.tv_nsec = EXANET_WAIT_MS * 1000000L};
  if (!__atomic_load_n(&call->done, __ATOMIC_ACQUIRE))
    syscall(SYS_futex, &call->done, FUTEX_WAIT_PRIVATE, 0, &limit, NULL, 0);
  return __atomic_load_n(&call->done, __ATOMIC_ACQUIRE);
}

static int make_beside_time(const char *name, bool with_others, const long *arguments) {
  struct call call = {.real = (launcher_function)exanet_launcher_real(name), .arguments = arguments, .status = -1};
  struct exanet_ni *ni = exanet_virtual_ni();
  pthread_t thread;
  if (call.real == NULL) return call.status;
  if (ni != NULL && with_others) exanet_step(ni, &(uint64_t){2});
  ++exanet_mpi_depth; /* the thread is not the program's */
  const bool beside = ni != NULL && pthread_create(&thread, NULL, make, &call) == 0;
  --exanet_mpi_depth;
  if (!beside) {
    make(&call);
    return call.status;
  }
  for (uint64_t steps = 1; !is_done(&call);) exanet_step(ni, &steps);
  pthread_join(thread, NULL);
  return call.status;
}

#define BESIDE_TIME(name, with_others)                                             \
  EXPORT int name(long a0, long a1, long a2, long a3, long a4, long a5, long a6);  \
  EXPORT int name(long a0, long a1, long a2, long a3, long a4, long a5, long a6) { \
    const long arguments[MOST_ARGUMENTS] = {a0, a1, a2, a3, a4, a5, a6};           \
    return make_beside_time(#name, with_others, arguments);                        \
  }
BESIDE_TIME(PMIx_Group_construct, true)
BESIDE_TIME(PMIx_Group_destruct, false)
BESIDE_TIME(PMIx_Lookup, false)
BESIDE_TIME(PMIx_Connect, false)
BESIDE_TIME(PMIx_Disconnect, false)

typedef int (*abort_function)(int status, const char *message, void *processes, size_t count);
EXPORT int PMIx_Abort(int status, const char *message, void *processes, size_t count);
EXPORT int PMIx_Abort(int status, const char *message, void *processes, size_t count) {
  struct exanet_ni *ni = exanet_process_ni();
  if (ni != NULL && exanet_is_virtual(ni) && exanet_helper_thread != 1) {
    exanet_abort(ni, status);
    exanet_go_no_further(ni);
  }
  abort_function real = (abort_function)exanet_launcher_real("PMIx_Abort");
  return real != NULL ? real(status, message, processes, count) : -1;
}
