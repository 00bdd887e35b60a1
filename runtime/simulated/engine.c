// SPDX-License-Identifier: Apache-2.0
// Communicators, contents and errors of calls that the simulator carries out.
//
// Model: the program's communicators and types are its library's own. What a communicator's members are is asked when
// the library has made it, in the order in which all members make it; a type without gaps is used where it lies, any
// other is packed and unpacked by the library. Limits: no nonblocking collectives on intercommunicators; 2 GiB of a
// type with gaps.
#include "runtime/simulated/engine.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUILT_IN 1u /* the two highest bits of one of MPICH's handles */

struct exanet_simulated_library exanet_own;

void exanet_simulated_refuse(const struct exanet_simulated *s, const char *what) {
  char text[256];
  snprintf(text, sizeof text, "rank %u calls %s%s%s, which is not simulated; run with --mpi-calls library",
           exanet_rank(s->ni), exanet_mpi_call_name(s->call), what[0] != '\0' ? " " : "", what);
  exanet_end_run(s->ni, text);
}

void *exanet_simulated_memory(void *memory) {
  if (memory != NULL) return memory;
  fprintf(stderr, "exanet: no memory is left for a call of MPI\n");
  abort();
}

long exanet_simulated_real(const struct exanet_simulated *s) {
  const long *a = s->a;
  return s->real(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12]);
}

const struct exanet_communicator *exanet_simulated_comm(struct exanet_simulated *s, long handle) {
  s->comm = handle;
  const struct exanet_communicator *comm = exanet_communicator_find(handle);
  int size;
  if (comm == NULL && exanet_mpi.comm_size(handle, &size) == 0)
    exanet_simulated_refuse(s, "on a communicator that no call of MPI_Comm_dup, split or the like has made");
  return comm;
}

const struct exanet_communicator *exanet_simulated_intracomm(struct exanet_simulated *s, long handle) {
  const struct exanet_communicator *comm = exanet_simulated_comm(s, handle);
  if (comm != NULL && comm->remote != NULL) exanet_simulated_refuse(s, "on an intercommunicator");
  return comm;
}

void exanet_simulated_made(const struct exanet_simulated *s, long handle) {
  if (exanet_handle_of(handle) == exanet_mpi.no_communicator) return;
  const struct exanet_communicator *comm = exanet_communicator_add(handle);
  if (comm == NULL) exanet_simulated_refuse(s, "of processes of another program");
  struct exanet_live_call made = {.code = EXANET_TRACE_COMMUNICATOR,
                                  .comm = comm->number,
                                  .members = (const uint32_t *)comm->members,
                                  .member_count = (uint32_t)comm->size,
                                  .remote_members = (const uint32_t *)comm->remote,
                                  .remote_member_count = (uint32_t)comm->remote_size};
  exanet_live_call(s->ni, &made, false);
}

bool exanet_bytes_valid(long buffer, long count, long type) {
  if (count < 0 || exanet_handle_of(type) == exanet_mpi.no_type || buffer == exanet_mpi.in_place) return false;
  return buffer != 0 || count == 0 || (uint32_t)type >> 30 != BUILT_IN;
}

uint64_t exanet_element_bytes(long type) {
  return (uint32_t)type >> 30 == BUILT_IN ? (uint32_t)type >> 8 & 0xff : exanet_type_bytes_of(type);
}

static int pack(struct exanet_bytes *b, bool packs) {
  int at = 0;
  return packs ? exanet_own.pack(b->buffer, (int)b->count, b->type, b->data, (int)b->bytes, &at, b->comm)
               : exanet_own.unpack(b->data, (int)b->bytes, &at, b->buffer, (int)b->count, b->type, b->comm);
}

int exanet_bytes_begin(const struct exanet_simulated *s, struct exanet_bytes *b, long buffer, long count, long type) {
  *b = (struct exanet_bytes){
      .buffer = (void *)buffer, .data = (void *)buffer, .count = count, .type = type, .comm = s->comm};
  b->bytes = (uint64_t)count * exanet_element_bytes(type);
  if ((uint32_t)type >> 30 == BUILT_IN || b->bytes == 0) return 0;
  if (b->bytes > INT_MAX || count > INT_MAX) exanet_simulated_refuse(s, "of 2 GiB or more of a derived datatype");
  b->copied = true;
  b->data = exanet_simulated_memory(malloc(b->bytes));
  const int error = pack(b, true); /* what a shorter message leaves stays as it is */
  if (error != 0) exanet_bytes_end(b, false);
  return error;
}

void exanet_bytes_keep(struct exanet_bytes *b) {
  if (!b->copied) return;
  long copy = 0;
  b->kept_type = exanet_own.type_dup(b->type, &copy) == 0;
  if (b->kept_type) b->type = exanet_handle_at((long)&copy, 0);
}

void exanet_bytes_end(struct exanet_bytes *b, bool received) {
  if (!b->copied) return;
  if (received) pack(b, false);
  free(b->data);
  b->copied = false;
  if (b->kept_type) exanet_own.type_free(&b->type);
}
