// SPDX-License-Identifier: Apache-2.0
// Which calls the simulator carries out, which are the library's, and which are refused.
//
// Problem: a program calls whatever MPI has, and a call that is half simulated would hang. Model: each call that the
// clock stands in front of is in one of four classes. What makes communicators, and files, stay with the library, over
// its own messages on the simulated network; what is in no class is refused by its name, and ends the run. Limits:
// MPICH; one thread calls; what the library calls inside, and what callbacks of the program call, is the library's.
#include <stdio.h>

#include "runtime/simulated/engine.h"
#include "runtime/simulated/simulated.h"

enum class_of_call { REFUSED, SIMULATED, LIBRARY, CREATES, FREES };

struct known {
  uint8_t class, code, made; /* made: the argument that is the address of the communicator */
  long (*carry_out)(struct exanet_simulated *s, uint8_t code);
};
#define KNOWN(name, function) [EXANET_MPI_##name] = {SIMULATED, EXANET_TRACE_##name, 0, exanet_simulated_##function}
#define COLLECTIVE(name) KNOWN(name, collective)
#define TOLERANCE(name) [EXANET_MPI_##name] = {SIMULATED, 0, 0, exanet_simulated_tolerance}
#define OF_LIBRARY(name) [EXANET_MPI_##name] = {LIBRARY, 0, 0, NULL}
#define MADE(name, at) [EXANET_MPI_##name] = {CREATES, EXANET_TRACE_##name, at, NULL}
/* The code of a persistent collective is that of what its start begins. */
#define PERSISTENT(name, begins, form) \
  [EXANET_MPI_##name##_init] = {SIMULATED, EXANET_TRACE_##begins, 0, exanet_simulated_init},
static const struct known known[EXANET_MPI_CALL_COUNT] = {
    KNOWN(Send, send),
    KNOWN(Ssend, send),
    KNOWN(Rsend, send),
    KNOWN(Isend, send),
    KNOWN(Issend, send),
    KNOWN(Irsend, send),
    KNOWN(Bsend, buffered),
    KNOWN(Ibsend, buffered),
    [EXANET_MPI_Buffer_detach] = {SIMULATED, 0, 0, exanet_simulated_detach},
    KNOWN(Recv, receive),
    KNOWN(Irecv, receive),
    KNOWN(Sendrecv, exchange),
    KNOWN(Sendrecv_replace, replace),
    [EXANET_MPI_Isendrecv] = {SIMULATED, 0, 0, exanet_simulated_iexchange},
    [EXANET_MPI_Isendrecv_replace] = {SIMULATED, 0, 0, exanet_simulated_iexchange},
    KNOWN(Probe, probe),
    KNOWN(Iprobe, probe),
    KNOWN(Mprobe, probe),
    KNOWN(Improbe, probe),
    KNOWN(Mrecv, probed),
    KNOWN(Imrecv, probed),
    KNOWN(Send_init, init),
    KNOWN(Bsend_init, init),
    KNOWN(Ssend_init, init),
    KNOWN(Rsend_init, init),
    KNOWN(Recv_init, init),
    EXANET_TRACE_PERSISTENT(PERSISTENT) KNOWN(Start, start),
    KNOWN(Startall, start),
    KNOWN(Wait, requests),
    KNOWN(Waitany, requests),
    KNOWN(Waitsome, requests),
    KNOWN(Waitall, requests),
    KNOWN(Test, requests),
    KNOWN(Testany, requests),
    KNOWN(Testsome, requests),
    KNOWN(Testall, requests),
    KNOWN(Request_get_status, requests),
    KNOWN(Request_free, requests),
    KNOWN(Cancel, requests),
    COLLECTIVE(Barrier),
    COLLECTIVE(Bcast),
    COLLECTIVE(Gather),
    COLLECTIVE(Gatherv),
    COLLECTIVE(Scatter),
    COLLECTIVE(Scatterv),
    COLLECTIVE(Allgather),
    COLLECTIVE(Allgatherv),
    COLLECTIVE(Alltoall),
    COLLECTIVE(Alltoallv),
    COLLECTIVE(Alltoallw),
    COLLECTIVE(Reduce),
    COLLECTIVE(Allreduce),
    COLLECTIVE(Reduce_scatter),
    COLLECTIVE(Reduce_scatter_block),
    COLLECTIVE(Scan),
    COLLECTIVE(Exscan),
    COLLECTIVE(Ibarrier),
    COLLECTIVE(Ibcast),
    COLLECTIVE(Igather),
    COLLECTIVE(Igatherv),
    COLLECTIVE(Iscatter),
    COLLECTIVE(Iscatterv),
    COLLECTIVE(Iallgather),
    COLLECTIVE(Iallgatherv),
    COLLECTIVE(Ialltoall),
    COLLECTIVE(Ialltoallv),
    COLLECTIVE(Ialltoallw),
    COLLECTIVE(Ireduce),
    COLLECTIVE(Iallreduce),
    COLLECTIVE(Ireduce_scatter),
    COLLECTIVE(Ireduce_scatter_block),
    COLLECTIVE(Iscan),
    COLLECTIVE(Iexscan),
    COLLECTIVE(Neighbor_allgather),
    COLLECTIVE(Neighbor_allgatherv),
    COLLECTIVE(Neighbor_alltoall),
    COLLECTIVE(Neighbor_alltoallv),
    COLLECTIVE(Neighbor_alltoallw),
    COLLECTIVE(Ineighbor_allgather),
    COLLECTIVE(Ineighbor_allgatherv),
    COLLECTIVE(Ineighbor_alltoall),
    COLLECTIVE(Ineighbor_alltoallv),
    COLLECTIVE(Ineighbor_alltoallw),
    KNOWN(Put, access),
    KNOWN(Get, access),
    KNOWN(Accumulate, access),
    KNOWN(Get_accumulate, access),
    KNOWN(Fetch_and_op, access),
    KNOWN(Compare_and_swap, access),
    KNOWN(Rput, access),
    KNOWN(Rget, access),
    KNOWN(Raccumulate, access),
    KNOWN(Rget_accumulate, access),
    KNOWN(Win_create, window),
    KNOWN(Win_allocate, window),
    KNOWN(Win_allocate_shared, window),
    KNOWN(Win_create_dynamic, window),
    KNOWN(Win_free, window_free),
    KNOWN(Win_fence, synchronise),
    KNOWN(Win_start, synchronise),
    KNOWN(Win_complete, synchronise),
    KNOWN(Win_post, synchronise),
    KNOWN(Win_wait, synchronise),
    KNOWN(Win_test, synchronise),
    KNOWN(Win_lock, synchronise),
    KNOWN(Win_unlock, synchronise),
    KNOWN(Win_lock_all, synchronise),
    KNOWN(Win_unlock_all, synchronise),
    KNOWN(Win_flush, synchronise),
    KNOWN(Win_flush_all, synchronise),
    KNOWN(Win_flush_local, synchronise),
    KNOWN(Win_flush_local_all, synchronise),
    TOLERANCE(Comm_revoke),
    TOLERANCE(Comm_shrink),
    TOLERANCE(Comm_agree),
    TOLERANCE(Comm_failure_ack),
    TOLERANCE(Comm_failure_get_acked),
    TOLERANCE(Comm_get_failed),
    MADE(Comm_dup, 1),
    MADE(Comm_dup_with_info, 2),
    MADE(Comm_split, 3),
    MADE(Comm_split_type, 4),
    MADE(Comm_create, 2),
    MADE(Comm_create_group, 3),
    MADE(Intercomm_create, 5),
    MADE(Intercomm_merge, 2),
    MADE(Cart_create, 5),
    MADE(Cart_sub, 2),
    MADE(Graph_create, 5),
    MADE(Dist_graph_create, 8),
    MADE(Dist_graph_create_adjacent, 9),
    OF_LIBRARY(File_open),
    OF_LIBRARY(File_close),
    OF_LIBRARY(File_set_view),
    OF_LIBRARY(File_read),
    OF_LIBRARY(File_read_all),
    OF_LIBRARY(File_read_at),
    OF_LIBRARY(File_read_at_all),
    OF_LIBRARY(File_write),
    OF_LIBRARY(File_write_all),
    OF_LIBRARY(File_write_at),
    OF_LIBRARY(File_write_at_all),
    OF_LIBRARY(File_sync),
    [EXANET_MPI_Comm_free] = {FREES, 0, 0, NULL},
    [EXANET_MPI_Comm_disconnect] = {FREES, 0, 0, NULL},
};

static bool open_library(void *(*find)(const char *name)) {
  const struct exanet_wanted wanted[] = {{"PMPI_Pack", &exanet_own.pack},
                                         {"PMPI_Unpack", &exanet_own.unpack},
                                         {"PMPI_Type_dup", &exanet_own.type_dup},
                                         {"PMPI_Type_free", &exanet_own.type_free},
                                         {"PMPI_Type_get_true_extent", &exanet_own.type_true_extent},
                                         {"PMPI_Reduce_local", &exanet_own.reduce_local},
                                         {"PMPI_Comm_call_errhandler", &exanet_own.call_errhandler},
                                         {"PMPI_Comm_get_errhandler", &exanet_own.get_errhandler},
                                         {"PMPI_Comm_set_errhandler", &exanet_own.set_errhandler},
                                         {"PMPI_Errhandler_free", &exanet_own.errhandler_free},
                                         {"PMPI_Comm_get_attr", &exanet_own.comm_get_attr},
                                         {"PMPI_Comm_create_group", &exanet_own.comm_create_group},
                                         {"PMPI_Group_incl", &exanet_own.group_incl},
                                         {"PMPI_Group_excl", &exanet_own.group_excl},
                                         {"PMPI_Buffer_attach", &exanet_own.buffer_attach},
                                         {"PMPI_Buffer_detach", &exanet_own.buffer_detach},
                                         {"PMPIX_Type_iov_len", &exanet_own.type_iov_len},
                                         {"PMPIX_Type_iov", &exanet_own.type_iov},
                                         {"PMPI_Type_get_envelope", &exanet_own.type_get_envelope},
                                         {"PMPI_Type_get_contents", &exanet_own.type_get_contents},
                                         {0}};
  return exanet_mpi_functions(find, wanted) && exanet_communicators_open();
}

bool exanet_simulated_open(struct exanet_ni *ni, void *(*find)(const char *name), bool has_world) {
  if (!exanet_simulates_mpi(ni)) return false;
  const char *why = exanet_mpi_find_out(find);
  if (why == NULL && exanet_mpi.kind != EXANET_TRACE_MPICH) why = "its MPI library is not MPICH";
  if (why == NULL && !has_world) why = "it begins MPI by MPI_Session_init";
  if (why == NULL && !open_library(find)) why = "its MPI library lacks functions";
  if (why == NULL) return true;
  char text[256];
  snprintf(text, sizeof text, "the program cannot be run with --mpi-calls simulated: %s; take --mpi-calls library",
           why);
  exanet_end_run(ni, text);
}

/* The one that calls first is the only one. */
static void check_thread(const struct exanet_simulated *s) {
  static __thread bool calls;
  static bool claimed;
  if (calls) return;
  if (__atomic_exchange_n(&claimed, true, __ATOMIC_ACQ_REL)) exanet_simulated_refuse(s, "by a second thread");
  calls = true;
}

/* All members of its first argument take part. */
static bool needs_all(uint32_t call) {
  return call != EXANET_MPI_Comm_create_group && call != EXANET_MPI_Intercomm_create;
}

long exanet_simulated_call(struct exanet_ni *ni, uint32_t call, exanet_mpi_function real, bool large, const long *a) {
  struct exanet_simulated s = {ni, call, real, large, a, 0};
  const struct known *is = &known[call];
  check_thread(&s);
  switch ((enum class_of_call)is->class) {
    case SIMULATED: return is->carry_out(&s, is->code);
    case LIBRARY: return exanet_simulated_real(&s);
    case CREATES: {
      const int failed = needs_all(call) ? exanet_simulated_check(&s, a[0]) : 0;
      if (failed != 0) return failed;
      const long result = exanet_simulated_real(&s);
      if ((int)result == 0) exanet_simulated_made(&s, exanet_handle_at(a[is->made], 0));
      return result;
    }
    case FREES: {
      const long handle = a[0] != 0 ? exanet_handle_at(a[0], 0) : 0, result = exanet_simulated_real(&s);
      if ((int)result == 0) exanet_communicator_forget(handle);
      return result;
    }
    case REFUSED: break;
  }
  exanet_simulated_refuse(&s, "");
}
