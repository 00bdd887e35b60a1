// SPDX-License-Identifier: Apache-2.0
// The program's threads, as those of one rank know of each other. Each thread writes its own entry unless said otherwise; others read it.
#ifndef EXANET_LIB_THREADS_H
#define EXANET_LIB_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define EXN_MOST_THREADS 256 /* a program's further threads count as computing ones */
#define EXN_NO_NAP UINT64_MAX

/* Has the thread a part in what happens next? */
enum exn_nap {
  EXN_UP = 0, /* it does as it likes: it never slept, or has been computing for long */
  EXN_ROUSED, /* just started or woken from a nap: it goes first, until it naps again or waits */
  EXN_NAPPING, /* asleep until nap_until_ps */
};

/* Moments are counted in polls that followed a completion, by when it had been dealt with; 0 is never. */
struct exn_thread {
  pid_t tid; /* 0: free */
  bool helper; /* the MPI library's own: it lives in the system's time, and nobody waits for it */
  bool in_mpi;
  bool at_lock; /* asleep on a lock inside MPI, with something to do behind it */
  bool looked; /* in the present MPI call */
  uint32_t idle_at; /* looked in vain */
  uint32_t entered_at, asked_at; /* the present MPI call; the last one, if it was MPI_Test or its kin */
  uint32_t
      seen_at; /* when the thread that polls first saw this one at work, and this one's processor time then; whoever polls */
  uint64_t seen_ns;
  uint32_t nap; /* enum exn_nap; also whoever wakes it; futex */
  uint64_t nap_until_ps; /* on the rank's clock */
  uint32_t yields; /* outside MPI, since it last did anything else that is seen here */
  uint64_t yielded_ns; /* the last one, in the host's time */
  uint64_t roused_ns; /* its processor time when it was roused; whoever looks */
};

extern struct exn_thread exn_threads[EXN_MOST_THREADS];
struct exn_thread *exn_own_thread(void); /* NULL: there are too many */

/* Whether the kernel has it on a processor, or waiting for one or for its memory. */
bool exn_thread_runs(pid_t tid);
uint64_t exn_thread_ns(pid_t tid); /* its processor time */
bool exn_thread_only_yields(const struct exn_thread *thread); /* it spins outside MPI, and lets others go first */
/* Whether `is` holds for any other thread of the program; `thread` is NULL for those that have no entry. */
bool exn_any_other_thread(bool (*is)(struct exn_thread *thread, pid_t tid));

#endif
