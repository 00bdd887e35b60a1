/* SPDX-License-Identifier: Apache-2.0
 * Waiting for streams in virtual time.
 *
 * A rank that only serves, and whose clients have all ended, has nothing more to do: it gets SIGTERM where it handles
 * that, and ends with exit(0) where it does not. One with a port for datagrams may also wait for an answer that is
 * lost: it serves where it waits for ever, or has waited or looked often and found nothing. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "sockets.h"

#define PATIENT_WAITS 20u /* as the simulator's with several servers (runtime/coordinator/servers.cpp) */
#define PATIENT_LOOKS 10000u

static unsigned waited, looked; /* since the program has done anything with sockets */

static bool serves(bool for_ever) {
  return streams_serve() || (mailboxes_serve() && (for_ever || waited >= PATIENT_WAITS || looked >= PATIENT_LOOKS));
}

static void end_if_only_servers_are_left(struct exanet_ni *ni) {
  static bool asked;
  if (asked || !exanet_servers_end(ni) || !(streams_serve() || mailboxes_serve())) return;
  asked = true;
  struct sigaction action;
  const bool handles = sigaction(SIGTERM, NULL, &action) == 0 && action.sa_handler != SIG_DFL;
  exanet_streams_leave(ni);
  if (!handles) exit(0);
  raise(SIGTERM);
  exanet_streams_enter();
}

uint64_t wait_limit(struct exanet_ni *ni, int fd, int option) {
  struct timeval limit = {0};
  socklen_t size = sizeof limit;
  if (syscall(SYS_getsockopt, fd, SOL_SOCKET, option, &limit, &size) != 0 || (limit.tv_sec == 0 && limit.tv_usec == 0))
    return FOR_EVER;
  return exanet_clock_ps(ni) + (uint64_t)limit.tv_sec * 1000000000000u + (uint64_t)limit.tv_usec * 1000000u;
}

uint64_t wait_until_ms(struct exanet_ni *ni, int64_t ms) {
  return ms < 0 ? FOR_EVER : exanet_clock_ps(ni) + (uint64_t)ms * 1000000000u;
}

static void wait_once(struct exanet_ni *ni, uint64_t until_ps, bool is_serving) {
  exanet_streams_wait(ni, until_ps, is_serving);
  streams_settle(ni);
}

void wait_take(struct exanet_ni *ni) { wait_once(ni, 0, false); }

/* From the time on to which the program has computed. */
void wait_look(struct exanet_ni *ni) {
  wait_take(ni);
  ++looked;
  wait_once(ni, exanet_clock_ps(ni) + exanet_look_ps(ni), serves(false));
  end_if_only_servers_are_left(ni);
}

static bool asked;

void wait_ask(struct exanet_ni *ni) {
  if (asked)
    wait_look(ni);
  else
    wait_take(ni);
  asked = true;
}

void wait_done(void) {
  asked = false;
  waited = looked = 0;
}

bool wait_more(struct exanet_ni *ni, uint64_t until_ps) {
  if (exanet_clock_ps(ni) >= until_ps) {
    ++waited;
    return false;
  }
  wait_once(ni, until_ps, serves(until_ps == FOR_EVER));
  end_if_only_servers_are_left(ni);
  return true;
}
