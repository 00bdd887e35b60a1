/* SPDX-License-Identifier: Apache-2.0
 * Broadcasts of unmodified programs by an algorithm that their MPI library has not.
 *
 * Problem: a program calls MPI_Bcast on any communicator, and its messages are to go along a tree that the library does not know, or once to all ranks
 * by packets that routers copy. Model: each rank asks the simulator for its part of it, once for a communicator and root, and carries it out by the
 * library's own messages, and what is copied by the interface's (copies.h). The library's go over a communicator of the same group that the program
 * does not see, so that they never meet the program's; it is kept as an attribute of the program's one, and goes with it. That of MPI_COMM_WORLD is made before virtual time begins, others at their first broadcast, in virtual time.
 *
 * Limits: left to the library are intercommunicators, communicators with processes of another program, programs that begin MPI by sessions,
 * MPI_Ibcast and persistent broadcasts. */
#include "runtime/collectives/bcast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exanet/shm.h"
#include "runtime/collectives/copies.h"
#include "runtime/collectives/members.h"
#include "runtime/record/library.h"

typedef struct exn_tree_question part;

/* The other communicator of the program's one. */
struct twin {
  long comm;
  bool used; /* or the library broadcasts */
  int size, rank;
  uint32_t *members; /* ranks of the run */
  part **parts; /* by root, and of each for messages that are longer than an eager one; NULL: not asked for yet */
  uint64_t number; /* all members agree: in tags of what is copied, so that it meets no other communicator's */
  uint64_t copied; /* broadcasts so far */
};

/* The library's own, which count as no calls. A count is an int, or an MPI_Count. */
struct messages {
  int (*send)(const void *buffer, long count, long type, int to, int tag, long comm);
  int (*receive)(void *buffer, long count, long type, int from, int tag, long comm, void *status);
  int (*isend)(const void *buffer, long count, long type, int to, int tag, long comm, void *request);
  int (*ireceive)(void *buffer, long count, long type, int from, int tag, long comm, void *request);
};
static struct messages messages[2]; /* [counts are MPI_Count] */
static struct {
  int (*waitall)(int count, void *requests, void *statuses);
  int (*comm_create)(long comm, long group, void *made);
  int (*comm_free)(void *comm);
  int (*comm_create_keyval)(int (*copy)(long, int, void *, void *, void *, int *),
                            int (*forget)(long, int, void *, void *), void *key, void *extra);
  int (*comm_set_attr)(long comm, int key, void *value);
  int (*comm_get_attr)(long comm, int key, void *value, int *found);
  int (*comm_delete_attr)(long comm, int key);
  int (*comm_set_errhandler)(long comm, long handler);
  int (*comm_call_errhandler)(long comm, int code);
} own;
static exanet_mpi_function library[2][2]; /* [PMPI][counts are MPI_Count] */
static bool ready, copied;
static int key;

/* -- twins ---------------------------------------------------------------------------------------------------------------------------- */

static int forget(long comm, int of, void *value, void *extra) {
  (void)comm, (void)of, (void)extra;
  struct twin *twin = value;
  const int result = twin->used ? own.comm_free(&twin->comm) : 0;
  for (int i = 0; twin->parts != NULL && i < 2 * twin->size; i++) free(twin->parts[i]);
  free(twin->parts);
  free(twin->members);
  free(twin);
  return result;
}

/* Rank 0 of the communicator says it. */
static int agree_on_number(struct twin *twin) {
  static uint32_t made;
  twin->number = (uint64_t)twin->members[0] << 24 | (__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED) & 0xffffff);
  return exanet_mpi.bcast(&twin->number, sizeof twin->number, (long)exanet_mpi.byte, 0, twin->comm);
}

/* All members of the communicator come here at once, at its first broadcast. */
static int make(long comm, struct twin **made) {
  int result = 0;
  struct twin *twin = exanet_kept(calloc(1, sizeof *twin));
  exanet_mpi.comm_size(comm, &twin->size);
  exanet_mpi.comm_rank(comm, &twin->rank);
  twin->members = exanet_members_of(comm, twin->size);
  long group = 0;
  if (twin->members != NULL && exanet_mpi.comm_group(comm, &group) == 0) {
    group = exanet_handle_at((long)&group, 0);
    twin->parts = exanet_kept(calloc(2 * (size_t)twin->size, sizeof *twin->parts));
    result = own.comm_create(comm, group, &twin->comm);
    twin->comm = exanet_handle_at((long)&twin->comm, 0);
    twin->used = result == 0;
    if (twin->used) own.comm_set_errhandler(twin->comm, (long)exanet_mpi.errors_return);
    exanet_mpi.group_free(&group);
    if (twin->used && copied) result = agree_on_number(twin);
  }
  own.comm_set_attr(comm, key, twin);
  *made = twin;
  return result;
}

/* -- a broadcast ---------------------------------------------------------------------------------------------------------------------- */

