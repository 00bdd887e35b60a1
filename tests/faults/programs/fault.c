// SPDX-License-Identifier: Apache-2.0
// An MPI program in which one rank does something bad: fault KIND RANK [CODE [FILE]]. All other ranks go on with
// barriers for ever. The rank writes its process number to FILE before it does it.
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void write_pid(const char *path) {
  FILE *file = fopen(path, "w");
  if (!file) abort();
  fprintf(file, "%d\n", (int)getpid());
  fclose(file);
}

// Needs more stack than there can be.
static void overflow(volatile char *before) {
  volatile char here[4096];
  here[0] = before ? before[0] : 0;
  overflow(here);
  here[1] = here[0];
}

// Reads where the file behind the memory has ended.
static void beyond_the_file(void) {
  FILE *const empty = tmpfile();
  const volatile char *at = empty ? mmap(NULL, 1, PROT_READ, MAP_SHARED, fileno(empty), 0) : MAP_FAILED;
  if (at != MAP_FAILED) (void)*at;
}

// More than there can be, and used as if it were there.
static void use_up_memory(void) {
  volatile char *all = malloc((size_t)1 << 60);
  all[0] = 1;
}

// Writes over the code of the simulator, where that is in the same address space.
static void hit_simulator(void) {
  char line[512];
  FILE *const maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) {
    unsigned long begin = 0, end = 0;
    if (!strstr(line, "libexanet-simulator.so") || sscanf(line, "%lx-%lx r-xp", &begin, &end) != 2 ||
        !strstr(line, "r-xp"))
      continue;
    if (mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE | PROT_EXEC)) exit(9);
    memset((void *)begin, 0x06, end - begin);  // no instruction, wherever one begins
  }
  if (maps) fclose(maps);
}

static void *in_thread(void *kind) {
  if (!strcmp(kind, "thread")) *(volatile int *)0 = 1;
  exit(6);
}

static void misbehave(const char *kind, int code) {
  if (!strcmp(kind, "segfault")) *(volatile int *)0 = 1;
  if (!strcmp(kind, "overflow")) overflow(NULL);
  if (!strcmp(kind, "bus")) beyond_the_file();
  if (!strcmp(kind, "trap")) __builtin_trap();
  if (!strcmp(kind, "wild")) hit_simulator();
  if (!strcmp(kind, "divide")) raise(SIGFPE);
  if (!strcmp(kind, "memory")) use_up_memory();
  if (!strcmp(kind, "quick")) _exit(code);
  if (!strcmp(kind, "thread") || !strcmp(kind, "thread-exit")) {
    pthread_t other;
    if (pthread_create(&other, NULL, in_thread, (void *)kind) == 0) pthread_join(other, NULL);
  }
  for (volatile int i = 0; !strcmp(kind, "loop");) i++;
  if (!strcmp(kind, "kill")) raise(SIGKILL);
  if (!strcmp(kind, "exit")) exit(code);
  if (!strcmp(kind, "abort")) MPI_Abort(MPI_COMM_WORLD, code);
  if (!strcmp(kind, "stop")) raise(SIGSTOP);
  if (!strcmp(kind, "child")) {
    // Leaves a process of its own behind, in a session of its own.
    if (fork() == 0) {
      setsid();
      pause();
    }
    abort();
  }
  if (!strcmp(kind, "read")) {
    // A pipe that nobody writes to.
    char byte;
    int fd = open(getenv("FAULT_PIPE"), O_RDWR);
    if (fd < 0 || read(fd, &byte, 1) < 0) abort();
  }
  if (!strcmp(kind, "truncate")) {
    char two[2] = "a", one;
    MPI_Sendrecv(two, 2, MPI_CHAR, 0, 0, &one, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  }
  if (!strcmp(kind, "receive")) MPI_Recv(&code, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  if (argc < 3) return 64;
  const char *kind = argv[1];
  const int who = atoi(argv[2]), code = argc > 3 ? atoi(argv[3]) : 0;
  const char *number = getenv("EXANET_RANK");
  if (!strcmp(kind, "no-init") && number && atoi(number) == who) return code;
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 100; i++) MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(kind, "late") || !strcmp(kind, "linger")) {
    MPI_Finalize();
    if (rank == who) return code;
    if (!strcmp(kind, "late")) return 0;
    // Takes its time, whoever asks: longer than mpirun gives it.
    signal(SIGTERM, SIG_IGN);
    sleep(5);
    return 0;
  }
  if (rank == who) {
    if (argc > 4) write_pid(argv[4]);
    misbehave(kind, code);
  }
  if (!strcmp(kind, "receive")) MPI_Barrier(MPI_COMM_WORLD);
  for (;;) MPI_Barrier(MPI_COMM_WORLD);
}
