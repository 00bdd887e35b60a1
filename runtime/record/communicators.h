/* SPDX-License-Identifier: Apache-2.0
 * The program's communicators: their numbers in the stream, and the world ranks of their members. */
#ifndef EXANET_RECORD_COMMUNICATORS_H
#define EXANET_RECORD_COMMUNICATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/record/fields.h"

struct exanet_communicator {
  uint32_t number; /* in the stream */
  int size, rank;
  int *members; /* world ranks; NULL: each its own */
  int *remote; /* of an intercommunicator */
  int remote_size;
};

/* Whoever opens them a second time shares them: where calls are simulated and recorded, the simulation adds them. */
bool exanet_communicators_open(void);
/* The one of a handle; NULL: it is not known yet. */
const struct exanet_communicator *exanet_communicator_find(long handle);
/* The one of a number; NULL: there is none. It stays when its handle has been freed. */
const struct exanet_communicator *exanet_communicator_of(uint32_t number);
/* Asks the library for the members of a new one, which takes the place of an earlier one of the same handle. NULL
 * where one of them is no rank of MPI_COMM_WORLD, or memory is short. */
const struct exanet_communicator *exanet_communicator_add(long handle);
/* The one that a call has just made: a new one, or that of whoever shares them. */
const struct exanet_communicator *exanet_communicator_made(long handle);
/* Forgets an earlier one, whose handle a new one has that cannot be asked for members yet. */
void exanet_communicator_forget(long handle);
/* The world rank of one of a communicator's, of an intercommunicator its remote group's. -1: there is none. */
int exanet_communicator_peer(const struct exanet_communicator *comm, int rank);
/* World ranks of a group's members, to be freed; NULL where one has none. */
int *exanet_group_members(long group, int size);
/* World ranks as a field, for as long as they stay where they are; of NULL none. */
struct exanet_list exanet_list_of_ranks(const int *ranks, int size);
/* Puts the fields of the record that makes it from communicator `from`, with those flags that the caller knows.
 * NULL: members are not known, or the rank is none. */
void exanet_communicator_put(uint64_t from, const struct exanet_communicator *made, uint64_t flags);
#endif
