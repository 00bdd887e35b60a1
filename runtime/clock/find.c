/* SPDX-License-Identifier: Apache-2.0
 * Finding the functions of MPI, OpenSHMEM and OpenMP libraries and launchers that the shim stands in front of.
 *
 * libc's follow the shim in the global search order (runtime/lib/host.c). MPI's need not: a Python extension module
 * is loaded with RTLD_LOCAL, and so is the libmpi that it depends on; RTLD_NEXT does not see it. Then the loaded
 * objects are searched by name. A process loads one MPI only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

bool exanet_is_in_library(const void *address, const char *name) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == NULL) return false;
  const char *slash = strrchr(info.dli_fname, '/');
  return strncmp(slash != NULL ? slash + 1 : info.dli_fname, name, strlen(name)) == 0;
}

/* A library that is known by how its file's name begins, and by a function that it has. */
struct library {
  const char *names[2];
  const char *has;
  _Atomic(void *) handle; /* kept open, so that it stays loaded */
};

static int find_library(struct dl_phdr_info *info, size_t size, void *wanted) {
  struct library *library = wanted;
  const char *slash = strrchr(info->dlpi_name, '/');
  const char *base = slash != NULL ? slash + 1 : info->dlpi_name;
  if (strncmp(base, library->names[0], strlen(library->names[0])) != 0 &&
      strncmp(base, library->names[1], strlen(library->names[1])) != 0)
    return 0;
  void *handle = dlopen(info->dlpi_name, RTLD_NOLOAD | RTLD_LAZY);
  if (handle == NULL) return 0;
  if (dlsym(handle, library->has) == NULL) {
    dlclose(handle);
    return 0;
  }
  atomic_store(&library->handle, handle);
  return 1;
}

static void *real_of(struct library *library, const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found != NULL) return found;
  if (atomic_load(&library->handle) == NULL) dl_iterate_phdr(find_library, library);
  void *handle = atomic_load(&library->handle);
  return handle != NULL ? dlsym(handle, name) : NULL;
}

void *exanet_mpi_real(const char *name) {
  static struct library mpi = {.names = {"libmpi", "libpmpi"}, .has = "PMPI_Init"};
  return real_of(&mpi, name);
}

void *exanet_mpi_own(void **slot, const char *name) {
  if (*slot == NULL) *slot = exanet_mpi_real(name);
  if (*slot == NULL) {
    fprintf(stderr, "exanet: this process called %s, but no MPI library in it has that function\n", name);
    abort();
  }
  return *slot;
}

void *exanet_openmp_own(void **slot, const char *name) {
  static struct library openmp = {.names = {"libgomp", "libomp"}, .has = "GOMP_parallel"};
  void *found = __atomic_load_n(slot, __ATOMIC_RELAXED);
  if (found == NULL) __atomic_store_n(slot, found = real_of(&openmp, name), __ATOMIC_RELAXED);
  if (found == NULL) {
    fprintf(stderr, "exanet: this process called %s, but no OpenMP library in it has that function\n", name);
    abort();
  }
  return found;
}

void *exanet_shmem_own(void **slot, const char *name) {
  static struct library shmem = {.names = {"libsma", "liboshmem"}, .has = "shmem_init"};
  if (*slot == NULL) *slot = real_of(&shmem, name);
  if (*slot == NULL) {
    fprintf(stderr, "exanet: this process called %s, but no OpenSHMEM library in it has that function\n", name);
    abort();
  }
  return *slot;
}

void *exanet_launcher_real(const char *name) {
  static struct library launcher = {.names = {"libpmix", "libpmix"}, .has = "PMIx_Init"};
  return real_of(&launcher, name);
}
