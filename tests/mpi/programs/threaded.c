/* SPDX-License-Identifier: Apache-2.0
 * Threads of one rank that communicate at once, under MPI_THREAD_MULTIPLE. Two ranks.
 *
 * Usage: threaded THREADS   ping-pong of each thread with its counterpart, a tag each; 0: of the main thread alone.
 *                           Prints `pairs PICOSECONDS…`, half a round trip of each.
 *        threaded -THREADS  ping-pong of rank 0 with the threads of rank 1, by size; -0: with its main thread.
 *                           Prints `by size PICOSECONDS…`.
 *        threaded crowd     sixteen threads of rank 0 send long messages to their counterparts.
 *                           Prints `crowd PICOSECONDS`.
 *        threaded mixed     three threads that test, probe, send to their own rank and meet in barriers.
 *                           Prints `mixed PICOSECONDS`.
 *        threaded joined    a thread for each receive, for whose end the main thread waits.
 *                           Prints `joined RATIO`: of the host's time for the quickest to that without threads. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 40, SIZES = 3, MOST = 16, MIXED = 3, LONG = 65536 };
static const int sizes[SIZES] = {8, 4096, 262144};
static int rank, threads;
static double took[MOST];
static MPI_Comm comms[MIXED];

static void check(int holds) {
  if (!holds) abort();
}

static void *pair(void *number) {
  const int tag = (int)(long)number;
  char bytes[8] = {0};
  const double start = MPI_Wtime();
  for (int i = 0; i < TURNS; i++) {
    bytes[0] = (char)i;
    if (rank == 0) MPI_Send(bytes, sizeof bytes, MPI_CHAR, 1, tag, MPI_COMM_WORLD);
    MPI_Recv(bytes, sizeof bytes, MPI_CHAR, !rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(bytes, sizeof bytes, MPI_CHAR, 0, tag, MPI_COMM_WORLD);
    check(bytes[0] == (char)i);
  }
  took[tag] = (MPI_Wtime() - start) / TURNS / 2;
  return NULL;
}

static void *answer(void *first) {
  char *bytes = malloc((size_t)sizes[SIZES - 1]);
  for (int s = 0; s < SIZES; s++)
    for (int i = (int)(long)first; i < TURNS; i += threads) {
      MPI_Recv(bytes, sizes[s], MPI_CHAR, 0, s, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(bytes, sizes[s], MPI_CHAR, 0, s, MPI_COMM_WORLD);
    }
  free(bytes);
  return NULL;
}

static void ask(void) {
  char *bytes = calloc(1, (size_t)sizes[SIZES - 1]);
  for (int s = 0; s < SIZES; s++) {
    const double start = MPI_Wtime();
    for (int i = 0; i < TURNS; i++) {
      MPI_Send(bytes, sizes[s], MPI_CHAR, 1, s, MPI_COMM_WORLD);
      MPI_Recv(bytes, sizes[s], MPI_CHAR, 1, s, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    took[s] = (MPI_Wtime() - start) / TURNS / 2;
  }
  free(bytes);
}

static void *crowd(void *number) {
  const int tag = (int)(long)number;
  char *bytes = calloc(1, LONG);
  for (int i = 0; i < TURNS; i++)
    if (rank == 0)
      MPI_Send(bytes, LONG, MPI_CHAR, 1, tag, MPI_COMM_WORLD);
    else
      MPI_Recv(bytes, LONG, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  free(bytes);
  return NULL;
}

static void *mix(void *number) {
  const int me = (int)(long)number, peer = !rank, next = (me + 1) % MIXED;
  for (int i = 0; i < TURNS / 2; i++) {
    const int sent = i;
    int got = -1, flag = 0;
    MPI_Request request;
    switch ((me + i) % 4) {
      case 0:
        MPI_Irecv(&got, 1, MPI_INT, peer, me, MPI_COMM_WORLD, &request);
        MPI_Send(&sent, 1, MPI_INT, peer, me, MPI_COMM_WORLD);
        while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        check(got == i);
        break;
      case 1:
        MPI_Isend(&sent, 1, MPI_INT, peer, me, MPI_COMM_WORLD, &request);
        while (!flag) MPI_Iprobe(peer, me, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Recv(&got, 1, MPI_INT, peer, me, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(got == i);
        break;
      case 2: MPI_Barrier(comms[me]); break;
      default:
        MPI_Isend(&sent, 1, MPI_INT, rank, MIXED + next, MPI_COMM_WORLD, &request);
        MPI_Recv(&got, 1, MPI_INT, rank, MIXED + next, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  return NULL;
}

static void *receive(void *unused) {
  int got;
  MPI_Recv(&got, 1, MPI_INT, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return unused;
}

static double host_s(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The host's time of the quickest turn: nothing else that the host has to do is in that. */
static double exchange(int in_thread) {
  double least = 1e9;
  for (int i = 0; i < 5 * TURNS; i++) {
    const double start = host_s();
    pthread_t receiver;
    if (in_thread) pthread_create(&receiver, NULL, receive, NULL);
    MPI_Send(&i, 1, MPI_INT, !rank, 0, MPI_COMM_WORLD);
    if (in_thread)
      pthread_join(receiver, NULL);
    else
      receive(NULL);
    const double took = host_s() - start;
    if (took < least) least = took;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return least;
}

static void run_threads(void *(*routine)(void *)) {
  pthread_t started[MOST];
  for (long i = 0; i < threads; i++) pthread_create(&started[i], NULL, routine, (void *)i);
  for (int i = 0; i < threads; i++) pthread_join(started[i], NULL);
}

static void print(const char *what, int count) {
  if (rank != 0) return;
  printf("%s", what);
  for (int i = 0; i < count; i++) printf(" %.0f", took[i] * 1e12);
  printf("\n");
}

static void run_all(void *(*routine)(void *), int many) {
  threads = many;
  if (many > 0) {
    run_threads(routine);
    return;
  }
  threads = 1;
  routine(NULL);
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  check(provided == MPI_THREAD_MULTIPLE && argc > 1);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(argv[1], "mixed") == 0) {
    for (int i = 0; i < MIXED; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    const double start = MPI_Wtime();
    run_all(mix, MIXED);
    took[0] = MPI_Wtime() - start;
    print("mixed", 1);
    for (int i = 0; i < MIXED; i++) MPI_Comm_free(&comms[i]);
  } else if (strcmp(argv[1], "joined") == 0) {
    const double alone = exchange(0), joined = exchange(1);
    if (rank == 0) printf("joined %.1f\n", joined / alone);
  } else if (strcmp(argv[1], "crowd") == 0) {
    const double start = MPI_Wtime();
    run_all(crowd, MOST);
    took[0] = MPI_Wtime() - start;
    print("crowd", 1);
  } else if (argv[1][0] == '-') {
    if (rank == 0)
      ask();
    else
      run_all(answer, -atoi(argv[1]));
    print("by size", SIZES);
  } else {
    run_all(pair, atoi(argv[1]));
    print("pairs", threads);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
