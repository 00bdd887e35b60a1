/* SPDX-License-Identifier: Apache-2.0
 * A thread waits for what another one gets from MPI in a loop that takes a lock and leaves it, as MPICH's tests of
 * threads do at their barriers. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { ROUNDS = 100 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int got, used;
static int rank;

static void set(int *counter) {
  pthread_mutex_lock(&lock);
  ++*counter;
  pthread_mutex_unlock(&lock);
}

static void wait_for(const int *counter, int value) {
  int seen = 0;
  while (seen < value) {
    pthread_mutex_lock(&lock);
    seen = *counter;
    pthread_mutex_unlock(&lock);
  }
}

static void *receive(void *unused) {
  for (int round = 1; round <= ROUNDS; ++round) {
    int value = 0;
    MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    set(&got);
    wait_for(&used, round);
  }
  return unused;
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, receive, NULL);
    for (int round = 1; round <= ROUNDS; ++round) {
      wait_for(&got, round);
      MPI_Send(&round, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
      set(&used);
    }
    pthread_join(thread, NULL);
    printf("rounds %d\n", used);
  } else {
    for (int round = 1; round <= ROUNDS; ++round) {
      int value = 0;
      MPI_Send(&round, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
      MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  MPI_Finalize();
  return 0;
}
