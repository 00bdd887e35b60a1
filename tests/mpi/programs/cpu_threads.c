// SPDX-License-Identifier: Apache-2.0
// Two threads add up side by side, then a child process ends with a code, and the host answers a command.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *add(void *sum) {
  double all = 0;
  for (int i = 0; i < 1000000; i++) {
    all += 1.5;
    __asm__ volatile("" : "+w"(all)); /* one addition a round, each of the last sum */
  }
  *(double *)sum = all;
  return NULL;
}

int main(int argc, char **argv) {
  double sums[2];
  pthread_t threads[2];
  int status = -1;
  MPI_Init(&argc, &argv);
  const double begin = MPI_Wtime();
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, add, &sums[i]);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  const double took = MPI_Wtime() - begin;
  const pid_t child = fork();
  if (child == 0) _exit(3);
  waitpid(child, &status, 0);
  printf("threads %.9f\nsums %.1f\nchild %d\nsystem %d\n", took, sums[0] + sums[1], WEXITSTATUS(status),
         system("exit 4") >> 8);
  MPI_Finalize();
  return 0;
}
