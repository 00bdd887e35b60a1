// SPDX-License-Identifier: Apache-2.0
// Limits: an element of 2 GiB or more that is not one of MPI's own types is refused by the library's MPI_Pack.
#include "runtime/collectives/copies.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/collectives/members.h"
#include "runtime/collectives/waits.h"
#include "runtime/provider/exanet_prov.h"

#define ERR_BUFFER 1     /* the same value in MPICH and Open MPI */
#define ERR_TRUNCATE (exanet_mpi.kind == EXANET_TRACE_OPEN_MPI ? 15 : 14)
#define ERR_OTHER (exanet_mpi.kind == EXANET_TRACE_OPEN_MPI ? 16 : 15)

/* The library's own, which count as no calls. */
static struct {
  int (*pack)(const void *from, int count, long type, void *to, int size, int *at, long comm);
  int (*unpack)(const void *from, int size, int *at, void *to, int count, long type, long comm);
  int (*type_size)(long type, long long *bytes); /* MPI_Type_size_x */
  int (*type_envelope)(long type, int *integers, int *addresses, int *types, int *combiner);
} own;

bool exanet_copies_open(void *(*find)(const char *name)) {
  const struct exanet_wanted wanted[] = {{"PMPI_Pack", &own.pack},
                                         {"PMPI_Unpack", &own.unpack},
                                         {"PMPI_Type_size_x", &own.type_size},
                                         {"PMPI_Type_get_envelope", &own.type_envelope},
                                         {0}};
  return exanet_mpi_functions(find, wanted) && exanet_waits_open(find);
}

void exanet_copies_close(void) { exanet_waits_close(); }

uint64_t exanet_contents_bytes(long count, long type) {
  long long bytes = 0;
  return own.type_size(type, &bytes) == 0 && bytes > 0 ? (uint64_t)count * (uint64_t)bytes : 0;
}

/* One of MPI's own types, whose elements have no gaps. */
static bool is_dense(const struct exanet_contents *c) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  long lower = 0, extent = 0;
  return c->buffer != NULL && own.type_envelope(c->type, &integers, &addresses, &types, &combiner) == 0 &&
         integers + addresses + types == 0 && exanet_mpi.type_extent(c->type, &lower, &extent) == 0 &&
         (uint64_t)extent == exanet_type_bytes_of(c->type);
}

/* Between the buffer and its contents, as many elements at once as an int can count the bytes of. */
static int move(const struct exanet_contents *c, bool packs) {
  const uint64_t element = c->bytes / (uint64_t)c->count;
  const long most = element < INT_MAX ? (long)(INT_MAX / element) : 1;
  long lower = 0, extent = 0;
  int result = exanet_mpi.type_extent(c->type, &lower, &extent);
  char *data = c->data, *buffer = c->buffer;
  for (long left = c->count; left > 0 && result == 0;) {
    const int n = (int)(left < most ? left : most), bytes = element < INT_MAX ? (int)(element * (uint64_t)n) : INT_MAX;
    int at = 0;
    result = packs ? own.pack(buffer, n, c->type, data, bytes, &at, c->comm)
                   : own.unpack(data, bytes, &at, buffer, n, c->type, c->comm);
    data += bytes;
    buffer += extent * n;
    left -= n;
  }
  return result;
}

int exanet_contents_begin(struct exanet_contents *c, bool sends) {
  if (is_dense(c)) return c->data = c->buffer, 0;
  c->data = exanet_kept(calloc(1, c->bytes));
  const int result = sends ? move(c, true) : 0;
  if (result != 0) memset(c->data, 0, c->bytes);
  return result;
}

int exanet_contents_end(struct exanet_contents *c, bool received) {
  if (c->data == c->buffer) return 0;
  const int result = received ? move(c, false) : 0;
  free(c->data);
  return result;
}

static int error_of(int status) {
  switch (status) {
    case 0: return 0;
    case -EMSGSIZE: return ERR_TRUNCATE;
    case -EFAULT: return ERR_BUFFER;
    default: return ERR_OTHER; /* of the network */
  }
}

int exanet_copy_send(const struct exanet_contents *c, uint32_t group, uint64_t tag) {
  struct exanet_ni *ni = exanet_process_ni();
  struct exanet_awaited sent = {.poster = exanet_thread_posting()};
  const bool waits = c->bytes > exanet_eager_max(ni);
  exanet_lock();
  exanet_send(ni, EXANET_COPIES, exanet_address(EXANET_GROUP | group, EXANET_COPIES), tag, c->data, c->bytes, 0,
              EXANET_TAGGED | (waits ? 0 : EXANET_SILENT), waits ? (uint64_t)(uintptr_t)&sent : 0);
  exanet_unlock();
  return waits ? error_of(exanet_await(&sent)) : 0;
}

void exanet_copy_receive(const struct exanet_contents *c, uint32_t from, uint64_t tag, struct exanet_awaited *awaited) {
  *awaited = (struct exanet_awaited){.poster = exanet_thread_posting()};
  exanet_lock();
  exanet_recv(exanet_process_ni(), EXANET_COPIES, exanet_address(from, EXANET_COPIES), tag, 0, c->data, c->bytes, 0,
              EXANET_TAGGED, (uint64_t)(uintptr_t)awaited);
  exanet_unlock();
}

int exanet_copy_wait(struct exanet_awaited *awaited) { return error_of(exanet_await(awaited)); }
