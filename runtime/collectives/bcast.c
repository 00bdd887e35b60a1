/* SPDX-License-Identifier: Apache-2.0
 * Broadcasts of unmodified programs by an algorithm that their MPI library has not.
 *
 * Problem: a program calls MPI_Bcast on any communicator, and its messages are to go along a tree that the library
 * does not know, or once to all ranks by packets that routers copy. Model: each rank asks the simulator for its part
 * of it, once for a communicator and root, and carries it out by the library's own messages, and what is copied by
 * the interface's (copies.h). The library's go over a communicator of the same group that the program does not see,
 * so that they never meet the program's; it is kept as an attribute of the program's one, and goes with it. That of
 * MPI_COMM_WORLD is made before virtual time begins, others at their first broadcast, in virtual time.
 *
 * Limits: left to the library are intercommunicators, communicators with processes of another program, programs that
 * begin MPI by sessions, MPI_Ibcast and persistent broadcasts. */
#include "runtime/collectives/bcast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exanet/shm.h"
#include "runtime/collectives/copies.h"
#include "runtime/collectives/members.h"
#include "runtime/collectives/steps.h"
#include "runtime/record/library.h"

typedef struct exn_tree_question part;

/* The other communicator of the program's one. */
struct duplicate {
  long comm;
  bool used; /* or the library broadcasts */
  int size, rank;
  uint32_t *members; /* ranks of the run */
  part **parts; /* by root, and of each for messages that are longer than an eager one; NULL: not asked for yet */
  uint64_t number; /* all members agree: in tags of what is copied, so that it meets no other communicator's */
  uint64_t copied; /* broadcasts so far */
};

/* The library's own, which count as no calls. */
static struct exanet_step_messages messages[2]; /* [counts are MPI_Count] */
static struct {
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

/* -- duplicates ---------------------------------------------------------------------------------------------------- */

static int forget(long comm, int of, void *value, void *extra) {
  (void)comm, (void)of, (void)extra;
  struct duplicate *duplicate = value;
  const int result = duplicate->used ? own.comm_free(&duplicate->comm) : 0;
  for (int i = 0; duplicate->parts != NULL && i < 2 * duplicate->size; i++) free(duplicate->parts[i]);
  free(duplicate->parts);
  free(duplicate->members);
  free(duplicate);
  return result;
}

/* Rank 0 of the communicator says it. */
static int agree_on_number(struct duplicate *duplicate) {
  static uint32_t made;
  duplicate->number =
      (uint64_t)duplicate->members[0] << 24 | (__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED) & 0xffffff);
  return exanet_mpi.bcast(&duplicate->number, sizeof duplicate->number, (long)exanet_mpi.byte, 0, duplicate->comm);
}

/* All members of the communicator come here at once, at its first broadcast. */
static int make(long comm, struct duplicate **made) {
  int result = 0;
  struct duplicate *duplicate = exanet_kept(calloc(1, sizeof *duplicate));
  exanet_mpi.comm_size(comm, &duplicate->size);
  exanet_mpi.comm_rank(comm, &duplicate->rank);
  duplicate->members = exanet_members_of(comm, duplicate->size);
  long group = 0;
  if (duplicate->members != NULL && exanet_mpi.comm_group(comm, &group) == 0) {
    group = exanet_handle_at((long)&group, 0);
    duplicate->parts = exanet_kept(calloc(2 * (size_t)duplicate->size, sizeof *duplicate->parts));
    result = own.comm_create(comm, group, &duplicate->comm);
    duplicate->comm = exanet_handle_at((long)&duplicate->comm, 0);
    duplicate->used = result == 0;
    if (duplicate->used) own.comm_set_errhandler(duplicate->comm, (long)exanet_mpi.errors_return);
    exanet_mpi.group_free(&group);
    if (duplicate->used && copied) result = agree_on_number(duplicate);
  }
  own.comm_set_attr(comm, key, duplicate);
  *made = duplicate;
  return result;
}

/* -- a broadcast --------------------------------------------------------------------------------------------------- */

static const part *part_of(struct duplicate *duplicate, int root, bool is_long) {
  part **kept = &duplicate->parts[2 * root + is_long];
  if (*kept != NULL) return *kept;
  struct exanet_ni *ni = exanet_process_ni();
  exanet_uncounted_begin(ni);
  const size_t size = (size_t)duplicate->size;
  part *asked = exanet_kept(malloc(sizeof *asked + size * sizeof asked->list[0]));
  *asked = (part){.ranks = (uint32_t)size, .me = (uint32_t)duplicate->rank, .root = (uint32_t)root, .is_long = is_long};
  memcpy(asked->list, duplicate->members, size * sizeof asked->list[0]);
  exanet_ask_tree(ni, asked);
  *kept = asked;
  exanet_uncounted_end(ni);
  return asked;
}

/* What is wrong with the arguments the library says. */
static long broadcast(bool large, bool pmpi, EXANET_MPI_ARGUMENTS) {
  const long count = large ? a1 : (int)a1;
  const int root = (int)a3;
  const exanet_mpi_function otherwise = library[pmpi][large];
  const struct exanet_ni *ni = exanet_process_ni();
  struct duplicate *duplicate = NULL;
  int found = 0, bytes = 0;
  if (!ready || ni == NULL || !exanet_is_virtual(ni) || exanet_handle_of(a4) == exanet_mpi.no_communicator ||
      count < 0 || exanet_handle_of(a2) == exanet_mpi.no_type || own.comm_get_attr(a4, key, &duplicate, &found) != 0)
    return otherwise(EXANET_MPI_PASSED);
  if (!found) {
    const int result = make(a4, &duplicate);
    if (result != 0) return own.comm_call_errhandler(a4, result), result;
  }
  if (!duplicate->used || root < 0 || root >= duplicate->size) return otherwise(EXANET_MPI_PASSED);
  /* Nothing at all is not even begun, by anybody: the types agree in what they hold. */
  if (count == 0 || (exanet_mpi.type_size(a2, &bytes) == 0 && bytes == 0)) return 0;
  struct exanet_step_call call = {.by = &messages[large],
                                  .comm = duplicate->comm,
                                  .buffer = (void *)a0,
                                  .count = count,
                                  .type = a2,
                                  .root = duplicate->members[root]};
  bool is_long = false;
  if (copied) {
    const uint64_t whole = exanet_contents_bytes(count, a2);
    is_long = whole > exanet_eager_max(ni);
    call.tag = duplicate->number << 16 | (duplicate->copied++ & 0xffff);
    call.contents = (struct exanet_contents){call.buffer, count, a2, duplicate->comm, whole, NULL};
  }
  const int result = exanet_carry_out(part_of(duplicate, root, is_long), &call);
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

/* -- opening and closing ------------------------------------------------------------------------------------------- */

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
      {"PMPI_Waitall", &messages[0].waitall},
      {"PMPI_Waitall", &messages[1].waitall},
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
  struct duplicate *duplicate;
  exanet_members_open();
  own.comm_create_keyval(exanet_copy_none, forget, &key, NULL);
  if (make((long)exanet_mpi.world, &duplicate) == 0) ready = true;
}

void exanet_bcast_close(void) {
  if (!ready) return;
  ready = false;
  own.comm_delete_attr((long)exanet_mpi.world, key);
  if (copied) exanet_copies_close();
}
