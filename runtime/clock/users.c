/* SPDX-License-Identifier: Apache-2.0
 * Who uses virtual time in this process: MPI, each of its sessions, OpenSHMEM, or libfabric alone. It begins with the
 * first of them and ends with the last.
 *
 * Model: a library other than MPI says when its set-up begins and is over, and when it is about to end
 * (runtime/shmem, alone.c). Inside either it is inside the library, as in an MPI call, so that it
 * gets the host's time from clocks. A program that exits with status 0 and has not ended its library ends virtual time
 * by that.
 *
 * Limit: virtual time does not begin again. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "tsc.h"

static struct exanet_ni *opened;
static int users;
static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER; /* threads may open sessions at once */

static _Noreturn void cannot_join(int status) {
  if (status == -EBUSY) {
    fprintf(stderr,
            "exanet: a second process of rank %s wants to use the simulated network, and only one of a rank can; start "
            "the other one as a rank of its own\n",
            getenv("EXANET_RANK"));
    _exit(1);
  }
  fprintf(stderr, "exanet: cannot join the simulated machine named by EXANET_NI: %s\n", strerror(-status));
  _exit(1);
}

struct exanet_ni *exanet_users_add(const char *library) {
  if (getenv("EXANET_NI") == NULL) return NULL;
  pthread_mutex_lock(&users_lock);
  if (users++ > 0) {
    pthread_mutex_unlock(&users_lock);
    return NULL;
  }
  if (opened != NULL) {
    fprintf(
        stderr,
        "exanet: this program begins %s again after it has ended it, and virtual time with it; keep it, or a session "
        "of MPI, open until the end\n",
        library);
    _exit(1);
  }
  const int status = exanet_open(&opened);
  if (status != 0) cannot_join(status);
  return opened;
}

void exanet_users_start(struct exanet_ni *ni) {
  exanet_note_before(ni, exanet_now_ps());
  const int status = exanet_start(ni);
  exanet_still_until(exanet_before_ps(ni));
  if (status != 0) cannot_join(status);
}

struct exanet_ni *exanet_users_remove(void) {
  pthread_mutex_lock(&users_lock);
  const bool last = users == 1;
  if (users > 0) --users;
  struct exanet_ni *ni = last ? exanet_virtual_ni() : NULL;
  if (ni == NULL) pthread_mutex_unlock(&users_lock);
  return ni;
}

bool exanet_users_lost_ranks(void) { return opened != NULL && exanet_ranks_have_died(opened); }

void exanet_users_done(void) { pthread_mutex_unlock(&users_lock); }

/* -- libraries other than MPI -------------------------------------------------------------------------------------- */
static void leave(void) {
  struct exanet_ni *ni = exanet_users_remove();
  if (ni == NULL) return;
  exanet_finish(ni);
  exanet_users_done();
}

static void leave_at_exit(int status, void *unused) {
  if (status == 0) leave();
}

void exanet_library_begins(void) {
  exanet_tsc_release();
  exanet_mpi_depth++;
}

void exanet_library_has_begun(const char *library, bool well) {
  struct exanet_ni *ni = --exanet_mpi_depth == 0 && well ? exanet_users_add(library) : NULL;
  if (ni != NULL) {
    exanet_polls_may_be_questions(ni);
    exanet_users_start(ni);
    exanet_users_done();
    on_exit(leave_at_exit, NULL); /* before what the library itself does then */
  }
  exanet_tsc_trap();
}

void exanet_library_ends(void) {
  if (exanet_mpi_depth == 0) leave();
  exanet_mpi_depth++;
}

void exanet_library_has_ended(void) { exanet_mpi_depth--; }

void exanet_library_aborts(int code) {
  struct exanet_ni *ni = exanet_process_ni();
  if (ni != NULL && exanet_mpi_depth == 0) exanet_abort(ni, code);
}
