/* SPDX-License-Identifier: Apache-2.0
 * Collectives that `exanet run --mpi-calls simulated` carries out beside the common ones (simulated_calls.c): scans,
 * scattered reductions, types by rank, requests, neighbours. Each rank prints a sum of the bits that it gets, which the
 * MPI library gets, too. Any number of ranks from 2 on.
 *
 *   simulated_collectives [scattered | requests | neighbours | several | tested]     those alone, for a replay */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulated.h"

enum { MOST = 16, LONG = 9000 };
static double in[MOST * LONG], out[MOST * LONG];

static void fill(int seed) {
  for (int i = 0; i < MOST * LONG; i++) {
    in[i] = 1.0 / (rank * 37 + i + seed) + 1e9 * (rank % 3);
    out[i] = -seed;
  }
}

static void print(const char *name, int number) {
  uint64_t sum = 0, bits;
  for (int i = 0; i < MOST * LONG; i++) {
    memcpy(&bits, &out[i], sizeof bits);
    sum = sum * 1099511628211u + (bits ^ bits >> 29);
  }
  printf("%d %s %d %016llx\n", rank, name, number, (unsigned long long)sum);
}

static int counts[MOST], places[MOST], byte_places[MOST];
static MPI_Datatype types[MOST];

static void set_counts(int n) {
  for (int i = 0; i < size; i++) {
    counts[i] = n == 0 ? 0 : (n + 3 * i) % LONG;
    places[i] = i * LONG;
    byte_places[i] = 8 * places[i];
    types[i] = MPI_DOUBLE;
  }
}

static void scattered(void) {
  const int sizes[] = {0, 1, 17, 700, LONG - 100};
  for (int i = 0; i < 5; i++) {
    const int n = sizes[i];
    set_counts(n);
    fill(1), MPI_Scan(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), print("scan", n);
    fill(2), MPI_Exscan(in, out, n, MPI_DOUBLE, MPI_PROD, MPI_COMM_WORLD), print("exscan", n);
    fill(3), memcpy(out, in, sizeof out);
    MPI_Scan(MPI_IN_PLACE, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), print("scan in place", n);
    fill(4), memcpy(out, in, sizeof out);
    MPI_Exscan(MPI_IN_PLACE, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), print("exscan in place", n);
    fill(5), MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), print("reduce_scatter", n);
    fill(6), MPI_Reduce_scatter_block(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), print("block", n);
    fill(7), memcpy(out, in, sizeof out);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, out, n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (n > 0) memset(out + n, 0, sizeof out - 8 * (size_t)n); /* MPI leaves it open */
    print("block in place", n);
    fill(8), MPI_Alltoallw(in, counts, byte_places, types, out, counts, byte_places, types, MPI_COMM_SELF);
    print("own", n);
  }
}

/* Elements with gaps, before and behind the number, whose operation sees its place in memory. No scattered reductions:
   MPICH 5.0.2 writes beyond its memory in them. */
struct spaced {
  int32_t before, number;
  int64_t behind;
};

static void add_spaced(void *left, void *right, int *count, MPI_Datatype *type) {
  (void)type;
  for (int i = 0; i < *count; i++)
    ((struct spaced *)right)[i].number = 3 * ((struct spaced *)left)[i].number + ((struct spaced *)right)[i].number;
}

static void with_gaps(void) {
  MPI_Datatype number, spaced;
  MPI_Op add;
  MPI_Request request;
  const int one = 1, place = 1, sizes[] = {0, 1, 5, 700};
  MPI_Type_indexed(1, &one, &place, MPI_INT32_T, &number);
  MPI_Type_create_resized(number, 0, sizeof(struct spaced), &spaced);
  MPI_Type_commit(&spaced);
  MPI_Op_create(add_spaced, 0, &add);
  for (int i = 0; i < 4; i++) {
    const int n = sizes[i];
    fill(20);
    for (int k = 0; k < n * size; k++) ((struct spaced *)in)[k].number = rank * 1000 + k;
    MPI_Allreduce(in, out, n, spaced, add, MPI_COMM_WORLD), print("gaps, allreduce", n);
    MPI_Reduce(in, out, n, spaced, add, size - 1, MPI_COMM_WORLD), print("gaps, reduce", n);
    MPI_Scan(in, out, n, spaced, add, MPI_COMM_WORLD), print("gaps, scan", n);
    MPI_Iallreduce(MPI_IN_PLACE, in, n, spaced, add, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE), memcpy(out, in, sizeof out), print("gaps, in place", n);
    fill(21);
    for (int k = 0; k < n; k++) {
      in[2 * k] = (k * 7919 + rank * 104729) % 1009;
      memcpy(&in[2 * k + 1], &rank, sizeof rank);
    }
    MPI_Allreduce(in, out, n, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD), print("least", n);
    MPI_Reduce(in, out, n, MPI_DOUBLE_INT, MPI_MAXLOC, 0, MPI_COMM_WORLD), print("most", n);
  }
  MPI_Op_free(&add);
  MPI_Type_free(&spaced);
  MPI_Type_free(&number);
}

