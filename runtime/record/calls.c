/* SPDX-License-Identifier: Apache-2.0
 * From the arguments of MPI calls to records.
 *
 * Requests are looked up before a call, because it sets their handles to null, and ended after it, once it has said
 * which of them have completed. Peers are recorded as ranks of MPI_COMM_WORLD. Calls that failed are not recorded,
 * but for receives and waits, nor are those to and from no process, which move nothing: their computing is the next
 * record's.
 *
 * Limits: partitioned messages and MPI_Isendrecv have no records; that there are some is said, and so is that
 * threads call at once, and that a persistent collective is given up under way, which MPI forbids. Of calls on files
 * the names alone are recorded. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exanet/exanet.h"
#include "exanet/mpi_calls.h"
#include "runtime/record/collectives.h"
#include "runtime/record/communicators.h"
#include "runtime/record/fields.h"
#include "runtime/record/library.h"
#include "runtime/record/neighbours.h"
#include "runtime/record/persistent.h"
#include "runtime/record/record.h"
#include "runtime/record/requests.h"
#include "runtime/record/stream.h"
#include "runtime/record/windows.h"

bool exanet_recording;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int inside; /* threads in recorded calls */
static bool overlapping; /* there were two at once */
static uint64_t counted_ps; /* of the rank's computing: what stands in records */

struct known_call {
  uint8_t code, form;
};
#define KNOWN(name, code_, form_) [EXANET_MPI_##name] = {code_, EXANET_TRACE_##form_},
#define PERSISTENT(name, begins, form_) [EXANET_MPI_##name##_init] = {EXANET_TRACE_##begins, EXANET_TRACE_##form_},
static const struct known_call known_calls[EXANET_MPI_CALL_COUNT] = {EXANET_TRACE_CALLS(KNOWN)
                                                                         EXANET_TRACE_PERSISTENT(PERSISTENT)};

/* The handles of this thread's present call. */
static __thread uint64_t *handles;
static __thread long handle_count, handle_capacity;

static void keep_handle(uint64_t handle) {
  if (handle_count == handle_capacity) {
    const long capacity = handle_capacity ? 2 * handle_capacity : 16;
    uint64_t *grown = realloc(handles, sizeof *grown * (size_t)capacity);
    if (grown == NULL) return;
    handles = grown;
    handle_capacity = capacity;
  }
  handles[handle_count++] = handle;
}

/* A call may take several records. */
static int trouble;
static bool end_record(void) {
  const int status = exanet_stream_end();
  if (status != 0) trouble = status;
  return status == 0;
}

static void failed(const struct exanet_ni *ni, int status) {
  exanet_recording = false;
  fprintf(stderr, "exanet: rank %u: its MPI calls are recorded no further: %s; the run goes on\n", exanet_rank(ni),
          strerror(status));
}

/* -- fields -------------------------------------------------------------------------------------------------------- */

static uint64_t since(uint64_t from_ps, uint64_t to_ps) { return to_ps > from_ps ? to_ps - from_ps : 0; }

/* Of threads that call at once, a call that began first may return last: what the other's record has counted is not
   counted again. */
static void put_times(const struct exanet_recorded_call *call, uint64_t computed_ps, uint64_t end_ps) {
  const uint64_t until_ps = call->compute_ps > counted_ps ? call->compute_ps : counted_ps;
  exanet_put_times(&(struct exanet_times_fields){.compute_ps = until_ps - counted_ps,
                                                 .inside_ps = since(until_ps, computed_ps),
                                                 .took_ps = since(call->begin_ps, end_ps)});
  counted_ps = until_ps + since(until_ps, computed_ps);
}

/* MPI took what had come from the network, or nothing, and did not ask it for more: a test or probe that has found
   nothing then is no step of a replay, and its computing is the next record's. */
static bool took_no_time(const struct exanet_recorded_call *call, uint64_t computed_ps, uint64_t end_ps) {
  return since(call->begin_ps, end_ps) <= since(call->compute_ps, computed_ps);
}