static const part *part_of(struct twin *twin, int root, bool is_long) {
  part **kept = &twin->parts[2 * root + is_long];
  if (*kept != NULL) return *kept;
  struct exanet_ni *ni = exanet_process_ni();
  exanet_uncounted_begin(ni);
  const size_t size = (size_t)twin->size;
  part *asked = exanet_kept(malloc(sizeof *asked + size * sizeof asked->list[0]));
  *asked = (part){.ranks = (uint32_t)size, .me = (uint32_t)twin->rank, .root = (uint32_t)root, .is_long = is_long};
  memcpy(asked->list, twin->members, size * sizeof asked->list[0]);
  exanet_ask_tree(ni, asked);
  *kept = asked;
  exanet_uncounted_end(ni);
  return asked;
}

/* One call as this rank carries it out. */
struct call {
  const struct messages *by;
  struct twin *twin;
  uint32_t root;
  uint64_t tag; /* of what is copied */
  struct exanet_contents contents;
  void *buffer;
  long count, type;
};

static void note(int *result, int error) {
  if (*result == 0) *result = error;
}

static int message(const struct call *c, uint32_t step) {
  const bool tells = step & EXN_STEP_TELLS;
  const long count = tells ? 0 : c->count, type = tells ? (long)exanet_mpi.byte : c->type, comm = c->twin->comm;
  const int peer = (int)EXN_STEP_PEER(step);
  if (step & EXN_STEP_SENDS) return c->by->send(c->buffer, count, type, peer, 0, comm);
  return c->by->receive(c->buffer, count, type, peer, 0, comm, (void *)(uintptr_t)exanet_mpi.status_ignore);
}

static int begin(const struct call *c, uint32_t step, void *request) {
  const bool tells = step & EXN_STEP_TELLS;
  const long count = tells ? 0 : c->count, type = tells ? (long)exanet_mpi.byte : c->type, comm = c->twin->comm;
  const int peer = (int)EXN_STEP_PEER(step);
  if (step & EXN_STEP_SENDS) return c->by->isend(c->buffer, count, type, peer, 0, comm, request);
  return c->by->ireceive(c->buffer, count, type, peer, 0, comm, request);
}

/* Messages of one stage, at once, and what is copied. */
static int stage(struct call *c, const uint32_t *steps, uint32_t n) {
  if (n == 1 && !(steps[0] & EXN_STEP_COPIED)) return message(c, steps[0]);
  char *requests = exanet_kept(calloc(n, exanet_mpi.handle_bytes));
  struct exanet_awaited coming;
  int result = 0, begun = 0;
  bool comes = false;
  for (uint32_t i = 0; i < n; i++) {
    if (!(steps[i] & EXN_STEP_COPIED)) {
      const int error = begin(c, steps[i], requests + (size_t)begun * exanet_mpi.handle_bytes);
      note(&result, error);
      begun += error == 0;
    } else if (steps[i] & EXN_STEP_SENDS) {
      note(&result, exanet_copy_send(&c->contents, EXN_STEP_PEER(steps[i]), c->tag));
    } else {
      exanet_copy_receive(&c->contents, c->twin->members[c->root], c->tag, &coming);
      comes = true;
    }
  }
  if (begun > 0) note(&result, own.waitall(begun, requests, (void *)(uintptr_t)exanet_mpi.status_ignore));
  free(requests);
  if (!comes) return result;
  note(&result, exanet_copy_wait(&coming));
  /* From here on the buffer has it, for those beside this rank. */
  note(&result, exanet_contents_end(&c->contents, true));
  return result;
}

/* Who fails goes on all the same, for those who wait for it. */
static int carry_out(const part *mine, struct call *c) {
  int result = 0;
  bool sends_copies = false, takes_copies = false;
  for (uint32_t i = 0; i < mine->steps; i++) {
    sends_copies |= (mine->list[i] & EXN_STEP_COPIED) && (mine->list[i] & EXN_STEP_SENDS);
    takes_copies |= (mine->list[i] & EXN_STEP_COPIED) && !(mine->list[i] & EXN_STEP_SENDS);
  }
  if (sends_copies || takes_copies) result = exanet_contents_begin(&c->contents, sends_copies);
  for (uint32_t i = 0; i < mine->steps;) {
    uint32_t n = 1;
    while (i + n < mine->steps && !(mine->list[i + n - 1] & EXN_STEP_ENDS_STAGE)) n++;
    note(&result, stage(c, &mine->list[i], n));
    i += n;
  }
  if (sends_copies) note(&result, exanet_contents_end(&c->contents, false));
  return result;
}

