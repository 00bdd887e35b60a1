/* SPDX-License-Identifier: Apache-2.0
 * Sends a message of tag 7 from rank 1 to rank 0, whose interface may run handlers on it, and checks what is in the
 * receive's buffer: `handlers copy|unpack|reduce|histogram|filter|untouched WORDS PACKET [ROUNDS]`. WORDS are 32-bit
 * integers, PACKET bytes. Prints the microseconds of the last round. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t word(uint32_t i) { return i * 2654435761u >> 7; }

static int expect(const char *mode, const uint32_t *got, uint32_t words, uint32_t packet, uint32_t capacity) {
  uint32_t *want = calloc(capacity, 4);
  const uint32_t in_packet = packet / 4;
  for (uint32_t i = 0; i < words; ++i) {
    if (strcmp(mode, "copy") == 0 || strcmp(mode, "filter") == 0) want[i] = word(i);
    if (strcmp(mode, "unpack") == 0) want[i / 64 * 128 + i % 64] = word(i);
    if (strcmp(mode, "reduce") == 0) want[i % in_packet] += word(i);
    if (strcmp(mode, "histogram") == 0) ++want[word(i) % 1024];
  }
  if (strcmp(mode, "filter") == 0) {
    for (uint32_t first = 0; first < words; first += in_packet) {
      const uint32_t key = word(first);
      const uint32_t length = words - first < in_packet ? words - first : in_packet;
      if (key < 64 && key % 2 == 0)
        want[first] = 0x70a55ed0u;
      else
        memset(want + first, 0, 4 * length);
    }
  }
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < capacity; ++i) wrong += got[i] != want[i];
  if (wrong) printf("%u of %u words are wrong\n", wrong, capacity);
  free(want);
  return wrong != 0;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (argc < 4) return 2;
  const char *mode = argv[1];
  const uint32_t words = (uint32_t)atol(argv[2]), packet = (uint32_t)atol(argv[3]);
  const int rounds = argc > 4 ? atoi(argv[4]) : 2;
  const uint32_t capacity = strcmp(mode, "unpack") == 0 ? 2 * words + 128 : words;
  int rank, bad = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double took = 0;
  uint32_t *buffer = malloc(4ul * (capacity + 1));
  for (int round = 0; round < rounds && rank < 2; ++round) {
    memset(buffer, 0, 4ul * capacity);
    if (rank == 1) {
      for (uint32_t i = 0; i < words; ++i) buffer[i] = word(i);
      MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(buffer, (int)words, MPI_UINT32_T, 0, 7, MPI_COMM_WORLD);
      continue;
    }
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(buffer, (int)capacity, MPI_UINT32_T, 1, 7, MPI_COMM_WORLD, &request);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    MPI_Wait(&request, &status);
    took = MPI_Wtime() - begin;
    int count;
    MPI_Get_count(&status, MPI_UINT32_T, &count);
    if (count != (int)words) printf("%d words of %u\n", count, words), bad = 1;
    bad |= expect(mode, buffer, words, packet, capacity);
  }
  if (rank == 0) printf("%s %s %.4f us\n", mode, bad ? "wrong" : "right", took * 1e6);
  free(buffer);
  MPI_Finalize();
  return bad;
}