static void put_no_times(void) { exanet_put_times(&(struct exanet_times_fields){0}); }

static uint64_t peer_field(const struct exanet_communicator *comm, long rank) {
  if ((int)rank == exanet_mpi.any_source) return 1;
  const int world = exanet_communicator_peer(comm, (int)rank);
  return world < 0 ? 0 : (uint64_t)world + 2;
}

static uint64_t tag_field(long tag) { return (int)tag == exanet_mpi.any_tag ? 0 : (uint64_t)((int64_t)(int)tag + 1); }

static uint64_t bytes_field(const struct exanet_recorded_call *call, int count, int type) {
  const long n = call->large ? call->arguments[count] : (int)call->arguments[count];
  return n > 0 ? (uint64_t)n * exanet_type_bytes_of(call->arguments[type]) : 0;
}

/* -- forms --------------------------------------------------------------------------------------------------------- */

/* Something that messages depend on and that is not recorded, once. */
static void put_unrecorded(const char *what, bool *warned) {
  if (*warned) return;
  *warned = true;
  exanet_stream_begin(EXANET_TRACE_UNRECORDED);
  put_no_times();
  for (; *what != '\0'; what++) exanet_stream_put((uint8_t)*what);
  end_record();
}

/* The communicator of a call; one that no recorded call has made gets a record of its own, without times. */
static const struct exanet_communicator *communicator(long handle) {
  const struct exanet_communicator *comm = exanet_communicator_find(handle);
  if (comm != NULL) return comm;
  comm = exanet_communicator_add(handle);
  static bool warned;
  if (comm == NULL) {
    put_unrecorded("a communicator with processes of another program", &warned);
    return NULL;
  }
  exanet_stream_begin(EXANET_TRACE_COMMUNICATOR);
  put_no_times();
  exanet_communicator_put(0, comm, 0);
  return end_record() ? comm : NULL;
}

struct position {
  int8_t peer, tag, comm, request; /* -1: none */
};

static struct position message_position(uint8_t code) {
  switch (code) {
    case EXANET_TRACE_Send:
    case EXANET_TRACE_Bsend:
    case EXANET_TRACE_Ssend:
    case EXANET_TRACE_Rsend:
    case EXANET_TRACE_Recv: return (struct position){3, 4, 5, -1};
    default: return (struct position){3, 4, 5, 6};
  }
}

static bool is_init(uint8_t code) {
  return code == EXANET_TRACE_Recv_init || (code >= EXANET_TRACE_Send_init && code <= EXANET_TRACE_Rsend_init);
}

static bool put_message(uint8_t code, const struct exanet_recorded_call *call, uint64_t computed_ps, uint64_t end_ps) {
  const long *a = call->arguments;
  const struct position at = message_position(code);
  const struct exanet_communicator *comm = communicator(a[at.comm]);
  const uint64_t peer = comm != NULL ? peer_field(comm, a[at.peer]) : 0;
  if (peer == 0 && !is_init(code)) return false;
  exanet_stream_begin(code);
  put_times(call, computed_ps, end_ps);
  exanet_put_message(&(struct exanet_message_fields){
      .communicator = comm != NULL ? comm->number : 0,
      .peer = peer,
      .tag = tag_field(a[at.tag]),
      .bytes = bytes_field(call, 1, 2),
      .request = at.request >= 0 ? exanet_request_begin(exanet_handle_at(a[at.request], 0), is_init(code)) : 0});
  return true;
}

/* A receive of what a matched probe has found. */
static bool put_probed(uint8_t code, const struct exanet_recorded_call *call, uint64_t computed_ps, uint64_t end_ps) {
  const struct exanet_probed found = handle_count > 0 ? exanet_probed_take(handles[0]) : (struct exanet_probed){0};
  if (found.peer == 0) return false;
  exanet_stream_begin(code);
  put_times(call, computed_ps, end_ps);
  exanet_put_message(&(struct exanet_message_fields){
      .communicator = found.comm,
      .peer = found.peer,
      .tag = found.tag,
      .bytes = bytes_field(call, 1, 2),
      .request =
          code == EXANET_TRACE_Imrecv ? exanet_request_begin(exanet_handle_at(call->arguments[4], 0), false) : 0});
  return true;
}

