/* SPDX-License-Identifier: Apache-2.0
 * Which files are on simulated storages, and the time that calls on them take.
 *
 * Problem: a program may get at a file by many ways: opened, duplicated, inherited, passed on.
 *
 * Model: what a descriptor stands for is what the kernel says when it is used, a path; one below the path of a mount is
 * on that storage. The host moves the bytes first, then the rank waits until the storage has moved as many. A call that
 * fails takes no time. The file's number on the storage comes from its path below the mount, so that it is the same in
 * every run. Calls on names take their time whether they fail or not (names.c).
 *
 * Limits: each call on a file costs some microseconds of the host's time more. A file that is renamed while it is open
 * is another one from then on. Outside virtual time nothing takes time. */
#define _GNU_SOURCE
#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"

#define MOST_MOUNTS 16

static struct mount {
  const char *path; /* without a slash at its end */
  size_t length;
  uint32_t storage;
  bool cached; /* close() sends to the servers what has been written */
  bool named; /* calls on names take time */
} mounts[MOST_MOUNTS];
static unsigned count;
static bool any_cached, any_named;

/* EXANET_STORAGE has a line for each: the number of the storage, a `+` if it is a cache, an `m` if its metadata take
   time, a blank, and the path. The longest path is first, so that a mount below another one is found before it. */
static __attribute__((constructor)) void read_mounts(void) {
  const char *given = getenv("EXANET_STORAGE");
  static char *text;
  if (given == NULL || (text = strdup(given)) == NULL) return;
  char *rest = NULL;
  for (char *line = strtok_r(text, "\n", &rest); line != NULL && count < MOST_MOUNTS;
       line = strtok_r(NULL, "\n", &rest)) {
    char *path = NULL;
    const unsigned long storage = strtoul(line, &path, 10);
    const bool cached = *path == '+';
    if (cached) ++path;
    const bool named = *path == 'm';
    if (named) ++path;
    if (*path != ' ') continue;
    mounts[count++] = (struct mount){path + 1, strlen(path + 1), (uint32_t)storage, cached, named};
    any_cached = any_cached || cached;
    any_named = any_named || named;
  }
}

bool exanet_has_mounts(void) { return count > 0; }

/* The mount that a path without links is below; NULL: none. `below`: its path there. */
static const struct mount *mount_above(const char *path, const char **below) {
  for (const struct mount *mount = mounts; mount < mounts + count; ++mount) {
    if (strncmp(path, mount->path, mount->length) != 0 || path[mount->length] != '/') continue;
    *below = path + mount->length;
    return mount;
  }
  return NULL;
}

/* The mount that a descriptor's file is below, as above. */
static const struct mount *mount_of(int fd, char *path, size_t size, const char **below) {
  char link[40];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, size - 1);
  if (length <= 0 || path[0] != '/') return NULL;
  path[length] = '\0';
  return mount_above(path, below);
}

bool exanet_is_mounted(int fd) {
  if (count == 0) return false;
  char path[PATH_MAX];
  const char *below;
  const int before = errno;
  const bool mounted = mount_of(fd, path, sizeof path, &below) != NULL;
  errno = before;
  return mounted;
}

/* FNV-1a. */
static uint64_t number_of(const char *text) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (; *text != '\0'; ++text) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  return hash;
}

static uint64_t bytes_of(int fd) {
  struct stat64 status;
  return fstat64(fd, &status) == 0 && status.st_size > 0 ? (uint64_t)status.st_size : 0;
}

