// SPDX-License-Identifier: Apache-2.0
// Problem: only the library's own calls make it go on, and none of them waits for a completion of the interface. Model:
// tests of a request that nothing completes, until the completion has come.
#include "runtime/collectives/waits.h"

#include "runtime/record/library.h"

/* The library's own, which count as no calls. */
static struct {
  int (*test)(void *request, int *flag, void *status);
  int (*wait)(void *request, void *status);
  int (*grequest_start)(int (*query)(void *, void *), int (*forget)(void *), int (*cancel)(void *, int), void *extra,
                        void *request);
  int (*grequest_complete)(long request);
} own;
static long endless;
static unsigned opened;

static int query_none(void *extra, void *status) { return (void)extra, (void)status, 0; }
static int forget_none(void *extra) { return (void)extra, 0; }
static int cancel_none(void *extra, int complete) { return (void)extra, (void)complete, 0; }

bool exanet_waits_open(void *(*find)(const char *name)) {
  const struct exanet_wanted wanted[] = {{"PMPI_Test", &own.test},
                                         {"PMPI_Wait", &own.wait},
                                         {"PMPI_Grequest_start", &own.grequest_start},
                                         {"PMPI_Grequest_complete", &own.grequest_complete},
                                         {0}};
  if (!exanet_mpi_functions(find, wanted)) return false;
  if (opened++ == 0) own.grequest_start(query_none, forget_none, cancel_none, NULL, &endless);
  return true;
}

void exanet_waits_close(void) {
  if (--opened > 0) return;
  own.grequest_complete(exanet_handle_at((long)&endless, 0));
  own.wait(&endless, (void *)(uintptr_t)exanet_mpi.status_ignore);
}

int exanet_await(struct exanet_awaited *awaited) {
  int flag;
  while (!__atomic_load_n(&awaited->done, __ATOMIC_ACQUIRE))
    own.test(&endless, &flag, (void *)(uintptr_t)exanet_mpi.status_ignore);
  return awaited->status;
}
