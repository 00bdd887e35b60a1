// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks, and requests, carried out by the simulator.
//
// Model: a request is a number of ours in a handle that MPICH has none of its own in; statuses are filled in as the
// library would, with the bytes of the message. Arguments that are wrong go to the library, which finds what is wrong
// before it sends anything. Eager sends, and receives that return at once, are posted, without waiting for the
// simulator. Limits: one array of requests is the program's own or the library's, not both.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/simulated/engine.h"

/* Source: MPICH 5.0. Its own built-in requests are 0x6c000000 and a few more. */
#define FIRST_REQUEST 0x6c010000u
#define LAST_REQUEST 0x6cffffffu
#define NO_REQUEST 0x2c000000u
#define UNDEFINED (-32766)

struct status { /* of MPICH */
  int count_low, count_high_and_cancelled, source, tag, error;
};

struct request {
  struct exanet_bytes bytes;
  uint32_t comm; /* its number */
  long handle; /* its handle */
  bool receives, in_use;
  bool done; /* an eager send, of which the simulator keeps no request */
};
static struct request *requests; /* by number */
static uint32_t capacity, last;
static uint32_t *unused;
static uint32_t unused_count;

static uint32_t take_number(void) {
  if (unused_count > 0) return unused[--unused_count];
  if (last == capacity) {
    capacity = capacity > 0 ? 2 * capacity : 64;
    requests = exanet_simulated_memory(realloc(requests, sizeof *requests * capacity));
    unused = exanet_simulated_memory(realloc(unused, sizeof *unused * capacity));
  }
  return last++;
}

static void give_back(uint32_t number) {
  exanet_bytes_end(&requests[number].bytes, requests[number].receives);
  requests[number].in_use = false;
  unused[unused_count++] = number;
}

/* -- arguments ----------------------------------------------------------------------------------------------------- */

static bool is_ignored(long status) { return (uint64_t)status == exanet_mpi.status_ignore; }

static uint32_t peer_of(const struct exanet_communicator *comm, int rank) {
  if (rank == exanet_mpi.process_null) return EXANET_LIVE_NOBODY;
  if (rank == exanet_mpi.any_source) return EXANET_LIVE_ANY;
  return (uint32_t)exanet_communicator_peer(comm, rank);
}

/* False: the library is to say what is wrong. */
static bool are_valid(const struct exanet_communicator *comm, long buffer, long count, long type, int peer, int tag,
                      bool sends) {
  if (comm == NULL || !exanet_bytes_valid(buffer, count, type)) return false;
  const bool nobody = peer == exanet_mpi.process_null || (!sends && peer == exanet_mpi.any_source);
  if (!nobody && (peer < 0 || peer >= comm->size)) return false;
  return (tag >= 0 && exanet_simulated_tag_fits(tag)) || (!sends && tag == exanet_mpi.any_tag);
}

static struct exanet_live_message message_of(const struct exanet_communicator *comm, const struct exanet_bytes *b,
                                             int peer, int tag) {
  return (struct exanet_live_message){.peer = peer_of(comm, peer),
                                      .tag = tag == exanet_mpi.any_tag ? EXANET_LIVE_ANY : (uint32_t)tag,
                                      .address = (uint64_t)(uintptr_t)b->data,
                                      .bytes = b->bytes};
}

static int rank_in(const struct exanet_communicator *comm, uint32_t world) {
  if (comm->members == NULL) return (int)world;
  for (int i = 0; i < comm->size; i++)
    if (comm->members[i] == (int)world) return i;
  return exanet_mpi.any_source;
}

/* Its error is the caller's to set. */
static void fill(struct status *to, uint64_t bytes, bool cancelled, int source, int tag) {
  to->count_low = (int)(uint32_t)bytes;
  to->count_high_and_cancelled = (int)(uint32_t)(bytes >> 32 << 1) | (cancelled ? 1 : 0);
  to->source = source;
  to->tag = tag;
}
static void fill_empty(struct status *to) { fill(to, 0, false, exanet_mpi.any_source, exanet_mpi.any_tag); }

