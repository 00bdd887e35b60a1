/* SPDX-License-Identifier: Apache-2.0
 * Which files are on simulated storages, and the time that calls on them take. */
#ifndef EXANET_CLOCK_MOUNTS_H
#define EXANET_CLOCK_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "exanet/shm.h"

/* Whether the run has any storage. */
bool exanet_has_mounts(void);
/* Whether the file is on one. */
bool exanet_is_mounted(int fd);

#define EXANET_AT_POSITION (-1) /* the bytes lie before the file's position */

/* Around the host's part of a call: to the rank's other threads one that is in it is at work, even if it sleeps. What
 * begins returns ends it. */
bool exanet_storage_begins(int fd);
void exanet_storage_ends(bool begun);
/* A call that takes time where the file is on a storage and bytes have moved: `moved` is what it returned, and is
 * returned; errno stays. */
ssize_t exanet_storage_moved(int fd, enum exn_storage_action action, ssize_t moved, int64_t offset);
/* The same of fsync() and its kin. */
int exanet_storage_synced(int fd, int status);
/* Before a file is closed: one of a cache sends to the servers what has been written. */
void exanet_storage_closes(int fd);

/* A call on the file or folder of this name, from the folder `directory`: it takes time where the storage's metadata
 * do; errno stays. */
void exanet_storage_named(int directory, const char *path);

/* streams.c: `opened` by the C library, or one in its place whose calls take time. */
FILE *exanet_storage_stream(FILE *opened, const char *mode);

/* The value of `call`, whose bytes then take their time. */
#define EXANET_STORAGE(fd, action, offset, call)      \
  ({                                                  \
    const bool begun_ = exanet_storage_begins(fd);    \
    const ssize_t moved_ = (call);                    \
    exanet_storage_ends(begun_);                      \
    exanet_storage_moved(fd, action, moved_, offset); \
  })
#endif
