/* SPDX-License-Identifier: Apache-2.0
 * Whose thread is it?
 *
 * Problem: the program's threads live in virtual time; those of the MPI library (asynchronous progress, PMIx, launch
 * daemons' event loops) keep the system's clocks, since they deal with the outside world.
 *
 * Model: a thread belongs to the library if it was created inside an MPI call or by another of the library's
 * threads. The program's threads are counted, and take turns inside MPI once there are several and the library has
 * granted MPI_THREAD_MULTIPLE.
 *
 * Limits: threads that are made without pthread_create() are nobody's. A forked child is no rank any more. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "meetings.h"

static atomic_int thread_multiple;

/* Several threads that may all call MPI: granted by the library, and there is in fact more than one. mpi4py asks for
   it always. */
static void set_multithreaded_if(struct exanet_ni *ni) {
  if (ni != NULL && atomic_load(&thread_multiple) && exanet_program_threads() > 0) exanet_set_multithreaded(ni);
}

void exanet_note_thread_multiple(struct exanet_ni *ni) {
  atomic_store(&thread_multiple, 1);
  set_multithreaded_if(ni);
}

struct start {
  void *(*routine)(void *);
  void *argument;
  int helper;
  uint64_t from_ps; /* its creator's time */
  bool expected; /* in virtual time others let it go first */
  struct exn_thread *entry;
};

static const void *own_end(void) { return (const void *)pthread_self(); } /* NOLINT(performance-no-int-to-ptr) */

static void end(void *unused) {
  (void)unused;
  exanet_gives(own_end());
  exanet_program_thread_ends();
}

static void *run(void *argument) {
  struct start start = *(struct start *)argument;
  free(argument);
  if (start.helper) {
    exanet_helper_thread = start.helper;
    exanet_thread_is_helper();
    return start.routine(start.argument);
  }
  void *result;
  exanet_thread_begins(start.entry);
  exanet_gives_no_more(own_end());
  exanet_thread_begins_at(start.from_ps);
  if (start.expected) exanet_thread_has_come();
  pthread_cleanup_push(end, NULL);
  result = start.routine(start.argument);
  pthread_cleanup_pop(1);
  return result;
}

typedef int (*create_function)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                          void *argument) {
  static void *slot;
  create_function real = (create_function)exanet_real(&slot, "pthread_create", "GLIBC_2.34");
  int helper = exanet_helper_thread || exanet_mpi_depth > 0;
  struct start *start = malloc(sizeof *start);
  if (start == NULL) return real(thread, attributes, routine, argument);
  *start = (struct start){routine, argument, helper, 0, !helper && exanet_virtual_ni() != NULL, NULL};
  if (!helper) {
    exanet_thread_time(&start->from_ps);
    start->entry = exanet_thread_expect();
    exanet_program_thread_begins();
    set_multithreaded_if(exanet_process_ni());
  }
  const bool expected = start->expected;
  if (expected) exanet_thread_is_coming();
  int status = real(thread, attributes, run, start);
  if (status == 0) return 0;
  if (expected) exanet_thread_has_not_come();
  if (!helper) exanet_program_thread_ends();
  exanet_thread_expect_no_more(start->entry);
  free(start);
  return status;
}

static void forget_in_child(void) {
  exanet_now_in_child();
  exanet_forget();
  exanet_mpi_depth = 0;
}

static __attribute__((constructor)) void watch_forks(void) { pthread_atfork(NULL, NULL, forget_in_child); }
