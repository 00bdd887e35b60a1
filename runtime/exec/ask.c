/* SPDX-License-Identifier: Apache-2.0
 * Asks the host of packed ranks to start a program in its address space (hosted.h).
 *
 * Problem: a rank must begin as after execve(): with the caller's arguments, environment, working directory, open
 * files, signals and umask.
 *
 * Model: all of that goes into one request: strings in a file in memory, files as descriptors over the socket. The
 * answer is the rank's pid.
 *
 * Limit: EXN_MOST_FILES inherited files. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/exec/hosted.h"

extern char **environ;

socklen_t exn_address(const char *name, struct sockaddr_un *out) {
  const size_t length = strlen(name);
  *out = (struct sockaddr_un){.sun_family = AF_UNIX};
  if (length >= sizeof out->sun_path) return 0;
  memcpy(out->sun_path, name, length);
  if (name[0] == '@') out->sun_path[0] = 0;
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

static int connect_to_host(const char *name) {
  struct sockaddr_un to;
  const socklen_t length = exn_address(name, &to);
  if (!length) return -ENAMETOOLONG;
  const int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (connection < 0) return -errno;
  if (connect(connection, (struct sockaddr *)&to, length) == 0) return connection;
  const int error = errno;
  close(connection);
  return -error;
}

/* What execve() would leave open. Returns how many, or a negative errno value. */
static int inherited(int32_t *files) {
  DIR *folder = opendir("/proc/self/fd");
  if (!folder) return -errno;
  int count = 0;
  for (const struct dirent *entry; (entry = readdir(folder));) {
    const int file = entry->d_name[0] == '.' ? -1 : atoi(entry->d_name);
    const int flags = file < 0 ? FD_CLOEXEC : fcntl(file, F_GETFD);
    if (flags < 0 || (flags & FD_CLOEXEC)) continue;
    if (count == EXN_MOST_FILES) {
      count = -EMFILE;
      break;
    }
    files[count++] = file;
  }
  closedir(folder);
  return count;
}

static void note_signals(struct exn_request *request, const sigset_t *mask) {
  for (int number = 1; number <= 64; number++) {
    struct sigaction action;
    if (sigismember(mask, number) == 1) request->blocked |= UINT64_C(1) << (number - 1);
    if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
      request->ignored |= UINT64_C(1) << (number - 1);
  }
}

/* The length of the strings, each with its zero; in *count how many there are. Copies them where `to` is given. */
static size_t strings(char *const *list, uint32_t *count, char *to) {
  size_t bytes = 0;
  for (*count = 0; list[*count]; ++*count) {
    const size_t length = strlen(list[*count]) + 1;
    if (to) memcpy(to + bytes, list[*count], length);
    bytes += length;
  }
  return bytes;
}

/* Returns the file in memory, or a negative errno value. */
static int write_request(struct exn_request *request, char **argv) {
  const size_t arguments = strings(argv, &request->arguments, NULL),
               variables = strings(environ, &request->variables, NULL);
  request->bytes = sizeof *request + arguments + variables;
  const int file = memfd_create("exanet-rank", MFD_CLOEXEC);
  if (file < 0) return -errno;
  char *space = MAP_FAILED;
  if (ftruncate(file, (off_t)request->bytes) == 0)
    space = mmap(NULL, request->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (space == MAP_FAILED) {
    const int error = errno;
    close(file);
    return -error;
  }
  memcpy(space, request, sizeof *request);
  strings(argv, &request->arguments, space + sizeof *request);
  strings(environ, &request->variables, space + sizeof *request + arguments);
  munmap(space, request->bytes);
  return file;
}

static bool send_files(int connection, const int *files, size_t count) {
  char byte = 0;
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE((EXN_MOST_FILES + 2) * sizeof(int))];
  } control = {0};
  struct iovec data = {&byte, 1};
  struct msghdr message = {
      .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(count * sizeof(int))};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(count * sizeof(int));
  memcpy(CMSG_DATA(header), files, count * sizeof(int));
  return sendmsg(connection, &message, MSG_NOSIGNAL) == 1;
}

static int send_request(int connection, char **argv, long rank, const sigset_t *mask) {
  static struct exn_request request;
  int files[EXN_MOST_FILES + 2];
  const int count = inherited(request.targets);
  if (count < 0) return count;
  request.rank = (uint32_t)rank;
  request.files = (uint32_t)count;
  request.process_group = getpgrp();
  request.umask = umask(0);
  umask(request.umask);
  note_signals(&request, mask);
  files[0] = write_request(&request, argv);
  if (files[0] < 0) return files[0];
  files[1] = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  int error = files[1] < 0 ? -errno : 0;
  memcpy(files + 2, request.targets, (size_t)count * sizeof *files);
  if (!error && !send_files(connection, files, (size_t)count + 2)) error = -errno;
  close(files[0]);
  if (files[1] >= 0) close(files[1]);
  return error;
}

pid_t exn_ask(char **argv, long rank, const sigset_t *mask, int *connection) {
  char name[128];
  const char *given = getenv("EXANET_HOST");
  if (!given || snprintf(name, sizeof name, "%s", given) >= (int)sizeof name) return -ENAMETOOLONG;
  unsetenv("EXANET_HOST"); /* nothing of the program's */
  *connection = connect_to_host(name);
  if (*connection < 0) return *connection == -ECONNREFUSED ? 0 : *connection;
  const int error = send_request(*connection, argv, rank, mask);
  struct exn_reply reply;
  if (error == -EPIPE || error == -ECONNRESET) return 0;
  if (error) return error;
  if (recv(*connection, &reply, sizeof reply, 0) != (ssize_t)sizeof reply) return 0;
  return reply.kind == EXN_REPLY_STARTED ? reply.value : -reply.value;
}
