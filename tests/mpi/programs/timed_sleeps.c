/* SPDX-License-Identifier: Apache-2.0
 * A ping-pong beside a thread that does nothing but sleep for 100 us at a time, then threads that sleep while the
 * first one waits for them, in the kernel or by yielding. Prints `ping-pong NANOSECONDS SLEEPS ENDED_NANOSECONDS`
 * `waits NANOSECONDS` and `limit NANOSECONDS`.
 *
 * Usage: timed_sleeps THREAD_LEVEL(0: single, 3: multiple) SLEEPERS */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 500 };
static volatile int stop, done;
static int sleeps;

static void *sleep_often(void *unused) {
  for (; !stop; sleeps++) usleep(100);
  return unused;
}

static void *sleep_thrice(void *length_us) {
  for (int i = 0; i < 3; i++) usleep((useconds_t)(long)length_us);
  done = 1;
  return NULL;
}

static double ping_pong(int rank) {
  char byte = 0;
  double start = MPI_Wtime();
  for (int i = 0; i < TURNS; i++) {
    if (rank == 0) MPI_Send(&byte, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(&byte, 1, MPI_CHAR, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(&byte, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - start) / TURNS / 2;
}

/* 300 us for the longer of two that sleep at once, and 90 us for one alone. */
static double waits(void) {
  pthread_t longer, shorter;
  double start = MPI_Wtime();
  pthread_create(&longer, NULL, sleep_thrice, (void *)100L);
  pthread_create(&shorter, NULL, sleep_thrice, (void *)70L);
  pthread_join(longer, NULL);
  pthread_join(shorter, NULL);
  done = 0;
  pthread_create(&longer, NULL, sleep_thrice, (void *)30L);
  while (!done) sched_yield();
  pthread_join(longer, NULL);
  return MPI_Wtime() - start;
}

/* A wait of 2 ms for a thread that sleeps for 200: it ends at its limit, and the sleep goes on. */
static double wait_with_limit(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t never = PTHREAD_COND_INITIALIZER;
  pthread_t sleeper;
  struct timespec limit;
  done = 0;
  pthread_create(&sleeper, NULL, sleep_thrice, (void *)200000L);
  clock_gettime(CLOCK_REALTIME, &limit);
  double start = MPI_Wtime();
  limit.tv_nsec += 2000000;
  pthread_mutex_lock(&mutex);
  int expired = pthread_cond_timedwait(&never, &mutex, &limit) == ETIMEDOUT && !done;
  pthread_mutex_unlock(&mutex);
  double took = MPI_Wtime() - start;
  pthread_join(sleeper, NULL);
  return expired ? took : -1;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  int provided, rank, sleepers = atoi(argv[2]);
  MPI_Init_thread(&argc, &argv, atoi(argv[1]) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  pthread_t sleeper;
  if (sleepers) pthread_create(&sleeper, NULL, sleep_often, NULL);
  double time = ping_pong(rank);
  int seen = sleeps;
  stop = 1;
  if (sleepers) pthread_join(sleeper, NULL);
  double ended = MPI_Wtime(), waited = waits(), limit = wait_with_limit();
  if (rank == 0)
    printf("ping-pong %.3f %d %.0f\nwaits %.0f\nlimit %.0f\n", time * 1e9, seen, ended * 1e9, waited * 1e9,
           limit * 1e9);
  MPI_Finalize();
  return 0;
}
