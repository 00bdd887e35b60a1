/* SPDX-License-Identifier: Apache-2.0
 * Messages that `exanet run --mpi-calls simulated` carries out beside the common ones (simulated_calls.c): replacing
 * exchanges, probes, persistent and buffered messages, statuses of requests. Contents and statuses are checked; each
 * rank prints the classes of errors. Any number of ranks from 2 on.
 *
 *   simulated_messages [exchanges | probes | buffered | nobody]
 *                        those alone, for a replay; a probe for what nobody sends */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulated.h"

enum { LONG = 50000 };
static int right, left;
static int out[LONG], in[LONG];

#define CHECK_STATUS(status, source, tag, count) check_status(__LINE__, status, source, tag, count)

static void check_status(int line, const MPI_Status *status, int source, int tag, int count) {
  int counted = -1;
  MPI_Get_count(status, MPI_INT, &counted);
  if (status->MPI_SOURCE == source && status->MPI_TAG == tag && counted == count) return;
  fprintf(stderr, "rank %d, line %d: status %d %d %d\n", rank, line, status->MPI_SOURCE, status->MPI_TAG, counted);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void print(const char *what, int code) {
  int class = 0;
  MPI_Error_class(code, &class);
  printf("%d %s %d\n", rank, what, class);
}

static void fill(int *data, int count, int of) {
  for (int i = 0; i < count; i++) data[i] = of * 100003 + i;
}
static int holds(const int *data, int count, int of) {
  for (int i = 0; i < count; i++)
    if (data[i] != of * 100003 + i) return 0;
  return 1;
}

/* Every other int of so many. */
static MPI_Datatype gaps(int count) {
  MPI_Datatype type;
  MPI_Type_vector(count, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

static void replace(void) {
  const int counts[] = {0, 1, 4000, LONG};
  MPI_Status status;
  for (int i = 0; i < 4; i++) {
    fill(out, counts[i], rank);
    MPI_Sendrecv_replace(out, counts[i], MPI_INT, right, 5, left, i % 2 ? MPI_ANY_TAG : 5, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, left, 5, counts[i]);
    CHECK(holds(out, counts[i], left));
  }
  MPI_Datatype type = gaps(100);
  fill(out, 200, rank);
  MPI_Sendrecv_replace(out, 1, type, right, 5, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 200; i++) CHECK(out[i] == (i % 2 ? rank : left) * 100003 + i);
  MPI_Type_free(&type);
  MPI_Sendrecv_replace(out, 3, MPI_INT, MPI_PROC_NULL, 5, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status);
  CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  fill(out, 7, rank);
  MPI_Sendrecv_replace(out, 7, MPI_INT, rank, 6, rank, 6, MPI_COMM_WORLD, &status);
  CHECK_STATUS(&status, rank, 6, 7);
  CHECK(holds(out, 7, rank));
}

static void probes(int polls) {
  const int counts[] = {0, 3, 4000, LONG};
  MPI_Status status;
  MPI_Request request;
  MPI_Message first, second;
  int flag = 1;
  MPI_Iprobe(left, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  for (int i = 0; i < 4; i++) {
    fill(out, counts[i], rank);
    MPI_Isend(out, counts[i], MPI_INT, right, 10 + i, MPI_COMM_WORLD, &request);
    MPI_Probe(left, i % 2 ? MPI_ANY_TAG : 10 + i, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, left, 10 + i, counts[i]);
    MPI_Recv(in, LONG, MPI_INT, left, 10 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(holds(in, counts[i], left));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(out, counts[i], MPI_INT, right, 20, MPI_COMM_WORLD, &request);
    MPI_Mprobe(left, 20, MPI_COMM_WORLD, &first, &status);
    CHECK_STATUS(&status, left, 20, counts[i]);
    MPI_Mrecv(in, LONG, MPI_INT, &first, &status);
    CHECK_STATUS(&status, left, 20, counts[i]);
    CHECK(first == MPI_MESSAGE_NULL && holds(in, counts[i], left));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  /* Two that are found, and received the other way round; one behind them of the same tag. */
  for (int i = 0; i < 3; i++) MPI_Send(&counts[i], 1, MPI_INT, right, 30, MPI_COMM_WORLD);
  MPI_Mprobe(left, 30, MPI_COMM_WORLD, &first, MPI_STATUS_IGNORE);
  MPI_Mprobe(polls ? MPI_ANY_SOURCE : left, 30, MPI_COMM_WORLD, &second, MPI_STATUS_IGNORE);
  int got[3];
  MPI_Recv(&got[2], 1, MPI_INT, left, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Imrecv(&got[1], 1, MPI_INT, &second, &request);
  MPI_Mrecv(&got[0], 1, MPI_INT, &first, MPI_STATUS_IGNORE);
  MPI_Wait(&request, &status);
  CHECK_STATUS(&status, left, 30, 1);
  CHECK(got[0] == counts[0] && got[1] == counts[1] && got[2] == counts[2]);
  MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
  CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &first, &status);
  CHECK(first == MPI_MESSAGE_NO_PROC);
  MPI_Mrecv(in, 1, MPI_INT, &first, &status);
  CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

/* What looks again and again, or at any source; messages to the rank itself. */
static void polling(void) {
  MPI_Status status;
  MPI_Request request, own;
  MPI_Message message;
  MPI_Datatype type = gaps(5);
  int flag = 0;
  MPI_Isend(&rank, 1, MPI_INT, right, 40, MPI_COMM_WORLD, &request);
  while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
  CHECK_STATUS(&status, left, 40, 1);
  for (flag = 0; !flag;) MPI_Improbe(MPI_ANY_SOURCE, 40, MPI_COMM_WORLD, &flag, &message, &status);
  CHECK_STATUS(&status, left, 40, 1);
  MPI_Imrecv(in, 1, MPI_INT, &message, &own);
  for (flag = 0; !flag;) MPI_Test(&own, &flag, &status);
  CHECK(in[0] == left && own == MPI_REQUEST_NULL);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Iprobe(rank, 41, MPI_COMM_WORLD, &flag, &status);
  CHECK(!flag);
  fill(out, 10, rank);
  MPI_Isend(out, 1, type, rank, 41, MPI_COMM_WORLD, &own);
  MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  CHECK_STATUS(&status, rank, 41, 5);
  MPI_Improbe(rank, 41, MPI_COMM_WORLD, &flag, &message, &status);
  CHECK(flag);
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  memset(in, 0, sizeof in);
  MPI_Mrecv(in, 1, type, &message, &status);
  CHECK_STATUS(&status, rank, 41, 5);
  for (int i = 0; i < 10; i++) CHECK(in[i] == (i % 2 ? 0 : out[i]));
  MPI_Wait(&own, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
  MPI_Isend(out, 9, MPI_INT, right, 42, MPI_COMM_WORLD, &request);
  MPI_Mprobe(left, 42, MPI_COMM_WORLD, &message, &status);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  print("mrecv", MPI_Mrecv(in, 2, MPI_INT, &message, &status));
  print("probe", MPI_Probe(size, 1, MPI_COMM_WORLD, &status));
  print("iprobe", MPI_Iprobe(0, -7, MPI_COMM_WORLD, &flag, &status));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void persistent(void) {
  enum { MANY = 6 };
  MPI_Request all[2 * MANY];
  MPI_Status statuses[2 * MANY];
  const int counts[MANY] = {0, 1, 4000, 20000, 3, 0};
  static int sent[MANY][20000], got[MANY][20000];
  MPI_Datatype type = gaps(3);
  int flag, index;
  for (int i = 0; i < 4; i++) MPI_Recv_init(got[i], 20000, MPI_INT, left, 50 + i, MPI_COMM_WORLD, &all[i]);
  MPI_Recv_init(got[4], 1, type, left, 54, MPI_COMM_WORLD, &all[4]);
  MPI_Recv_init(got[5], 1, MPI_INT, MPI_PROC_NULL, 55, MPI_COMM_WORLD, &all[5]);
  MPI_Send_init(sent[0], counts[0], MPI_INT, right, 50, MPI_COMM_WORLD, &all[MANY]);
  MPI_Ssend_init(sent[1], counts[1], MPI_INT, right, 51, MPI_COMM_WORLD, &all[MANY + 1]);
  MPI_Rsend_init(sent[2], counts[2], MPI_INT, right, 52, MPI_COMM_WORLD, &all[MANY + 2]);
  MPI_Send_init(sent[3], counts[3], MPI_INT, right, 53, MPI_COMM_WORLD, &all[MANY + 3]);
  MPI_Send_init(sent[4], 1, type, right, 54, MPI_COMM_WORLD, &all[MANY + 4]);
  MPI_Send_init(sent[5], 1, MPI_INT, MPI_PROC_NULL, 55, MPI_COMM_WORLD, &all[MANY + 5]);
  MPI_Type_free(&type);
  MPI_Wait(&all[1], &statuses[0]);
  CHECK_STATUS(&statuses[0], MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
  CHECK(all[1] != MPI_REQUEST_NULL);
  MPI_Waitany(MANY, all, &index, &statuses[0]);
  CHECK(index == MPI_UNDEFINED);
  MPI_Testall(2 * MANY, all, &flag, statuses);
  CHECK(flag);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < MANY; i++) fill(sent[i], counts[i] * 2, rank + round);
    MPI_Startall(MANY, all);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++) MPI_Start(&all[MANY + i]);
    MPI_Waitall(2 * MANY, all, statuses);
    for (int i = 0; i < 5; i++) CHECK_STATUS(&statuses[i], left, 50 + i, counts[i]);
    for (int i = 0; i < 4; i++) CHECK(all[i] != MPI_REQUEST_NULL && holds(got[i], counts[i], left + round));
    for (int i = 0; i < 6; i += 2) CHECK(got[4][i] == (left + round) * 100003 + i && got[4][i + 1] == 0);
  }
  MPI_Start(&all[0]);
  MPI_Cancel(&all[0]);
  MPI_Wait(&all[0], &statuses[0]);
  MPI_Test_cancelled(&statuses[0], &flag);
  CHECK(flag);
  /* One that is under way is freed: the message comes all the same. */
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Start(&all[MANY]);
  for (int i = 0; i < 2 * MANY; i++) MPI_Request_free(&all[i]);
  CHECK(all[0] == MPI_REQUEST_NULL);
  MPI_Recv(in, 1, MPI_INT, left, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void buffered(void) {
  const int bytes = 3 * (LONG * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
  void *buffer = malloc((size_t)bytes), *detached;
  MPI_Request request, own;
  int detached_bytes;
  MPI_Buffer_attach(buffer, bytes);
  for (int i = 0; i < 2; i++) {
    fill(out, LONG, rank);
    MPI_Bsend(out, LONG, MPI_INT, right, 60, MPI_COMM_WORLD);
    MPI_Ibsend(out, 100, MPI_INT, right, 61, MPI_COMM_WORLD, &request);
    MPI_Bsend(out, 50, MPI_INT, rank, 62, MPI_COMM_WORLD);
    memset(out, 0, sizeof out);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(in, 100, MPI_INT, left, 61, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(holds(in, 100, left));
    MPI_Recv(in, LONG, MPI_INT, left, 60, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(holds(in, LONG, left));
    MPI_Recv(in, LONG, MPI_INT, rank, 62, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(holds(in, 50, rank));
  }
  MPI_Bsend(out, 1, MPI_INT, MPI_PROC_NULL, 60, MPI_COMM_WORLD);
  fill(out, 300, rank);
  MPI_Bsend_init(out, 300, MPI_INT, right, 63, MPI_COMM_WORLD, &own);
  for (int i = 0; i < 2; i++) {
    MPI_Start(&own);
    MPI_Wait(&own, MPI_STATUS_IGNORE);
    MPI_Recv(in, 300, MPI_INT, left, 63, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(holds(in, 300, left));
  }
  MPI_Request_free(&own);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Buffer_detach(&detached, &detached_bytes);
  CHECK(detached == buffer && detached_bytes == bytes);
  MPI_Buffer_attach(buffer, 400 + MPI_BSEND_OVERHEAD);
  MPI_Bsend(out, 100, MPI_INT, right, 64, MPI_COMM_WORLD);
  MPI_Recv(in, 100, MPI_INT, left, 64, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(holds(in, 100, left));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Buffer_detach(&detached, &detached_bytes);
  free(buffer);
}

/* Without the end of the buffer's use, which a recording does not have. */
static void buffered_once(void) {
  MPI_Buffer_attach(malloc(1 << 20), 1 << 20);
  MPI_Bsend(out, LONG, MPI_INT, right, 66, MPI_COMM_WORLD);
  MPI_Bsend(out, 100, MPI_INT, right, 67, MPI_COMM_WORLD);
  MPI_Recv(in, 100, MPI_INT, left, 67, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Recv(in, LONG, MPI_INT, left, 66, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void without_space(void) {
  char buffer[200];
  void *detached;
  int bytes;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  print("no buffer", MPI_Bsend(out, 1, MPI_INT, right, 65, MPI_COMM_WORLD));
  MPI_Buffer_attach(buffer, sizeof buffer);
  print("short", MPI_Bsend(out, 500, MPI_INT, right, 65, MPI_COMM_WORLD));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Buffer_detach(&detached, &bytes);
  CHECK(bytes == sizeof buffer);
}

static void statuses(void) {
  MPI_Request request;
  MPI_Status status;
  MPI_Datatype type = gaps(4);
  int flag = 1;
  memset(in, 0, sizeof in);
  MPI_Irecv(in, 1, type, left, 70, MPI_COMM_WORLD, &request);
  MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  MPI_Barrier(MPI_COMM_WORLD);
  fill(out, 8, rank);
  MPI_Send(out, 1, type, right, 70, MPI_COMM_WORLD);
  while (!flag) MPI_Request_get_status(request, &flag, &status);
  CHECK_STATUS(&status, left, 70, 4);
  for (int i = 0; i < 8; i++) CHECK(in[i] == (i % 2 ? 0 : left * 100003 + i));
  MPI_Request_get_status(request, &flag, &status);
  CHECK(flag && request != MPI_REQUEST_NULL);
  memset(&status, 0, sizeof status);
  MPI_Wait(&request, &status);
  CHECK_STATUS(&status, left, 70, 4);
  CHECK(request == MPI_REQUEST_NULL);
  MPI_Request_get_status(request, &flag, &status);
  CHECK(flag);
  MPI_Type_free(&type);
}

/* An exchange with a request; of 16 bytes, and of more than goes eagerly on any machine. */
static void exchanges_with_requests(void) {
  static int long_out[20000], long_in[20000];
  MPI_Request requests[3];
  MPI_Datatype type = gaps(4);
  fill(out, 10, rank);
  memset(in, 0, sizeof in);
  for (int i = 0; i < 20000; i++) long_out[i] = rank + 3 * i, long_in[i] = -1;
  MPI_Isendrecv(out, 4, MPI_INT, right, 81, in, 1, type, left, 81, MPI_COMM_WORLD, &requests[0]);
  MPI_Isendrecv(long_out, 20000, MPI_INT, left, 82, long_in, 20000, MPI_INT, right, 82, MPI_COMM_WORLD, &requests[1]);
  MPI_Isendrecv(out, 1, MPI_INT, MPI_PROC_NULL, 83, out, 1, MPI_INT, MPI_PROC_NULL, 83, MPI_COMM_WORLD, &requests[2]);
  MPI_Type_free(&type);
  MPI_Request_free(&requests[2]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* MPICH fills none in */
  for (int i = 0; i < 8; i++) CHECK(in[i] == (i % 2 ? 0 : left * 100003 + i / 2));
  for (int i = 0; i < 20000; i++) CHECK(long_in[i] == right + 3 * i);
  MPI_Isendrecv_replace(long_out, 20000, MPI_INT, right, 84, left, 84, MPI_COMM_WORLD, &requests[0]);
  for (int done = 0; !done;) MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
  for (int i = 0; i < 20000; i++) CHECK(long_out[i] == left + 3 * i);
}

/* Ranks below a limit with those from there on; then all of them, in one communicator. */
static void across(void) {
  MPI_Comm half, across, twice, whole;
  const int limit = (size + 1) / 2, low = rank < limit;
  int mine = -1, others = -1, got[2] = {-1, -1}, found = 0, merged = 0;
  MPI_Status status;
  MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? limit : 0, 5, &across);
  MPI_Comm_dup(across, &twice);
  MPI_Comm_rank(across, &mine);
  MPI_Comm_remote_size(across, &others);
  if (mine < others) { /* the remote group has one of this rank */
    const int sent[2] = {rank, 1000 + rank};
    MPI_Request request;
    MPI_Irecv(&got[1], 1, MPI_INT, mine, 9, twice, &request);
    MPI_Send(&sent[0], 1, MPI_INT, mine, 9, across);
    MPI_Send(&sent[1], 1, MPI_INT, mine, 9, twice);
    while (!found) MPI_Iprobe(MPI_ANY_SOURCE, 9, across, &found, &status);
    CHECK(status.MPI_SOURCE == mine);
    MPI_Recv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, 9, across, &status);
    CHECK_STATUS(&status, mine, 9, 1);
    MPI_Wait(&request, &status);
    CHECK_STATUS(&status, mine, 9, 1);
    CHECK(got[0] == (low ? limit + mine : mine) && got[1] == 1000 + got[0]);
  }
  MPI_Intercomm_merge(across, !low, &whole);
  MPI_Allreduce(&rank, &merged, 1, MPI_INT, MPI_SUM, whole);
  CHECK(merged == size * (size - 1) / 2);
  MPI_Comm_free(&half), MPI_Comm_free(&across), MPI_Comm_free(&twice), MPI_Comm_free(&whole);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  const char *what = argc > 1 ? argv[1] : "";
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(what, "nobody") == 0) MPI_Probe(MPI_ANY_SOURCE, 80, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (*what == 0 || strcmp(what, "exchanges") == 0) replace(), persistent();
  if (*what == 0 || strcmp(what, "probes") == 0) probes(*what == 0);
  if (strcmp(what, "buffered") == 0) buffered_once();
  if (*what == 0) buffered(), polling(), without_space(), statuses(), across(), exchanges_with_requests();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("time %.12e\n", MPI_Wtime());
  MPI_Finalize();
  return 0;
}