/* `closes`: only what is cached takes time. */
static void pass_time(struct exanet_ni *ni, int fd, enum exn_storage_action action, uint64_t bytes, int64_t offset,
                      bool closes) {
  char path[PATH_MAX];
  const char *below;
  const int before = errno;
  exanet_uncounted_begin(ni);
  const struct mount *mount = mount_of(fd, path, sizeof path, &below);
  if (closes && mount != NULL && !mount->cached) mount = NULL;
  struct exn_storage_call call = {.action = action, .bytes = bytes};
  if (mount != NULL) {
    if (action == EXN_STORAGE_READ && mount->cached) call.file_bytes = bytes_of(fd);
    const int64_t end = offset != EXANET_AT_POSITION ? offset + (int64_t)bytes : lseek(fd, 0, SEEK_CUR);
    call.storage = mount->storage;
    call.file = number_of(below);
    call.offset = end > (int64_t)bytes ? (uint64_t)end - bytes : 0;
  }
  exanet_uncounted_end(ni);
  if (mount != NULL) exanet_storage_call(ni, &call);
  errno = before;
}

bool exanet_storage_begins(int fd) {
  struct exanet_ni *ni = count > 0 && exanet_program_threads() > 0 ? exanet_virtual_ni() : NULL;
  if (ni == NULL || !exanet_is_mounted(fd)) return false;
  exanet_thread_uses_file(ni, true);
  return true;
}

void exanet_storage_ends(bool begun) {
  if (begun) exanet_thread_uses_file(exanet_process_ni(), false);
}

ssize_t exanet_storage_moved(int fd, enum exn_storage_action action, ssize_t moved, int64_t offset) {
  struct exanet_ni *ni = count > 0 && moved > 0 ? exanet_virtual_ni() : NULL;
  if (ni != NULL) pass_time(ni, fd, action, (uint64_t)moved, offset, false);
  return moved;
}

int exanet_storage_synced(int fd, int status) {
  struct exanet_ni *ni = count > 0 && status == 0 ? exanet_virtual_ni() : NULL;
  if (ni != NULL) pass_time(ni, fd, EXN_STORAGE_SYNC, 0, 0, false);
  return status;
}

void exanet_storage_closes(int fd) {
  struct exanet_ni *ni = any_cached ? exanet_virtual_ni() : NULL;
  if (ni == NULL) return;
  const int before = errno, flags = fcntl(fd, F_GETFL);
  errno = before;
  if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) pass_time(ni, fd, EXN_STORAGE_SYNC, 0, 0, true);
}

/* Writes the folder that a name is in, without links and with a slash at its end, to `folder`, which has space for
   PATH_MAX characters. A name without a slash is in `directory`. */
static bool write_folder_of(int directory, const char *path, char *folder) {
  char given[PATH_MAX], base[PATH_MAX] = "";
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') --length;
  while (length > 0 && path[length - 1] != '/') --length;
  if (path[0] != '/' && directory != AT_FDCWD) {
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    const ssize_t size = readlink(link, base, sizeof base - 1);
    if (size <= 0) return false;
    base[size] = '\0';
  }
  const char *between = path[0] == '/' ? "" : base[0] != '\0' ? "/" : "./";
  const int size = snprintf(given, sizeof given, "%s%s%.*s", base, between, (int)length, path);
  if (size < 0 || (size_t)size >= sizeof given || realpath(given, folder) == NULL) return false;
  const size_t found = strlen(folder);
  if (found + 2 > PATH_MAX) return false;
  if (folder[found - 1] != '/') memcpy(folder + found, "/", 2);
  return true;
}

void exanet_storage_named(int directory, const char *path) {
  struct exanet_ni *ni = any_named && path != NULL && *path != '\0' ? exanet_virtual_ni() : NULL;
  if (ni == NULL) return;
  const int before = errno;
  exanet_uncounted_begin(ni);
  char folder[PATH_MAX];
  const char *below;
  const struct mount *mount = write_folder_of(directory, path, folder) ? mount_above(folder, &below) : NULL;
  exanet_uncounted_end(ni);
  if (mount != NULL && mount->named) {
    const struct exn_storage_call call = {
        .action = EXN_STORAGE_METADATA, .storage = mount->storage, .file = number_of(below)};
    exanet_storage_call(ni, &call);
  }
  errno = before;
}
