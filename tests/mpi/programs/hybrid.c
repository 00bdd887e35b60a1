/* SPDX-License-Identifier: Apache-2.0
 * What regions of several threads take on the program's clocks, and what the rest takes on each rank. Prints
 * `MODE unit US uneven US even US alone US call US` of rank 0: one unit of work, a region in which the last thread
 * computes eight units and each other one two, one in which each computes four, what the main thread computes alone
 * beside idle threads (four units), and an MPI call right after a region.
 *
 * Usage: hybrid MODE THREADS */
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

enum { MOST = 64, LONG = 8, EVEN = 4, PASSES = 200000, TIMES = 5, OFF_US = 2000 };

static int threads, units[MOST];
static volatile double kept[MOST];

static __attribute__((noinline)) void compute(int me, int times) {
  double x = 2.0 + me;
  for (long i = 0; i < (long)PASSES * times; i++) x = x * 0.999999 + 1e-6;
  kept[me] = x;
}

static void by_parallel(void) {
#pragma omp parallel num_threads(threads)
  compute(omp_get_thread_num(), units[omp_get_thread_num()]);
}

static void by_loop(void) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int i = 0; i < threads; i++) compute(i, units[i]);
}

/* Two halves, in which different threads have much to do. */
static void by_halves(void) {
#pragma omp parallel num_threads(threads)
  {
    const int me = omp_get_thread_num(), other = (me + 1) % threads;
    compute(me, units[me] / 2);
#pragma omp barrier
    compute(me, units[other] / 2);
  }
}

/* In each task there is a region of its own. */
static void by_tasks(void) {
#pragma omp parallel num_threads(threads)
#pragma omp single
  for (int i = 0; i < threads; i++) {
#pragma omp task firstprivate(i)
#pragma omp parallel num_threads(1)
    compute(i, units[i]);
  }
}

/* Each thread calls MPI when it is through. */
static MPI_Comm own[MOST];
static void by_calls(void) {
#pragma omp parallel num_threads(threads)
  {
    const int me = omp_get_thread_num();
    compute(me, units[me]);
    MPI_Barrier(own[me]);
  }
}

static void *part(void *me) {
  compute((int)(long)me, units[(long)me]);
  return NULL;
}

static void by_join(void) {
  pthread_t made[MOST];
  for (long i = 1; i < threads; i++) pthread_create(&made[i], NULL, part, (void *)i);
  part(NULL);
  for (int i = 1; i < threads; i++) pthread_join(made[i], NULL);
}

/* Threads that stay, and wait in between. */
static void (*wait_for_start)(long me), (*mark_end)(void);
static pthread_barrier_t both;
static sem_t starts[MOST], ends;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t started = PTHREAD_COND_INITIALIZER, ended = PTHREAD_COND_INITIALIZER;
static int turn, left, over;

static void at_barrier(long me) {
  (void)me;
  pthread_barrier_wait(&both);
}
static void at_barrier_again(void) { pthread_barrier_wait(&both); }
static void at_semaphore(long me) { sem_wait(&starts[me]); }
static void post_end(void) { sem_post(&ends); }
static void at_condition(long me) {
  static __thread int seen;
  (void)me;
  pthread_mutex_lock(&lock);
  while (turn == seen) pthread_cond_wait(&started, &lock);
  seen = turn;
  pthread_mutex_unlock(&lock);
}
static void count_end(void) {
  pthread_mutex_lock(&lock);
  if (--left == 0) pthread_cond_signal(&ended);
  pthread_mutex_unlock(&lock);
}

static void *stay(void *me) {
  for (;;) {
    wait_for_start((long)me);
    if (over) return NULL;
    part(me);
    mark_end();
  }
}

static void start_all(void) {
  if (wait_for_start == at_barrier) {
    pthread_barrier_wait(&both);
  } else if (wait_for_start == at_semaphore) {
    for (int i = 1; i < threads; i++) sem_post(&starts[i]);
  } else {
    pthread_mutex_lock(&lock);
    left = threads - 1;
    turn++;
    pthread_cond_broadcast(&started);
    pthread_mutex_unlock(&lock);
  }
}

