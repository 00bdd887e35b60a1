/* SPDX-License-Identifier: Apache-2.0
 * Windows of memory that the ranks of a node share (MPI_Win_allocate_shared).
 *
 * Problem: for the MPI library no two ranks are on one node (locality.c), so it makes no such window; Open MPI 4
 * makes none at all, since its component for them is left out. A program may make one over ranks of a node of the
 * machine, and reads and writes there without the library.
 *
 * Model: the memory is made here, by the communicator's first rank; all map it, and make an ordinary window of their
 * parts, over which the library's calls go. MPI_Win_shared_query() is answered here. The ranks' parts follow each
 * other without gaps.
 *
 * Limits: what ranks load and store there takes the time that they compute and no other: the machine has no cost for
 * it. A rank that waits in a loop for what another one stores must sleep, yield, read a clock or call MPI there. The
 * window's flavor is that of MPI_Win_create. Ranks of several nodes get the library's error;
 * so do all, as far as it does not know better, in a program that is linked with the standard's binary interface, or
 * begins MPI by sessions alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nodes.h"
#include "runtime/collectives/members.h"
#include "runtime/record/library.h"

struct part {
  long bytes, unit;
};
struct segment {
  struct segment *next;
  uint64_t win;
  char *base;
  size_t bytes;
  int ranks;
  struct part parts[];
};

static struct {
  int (*allgather)(const void *from, int count, long type, void *to, int count_to, long type_to, long comm);
  int (*barrier)(long comm);
  int (*win_create)(void *base, long bytes, int unit, long info, long comm, void *win);
} own;
static bool ready, always; /* the library makes none, even for a single rank */
static struct segment *segments;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *mapped(int file, size_t bytes) {
  void *base = file >= 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  if (base != MAP_FAILED) return base;
  fprintf(stderr, "exanet: MPI_Win_allocate_shared: no shared memory of %zu B: %s\n", bytes, strerror(errno));
  abort(); /* the other ranks are in there, too */
}

/* The memory of all, which has no name: its other ranks open it as the first one's file. */
static void *map_together(long comm, int rank, size_t bytes) {
  int at[2] = {(int)getpid(), -1};
  if (rank == 0) {
    at[1] = memfd_create("exanet-window", MFD_CLOEXEC);
    if (at[1] >= 0 && ftruncate(at[1], (off_t)bytes) != 0) {
      close(at[1]);
      at[1] = -1;
    }
  }
  int file = at[1];
  exanet_mpi.bcast(at, sizeof at, (long)exanet_mpi.byte, 0, comm);
  if (rank != 0 && at[1] >= 0) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", at[0], at[1]);
    file = open(path, O_RDWR | O_CLOEXEC);
  }
  void *base = mapped(file, bytes);
  own.barrier(comm);
  close(file);
  return base;
}

/* The communicator's ranks are on one node, more than one. */
static bool is_on_a_node(const struct exanet_ni *ni, long comm, int size) {
  uint32_t *members = exanet_members_of(comm, size);
  bool same = members != NULL;
  for (int i = 0; i < size && same; i++) same = exanet_node_of(ni, members[i]) == exanet_node(ni);
  free(members);
  return same;
}

/* (bytes, unit, info, comm, base, win) */
static long allocate(exanet_mpi_function real, long unit, EXANET_MPI_ARGUMENTS) {
  const struct exanet_ni *ni = exanet_virtual_ni();
  int size = 0, rank = 0;
  if (!ready || ni == NULL || unit < 1 || unit > INT_MAX || a0 < 0 ||
      exanet_handle_of(a3) == exanet_mpi.no_communicator || exanet_mpi.comm_size(a3, &size) != 0 ||
      !((size == 1 && always) || is_on_a_node(ni, a3, size)))
    return real(EXANET_MPI_PASSED);
  exanet_mpi.comm_rank(a3, &rank);
  struct segment *made = exanet_kept(calloc(1, sizeof *made + (size_t)size * sizeof made->parts[0]));
  const struct part mine = {.bytes = a0, .unit = unit};
  const int status =
      own.allgather(&mine, sizeof mine, (long)exanet_mpi.byte, made->parts, sizeof mine, (long)exanet_mpi.byte, a3);
  if (status != 0) return free(made), status;
  size_t offset = 0;
  for (int i = 0; i < size; i++) {
    if (i == rank) offset = made->bytes;
    made->bytes += (size_t)made->parts[i].bytes;
  }
  made->ranks = size;
  made->base = map_together(a3, rank, made->bytes > 0 ? made->bytes : 1);
  *(void **)a4 = made->base + offset;
  const int result = own.win_create(made->base + offset, a0, (int)unit, a2, a3, (void *)a5);
  made->win = exanet_handle_of(exanet_handle_at(a5, 0));
  pthread_mutex_lock(&lock);
  made->next = segments;
  segments = made;
  pthread_mutex_unlock(&lock);
  return result;
}

