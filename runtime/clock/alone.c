/* SPDX-License-Identifier: Apache-2.0
 * Where virtual time begins for a program that uses libfabric alone.
 *
 * Problem: no call of such a program says that it has set itself up. Opening and enabling endpoints are too early: the
 * program has yet to exchange addresses with other processes, by other means than the network.
 *
 * Model: it has when it first transmits, or first looks for a completion, since it then waits for what others transmit
 * (runtime/provider/op.c, progress.c). All ranks meet there. Posting a receive and registering memory do not count:
 * programs do that first. It ends with the program (users.c).
 *
 * Limit: a rank that never does either, since it only lets others reach its memory, keeps them waiting. */
#include <stdlib.h>
#include <string.h>

#include "clock.h"

static void begin(void) {
  exanet_library_begins();
  exanet_library_has_begun("libfabric", true);
}

static __attribute__((constructor)) void begin_with_the_first_operation(void) {
  const char *begins = getenv("EXANET_BEGINS");
  if (begins != NULL && strcmp(begins, "libfabric") == 0) exanet_first_operation = begin;
  if (begins != NULL && strcmp(begins, "sockets") == 0) exanet_first_socket = begin;
}
