/* SPDX-License-Identifier: Apache-2.0
 * Sockets of datagrams, for tests/mpi/test_sockets_udp.py
 * usage: udp pingpong BYTES [ROUNDS] | calls | flood COUNT BYTES */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CHECK(is)                                              \
  do {                                                         \
    if (!(is)) {                                               \
      printf("line %d: %s: errno %d\n", __LINE__, #is, errno); \
      exit(1);                                                 \
    }                                                          \
  } while (0)

static int rank;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct sockaddr_in address(int of_rank, int port) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  a.sin_addr.s_addr = htonl(0x7f4d0001u + (uint32_t)of_rank);
  return a;
}

static int bound_to(int port) {
  const struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  CHECK(fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0);
  return fd;
}

static int connected_to(int of_rank, int port) {
  const struct sockaddr_in to = address(of_rank, port);
  const int fd = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
  CHECK(fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to) == 0);
  return fd;
}

static void pingpong(size_t size, int rounds) {
  char *bytes = malloc(65536), *sent = malloc(65536);
  if (rank == 0) {
    const int fd = bound_to(5001);
    for (int i = 0; i <= rounds; i++) {
      struct sockaddr_in from;
      socklen_t length = sizeof from;
      const ssize_t n = recvfrom(fd, bytes, 65536, 0, (struct sockaddr *)&from, &length);
      CHECK(n == (ssize_t)size && length == sizeof from && ntohl(from.sin_addr.s_addr) == 0x7f4d0002u);
      CHECK(sendto(fd, bytes, size, 0, (struct sockaddr *)&from, length) == (ssize_t)size);
    }
    return;
  }
  const int fd = connected_to(0, 5001);
  double start = 0;
  for (int i = 0; i <= rounds; i++) {
    if (i == 1) start = now();
    for (size_t k = 0; k < size; k++) sent[k] = (char)(k * 7 + (size_t)i + k / 251);
    CHECK(send(fd, sent, size, 0) == (ssize_t)size);
    CHECK(recv(fd, bytes, 65536, 0) == (ssize_t)size);
    CHECK(memcmp(bytes, sent, size) == 0);
  }
  printf("latency %.1f ns\n", 1e9 * (now() - start) / rounds / 2);
}

/* Rank 1 sends as fast as it can; rank 0 takes them once all have come. */
static void flood(int count, size_t size) {
  char *bytes = calloc(1, 65536);
  if (rank == 0) {
    const int fd = bound_to(5001), signal_fd = bound_to(5002);
    int got = 0;
    CHECK(recv(signal_fd, bytes, 10, 0) == 1);
    while (recv(fd, bytes, 65536, MSG_DONTWAIT) >= 0) got++;
    CHECK(errno == EAGAIN);
    printf("got %d\n", got);
    return;
  }
  const int fd = connected_to(0, 5001);
  const double start = now();
  for (int i = 0; i < count; i++) CHECK(send(fd, bytes, size, 0) == (ssize_t)size);
  printf("sent %.3f us\n", 1e6 * (now() - start));
  usleep(1000);
  CHECK(send(connected_to(0, 5002), "x", 1, 0) == 1);
}

static void serve_calls(void) {
  char bytes[100];
  const int fd = bound_to(5001);
  struct sockaddr_in from;
  socklen_t length = sizeof from;
  for (;;) {
    length = sizeof from;
    const ssize_t n = recvfrom(fd, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &length);
    CHECK(n >= 0);
    if (n == 3 && memcmp(bytes, "end", 3) == 0) return;
    CHECK(sendto(fd, bytes, (size_t)n, 0, (struct sockaddr *)&from, length) == n);
  }
}

static void check_names(int fd) {
  struct sockaddr_in name;
  socklen_t length = sizeof name;
  CHECK(getsockname(fd, (struct sockaddr *)&name, &length) == 0 && ntohl(name.sin_addr.s_addr) == 0x7f4d0002u);
  CHECK(ntohs(name.sin_port) >= 32768);
  CHECK(getpeername(fd, (struct sockaddr *)&name, &length) == 0 && ntohs(name.sin_port) == 5001);
  const int fresh = socket(AF_INET, SOCK_DGRAM, 0);
  CHECK(getpeername(fresh, (struct sockaddr *)&name, &length) == -1 && errno == ENOTCONN);
  CHECK(send(fresh, "x", 1, 0) == -1 && errno == EDESTADDRREQ);
  CHECK(listen(fresh, 1) == -1 && errno == EOPNOTSUPP);
  CHECK(close(fresh) == 0);
  CHECK(socket(AF_INET6, SOCK_DGRAM, 0) == -1 && errno == EAFNOSUPPORT);
}