static void own_operation(void) {
  MPI_Datatype matrix;
  MPI_Op product;
  MPI_Type_contiguous(4, MPI_INT64_T, &matrix);
  MPI_Type_commit(&matrix);
  MPI_Op_create(multiply, 0, &product);
  int64_t *mine = (int64_t *)in;
  fill(1);
  for (int i = 0; i < 4 * MOST; i++) mine[i] = (rank + 1) * 7 + i;
  MPI_Scan(mine, out, 2, matrix, product, MPI_COMM_WORLD), print("own scan", 2);
  MPI_Exscan(mine, out, 2, matrix, product, MPI_COMM_WORLD), print("own exscan", 2);
  MPI_Reduce_scatter_block(mine, out, 1, matrix, product, MPI_COMM_WORLD), print("own block", 1);
  MPI_Op_free(&product);
  MPI_Type_free(&matrix);
}

/* Rank i's columns of a matrix go to rank j as rows; some blocks are empty. */
static void types_by_rank(void) {
  MPI_Datatype column;
  MPI_Type_vector(20, 1, 30, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  int sent[MOST], received[MOST], from[MOST], to[MOST];
  MPI_Datatype sends[MOST], receives[MOST];
  MPI_Request request;
  for (int i = 0; i < size; i++) {
    sent[i] = (rank + i) % 3 != 0;
    received[i] = sent[i] * 20;
    from[i] = 8 * i;
    to[i] = 8 * 40 * i;
    sends[i] = column;
    receives[i] = MPI_DOUBLE;
  }
  fill(1), MPI_Alltoallw(in, sent, from, sends, out, received, to, receives, MPI_COMM_WORLD), print("alltoallw", 1);
  fill(2), MPI_Ialltoallw(out, received, to, receives, in, sent, from, sends, MPI_COMM_WORLD, &request);
  MPI_Type_free(&column);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  memcpy(out, in, sizeof out), print("ialltoallw", 1);
  set_counts(50);
  for (int i = 0; i < size; i++) counts[i] = 50;
  fill(3), memcpy(out, in, sizeof out);
  MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, out, counts, byte_places, types, MPI_COMM_WORLD);
  print("alltoallw in place", 50);
}

static void end(MPI_Request *request, const char *name, int n) {
  MPI_Status status;
  MPI_Wait(request, &status);
  CHECK(*request == MPI_REQUEST_NULL);
  print(name, n);
}
#define WAIT(name, call) fill(9), call, end(&r, name, n)

static void requests(void) {
  const int sizes[] = {0, 1, 300, 2000};
  const MPI_Comm w = MPI_COMM_WORLD;
  const MPI_Datatype d = MPI_DOUBLE;
  MPI_Request r;
  for (int i = 0; i < 4; i++) {
    const int n = sizes[i], root = i % size;
    set_counts(n);
    for (int k = 0; k < size; k++) counts[k] = n;
    WAIT("ibarrier", MPI_Ibarrier(w, &r));
    WAIT("ibcast", MPI_Ibcast(rank == root ? in : out, n, d, root, w, &r));
    WAIT("igather", MPI_Igather(in, n, d, out, n, d, root, w, &r));
    WAIT("iscatter", MPI_Iscatter(in, n, d, out, n, d, root, w, &r));
    WAIT("iallgather", MPI_Iallgather(in, n, d, out, n, d, w, &r));
    WAIT("ialltoall", MPI_Ialltoall(in, n, d, out, n, d, w, &r));
    WAIT("igatherv", MPI_Igatherv(in, n, d, out, counts, places, d, root, w, &r));
    WAIT("iscatterv", MPI_Iscatterv(in, counts, places, d, out, n, d, root, w, &r));
    WAIT("iallgatherv", MPI_Iallgatherv(in, n, d, out, counts, places, d, w, &r));
    WAIT("ialltoallv", MPI_Ialltoallv(in, counts, places, d, out, counts, places, d, w, &r));
    WAIT("ireduce", MPI_Ireduce(in, out, n, d, MPI_SUM, root, w, &r));
    WAIT("iallreduce", MPI_Iallreduce(in, out, n, d, MPI_SUM, w, &r));
    WAIT("iallreduce in place", MPI_Iallreduce(MPI_IN_PLACE, out, n, d, MPI_SUM, w, &r));
    WAIT("ireduce_scatter", MPI_Ireduce_scatter(in, out, counts, d, MPI_SUM, w, &r));
    WAIT("ireduce_scatter_block", MPI_Ireduce_scatter_block(in, out, n, d, MPI_SUM, w, &r));
    WAIT("iscan", MPI_Iscan(in, out, n, d, MPI_SUM, w, &r));
    WAIT("iexscan", MPI_Iexscan(in, out, n, d, MPI_PROD, w, &r));
  }
}

