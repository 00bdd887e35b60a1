// SPDX-License-Identifier: Apache-2.0
// Probes, and receives of messages that matched probes have found, carried out by the simulator.
//
// Model: a message that is found by a matched probe is a number of the simulator's, as a request is, and its receive
// goes on under the same number.
#include "runtime/simulated/messages.h"
#include "runtime/simulated/requests.h"

#define NO_PROCESS 0x6c000000u /* the message of a probe of MPI_PROC_NULL. Source: the header of MPICH 5.0. */

static struct exanet_status *status_at(long argument) {
  return exanet_is_ignored(argument) ? NULL : (struct exanet_status *)argument;
}

/* (source, tag, comm, [flag,] [message,] status) */
long exanet_simulated_probe(struct exanet_simulated *s, uint8_t code) {
  const long *a = s->a;
  const bool matched = code == EXANET_TRACE_Mprobe || code == EXANET_TRACE_Improbe;
  const bool asks = code == EXANET_TRACE_Iprobe || code == EXANET_TRACE_Improbe;
  const int flag = 3, message = asks ? 4 : 3, status_place = 3 + asks + matched;
  const struct exanet_communicator *comm = exanet_simulated_comm(s, a[2]);
  if (!exanet_message_fits(comm, (int)a[0], (int)a[1], false) || a[status_place] == 0 || (asks && a[flag] == 0) ||
      (matched && a[message] == 0))
    return exanet_simulated_real(s);
  struct exanet_live_status status = {.source = EXANET_LIVE_NOBODY};
  uint32_t number = 0;
  if ((int)a[0] == exanet_mpi.process_null) {
    if (asks) *(int *)a[flag] = 1;
    if (matched) *(uint32_t *)a[message] = NO_PROCESS;
    return exanet_status_fill(status_at(a[status_place]), &status, comm, true, 0), 0;
  }
  if (matched) number = exanet_live_request_take(s);
  struct exanet_live_call call = {
      .code = code,
      .comm = comm->number,
      .request = number,
      .received = {.peer = exanet_message_peer(comm, (int)a[0]), .tag = exanet_message_tag((int)a[1])},
      .statuses = &status};
  exanet_live_call(s->ni, &call, !asks);
  const bool found = call.completed > 0;
  if (asks) *(int *)a[flag] = found;
  if (matched && found)
    exanet_live_request_begin(number,
                              &(struct exanet_live_request){.comm = comm->number, .handle = a[2], .receives = true});
  else if (matched)
    exanet_live_request_give_back(number);
  if (matched) *(uint32_t *)a[message] = found ? exanet_live_request_handle(number) : EXANET_NO_REQUEST;
  if (found) exanet_status_fill(status_at(a[status_place]), &status, comm, true, 0);
  return exanet_simulated_call_failed(s, &call);
}

/* (buffer, count, type, message, request or status); the library says what is wrong with others' messages, and takes
   those of no process. */
long exanet_simulated_probed(struct exanet_simulated *s, uint8_t code) {
  const long *a = s->a, count = exanet_simulated_count(s, 1);
  const bool waits = code == EXANET_TRACE_Mrecv;
  uint32_t number;
  const struct exanet_live_request *found = a[3] != 0 ? exanet_live_request_of(*(uint32_t *)a[3], &number) : NULL;
  if (found == NULL || !exanet_bytes_valid(a[0], count, a[2]) || a[4] == 0) return exanet_simulated_real(s);
  struct exanet_live_request taken = *found;
  s->comm = taken.handle;
  const int unpacked = exanet_bytes_begin(s, &taken.bytes, a[0], count, a[2]);
  if (unpacked != 0) return unpacked;
  struct exanet_live_status status = {0};
  struct exanet_live_call call = {
      .code = code,
      .comm = taken.comm,
      .request = number,
      .received = {.address = (uint64_t)(uintptr_t)taken.bytes.data, .bytes = taken.bytes.bytes},
      .statuses = &status};
  *(uint32_t *)a[3] = EXANET_NO_REQUEST;
  if (!waits) {
    exanet_bytes_keep(&taken.bytes);
    exanet_live_request_begin(number, &taken);
    exanet_live_call(s->ni, &call, false);
    *(uint32_t *)a[4] = exanet_live_request_handle(number);
    return 0;
  }
  exanet_live_call(s->ni, &call, true);
  status.error = call.error;
  status.failure = call.failure;
  exanet_live_request_finish(&taken, &status);
  exanet_status_fill(status_at(a[4]), &status, exanet_communicator_of(taken.comm), true, taken.truncated.space);
  exanet_live_request_give_back(number);
  return taken.error == 0 ? 0 : exanet_simulated_truncated(s, &taken.truncated, taken.error);
}
