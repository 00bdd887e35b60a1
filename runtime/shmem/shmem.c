/* SPDX-License-Identifier: Apache-2.0
 * OpenSHMEM: the wrappers that begin and end virtual time (runtime/clock/users.c does it).
 *
 * A shared object of its own, preloaded only where the program uses an OpenSHMEM library: others may probe for these
 * functions by weak symbols. The names with a p are those of the profiling interface, in which a tool between program
 * and library calls.
 *
 * Limit: OpenSHMEM begins in shmem_init(), shmem_init_thread() or start_pes(), and not by a library's extensions
 * (shmemx_heap_preinit). */
#include "runtime/clock/clock.h"

#define INIT(name)                                      \
  EXPORT void name(void);                               \
  EXPORT void name(void) {                              \
    static void *slot;                                  \
    exanet_library_begins();                            \
    ((void (*)(void))exanet_shmem_own(&slot, #name))(); \
    exanet_library_has_begun("OpenSHMEM", true);        \
  }

#define INIT_THREAD(name)                                                                          \
  EXPORT int name(int requested, int *provided);                                                   \
  EXPORT int name(int requested, int *provided) {                                                  \
    static void *slot;                                                                             \
    exanet_library_begins();                                                                       \
    const int status = ((int (*)(int, int *))exanet_shmem_own(&slot, #name))(requested, provided); \
    exanet_library_has_begun("OpenSHMEM", status == 0);                                            \
    return status;                                                                                 \
  }

#define START_PES(name)                                   \
  EXPORT void name(int pes);                              \
  EXPORT void name(int pes) {                             \
    static void *slot;                                    \
    exanet_library_begins();                              \
    ((void (*)(int))exanet_shmem_own(&slot, #name))(pes); \
    exanet_library_has_begun("OpenSHMEM", true);          \
  }

#define FINALIZE(name)                                                         \
  EXPORT void name(void);                                                      \
  EXPORT void name(void) {                                                     \
    static void *slot;                                                         \
    exanet_library_ends();                                                     \
    void (*const real)(void) = (void (*)(void))exanet_shmem_own(&slot, #name); \
    if (!exanet_users_lost_ranks()) real();                                    \
    exanet_library_has_ended();                                                \
  }

#define GLOBAL_EXIT(name)                                    \
  EXPORT void name(int status);                              \
  EXPORT void name(int status) {                             \
    static void *slot;                                       \
    exanet_library_aborts(status);                           \
    ((void (*)(int))exanet_shmem_own(&slot, #name))(status); \
  }

INIT(shmem_init)
INIT(pshmem_init)
INIT_THREAD(shmem_init_thread)
INIT_THREAD(pshmem_init_thread)
START_PES(start_pes)
START_PES(pstart_pes)
FINALIZE(shmem_finalize)
FINALIZE(pshmem_finalize)
GLOBAL_EXIT(shmem_global_exit)
GLOBAL_EXIT(pshmem_global_exit)
