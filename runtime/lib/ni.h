/* SPDX-License-Identifier: Apache-2.0
 * libexanet's own state, one per process, and what its files offer each other.
 *
 * Files stand in layers, and use only those below: host, state, large_text | table, tasks | activity, sleep |
 * account, token, tree | nonblocking_polls, timed_sleeps | clock, turns | mpi_calls, streams | poll, live, storage |
 * work | region. tests/unit/test_includes.py sees that nothing points upward. */
#ifndef EXANET_LIB_NI_H
#define EXANET_LIB_NI_H

#include <stdbool.h>

#include "exanet/exanet.h"
#include "exanet/shm.h"
#include "runtime/lib/internal.h"

#define EXN_STOPPED_EXIT 75   /* EX_TEMPFAIL: the run was ended from outside */
#define EXN_FIRST_WINDOW_PS 16000000ull          /* 16 us */
#define EXN_LAST_WINDOW_PS 1000000000000ull      /* 1 s */

struct exn_thread;
struct exn_workers;
struct exn_texts;

/* The MPI call that a thread is in. */
struct exn_call {
  int testing; /* it is MPI_Test or one of its kin; nests */
  unsigned depth; /* of nested calls: the outermost one is the program's */
  uint32_t number; /* 1 + its index, as in the rank's slot; 0: none */
};
extern __thread __attribute__((tls_model("initial-exec"))) struct exn_call exn_call;
static inline int exn_testing(void) { return exn_call.testing; }
static inline bool exn_in_mpi(void) { return exn_call.depth > 0; }
static inline uint32_t exn_mpi_call(void) { return exn_call.number; }

/* State of a thread's polls. */
struct exn_polls {
  bool fresh; /* the next empty one is free: something was posted or found since the last one */
  unsigned spare; /* and so are so many after it */
  uint64_t window_ps; /* how far the next empty one looks ahead */
  uint32_t empty; /* empty waits since the last post, completion or MPI call */
  /* empty ones that do not wait (nonblocking_polls.c) */
  uint32_t nonblocking_left; /* how many are left to this MPI call */
  uint32_t own_work; /* how many more the next one-sided call may need */
  uint32_t nonblocking; /* how many there have been since the last other call or wait */
};
extern __thread __attribute__((tls_model("initial-exec"))) struct exn_polls exn_polls;

struct exanet_ni {
  struct exn_region *region;
  struct exn_rank *slot;
  uint32_t rank;
  const struct exn_workers *workers; /* of a packed rank's host, or NULL */
  int opened; /* exanet_open() count */
  uint64_t clock_ps;
  uint64_t woken_ps; /* the clock when the simulator last let the rank run */
  bool ahead; /* the clock has moved by non-blocking polls, and the simulator does not know */
  bool one_sided; /* calls on windows have been made: any call may have to serve the rank's own */
  bool rounds; /* collectives that go on in rounds between polls have been begun */
  bool multithreaded;
  bool asleep; /* several threads: one of them waits in virtual time */
  const void *in_storage; /* the exn_polls of the thread that is in a call on a file of a storage, or NULL */
  unsigned using_files; /* threads in the host's part of such a call */
  unsigned clock_reads; /* since the last other call */
  unsigned idle_polls; /* in free time */
  uint32_t served; /* waits for whoever connects since the last segment */
  /* completions that need no simulator: eager sends; a ring that grows */
  struct exanet_completion_small {
    uint64_t cookie, len;
    uint16_t ep;
  } *local;
  uint32_t local_head, local_count, local_size;
  uint32_t endpoints; /* endpoint numbers handed out */
  uint64_t next_key;
  uint64_t first_window_ps; /* how far an empty poll looks ahead that follows a post or a completion */
  /* computed in the present MPI call since it last posted or found something; of what was computed so far, that
     which a wait has swallowed */
  uint64_t idle_ps, swallowed_ps;
  /* slept, or gone by in reading the clock: added to the clock by the next call (threads may do so at once) */
  uint64_t pending_ps;
};

/* The calling thread's time, where computing counts: up to the rank's clock, or beyond it by what the thread has
   computed since it last was there (account.c). Otherwise of no meaning. */
extern __thread __attribute__((tls_model("initial-exec"))) uint64_t exn_own_ps;

