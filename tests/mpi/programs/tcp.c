/* SPDX-License-Identifier: Apache-2.0
 * TCP between ranks by sockets alone. What it does is its first argument; rank 0 serves at port 5001. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                      \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      fprintf(stderr, "rank %d, line %d: %s, errno %d\n", rank, __LINE__, #condition, errno); \
      exit(3);                                                                                \
    }                                                                                         \
  } while (0)

static int rank;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int serve(int port) {
  const struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(fd >= 0);
  CHECK(bind(fd, (const struct sockaddr *)&at, sizeof at) == 0);
  CHECK(listen(fd, 1) == 0);
  return fd;
}

static struct sockaddr_in address(const char *name, int port) {
  struct addrinfo *found, hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
  CHECK(getaddrinfo(name, NULL, &hints, &found) == 0);
  struct sockaddr_in at = *(struct sockaddr_in *)(void *)found->ai_addr;
  at.sin_port = htons((uint16_t)port);
  freeaddrinfo(found);
  return at;
}

static int connect_to(const char *name, int port) {
  const struct sockaddr_in to = address(name, port);
  for (;;) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr *)&to, sizeof to) == 0) return fd;
    CHECK(errno == ECONNREFUSED);
    close(fd);
    usleep(10);
  }
}

static void read_all(int fd, char *bytes, size_t size) {
  for (size_t got = 0; got < size;) {
    const ssize_t n = read(fd, bytes + got, size - got);
    CHECK(n > 0);
    got += (size_t)n;
  }
}

static void write_all(int fd, const char *bytes, size_t size) { CHECK(write(fd, bytes, size) == (ssize_t)size); }

static void pingpong(size_t size) {
  enum { ROUNDS = 20 };
  char *bytes = malloc(size);
  if (rank == 0) {
    const int listener = serve(5001), fd = accept(listener, NULL, NULL);
    CHECK(fd >= 0);
    for (int i = 0; i <= ROUNDS; i++) {
      read_all(fd, bytes, size);
      write_all(fd, bytes, size);
    }
    CHECK(read(fd, bytes, 1) == 0);
    return;
  }
  usleep(1000); /* rank 0 listens */
  const struct sockaddr_in to = address("rank0", 5001);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  double start = now();
  CHECK(connect(fd, (const struct sockaddr *)&to, sizeof to) == 0);
  printf("connect %.1f ns\n", 1e9 * (now() - start));
  for (int i = 0; i <= ROUNDS; i++) {
    if (i == 1) start = now();
    write_all(fd, bytes, size);
    read_all(fd, bytes, size);
  }
  printf("latency %.1f ns\n", 1e9 * (now() - start) / ROUNDS / 2);
  close(fd);
}

/* Each rank but 0 sends so many bytes to it, which are the same at both ends; `buffer`: SO_SNDBUF, 0: as it is. */
static void bulk(size_t size, int clients, int buffer) {
  enum { PIECE = 1 << 16 };
  char *bytes = malloc(PIECE);
  if (rank == 0) {
    const int listener = serve(5001);
    struct pollfd *files = calloc((size_t)clients, sizeof *files);
    size_t got = 0;
    for (int i = 0; i < clients; i++) files[i] = (struct pollfd){.fd = accept(listener, NULL, NULL), .events = POLLIN};
    const double start = now();
    for (int open = clients; open > 0;) {
      CHECK(poll(files, (nfds_t)clients, -1) > 0);
      for (int i = 0; i < clients; i++) {
        if (files[i].revents == 0) continue;
        const ssize_t n = read(files[i].fd, bytes, PIECE);
        CHECK(n >= 0);
        got += (size_t)n;
        if (n > 0) continue;
        files[i].fd = -1;
        --open;
      }
    }
    CHECK(got == size * (size_t)clients);
    printf("rate %.3f Gb/s\n", 8e-9 * (double)got / (now() - start));
    return;
  }
  if (rank > clients) return;
  const int fd = connect_to("rank0", 5001);
  if (buffer > 0) CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer) == 0);
  for (size_t sent = 0; sent < size; sent += PIECE) write_all(fd, bytes, size - sent < PIECE ? size - sent : PIECE);
  close(fd);
}

static int ready_epoll(int epoll, int ms, int *fd) {
  struct epoll_event event;
  const int n = epoll_wait(epoll, &event, 1, ms);
  *fd = n > 0 ? event.data.fd : -1;
  return n;
}

