/* SPDX-License-Identifier: Apache-2.0
 * What a broadcast's packets hold that routers copy: the bytes of the elements, one after the other. */
#ifndef EXANET_COLLECTIVES_COPIES_H
#define EXANET_COLLECTIVES_COPIES_H

#include <stddef.h>

#include "runtime/lib/internal.h"

/* A buffer of a program, and its contents as packets have them: the buffer itself where that is dense, else a copy. */
struct exanet_contents {
  void *buffer;
  long count, type, comm;
  size_t bytes;
  char *data;
};

/* After exanet_mpi_find_out(). False: the library lacks functions that this takes. */
bool exanet_copies_open(void *(*find)(const char *name));
void exanet_copies_close(void);

/* Bytes of so many elements. */
uint64_t exanet_contents_bytes(long count, long type);

/* The contents to send, or a place for them. Errors are MPI's, 0: none; what cannot be described is sent as zeros. */
int exanet_contents_begin(struct exanet_contents *contents, bool sends);
/* Puts into the buffer what has come, and forgets the place. */
int exanet_contents_end(struct exanet_contents *contents, bool received);

/* Sends to a group of ranks; or lets what a rank sends come, which exanet_copy_wait() then waits for. */
int exanet_copy_send(const struct exanet_contents *contents, uint32_t group, uint64_t tag);
void exanet_copy_receive(const struct exanet_contents *contents, uint32_t from, uint64_t tag,
                         struct exanet_awaited *awaited);
int exanet_copy_wait(struct exanet_awaited *awaited);
#endif