static inline void exn_move(struct exanet_ni *ni, uint64_t ps) {
  ni->clock_ps += ps;
  exn_own_ps += ps;
}

static inline bool exn_virtual(const struct exanet_ni *ni) {
  return __atomic_load_n(&ni->region->phase, __ATOMIC_ACQUIRE) == EXN_VIRTUAL;
}

/* state.c */
void exn_set_process_ni(struct exanet_ni *ni);
bool exn_is_forgotten(void); /* by exanet_forget() */
void exn_exit_if_stopped(struct exanet_ni *ni);

/* sleep.c: a packed rank's host may have workers. */
void exn_find_workers(struct exanet_ni *ni);
/* Puts what is only read of large shared objects on the large pages that all ranks of `texts` share. */
void exn_share_texts(struct exn_texts *texts);
/* Whether the calling thread is the one that workers may take. */
bool exn_runs_on_worker(const struct exanet_ni *ni);
/* Gives the processor away until the simulator says so. `state` is an enum exn_state. */
void exn_sleep(struct exanet_ni *ni, uint32_t state, uint64_t deadline_ps, bool blocking);
void exn_kick(struct exanet_ni *ni); /* free time: the simulator has something to do */
void exn_await_stop(struct exanet_ni *ni); /* the program has ended: until the run has */
bool exn_free_wait(struct exanet_ni *ni); /* free time: a short real wait for a completion */

/* table.c */
bool exn_thread_is_in_place(bool in_place); /* it may sleep, and yet be at work; what it was before */

/* activity.c; the caller holds whatever serialises calls on the interface, as in turns.c */
void exn_step_is_over(void); /* of those that ask */
void exn_wait_was_empty(bool was_long);
bool exn_others_wait_for_ever(
    void); /* no other thread does anything before something arrives; costs some microseconds */

/* turns.c */
void exn_something_happened(void); /* posted */
void exn_completion_came(void);
void exn_dealt_with(void); /* a poll: what the last one found has gone its way */
void exn_thread_enters_mpi(struct exanet_ni *ni, bool asks); /* asks: MPI_Test and its kin */
void exn_thread_leaves_mpi(void);
void exn_may_hold(void); /* before several threads call */
bool exn_other_threads_run(void); /* after an empty poll: does another thread have work? Then the caller steps aside. */

/* nonblocking_polls.c */
void exn_nonblocking_begin(struct exanet_ni *ni, enum exanet_call_kind kind);
void exn_nonblocking_end(struct exanet_ni *ni, enum exanet_call_kind kind);
bool exn_poll_is_nonblocking(struct exanet_ni *ni); /* this empty poll does not wait */
void exn_add_nonblocking(struct exanet_ni *ni); /* a wait was empty */
bool exn_catch_up(struct exanet_ni *ni); /* true: the simulator has run up to this rank's clock */

/* timed_sleeps.c */
uint64_t exn_next_sleep_end(void); /* the earliest end of a sleep, on the rank's clock; UINT64_MAX: nobody sleeps */
void exn_wake_nappers(struct exanet_ni *ni); /* those whose time the rank's clock has reached */
bool exn_is_woken(void); /* the calling thread has been woken, and others let it go first */
void exn_let_woken_go_first(void); /* before time passes: until they sleep again, wait or have computed for long */
void exn_thread_goes(struct exn_thread *thread); /* it ends, or is no more waited for */

/* streams.c */
extern uint64_t exn_streams_arrived; /* how often */
void exn_stream_arrived(struct exanet_ni *ni, const union exn_completion *c);

/* poll.c */
int exn_local_grow(struct exanet_ni *ni);

/* account.c */
void exn_account_enter(struct exanet_ni *ni); /* CPU time used by the program becomes virtual time */
void exn_account_stop(struct exanet_ni *ni); /* the same, and an emulated processor counts nothing until: */
void exn_account_leave(struct exanet_ni *ni);
void exn_count(const struct exanet_ni *ni); /* the same becomes time of the calling thread; computing counts */
void exn_take_from_waiting(void); /* the calling thread learns the times of those that it has created and that wait */
void exn_charge_nonblocking(struct exanet_ni *ni);
static inline void exn_charge(struct exanet_ni *ni, uint64_t ps) {
  if (!exn_virtual(ni)) return;
  exn_move(ni, ps);
  ni->slot->library_ps += ps;
}

#endif
