// SPDX-License-Identifier: Apache-2.0
// Requests of calls that the simulator carries out.
//
// Model: a request is a number of ours in a handle that MPICH has none of its own in; statuses are filled in as the
// library would, with the bytes of the message. One that is over stays until the program asks for it; a persistent one
// until it is freed. Limits: one array of requests is the program's own or the library's, not both.
#include "runtime/simulated/requests.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/record/requests.h"

#define UNDEFINED (-32766)

static struct exanet_live_request *requests; /* by number */
static uint32_t capacity, last;
static uint32_t *unused;
static uint32_t unused_count;

uint32_t exanet_live_request_take(const struct exanet_simulated *s) {
  if (unused_count > 0) return unused[--unused_count];
  if (EXANET_FIRST_SIMULATED_REQUEST + last > EXANET_LAST_SIMULATED_REQUEST)
    exanet_simulated_refuse(s, "with sixteen million requests under way");
  if (last == capacity) {
    capacity = capacity > 0 ? 2 * capacity : 64;
    requests = exanet_simulated_memory(realloc(requests, sizeof *requests * capacity));
    unused = exanet_simulated_memory(realloc(unused, sizeof *unused * capacity));
  }
  requests[last] = (struct exanet_live_request){0};
  return last++;
}

struct exanet_live_request *exanet_live_request_at(uint32_t number) { return &requests[number]; }
uint32_t exanet_live_request_handle(uint32_t number) { return EXANET_FIRST_SIMULATED_REQUEST + number; }

struct exanet_live_request *exanet_live_request_of(uint32_t handle, uint32_t *number) {
  *number = handle - EXANET_FIRST_SIMULATED_REQUEST;
  const bool ours = handle >= EXANET_FIRST_SIMULATED_REQUEST && handle <= EXANET_LAST_SIMULATED_REQUEST &&
                    *number < last && requests[*number].in_use;
  return ours ? &requests[*number] : NULL;
}

void exanet_live_request_begin(uint32_t number, const struct exanet_live_request *begun) {
  struct exanet_live_request *r = &requests[number];
  struct exanet_persistent *persistent = r->persistent;
  *r = *begun;
  r->in_use = true;
  r->persistent = persistent;
  r->active = persistent != NULL;
}

void exanet_live_request_finish(struct exanet_live_request *r, const struct exanet_live_status *status) {
  r->status = *status;
  r->done = true;
  if (r->operation != NULL) {
    r->error = r->operation->end(r->operation, status->error == 0);
    r->truncated = r->operation->truncated;
    if (status->error != 0) {
      r->error = exanet_failure_class(status->error);
      r->truncated = (struct exanet_truncated){.comm = r->handle, .failure = status->failure};
    }
    free(r->operation);
    r->operation = NULL;
    return;
  }
  r->error = status->truncated ? EXANET_ERR_TRUNCATE : 0;
  if (status->error != 0) r->error = exanet_failure_class(status->error);
  r->truncated =
      (struct exanet_truncated){r->handle, (int)status->source, status->bytes, r->bytes.bytes, status->failure};
  /* What has failed to be sent may be under way still: its copy stays. */
  if (status->error == 0) exanet_bytes_end(&r->sent, false);
  if (status->error == 0 || r->receives) exanet_bytes_end(&r->bytes, r->receives && status->error == 0);
}

void exanet_live_request_give_back(uint32_t number) {
  requests[number] = (struct exanet_live_request){0};
  unused[unused_count++] = number;
}

/* -- statuses ------------------------------------------------------------------------------------------------------ */

static int rank_in(const struct exanet_communicator *comm, uint32_t world) {
  const int *peers = comm->remote != NULL ? comm->remote : comm->members;
  const int count = comm->remote != NULL ? comm->remote_size : comm->size;
  if (peers == NULL) return (int)world;
  for (int i = 0; i < count; i++)
    if (peers[i] == (int)world) return i;
  return exanet_mpi.any_source;
}

