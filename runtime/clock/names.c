/* SPDX-License-Identifier: Apache-2.0
 * Calls on the names of files: on a simulated storage whose metadata take time they take it (mounts.c), whether they
 * succeed or not, as a server has to look in both cases.
 *
 * Model: each call is one operation. A call on two names is one on the first.
 *
 * Limits: what a call on an open file asks of its metadata (fstat(), ftruncate(), close()), reading a symbolic link, or
 * a folder behind opendir(), changing to a folder, and files with names of the C library's choice (mkstemp()) take no
 * time. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "clock.h"
#include "mounts.h"

/* A call of libc on the name `path`, from the folder `directory`, under this name. */
#define NAMES(type, name, directory, path, PARAMETERS, ...)                        \
  typedef type(*name##_function) PARAMETERS;                                       \
  EXPORT type name PARAMETERS {                                                    \
    static void *slot;                                                             \
    const name##_function real = (name##_function)exanet_real(&slot, #name, NULL); \
    type value = real(__VA_ARGS__);                                                \
    exanet_storage_named(directory, path);                                         \
    return value;                                                                  \
  }
#define HERE AT_FDCWD

/* -- opening: the mode is there where a file may be made ----------------------------------------------------------- */

static mode_t mode_of(int flags, va_list more) {
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return makes ? va_arg(more, mode_t) : 0;
}

#define OPENS(name)                                                                                       \
  EXPORT int name(const char *path, int flags, ...) {                                                     \
    static void *slot;                                                                                    \
    va_list more;                                                                                         \
    va_start(more, flags);                                                                                \
    const mode_t mode = mode_of(flags, more);                                                             \
    va_end(more);                                                                                         \
    const int fd = ((int (*)(const char *, int, ...))exanet_real(&slot, #name, NULL))(path, flags, mode); \
    exanet_storage_named(HERE, path);                                                                     \
    return fd;                                                                                            \
  }
#define OPENS_AT(name)                                                                     \
  EXPORT int name(int folder, const char *path, int flags, ...) {                          \
    static void *slot;                                                                     \
    va_list more;                                                                          \
    va_start(more, flags);                                                                 \
    const mode_t mode = mode_of(flags, more);                                              \
    va_end(more);                                                                          \
    typedef int (*function)(int, const char *, int, ...);                                  \
    const int fd = ((function)exanet_real(&slot, #name, NULL))(folder, path, flags, mode); \
    exanet_storage_named(folder, path);                                                    \
    return fd;                                                                             \
  }
OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)

/* What programs call that were compiled with _FORTIFY_SOURCE. */
EXPORT int __open_2(const char *path, int flags);
EXPORT int __open64_2(const char *path, int flags);
EXPORT int __openat_2(int folder, const char *path, int flags);
EXPORT int __openat64_2(int folder, const char *path, int flags);
NAMES(int, __open_2, HERE, path, (const char *path, int flags), path, flags)
NAMES(int, __open64_2, HERE, path, (const char *path, int flags), path, flags)
NAMES(int, __openat_2, folder, path, (int folder, const char *path, int flags), folder, path, flags)
NAMES(int, __openat64_2, folder, path, (int folder, const char *path, int flags), folder, path, flags)

NAMES(int, creat, HERE, path, (const char *path, mode_t mode), path, mode)
NAMES(int, creat64, HERE, path, (const char *path, mode_t mode), path, mode)
NAMES(DIR *, opendir, HERE, path, (const char *path), path)

/* -- looking up ---------------------------------------------------------------------------------------------------- */

NAMES(int, stat, HERE, path, (const char *restrict path, struct stat *restrict status), path, status)
NAMES(int, stat64, HERE, path, (const char *restrict path, struct stat64 *restrict status), path, status)
NAMES(int, lstat, HERE, path, (const char *restrict path, struct stat *restrict status), path, status)
NAMES(int, lstat64, HERE, path, (const char *restrict path, struct stat64 *restrict status), path, status)
NAMES(int, fstatat, folder, path, (int folder, const char *restrict path, struct stat *restrict status, int flags),
      folder, path, status, flags)
NAMES(int, fstatat64, folder, path, (int folder, const char *restrict path, struct stat64 *restrict status, int flags),
      folder, path, status, flags)
NAMES(int, statx, folder, path,
      (int folder, const char *restrict path, int flags, unsigned mask, struct statx *restrict status), folder, path,
      flags, mask, status)
NAMES(int, access, HERE, path, (const char *path, int mode), path, mode)
NAMES(int, faccessat, folder, path, (int folder, const char *path, int mode, int flags), folder, path, mode, flags)

/* What programs call that were compiled before glibc 2.33 had the functions above. */
#define STATS_OLD(name, type, real, flags)                      \
  EXPORT int name(int version, const char *path, type *status); \
  EXPORT int name(int version, const char *path, type *status) { return real(AT_FDCWD, path, status, flags); }
STATS_OLD(__xstat, struct stat, fstatat, 0)
STATS_OLD(__xstat64, struct stat64, fstatat64, 0)
STATS_OLD(__lxstat, struct stat, fstatat, AT_SYMLINK_NOFOLLOW)
STATS_OLD(__lxstat64, struct stat64, fstatat64, AT_SYMLINK_NOFOLLOW)

/* -- making, renaming, removing, changing -------------------------------------------------------------------------- */

NAMES(int, mkdir, HERE, path, (const char *path, mode_t mode), path, mode)
NAMES(int, mkdirat, folder, path, (int folder, const char *path, mode_t mode), folder, path, mode)
NAMES(int, rmdir, HERE, path, (const char *path), path)
NAMES(int, unlink, HERE, path, (const char *path), path)
NAMES(int, unlinkat, folder, path, (int folder, const char *path, int flags), folder, path, flags)
NAMES(int, remove, HERE, path, (const char *path), path)
NAMES(int, rename, HERE, path, (const char *path, const char *to), path, to)
NAMES(int, renameat, folder, path, (int folder, const char *path, int to_folder, const char *to), folder, path,
      to_folder, to)
NAMES(int, renameat2, folder, path, (int folder, const char *path, int to_folder, const char *to, unsigned flags),
      folder, path, to_folder, to, flags)
NAMES(int, link, HERE, path, (const char *path, const char *to), path, to)
NAMES(int, linkat, folder, path, (int folder, const char *path, int to_folder, const char *to, int flags), folder, path,
      to_folder, to, flags)
NAMES(int, symlink, HERE, path, (const char *text, const char *path), text, path)
NAMES(int, symlinkat, folder, path, (const char *text, int folder, const char *path), text, folder, path)
NAMES(int, truncate, HERE, path, (const char *path, off_t size), path, size)
NAMES(int, truncate64, HERE, path, (const char *path, off64_t size), path, size)
NAMES(int, chmod, HERE, path, (const char *path, mode_t mode), path, mode)
NAMES(int, fchmodat, folder, path, (int folder, const char *path, mode_t mode, int flags), folder, path, mode, flags)
NAMES(int, chown, HERE, path, (const char *path, uid_t owner, gid_t group), path, owner, group)
NAMES(int, lchown, HERE, path, (const char *path, uid_t owner, gid_t group), path, owner, group)
NAMES(int, utimes, HERE, path, (const char *path, const struct timeval times[2]), path, times)
NAMES(int, utimensat, folder, path, (int folder, const char *path, const struct timespec times[2], int flags), folder,
      path, times, flags)
