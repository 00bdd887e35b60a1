// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks, carried out by the simulator.
//
// Model: arguments that are wrong go to the library, which finds what is wrong before it sends anything. Eager sends,
// and receives that return at once, are posted, without waiting for the simulator.
#include "runtime/simulated/messages.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/simulated/requests.h"

/* -- arguments ----------------------------------------------------------------------------------------------------- */

uint32_t exanet_message_peer(const struct exanet_communicator *comm, int rank) {
  if (rank == exanet_mpi.process_null) return EXANET_LIVE_NOBODY;
  if (rank == exanet_mpi.any_source) return EXANET_LIVE_ANY;
  return (uint32_t)exanet_communicator_peer(comm, rank);
}

bool exanet_message_fits(const struct exanet_communicator *comm, int peer, int tag, bool sends) {
  const bool nobody = peer == exanet_mpi.process_null || (!sends && peer == exanet_mpi.any_source);
  if (comm == NULL || (!nobody && exanet_communicator_peer(comm, peer) < 0)) return false;
  return (tag >= 0 && exanet_simulated_tag_fits(tag)) || (!sends && tag == exanet_mpi.any_tag);
}

/* False: the library is to say what is wrong. */
static bool are_valid(const struct exanet_communicator *comm, long buffer, long count, long type, int peer, int tag,
                      bool sends) {
  return exanet_bytes_valid(buffer, count, type) && exanet_message_fits(comm, peer, tag, sends);
}

const struct exanet_communicator *exanet_message_comm(struct exanet_simulated *s, bool sends) {
  const long *a = s->a;
  const struct exanet_communicator *comm = exanet_simulated_comm(s, a[5]);
  return are_valid(comm, a[0], exanet_simulated_count(s, 1), a[2], (int)a[3], (int)a[4], sends) ? comm : NULL;
}

struct exanet_live_message exanet_message_of(const struct exanet_communicator *comm, const struct exanet_bytes *b,
                                             int peer, int tag) {
  return (struct exanet_live_message){.peer = exanet_message_peer(comm, peer),
                                      .tag = exanet_message_tag(tag),
                                      .address = (uint64_t)(uintptr_t)b->data,
                                      .bytes = b->bytes};
}

static int truncated(const struct exanet_simulated *s, long comm, const struct exanet_live_status *status,
                     uint64_t space, int code) {
  const struct exanet_truncated t = {comm, (int)status->source, status->bytes, space, 0};
  return exanet_simulated_truncated(s, &t, code);
}

/* -- calls --------------------------------------------------------------------------------------------------------- */

static bool returns_at_once(uint8_t code) {
  return (code >= EXANET_TRACE_Isend && code <= EXANET_TRACE_Irsend) || code == EXANET_TRACE_Irecv;
}

static bool is_eager(const struct exanet_simulated *s, uint8_t code, const struct exanet_communicator *comm,
                     const struct exanet_live_message *m) {
  const bool synchronous = code == EXANET_TRACE_Ssend || code == EXANET_TRACE_Issend;
  return !synchronous && m->bytes <= exanet_eager_max(s->ni) && m->peer != exanet_rank(s->ni) && comm != NULL;
}

static bool is_in_memory(const struct exanet_bytes *b) { return b->data != NULL || b->bytes == 0; }

void exanet_bytes_copy(struct exanet_bytes *b) {
  if (b->copied || b->bytes == 0) return;
  b->data = memcpy(exanet_simulated_memory(malloc(b->bytes)), b->data, b->bytes);
  b->copied = true;
}

