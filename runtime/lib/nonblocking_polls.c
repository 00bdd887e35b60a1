// SPDX-License-Identifier: Apache-2.0
// Non-blocking polls: empty polls that do not wait.
//
// Problem: an empty poll says that the caller waits for the network, unless it also gets on without it. MPI libraries
// do. Many calls poll the network once before they check whether they are done. What a rank asks of its own window (a
// lock, an accumulate) goes through a queue in its memory, which MPICH serves one entry at a time between two polls of
// the network.
//
// Model: an MPI call may poll the network some times before its polls wait. What it did meanwhile shows afterwards.
// Non-blocking polls that end in a wait were part of it and take no time of their own. Those after which the call posts
// something or returns were work, and take one step of MPI_Test each. A call that waits for messages has no other work
// as long as the rank has used no window, and its polls wait at once: each poll is a round of the MPI library's
// progress.
//
// Limit: a one-sided call with more steps of its own than non-blocking polls (an accumulate of several hundred kB on
// the rank's own memory) waits in between, for a window of poll.c each time.
#include "runtime/lib/ni.h"

#define EXN_PLAIN_POLLS 2u
#define EXN_NONBLOCKING_POLLS 64u
#define EXN_MOST_NONBLOCKING_POLLS 4096u /* after an empty wait */
#define EXN_STEPS_PER_CALL 16u /* of a one-sided one: a request, its answer, and the pieces they are cut into */

void exn_nonblocking_begin(struct exanet_ni *ni, enum exanet_call_kind kind) {
  const bool one_sided = kind == EXANET_CALL_ONE_SIDED;
  exn_polls.empty = 0;
  exn_polls.window_ps = EXN_FIRST_WINDOW_PS;
  if (kind == EXANET_CALL_TEST) return;
  if (kind == EXANET_CALL_BLOCKING && !ni->one_sided) {
    exn_polls.nonblocking_left = 0;
    return;
  }
  if (one_sided) {
    ni->one_sided = true;
    exn_polls.own_work += EXN_STEPS_PER_CALL;
  }
  const bool plain = kind == EXANET_CALL_PLAIN || kind == EXANET_CALL_BLOCKING;
  exn_polls.nonblocking_left = plain ? EXN_PLAIN_POLLS : EXN_NONBLOCKING_POLLS + (one_sided ? exn_polls.own_work : 0);
}

void exn_nonblocking_end(struct exanet_ni *ni, enum exanet_call_kind kind) {
  if (kind == EXANET_CALL_ONE_SIDED && exn_polls.own_work > exn_polls.nonblocking_left)
    exn_polls.own_work = exn_polls.nonblocking_left;
  exn_polls.nonblocking_left = 0;
  if (exn_polls.nonblocking) exn_charge_nonblocking(ni);
}

bool exn_poll_is_nonblocking(struct exanet_ni *ni) {
  if (exn_polls.nonblocking_left == 0) return false;
  --exn_polls.nonblocking_left;
  ++exn_polls.nonblocking;
  return true;
}

void exn_add_nonblocking(struct exanet_ni *ni) {
  if (exn_polls.own_work == 0) return;
  const uint64_t again = EXN_NONBLOCKING_POLLS * (exn_polls.window_ps / EXN_FIRST_WINDOW_PS);
  exn_polls.nonblocking_left = again < EXN_MOST_NONBLOCKING_POLLS ? (uint32_t)again : EXN_MOST_NONBLOCKING_POLLS;
}

/* Or a program that asks again and again in such calls would leave the others behind for ever. What the poll then
 * does must not depend on how much the simulator has already said. */
bool exn_catch_up(struct exanet_ni *ni) {
  if (!ni->ahead) return false;
  ni->ahead = false;
  if (ni->clock_ps > ni->slot->horizon_ps) exn_sleep(ni, EXN_SLEEPING, ni->clock_ps, false);
  return true;
}