static void fill(struct exanet_status *to, uint64_t bytes, bool cancelled, int source, int tag) {
  to->count_low = (int)(uint32_t)bytes;
  to->count_high_and_cancelled = (int)(uint32_t)(bytes >> 32 << 1) | (cancelled ? 1 : 0);
  to->source = source;
  to->tag = tag;
}
static void fill_empty(struct exanet_status *to) { fill(to, 0, false, exanet_mpi.any_source, exanet_mpi.any_tag); }

void exanet_status_fill(struct exanet_status *to, const struct exanet_live_status *from,
                        const struct exanet_communicator *comm, bool receives, uint64_t space) {
  if (to == NULL) return;
  if (!receives || from->cancelled)
    fill(to, 0, from->cancelled != 0, exanet_mpi.any_source, exanet_mpi.any_tag);
  else if (from->source == EXANET_LIVE_NOBODY)
    fill(to, 0, false, exanet_mpi.process_null, exanet_mpi.any_tag);
  else
    fill(to, from->truncated ? space : from->bytes, false, rank_in(comm, from->source), (int)from->tag);
}

/* -- calls --------------------------------------------------------------------------------------------------------- */

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
  uint32_t inactive; /* persistent ones of ours that are not under way */
  uint32_t over; /* of ours, those that were over when they had begun: the last ones in `numbers` */
  long completed;
  uint32_t error, failure; /* of the call: one that is not over may fail */
};

/* NULL: of one that is null, the library's, or persistent and not under way. */
static struct exanet_live_request *active_at(const struct asked *q, uint32_t i, uint32_t *number) {
  struct exanet_live_request *r = exanet_live_request_of(q->handles[i], number);
  return r != NULL && exanet_live_request_is_active(r) ? r : NULL;
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
    uint32_t number;
    const struct exanet_live_request *r = exanet_live_request_of(q->handles[i], &number);
    if (r == NULL) {
      q->others += q->handles[i] != EXANET_NO_REQUEST;
    } else if (!exanet_live_request_is_active(r)) {
      q->inactive++;
    } else if (!r->done) {
      q->numbers[q->ours] = number;
      q->where[q->ours++] = i;
    }
  }
  for (uint32_t i = 0; i < q->count; i++) {
    uint32_t number;
    const struct exanet_live_request *r = active_at(q, i, &number);
    if (r == NULL || !r->done) continue;
    q->numbers[q->ours] = number;
    q->where[q->ours++] = i;
    q->over++;
  }
  return true;
}

static struct exanet_status *status_at(const struct asked *q, long i) {
  const int at = q->at.status >= 0 ? q->at.status : q->at.statuses;
  if (at < 0 || exanet_is_ignored(q->s->a[at])) return NULL;
  return (struct exanet_status *)q->s->a[at] + (q->at.statuses >= 0 ? i : 0);
}

/* Ends those that have completed; the first error, and what was too long. */
static int take_completed(struct asked *q, struct exanet_truncated *first) {
  int error = 0;
  const bool in_order = q->at.indices < 0; /* statuses by the place of the request */
  for (uint32_t i = 0; i < (uint32_t)q->completed; i++) {
    const uint32_t mine = q->done[i], number = q->numbers[mine];
    struct exanet_live_request *r = &requests[number];
    struct exanet_status *status = status_at(q, in_order ? (long)q->where[mine] : (long)i);
    if (!r->done) exanet_live_request_finish(r, &q->statuses[i]);
    exanet_status_fill(status, &r->status, exanet_communicator_of(r->comm), r->receives, r->truncated.space);
    if (r->error != 0 && error == 0) *first = r->truncated;
    if (status != NULL && q->at.statuses >= 0) status->error = r->error;
    if (r->error != 0 && error == 0) error = q->at.statuses >= 0 ? EXANET_ERR_IN_STATUS : r->error;
    if (q->at.indices >= 0) ((int *)q->s->a[q->at.indices])[i] = (int)q->where[mine];
    if (q->at.index >= 0) *(int *)q->s->a[q->at.index] = (int)q->where[mine];
    r->active = false;
    if (r->persistent != NULL) continue;
    q->handles[q->where[mine]] = EXANET_NO_REQUEST;
    exanet_live_request_give_back(number);
  }
  return error;
}

