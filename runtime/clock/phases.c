/* SPDX-License-Identifier: Apache-2.0
 * Where the phases of a run begin and end: MPI_Init (all ranks meet, virtual time starts), MPI_Finalize (all meet, it ends), MPI_Abort;
 * and MPI_Wtime. Start-up and shut-down, with their process management over sockets, take no virtual time.
 *
 * Limit: a program that uses MPI 4's sessions only never leaves the free phase. */
#include "exanet/mpi_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

/* MPI_THREAD_MULTIPLE in MPICH and Open MPI, and in the standard's binary interface (MPI 5). */
enum { THREAD_MULTIPLE = 3, THREAD_MULTIPLE_ABI = 4096 };

static struct exanet_ni *opened;

/* After the library's own MPI_Init: joins the other ranks in virtual time. Once in a process. */
static void enter_virtual_phase(int provided) {
  if (opened != NULL || getenv("EXANET_NI") == NULL) return;
  int status = exanet_open(&opened);
  if (status == 0) {
    if (provided == THREAD_MULTIPLE || provided == THREAD_MULTIPLE_ABI) exanet_note_thread_multiple(opened);
    status = exanet_start(opened);
  }
  if (status != 0) {
    fprintf(stderr, "exanet: cannot join the simulated machine named by EXANET_NI: %s\n", strerror(-status));
    _exit(1);
  }
}

typedef int (*init_function)(int *argc, char ***argv);
typedef int (*init_thread_function)(int *argc, char ***argv, int required, int *provided);
typedef int (*finalize_function)(void);
typedef int (*abort_function)(void *comm, int code);
typedef double (*time_function)(void);

static void *own(void **slot, const char *name) {
  if (*slot == NULL) *slot = exanet_mpi_real(name);
  if (*slot != NULL) return *slot;
  fprintf(stderr, "exanet: this process called %s, but no MPI library in it has that function\n", name);
  abort();
}

static int init(init_function real, int *argc, char ***argv) {
  exanet_mpi_depth++;
  int result = real(argc, argv);
  if (--exanet_mpi_depth == 0 && result == 0) enter_virtual_phase(0);
  return result;
}

static int init_thread(init_thread_function real, int *argc, char ***argv, int required, int *provided) {
  exanet_mpi_depth++;
  int result = real(argc, argv, required, provided);
  if (--exanet_mpi_depth == 0 && result == 0) enter_virtual_phase(*provided);
  return result;
}

static int finalize(finalize_function real) {
  struct exanet_ni *ni = exanet_mpi_depth == 0 ? exanet_virtual_ni() : NULL;
  exanet_mpi_depth++;
  if (ni != NULL) {
    exanet_mpi_enter(ni, EXANET_MPI_Finalize);
    exanet_finish(ni);
    exanet_mpi_leave(ni, EXANET_MPI_Finalize);
  }
  int result = real();
  if (--exanet_mpi_depth == 0 && opened != NULL) {
    exanet_close(opened);
    opened = NULL;
  }
  return result;
}

static int abort_run(abort_function real, void *comm, int code) {
  struct exanet_ni *ni = exanet_process_ni();
  if (ni != NULL && exanet_mpi_depth == 0) exanet_abort(ni, code);
  exanet_mpi_depth++;
  int result = real(comm, code);
  exanet_mpi_depth--;
  return result;
}

static double wtime(time_function real) {
  struct exanet_ni *ni = exanet_virtual_ni();
  return ni != NULL ? (double)exanet_clock_read(ni) * 1e-12 : real();
}

/* The virtual clock ticks in picoseconds. */
static double wtick(time_function real) { return exanet_virtual_ni() != NULL ? 1e-12 : real(); }

#define BOTH(NAME, type, result, parameters, ...)                 \
  EXPORT result MPI_##NAME parameters;                            \
  EXPORT result PMPI_##NAME parameters;                           \
  EXPORT result MPI_##NAME parameters {                           \
    static void *slot;                                            \
    type real = (type)own(&slot, "MPI_" #NAME);                   \
    return __VA_ARGS__;                                           \
  }                                                               \
  EXPORT result PMPI_##NAME parameters {                          \
    static void *slot;                                            \
    type real = (type)own(&slot, "PMPI_" #NAME);                  \
    return __VA_ARGS__;                                           \
  }

BOTH(Init, init_function, int, (int *argc, char ***argv), init(real, argc, argv))
BOTH(Init_thread, init_thread_function, int, (int *argc, char ***argv, int required, int *provided),
     init_thread(real, argc, argv, required, provided))
BOTH(Finalize, finalize_function, int, (void), finalize(real))
/* The communicator is an int in MPICH and a pointer in Open MPI; as a pointer it fits both (calls.c). */
BOTH(Abort, abort_function, int, (void *comm, int code), abort_run(real, comm, code))
BOTH(Wtime, time_function, double, (void), wtime(real))
BOTH(Wtick, time_function, double, (void), wtick(real))
