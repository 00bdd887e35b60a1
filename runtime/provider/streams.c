/* SPDX-License-Identifier: Apache-2.0
 * Streams of TCP (runtime/sockets) beside libfabric: one interface, one lock, one queue of completions.
 *
 * Model: inside, the calling thread counts as one in an MPI call: its clocks are the host's, threads of the rank take
 * turns, and what a call takes on the host does not count as computing. */
#include "exanet_prov.h"

bool exanet_streams_begin(void) {
  if (exanet_helper_thread || exanet_mpi_depth > 0) return false;
  void (*first)(void) = exanet_first_socket;
  exanet_first_socket = NULL;
  if (first != NULL) first();
  return exanet_process_ni() != NULL && exanet_is_virtual(exanet_process_ni());
}

struct exanet_ni *exanet_streams_enter(void) {
  if (exanet_helper_thread || exanet_mpi_depth > 0) return NULL;
  struct exanet_ni *ni = exanet_process_ni();
  if (ni == NULL || !exanet_is_virtual(ni)) return NULL;
  exanet_mpi_depth = 1;
  if (exanet_program_threads() > 0) exanet_set_multithreaded(ni);
  exanet_mpi_enter(ni, EXANET_MPI_CALLS, EXANET_CALL_PLAIN);
  exanet_lock();
  return ni;
}

void exanet_streams_leave(struct exanet_ni *ni) {
  exanet_uncount(ni);
  exanet_unlock();
  exanet_mpi_leave(ni, EXANET_MPI_CALLS, EXANET_CALL_PLAIN);
  exanet_mpi_depth = 0;
}

void exanet_streams_wait(struct exanet_ni *ni, uint64_t until_ps, bool serves) {
  exanet_uncount(ni);
  exanet_progress_once(ni, until_ps, serves);
  exanet_progress_yield();
}