static bool put_exchange(uint8_t code, const struct exanet_recorded_call *call, uint64_t computed_ps, uint64_t end_ps) {
  const long *a = call->arguments;
  const bool replaces = code == EXANET_TRACE_Sendrecv_replace;
  const struct exanet_communicator *comm = communicator(a[replaces ? 7 : 10]);
  if (comm == NULL) return false;
  exanet_stream_begin(code);
  put_times(call, computed_ps, end_ps);
  exanet_put_exchange(
      &(struct exanet_exchange_fields){.communicator = comm->number,
                                       .peer = peer_field(comm, a[3]),
                                       .tag = tag_field(a[4]),
                                       .bytes = bytes_field(call, 1, 2),
                                       .receive_peer = peer_field(comm, a[replaces ? 5 : 8]),
                                       .receive_tag = tag_field(a[replaces ? 6 : 9]),
                                       .receive_bytes = replaces ? bytes_field(call, 1, 2) : bytes_field(call, 6, 7)});
  return true;
}

static bool put_probe(uint8_t code, const struct exanet_recorded_call *call, uint64_t computed_ps, uint64_t end_ps) {
  const long *a = call->arguments;
  const struct exanet_communicator *comm = communicator(a[2]);
  const bool asks = code == EXANET_TRACE_Iprobe || code == EXANET_TRACE_Improbe;
  const bool found = !asks || *(const int *)a[3] != 0;
  uint64_t peer = comm != NULL ? peer_field(comm, a[0]) : 0;
  if (peer == 0 || (!found && took_no_time(call, computed_ps, end_ps))) return false;
  /* A message to oneself is found as one, since it does not cross the network. */
  const char *answer = (const char *)a[asks ? code == EXANET_TRACE_Iprobe ? 4 : 5 : code == EXANET_TRACE_Probe ? 3 : 4];
  const int source = found && (uintptr_t)answer > 1 ? *(const int *)(answer + exanet_mpi.status_source) : -1;
  if (peer == 1 && source >= 0 && source == comm->rank && comm->remote == NULL) peer = peer_field(comm, source);
  exanet_stream_begin(code);
  put_times(call, computed_ps, end_ps);
  exanet_put_probe(&(struct exanet_probe_fields){
      .communicator = comm->number, .peer = peer, .tag = tag_field(a[1]), .found = found});
  if (found && (code == EXANET_TRACE_Mprobe || code == EXANET_TRACE_Improbe)) {
    const char *status = (const char *)a[code == EXANET_TRACE_Mprobe ? 4 : 5];
    struct exanet_probed probed = {comm->number, peer, tag_field(a[1])};
    if ((uintptr_t)status > 1) { /* a status to ignore is 0 or 1 */
      probed.peer = peer_field(comm, *(const int *)(status + exanet_mpi.status_source));
      probed.tag = tag_field(*(const int *)(status + exanet_mpi.status_tag));
    }
    exanet_probed_add(exanet_handle_at(a[code == EXANET_TRACE_Mprobe ? 3 : 4], 0), &probed);
  }
  return true;
}

/* Finds those of the call's requests that have completed: the number of them, and each by its place, in `indices` or
   one after the other. */
static long completed(uint8_t code, const long *a, const int **indices) {
  *indices = NULL;
  switch (code) {
    case EXANET_TRACE_Waitany: *indices = (const int *)a[2]; return **indices >= 0;
    case EXANET_TRACE_Testany: *indices = (const int *)a[2]; return *(const int *)a[3] != 0 && **indices >= 0;
    case EXANET_TRACE_Waitsome:
    case EXANET_TRACE_Testsome: *indices = (const int *)a[3]; return *(const int *)a[2] > 0 ? *(const int *)a[2] : 0;
    case EXANET_TRACE_Test:
    case EXANET_TRACE_Request_get_status: return *(const int *)a[1] != 0;
    case EXANET_TRACE_Testall: return *(const int *)a[2] != 0 ? handle_count : 0;
    default: return handle_count;
  }
}