/* Rank 0 by epoll, rank 1 by select and poll; a stream is closed in halves. */
static void calls(void) {
  char bytes[64] = "";
  int fd;
  if (rank == 0) {
    const int listener = serve(5001), epoll = epoll_create1(0);
    CHECK(fcntl(listener, F_SETFL, O_NONBLOCK) == 0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) == 0);
    CHECK(accept(listener, NULL, NULL) < 0 && errno == EAGAIN);
    CHECK(ready_epoll(epoll, -1, &fd) == 1 && fd == listener);
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    const int client = accept4(listener, (struct sockaddr *)&from, &length, SOCK_NONBLOCK);
    CHECK(client >= 0 && from.sin_addr.s_addr == address("rank1", 0).sin_addr.s_addr);
    event.data.fd = client;
    CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, client, &event) == 0);
    CHECK(ready_epoll(epoll, 2, &fd) == 0); /* it sleeps for longer */
    CHECK(ready_epoll(epoll, 5000, &fd) == 1 && fd == client);
    size_t got = 0;
    for (ssize_t n; (n = read(client, bytes + got, sizeof bytes - got)) != 0;) {
      if (n > 0)
        got += (size_t)n;
      else
        CHECK(errno == EAGAIN && ready_epoll(epoll, -1, &fd) == 1);
    }
    CHECK(got == 50 && memcmp(bytes, "01234567890123456789", 20) == 0);
    write_all(client, "answer", 6);
    close(client);
    return;
  }
  usleep(1000);
  const struct sockaddr_in to = address("rank0", 5001), nobody = address("rank0", 5002);
  fd = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(connect(fd, (const struct sockaddr *)&nobody, sizeof nobody) < 0 && errno == ECONNREFUSED);
  close(fd);
  fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  CHECK(connect(fd, (const struct sockaddr *)&to, sizeof to) < 0 && errno == EINPROGRESS);
  struct pollfd file = {.fd = fd, .events = POLLOUT};
  CHECK(poll(&file, 1, 1000) == 1 && (file.revents & POLLOUT) != 0);
  int error = -1;
  socklen_t length = sizeof error;
  CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0);
  CHECK(read(fd, bytes, 1) < 0 && errno == EAGAIN);
  file.events = POLLIN;
  const double start = now();
  CHECK(poll(&file, 1, 10) == 0);
  CHECK(now() - start > 0.00999 && now() - start < 0.0101);
  for (int i = 0; i < 50; i++) write_all(fd, &"0123456789"[i % 10], 1);
  CHECK(shutdown(fd, SHUT_WR) == 0);
  fd_set readable;
  FD_ZERO(&readable);
  FD_SET(fd, &readable);
  CHECK(select(fd + 1, &readable, NULL, NULL, NULL) == 1 && FD_ISSET(fd, &readable));
  CHECK(read(fd, bytes, sizeof bytes) == 6 && memcmp(bytes, "answer", 6) == 0);
  CHECK(fcntl(fd, F_SETFL, 0) == 0 && read(fd, bytes, sizeof bytes) == 0);
  close(fd);
  printf("calls are right\n");
}

/* The server ends in the middle: its client sees the end of the stream. */
static void leaves(void) {
  char bytes[1 << 16];
  if (rank == 0) {
    const int fd = accept(serve(5001), NULL, NULL);
    write_all(fd, bytes, 1000);
    exit(0);
  }
  const int fd = connect_to("localhost", 5001);
  const double start = now();
  read_all(fd, bytes, 1000);
  const ssize_t n = read(fd, bytes, 1);
  printf("end %d after %.3f ms\n", (int)n, 1e3 * (now() - start));
}

/* Rank 0 asks again and again, and its stream can be written at any time; rank 1 writes at its leisure. */
static void asks(void) {
  char byte = 0;
  if (rank == 1) {
    const int fd = connect_to("rank0", 5001);
    usleep(100);
    write_all(fd, &byte, 1);
    usleep(100);
    write_all(fd, &byte, 1);
    close(fd);
    return;
  }
  const int fd = accept(serve(5001), NULL, NULL);
  struct pollfd file = {.fd = fd, .events = POLLIN | POLLOUT};
  long looks = 0;
  do {
    CHECK(poll(&file, 1, 0) == 1);
    ++looks;
  } while ((file.revents & POLLIN) == 0);
  CHECK(read(fd, &byte, 1) == 1);
  while (recv(fd, &byte, 1, MSG_DONTWAIT) < 0) ++looks;
  printf("looks %ld\n", looks);
}

static void both_read(void) {
  char byte;
  const int fd = rank == 0 ? accept(serve(5001), NULL, NULL) : connect_to("rank0", 5001);
  CHECK(read(fd, &byte, 1) == 1);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  rank = atoi(getenv("EXANET_RANK"));
  if (strcmp(what, "pingpong") == 0) pingpong((size_t)atol(argv[2]));
  if (strcmp(what, "bulk") == 0) bulk((size_t)atol(argv[2]), atoi(argv[3]), argc > 4 ? atoi(argv[4]) : 0);
  if (strcmp(what, "calls") == 0) calls();
  if (strcmp(what, "leaves") == 0) leaves();
  if (strcmp(what, "asks") == 0) asks();
  if (strcmp(what, "both-read") == 0) both_read();
  return 0;
}
