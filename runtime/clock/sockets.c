/* SPDX-License-Identifier: Apache-2.0
 * Waiting at a socket, where another rank may be the one that is waited for: a program's own connections, and those
 * of MPI_Comm_join().
 *
 * Problem: what the other rank sends may come behind a message of the simulated network, for which virtual time has
 * to pass; that waits for this rank, as for all that are at work.
 *
 * Model: the rank waits in the host's time for EXANET_WAIT_MS, which moves no clock; then time goes on by a step,
 * and by a longer one each time. Only the waiting is done here, before the call itself, which then finds what it
 * needs; what is long is sent piece by piece.
 *
 * A socket's own limit to receive (SO_RCVTIMEO) is of virtual time then.
 *
 * A file of a simulated storage may be read and written by the same calls, which then take its time (mounts.h).
 *
 * Limits: signals do not cut a wait short. A socket that does not block, or has a limit to send (SO_SNDTIMEO), a thread
 * beside others outside MPI, and a stream of stdio are left alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "beside.h"
#include "mounts.h"

/* MPICH asks its launcher by this one, which answers by itself; -1 where there is none. */
static int launcher_socket(void) {
  static int number = -2;
  if (number == -2) {
    const char *given = getenv("PMI_FD");
    number = given != NULL && *given != 0 ? atoi(given) : -1;
  }
  return number;
}

