/* SPDX-License-Identifier: Apache-2.0
 * Streams of stdio on files of simulated storages.
 *
 * Problem: the C library reads and writes the files of its streams by functions of its own, which nobody can stand in
 * front of.
 *
 * Model: a stream on such a file is opened by the C library, and then replaced by one that calls back for its bytes
 * (fopencookie()); what that calls, read() and write(), takes its time. It has the same descriptor as
 * far as the program can see (fileno()), and a buffer of the size that the file system asks for.
 *
 * Limits: streams of wide characters, with `ccs=`, and those of freopen() stay the C library's, and take no time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "mounts.h"

struct stream {
  int fd;
  char buffer[];
};

static ssize_t read_stream(void *cookie, char *buffer, size_t size) {
  return read(((struct stream *)cookie)->fd, buffer, size);
}

/* All of it: a stream takes less for an error. */
static ssize_t write_stream(void *cookie, const char *bytes, size_t size) {
  size_t written = 0;
  while (written < size) {
    const ssize_t part = write(((struct stream *)cookie)->fd, bytes + written, size - written);
    if (part < 0) break;
    written += (size_t)part;
  }
  return (ssize_t)written;
}

static int seek_stream(void *cookie, off64_t *offset, int whence) {
  const off64_t at = lseek64(((struct stream *)cookie)->fd, *offset, whence);
  if (at < 0) return -1;
  *offset = at;
  return 0;
}

static int close_stream(void *cookie) {
  const int status = close(((struct stream *)cookie)->fd);
  free(cookie);
  return status;
}

/* NULL: there is no memory for it. */
static FILE *make_stream(int fd, const char *mode) {
  struct stat status;
  const size_t size = fstat(fd, &status) == 0 && status.st_blksize > 0 ? (size_t)status.st_blksize : BUFSIZ;
  struct stream *stream = malloc(sizeof *stream + size);
  if (stream == NULL) return NULL;
  stream->fd = fd;
  const cookie_io_functions_t calls = {read_stream, write_stream, seek_stream, close_stream};
  FILE *made = fopencookie(stream, mode, calls);
  if (made == NULL) {
    free(stream);
    return NULL;
  }
  setvbuf(made, stream->buffer, _IOFBF, size);
  made->_fileno = fd; /* what fileno() returns */
  return made;
}

static bool is_wide(const char *mode) { return strstr(mode, ",ccs=") != NULL; }

FILE *exanet_storage_stream(FILE *opened, const char *mode) {
  if (opened == NULL || is_wide(mode) || !exanet_is_mounted(fileno(opened))) return opened;
  const bool closes = (fcntl(fileno(opened), F_GETFD) & FD_CLOEXEC) != 0;
  const int fd = fcntl(fileno(opened), closes ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
  FILE *made = fd >= 0 ? make_stream(fd, mode) : NULL;
  if (made == NULL && fd >= 0) close(fd);
  fclose(opened);
  return made;
}

EXPORT FILE *fopen64(const char *restrict path, const char *restrict mode) {
  static void *slot;
  typedef FILE *(*function)(const char *, const char *);
  FILE *const opened = ((function)exanet_real(&slot, "fopen64", NULL))(path, mode);
  exanet_storage_named(AT_FDCWD, path);
  return exanet_storage_stream(opened, mode);
}

EXPORT FILE *fdopen(int fd, const char *mode) {
  static void *slot;
  typedef FILE *(*function)(int, const char *);
  if (!is_wide(mode) && exanet_is_mounted(fd)) return make_stream(fd, mode);
  return ((function)exanet_real(&slot, "fdopen", NULL))(fd, mode);
}
