/* SPDX-License-Identifier: Apache-2.0
 * The provider's entry point. */
#include <rdma/providers/fi_prov.h>
#include <stdlib.h>

#include "exanet_prov.h"

/* The interface outlives libfabric's own clean-up when the clock shim still uses it; exanet_open() counts its users.
 * Runs at exit, which may be a signal handler's exit in the middle of a poll: then the lock is never free again, and
 * everything is left to the system. */
static void exanet_cleanup(void) {
  if (exanet_process.alone || exanet_system_trylock(&exanet_process.lock) != 0) return;
  if (exanet_process.ni) exanet_close(exanet_process.ni);
  exanet_process.ni = NULL;
  free(exanet_process.endpoints);
  exanet_process.endpoints = NULL;
  exanet_process.endpoint_slots = 0;
  exanet_op_release_memory();
  exanet_unlock();
}

static struct fi_provider exanet_provider = {
    .version = EXANET_PROV_VERSION,
    .fi_version = EXANET_FI_VERSION,
    .name = "exanet",
    .getinfo = exanet_getinfo,
    .fabric = exanet_fabric_open,
    .cleanup = exanet_cleanup,
};

FI_EXT_INI { return &exanet_provider; }
