/* SPDX-License-Identifier: Apache-2.0
 * Makes an MPI library believe that every rank sits on a node of its own.
 *
 * Ranks of a run share one real host. Open MPI learns which of them do from PMIx, and then lets one-sided
 * communication read and write the other's window through real shared memory (osc/rdma does, whatever the byte
 * transport layers are), which takes no virtual time and which the simulated network never sees. The list of local
 * peers is where all of that begins, so this is where it is cut: a rank's only local peer is itself. MPICH has a
 * setting for it (MPIR_CVAR_NOLOCAL).
 *
 * MPICH, even alone on its node, makes a named segment of shared memory in MPI_Init and removes it in MPI_Finalize.
 * A rank that is killed would leave it behind in /dev/shm; so that segment gets memory without a name, which goes
 * when the rank does.
 *
 * Source: the PMIx standard 4.1, sections 3.2 (pmix_value_t) and 11.1 (PMIX_LOCAL_PEERS, the string "pmix.lpeers":
 * ranks, comma-separated). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "clock.h"

enum { PMIX_STRING_TYPE = 3 };

/* pmix_value_t, as far as it is used here. */
struct pmix_value {
  uint16_t type;
  union {
    char *string;
    uint64_t widest;
  } data;
};

typedef int (*get_function)(const void *proc, const char *key, const void *info, size_t info_count,
                            struct pmix_value **value);

/* The library may have come with an extension module, in a scope that RTLD_NEXT does not see; then it is found by
   its name. */
static int find_pmix(struct dl_phdr_info *info, size_t size, void *name) {
  const char *slash = strrchr(info->dlpi_name, '/');
  if (strncmp(slash != NULL ? slash + 1 : info->dlpi_name, "libpmix.so", 10) != 0) return 0;
  *(char **)name = strdup(info->dlpi_name);
  return 1;
}

static get_function real_get(void) {
  static void *found;
  void *function = exanet_real(&found, "PMIx_Get", NULL);
  char *name = NULL;
  if (function != NULL || dl_iterate_phdr(find_pmix, &name) == 0 || name == NULL) return (get_function)function;
  void *library = dlopen(name, RTLD_NOLOAD | RTLD_LAZY); /* kept open */
  free(name);
  if (library != NULL) function = dlsym(library, "PMIx_Get");
  __atomic_store_n(&found, function, __ATOMIC_RELAXED);
  return (get_function)function;
}

EXPORT int PMIx_Get(const void *proc, const char *key, const void *info, size_t info_count, struct pmix_value **value);
EXPORT int PMIx_Get(const void *proc, const char *key, const void *info, size_t info_count, struct pmix_value **value) {
  get_function real = real_get();
  if (real == NULL) return -1; /* PMIX_ERROR */
  int status = real(proc, key, info, info_count, value);
  const char *rank = getenv("EXANET_RANK");
  if (status != 0 || key == NULL || strcmp(key, "pmix.lpeers") != 0 || rank == NULL || getenv("EXANET_NI") == NULL)
    return status;
  if (value == NULL || *value == NULL || (*value)->type != PMIX_STRING_TYPE) return status;
  char *alone = strdup(rank);
  if (alone == NULL) return status;
  free((*value)->data.string);
  (*value)->data.string = alone;
  return status;
}

typedef int (*shm_open_function)(const char *name, int flags, mode_t mode);
typedef int (*shm_unlink_function)(const char *name);

static int is_mpich_segment(const char *name) {
  return strncmp(name, "/mpich_shm_", 11) == 0 && getenv("EXANET_NI") != NULL;
}

EXPORT int shm_open(const char *name, int flags, mode_t mode) {
  static void *slot;
  if (is_mpich_segment(name)) return memfd_create(name + 1, MFD_CLOEXEC);
  return ((shm_open_function)exanet_real(&slot, "shm_open", NULL))(name, flags, mode);
}

EXPORT int shm_unlink(const char *name) {
  static void *slot;
  if (is_mpich_segment(name)) return 0;
  return ((shm_unlink_function)exanet_real(&slot, "shm_unlink", NULL))(name);
}