/* NULL: the program ignores it. An error, 0 for none. */
static int take_status(struct status *to, const struct exanet_live_status *from, const struct exanet_communicator *comm,
                       bool receives, uint64_t space) {
  if (to != NULL && !receives)
    fill_empty(to), to->count_high_and_cancelled = from->cancelled ? 1 : 0;
  else if (to != NULL && from->cancelled)
    fill(to, 0, true, exanet_mpi.any_source, exanet_mpi.any_tag);
  else if (to != NULL && from->source == EXANET_LIVE_NOBODY)
    fill(to, 0, false, exanet_mpi.process_null, exanet_mpi.any_tag);
  else if (to != NULL)
    fill(to, from->truncated ? space : from->bytes, from->cancelled != 0, rank_in(comm, from->source), (int)from->tag);
  return from->truncated ? EXANET_ERR_TRUNCATE : 0;
}

static int truncated(const struct exanet_simulated *s, long comm, const struct exanet_live_status *status,
                     uint64_t space, int code) {
  const struct exanet_truncated t = {comm, (int)status->source, status->bytes, space};
  return exanet_simulated_truncated(s, &t, code);
}

/* -- calls --------------------------------------------------------------------------------------------------------- */

static bool returns_at_once(uint8_t code) {
  return (code >= EXANET_TRACE_Isend && code <= EXANET_TRACE_Irsend) || code == EXANET_TRACE_Irecv;
}

static bool is_eager(const struct exanet_simulated *s, uint8_t code, const struct exanet_communicator *comm,
                     const struct exanet_live_message *m) {
  const bool synchronous = code == EXANET_TRACE_Ssend || code == EXANET_TRACE_Issend;
  return !synchronous && m->bytes <= exanet_eager_max(s->ni) && m->peer != exanet_rank(s->ni) &&
         m->peer != EXANET_LIVE_NOBODY && comm != NULL;
}

static bool is_in_memory(const struct exanet_bytes *b) { return b->data != NULL || b->bytes == 0; }

static void begin_request(struct exanet_simulated *s, struct exanet_live_call *call, struct exanet_bytes *b,
                          const struct exanet_communicator *comm, bool receives) {
  const uint32_t number = take_number();
  if (FIRST_REQUEST + number > LAST_REQUEST) exanet_simulated_refuse(s, "with sixteen million requests under way");
  bool done = !receives && is_eager(s, (uint8_t)call->code, comm, &call->sent) && is_in_memory(b);
  call->request = number;
  if (done) {
    struct exanet_live_call sent = *call;
    sent.code = EXANET_TRACE_Send;
    done = exanet_live_post(s->ni, &sent, true);
  }
  if (done)
    exanet_bytes_end(b, false);
  else
    exanet_bytes_keep(b);
  requests[number] = (struct request){*b, comm->number, s->a[5], receives, true, done};
  *(uint32_t *)s->a[6] = FIRST_REQUEST + number;
  const bool elsewhere = call->sent.peer != exanet_rank(s->ni) && call->sent.peer != EXANET_LIVE_NOBODY;
  if (done || (receives && exanet_live_post(s->ni, call, false))) return;
  if (receives || !elsewhere || !exanet_live_post(s->ni, call, true)) exanet_live_call(s->ni, call, false);
}

/* (buffer, count, type, peer, tag, comm, request or status) */
long exanet_simulated_send(struct exanet_simulated *s, uint8_t code) {
  const long *a = s->a, count = exanet_simulated_count(s, 1);
  const struct exanet_communicator *comm = exanet_simulated_comm(s, a[5]);
  if (!are_valid(comm, a[0], count, a[2], (int)a[3], (int)a[4], true) || (returns_at_once(code) && a[6] == 0))
    return exanet_simulated_real(s);
  struct exanet_bytes bytes;
  const int unpacked = exanet_bytes_begin(s, &bytes, a[0], count, a[2]);
  if (unpacked != 0) return unpacked;
  struct exanet_live_call call = {
      .code = code, .comm = comm->number, .sent = message_of(comm, &bytes, (int)a[3], (int)a[4])};
  if (returns_at_once(code)) return begin_request(s, &call, &bytes, comm, false), 0;
  if (!is_eager(s, code, comm, &call.sent) || !is_in_memory(&bytes) || !exanet_live_post(s->ni, &call, true))
    exanet_live_call(s->ni, &call, true);
  exanet_bytes_end(&bytes, false);
  return 0;
}

