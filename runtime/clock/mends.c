/* SPDX-License-Identifier: Apache-2.0
 * Calls in which an MPI library crashes by a defect of its own, over any network, or answers what it may not, mended
 * here.
 *
 * MPICH, MPI_Win_test(): it is to say yes once the other ranks have called MPI_Win_complete(), as a barrier between
 * the two can make sure. How the epoch ended is a message like others, and may be longer than those that pass it. So
 * a no stands only when nothing is on its way to the rank.
 *
 * Open MPI 4, osc/rdma over btl/ofi: MPI_Compare_and_swap() of eight bytes in a window of a single process hands the
 * network an atomic operation on memory that it has not registered. The only process that can reach such a window is
 * the caller, so its processor does it. */
#include <string.h>

#include "nodes.h"
#include "runtime/collectives/bcast.h"
#include "runtime/collectives/offload.h"

#define OPEN_MPI_WIN_BASE 7
#define OPEN_MPI_WIN_SIZE 8
#define OPEN_MPI_WIN_DISP_UNIT 9
#define MOST_QUESTIONS 1000

/* The library's own, which move no clock of the program's and count as no calls. */
static struct {
  int (*win_get_group)(long win, void *group);
  int (*group_size)(void *group, int *size);
  int (*group_free)(void *group);
  int (*win_get_attr)(long win, int key, void *value, int *found);
  int (*type_size)(long type, int *size);
} own;

static bool is_alone_in(long win) {
  void *group;
  int size = 0;
  if (own.win_get_group(win, (void *)&group) != 0) return false;
  own.group_size(group, &size);
  own.group_free((void *)&group);
  return size == 1;
}

/* The word of a window of this process alone at the displacement, NULL where it is none: the library says what is
   wrong. */
static uint64_t *word_of(long win, long displacement) {
  char *base = NULL;
  const long *bytes = NULL;
  const int *unit = NULL;
  int found[3] = {0};
  own.win_get_attr(win, OPEN_MPI_WIN_BASE, (void *)&base, &found[0]);
  own.win_get_attr(win, OPEN_MPI_WIN_SIZE, (void *)&bytes, &found[1]);
  own.win_get_attr(win, OPEN_MPI_WIN_DISP_UNIT, (void *)&unit, &found[2]);
  if (!found[0] || !found[1] || !found[2] || base == NULL || displacement < 0) return NULL;
  const uint64_t begin = (uint64_t)displacement * (uint64_t)*unit;
  if (*bytes < 8 || begin > (uint64_t)*bytes - 8) return NULL;
  return (uint64_t *)(base + begin);
}

/* (origin, compare, result, datatype, target, displacement, win) */
static bool swapped(long origin, long compare, long result, long type, long target, long displacement, long win) {
  int size = 0;
  uint64_t *word = NULL;
  if ((int)target == 0 && own.type_size(type, &size) == 0 && size == 8 && is_alone_in(win))
    word = word_of(win, displacement);
  if (word == NULL) return false;
  uint64_t seen, wanted;
  memcpy(&seen, (const void *)compare, sizeof seen);
  memcpy(&wanted, (const void *)origin, sizeof wanted);
  __atomic_compare_exchange_n(word, &seen, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  memcpy((void *)result, &seen, sizeof seen);
  return true;
}

static exanet_mpi_function real_mpi, real_pmpi;

static long mpi_compare_and_swap(EXANET_MPI_ARGUMENTS) {
  return swapped(a0, a1, a2, a3, a4, a5, a6) ? 0 : real_mpi(EXANET_MPI_PASSED);
}

static long pmpi_compare_and_swap(EXANET_MPI_ARGUMENTS) {
  return swapped(a0, a1, a2, a3, a4, a5, a6) ? 0 : real_pmpi(EXANET_MPI_PASSED);
}

/* (win, flag): asked again while that may change the answer, which takes the time of a question each. What comes
 * during a question may be seen in the next one only. */
static long asked(exanet_mpi_function ask, EXANET_MPI_ARGUMENTS) {
  const struct exanet_ni *ni = exanet_virtual_ni();
  const int *flag = (const int *)a1;
  bool came = true;
  long status = 0;
  for (int i = 0; i < MOST_QUESTIONS && came; i++) {
    came = ni != NULL && exanet_is_receiving(ni);
    status = ask(EXANET_MPI_PASSED);
    if (status != 0 || *flag) break;
    came = came || (ni != NULL && exanet_is_receiving(ni));
  }
  return status;
}

static exanet_mpi_function real_mpi_test, real_pmpi_test;
static long mpi_win_test(EXANET_MPI_ARGUMENTS) { return asked(real_mpi_test, EXANET_MPI_PASSED); }
static long pmpi_win_test(EXANET_MPI_ARGUMENTS) { return asked(real_pmpi_test, EXANET_MPI_PASSED); }

static bool is_open_mpi_4(void) {
  return exanet_mpi_real("ompi_mpi_comm_null") != NULL && exanet_mpi_real("MPI_Session_init") == NULL;
}

static bool find_own(void) {
  *(void **)&own.win_get_group = exanet_mpi_real("PMPI_Win_get_group");
  *(void **)&own.group_size = exanet_mpi_real("PMPI_Group_size");
  *(void **)&own.group_free = exanet_mpi_real("PMPI_Group_free");
  *(void **)&own.win_get_attr = exanet_mpi_real("PMPI_Win_get_attr");
  *(void **)&own.type_size = exanet_mpi_real("PMPI_Type_size");
  return own.win_get_group && own.group_size && own.group_free && own.win_get_attr && own.type_size;
}

exanet_mpi_function exanet_mended(const char *name, exanet_mpi_function found) {
  const char *plain = name[0] == 'P' ? name + 1 : name;
  found = exanet_shared_windows_mended(name, exanet_nodes_mended(name, exanet_offload_mended(name, found)));
  if (strcmp(plain, "MPI_Bcast") == 0 || strcmp(plain, "MPI_Bcast_c") == 0) return exanet_bcast_mended(name, found);
  if (strcmp(plain, "MPI_Win_test") == 0) {
    *(plain == name ? &real_mpi_test : &real_pmpi_test) = found;
    return plain == name ? mpi_win_test : pmpi_win_test;
  }
  if (strcmp(plain, "MPI_Compare_and_swap") != 0 || !is_open_mpi_4() || !find_own()) return found;
  *(plain == name ? &real_mpi : &real_pmpi) = found;
  return plain == name ? mpi_compare_and_swap : pmpi_compare_and_swap;
}