/* Several under way, beside messages, in each kind of wait; statuses asked for; a type that is freed meanwhile. */
static void at_once(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request all[5];
  MPI_Datatype column;
  int flag = 0, index, from = -1, token = rank, done[4];
  double sum = 0, mine = rank + 0.1, most = 0;
  MPI_Type_vector(20, 1, 30, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  fill(1);
  MPI_Ibcast(rank == 1 ? in : out, 1, column, 1, MPI_COMM_WORLD, &all[0]);
  MPI_Type_free(&column);
  MPI_Irecv(&from, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &all[1]);
  MPI_Iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &all[2]);
  MPI_Isend(&token, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &all[3]);
  MPI_Ibarrier(MPI_COMM_WORLD, &all[4]);
  while (!flag) MPI_Request_get_status(all[2], &flag, MPI_STATUS_IGNORE);
  CHECK(sum > 0 && all[2] != MPI_REQUEST_NULL);
  MPI_Waitall(5, all, MPI_STATUSES_IGNORE);
  CHECK(from == left);
  if (rank == 1) memset(out, 0, sizeof out);
  out[1] = sum, print("at once", 0);
  MPI_Iallgather(&mine, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, MPI_COMM_WORLD, &all[0]);
  all[1] = MPI_REQUEST_NULL;
  MPI_Iallreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &all[2]);
  MPI_Waitany(3, all, &index, MPI_STATUS_IGNORE);
  CHECK(index == 0 || index == 2);
  for (flag = 0; !flag;) MPI_Testany(3, all, &index, &flag, MPI_STATUS_IGNORE);
  CHECK(index == 0 || index == 2);
  MPI_Ibarrier(MPI_COMM_WORLD, &all[0]);
  for (int i = 0; i < 1;) MPI_Testsome(3, all, &i, done, MPI_STATUSES_IGNORE);
  CHECK(done[0] == 0 && most == size - 1 + 0.1);
  print("any", 0);
}

/* All of `count`, by calls of this kind. */
static void end_all(int how, int count, MPI_Request *all) {
  int index, done[7], flag = 0;
  if (how == 0) MPI_Waitall(count, all, MPI_STATUSES_IGNORE);
  for (int i = 0; how == 1 && i < count; i++) MPI_Wait(&all[i], MPI_STATUS_IGNORE);
  for (int i = count; how == 2 && i > 0; i--) MPI_Wait(&all[i - 1], MPI_STATUS_IGNORE);
  for (int i = 0; how == 3 && i < count; i++) MPI_Waitany(count, all, &index, MPI_STATUS_IGNORE);
  for (int i = 0; how == 4 && i < count; i += index) MPI_Waitsome(count, all, &index, done, MPI_STATUSES_IGNORE);
  while (how == 5 && !flag) MPI_Testall(count, all, &flag, MPI_STATUSES_IGNORE);
  for (int i = 0; how == 6 && i < count; i++)
    for (flag = 0; !flag;) MPI_Test(&all[i], &flag, MPI_STATUS_IGNORE);
}

/* Collectives of several kinds and messages, under way at once on two communicators. */
static void under_way(int n, int how, MPI_Comm other) {
  const MPI_Comm w = MPI_COMM_WORLD;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  double *into = out;
  MPI_Request r[7];
  fill(n + how);
  MPI_Ialltoall(in, n, MPI_DOUBLE, into, n, MPI_DOUBLE, w, &r[0]), into += n * size;
  MPI_Iallreduce(in, into, n, MPI_DOUBLE, MPI_SUM, w, &r[1]), into += n;
  MPI_Irecv(into, n, MPI_DOUBLE, left, 1, other, &r[2]), into += n;
  MPI_Ibarrier(other, &r[3]);
  MPI_Isend(in, n, MPI_DOUBLE, right, 1, other, &r[4]);
  MPI_Ibcast(rank == 1 ? in : into, n, MPI_DOUBLE, 1, other, &r[5]), into += n;
  MPI_Iallgather(in, n, MPI_DOUBLE, into, n, MPI_DOUBLE, w, &r[6]);
  end_all(how, 7, r), print("under way", n + how);
}

static void several(int first, int last) {
  const int sizes[] = {1, 125, 1000};
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (int i = 0; i < 3; i++)
    for (int how = first; how <= last; how++) under_way(sizes[i], how, other);
  MPI_Comm_free(&other);
}

