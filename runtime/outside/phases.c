/* SPDX-License-Identifier: Apache-2.0
 * Where a recording outside the simulator begins and ends: MPI_Init and MPI_Finalize.
 *
 * The folder takes one program. Its rank 0 makes its stream there first, and reports to the others whether it could:
 * a second program, started after the first or beside it, finds the stream and is not recorded, not even by those of
 * its ranks whose numbers the first one does not have.
 *
 * Limit: a program that begins MPI by sessions alone is not recorded. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/outside/native.h"
#include "runtime/record/library.h"
#include "runtime/record/record.h"

/* Calls that not every MPI has are not seen where their wrappers are not preloaded. */
static void warn_of(const char *call, const char *library) {
  void *seen = dlsym(RTLD_DEFAULT, call);
  if (exanet_mpi_real(call) == NULL || (seen != NULL && exanet_is_in_library(seen, library))) return;
  fprintf(stderr,
          "exanet: %s and its kin would not be recorded, since it was not clear which MPI this is: write the "
          "program itself behind the launcher, not a script\n",
          call);
}

/* Whether this rank is recorded. */
static bool open_stream(void) {
  exanet_record_open(exanet_native_ni(), exanet_mpi_real);
  const bool opened = exanet_recording;
  exanet_recording = false; /* not yet: the ranks have to talk to each other */
  return opened;
}

static void begin_recording(void) {
  if (getenv("EXANET_RECORD") == NULL || exanet_recording) return;
  if (exanet_mpi_find_out(exanet_mpi_real) != NULL) {
    open_stream(); /* says why not */
    return;
  }
  int rank = 0, ranks = 1;
  exanet_mpi.comm_rank((long)exanet_mpi.world, &rank);
  exanet_mpi.comm_size((long)exanet_mpi.world, &ranks);
  exanet_native_is(rank, ranks);
  bool opened = rank == 0 && open_stream();
  unsigned char first = opened;
  exanet_mpi.bcast(&first, 1, (long)exanet_mpi.byte, 0, (long)exanet_mpi.world);
  if (rank > 0 && first) opened = open_stream();
  if (opened && rank == 0) {
    warn_of("MPI_Gatherv_c", "libexanet-record-lists");
    warn_of("MPI_Barrier_init", "libexanet-record-persistent");
  }
  exanet_native_skip();
  exanet_native_is_recorded(opened);
  exanet_recording = opened;
}

static void end_recording(void) {
  if (!exanet_recording) return;
  exanet_native_count();
  exanet_record_close(exanet_native_ni());
  exanet_native_is_recorded(false);
}

static void forget_in_child(void) {
  exanet_recording = false;
  exanet_native_is_recorded(false);
}
static __attribute__((constructor)) void watch_forks(void) { pthread_atfork(NULL, NULL, forget_in_child); }

typedef int (*init_function)(int *argc, char ***argv);
typedef int (*init_thread_function)(int *argc, char ***argv, int required, int *provided);
typedef int (*finalize_function)(void);

static int init(init_function real, int *argc, char ***argv) {
  exanet_mpi_depth++;
  int result = real(argc, argv);
  if (exanet_mpi_depth == 1 && result == 0) begin_recording();
  exanet_mpi_depth--;
  return result;
}

static int init_thread(init_thread_function real, int *argc, char ***argv, int required, int *provided) {
  exanet_mpi_depth++;
  int result = real(argc, argv, required, provided);
  if (exanet_mpi_depth == 1 && result == 0) begin_recording();
  exanet_mpi_depth--;
  return result;
}

static int finalize(finalize_function real) {
  if (exanet_mpi_depth == 0) end_recording();
  exanet_mpi_depth++;
  int result = real();
  exanet_mpi_depth--;
  return result;
}

EXANET_BOTH_NAMES(Init, init_function, int, (int *argc, char ***argv), init(real, argc, argv))
EXANET_BOTH_NAMES(Init_thread, init_thread_function, int, (int *argc, char ***argv, int required, int *provided),
                  init_thread(real, argc, argv, required, provided))
EXANET_BOTH_NAMES(Finalize, finalize_function, int, (void), finalize(real))
