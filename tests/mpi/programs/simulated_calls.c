/* SPDX-License-Identifier: Apache-2.0
 * Calls that `exanet run --mpi-calls simulated` carries out, each with an answer that is known, or that is the same
 * whoever carries it out: rank 0 prints the bits of reductions. Any number of ranks from 2 on.
 *
 *   simulated_calls [refused | deadlock | again]     one call that is not simulated; receives without a message; the
 *                                                    call of a second thread */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulated.h"

static void check_status(const MPI_Status *status, int source, int tag, MPI_Datatype type, int count) {
  int counted = -1;
  MPI_Get_count(status, type, &counted);
  CHECK(status->MPI_SOURCE == source && status->MPI_TAG == tag && counted == count);
}

/* Of no bytes, eager, at the border, and by rendezvous. */
static void ring(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  const int counts[] = {0, 1, 3, 64, 4096, 50000};
  static int out[50000], in[50000];
  for (int i = 0; i < 6; i++) {
    MPI_Status status;
    for (int k = 0; k < counts[i]; k++) out[k] = rank * 100003 + k, in[k] = -1;
    if (rank % 2 == 0) MPI_Send(out, counts[i], MPI_INT, right, i, MPI_COMM_WORLD);
    MPI_Recv(in, 50000, MPI_INT, i % 2 ? MPI_ANY_SOURCE : left, i % 3 ? MPI_ANY_TAG : i, MPI_COMM_WORLD, &status);
    if (rank % 2 == 1) MPI_Ssend(out, counts[i], MPI_INT, right, i, MPI_COMM_WORLD);
    check_status(&status, left, i, MPI_INT, counts[i]);
    for (int k = 0; k < counts[i]; k++) CHECK(in[k] == left * 100003 + k);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Sendrecv(&rank, 1, MPI_INT, right, 9, in, 10, MPI_INT, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in[0] == left);
  MPI_Status nobody;
  MPI_Recv(in, 10, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &nobody);
  check_status(&nobody, MPI_PROC_NULL, MPI_ANY_TAG, MPI_INT, 0);
}

static void requests(void) {
  enum { MANY = 200 };
  static int out[MANY], in[MANY];
  MPI_Request all[2 * MANY];
  MPI_Status statuses[2 * MANY];
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < MANY; i++) MPI_Irecv(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &all[i]);
  for (int i = 0; i < MANY; i++) {
    out[i] = rank + i;
    MPI_Isend(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &all[MANY + i]);
  }
  MPI_Waitall(2 * MANY, all, statuses);
  for (int i = 0; i < MANY; i++) {
    CHECK(in[i] == left + i && all[i] == MPI_REQUEST_NULL && all[MANY + i] == MPI_REQUEST_NULL);
    check_status(&statuses[i], left, i, MPI_INT, 1);
  }
  /* any, some, tests; a request that is null beside them; a message to the rank itself */
  int own = 0, done = 0, index, flag = 0, indices[4];
  all[0] = MPI_REQUEST_NULL;
  MPI_Irecv(&own, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &all[1]);
  MPI_Irecv(&in[0], 1, MPI_INT, left, 8, MPI_COMM_WORLD, &all[2]);
  MPI_Isend(&right, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &all[3]);
  MPI_Send(&rank, 1, MPI_INT, right, 8, MPI_COMM_WORLD);
  while (!flag) MPI_Test(&all[2], &flag, &statuses[0]);
  CHECK(in[0] == left && all[2] == MPI_REQUEST_NULL);
  MPI_Waitany(4, all, &index, &statuses[0]);
  CHECK(index == 1 || index == 3);
  MPI_Waitsome(4, all, &done, indices, statuses);
  CHECK(done == 1 && own == right && indices[0] == 4 - index);
  MPI_Waitany(4, all, &index, &statuses[0]);
  CHECK(index == MPI_UNDEFINED);
  MPI_Testall(4, all, &flag, MPI_STATUSES_IGNORE);
  CHECK(flag == 1);
  MPI_Request free_me;
  MPI_Isend(&rank, 1, MPI_INT, right, 10, MPI_COMM_WORLD, &free_me);
  MPI_Request_free(&free_me);
  MPI_Irecv(&own, 1, MPI_INT, left, 11, MPI_COMM_WORLD, &free_me);
  MPI_Cancel(&free_me);
  MPI_Wait(&free_me, &statuses[0]);
  MPI_Test_cancelled(&statuses[0], &flag);
  CHECK(flag == 1);
  MPI_Recv(&own, 1, MPI_INT, left, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(own == left);
}

/* A column of a matrix; too long a message. */
static void types(void) {
  double matrix[8][8], got[8][8];
  MPI_Datatype column;
  MPI_Type_vector(8, 1, 8, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < 8; k++) matrix[i][k] = rank + i * 0.5 + k, got[i][k] = -1;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(&got[0][2], 1, column, left, 1, MPI_COMM_WORLD, &request);
  MPI_Send(&matrix[0][5], 1, column, right, 1, MPI_COMM_WORLD);
  MPI_Type_free(&column);
  MPI_Wait(&request, &status);
  check_status(&status, left, 1, MPI_DOUBLE, 8);
  for (int i = 0; i < 8; i++) CHECK(got[i][2] == left + i * 0.5 + 5 && got[i][3] == -1);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Send(matrix, 4, MPI_DOUBLE, right, 2, MPI_COMM_WORLD);
  int class;
  MPI_Error_class(MPI_Recv(got, 2, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), &class);
  CHECK(class == MPI_ERR_TRUNCATE);
  MPI_Error_class(MPI_Send(matrix, -1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD), &class);
  CHECK(class == MPI_ERR_COUNT);
  MPI_Error_class(MPI_Send(matrix, 1, MPI_DOUBLE, size, 2, MPI_COMM_WORLD), &class);
  CHECK(class == MPI_ERR_RANK);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void print_bits(const char *name, const double *values, int count) {
  uint64_t sum = 0, bits;
  for (int i = 0; i < count; i++) {
    memcpy(&bits, &values[i], sizeof bits);
    sum = sum * 1099511628211u + bits;
  }
  uint64_t *of_all = malloc(sizeof sum * (size_t)size);
  MPI_Gather(&sum, 1, MPI_UINT64_T, of_all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < size; i++) printf("%s %d %016llx\n", name, i, (unsigned long long)of_all[i]);
  free(of_all);
}

static void reductions(MPI_Comm comm, const char *name) {
  const int counts[] = {1, 2, 17, 1000, 5001};
  double *in = malloc(sizeof *in * 5001), *out = malloc(sizeof *out * 5001);
  char label[64];
  for (int i = 0; i < 5; i++) {
    for (int k = 0; k < counts[i]; k++) in[k] = 1.0 / (rank * 37 + k + 1) + 1e9 * (rank % 3), out[k] = 0;
    MPI_Allreduce(in, out, counts[i], MPI_DOUBLE, MPI_SUM, comm);
    snprintf(label, sizeof label, "%s-allreduce-%d", name, counts[i]);
    print_bits(label, out, counts[i]);
    memset(out, 0, sizeof *out * 5001);
    int members, root;
    MPI_Comm_size(comm, &members);
    root = members - 1 - i % members;
    MPI_Reduce(in, out, counts[i], MPI_DOUBLE, MPI_PROD, root < 0 ? 0 : root, comm);
    snprintf(label, sizeof label, "%s-reduce-%d", name, counts[i]);
    print_bits(label, out, counts[i]);
    MPI_Allreduce(MPI_IN_PLACE, in, counts[i], MPI_DOUBLE, MPI_MAX, comm);
    print_bits("max", in, counts[i]);
  }
  free(in);
  free(out);
}

static void own_operation(void) {
  MPI_Datatype matrix;
  MPI_Op product;
  MPI_Type_contiguous(4, MPI_INT64_T, &matrix);
  MPI_Type_commit(&matrix);
  MPI_Op_create(multiply, 0, &product);
  int64_t in[] = {rank + 1, 1, 2, rank + 3}, all[4], expected[] = {1, 1, 2, 3};
  MPI_Allreduce(in, all, 1, matrix, product, MPI_COMM_WORLD);
  for (int i = 1, one = 1; i < size; i++) {
    int64_t left[4], right[] = {i + 1, 1, 2, i + 3};
    memcpy(left, expected, sizeof left);
    multiply(left, right, &one, &matrix);
    memcpy(expected, right, sizeof expected);
  }
  CHECK(memcmp(all, expected, sizeof all) == 0);
  MPI_Reduce(in, all, 1, matrix, product, 1, MPI_COMM_WORLD);
  if (rank == 1) CHECK(memcmp(all, expected, sizeof all) == 0);
  MPI_Op_free(&product);
  MPI_Type_free(&matrix);
}

static void collectives(MPI_Comm comm) {
  int me, members;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &members);
  const int counts[] = {1, 5, 700, 9000};
  int *mine = malloc(sizeof(int) * (size_t)members * 9000), *all = malloc(sizeof(int) * (size_t)members * 9000);
  for (int i = 0; i < 4; i++) {
    const int n = counts[i], root = i % members;
    for (int k = 0; k < n * members; k++) mine[k] = me * 1000 + k, all[k] = -1;
    MPI_Bcast(me == root ? mine : all, n, MPI_INT, root, comm);
    for (int k = 0; k < n && me != root; k++) CHECK(all[k] == root * 1000 + k);
    MPI_Gather(mine, n, MPI_INT, all, n, MPI_INT, root, comm);
    for (int k = 0; k < n * members && me == root; k++) CHECK(all[k] == k / n * 1000 + k % n);
    MPI_Scatter(mine, n, MPI_INT, me == root ? MPI_IN_PLACE : all, n, MPI_INT, root, comm);
    for (int k = 0; k < n && me != root; k++) CHECK(all[k] == root * 1000 + me * n + k);
    MPI_Allgather(mine, n, MPI_INT, all, n, MPI_INT, comm);
    for (int k = 0; k < n * members; k++) CHECK(all[k] == k / n * 1000 + k % n);
    MPI_Alltoall(mine, n, MPI_INT, all, n, MPI_INT, comm);
    for (int k = 0; k < n * members; k++) CHECK(all[k] == k / n * 1000 + me * n + k % n);
    for (int k = 0; k < n; k++) all[me * n + k] = me - k;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, n, MPI_INT, comm);
    for (int k = 0; k < n * members; k++) CHECK(all[k] == k / n - k % n);
  }
  free(mine);
  free(all);
}

