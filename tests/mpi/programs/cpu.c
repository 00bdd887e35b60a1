// SPDX-License-Identifier: Apache-2.0
// What an emulated processor takes: chains of additions, independent additions, loads that walk through so many bytes,
// and messages between the first two ranks. Prints a line for each: name and seconds.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define EIGHT(x) x x x x x x x x
enum { kRounds = 10000, kLine = 64 };

static double chain(void) {
  double sum = 0, one = 1;
  const double begin = MPI_Wtime();
  for (int i = 0; i < kRounds; i++) __asm__ volatile(EIGHT(EIGHT("fadd %d0, %d0, %d1\n")) : "+w"(sum) : "w"(one));
  return MPI_Wtime() - begin;
}

static double independent(void) {
  long a = 0, b = 0;
  const double begin = MPI_Wtime();
  for (int i = 0; i < kRounds; i++) __asm__ volatile(EIGHT(EIGHT("mov %0, #1\n mov %1, #1\n")) : "+r"(a), "+r"(b));
  return MPI_Wtime() - begin;
}

/* Each load gives the address of the next one, `steps` lines further round. */
static double walk(size_t bytes, size_t loads) {
  const size_t lines = bytes / kLine, step = 17;
  char *memory = aligned_alloc(4096, bytes);
  for (size_t i = 0; i < lines; i++) *(void **)(memory + i * kLine) = memory + (i + step) % lines * kLine;
  void **at = (void **)memory;
  for (size_t i = 0; i < lines; i++) at = *at;
  const double begin = MPI_Wtime();
  for (size_t i = 0; i < loads; i += 64) __asm__ volatile(EIGHT(EIGHT("ldr %0, [%0]\n")) : "+r"(at)::"memory");
  const double took = MPI_Wtime() - begin;
  free(memory);
  return took;
}

static double messages(int rank) {
  int word = 0;
  const double begin = MPI_Wtime();
  for (int i = 0; i < 100 && rank < 2; i++) {
    if (rank == 0) MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(&word, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  return MPI_Wtime() - begin;
}

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double took[] = {chain(),       independent(), walk(16384, 65536), walk(131072, 65536), walk(4194304, 65536),
                         messages(rank)};
  static const char *const names[] = {"chain", "independent", "16K", "128K", "4M", "messages"};
  for (int i = 0; rank == 0 && i < 6; i++) printf("%s %.9f\n", names[i], took[i]);
  MPI_Finalize();
  return 0;
}