long exanet_simulated_receive(struct exanet_simulated *s, uint8_t code) {
  const long *a = s->a, count = exanet_simulated_count(s, 1);
  const struct exanet_communicator *comm = exanet_simulated_comm(s, a[5]);
  if (!are_valid(comm, a[0], count, a[2], (int)a[3], (int)a[4], false) || a[6] == 0) return exanet_simulated_real(s);
  struct exanet_bytes bytes;
  const int unpacked = exanet_bytes_begin(s, &bytes, a[0], count, a[2]);
  if (unpacked != 0) return unpacked;
  struct exanet_live_status status = {0};
  struct exanet_live_call call = {.code = code,
                                  .comm = comm->number,
                                  .received = message_of(comm, &bytes, (int)a[3], (int)a[4]),
                                  .statuses = &status};
  if (returns_at_once(code)) return begin_request(s, &call, &bytes, comm, true), 0;
  exanet_live_call(s->ni, &call, true);
  const int error = take_status(is_ignored(a[6]) ? NULL : (struct status *)a[6], &status, comm, true, bytes.bytes);
  exanet_bytes_end(&bytes, true);
  return error == 0 ? 0 : truncated(s, a[5], &status, bytes.bytes, error);
}

/* (buffer, count, type, to, tag, buffer, count, type, from, tag, comm, status) */
long exanet_simulated_exchange(struct exanet_simulated *s, uint8_t code) {
  const long *a = s->a, sent = exanet_simulated_count(s, 1), received = exanet_simulated_count(s, 6);
  const struct exanet_communicator *comm = exanet_simulated_comm(s, a[10]);
  if (!are_valid(comm, a[0], sent, a[2], (int)a[3], (int)a[4], true) ||
      !are_valid(comm, a[5], received, a[7], (int)a[8], (int)a[9], false) || a[11] == 0)
    return exanet_simulated_real(s);
  struct exanet_bytes out, in;
  const int unsent = exanet_bytes_begin(s, &out, a[0], sent, a[2]);
  if (unsent != 0) return unsent;
  const int unreceived = exanet_bytes_begin(s, &in, a[5], received, a[7]);
  if (unreceived != 0) return exanet_bytes_end(&out, false), unreceived;
  struct exanet_live_status status = {0};
  struct exanet_live_call call = {.code = code,
                                  .comm = comm->number,
                                  .sent = message_of(comm, &out, (int)a[3], (int)a[4]),
                                  .received = message_of(comm, &in, (int)a[8], (int)a[9]),
                                  .statuses = &status};
  exanet_live_call(s->ni, &call, true);
  const int error = take_status(is_ignored(a[11]) ? NULL : (struct status *)a[11], &status, comm, true, in.bytes);
  exanet_bytes_end(&out, false);
  exanet_bytes_end(&in, true);
  return error == 0 ? 0 : truncated(s, a[10], &status, in.bytes, error);
}

/* -- requests ------------------------------------------------------------------------------------------------------ */

/* Where a call's arguments stand; -1: none. */
struct places {
  int8_t count, requests, found, index, indices, outcount, status, statuses;
};