/* Starts the persistent collectives among the call's requests, as nonblocking ones; the first has the call's times.
   The number of them. */
static long put_starts(const struct exanet_recorded_call *call, uint64_t computed_ps, uint64_t end_ps) {
  long started = 0;
  for (long i = 0; i < handle_count; i++) {
    const uint32_t number = exanet_request_find(handles[i]);
    const uint8_t code = exanet_persistent_code(number);
    if (code == 0) continue;
    exanet_stream_begin(code);
    if (started++ == 0)
      put_times(call, computed_ps, end_ps);
    else
      put_no_times();
    exanet_persistent_start(number);
    end_record();
  }
  return started;
}

static bool put_requests(uint8_t code, const struct exanet_recorded_call *call, uint64_t computed_ps, uint64_t end_ps) {
  const int *indices;
  const long n = completed(code, call->arguments, &indices);
  const bool starts = code == EXANET_TRACE_Start || code == EXANET_TRACE_Startall;
  const bool ends = !starts && code != EXANET_TRACE_Cancel && code != EXANET_TRACE_Request_get_status;
  const bool tests = code >= EXANET_TRACE_Test && code <= EXANET_TRACE_Request_get_status;
  if (tests && n == 0 && took_no_time(call, computed_ps, end_ps)) return false;
  const long collectives = starts ? put_starts(call, computed_ps, end_ps) : 0;
  if (collectives > 0 && collectives == handle_count) return false;
  static bool warned;
  if (code == EXANET_TRACE_Request_free && exanet_persistent_is_active(exanet_request_find(handles[0])))
    put_unrecorded("MPI_Request_free of a persistent collective under way", &warned);
  exanet_stream_begin(code);
  if (collectives == 0)
    put_times(call, computed_ps, end_ps);
  else
    put_no_times();
  for (long i = 0; i < n; i++) {
    const long at = indices != NULL ? indices[i] : i;
    const uint32_t number = at >= 0 && at < handle_count ? exanet_request_find(handles[at]) : 0;
    if (number == 0 || (starts && exanet_persistent_code(number) != 0)) continue;
    /* A persistent collective that is not under way is over for whoever asks. */
    if (exanet_persistent_code(number) == 0 || exanet_persistent_is_active(number)) exanet_stream_put(number);
    if (!ends) continue;
    exanet_persistent_stop(number);
    exanet_request_end(handles[at], code == EXANET_TRACE_Request_free);
  }
  return true;
}

/* The request of a nonblocking collective, or of a persistent one, for whose start the record is kept. `at`: of the
   argument behind the communicator. */
static uint32_t collective_request(const struct exanet_recorded_call *call, int at) {
  const bool persistent = exanet_mpi_call_is_persistent(call->call);
  return exanet_request_begin(exanet_handle_at(call->arguments[persistent ? at + 1 : at], 0), persistent);
}

/* One that is made persistent is no record, and what was computed before it is the next one's. */
static void begin_collective(uint8_t code, const struct exanet_recorded_call *call, uint64_t computed_ps,
                             uint64_t end_ps) {
  exanet_stream_begin(code);
  if (!exanet_mpi_call_is_persistent(call->call)) put_times(call, computed_ps, end_ps);
}

static bool keep_if_persistent(uint8_t code, const struct exanet_recorded_call *call, uint32_t request) {
  if (!exanet_mpi_call_is_persistent(call->call)) return false;
  exanet_persistent_keep(request, code);
  return true;
}

static bool put_collective(uint8_t code, const struct exanet_recorded_call *call, uint64_t computed_ps,
                           uint64_t end_ps) {
  const struct exanet_collective *c = exanet_collective_of(code);
  if (communicator(call->arguments[c->comm]) == NULL) return false;
  const bool waits = code < EXANET_TRACE_Ibarrier;
  const uint32_t request = waits ? 0 : collective_request(call, c->comm + 1);
  begin_collective(code, call, computed_ps, end_ps);
  exanet_collective_put(code, call->arguments, call->large, request);
  return !keep_if_persistent(code, call, request);
}