static void *call_barrier(void *unused) { return MPI_Barrier(MPI_COMM_WORLD), unused; }

static void end_otherwise(const char *how) {
  int value = 0;
  pthread_t thread;
  MPI_Request request;
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(how, "refused") == 0) MPI_Psend_init(&value, 1, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  if (strcmp(how, "deadlock") == 0)
    MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (strcmp(how, "again") == 0 && pthread_create(&thread, NULL, call_barrier, NULL) == 0) pthread_join(thread, NULL);
}

/* Blocks of several sizes, some of none, with gaps between them. */
static void lists(MPI_Comm comm) {
  int me, members;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &members);
  int *counts = calloc((size_t)members, sizeof(int)), *own = calloc((size_t)members, sizeof(int));
  int *at = calloc((size_t)members, sizeof(int)), out[4000], in[4000];
  const int root = members - 1;
  for (int i = 0; i < members; i++) {
    counts[i] = 37 * i % 100; /* of rank i */
    own[i] = 37 * me % 100; /* the same to each */
    at[i] = i * 110;
  }
  for (int i = 0; i < 4000; i++) out[i] = me * 10000 + i, in[i] = -1;
  MPI_Gatherv(out, counts[me], MPI_INT, in, counts, at, MPI_INT, root, comm);
  for (int k = 0; me == root && k < members * 110; k++)
    CHECK(in[k] == (k % 110 < counts[k / 110] ? k / 110 * 10000 + k % 110 : -1));
  memset(in, -1, sizeof in);
  MPI_Scatterv(out, counts, at, MPI_INT, in, counts[me], MPI_INT, root, comm);
  for (int k = 0; k < 110; k++) CHECK(in[k] == (k < counts[me] ? root * 10000 + me * 110 + k : -1));
  memset(in, -1, sizeof in);
  MPI_Allgatherv(out, counts[me], MPI_INT, in, counts, at, MPI_INT, comm);
  for (int k = 0; k < members * 110; k++) CHECK(in[k] == (k % 110 < counts[k / 110] ? k / 110 * 10000 + k % 110 : -1));
  memset(in, -1, sizeof in);
  MPI_Alltoallv(out, own, at, MPI_INT, in, counts, at, MPI_INT, comm);
  for (int k = 0; k < members * 110; k++)
    CHECK(in[k] == (k % 110 < counts[k / 110] ? k / 110 * 10000 + me * 110 + k % 110 : -1));
  for (int k = 0; k < counts[me]; k++) in[at[me] + k] = me;
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, counts, at, MPI_INT, comm);
  for (int k = 0; k < members * 110; k++) CHECK(in[k] == (k % 110 < counts[k / 110] ? k / 110 : -1));
  free(counts);
  free(own);
  free(at);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1) end_otherwise(argv[1]);
  ring();
  requests();
  types();
  own_operation();
  reductions(MPI_COMM_WORLD, "world");
  collectives(MPI_COMM_WORLD);
  lists(MPI_COMM_WORLD);
  MPI_Comm half, copy;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  MPI_Comm_dup(half, &copy);
  reductions(copy, "half");
  collectives(copy);
  lists(copy);
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("time %.12e\n", MPI_Wtime());
  MPI_Finalize();
  return 0;
}