static bool may_fail(const struct asked *q, uint32_t mine) {
  return q->error != 0 && requests[q->numbers[mine]].of_any;
}

static long comm_that_may_fail(const struct asked *q) {
  for (uint32_t i = 0; i < q->ours; i++)
    if (may_fail(q, i)) return requests[q->numbers[i]].handle;
  return (long)exanet_mpi.world;
}

static bool takes_all(uint8_t code) { return code == EXANET_TRACE_Waitall || code == EXANET_TRACE_Testall; }

static long answer(struct asked *q, uint8_t code) {
  const long *a = q->s->a;
  const bool all = takes_all(code), over = all ? (uint32_t)q->completed == q->ours : q->completed > 0;
  if (q->at.found >= 0) *(int *)a[q->at.found] = over;
  if (q->at.outcount >= 0) *(int *)a[q->at.outcount] = (int)q->completed;
  if (q->at.index >= 0 && !over) *(int *)a[q->at.index] = UNDEFINED;
  if (q->completed == 0 && !over && q->error == 0) return 0;
  for (uint32_t i = 0, number; all && i < q->count; i++)
    if (status_at(q, i) != NULL && active_at(q, i, &number) == NULL)
      fill_empty(status_at(q, i)), status_at(q, i)->error = 0;
  /* All those of a call that asks for all, but where one has failed. */
  for (uint32_t i = 0; all && !over && i < q->ours; i++)
    if (status_at(q, q->where[i]) != NULL)
      status_at(q, q->where[i])->error = may_fail(q, i) ? exanet_failure_class(q->error) : EXANET_ERR_PENDING;
  const long comm = comm_that_may_fail(q);
  struct exanet_truncated first;
  const int error = take_completed(q, &first);
  if (error == 0 && q->error != 0)
    return exanet_simulated_failed(
        q->s, comm, q->failure,
        q->at.statuses >= 0 && q->at.outcount < 0 ? EXANET_ERR_IN_STATUS : exanet_failure_class(q->error));
  return error == 0 ? 0 : exanet_simulated_truncated(q->s, &first, error);
}

/* There is none under way. */
static long answer_empty(const struct asked *q) {
  const long *a = q->s->a;
  if (q->at.found >= 0) *(int *)a[q->at.found] = 1;
  if (q->at.outcount >= 0) *(int *)a[q->at.outcount] = UNDEFINED;
  if (q->at.index >= 0) *(int *)a[q->at.index] = UNDEFINED;
  for (uint32_t i = 0; i < (q->at.statuses >= 0 ? q->count : 1); i++) {
    struct exanet_status *status = q->at.outcount >= 0 ? NULL : status_at(q, i);
    if (status == NULL) continue;
    fill_empty(status);
    if (q->at.statuses >= 0) status->error = 0;
  }
  return 0;
}

/* Those that were over when they had begun are so now; of one that asks for any or some they alone. */
static void ask(struct asked *q, uint8_t code) {
  const bool all = takes_all(code) || code == EXANET_TRACE_Wait || code == EXANET_TRACE_Test;
  const uint32_t waiting = q->ours - q->over;
  q->completed = 0;
  q->error = 0;
  if (waiting > 0 && (all || q->over == 0)) {
    struct exanet_live_call call = {
        .code = code, .requests = q->numbers, .request_count = waiting, .statuses = q->statuses, .places = q->done};
    exanet_live_call(q->s->ni, &call, code >= EXANET_TRACE_Wait && code <= EXANET_TRACE_Waitall);
    q->completed = call.completed;
    q->error = call.error;
    q->failure = call.failure;
    if (call.completed == 0 || (!all && call.completed < waiting)) return;
  }
  const bool one = code == EXANET_TRACE_Waitany || code == EXANET_TRACE_Testany;
  for (uint32_t i = waiting; i < q->ours && !(one && q->completed > 0); i++) {
    q->done[q->completed++] = i;
  }
}

