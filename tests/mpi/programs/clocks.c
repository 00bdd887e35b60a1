/* SPDX-License-Identifier: Apache-2.0
 * Every clock of the C library in one rank's virtual time: they agree, they stand still while nobody waits, sleeping moves them by exactly
 * the time slept, spinning moves them on, and a child process is back in real time. Prints `ok RANKS`. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                   \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      fprintf(stderr, "clocks.c:%d: %s is not so\n", __LINE__, #condition);                \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                        \
    }                                                                                      \
  } while (0)

static long long ns_of(clockid_t clock) {
  struct timespec now;
  CHECK(clock_gettime(clock, &now) == 0);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long kernel_ns(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void clocks_agree(void) {
  long long now = ns_of(CLOCK_REALTIME);
  CHECK(ns_of(CLOCK_MONOTONIC) == now && ns_of(CLOCK_MONOTONIC_RAW) == now && ns_of(CLOCK_BOOTTIME) == now);
  CHECK(ns_of(CLOCK_REALTIME_COARSE) == now && ns_of(CLOCK_MONOTONIC_COARSE) == now);
  struct timeval day;
  CHECK(gettimeofday(&day, NULL) == 0 && day.tv_sec * 1000000LL + day.tv_usec == now / 1000);
  CHECK(time(NULL) == now / 1000000000);
  long long cpu = ns_of(CLOCK_PROCESS_CPUTIME_ID);
  CHECK(ns_of(CLOCK_THREAD_CPUTIME_ID) == cpu);
  CHECK(clock() == cpu / 1000);
  double wtime = MPI_Wtime();
  CHECK(wtime > (double)(cpu - 1) * 1e-9 && wtime < (double)(cpu + 2) * 1e-9);
}

static void computing_takes_no_time(void) {
  long long before = ns_of(CLOCK_MONOTONIC), kernel = kernel_ns();
  while (kernel_ns() < kernel + 20000000) continue;
  CHECK(ns_of(CLOCK_MONOTONIC) == before);
}

static void sleeps_are_exact(void) {
  long long now = ns_of(CLOCK_MONOTONIC), kernel = kernel_ns();
  struct timespec hour = {.tv_sec = 3600, .tv_nsec = 250};
  CHECK(nanosleep(&hour, NULL) == 0);
  CHECK(ns_of(CLOCK_MONOTONIC) == (now += 3600000000250LL));
  CHECK(usleep(1500) == 0 && sleep(2) == 0);
  CHECK(ns_of(CLOCK_MONOTONIC) == (now += 2001500000LL));
  struct timespec until = {.tv_sec = (now + 7000) / 1000000000, .tv_nsec = (now + 7000) % 1000000000};
  CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0);
  CHECK(ns_of(CLOCK_REALTIME) == (now += 7000));
  CHECK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) == 0);
  CHECK(ns_of(CLOCK_REALTIME) == now);
  CHECK(poll(NULL, 0, 30) == 0);
  struct timeval wait = {.tv_usec = 10};
  CHECK(select(0, NULL, NULL, NULL, &wait) == 0);
  CHECK(ns_of(CLOCK_REALTIME) == now + 30010000);
  CHECK(kernel_ns() - kernel < 60000000000LL);
}

static void spinning_gets_on(void) {
  long long before = ns_of(CLOCK_MONOTONIC);
  while (ns_of(CLOCK_MONOTONIC) < before + 10000) continue;
  double start = MPI_Wtime();
  while (MPI_Wtime() < start + 10e-6) continue;
}

static void timed_waits_end(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t never = PTHREAD_COND_INITIALIZER;
  long long now = ns_of(CLOCK_REALTIME), deadline = now + 30000000;
  struct timespec until = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};
  pthread_mutex_lock(&mutex);
  while (ns_of(CLOCK_REALTIME) < deadline) CHECK(pthread_cond_timedwait(&never, &mutex, &until) == ETIMEDOUT);
  pthread_mutex_unlock(&mutex);
  CHECK(ns_of(CLOCK_REALTIME) >= deadline);
}

static void children_are_outside(void) {
  fflush(NULL);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    long long difference = ns_of(CLOCK_REALTIME) - kernel_ns();
    _exit(llabs(difference) < 5000000000LL ? 0 : 1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(system("true") == 0);
  FILE *pipe = popen("date +%Y", "r");
  int year = 0;
  CHECK(pipe != NULL && fscanf(pipe, "%d", &year) == 1 && pclose(pipe) == 0);
  CHECK(year > 2023);
}

int main(int argc, char **argv) {
  CHECK(llabs(ns_of(CLOCK_REALTIME) - kernel_ns()) < 5000000000LL);
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(MPI_Wtime() == 0);
  CHECK(MPI_Wtick() > 0 && MPI_Wtick() <= 1e-9);
  clocks_agree();
  computing_takes_no_time();
  sleeps_are_exact();
  spinning_gets_on();
  timed_waits_end();
  children_are_outside();
  /* A rank that slept longer makes the others wait for it. */
  MPI_Barrier(MPI_COMM_WORLD);
  long long before = ns_of(CLOCK_MONOTONIC);
  if (rank == 0) usleep(5000);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(ns_of(CLOCK_MONOTONIC) - before >= 4900000);
  clocks_agree();
  MPI_Finalize();
  CHECK(llabs(ns_of(CLOCK_REALTIME) - kernel_ns()) < 5000000000LL);
  if (rank == 0) printf("ok %d\n", size);
  return 0;
}