static void by_staying_threads(void) {
  start_all();
  part(NULL);
  if (wait_for_start == at_barrier) {
    pthread_barrier_wait(&both);
  } else if (wait_for_start == at_semaphore) {
    for (int i = 1; i < threads; i++) sem_wait(&ends);
  } else {
    pthread_mutex_lock(&lock);
    while (left > 0) pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
  }
}

#ifdef WITH_CPP
void by_std_threads(int count, void (*function)(int, int), const int *times);
static void by_cpp(void) { by_std_threads(threads, compute, units); }
#else
static void by_cpp(void) { MPI_Abort(MPI_COMM_WORLD, 3); }
#endif

static const struct mode {
  const char *name;
  void (*region)(void), (*start)(long), (*end)(void);
} modes[] = {
    {"parallel", by_parallel, NULL, NULL},
    {"loop", by_loop, NULL, NULL},
    {"halves", by_halves, NULL, NULL},
    {"tasks", by_tasks, NULL, NULL},
    {"calls", by_calls, NULL, NULL},
    {"join", by_join, NULL, NULL},
    {"std", by_cpp, NULL, NULL},
    {"barrier", by_staying_threads, at_barrier, at_barrier_again},
    {"semaphore", by_staying_threads, at_semaphore, post_end},
    {"condition", by_staying_threads, at_condition, count_end},
};

/* By MPI_Wtime; the other clocks agree but for what reading them takes. */
static double now_us(void) {
  static double first_us[4];
  static int readings;
  struct timeval day;
  struct timespec monotonic;
  const double wtime = MPI_Wtime() * 1e6, omp = omp_get_wtime() * 1e6;
  gettimeofday(&day, NULL);
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  const double us[] = {wtime, omp, (double)(day.tv_sec % 1000000) * 1e6 + (double)day.tv_usec,
                       (double)monotonic.tv_sec * 1e6 + (double)monotonic.tv_nsec / 1e3};
  for (int i = 0; i < 4; i++) {
    if (readings < 3) first_us[i] = us[i] - wtime; /* the first one finds the functions */
    const double off = us[i] - first_us[i] - wtime;
    if (off < -OFF_US || off > OFF_US) {
      fprintf(stderr, "clock %d is %.1f us off\n", i, off);
      exit(1);
    }
  }
  readings++;
  return wtime;
}

static double call_us;

static double took_us(void (*region)(void), int most, int least) {
  for (int i = 0; i < threads; i++) units[i] = i == threads - 1 ? most : least;
  double least_us = 1e12; /* of several times, since the host disturbs some */
  for (int i = 0; i < TIMES; i++) {
    const double start_us = now_us();
    region();
    const double end_us = now_us();
    MPI_Barrier(MPI_COMM_SELF);
    call_us = now_us() - end_us;
    if (end_us - start_us < least_us) least_us = end_us - start_us;
  }
  return least_us;
}

static void unit(void) { compute(0, EVEN); }

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const struct mode *mode = modes;
  while (strcmp(mode->name, argv[1]) != 0) mode++;
  threads = atoi(argv[2]);
  int provided, rank;
  MPI_Init_thread(&argc, &argv, mode->region == by_calls ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
  for (int i = 0; i < threads; i++) MPI_Comm_dup(MPI_COMM_SELF, &own[i]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  pthread_t made[MOST];
  wait_for_start = mode->start;
  mark_end = mode->end;
  pthread_barrier_init(&both, NULL, (unsigned)threads);
  sem_init(&ends, 0, 0);
  for (int i = 0; i < threads; i++) sem_init(&starts[i], 0, 0);
  for (long i = 1; i < threads && mode->start; i++) pthread_create(&made[i], NULL, stay, (void *)i);
  took_us(mode->region, 1, 1);
  MPI_Barrier(MPI_COMM_WORLD);

  const double unit_us = took_us(unit, 0, 0) / EVEN;
  const double uneven_us = took_us(mode->region, LONG, 2);
  const double even_us = took_us(mode->region, EVEN, EVEN);
  const double after_us = call_us;
  const double alone_us = took_us(unit, 0, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    printf("%s unit %.1f uneven %.1f even %.1f alone %.1f call %.1f\n", mode->name, unit_us, uneven_us, even_us,
           alone_us, after_us);
  over = 1;
  if (mode->start) start_all();
  for (int i = 1; i < threads && mode->start; i++) pthread_join(made[i], NULL);
  MPI_Finalize();
  return 0;
}
