/* SPDX-License-Identifier: Apache-2.0
 * What a rank does that another thread of the kernel may not do for it, between waits in which packed ranks change
 * threads: signals, faults, children, threads, rounding modes, long computing. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fenv.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#undef NDEBUG
extern char **environ;
static int rank, size;
static volatile sig_atomic_t handled, on_own_stack;
static char signal_stack[1 << 16];
static sigjmp_buf before_fault;
static __thread int of_thread;

/* Some turns, after which a rank may be on another thread. */
static void turns(void) {
  int sum;
  for (int i = 0; i < 20; i++) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    assert(sum == size * (size - 1) / 2);
  }
}

static void count(int number, siginfo_t *info, void *context) {
  char here;
  (void)context;
  handled += 1;
  on_own_stack = &here >= signal_stack && &here < signal_stack + sizeof signal_stack;
  if (number == SIGUSR1 && info->si_pid != getpid()) kill(info->si_pid, SIGUSR2);
}

static void leave(int number) { siglongjmp(before_fault, number); }

static void handle(int number, void (*handler)(int)) {
  const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  assert(sigaction(number, &action, NULL) == 0);
}

static void count_signals(int number) {
  const struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_ONSTACK | SA_SIGINFO};
  assert(sigaction(number, &action, NULL) == 0);
}

static void signals(void) {
  const stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
  assert(sigaltstack(&stack, NULL) == 0);
  count_signals(SIGUSR1);
  count_signals(SIGUSR2);
  turns();
  raise(SIGUSR1);
  assert(handled == 1 && on_own_stack);
  /* From rank 0 to the next, which waits for a message that comes only after its answer. */
  int pid = getpid(), token = 0;
  MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Send(&pid, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 0) {
    MPI_Recv(&pid, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&token, 1, MPI_INT, 0, 1, &token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    assert(kill(pid, SIGUSR1) == 0);
    while (handled < 2) continue;
    MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  }
  assert(handled == 1 + (rank < 2));
  /* One that is blocked comes when it no more is. */
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR2);
  assert(sigprocmask(SIG_BLOCK, &blocked, NULL) == 0);
  turns();
  raise(SIGUSR2);
  turns();
  const int before = handled;
  assert(sigprocmask(SIG_UNBLOCK, &blocked, NULL) == 0);
  assert(handled == before + 1);
}

static void faults(void) {
  handle(SIGSEGV, leave);
  handle(SIGFPE, leave);
  for (int i = 0; i < 2; i++) {
    turns();
    volatile char *nowhere = NULL;
    if (sigsetjmp(before_fault, 1) == 0) {
      *nowhere = 1;
      assert(!"reached");
    }
    turns();
    volatile int zero = 0;
    if (sigsetjmp(before_fault, 1) == 0) {
      zero = (100 + rank) / zero;
      assert(!"reached");
    }
  }
  signal(SIGSEGV, SIG_DFL);
}

static void children(void) {
  turns();
  int status;
  const pid_t child = fork();
  if (child == 0) _exit(rank + 1);
  assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == rank + 1);
  turns();
  char *const words[] = {"true", NULL};
  pid_t spawned;
  assert(posix_spawnp(&spawned, "true", NULL, NULL, words, environ) == 0);
  assert(waitpid(spawned, &status, 0) == spawned && status == 0);
  turns();
}

static void *in_thread(void *argument) {
  of_thread = 7;
  return argument;
}

static void threads(void) {
  pthread_t thread;
  of_thread = rank;
  turns();
  assert(pthread_create(&thread, NULL, in_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
  turns();
  assert(of_thread == rank);
}

/* Long enough to be interrupted, with all kinds of registers in use. */
static double compute(void) {
  double sum[16] = {0};
  for (long i = 1; i < 1500000; i++)
    for (int j = 0; j < 16; j++) sum[j] += (rank + j) / (double)i;
  double all = 0;
  for (int j = 0; j < 16; j++) all += sum[j];
  return all;
}

static void registers(void) {
  const int rounding = rank % 2 ? FE_UPWARD : FE_DOWNWARD;
  volatile float one = 1, three = 3;
  fesetround(rounding);
  const float third = one / three;
  errno = rank;
  turns();
  const float again = one / three;
  assert(fegetround() == rounding && third == again && errno == rank);
  fesetround(FE_TONEAREST);
  const double first = compute();
  turns();
  assert(first == compute());
}

static void memory(void) {
  for (int i = 0; i < 5; i++) {
    char *block = malloc(1 << 22);
    memset(block, rank, 1 << 22);
    turns();
    assert(block[0] == rank && block[(1 << 22) - 1] == rank);
    free(block);
  }
  /* A call of the kernel in each turn. */
  const pid_t parent = getppid();
  for (int i = 0; i < 200; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    assert(getppid() == parent);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  signals();
  faults();
  children();
  threads();
  registers();
  memory();
  turns();
  MPI_Finalize();
  if (rank == 0) puts("ok");
  return 0;
}
