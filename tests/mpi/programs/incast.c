// SPDX-License-Identifier: Apache-2.0
// All ranks send to rank 0 at once, on a network that may lose some of it: `incast BYTES fatal|return`. With `return`
// an error of a call is printed, "failed RANK CALL CLASS TEXT", and ends the program by MPI_Abort.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;

static void check(const char *call, int error) {
  char text[MPI_MAX_ERROR_STRING];
  int length, class;
  if (error == MPI_SUCCESS) return;
  MPI_Error_class(error, &class);
  MPI_Error_string(error, text, &length);
  for (char *c = text; *c; c++)
    if (*c == '\n') *c = ' ';
  printf("failed %d %s %s %s\n", rank, call,
         class == MPI_ERR_OTHER    ? "MPI_ERR_OTHER"
         : class == MPI_ERR_INTERN ? "MPI_ERR_INTERN"
                                   : "another",
         text);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 5);
}

int main(int argc, char **argv) {
  const int bytes = atoi(argv[1]);
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(argv[2], "return") == 0) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* of calls without a communicator */
  }
  char *data = malloc((size_t)bytes * (size_t)size);
  memset(data, rank, (size_t)bytes);
  for (int round = 0; round < 3; round++) {
    if (rank != 0) {
      check("MPI_Send", MPI_Send(data, bytes, MPI_BYTE, 0, round, MPI_COMM_WORLD));
      continue;
    }
    MPI_Request *requests = malloc(sizeof *requests * (size_t)size);
    for (int i = 1; i < size; i++)
      check("MPI_Irecv",
            MPI_Irecv(data + (size_t)bytes * (size_t)i, bytes, MPI_BYTE, i, round, MPI_COMM_WORLD, &requests[i - 1]));
    for (int i = 1; i < size; i++) check("MPI_Wait", MPI_Wait(&requests[i - 1], MPI_STATUS_IGNORE));
    for (int i = 1; i < size; i++)
      for (int byte = 0; byte < bytes; byte++)
        if (data[(size_t)bytes * (size_t)i + (size_t)byte] != (char)i) return 9; /* silently wrong */
    free(requests);
  }
  if (rank == 0) printf("whole\n");
  free(data);
  MPI_Finalize();
  return 0;
}
