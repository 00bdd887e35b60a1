/* SPDX-License-Identifier: Apache-2.0
 * MPI_Comm_spawn: refused with one message, since a run's ranks are those that it was started with.
 *
 * MPICH asks its launcher, which is ours and says no, and returns an error of its own. Open MPI's launcher would
 * start processes that find no interface of theirs and wait for ever, so it is not asked: the call fails as MPI says
 * a spawn fails, by the communicator's handler. */
#include <stdatomic.h>
#include <stdio.h>

#include "clock.h"

#define OPEN_MPI_ERR_SPAWN 50

typedef int (*spawn_function)(long, long, long, long, long, long, long, long, long);
typedef int (*call_handler_function)(long comm, int code);

static int spawn(const char *name, int comm_at, const long *a) {
  static atomic_flag warned = ATOMIC_FLAG_INIT;
  if (exanet_process_ni() != NULL && !atomic_flag_test_and_set(&warned))
    fprintf(stderr,
            "exanet: %s is not possible: all ranks of a simulated run are started together; start as many as are "
            "needed with exanet run -n\n",
            name);
  const call_handler_function call_handler = (call_handler_function)exanet_mpi_real("MPI_Comm_call_errhandler");
  if (exanet_process_ni() != NULL && exanet_mpi_real("ompi_mpi_comm_null") != NULL && call_handler != NULL) {
    call_handler(a[comm_at], OPEN_MPI_ERR_SPAWN);
    return OPEN_MPI_ERR_SPAWN;
  }
  const spawn_function real = (spawn_function)exanet_mpi_real(name);
  return real == NULL ? 1 : real(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]);
}

#define SPAWN(name, comm_at)                                                                         \
  EXPORT int name(long a0, long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8);  \
  EXPORT int name(long a0, long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8) { \
    const long arguments[] = {a0, a1, a2, a3, a4, a5, a6, a7, a8};                                   \
    return spawn(#name, comm_at, arguments);                                                         \
  }
/* (command, argv, maxprocs, info, root, comm, …) and (count, commands, argvs, maxprocs, infos, root, comm, …) */
SPAWN(MPI_Comm_spawn, 5)
SPAWN(PMPI_Comm_spawn, 5)
SPAWN(MPI_Comm_spawn_multiple, 6)
SPAWN(PMPI_Comm_spawn_multiple, 6)
