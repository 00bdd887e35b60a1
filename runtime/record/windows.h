/* SPDX-License-Identifier: Apache-2.0
 * One-sided calls: the program's windows, and the fields of records of accesses to them and of their
 * synchronisation. */
#ifndef EXANET_RECORD_WINDOWS_H
#define EXANET_RECORD_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/record/communicators.h"

/* The window's handle among the arguments of a call that synchronises. */
int exanet_window_at(uint8_t code);
/* Each puts the fields behind the times; false: there is nothing to record. `handle`: of the window. */
bool exanet_window_is_known(uint64_t handle);
void exanet_window_put_made(uint8_t code, const struct exanet_communicator *comm, const long *arguments, bool large);
/* The communicator that a window is made on. */
int exanet_window_communicator_at(uint8_t code);

/* An access: where its arguments stand. */
struct exanet_access {
  int8_t peer, window; /* positions; a request stands behind the window */
  int8_t count, type; /* of what is sent; -1 in the place of a count: one element, of a type -1: nothing */
  int8_t result_count, result_type; /* of what comes back, in the same way */
  int8_t target_count, target_type;
  bool requests;
};
const struct exanet_access *exanet_access_of(uint8_t code);
/* The rank that is accessed, as a field of the stream; 0: none. */
uint64_t exanet_access_peer(uint8_t code, const long *arguments);
void exanet_access_put(uint8_t code, const long *arguments, bool large, uint32_t request);
void exanet_synchronisation_put(uint8_t code, uint64_t window, const long *arguments);
void exanet_window_forget(uint64_t handle);
#endif
