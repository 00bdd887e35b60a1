/* SPDX-License-Identifier: Apache-2.0
 * What is wrong in a program of MPI, for two ranks or more.
 *
 *   simulated_errors classes                           prints on each rank the classes of errors that calls return
 *   simulated_errors recv | waitall | gatherv          a message too long, and the handler that ends the program
 *   simulated_errors call | root | count | scatter | operation | list | blocks | short | request
 *                                                      collectives that differ between ranks */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size, data[64];

static int class_of(int code) {
  int class = 0;
  MPI_Error_class(code, &class);
  return class;
}

static void print(const char *what, int code) { printf("%d %s %d\n", rank, what, class_of(code)); }

/* The first message is too long, and the second one comes later. */
static void wait_for_both(void) {
  int first[2], second[2];
  if (rank == 0) {
    MPI_Send(data, 10, MPI_INT, 1, 1, MPI_COMM_WORLD);
    MPI_Send(data, 2, MPI_INT, 1, 2, MPI_COMM_WORLD);
  }
  if (rank != 1) return;
  MPI_Request requests[3];
  MPI_Status statuses[3];
  MPI_Irecv(first, 2, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[0]);
  requests[1] = MPI_REQUEST_NULL;
  MPI_Irecv(second, 2, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[2]);
  print("waitall", MPI_Waitall(3, requests, statuses));
  for (int i = 0; i < 3; i++) print("status", statuses[i].MPI_ERROR);
  printf("%d null %d %d\n", rank, requests[0] == MPI_REQUEST_NULL, requests[2] == MPI_REQUEST_NULL);
  print("wait", MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
}

static void classes(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  wait_for_both();
  double number = 1, sum = 0;
  struct {
    double value;
    int place;
  } pair = {1, rank}, least;
  print("band", MPI_Allreduce(&number, &sum, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD));
  print("minloc", MPI_Reduce(&number, &sum, 1, MPI_DOUBLE, MPI_MINLOC, 0, MPI_COMM_WORLD));
  print("pair", MPI_Allreduce(&pair, &least, 1, MPI_DOUBLE_INT, MPI_SUM, MPI_COMM_WORLD));
  print("good", MPI_Allreduce(data, data + 32, 3, MPI_INT, MPI_BAND, MPI_COMM_WORLD));
  print("good", MPI_Allreduce(&number, &sum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  MPI_Request none = MPI_REQUEST_NULL, sent;
  print("start", MPI_Start(&none));
  MPI_Isend(data, 0, MPI_INT, rank, 3, MPI_COMM_WORLD, &sent);
  print("start", MPI_Start(&sent));
  MPI_Recv(data, 0, MPI_INT, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  print("iallreduce", MPI_Iallreduce(&number, &sum, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD, &none));
  print("ibcast", MPI_Ibcast(data, -1, MPI_INT, 0, MPI_COMM_WORLD, &none));
  print("send_init", MPI_Send_init(data, 1, MPI_INT, size, 1, MPI_COMM_WORLD, &none));
  print("exscan", MPI_Exscan(data, data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  print("scan", MPI_Scan(data, data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  int *most, known;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &known);
  MPI_Request request;
  print("tag", MPI_Isend(data, 1, MPI_INT, (rank + 1) % size, *most + 1, MPI_COMM_WORLD, &request));
  print("tag", MPI_Recv(data, 1, MPI_INT, MPI_ANY_SOURCE, *most + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  print("good", MPI_Sendrecv(data, 1, MPI_INT, (rank + 1) % size, *most, data + 1, 1, MPI_INT, MPI_ANY_SOURCE, *most,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  MPI_Win window;
  MPI_Win_create(data, sizeof data, sizeof *data, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, window);
  print("before a window", MPI_Put(data, 1, MPI_INT, (rank + 1) % size, -1, 1, MPI_INT, window));
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

/* One that is known to no other rank, or to rank 1 alone. */
static void differ(const char *how) {
  int counts[16], places[16];
  MPI_Request request;
  for (int i = 0; i < 16; i++) counts[i] = 2, places[i] = 2 * i;
  if (strcmp(how, "operation") == 0)
    MPI_Allreduce(data, data + 32, 2, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
  if (strcmp(how, "request") == 0) {
    MPI_Ireduce(data, data + 32, 2, MPI_INT, MPI_SUM, rank == 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  counts[0] = rank == 1 ? 1 : 2;
  if (strcmp(how, "list") == 0) MPI_Allgatherv(data, 2, MPI_INT, data + 32, counts, places, MPI_INT, MPI_COMM_WORLD);
  if (strcmp(how, "blocks") == 0)
    MPI_Alltoallv(data, counts, places, MPI_INT, data + 32, (int[]){2, 2}, places, MPI_INT, MPI_COMM_WORLD);
  if (strcmp(how, "short") == 0)
    MPI_Gatherv(data, rank == 1 ? 1 : 2, MPI_INT, data + 32, (int[]){2, 2}, places, MPI_INT, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char *how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "classes") == 0) classes();
  differ(how);
  if (strcmp(how, "recv") == 0 && rank == 0) MPI_Send(data, 10, MPI_INT, 1, 7, MPI_COMM_WORLD);
  if (strcmp(how, "recv") == 0 && rank == 1) MPI_Recv(data, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (strcmp(how, "waitall") == 0 && rank == 0) MPI_Send(data, 10, MPI_INT, 1, 7, MPI_COMM_WORLD);
  if (strcmp(how, "waitall") == 0 && rank == 1) {
    MPI_Request request;
    MPI_Irecv(data, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
  }
  if (strcmp(how, "gatherv") == 0) {
    int counts[16], places[16];
    for (int i = 0; i < 16; i++) counts[i] = 1, places[i] = i;
    MPI_Gatherv(data, 3, MPI_INT, data + 32, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (strcmp(how, "call") == 0 && rank == 0) MPI_Bcast(data, 4, MPI_INT, 0, MPI_COMM_WORLD);
  if (strcmp(how, "call") == 0 && rank != 0) MPI_Reduce(data, data + 32, 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (strcmp(how, "root") == 0) MPI_Bcast(data, 4, MPI_INT, rank == 1, MPI_COMM_WORLD);
  if (strcmp(how, "count") == 0) MPI_Allreduce(data, data + 32, rank == 1 ? 2 : 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (strcmp(how, "scatter") == 0)
    MPI_Scatter(data, 2, MPI_INT, data + 32, rank == 1 ? 4 : 2, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
