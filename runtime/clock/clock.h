/* SPDX-License-Identifier: Apache-2.0
 * What the parts of the clock shim share. */
#ifndef EXANET_CLOCK_CLOCK_H
#define EXANET_CLOCK_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/lib/internal.h"

#define EXPORT __attribute__((visibility("default")))
#define PS_PER_NS UINT64_C(1000)
#define PS_PER_US UINT64_C(1000000)
#define PS_PER_MS UINT64_C(1000000000)
#define PS_PER_S UINT64_C(1000000000000)

/* The shim is loaded before the program starts, so its thread-local state fits the static block: one instruction to read, and no
 * allocation on the first access (clock_gettime must not allocate). */
#define SHIM_TLS static __thread __attribute__((tls_model("initial-exec")))
#define SHIM_TLS_SHARED extern __thread __attribute__((tls_model("initial-exec")))

/* Depth of MPI calls on this thread; only the outermost is the program's own. */
SHIM_TLS_SHARED int exanet_mpi_depth;
/* Set on threads that belong to the MPI library (progress threads, PMIx): their clocks stay real. */
SHIM_TLS_SHARED int exanet_helper_thread;

/* The interface, if this is one of the program's threads in the virtual phase; else NULL and clocks are the system's. */
static inline struct exanet_ni *exanet_virtual_ni(void) {
  if (exanet_helper_thread) return NULL;
  struct exanet_ni *ni = exanet_process_ni();
  return ni != NULL && exanet_is_virtual(ni) ? ni : NULL;
}

/* The next definition of a libc function after the shim's; cached in *slot. `version` may be NULL. */
void *exanet_real(void **slot, const char *name, const char *version);

/* The MPI library's own function, or NULL when it has none of that name. */
void *exanet_mpi_real(const char *name);

/* The MPI library granted MPI_THREAD_MULTIPLE. */
void exanet_note_thread_multiple(struct exanet_ni *ni);
#endif