static int made_at(uint8_t code) {
  switch (code) {
    case EXANET_TRACE_Comm_dup:
    case EXANET_TRACE_Comm_idup: return 1;
    case EXANET_TRACE_Comm_split:
    case EXANET_TRACE_Comm_create_group: return 3;
    case EXANET_TRACE_Comm_split_type: return 4;
    case EXANET_TRACE_Intercomm_create:
    case EXANET_TRACE_Cart_create:
    case EXANET_TRACE_Graph_create: return 5;
    case EXANET_TRACE_Dist_graph_create: return 8;
    case EXANET_TRACE_Dist_graph_create_adjacent: return 9;
    default: return 2;
  }
}

static bool put_create(uint8_t code, const struct exanet_recorded_call *call, uint64_t computed_ps, uint64_t end_ps) {
  const struct exanet_communicator *from = communicator(call->arguments[0]);
  const uint32_t parent = from != NULL ? from->number : 0;
  const long handle = exanet_handle_at(call->arguments[made_at(code)], 0);
  const bool member = exanet_handle_of(handle) != exanet_mpi.no_communicator;
  if (code == EXANET_TRACE_Comm_idup) exanet_communicator_forget(handle);
  /* Members of a communicator that is not yet there (MPI_Comm_idup) are asked for at its first use. */
  const struct exanet_communicator *comm =
      member && code != EXANET_TRACE_Comm_idup ? exanet_communicator_made(handle) : NULL;
  exanet_stream_begin(code);
  put_times(call, computed_ps, end_ps);
  const bool reorders = code == EXANET_TRACE_Cart_create && (int)call->arguments[4] != 0;
  exanet_communicator_put(parent, comm, reorders ? EXANET_TRACE_REORDERED : 0);
  return true;
}

static bool put_neighbours(uint8_t code, const struct exanet_recorded_call *call, uint64_t computed_ps,
                           uint64_t end_ps) {
  const int at = exanet_neighbours_communicator_at(code);
  const struct exanet_communicator *comm = communicator(call->arguments[at]);
  if (comm == NULL) return false;
  const bool waits = code < EXANET_TRACE_Ineighbor_allgather;
  const uint32_t request = waits ? 0 : collective_request(call, at + 1);
  begin_collective(code, call, computed_ps, end_ps);
  exanet_neighbours_put(code, comm, call->arguments, call->large, request);
  return !keep_if_persistent(code, call, request);
}

static bool put_window(uint8_t code, const struct exanet_recorded_call *call, uint64_t computed_ps, uint64_t end_ps) {
  const struct exanet_communicator *comm = communicator(call->arguments[exanet_window_communicator_at(code)]);
  if (comm == NULL) return false;
  exanet_stream_begin(code);
  put_times(call, computed_ps, end_ps);
  exanet_window_put_made(code, comm, call->arguments, call->large);
  return true;
}

static bool put_access(uint8_t code, const struct exanet_recorded_call *call, uint64_t computed_ps, uint64_t end_ps) {
  const struct exanet_access *access = exanet_access_of(code);
  static bool warned;
  if (!exanet_window_is_known(exanet_handle_of(call->arguments[access->window]))) {
    put_unrecorded("a window of a file or of another program", &warned);
    return false;
  }
  if (exanet_access_peer(code, call->arguments) == 0) return false;
  const uint32_t request =
      access->requests ? exanet_request_begin(exanet_handle_at(call->arguments[access->window + 1], 0), false) : 0;
  exanet_stream_begin(code);
  put_times(call, computed_ps, end_ps);
  exanet_access_put(code, call->arguments, call->large, request);
  return true;
}