static struct places places_of(uint8_t code) {
  switch (code) {
    case EXANET_TRACE_Wait: return (struct places){-1, 0, -1, -1, -1, -1, 1, -1};
    case EXANET_TRACE_Test: return (struct places){-1, 0, 1, -1, -1, -1, 2, -1};
    case EXANET_TRACE_Waitall: return (struct places){0, 1, -1, -1, -1, -1, -1, 2};
    case EXANET_TRACE_Testall: return (struct places){0, 1, 2, -1, -1, -1, -1, 3};
    case EXANET_TRACE_Waitany: return (struct places){0, 1, -1, 2, -1, -1, 3, -1};
    case EXANET_TRACE_Testany: return (struct places){0, 1, 3, 2, -1, -1, 4, -1};
    case EXANET_TRACE_Waitsome:
    case EXANET_TRACE_Testsome: return (struct places){0, 1, -1, -1, 3, 2, -1, 4};
    default: return (struct places){-1, 0, -1, -1, -1, -1, -1, -1};
  }
}

/* A call on requests: those of its array that are ours. */
struct asked {
  const struct exanet_simulated *s;
  struct places at;
  uint32_t *handles, *numbers, *where, *done; /* done: places in `numbers` */
  struct exanet_live_status *statuses;
  uint32_t count, ours, others;
  uint32_t over; /* of ours, those that were over when they had begun: the last ones in `numbers` */
  long completed;
};

static bool is_ours(uint32_t handle) {
  const uint32_t number = handle - FIRST_REQUEST;
  return handle >= FIRST_REQUEST && handle <= LAST_REQUEST && number < last && requests[number].in_use;
}

static bool find_requests(struct asked *q) {
  const long *a = q->s->a;
  static uint32_t *lists;
  static struct exanet_live_status *statuses;
  static uint32_t capacity_of_lists;
  const int count = q->at.count < 0 ? 1 : (int)a[q->at.count];
  if (count < 0 || (count > 0 && a[q->at.requests] == 0)) return false;
  q->count = (uint32_t)count;
  if (q->count > capacity_of_lists) {
    capacity_of_lists = 2 * q->count + 64;
    lists = exanet_simulated_memory(realloc(lists, sizeof *lists * 3 * capacity_of_lists));
    statuses = exanet_simulated_memory(realloc(statuses, sizeof *statuses * capacity_of_lists));
  }
  q->handles = (uint32_t *)a[q->at.requests];
  q->numbers = lists;
  q->where = lists + capacity_of_lists;
  q->done = lists + 2 * (size_t)capacity_of_lists;
  q->statuses = statuses;
  for (uint32_t i = 0; i < q->count; i++) {
    const uint32_t handle = q->handles[i], number = handle - FIRST_REQUEST;
    if (is_ours(handle) && !requests[number].done) {
      q->numbers[q->ours] = number;
      q->where[q->ours++] = i;
    } else if (!is_ours(handle)) {
      q->others += handle != NO_REQUEST;
    }
  }
  for (uint32_t i = 0; i < q->count; i++) {
    if (!is_ours(q->handles[i]) || !requests[q->handles[i] - FIRST_REQUEST].done) continue;
    q->numbers[q->ours] = q->handles[i] - FIRST_REQUEST;
    q->where[q->ours++] = i;
    q->over++;
  }
  return true;
}

static struct status *status_at(const struct asked *q, long i) {
  const int at = q->at.status >= 0 ? q->at.status : q->at.statuses;
  if (at < 0 || is_ignored(q->s->a[at])) return NULL;
  return (struct status *)q->s->a[at] + (q->at.statuses >= 0 ? i : 0);
}

/* Ends those that have completed; the first error, and what was too long. */
static int take_completed(struct asked *q, struct exanet_truncated *first) {
  int error = 0;
  const bool in_order = q->at.indices < 0; /* statuses by the place of the request */
  for (uint32_t i = 0; i < (uint32_t)q->completed; i++) {
    const uint32_t mine = q->done[i], number = q->numbers[mine];
    struct request *r = &requests[number];
    struct status *status = status_at(q, in_order ? (long)q->where[mine] : (long)i);
    const int own = take_status(status, &q->statuses[i], exanet_communicator_of(r->comm), r->receives, r->bytes.bytes);
    if (own != 0 && error == 0)
      *first = (struct exanet_truncated){r->handle, (int)q->statuses[i].source, q->statuses[i].bytes, r->bytes.bytes};
    if (status != NULL && q->at.statuses >= 0) status->error = own;
    if (own != 0 && error == 0) error = q->at.statuses >= 0 ? EXANET_ERR_IN_STATUS : own;
    if (q->at.indices >= 0) ((int *)q->s->a[q->at.indices])[i] = (int)q->where[mine];
    if (q->at.index >= 0) *(int *)q->s->a[q->at.index] = (int)q->where[mine];
    q->handles[q->where[mine]] = NO_REQUEST;
    give_back(number);
  }
  return error;
}