static void of_neighbours(MPI_Comm comm, const char *name) {
  const int n = 40, wide = 100;
  const MPI_Datatype d = MPI_DOUBLE;
  int sent[MOST], received[MOST], at[MOST];
  MPI_Aint places_w[MOST];
  MPI_Datatype kinds[MOST];
  MPI_Request r;
  for (int i = 0; i < MOST; i++) {
    sent[i] = received[i] = n - 7; /* each sends the same to all of them */
    at[i] = i * wide;
    places_w[i] = 8 * at[i];
    kinds[i] = d;
  }
  fill(1), MPI_Neighbor_allgather(in, n, d, out, n, d, comm), print(name, 1);
  fill(2), MPI_Neighbor_allgatherv(in, n - 7, d, out, received, at, d, comm), print(name, 2);
  fill(3), MPI_Neighbor_alltoall(in, n, d, out, n, d, comm), print(name, 3);
  fill(4), MPI_Neighbor_alltoallv(in, sent, at, d, out, received, at, d, comm), print(name, 4);
  fill(5), MPI_Neighbor_alltoallw(in, sent, places_w, kinds, out, received, places_w, kinds, comm), print(name, 5);
  fill(6), MPI_Ineighbor_allgather(in, n, d, out, n, d, comm, &r), MPI_Wait(&r, MPI_STATUS_IGNORE), print(name, 6);
  fill(7), MPI_Ineighbor_alltoall(in, n, d, out, n, d, comm, &r), MPI_Wait(&r, MPI_STATUS_IGNORE), print(name, 7);
  fill(8), MPI_Ineighbor_alltoallw(in, sent, places_w, kinds, out, received, places_w, kinds, comm, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE), print(name, 8);
}

/* Counts of 64 bits, also in lists. */
static void large_counts(void) {
  MPI_Count many[MOST];
  MPI_Aint at[MOST];
  MPI_Datatype kinds[MOST];
  MPI_Request r;
  MPI_Comm ring;
  const int n = 2, round = 1;
  for (int i = 0; i < MOST; i++) many[i] = n, at[i] = 8 * n * i, kinds[i] = MPI_DOUBLE;
  fill(1), MPI_Reduce_scatter_c(in, out, many, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), print("large", 1);
  fill(2), MPI_Alltoallw_c(in, many, at, kinds, out, many, at, kinds, MPI_COMM_WORLD), print("large", 2);
  WAIT("large ibcast", MPI_Ibcast_c(rank == 0 ? in : out, n, MPI_DOUBLE, 0, MPI_COMM_WORLD, &r));
  fill(3), MPI_Alltoallw_init_c(in, many, at, kinds, out, many, at, kinds, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
  MPI_Start(&r), MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_Request_free(&r), print("large", 3);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &round, 0, &ring);
  fill(4), MPI_Neighbor_alltoallw_c(in, many, at, kinds, out, many, at, kinds, ring), print("large", 4);
  MPI_Comm_free(&ring);
}

static void neighbours(void) {
  const int one[] = {size}, two[] = {2, size / 2}, round[] = {1, 1}, straight[] = {0, 0};
  MPI_Comm comm;
  MPI_Cart_create(MPI_COMM_WORLD, 1, one, round, 0, &comm);
  of_neighbours(comm, "ring"), MPI_Comm_free(&comm);
  MPI_Cart_create(MPI_COMM_WORLD, 1, one, straight, 0, &comm);
  of_neighbours(comm, "line"), MPI_Comm_free(&comm);
  if (size % 2 == 0) {
    MPI_Cart_create(MPI_COMM_WORLD, 2, two, round, 0, &comm);
    of_neighbours(comm, "torus"), MPI_Comm_free(&comm);
  }
  /* From each to the next two and itself. */
  int to[] = {(rank + 1) % size, (rank + 2) % size, rank},
      from[] = {(rank + size - 1) % size, (rank + 2 * size - 2) % size, rank};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, from, MPI_UNWEIGHTED, 3, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &comm);
  of_neighbours(comm, "graph"), MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!*what || !strcmp(what, "scattered")) scattered(), types_by_rank();
  if (!*what || !strcmp(what, "requests")) requests();
  if (!*what || !strcmp(what, "neighbours")) neighbours();
  if (!*what) several(0, 4);
  if (!*what || !strcmp(what, "tested")) several(5, 6);
  if (!strcmp(what, "several")) under_way(125, 0, MPI_COMM_WORLD);
  if (!*what) own_operation(), with_gaps(), at_once(), large_counts();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("time %.12e\n", MPI_Wtime());
  MPI_Finalize();
  return 0;
}
