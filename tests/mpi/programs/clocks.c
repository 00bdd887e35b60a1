/* SPDX-License-Identifier: Apache-2.0
 * Every clock of the C library, from a rank's first line to its last: they agree, they stand still while nobody
 * waits, sleeping moves them by exactly the time slept, spinning moves them on, they neither jump nor go back in
 * MPI_Init and MPI_Finalize, and in a child process they go on with real time. Prints `ok RANKS`. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) {                                                     \
      fprintf(stderr, "clocks.c:%d: %s is not so\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                         \
    }                                                                       \
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

/* Of one moment; returns the nanoseconds of CPU time, which count from the program's first line. */
static long long clocks_agree(void) {
  long long now = ns_of(CLOCK_REALTIME), up = ns_of(CLOCK_MONOTONIC);
  CHECK(ns_of(CLOCK_REALTIME_COARSE) == now && ns_of(CLOCK_TAI) == now && ns_of(CLOCK_REALTIME_ALARM) == now);
  CHECK(ns_of(CLOCK_MONOTONIC_RAW) == up && ns_of(CLOCK_MONOTONIC_COARSE) == up);
  CHECK(ns_of(CLOCK_BOOTTIME) == up && ns_of(CLOCK_BOOTTIME_ALARM) == up);
  struct timeval day;
  CHECK(gettimeofday(&day, NULL) == 0 && day.tv_sec * 1000000LL + day.tv_usec == now / 1000);
  CHECK(time(NULL) == now / 1000000000);
  struct timespec utc;
  CHECK(timespec_get(&utc, TIME_UTC) == TIME_UTC && utc.tv_sec * 1000000000LL + utc.tv_nsec == now);

  long long cpu = ns_of(CLOCK_PROCESS_CPUTIME_ID);
  clockid_t own_process, own_thread;
  CHECK(clock_getcpuclockid(0, &own_process) == 0 && pthread_getcpuclockid(pthread_self(), &own_thread) == 0);
  CHECK(ns_of(CLOCK_THREAD_CPUTIME_ID) == cpu && ns_of(own_process) == cpu && ns_of(own_thread) == cpu);
  CHECK(clock() == cpu / 1000);
  struct rusage used;
  CHECK(getrusage(RUSAGE_SELF, &used) == 0);
  CHECK(used.ru_utime.tv_sec * 1000000LL + used.ru_utime.tv_usec == cpu / 1000 && used.ru_stime.tv_usec == 0);
  CHECK(times(NULL) == cpu / (1000000000 / sysconf(_SC_CLK_TCK)));

  /* Their distance is fixed, and what counts from the machine's start keeps its nanoseconds in a double. */
  CHECK(now - cpu == 1767225600000000000LL && up - cpu == 1000000000000LL);
  return cpu;
}

static void wtime_agrees(long long cpu) {
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
  CHECK(ns_of(CLOCK_MONOTONIC) == (now += 7000));
  CHECK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) == 0);
  CHECK(ns_of(CLOCK_MONOTONIC) == now);
  CHECK(poll(NULL, 0, 30) == 0);
  struct timeval wait = {.tv_usec = 10};
  CHECK(select(0, NULL, NULL, NULL, &wait) == 0);
  CHECK(ns_of(CLOCK_MONOTONIC) == now + 30010000);
  CHECK(kernel_ns() - kernel < 60000000000LL);
}

static void spinning_gets_on(void) {
  long long before = ns_of(CLOCK_MONOTONIC);
  while (ns_of(CLOCK_MONOTONIC) < before + 10000) continue;
  CHECK(ns_of(CLOCK_MONOTONIC) < before + 20000);
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

/* Outside virtual time sleeps are real, and the clock goes on by what was asked for. */
static void real_sleeps_count(void) {
  long long now = clocks_agree(), kernel = kernel_ns();
  CHECK(usleep(20000) == 0 && clocks_agree() == now + 20000000);
  struct timespec until = {.tv_sec = ns_of(CLOCK_MONOTONIC) / 1000000000,
                           .tv_nsec = ns_of(CLOCK_MONOTONIC) % 1000000000};
  until.tv_nsec += 1000000;
  if (until.tv_nsec >= 1000000000) until = (struct timespec){until.tv_sec + 1, until.tv_nsec - 1000000000};
  CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0 && clocks_agree() == now + 21000000);
  CHECK(poll(NULL, 0, 3) == 0 && clocks_agree() == now + 24000000);
  CHECK(kernel_ns() - kernel >= 24000000);
}

static void *sleep_a_little(void *unused) {
  usleep(300000);
  return unused;
}

/* Two threads that sleep at once sleep no longer than one. They sleep long enough for a busy host to start the
   second one meanwhile. */
static void sleeps_at_once(void) {
  long long now = clocks_agree();
  pthread_t other;
  CHECK(pthread_create(&other, NULL, sleep_a_little, NULL) == 0);
  usleep(300000);
  CHECK(pthread_join(other, NULL) == 0);
  now = clocks_agree() - now;
  CHECK(now >= 300000000 && now < 600000000);
}

static void children_are_outside(void) {
  fflush(NULL);
  const long long before = ns_of(CLOCK_REALTIME);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    /* The kernel's clock before and after each look at ours: the host may let others run at any time. */
    long long kernel[4];
    kernel[0] = kernel_ns();
    const long long forked = ns_of(CLOCK_REALTIME);
    kernel[1] = kernel_ns();
    usleep(10000);
    kernel[2] = kernel_ns();
    const long long passed = ns_of(CLOCK_REALTIME) - forked;
    kernel[3] = kernel_ns();
    const long long least = kernel[2] - kernel[1] - 1000000, most = kernel[3] - kernel[0] + 1000000;
    _exit(forked >= before && forked - before < 60000000000LL && passed >= 10000000 && passed >= least && passed <= most
              ? 0
              : 1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(system("true") == 0);
  FILE *pipe = popen("date +%Y", "r");
  int year = 0;
  CHECK(pipe != NULL && fscanf(pipe, "%d", &year) == 1 && pclose(pipe) == 0);
  CHECK(year == 2026);
}

int main(int argc, char **argv) {
  CHECK(clocks_agree() == 0);
  computing_takes_no_time();
  real_sleeps_count();
  spinning_gets_on();
  timed_waits_end();
  const long long at_init = clocks_agree();
  MPI_Init(&argc, &argv);
  CHECK(clocks_agree() == at_init);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(MPI_Wtick() > 0 && MPI_Wtick() <= 1e-9);
  wtime_agrees(clocks_agree());
  computing_takes_no_time();
  sleeps_are_exact();
  spinning_gets_on();
  timed_waits_end();
  children_are_outside();
  double start = MPI_Wtime();
  while (MPI_Wtime() < start + 10e-6) continue;
  /* A rank that slept longer makes the others wait for it. */
  MPI_Barrier(MPI_COMM_WORLD);
  long long before = ns_of(CLOCK_MONOTONIC);
  if (rank == 0) usleep(5000);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(ns_of(CLOCK_MONOTONIC) - before >= 4900000);
  const long long at_finalize = clocks_agree();
  MPI_Finalize();
  CHECK(clocks_agree() == at_finalize);
  real_sleeps_count();
  sleeps_at_once();
  if (rank == 0) printf("ok %d\n", size);
  return 0;
}
