// SPDX-License-Identifier: Apache-2.0
// MPI libraries yield the processor in their progress loops, so that others on it may get on. In the virtual phase a
// poll that finds nothing already gives the processor away for exactly as long as needed; the yield would only cost two
// context switches more.
//
// With several threads that take turns inside MPI (runtime/lib/token.c), a yield there says that the thread waits for
// another one; so does a lock that is found taken. A thread that takes a lock may not step aside before it has left it,
// since the next one may want it; one that sleeps on a lock or a condition lets others go first meanwhile. Outside MPI
// a thread that takes one lock again and again, with hardly anything in between, waits like one that yields.
//
// Limit: the locks of pthreads, and no others (spin locks, futexes).
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "meetings.h"

EXPORT int sched_yield(void) {
  struct exanet_ni *ni = exanet_virtual_ni();
  if (ni != NULL) {
    if (!exanet_program_threads()) {
      if (exanet_mpi_depth == 0) exanet_clock_read(ni); /* in a loop it waits, as one that reads the clock does */
      return 0;
    }
    if (exanet_mpi_depth == 0)
      exanet_thread_yields();
    else if (exanet_takes_turns(ni))
      exanet_thread_spins();
  }
  return (int)syscall(SYS_sched_yield);
}

enum { TURNS_FOR_LOCK = 4 };

/* Inside MPI, in a rank whose threads take turns. */
static bool takes_turns(void) {
  if (exanet_mpi_depth == 0) return false;
  const struct exanet_ni *ni = exanet_virtual_ni();
  return ni != NULL && exanet_takes_turns(ni);
}

enum { LOCKS = 64, LOCKS_NS = 32000, BATCHES = 8 };

/* Outside MPI, a thread that does nothing but take one lock waits in a loop for what another thread does, as one
   does that yields. */
static void spins_at(const pthread_mutex_t *mutex) {
  SHIM_TLS const pthread_mutex_t *last;
  SHIM_TLS unsigned locks, batches;
  SHIM_TLS uint64_t since_ns;
  if (mutex != last) locks = batches = 0;
  last = mutex;
  if (++locks < LOCKS) return;
  const uint64_t now_ns = exanet_system_ps() / PS_PER_NS;
  batches = now_ns - since_ns <= LOCKS_NS ? batches + 1 : 0;
  since_ns = now_ns;
  locks = 0;
  if (batches >= BATCHES) exanet_thread_yields();
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex) {
  if (!takes_turns()) {
    if (exanet_mpi_depth == 0 && exanet_program_threads() && exanet_virtual_ni() != NULL) spins_at(mutex);
    return exanet_system_lock(mutex);
  }
  int status = exanet_system_trylock(mutex);
  /* Who has it waits for its turn: several threads that sleep on a lock and take it without theirs would keep each
     other from both. */
  for (int turns = 0; status == EBUSY && turns < TURNS_FOR_LOCK; ++turns) {
    exanet_thread_waits_for_lock();
    status = exanet_system_trylock(mutex);
  }
  if (status == EBUSY) {
    exanet_thread_sleeps_at_lock(true);
    status = exanet_system_lock(mutex);
    exanet_thread_sleeps_at_lock(false);
  }
  if (status == 0) exanet_thread_locks(true);
  return status;
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex) {
  const int status = exanet_system_trylock(mutex);
  if (!takes_turns()) return status;
  if (status == 0) exanet_thread_locks(true);
  if (status == EBUSY) exanet_thread_spins();
  return status;
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex) {
  const int status = exanet_system_unlock(mutex);
  if (status == 0 && takes_turns()) exanet_thread_locks(false);
  return status;
}

/* Open MPI asks its launcher for addresses when it first needs them: an answer from outside, for which nobody else
   goes first. */
static bool waits_for_launcher(const void *caller) {
  SHIM_TLS const void *known;
  SHIM_TLS bool answer;
  if (caller != known) {
    answer = exanet_is_in_library(caller, "libpmix");
    known = caller;
  }
  return answer;
}

static int wait_at(pthread_cond_t *cond, pthread_mutex_t *mutex, const void *caller) {
  typedef int (*function)(pthread_cond_t *, pthread_mutex_t *);
  static void *slot;
  const function real = (function)exanet_real(&slot, "pthread_cond_wait", "GLIBC_2.3.2");
  if (exanet_may_hand_turn_on()) return EXANET_ASLEEP(real(cond, mutex));
  if (!takes_turns()) return real(cond, mutex);
  const bool for_launcher = waits_for_launcher(caller);
  if (for_launcher)
    exanet_thread_is_at_work(true);
  else
    exanet_thread_sleeps(true);
  const int status = real(cond, mutex);
  if (for_launcher)
    exanet_thread_is_at_work(false);
  else
    exanet_thread_sleeps(false);
  return status;
}

EXPORT int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
  return EXANET_WAITS(cond, wait_at(cond, mutex, __builtin_return_address(0)));
}

#define WAKES(name)                                                                    \
  EXPORT int pthread_cond_##name(pthread_cond_t *cond) {                               \
    typedef int (*function)(pthread_cond_t *);                                         \
    static void *slot;                                                                 \
    if (exanet_program_threads() > 0) exanet_gives(cond);                              \
    return ((function)exanet_real(&slot, "pthread_cond_" #name, "GLIBC_2.3.2"))(cond); \
  }
WAKES(signal)
WAKES(broadcast)