/* What is wrong with the arguments the library says. */
static long broadcast(bool large, bool pmpi, EXANET_MPI_ARGUMENTS) {
  const long count = large ? a1 : (int)a1;
  const int root = (int)a3;
  const exanet_mpi_function otherwise = library[pmpi][large];
  const struct exanet_ni *ni = exanet_process_ni();
  struct twin *twin = NULL;
  int found = 0, bytes = 0;
  if (!ready || ni == NULL || !exanet_is_virtual(ni) || exanet_handle_of(a4) == exanet_mpi.no_communicator ||
      count < 0 || exanet_handle_of(a2) == exanet_mpi.no_type || own.comm_get_attr(a4, key, &twin, &found) != 0)
    return otherwise(EXANET_MPI_PASSED);
  if (!found) {
    const int result = make(a4, &twin);
    if (result != 0) return own.comm_call_errhandler(a4, result), result;
  }
  if (!twin->used || root < 0 || root >= twin->size) return otherwise(EXANET_MPI_PASSED);
  /* Nothing at all is not even begun, by anybody: the types agree in what they hold. */
  if (count == 0 || (exanet_mpi.type_size(a2, &bytes) == 0 && bytes == 0)) return 0;
  struct call call = {&messages[large], twin, (uint32_t)root, 0, {0}, (void *)a0, count, a2};
  bool is_long = false;
  if (copied) {
    const uint64_t whole = exanet_contents_bytes(count, a2);
    is_long = whole > exanet_eager_max(ni);
    call.tag = twin->number << 16 | (twin->copied++ & 0xffff);
    call.contents = (struct exanet_contents){call.buffer, count, a2, twin->comm, whole, NULL};
  }
  const int result = carry_out(part_of(twin, root, is_long), &call);
  if (result != 0) own.comm_call_errhandler(a4, result);
  return result;
}

static long mpi_bcast(EXANET_MPI_ARGUMENTS) { return broadcast(false, false, EXANET_MPI_PASSED); }
static long pmpi_bcast(EXANET_MPI_ARGUMENTS) { return broadcast(false, true, EXANET_MPI_PASSED); }
static long mpi_bcast_large(EXANET_MPI_ARGUMENTS) { return broadcast(true, false, EXANET_MPI_PASSED); }
static long pmpi_bcast_large(EXANET_MPI_ARGUMENTS) { return broadcast(true, true, EXANET_MPI_PASSED); }

exanet_mpi_function exanet_bcast_mended(const char *name, exanet_mpi_function found) {
  static const exanet_mpi_function ours[2][2] = {{mpi_bcast, mpi_bcast_large}, {pmpi_bcast, pmpi_bcast_large}};
  const bool pmpi = name[0] == 'P', large = name[strlen(name) - 1] == 'c';
  library[pmpi][large] = found;
  return ours[pmpi][large];
}

/* -- opening and closing -------------------------------------------------------------------------------------------------------------- */

void exanet_bcast_open(struct exanet_ni *ni, void *(*find)(const char *name)) {
  if (!exanet_bcast_is_chosen(ni)) return;
  const char *why = exanet_mpi_find_out(find);
  const struct exanet_wanted wanted[] = {
      {"PMPI_Send", &messages[0].send},
      {"PMPI_Recv", &messages[0].receive},
      {"PMPI_Isend", &messages[0].isend},
      {"PMPI_Irecv", &messages[0].ireceive},
      {"PMPI_Send_c", &messages[1].send},
      {"PMPI_Recv_c", &messages[1].receive},
      {"PMPI_Isend_c", &messages[1].isend},
      {"PMPI_Irecv_c", &messages[1].ireceive},
      {"PMPI_Waitall", &own.waitall},
      {"PMPI_Comm_create", &own.comm_create},
      {"PMPI_Comm_free", &own.comm_free},
      {"PMPI_Comm_create_keyval", &own.comm_create_keyval},
      {"PMPI_Comm_set_attr", &own.comm_set_attr},
      {"PMPI_Comm_get_attr", &own.comm_get_attr},
      {"PMPI_Comm_delete_attr", &own.comm_delete_attr},
      {"PMPI_Comm_set_errhandler", &own.comm_set_errhandler},
      {"PMPI_Comm_call_errhandler", &own.comm_call_errhandler},
      {0},
  };
  if (!exanet_mpi_functions(find, wanted)) why = "its MPI library lacks functions that broadcasts by trees take";
  copied = exanet_bcast_is_copied(ni);
  if (why == NULL && copied && !exanet_copies_open(find))
    why = "its MPI library lacks functions that broadcasts by hardware take";
  if (why != NULL) {
    if (exanet_rank(ni) == 0) fprintf(stderr, "exanet: --collective bcast is not for this program: %s\n", why);
    _exit(2);
  }
  struct twin *twin;
  exanet_members_open();
  own.comm_create_keyval(exanet_copy_none, forget, &key, NULL);
  if (make((long)exanet_mpi.world, &twin) == 0) ready = true;
}

void exanet_bcast_close(void) {
  if (!ready) return;
  ready = false;
  own.comm_delete_attr((long)exanet_mpi.world, key);
  if (copied) exanet_copies_close();
}
