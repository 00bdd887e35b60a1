/* SPDX-License-Identifier: Apache-2.0
 * Who the members of a program's communicators are in the run. */
#ifndef EXANET_COLLECTIVES_MEMBERS_H
#define EXANET_COLLECTIVES_MEMBERS_H

#include <stdint.h>

#include "runtime/record/library.h"

/* What is said where memory for collectives is at its end; else the memory. */
void *exanet_kept(void *memory);
/* After exanet_mpi_find_out(). */
void exanet_members_open(void);
/* [size]: ranks of the run, freed by the caller; NULL where one of the members is none, or the communicator has two
   sides or but one member. */
uint32_t *exanet_members_of(long comm, int size);
/* Functions of attributes of communicators that go to no copy. */
int exanet_copy_none(long comm, int key, void *extra, void *value, void *copied, int *copies);
#endif