/* A window that is freed has been looked up before. */
static bool put_synchronisation(uint8_t code, const struct exanet_recorded_call *call, uint64_t computed_ps,
                                uint64_t end_ps) {
  const bool frees = code == EXANET_TRACE_Win_free;
  if (frees && handle_count == 0) return false;
  const uint64_t window = frees ? handles[0] : exanet_handle_of(call->arguments[exanet_window_at(code)]);
  static bool warned;
  if (!exanet_window_is_known(window)) {
    put_unrecorded("a window of a file or of another program", &warned);
    return false;
  }
  exanet_stream_begin(code);
  put_times(call, computed_ps, end_ps);
  exanet_synchronisation_put(code, window, call->arguments);
  if (frees) exanet_window_forget(window);
  return true;
}

static bool met[EXANET_MPI_CALL_COUNT]; /* calls that are not recorded */

static bool is_of_files(uint32_t call) { return strncmp(exanet_mpi_call_name(call), "MPI_File", 8) == 0; }

/* Without them the trace can be replayed: their names come last. */
static void put_names_of_files(void) {
  for (uint32_t call = 0; call < EXANET_MPI_CALL_COUNT; call++) {
    bool done = !met[call] || !is_of_files(call);
    put_unrecorded(exanet_mpi_call_name(call), &done);
  }
}

/* A call that messages depend on and that is not recorded: its name, once. */
static bool put_name(const struct exanet_recorded_call *call, uint64_t computed_ps, uint64_t end_ps) {
  const char *name = exanet_mpi_call_name(call->call);
  const bool before = met[call->call], matters = call->call != EXANET_MPI_Comm_free &&
                                                 call->call != EXANET_MPI_Comm_disconnect &&
                                                 call->call != EXANET_MPI_Buffer_detach;
  met[call->call] = true;
  if (before || !matters || is_of_files(call->call)) return false;
  exanet_stream_begin(EXANET_TRACE_UNRECORDED);
  put_times(call, computed_ps, end_ps);
  for (; *name != '\0'; name++) exanet_stream_put((uint8_t)*name);
  return true;
}

static bool put_call(const struct exanet_recorded_call *call, uint64_t computed_ps, uint64_t end_ps) {
  const struct known_call known = known_calls[call->call];
  if (known.code == EXANET_TRACE_Mrecv || known.code == EXANET_TRACE_Imrecv)
    return put_probed(known.code, call, computed_ps, end_ps);
  switch ((enum exanet_trace_form)known.form) {
    case EXANET_TRACE_MESSAGE: return put_message(known.code, call, computed_ps, end_ps);
    case EXANET_TRACE_EXCHANGE: return put_exchange(known.code, call, computed_ps, end_ps);
    case EXANET_TRACE_REQUESTS: return put_requests(known.code, call, computed_ps, end_ps);
    case EXANET_TRACE_PROBE: return put_probe(known.code, call, computed_ps, end_ps);
    case EXANET_TRACE_COLLECTIVE: return put_collective(known.code, call, computed_ps, end_ps);
    case EXANET_TRACE_CREATE: return put_create(known.code, call, computed_ps, end_ps);
    case EXANET_TRACE_NEIGHBOURS: return put_neighbours(known.code, call, computed_ps, end_ps);
    case EXANET_TRACE_WINDOW: return put_window(known.code, call, computed_ps, end_ps);
    case EXANET_TRACE_ACCESS: return put_access(known.code, call, computed_ps, end_ps);
    case EXANET_TRACE_SYNCHRONISE: return put_synchronisation(known.code, call, computed_ps, end_ps);
    default: return put_name(call, computed_ps, end_ps);
  }
}

/* -- the recorder -------------------------------------------------------------------------------------------------- */