/* (request, flag, status): what has completed is over for the simulator, and stays for the program. */
static long get_status(const struct exanet_simulated *s) {
  const long *a = s->a;
  uint32_t number;
  struct exanet_live_request *r = exanet_live_request_of((uint32_t)a[0], &number);
  if (r == NULL || a[1] == 0 || a[2] == 0) return exanet_simulated_real(s);
  const bool active = exanet_live_request_is_active(r);
  if (active && !r->done) {
    uint32_t place;
    struct exanet_live_status status;
    struct exanet_live_call call = {.code = EXANET_TRACE_Request_get_status,
                                    .requests = &number,
                                    .request_count = 1,
                                    .statuses = &status,
                                    .places = &place};
    exanet_live_call(s->ni, &call, false);
    if (call.completed > 0) exanet_live_request_finish(r, &status);
    if (call.completed == 0 && call.error != 0)
      return exanet_simulated_failed(s, r->handle, call.failure, exanet_failure_class(call.error));
  }
  *(int *)a[1] = !active || r->done;
  if ((active && !r->done) || exanet_is_ignored(a[2])) return 0;
  if (active)
    exanet_status_fill((struct exanet_status *)a[2], &r->status, exanet_communicator_of(r->comm), r->receives,
                       r->truncated.space);
  else
    fill_empty((struct exanet_status *)a[2]);
  return 0;
}

static void drop(struct exanet_persistent *p) {
  if (p == NULL) return;
  for (unsigned i = 0; i < p->type_count; i++) exanet_own.type_free(&p->types[i]);
  free(p);
}

/* One that is under way ends by itself, and nobody asks for it. */
static long free_request(const struct exanet_simulated *s, uint32_t number) {
  struct exanet_live_request *r = &requests[number];
  if (exanet_live_request_is_active(r)) {
    if (r->operation != NULL) exanet_simulated_refuse(s, "of a collective under way");
    if (!r->done && (r->bytes.copied || r->sent.copied))
      exanet_simulated_refuse(s, "of a message of a derived datatype");
    struct exanet_live_call call = {.code = EXANET_TRACE_Request_free, .requests = &number, .request_count = 1};
    if (!r->done) exanet_live_call(s->ni, &call, false);
  }
  drop(r->persistent);
  exanet_live_request_give_back(number);
  *(uint32_t *)s->a[0] = EXANET_NO_REQUEST;
  return 0;
}

static long cancel(const struct exanet_simulated *s, uint32_t number) {
  const struct exanet_live_request *r = &requests[number];
  if (r->operation != NULL) exanet_simulated_refuse(s, "of a collective");
  struct exanet_live_call call = {.code = EXANET_TRACE_Cancel, .requests = &number, .request_count = 1};
  if (exanet_live_request_is_active(r) && !r->done) exanet_live_call(s->ni, &call, false);
  return 0;
}

/* Of null requests, and of the library's own, the library knows best. */
long exanet_simulated_requests(struct exanet_simulated *s, uint8_t code) {
  struct asked q = {.s = s, .at = places_of(code)};
  if (code == EXANET_TRACE_Request_get_status) return get_status(s);
  if (code == EXANET_TRACE_Request_free || code == EXANET_TRACE_Cancel) {
    uint32_t number;
    if (s->a[0] == 0 || exanet_live_request_of(*(uint32_t *)s->a[0], &number) == NULL) return exanet_simulated_real(s);
    return code == EXANET_TRACE_Cancel ? cancel(s, number) : free_request(s, number);
  }
  if (!find_requests(&q) || q.ours + q.inactive == 0) return exanet_simulated_real(s);
  if (q.others > 0) exanet_simulated_refuse(s, "for requests of messages and others, as of files, together");
  if (q.ours == 0) return answer_empty(&q);
  ask(&q, code);
  return answer(&q, code);
}
