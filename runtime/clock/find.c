/* SPDX-License-Identifier: Apache-2.0
 * Finding the functions that the shim stands in front of.
 *
 * libc's follow the shim in the global search order. MPI's need not: a Python extension module is loaded with RTLD_LOCAL, and so is
 * the libmpi that it depends on; RTLD_NEXT does not see it. Then the loaded objects are searched by name. A process loads one MPI only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "clock.h"

void *exanet_real(void **slot, const char *name, const char *version) {
  void *found = __atomic_load_n(slot, __ATOMIC_RELAXED);
  if (found != NULL) return found;
  /* Of a function with several versions plain dlsym() may give the oldest one. */
  if (version != NULL) found = dlvsym(RTLD_NEXT, name, version);
  if (found == NULL) found = dlsym(RTLD_NEXT, name);
  __atomic_store_n(slot, found, __ATOMIC_RELAXED);
  return found;
}

bool exanet_is_in_library(const void *address, const char *name) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == NULL) return false;
  const char *slash = strrchr(info.dli_fname, '/');
  return strncmp(slash != NULL ? slash + 1 : info.dli_fname, name, strlen(name)) == 0;
}

static _Atomic(void *) mpi_library;

static int find_mpi(struct dl_phdr_info *info, size_t size, void *result) {
  const char *slash = strrchr(info->dlpi_name, '/');
  const char *base = slash != NULL ? slash + 1 : info->dlpi_name;
  if (strncmp(base, "libmpi", 6) != 0 && strncmp(base, "libpmpi", 7) != 0) return 0;
  void *handle = dlopen(info->dlpi_name, RTLD_NOLOAD | RTLD_LAZY);
  if (handle == NULL) return 0;
  if (dlsym(handle, "PMPI_Init") == NULL) {
    dlclose(handle);
    return 0;
  }
  *(void **)result = handle; /* kept open: the program's MPI is never unloaded under us */
  return 1;
}

void *exanet_mpi_real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found != NULL) return found;
  void *library = atomic_load(&mpi_library);
  if (library == NULL) {
    dl_iterate_phdr(find_mpi, &library);
    if (library == NULL) return NULL;
    atomic_store(&mpi_library, library);
  }
  return dlsym(library, name);
}
