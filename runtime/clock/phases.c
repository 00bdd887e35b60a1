/* SPDX-License-Identifier: Apache-2.0
 * Where the phases of a run begin and end with MPI: MPI_Init or the first session (all ranks meet, virtual time
 * starts), MPI_Finalize or the end of the last session, whichever is later (all meet, it ends), MPI_Abort; and
 * MPI_Wtime. Start-up and shut-down, with their process management over sockets, take no virtual time. The library's
 * shut-down is left out where ranks have died with their hosts, since it would wait for them. (users.c counts who uses
 * virtual time, MPI or not.)
 *
 * Limits: virtual time does not begin again, so a session after the last one's end is refused. Open MPI 5 makes a
 * communicator from a group through its launcher, in real time: a rank that is in there keeps virtual time from
 * passing for the others. */
#include <stdbool.h>
#include <stddef.h>

#include "exanet/mpi_calls.h"
#include "nodes.h"
#include "runtime/collectives/bcast.h"
#include "runtime/collectives/offload.h"
#include "runtime/record/record.h"
#include "runtime/simulated/simulated.h"
#include "tsc.h"

/* MPI_THREAD_MULTIPLE in MPICH and Open MPI, and in the standard's binary interface (MPI 5). */
enum { THREAD_MULTIPLE = 3, THREAD_MULTIPLE_ABI = 4096 };

/* After the library's own MPI_Init or MPI_Session_init: joins the other ranks in virtual time. */
static void enter_virtual_phase(int provided, bool has_world) {
  struct exanet_ni *ni = exanet_users_add("MPI");
  if (ni == NULL) return;
  if (provided == THREAD_MULTIPLE || provided == THREAD_MULTIPLE_ABI) exanet_note_thread_multiple(ni);
  if (has_world) {
    exanet_bcast_open(ni, exanet_mpi_real);
    exanet_offload_open(ni, exanet_mpi_real);
    exanet_shared_windows_open(ni);
  }
  exanet_users_start(ni);
  exanet_uncounted_begin(ni);
  exanet_record_open(ni, exanet_mpi_real);
  if (exanet_simulated_open(ni, exanet_mpi_real, has_world)) exanet_mpi_instead = exanet_simulated_call;
  exanet_uncounted_end(ni);
  exanet_users_done();
}

/* Before the library's own MPI_Finalize or MPI_Session_finalize: the last one ends virtual time. */
static void leave_virtual_phase(void) {
  struct exanet_ni *ni = exanet_users_remove();
  if (ni == NULL) return;
  exanet_mpi_enter(ni, EXANET_MPI_Finalize, EXANET_CALL_PLAIN);
  exanet_uncounted_begin(ni);
  exanet_record_close(ni);
  exanet_uncounted_end(ni);
  exanet_finish(ni);
  if (!exanet_ranks_have_died(ni)) {
    exanet_bcast_close();
    exanet_offload_close();
  }
  exanet_mpi_leave(ni, EXANET_MPI_Finalize, EXANET_CALL_PLAIN);
  exanet_users_done();
}

typedef int (*init_function)(int *argc, char ***argv);
typedef int (*init_thread_function)(int *argc, char ***argv, int required, int *provided);
typedef int (*finalize_function)(void);
typedef int (*session_init_function)(long info, long errhandler, void *session);
typedef int (*session_finalize_function)(void *session);
typedef int (*abort_function)(void *comm, int code);
typedef double (*time_function)(void);

static int init(init_function real, int *argc, char ***argv) {
  exanet_tsc_release();
  exanet_mpi_depth++;
  int result = real(argc, argv);
  if (--exanet_mpi_depth == 0 && result == 0) enter_virtual_phase(0, true);
  exanet_tsc_trap();
  return result;
}

static int init_thread(init_thread_function real, int *argc, char ***argv, int required, int *provided) {
  exanet_tsc_release();
  exanet_mpi_depth++;
  int result = real(argc, argv, required, provided);
  if (--exanet_mpi_depth == 0 && result == 0) enter_virtual_phase(*provided, true);
  exanet_tsc_trap();
  return result;
}

static int finalize(finalize_function real) {
  if (exanet_mpi_depth == 0) leave_virtual_phase();
  if (exanet_users_lost_ranks()) return 0;
  exanet_mpi_depth++;
  int result = real();
  exanet_mpi_depth--;
  return result;
}

int exanet_session_init(const char *name, long info, long errhandler, void *session) {
  session_init_function real = (session_init_function)exanet_mpi_own(&(void *){NULL}, name);
  exanet_tsc_release();
  exanet_mpi_depth++;
  int result = real(info, errhandler, session);
  /* The level of threads that was granted stands in the session's info: taken as the highest. */
  if (--exanet_mpi_depth == 0 && result == 0) enter_virtual_phase(THREAD_MULTIPLE, false);
  exanet_tsc_trap();
  return result;
}

int exanet_session_finalize(const char *name, void *session) {
  session_finalize_function real = (session_finalize_function)exanet_mpi_own(&(void *){NULL}, name);
  if (exanet_mpi_depth == 0) leave_virtual_phase();
  if (exanet_users_lost_ranks()) return 0;
  exanet_mpi_depth++;
  int result = real(session);
  exanet_mpi_depth--;
  return result;
}

static int abort_run(abort_function real, void *comm, int code) {
  struct exanet_ni *ni = exanet_process_ni();
  if (ni != NULL && exanet_mpi_depth == 0) exanet_abort(ni, code);
  exanet_mpi_depth++;
  exanet_helper_thread = EXANET_ABORTS;
  int result = real(comm, code);
  exanet_mpi_depth--;
  return result;
}

static double wtime(time_function real) { return exanet_in_program_time() ? (double)exanet_now_ps() * 1e-12 : real(); }

/* The program's time is counted in picoseconds. */
static double wtick(time_function real) { return exanet_in_program_time() ? 1e-12 : real(); }

EXANET_BOTH_NAMES(Init, init_function, int, (int *argc, char ***argv), init(real, argc, argv))
EXANET_BOTH_NAMES(Init_thread, init_thread_function, int, (int *argc, char ***argv, int required, int *provided),
                  init_thread(real, argc, argv, required, provided))
EXANET_BOTH_NAMES(Finalize, finalize_function, int, (void), finalize(real))
/* The communicator is an int in MPICH and a pointer in Open MPI; as a pointer it fits both (calls.c). */
EXANET_BOTH_NAMES(Abort, abort_function, int, (void *comm, int code), abort_run(real, comm, code))
EXANET_BOTH_NAMES(Wtime, time_function, double, (void), wtime(real))
EXANET_BOTH_NAMES(Wtick, time_function, double, (void), wtick(real))