bool exanet_is_rank_socket(int fd) {
  struct stat status;
  return fd >= 0 && fd != launcher_socket() && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

/* The socket's own limit in picoseconds; 0: none. */
static uint64_t limit_ps(int fd, int option) {
  struct timeval limit = {0};
  socklen_t size = sizeof limit;
  if (getsockopt(fd, SOL_SOCKET, option, &limit, &size) != 0) return 0;
  return (uint64_t)limit.tv_sec * PS_PER_S + (uint64_t)limit.tv_usec * PS_PER_US;
}

static int look(int fd, short events, int ms) {
  static void *slot;
  typedef int (*function)(struct pollfd *, nfds_t, int);
  struct pollfd file = {.fd = fd, .events = events};
  return ((function)exanet_real(&slot, "poll", NULL))(&file, 1, ms);
}

/* Whether a call on it may wait for another rank; errno stays. */
static bool may_wait(int fd, short events) {
  struct exanet_ni *ni = exanet_virtual_ni();
  if (ni == NULL || (exanet_mpi_depth == 0 && exanet_program_threads() > 0)) return false;
  const int before = errno;
  const bool waits = exanet_is_rank_socket(fd) && (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0 &&
                     (events == POLLIN || limit_ps(fd, SO_SNDTIMEO) == 0);
  errno = before;
  return waits;
}

void exanet_socket_warn(int fd) {
  static bool warned;
  if (!warned)
    fprintf(stderr,
            "exanet: a rank (pid %d) waits at its socket %d for %d s; virtual time goes on meanwhile, by longer and "
            "longer steps\n",
            (int)getpid(), fd, EXANET_WAITS_UNTIL_WARNING * EXANET_WAIT_MS / 1000);
  warned = true;
}

/* Until it is ready, or an error has come: the call itself says so. False: so much virtual time has passed before; 0:
   there is no limit. */
static bool wait_for(int fd, short events, uint64_t most_ps) {
  if (look(fd, events, 0) > 0) return true;
  struct exanet_ni *ni = exanet_virtual_ni();
  const uint64_t begin_ps = ni != NULL ? exanet_clock_peek(ni) : 0;
  uint64_t steps = 1;
  for (int looks = 1; look(fd, events, EXANET_WAIT_MS) <= 0 && (ni = exanet_virtual_ni()) != NULL; ++looks) {
    if (most_ps > 0 && exanet_clock_peek(ni) - begin_ps >= most_ps) return false;
    if (looks == EXANET_WAITS_UNTIL_WARNING) exanet_socket_warn(fd);
    exanet_step(ni, &steps);
  }
  return true;
}

/* False: its own limit is over, which errno says. */
static bool wait_to_read(int fd, int flags) {
  if ((flags & MSG_DONTWAIT) != 0 || !may_wait(fd, POLLIN) || wait_for(fd, POLLIN, limit_ps(fd, SO_RCVTIMEO)))
    return true;
  errno = EAGAIN;
  return false;
}

/* What a stream takes at once, again and again; what has gone when a signal or an error comes is what was sent, as
   in one call. */
static ssize_t send_in_pieces(int fd, const char *bytes, size_t size, int flags) {
  size_t sent = 0;
  while (true) {
    const ssize_t piece = send(fd, bytes + sent, size - sent, flags | MSG_DONTWAIT);
    if (piece >= 0) sent += (size_t)piece;
    if (sent == size) return (ssize_t)sent;
    if (piece < 0 && errno != EAGAIN) return sent > 0 ? (ssize_t)sent : -1;
    wait_for(fd, POLLOUT, 0);
  }
}

#define REAL(name, type)                          \
  static type real_##name(void) {                 \
    static void *slot;                            \
    return (type)exanet_real(&slot, #name, NULL); \
  }

typedef ssize_t (*read_function)(int, void *, size_t);
REAL(read, read_function)
EXPORT ssize_t read(int fd, void *buffer, size_t size) {
  if (fd == launcher_socket()) {
    const ssize_t answer = exanet_pmi_answered(buffer, size);
    if (answer > 0) return answer;
    const ssize_t got = real_read()(fd, buffer, size);
    if (got <= 0) exanet_pmi_left();
    return got;
  }
  if (!wait_to_read(fd, 0)) return -1;
  return EXANET_STORAGE(fd, EXN_STORAGE_READ, EXANET_AT_POSITION, real_read()(fd, buffer, size));
}

typedef ssize_t (*readv_function)(int, const struct iovec *, int);
REAL(readv, readv_function)
EXPORT ssize_t readv(int fd, const struct iovec *parts, int count) {
  if (!wait_to_read(fd, 0)) return -1;
  return EXANET_STORAGE(fd, EXN_STORAGE_READ, EXANET_AT_POSITION, real_readv()(fd, parts, count));
}

typedef ssize_t (*recv_function)(int, void *, size_t, int);
REAL(recv, recv_function)
EXPORT ssize_t recv(int fd, void *buffer, size_t size, int flags) {
  if (!wait_to_read(fd, flags)) return -1;
  return real_recv()(fd, buffer, size, flags);
}

typedef ssize_t (*recvfrom_function)(int, void *, size_t, int, struct sockaddr *, socklen_t *);
REAL(recvfrom, recvfrom_function)
EXPORT ssize_t recvfrom(int fd, void *restrict buffer, size_t size, int flags, struct sockaddr *restrict from,
                        socklen_t *restrict length) {
  if (!wait_to_read(fd, flags)) return -1;
  return real_recvfrom()(fd, buffer, size, flags, from, length);
}

typedef ssize_t (*recvmsg_function)(int, struct msghdr *, int);
REAL(recvmsg, recvmsg_function)
EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
  if (!wait_to_read(fd, flags)) return -1;
  return real_recvmsg()(fd, message, flags);
}

typedef int (*accept_function)(int, struct sockaddr *, socklen_t *);
REAL(accept, accept_function)
EXPORT int accept(int fd, struct sockaddr *restrict from, socklen_t *restrict length) {
  if (!wait_to_read(fd, 0)) return -1;
  return real_accept()(fd, from, length);
}

typedef int (*accept4_function)(int, struct sockaddr *, socklen_t *, int);
REAL(accept4, accept4_function)
EXPORT int accept4(int fd, struct sockaddr *restrict from, socklen_t *restrict length, int flags) {
  if (!wait_to_read(fd, 0)) return -1;
  return real_accept4()(fd, from, length, flags);
}

typedef ssize_t (*write_function)(int, const void *, size_t);
REAL(write, write_function)
EXPORT ssize_t write(int fd, const void *bytes, size_t size) {
  if (fd == launcher_socket()) {
    if (exanet_pmi_asked(bytes, size)) return (ssize_t)size;
    exanet_pmi_aborts(bytes, size);
  }
  if (may_wait(fd, POLLOUT)) return send_in_pieces(fd, bytes, size, 0);
  return EXANET_STORAGE(fd, EXN_STORAGE_WRITE, EXANET_AT_POSITION, real_write()(fd, bytes, size));
}

typedef ssize_t (*send_function)(int, const void *, size_t, int);
REAL(send, send_function)
EXPORT ssize_t send(int fd, const void *bytes, size_t size, int flags) {
  if ((flags & MSG_DONTWAIT) == 0 && may_wait(fd, POLLOUT)) return send_in_pieces(fd, bytes, size, flags);
  return real_send()(fd, bytes, size, flags);
}