long exanet_message_begin(struct exanet_simulated *s, uint8_t code, uint32_t number, bool copies) {
  const long *a = s->a;
  const bool receives = code == EXANET_TRACE_Irecv;
  const struct exanet_communicator *comm = exanet_message_comm(s, !receives);
  if (comm == NULL) return -1;
  struct exanet_bytes bytes;
  const int unpacked = exanet_bytes_begin(s, &bytes, a[0], exanet_simulated_count(s, 1), a[2]);
  if (unpacked != 0) return unpacked;
  const struct exanet_live_message message = exanet_message_of(comm, &bytes, (int)a[3], (int)a[4]);
  const bool nobody = message.peer == EXANET_LIVE_NOBODY;
  bool done = nobody || (!receives && is_eager(s, code, comm, &message) && is_in_memory(&bytes));
  if (done && !nobody) {
    struct exanet_live_call sent = {.code = EXANET_TRACE_Send, .comm = comm->number, .sent = message};
    done = exanet_live_post(s->ni, &sent, true);
  }
  if (done)
    exanet_bytes_end(&bytes, false);
  else
    exanet_bytes_keep(&bytes);
  if (!done && copies) exanet_bytes_copy(&bytes);
  exanet_live_request_begin(number, &(struct exanet_live_request){.bytes = bytes,
                                                                  .comm = comm->number,
                                                                  .handle = a[5],
                                                                  .receives = receives,
                                                                  .of_any = message.peer == EXANET_LIVE_ANY,
                                                                  .done = done,
                                                                  .status = {.source = EXANET_LIVE_NOBODY}});
  if (done) return 0;
  struct exanet_live_call call = {.code = code, .comm = comm->number, .request = number};
  *(receives ? &call.received : &call.sent) = exanet_message_of(comm, &bytes, (int)a[3], (int)a[4]);
  const bool elsewhere = message.peer != exanet_rank(s->ni);
  if (!exanet_live_post(s->ni, &call, !receives && elsewhere)) exanet_live_call(s->ni, &call, false);
  return 0;
}

static long begin_request(struct exanet_simulated *s, uint8_t code) {
  if (exanet_message_comm(s, code != EXANET_TRACE_Irecv) == NULL || s->a[6] == 0) return exanet_simulated_real(s);
  const uint32_t number = exanet_live_request_take(s);
  const long wrong = exanet_message_begin(s, code, number, false);
  if (wrong != 0)
    exanet_live_request_give_back(number);
  else
    *(uint32_t *)s->a[6] = exanet_live_request_handle(number);
  return wrong;
}

/* (buffer, count, type, peer, tag, comm, request or status) */
long exanet_simulated_send(struct exanet_simulated *s, uint8_t code) {
  if (returns_at_once(code)) return begin_request(s, code);
  const long *a = s->a;
  const struct exanet_communicator *comm = exanet_message_comm(s, true);
  if (comm == NULL) return exanet_simulated_real(s);
  struct exanet_bytes bytes;
  const int unpacked = exanet_bytes_begin(s, &bytes, a[0], exanet_simulated_count(s, 1), a[2]);
  if (unpacked != 0) return unpacked;
  struct exanet_live_call call = {
      .code = code, .comm = comm->number, .sent = exanet_message_of(comm, &bytes, (int)a[3], (int)a[4])};
  const bool posted =
      call.sent.peer == EXANET_LIVE_NOBODY ||
      (is_eager(s, code, comm, &call.sent) && is_in_memory(&bytes) && exanet_live_post(s->ni, &call, true));
  if (!posted) exanet_live_call(s->ni, &call, true);
  if (call.error == 0) exanet_bytes_end(&bytes, false); /* else it may be under way still */
  return exanet_simulated_call_failed(s, &call);
}

long exanet_message_end(const struct exanet_simulated *s, const struct exanet_live_call *call, long to,
                        const struct exanet_communicator *comm, struct exanet_bytes *bytes) {
  const struct exanet_live_status *status = call->statuses;
  exanet_status_fill(exanet_is_ignored(to) ? NULL : (struct exanet_status *)to, status, comm, true, bytes->bytes);
  exanet_bytes_end(bytes, call->error == 0);
  if (call->error != 0) return exanet_simulated_call_failed(s, call);
  return status->truncated ? truncated(s, s->comm, status, bytes->bytes, EXANET_ERR_TRUNCATE) : 0;
}

long exanet_simulated_receive(struct exanet_simulated *s, uint8_t code) {
  if (returns_at_once(code)) return begin_request(s, code);
  const long *a = s->a;
  const struct exanet_communicator *comm = exanet_message_comm(s, false);
  if (comm == NULL || a[6] == 0) return exanet_simulated_real(s);
  struct exanet_bytes bytes;
  const int unpacked = exanet_bytes_begin(s, &bytes, a[0], exanet_simulated_count(s, 1), a[2]);
  if (unpacked != 0) return unpacked;
  struct exanet_live_status status = {.source = EXANET_LIVE_NOBODY};
  struct exanet_live_call call = {.code = code,
                                  .comm = comm->number,
                                  .received = exanet_message_of(comm, &bytes, (int)a[3], (int)a[4]),
                                  .statuses = &status};
  if (call.received.peer != EXANET_LIVE_NOBODY) exanet_live_call(s->ni, &call, true);
  return exanet_message_end(s, &call, a[6], comm, &bytes);
}
