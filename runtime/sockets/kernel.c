/* SPDX-License-Identifier: Apache-2.0
 * The host's calls on sockets, by their numbers: functions of the C library would wait in virtual time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sockets.h"

void *sockets_next(void **slot, const char *name) {
  void *found = __atomic_load_n(slot, __ATOMIC_RELAXED);
  if (found == NULL) __atomic_store_n(slot, found = dlsym(RTLD_NEXT, name), __ATOMIC_RELAXED);
  return found;
}

ssize_t kernel_recvmsg(int fd, struct msghdr *message, int flags) { return syscall(SYS_recvmsg, fd, message, flags); }

ssize_t kernel_sendmsg(int fd, const struct msghdr *message, int flags) {
  return syscall(SYS_sendmsg, fd, message, flags);
}

int kernel_poll(struct pollfd *files, unsigned long n, int ms) {
  struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
  return (int)syscall(SYS_ppoll, files, n, &limit, NULL, 0);
}

int kernel_flags(int fd) { return (int)syscall(SYS_fcntl, fd, F_GETFL, 0); }

static struct sockaddr_in loopback(uint16_t port) {
  return (struct sockaddr_in){
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int kernel_bind_anywhere(int fd) {
  struct sockaddr_in at = loopback(0);
  socklen_t size = sizeof at;
  if (syscall(SYS_bind, fd, &at, sizeof at) != 0 || syscall(SYS_getsockname, fd, &at, &size) != 0) return -1;
  return ntohs(at.sin_port);
}

/* Somebody listens there, so a socket that does not block is connected in no time. */
int kernel_connect(int fd, uint16_t host_port) {
  const struct sockaddr_in to = loopback(host_port);
  int error = 0;
  socklen_t size = sizeof error;
  if (syscall(SYS_connect, fd, &to, sizeof to) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  struct pollfd file = {.fd = fd, .events = POLLOUT};
  while (kernel_poll(&file, 1, 1000) <= 0) continue;
  return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

int kernel_accept(int fd, int flags, uint16_t *host_port) {
  struct sockaddr_in from;
  struct pollfd file = {.fd = fd, .events = POLLIN};
  for (int tries = 0; tries < 10; ++tries) {
    socklen_t size = sizeof from;
    if (kernel_poll(&file, 1, 1000) <= 0) continue;
    const int accepted = (int)syscall(SYS_accept4, fd, &from, &size, flags);
    if (accepted < 0 && errno == EAGAIN) continue;
    if (accepted >= 0) *host_port = ntohs(from.sin_port);
    return accepted;
  }
  errno = ECONNABORTED;
  return -1;
}

int kernel_close(int fd) { return (int)syscall(SYS_close, fd); }