static bool takes_all(uint8_t code) { return code == EXANET_TRACE_Waitall || code == EXANET_TRACE_Testall; }

static long answer(struct asked *q, uint8_t code) {
  const long *a = q->s->a;
  const bool all = takes_all(code), over = all ? (uint32_t)q->completed == q->ours : q->completed > 0;
  if (q->at.found >= 0) *(int *)a[q->at.found] = over;
  if (q->at.outcount >= 0) *(int *)a[q->at.outcount] = (int)q->completed;
  if (q->at.index >= 0 && !over) *(int *)a[q->at.index] = UNDEFINED;
  if (q->completed == 0 && !over) return 0;
  for (uint32_t i = 0; all && i < q->count; i++)
    if (status_at(q, i) != NULL && q->handles[i] == NO_REQUEST) fill_empty(status_at(q, i)), status_at(q, i)->error = 0;
  /* All those of a call that asks for all, but where one has failed. */
  for (uint32_t i = 0; all && !over && i < q->ours; i++)
    if (status_at(q, q->where[i]) != NULL) status_at(q, q->where[i])->error = EXANET_ERR_PENDING;
  struct exanet_truncated first;
  const int error = take_completed(q, &first);
  return error == 0 ? 0 : exanet_simulated_truncated(q->s, &first, error);
}

/* Those that were over when they had begun are so now; of one that asks for any or some they alone. */
static void ask(struct asked *q, uint8_t code) {
  const bool all = takes_all(code) || code == EXANET_TRACE_Wait || code == EXANET_TRACE_Test;
  const uint32_t waiting = q->ours - q->over;
  q->completed = 0;
  if (waiting > 0 && (all || q->over == 0)) {
    struct exanet_live_call call = {
        .code = code, .requests = q->numbers, .request_count = waiting, .statuses = q->statuses, .places = q->done};
    exanet_live_call(q->s->ni, &call, code >= EXANET_TRACE_Wait && code <= EXANET_TRACE_Waitall);
    q->completed = call.completed;
    if (call.completed == 0 || (!all && call.completed < waiting)) return;
  }
  const bool one = code == EXANET_TRACE_Waitany || code == EXANET_TRACE_Testany;
  for (uint32_t i = waiting; i < q->ours && !(one && q->completed > 0); i++) {
    q->statuses[q->completed] = (struct exanet_live_status){0};
    q->done[q->completed++] = i;
  }
}

/* Of null requests, and of the library's own, the library knows best. */
long exanet_simulated_requests(struct exanet_simulated *s, uint8_t code) {
  struct asked q = {.s = s, .at = places_of(code)};
  if (code == EXANET_TRACE_Request_get_status) exanet_simulated_refuse(s, "");
  if (!find_requests(&q) || q.ours == 0) return exanet_simulated_real(s);
  if (q.others > 0) exanet_simulated_refuse(s, "for requests of messages and others, as of files, together");
  if (code != EXANET_TRACE_Request_free && code != EXANET_TRACE_Cancel) return ask(&q, code), answer(&q, code);
  const uint32_t number = q.numbers[0];
  const bool frees = code == EXANET_TRACE_Request_free;
  if (frees && requests[number].bytes.copied) exanet_simulated_refuse(s, "of a message of a derived datatype");
  struct exanet_live_call call = {.code = code, .requests = &number, .request_count = 1};
  if (q.over == 0) exanet_live_call(s->ni, &call, false);
  if (!frees) return 0;
  *(uint32_t *)s->a[0] = NO_REQUEST;
  return give_back(number), 0;
}