static void check_waits(int fd) {
  char bytes[100];
  struct pollfd file = {.fd = fd, .events = POLLIN | POLLOUT};
  CHECK(poll(&file, 1, 0) == 1 && file.revents == POLLOUT);
  CHECK(recv(fd, bytes, 100, MSG_DONTWAIT) == -1 && errno == EAGAIN);
  const struct timeval limit = {.tv_usec = 20000};
  CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
  const double start = now();
  CHECK(recv(fd, bytes, 100, 0) == -1 && errno == EAGAIN);
  CHECK(now() - start > 19.9e-3 && now() - start < 20.1e-3);
  CHECK(send(fd, "hello", 5, 0) == 5);
  file.events = POLLIN;
  CHECK(poll(&file, 1, 100) == 1 && file.revents == POLLIN);
  int there = 0;
  CHECK(ioctl(fd, FIONREAD, &there) == 0 && there == 5);
  CHECK(recv(fd, bytes, 2, MSG_PEEK) == 2 && recv(fd, bytes, 2, MSG_PEEK | MSG_TRUNC) == 5);
  struct iovec part = {.iov_base = bytes, .iov_len = 3};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  CHECK(recvmsg(fd, &message, 0) == 3 && message.msg_flags == MSG_TRUNC && memcmp(bytes, "hel", 3) == 0);
  CHECK(ioctl(fd, FIONREAD, &there) == 0 && there == 0);
  CHECK(send(fd, "", 0, 0) == 0 && recv(fd, bytes, 100, 0) == 0);
  fd_set readable;
  FD_ZERO(&readable);
  FD_SET(fd, &readable);
  CHECK(write(fd, "x", 1) == 1 && select(fd + 1, &readable, NULL, NULL, NULL) == 1 && read(fd, bytes, 100) == 1);
  const int events = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
  CHECK(epoll_ctl(events, EPOLL_CTL_ADD, fd, &event) == 0 && write(fd, "xy", 2) == 2);
  CHECK(epoll_wait(events, &event, 1, 100) == 1 && event.data.fd == fd);
  CHECK(epoll_wait(events, &event, 1, 0) == 0);
  CHECK(read(fd, bytes, 100) == 2);
}

static void check_many(int fd) {
  char out[3][4] = {"one", "two", "thr"}, in[4][8];
  struct iovec out_parts[3], in_parts[4];
  struct mmsghdr outs[3] = {0}, ins[4] = {0};
  for (int i = 0; i < 3; i++) {
    out_parts[i] = (struct iovec){out[i], 3};
    outs[i].msg_hdr = (struct msghdr){.msg_iov = &out_parts[i], .msg_iovlen = 1};
  }
  for (int i = 0; i < 4; i++) {
    in_parts[i] = (struct iovec){in[i], 8};
    ins[i].msg_hdr = (struct msghdr){.msg_iov = &in_parts[i], .msg_iovlen = 1};
  }
  CHECK(sendmmsg(fd, outs, 3, 0) == 3 && outs[2].msg_len == 3);
  usleep(1000);
  CHECK(recvmmsg(fd, ins, 4, MSG_WAITFORONE, NULL) == 3 && ins[1].msg_len == 3 && memcmp(in[1], "two", 3) == 0);
}

static void check_wrong(void) {
  char bytes[100];
  static char large[70000];
  const int nobody = connected_to(0, 4999);
  CHECK(send(nobody, "x", 1, 0) == 1);
  CHECK(recv(nobody, bytes, 100, 0) == -1 && errno == ECONNREFUSED);
  CHECK(send(nobody, large, 65508, 0) == -1 && errno == EMSGSIZE);
  const struct sockaddr_in far = address(99, 5001);
  CHECK(sendto(nobody, "x", 1, 0, (const struct sockaddr *)&far, sizeof far) == -1 && errno == ENETUNREACH);
  const struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(6000)};
  const int first = bound_to(6000), second = socket(AF_INET, SOCK_DGRAM, 0), one = 1;
  CHECK(bind(second, (const struct sockaddr *)&at, sizeof at) == -1 && errno == EADDRINUSE);
  CHECK(close(first) == 0 && bind(second, (const struct sockaddr *)&at, sizeof at) == 0);
  CHECK(setsockopt(second, IPPROTO_UDP, 103, &one, sizeof one) == -1 && errno == ENOPROTOOPT);
  int size = 5000;
  socklen_t length = sizeof size;
  CHECK(setsockopt(second, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) == 0);
  CHECK(getsockopt(second, SOL_SOCKET, SO_RCVBUF, &size, &length) == 0 && size == 10000);
}

static void calls(void) {
  if (rank == 0) return serve_calls();
  const int fd = connected_to(0, 5001);
  CHECK(send(fd, "first", 5, 0) == 5); /* rank 0 may have to be waited for */
  char bytes[100];
  CHECK(recv(fd, bytes, 100, 0) == 5);
  check_names(fd);
  check_waits(fd);
  check_many(fd);
  check_wrong();
  CHECK(send(fd, "end", 3, 0) == 3);
  printf("calls are right\n");
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  rank = atoi(getenv("EXANET_RANK"));
  if (strcmp(what, "pingpong") == 0) pingpong((size_t)atol(argv[2]), argc > 3 ? atoi(argv[3]) : 20);
  if (strcmp(what, "calls") == 0) calls();
  if (strcmp(what, "flood") == 0) flood(atoi(argv[2]), (size_t)atol(argv[3]));
  return 0;
}