/* (win): after it is gone, for a window that is the library's alone. */
static long freed(exanet_mpi_function real, EXANET_MPI_ARGUMENTS) {
  const uint64_t win = segments != NULL ? exanet_handle_of(exanet_handle_at(a0, 0)) : 0;
  pthread_mutex_lock(&lock);
  struct segment **at = &segments;
  while (*at != NULL && (*at)->win != win) at = &(*at)->next;
  struct segment *gone = *at;
  if (gone != NULL) *at = gone->next;
  pthread_mutex_unlock(&lock);
  const long status = real(EXANET_MPI_PASSED);
  if (gone != NULL) munmap(gone->base, gone->bytes > 0 ? gone->bytes : 1);
  free(gone);
  return status;
}

/* False: the window is none of ours. Of MPI_PROC_NULL (any negative number) it is the first part with memory. */
static bool answered(long win, int rank, long *bytes, long *unit, void **base) {
  pthread_mutex_lock(&lock);
  const struct segment *of = segments;
  while (of != NULL && of->win != exanet_handle_of(win)) of = of->next;
  if (of != NULL && rank < of->ranks) {
    char *part = of->base;
    int i = 0;
    for (; rank < 0 ? i < of->ranks - 1 && of->parts[i].bytes == 0 : i < rank; i++) part += of->parts[i].bytes;
    *bytes = of->parts[i].bytes;
    *unit = of->parts[i].unit;
    *base = part;
  }
  pthread_mutex_unlock(&lock);
  return of != NULL && rank < of->ranks;
}

typedef int (*query_function)(long win, int rank, long *bytes, int *unit, void *base);
static int query(query_function real, long win, int rank, long *bytes, int *unit, void *base) {
  long wide = 0;
  if (!answered(win, rank, bytes, &wide, base)) return real(win, rank, bytes, unit, base);
  *unit = (int)wide;
  return 0;
}
EXANET_BOTH_NAMES(Win_shared_query, query_function, int, (long win, int rank, long *bytes, int *unit, void *base),
                  query(real, win, rank, bytes, unit, base))

/* An MPI older than version 4 has none, which a program that found ours does not know. */
typedef int (*large_query_function)(long win, int rank, long *bytes, long *unit, void *base);
static int large_query(const char *name, const char *plain, long win, int rank, long *bytes, long *unit, void *base) {
  if (answered(win, rank, bytes, unit, base)) return 0;
  const large_query_function real = (large_query_function)exanet_mpi_real(name);
  if (real != NULL) return real(win, rank, bytes, unit, base);
  int narrow = 0;
  const query_function other = (query_function)exanet_mpi_own(&(void *){NULL}, plain);
  const int status = other(win, rank, bytes, &narrow, base);
  *unit = narrow;
  return status;
}
#define LARGE_QUERY(prefix)                                                                                       \
  EXPORT int prefix##_Win_shared_query_c(long win, int rank, long *bytes, long *unit, void *base);                \
  EXPORT int prefix##_Win_shared_query_c(long win, int rank, long *bytes, long *unit, void *base) {               \
    return large_query(#prefix "_Win_shared_query_c", #prefix "_Win_shared_query", win, rank, bytes, unit, base); \
  }
LARGE_QUERY(MPI)
LARGE_QUERY(PMPI)

static exanet_mpi_function real[2][3]; /* [PMPI][plain, with large counts, the end] */
#define STANDS_FOR(pmpi, name)                                                                                   \
  static long name##_plain(EXANET_MPI_ARGUMENTS) { return allocate(real[pmpi][0], (int)a1, EXANET_MPI_PASSED); } \
  static long name##_large(EXANET_MPI_ARGUMENTS) { return allocate(real[pmpi][1], a1, EXANET_MPI_PASSED); }      \
  static long name##_freed(EXANET_MPI_ARGUMENTS) { return freed(real[pmpi][2], EXANET_MPI_PASSED); }
STANDS_FOR(0, mpi)
STANDS_FOR(1, pmpi)

exanet_mpi_function exanet_shared_windows_mended(const char *name, exanet_mpi_function found) {
  static const char *const names[] = {"MPI_Win_allocate_shared", "MPI_Win_allocate_shared_c", "MPI_Win_free"};
  static const exanet_mpi_function ours[2][3] = {{mpi_plain, mpi_large, mpi_freed},
                                                 {pmpi_plain, pmpi_large, pmpi_freed}};
  const bool pmpi = name[0] == 'P';
  for (int i = 0; i < 3; i++) {
    if (strcmp(name + pmpi, names[i]) != 0) continue;
    real[pmpi][i] = found;
    return ours[pmpi][i];
  }
  return found;
}

void exanet_shared_windows_open(const struct exanet_ni *ni) {
  const bool open_mpi_4 = exanet_mpi_real("ompi_mpi_comm_null") != NULL && exanet_mpi_real("MPI_Session_init") == NULL;
  if (!exanet_shares_nodes(ni) && !open_mpi_4) return;
  const struct exanet_wanted wanted[] = {
      {"PMPI_Allgather", &own.allgather}, {"PMPI_Barrier", &own.barrier}, {"PMPI_Win_create", &own.win_create}, {0}};
  if (exanet_mpi_find_out(exanet_mpi_real) != NULL || !exanet_mpi_functions(exanet_mpi_real, wanted)) return;
  exanet_members_open();
  always = open_mpi_4;
  ready = true;
}
