// SPDX-License-Identifier: Apache-2.0
// Every persistent collective, started several times, alone and several at once beside a message, and checks what
// arrives. Open MPI 4 has them by names of its own.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif
#define MOST 16
#define LONGEST 4000

static int rank, ranks, wrong;
static int sent[MOST * LONGEST], got[MOST * LONGEST], counts[MOST], places[MOST], byte_places[MOST];
static MPI_Datatype types[MOST];

static void again(MPI_Request *request, int times) {
  for (int i = 0; i < times; i++) {
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
  }
  MPI_Wait(request, MPI_STATUS_IGNORE);  // not under way: returns at once
  MPI_Request_free(request);
}

static void all(MPI_Comm comm, int n) {
  MPI_Request r;
  MPI_Info none = MPI_INFO_NULL;
  for (int i = 0; i < ranks; i++) {
    counts[i] = n + i;
    places[i] = i * (n + MOST);
    byte_places[i] = (int)sizeof(int) * places[i];
    types[i] = MPI_INT;
  }
  INIT(Barrier)(comm, none, &r), again(&r, 2);
  INIT(Bcast)(sent, n, MPI_INT, 1 % ranks, comm, none, &r), again(&r, 2);
  INIT(Gather)(sent, n, MPI_INT, got, n, MPI_INT, 0, comm, none, &r), again(&r, 2);
  INIT(Gatherv)(sent, counts[rank], MPI_INT, got, counts, places, MPI_INT, 0, comm, none, &r), again(&r, 2);
  INIT(Scatter)(sent, n, MPI_INT, got, n, MPI_INT, 0, comm, none, &r), again(&r, 2);
  INIT(Scatterv)(sent, counts, places, MPI_INT, got, counts[rank], MPI_INT, 0, comm, none, &r), again(&r, 2);
  INIT(Allgather)(sent, n, MPI_INT, got, n, MPI_INT, comm, none, &r), again(&r, 2);
  INIT(Allgatherv)(sent, counts[rank], MPI_INT, got, counts, places, MPI_INT, comm, none, &r), again(&r, 2);
  INIT(Alltoall)(sent, n, MPI_INT, got, n, MPI_INT, comm, none, &r), again(&r, 2);
  for (int i = 0; i < ranks; i++) counts[i] = n;
  INIT(Alltoallv)(sent, counts, places, MPI_INT, got, counts, places, MPI_INT, comm, none, &r), again(&r, 2);
  INIT(Alltoallw)(sent, counts, byte_places, types, got, counts, byte_places, types, comm, none, &r), again(&r, 2);
  INIT(Reduce)(sent, got, n, MPI_INT, MPI_SUM, 2 % ranks, comm, none, &r), again(&r, 2);
  INIT(Allreduce)(sent, got, n, MPI_INT, MPI_SUM, comm, none, &r), again(&r, 3);
  INIT(Reduce_scatter)(sent, got, counts, MPI_INT, MPI_SUM, comm, none, &r), again(&r, 2);
  INIT(Reduce_scatter_block)(sent, got, n, MPI_INT, MPI_SUM, comm, none, &r), again(&r, 2);
  INIT(Scan)(sent, got, n, MPI_INT, MPI_SUM, comm, none, &r), again(&r, 2);
  INIT(Exscan)(sent, got, n, MPI_INT, MPI_SUM, comm, none, &r), again(&r, 2);
}

static void neighbours(int n) {
  MPI_Comm ring;
  MPI_Request r;
  MPI_Info none = MPI_INFO_NULL;
  int periodic = 1, two[] = {n, n}, at[] = {0, n};
  MPI_Aint far[] = {0, (MPI_Aint)sizeof(int) * n};
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  INIT(Neighbor_allgather)(sent, n, MPI_INT, got, n, MPI_INT, ring, none, &r), again(&r, 2);
  INIT(Neighbor_allgatherv)(sent, n, MPI_INT, got, two, at, MPI_INT, ring, none, &r), again(&r, 2);
  INIT(Neighbor_alltoall)(sent, n, MPI_INT, got, n, MPI_INT, ring, none, &r), again(&r, 2);
  INIT(Neighbor_alltoallv)(sent, two, at, MPI_INT, got, two, at, MPI_INT, ring, none, &r), again(&r, 2);
  INIT(Neighbor_alltoallw)(sent, two, far, types, got, two, far, types, ring, none, &r), again(&r, 2);
  MPI_Comm_free(&ring);
}

// Two collectives and a message each way, started together; the message's type is freed before.
static void together(void) {
  MPI_Request r[4];
  MPI_Datatype pair;
  int one = rank + 1, sum = 0, box[2] = {0}, mine[2] = {rank, rank}, flag = 0, index;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Recv_init(box, 1, pair, (rank + ranks - 1) % ranks, 3, MPI_COMM_WORLD, &r[0]);
  INIT(Allreduce)(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
  MPI_Send_init(mine, 1, pair, (rank + 1) % ranks, 3, MPI_COMM_WORLD, &r[2]);
  INIT(Bcast)(sent, 5, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r[3]);
  MPI_Type_free(&pair);
  for (int i = 0; i < 3; i++) {
    sum = 0;
    MPI_Startall(4, r);
    if (i == 0) MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    for (int left = i == 1 ? 4 : 0; left > 0; left--) MPI_Waitany(4, r, &index, MPI_STATUS_IGNORE);
    for (int j = i == 2 ? 0 : 4; j < 4; j++)
      for (flag = 0; !flag;) MPI_Test(&r[j], &flag, MPI_STATUS_IGNORE);
    wrong += sum != ranks * (ranks + 1) / 2 || box[0] != (rank + ranks - 1) % ranks;
  }
  for (int i = 0; i < 4; i++) MPI_Request_free(&r[i]);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < MOST * LONGEST; i++) sent[i] = rank;
  const int sizes[] = {1, 50, 3000};
  for (int i = 0; i < 3; i++) all(MPI_COMM_WORLD, sizes[i]);
  neighbours(1), neighbours(700);
  together();
  MPI_Finalize();
  if (wrong != 0) return printf("rank %d: %d wrong results\n", rank, wrong), 1;
  return 0;
}
