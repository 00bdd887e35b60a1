/* SPDX-License-Identifier: Apache-2.0
 * The kernel's list of symbols, as libfabric reads it when it sets itself up.
 *
 * Problem: its provider for InfiniBand looks there for support of other devices' memory, twice, even where FI_PROVIDER
 * asks for another provider. The kernel makes the list anew for each reader, some megabytes of text: 0.13 s of
 * processor time a rank, more than all else that an MPI library does at its start.
 *
 * Model: for libfabric there is no such list, as on a kernel that has none; that provider is not used. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "mounts.h"

EXPORT FILE *fopen(const char *restrict path, const char *restrict mode) {
  static void *slot;
  typedef FILE *(*function)(const char *, const char *);
  if (path != NULL && strcmp(path, "/proc/kallsyms") == 0 &&
      exanet_is_in_library(__builtin_return_address(0), "libfabric")) {
    errno = ENOENT;
    return NULL;
  }
  FILE *const opened = ((function)exanet_real(&slot, "fopen", NULL))(path, mode);
  exanet_storage_named(AT_FDCWD, path);
  return exanet_storage_stream(opened, mode);
}