void exanet_record_open(struct exanet_ni *ni, void *(*find)(const char *name)) {
  const char *folder = getenv("EXANET_RECORD");
  if (folder == NULL) return;
  const char *why = exanet_mpi_find_out(find);
  if (why != NULL) {
    fprintf(stderr, "exanet: rank %u: its MPI calls are not recorded: %s\n", exanet_rank(ni), why);
    return;
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/rank-%06u.calls", folder, exanet_rank(ni));
  struct exanet_trace_header header = {
      .version = EXANET_TRACE_VERSION, .mpi = exanet_mpi.kind, .rank = exanet_rank(ni), .ranks = exanet_size(ni)};
  memcpy(header.magic, EXANET_TRACE_MAGIC, sizeof header.magic);
  int status = exanet_stream_open(path, &header, sizeof header);
  if (status == EEXIST) {
    fprintf(stderr,
            "exanet: rank %u: its MPI calls are not recorded: %s holds another program's; record one at a time\n",
            exanet_rank(ni), path);
    return;
  }
  if (status == 0 && !exanet_communicators_open()) status = ENOMEM;
  if (status != 0) {
    failed(ni, status);
    return;
  }
  counted_ps = exanet_computed_ps(ni);
  exanet_recording = true;
}

void exanet_record_close(struct exanet_ni *ni) {
  if (!exanet_recording) return;
  exanet_recording = false;
  put_names_of_files();
  exanet_stream_begin(EXANET_TRACE_Finalize);
  exanet_put_times(&(struct exanet_times_fields){.compute_ps = since(counted_ps, exanet_computed_ps(ni))});
  const int status = exanet_stream_end();
  if (status != 0) failed(ni, status);
  exanet_stream_close();
}

void exanet_record_prepare(struct exanet_ni *ni, struct exanet_recorded_call *call) {
  const long *a = call->arguments;
  long n = 1, list = a[0];
  if (__atomic_fetch_add(&inside, 1, __ATOMIC_RELAXED) > 0) __atomic_store_n(&overlapping, true, __ATOMIC_RELAXED);
  handle_count = 0;
  const struct known_call known = known_calls[call->call];
  switch (known.code) {
    case EXANET_TRACE_Waitall:
    case EXANET_TRACE_Waitany:
    case EXANET_TRACE_Waitsome:
    case EXANET_TRACE_Testall:
    case EXANET_TRACE_Testany:
    case EXANET_TRACE_Testsome:
    case EXANET_TRACE_Startall:
      n = (int)a[0];
      list = a[1];
      break;
    case EXANET_TRACE_Request_get_status: keep_handle(exanet_handle_of(a[0])); return;
    case EXANET_TRACE_Mrecv:
    case EXANET_TRACE_Imrecv: list = a[3]; break;
    case EXANET_TRACE_Win_free: break;
    default:
      if (known.form != EXANET_TRACE_REQUESTS) return;
  }
  for (long i = 0; i < n; i++) keep_handle(exanet_handle_of(exanet_handle_at(list, i)));
}

void exanet_record_begins(struct exanet_ni *ni, struct exanet_recorded_call *call) {
  call->begin_ps = exanet_clock_peek(ni);
  call->compute_ps = exanet_computed_ps(ni);
}

/* A receive whose buffer was too short fails, and has taken its message all the same. */
static bool took_a_message(const struct exanet_recorded_call *call) {
  const uint8_t code = known_calls[call->call].code;
  if (code == EXANET_TRACE_Recv) return exanet_communicator_find(call->arguments[5]) != NULL;
  return code == EXANET_TRACE_Wait || code == EXANET_TRACE_Waitall;
}

void exanet_record_ends(struct exanet_ni *ni, const struct exanet_recorded_call *call, int result) {
  __atomic_fetch_sub(&inside, 1, __ATOMIC_RELAXED);
  if (result != 0 && !took_a_message(call)) return;
  const uint64_t computed_ps = exanet_computed_ps(ni), end_ps = exanet_clock_peek(ni);
  exanet_system_lock(&lock);
  static bool warned;
  if (exanet_recording && __atomic_load_n(&overlapping, __ATOMIC_RELAXED))
    put_unrecorded("MPI in several threads at once", &warned);
  if (exanet_recording && put_call(call, computed_ps, end_ps)) end_record();
  if (exanet_recording && trouble != 0) failed(ni, trouble);
  exanet_system_unlock(&lock);
}
