/* SPDX-License-Identifier: Apache-2.0
 * The machine's nodes as a program sees them: the name of a rank's, and which ranks share it.
 *
 * Problem: the MPI library is to believe that each rank is alone on its node (locality.c), or ranks of a node would
 * reach each other through the real host's memory, in no virtual time. Programs that are made for nodes (hybrid
 * ones, and those that do themselves what a node does once) ask the library by MPI_Get_processor_name() and
 * MPI_Comm_split_type(), and are to hear of the machine's nodes.
 *
 * Model: both calls are answered here. A name is the node's number. MPI_COMM_TYPE_SHARED is a split by the node's
 * number; what the ranks of it send each other takes the simulated machine's time: its interface's, or that of
 * copies through memory (core/nic/shared_memory). Where no node has two ranks the library's own answer is right.
 *
 * Limits: the library's own collectives know no nodes. Other types of a split (sockets, caches) are the library's,
 * which puts each rank alone; where some ranks give such a type, none may give MPI_UNDEFINED. The host's name
 * (gethostname) stays. */
#include "nodes.h"

#include <stdio.h>
#include <string.h>

enum { UNDEFINED = -32766, SHARED_OF_MPICH = 1, SHARED_OF_OPEN_MPI = 0 };

static int processor_name(int (*real)(char *name, int *length), char *name, int *length) {
  const struct exanet_ni *ni = exanet_process_ni();
  if (ni == NULL) return real(name, length);
  *length = sprintf(name, "node%u", exanet_node(ni)); /* MPI_MAX_PROCESSOR_NAME is 128 and more */
  return 0;
}

typedef int (*name_function)(char *name, int *length);
EXANET_BOTH_NAMES(Get_processor_name, name_function, int, (char *name, int *length), processor_name(real, name, length))

static exanet_mpi_function real_mpi, real_pmpi;

/* (comm, type, key, info, made) */
static long split(exanet_mpi_function real, EXANET_MPI_ARGUMENTS) {
  static void *slot;
  const struct exanet_ni *ni = exanet_virtual_ni();
  const int type = (int)a1;
  const int shared = exanet_mpi_real("ompi_mpi_comm_null") != NULL ? SHARED_OF_OPEN_MPI : SHARED_OF_MPICH;
  if (ni == NULL || !exanet_shares_nodes(ni) || (type != shared && type != UNDEFINED)) return real(EXANET_MPI_PASSED);
  typedef int (*split_function)(long comm, int color, int key, long made);
  const split_function by_color = (split_function)exanet_mpi_own(&slot, "PMPI_Comm_split");
  return by_color(a0, type == UNDEFINED ? UNDEFINED : (int)exanet_node(ni), (int)a2, a4);
}

static long mpi_split(EXANET_MPI_ARGUMENTS) { return split(real_mpi, EXANET_MPI_PASSED); }
static long pmpi_split(EXANET_MPI_ARGUMENTS) { return split(real_pmpi, EXANET_MPI_PASSED); }

exanet_mpi_function exanet_nodes_mended(const char *name, exanet_mpi_function found) {
  const bool pmpi = name[0] == 'P';
  if (strcmp(name + pmpi, "MPI_Comm_split_type") != 0) return found;
  *(pmpi ? &real_pmpi : &real_mpi) = found;
  return pmpi ? pmpi_split : mpi_split;
}
