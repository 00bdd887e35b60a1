// SPDX-License-Identifier: Apache-2.0
// The program's threads, as those of one rank know of each other.
//
// Contract: each thread writes its own entry unless said otherwise; others read it. The files stand one above the
// other: table and tasks, activity, token, timed_sleeps, turns.
#ifndef EXANET_LIB_THREADS_H
#define EXANET_LIB_THREADS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define EXN_MOST_THREADS 256 /* a program's further threads take no turns, and nobody waits for them */
#define EXN_NO_SLEEP UINT64_MAX

/* Has the thread a part in what happens next? */
enum exn_timed_sleep {
  EXN_UP = 0, /* it does as it likes: it never slept, or has been computing for long */
  EXN_WOKEN, /* just started or woken from a timed sleep: it goes first, until it sleeps again or waits */
  EXN_IN_SLEEP, /* asleep until sleep_until_ps */
};

struct exn_thread {
  pid_t tid; /* 0: free; EXN_COMING: its creator has reserved it */
  uint32_t order; /* by creation; whoever creates it */
  int stat; /* file descriptor of its state in /proc, 1 more; whoever looks, under the token's lock */
  bool helper; /* the MPI library's own: it lives in the system's time, and nobody waits for it */
  bool in_mpi;
  bool has_polled; /* in the present MPI call: it has posted or polled */
  bool asks; /* the present or last MPI call is MPI_Test or its kin */
  bool at_lock; /* asleep on a lock inside MPI, with something to do behind it */
  bool sleeps; /* it said so: asleep, or about to be, or woken */
  uint64_t limit_ps; /* asleep until something happens, or until this time of the rank's clock; 0: not so */
  bool in_place; /* asleep in libexanet, and yet at work: in virtual time, or until others have gone first */
  bool blind; /* has spun without a poll: another one may hold a lock that it polls under */
  bool in_poll; /* waits for the token there, maybe with a lock that is not seen here */
  /* stopped by a signal where only what it has posted itself can help it: empty waits until then, 1 more; 0: not so */
  uint32_t held;
  bool news; /* of that something has completed; whoever polls */
  bool queued; /* waits for the token; the token's lock */
  bool checks; /* and checks the one that has it, at short intervals; the same lock */
  uint32_t go; /* futex: one more each time that it is given the token */
  uint32_t idle_epoch, idle_step; /* of its last empty poll (activity.c) */
  uint32_t acts; /* one more each time that it does something that is seen here */
  /* those when another thread first saw it at work, its processor time and the epoch then; the token's lock */
  uint32_t seen_acts;
  uint32_t seen_epoch;
  uint64_t seen_ns;
  /* its processor time when another thread first saw it asleep, and the host's time; the token's lock */
  uint64_t slept_ns, slept_since;
  uint32_t timed_sleep; /* enum exn_timed_sleep; also whoever wakes it; futex */
  uint64_t sleep_until_ps; /* on the rank's clock */
  uint32_t yields; /* outside MPI, since it last did anything else that is seen here */
  uint64_t yielded_ns; /* the last one, in the host's time */
  /* who has created it; the time from which it waits for others outside MPI, and 1 ps; 0: it does not */
  struct exn_thread *creator;
  uint64_t waits_from_ps;
  const void *part_of; /* and its processor time when it began with that */
  uint64_t part_ps;
  uint64_t woken_ns; /* its processor time when it was woken; whoever looks */
};

#define EXN_COMING ((pid_t) - 1)

/* -- tasks.c: what the kernel says --------------------------------------------------------------------------------- */
/* Whether the kernel has it on a processor, or waiting for one or for its memory. */
bool exn_thread_runs(pid_t tid);
uint64_t exn_thread_ns(pid_t tid); /* its processor time */
int exn_task_open_stat(pid_t tid); /* a file that says so of it again and again: */
bool exn_task_stat_runs(int stat);
bool exn_task_sleeps_on_futex(pid_t tid);
uint64_t exn_host_ns(void);
/* cycles.c: those of an emulated processor, where there is one; 0 for a thread that is not known. */
bool exn_counts_cycles(void);
uint64_t exn_cycles(pid_t tid);
uint64_t exn_own_cycles(void);
uint64_t exn_cycles_to_ps(uint64_t cycles);
void exn_cycles_stop(bool stop); /* whether the calling thread's count; without an emulated processor nothing */
void exn_cycles_begin(void); /* anew, for the calling thread */
uint64_t exn_host_coarse_ns(void); /* to some milliseconds, for less */

/* -- table.c ------------------------------------------------------------------------------------------------------- */
extern struct exn_thread exn_threads[EXN_MOST_THREADS];
extern struct exn_thread *exn_token_holder; /* NULL: nobody; token.c */
extern __thread __attribute__((tls_model("initial-exec"))) struct exn_thread *exn_me; /* NULL: it has no entry yet */
extern void (*exn_thread_ends)(struct exn_thread *thread); /* called by a thread that ends; turns.c */
struct exn_thread *exn_threads_end(void); /* entries from here on have never been used */
struct exn_thread *exn_own_thread(void); /* NULL: there are too many */
void exn_thread_free(struct exn_thread *thread); /* its entry is another thread's from then on */
/* Whether `is` holds for any other thread of the program; `thread` is NULL for those that have no entry. */
bool exn_any_other_thread(bool (*is)(struct exn_thread *thread, pid_t tid));
static inline bool exn_token_is_with(const struct exn_thread *me) {
  return __atomic_load_n(&exn_token_holder, __ATOMIC_ACQUIRE) == me;
}

/* -- activity.c ---------------------------------------------------------------------------------------------------- */
void exn_begin_epoch(void);
void exn_set_idle(struct exn_thread *me); /* its poll was empty */
void exn_set_busy(struct exn_thread *me);
void exn_set_held(struct exn_thread *me); /* until its own operations complete, or a long wait has been empty */
void exn_acts(struct exn_thread *me); /* it does something that others see */
bool exn_thread_only_yields(const struct exn_thread *thread); /* it spins outside MPI, and lets others go first */
bool exn_thread_spins_idly(const struct exn_thread *thread); /* inside MPI, without the token */
/* It runs, is not in the queue for the token, and has not yet computed or spun for longer than others wait. The
   token's lock is held. */
bool exn_thread_may_act(struct exn_thread *thread, uint64_t limit_ns);
/* Stopped by a signal, and nothing that it has posted has completed since. */
bool exn_thread_is_held(const struct exn_thread *thread);
/* Whether it has polled for what it waits for since anything last happened. */
bool exn_thread_is_idle(const struct exn_thread *thread);

/* -- token.c: one of a rank's threads at a time is inside MPI, in an order that the host has no part in ------------ */
#define EXN_HOLD_SIGNAL (SIGRTMAX - 3) /* stops a thread that has lost the token, and spins; turns.c handles it */
void exn_token_lock(void);
void exn_token_unlock(void);
void exn_token_take(struct exn_thread *me);
void exn_token_let_others_go_first(struct exn_thread *me);
void exn_token_queue_where_it_is(struct exn_thread *me); /* in a signal handler */
void exn_token_give(struct exn_thread *me); /* before it sleeps or ends; nothing if it has none */

#endif
