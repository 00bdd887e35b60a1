/* SPDX-License-Identifier: Apache-2.0
 * Blocking calls: which wait objects exist, how long a wait has taken, and one step of waiting. */
#include <time.h>

#include "exanet_prov.h"

#define EXANET_PS_PER_MS 1000000000ull
#define EXANET_PS_PER_S 1000000000000ull
#define EXANET_PS_PER_NS 1000ull

/* A file descriptor would become readable in the host's time, not in the machine's. */
bool exanet_wait_possible(enum fi_wait_obj object) {
  return object == FI_WAIT_NONE || object == FI_WAIT_UNSPEC || object == FI_WAIT_YIELD;
}

uint64_t exanet_wait_timeout_ps(int timeout_ms) {
  return timeout_ms < 0 ? UINT64_MAX : (uint64_t)timeout_ms * EXANET_PS_PER_MS;
}

/* Virtual time where it runs, else the host's: before the start a wait must end as well. */
static uint64_t exanet_stopwatch_now(bool virtual_time) {
  if (virtual_time) return exanet_clock_ps(exanet_process.ni);
  struct timespec now;
  exanet_system_clock(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * EXANET_PS_PER_S + (uint64_t)now.tv_nsec * EXANET_PS_PER_NS;
}

struct exanet_stopwatch exanet_stopwatch_start(void) {
  bool virtual_time = exanet_is_virtual(exanet_process.ni);
  return (struct exanet_stopwatch){.virtual_time = virtual_time, .start_ps = exanet_stopwatch_now(virtual_time)};
}

uint64_t exanet_stopwatch_ps(const struct exanet_stopwatch *watch) {
  return exanet_stopwatch_now(watch->virtual_time) - watch->start_ps;
}

bool exanet_domain_threaded(const struct exanet_domain *domain) {
  return domain->threading != FI_THREAD_DOMAIN && domain->threading != FI_THREAD_UNSPEC;
}

/* With one thread, one wait in virtual time does it. With several, waiting would keep the others from the interface:
   poll, step aside. */
void exanet_wait_step(const struct exanet_domain *domain, uint64_t timeout_ps) {
  if (!exanet_domain_threaded(domain))
    exanet_progress_wait(timeout_ps);
  else if (exanet_progress() == 0)
    exanet_progress_yield();
}
