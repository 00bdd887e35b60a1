/* SPDX-License-Identifier: Apache-2.0
 * Calls that read and write files at an offset, or see to it that they are written: on a simulated storage they take
 * their time there (mounts.c). Those that read and write at a file's position, which may be a socket, are in sockets.c.
 *
 * MPI libraries and others also ask for bytes to be read or written beside them (aio_read() and its kin). On a storage
 * the time passes where they ask.
 *
 * Limits: mapped files, sendfile(), copy_file_range(), splice() and io_uring take no time. */
#define _GNU_SOURCE
#include <aio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "mounts.h"

#define READ EXN_STORAGE_READ
#define WRITE EXN_STORAGE_WRITE

/* A call of libc that moves bytes at `offset`, under this name. */
#define MOVES(name, action, offset, PARAMETERS, ...)                               \
  typedef ssize_t(*name##_function) PARAMETERS;                                    \
  EXPORT ssize_t name PARAMETERS {                                                 \
    static void *slot;                                                             \
    const name##_function real = (name##_function)exanet_real(&slot, #name, NULL); \
    return EXANET_STORAGE(fd, action, offset, real(__VA_ARGS__));                  \
  }

MOVES(pread, READ, at, (int fd, void *buffer, size_t size, off_t at), fd, buffer, size, at)
MOVES(pread64, READ, at, (int fd, void *buffer, size_t size, off64_t at), fd, buffer, size, at)
MOVES(preadv, READ, at, (int fd, const struct iovec *parts, int count, off_t at), fd, parts, count, at)
MOVES(preadv64, READ, at, (int fd, const struct iovec *parts, int count, off64_t at), fd, parts, count, at)
MOVES(preadv2, READ, at, (int fd, const struct iovec *parts, int count, off_t at, int flags), fd, parts, count, at,
      flags)
MOVES(preadv64v2, READ, at, (int fd, const struct iovec *parts, int count, off64_t at, int flags), fd, parts, count, at,
      flags)
MOVES(pwrite, WRITE, at, (int fd, const void *bytes, size_t size, off_t at), fd, bytes, size, at)
MOVES(pwrite64, WRITE, at, (int fd, const void *bytes, size_t size, off64_t at), fd, bytes, size, at)
MOVES(writev, WRITE, EXANET_AT_POSITION, (int fd, const struct iovec *parts, int count), fd, parts, count)
MOVES(pwritev, WRITE, at, (int fd, const struct iovec *parts, int count, off_t at), fd, parts, count, at)
MOVES(pwritev64, WRITE, at, (int fd, const struct iovec *parts, int count, off64_t at), fd, parts, count, at)
MOVES(pwritev2, WRITE, at, (int fd, const struct iovec *parts, int count, off_t at, int flags), fd, parts, count, at,
      flags)
MOVES(pwritev64v2, WRITE, at, (int fd, const struct iovec *parts, int count, off64_t at, int flags), fd, parts, count,
      at, flags)

/* What programs call that were compiled with _FORTIFY_SOURCE. */
EXPORT ssize_t __read_chk(int fd, void *buffer, size_t size, size_t space);
EXPORT ssize_t __pread_chk(int fd, void *buffer, size_t size, off_t at, size_t space);
EXPORT ssize_t __pread64_chk(int fd, void *buffer, size_t size, off64_t at, size_t space);
MOVES(__read_chk, READ, EXANET_AT_POSITION, (int fd, void *buffer, size_t size, size_t space), fd, buffer, size, space)
MOVES(__pread_chk, READ, at, (int fd, void *buffer, size_t size, off_t at, size_t space), fd, buffer, size, at, space)
MOVES(__pread64_chk, READ, at, (int fd, void *buffer, size_t size, off64_t at, size_t space), fd, buffer, size, at,
      space)

#define SYNCS(name)                                                                        \
  EXPORT int name(int fd) {                                                                \
    static void *slot;                                                                     \
    return exanet_storage_synced(fd, ((int (*)(int))exanet_real(&slot, #name, NULL))(fd)); \
  }
SYNCS(fsync)
SYNCS(fdatasync)

EXPORT int close(int fd) {
  static void *slot;
  exanet_storage_closes(fd);
  return ((int (*)(int))exanet_real(&slot, "close", NULL))(fd);
}

/* As many bytes as the file has there. */
static ssize_t left_of(int fd, int64_t at, size_t size) {
  struct stat64 status;
  if (fstat64(fd, &status) != 0 || status.st_size <= at) return 0;
  return status.st_size - at < (int64_t)size ? (ssize_t)(status.st_size - at) : (ssize_t)size;
}

#define ASKS(name, type, action, moved)                                              \
  EXPORT int name(type *request) {                                                   \
    static void *slot;                                                               \
    const int status = ((int (*)(type *))exanet_real(&slot, #name, NULL))(request);  \
    if (status == 0 && exanet_has_mounts())                                          \
      exanet_storage_moved(request->aio_fildes, action, moved, request->aio_offset); \
    return status;                                                                   \
  }
#define LEFT left_of(request->aio_fildes, request->aio_offset, request->aio_nbytes)
ASKS(aio_read, struct aiocb, READ, LEFT)
ASKS(aio_read64, struct aiocb64, READ, LEFT)
ASKS(aio_write, struct aiocb, WRITE, (ssize_t)request->aio_nbytes)
ASKS(aio_write64, struct aiocb64, WRITE, (ssize_t)request->aio_nbytes)
