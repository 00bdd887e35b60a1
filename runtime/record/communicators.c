/* SPDX-License-Identifier: Apache-2.0
 * Numbers a rank's communicators, and asks the MPI library for their members.
 *
 * Problem: a record names a communicator and peers as ranks of MPI_COMM_WORLD, a call a handle and ranks of the
 * communicator. Model: what a communicator's members are is asked once, when its handle is first met, by translating
 * its group into that of MPI_COMM_WORLD; of one whose members are those of MPI_COMM_WORLD in their order nothing is
 * kept. Limit: a communicator with processes of another program has no number. */
#include "runtime/record/communicators.h"

#include <stdlib.h>

#include "runtime/record/handles.h"
#include "runtime/record/library.h"

static struct exanet_handles table;
static struct exanet_communicator *known; /* by number, less one */
static uint32_t count, capacity;
static long world_group;
static int world_size;
static bool opened, shared;

int *exanet_group_members(long group, int size) {
  const size_t capacity = size > 0 ? (size_t)size : 1;
  int *own = calloc(capacity, sizeof *own), *world = calloc(capacity, sizeof *world);
  bool done = own != NULL && world != NULL;
  for (int i = 0; done && i < size; i++) own[i] = i;
  done = done && exanet_mpi.group_translate_ranks(group, size, own, world_group, world) == 0;
  for (int i = 0; done && i < size; i++) done = world[i] >= 0 && world[i] < world_size;
  free(own);
  if (done) return world;
  free(world);
  return NULL;
}

/* The same of a group that is freed. */
static int *translate(long group, int size) {
  int *world = exanet_group_members(group, size);
  exanet_mpi.group_free(&group);
  return world;
}

static bool is_world(const int *members, int size) {
  if (size != world_size) return false;
  for (int i = 0; i < size; i++)
    if (members[i] != i) return false;
  return true;
}

static bool ask(struct exanet_communicator *comm, long handle) {
  int inter = 0, size = 0;
  long group = 0, remote = 0;
  exanet_mpi.comm_size(handle, &size);
  exanet_mpi.comm_rank(handle, &comm->rank);
  comm->size = size;
  if (exanet_mpi.comm_group(handle, &group) != 0) return false;
  comm->members = translate(group, size);
  if (comm->members == NULL) return false;
  const bool same = is_world(comm->members, size);
  exanet_mpi.comm_test_inter(handle, &inter);
  if (inter) {
    exanet_mpi.comm_remote_size(handle, &comm->remote_size);
    if (exanet_mpi.comm_remote_group(handle, &remote) != 0) return false;
    comm->remote = translate(remote, comm->remote_size);
    return comm->remote != NULL;
  }
  if (same) {
    free(comm->members);
    comm->members = NULL;
  }
  return true;
}

const struct exanet_communicator *exanet_communicator_find(long handle) {
  const struct exanet_handle *found = exanet_handles_find(&table, exanet_handle_of(handle));
  return found != NULL ? &known[found->number - 1] : NULL;
}

const struct exanet_communicator *exanet_communicator_of(uint32_t number) {
  return number > 0 && number <= count ? &known[number - 1] : NULL;
}

const struct exanet_communicator *exanet_communicator_add(long handle) {
  if (count == capacity) {
    struct exanet_communicator *grown = realloc(known, sizeof *known * (capacity ? 2 * capacity : 16));
    if (grown == NULL) return NULL;
    known = grown;
    capacity = capacity ? 2 * capacity : 16;
  }
  struct exanet_communicator *made = &known[count];
  *made = (struct exanet_communicator){.number = count + 1};
  if (!ask(made, handle) || !exanet_handles_set(&table, exanet_handle_of(handle), made->number, true)) return NULL;
  count++;
  return made;
}

const struct exanet_communicator *exanet_communicator_made(long handle) {
  return shared ? exanet_communicator_find(handle) : exanet_communicator_add(handle);
}

void exanet_communicator_forget(long handle) { exanet_handles_remove(&table, exanet_handle_of(handle)); }

bool exanet_communicators_open(void) {
  shared = opened;
  if (opened) return true;
  opened = true;
  exanet_mpi.comm_size((long)exanet_mpi.world, &world_size);
  return exanet_mpi.comm_group((long)exanet_mpi.world, &world_group) == 0 &&
         exanet_communicator_add((long)exanet_mpi.world) != NULL &&
         exanet_communicator_add((long)exanet_mpi.self) != NULL;
}

int exanet_communicator_peer(const struct exanet_communicator *comm, int rank) {
  if (rank < 0 || rank >= (comm->remote != NULL ? comm->remote_size : comm->size)) return -1;
  return comm->remote != NULL ? comm->remote[rank] : comm->members != NULL ? comm->members[rank] : rank;
}

static uint64_t member(const void *members, uint64_t i) { return (uint64_t)((const int *)members)[i]; }

struct exanet_list exanet_list_of_ranks(const int *ranks, int size) {
  return (struct exanet_list){ranks != NULL ? (uint64_t)size : 0, member, ranks};
}

void exanet_communicator_put(uint64_t from, const struct exanet_communicator *made, uint64_t flags) {
  struct exanet_create_fields fields = {.from = from, .flags = flags};
  if (made != NULL) {
    fields.made = made->number;
    fields.flags |=
        (made->remote != NULL ? EXANET_TRACE_INTER : 0) | (made->members == NULL ? EXANET_TRACE_OF_WORLD : 0);
    fields.members = exanet_list_of_ranks(made->members, made->size);
    fields.remote = exanet_list_of_ranks(made->remote, made->remote_size);
  }
  exanet_put_create(&fields);
}
