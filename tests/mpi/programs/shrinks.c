// SPDX-License-Identifier: Apache-2.0
// A program that goes on with the ranks that are left: each round sums what the ranks of its communicator bring, and
// passes a value to the next rank of the ring. What fails is revoked, and those who are left shrink the communicator,
// agree on the first round that not all have finished, and go on from there. `rounds`: how many. At the end each rank
// says in which size it has ended, and whether the sums are right. `any`: receives from any source, before and after
// the failure has been acknowledged. `codes`: what each kind of call returns once a member is dead. `handler`: the
// communicator has an error handler of the program's own.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, world_rank;
static MPI_Comm comm;

static int class_of(int error) {
  int class = 0;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
  return class;
}

static void describe(MPI_Comm of) {
  MPI_Comm_rank(of, &rank);
  MPI_Comm_size(of, &ranks);
}

static int members_below(MPI_Comm of) {
  MPI_Group group, world;
  int size, sum = 0;
  MPI_Comm_group(of, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_size(group, &size);
  for (int i = 0, there; i < size; ++i) MPI_Group_translate_ranks(group, 1, &i, world, &there), sum += there;
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  return sum;
}

static int one_round(int round, double* total) {
  double mine = world_rank + round, sum = 0;
  int got = -1;
  MPI_Status status;
  int failed = MPI_Sendrecv(&round, 1, MPI_INT, (rank + 1) % ranks, 5, &got, 1, MPI_INT, (rank + ranks - 1) % ranks, 5,
                            comm, &status);
  if (failed == MPI_SUCCESS) failed = MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
  if (failed == MPI_SUCCESS && got == round) *total = sum;
  return failed;
}

static void recover(void) {
  MPI_Comm left;
  MPIX_Comm_revoke(comm);
  const int failed = MPIX_Comm_shrink(comm, &left);
  if (failed != MPI_SUCCESS) printf("rank %d: shrink failed: %d\n", world_rank, class_of(failed)), exit(3);
  if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
  comm = left;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  describe(comm);
}

static void go_on(int rounds) {
  double total = 0;
  int shrunk = 0, wrong = 0;
  for (int round = 0; round < rounds;) {
    const int failed = one_round(round, &total);
    const double expected = members_below(comm) + (double)ranks * round;
    if (failed == MPI_SUCCESS) {
      wrong += total != expected;
      ++round;
      continue;
    }
    recover();
    ++shrunk;
    // The earliest round that anybody has not finished; the bits of an and are too few for a minimum.
    int first = round;
    while (MPI_Allreduce(&round, &first, 1, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS) recover(), ++shrunk;
    round = first;
  }
  int flag = ~(1 << world_rank), agreed = MPIX_Comm_agree(comm, &flag);
  printf("rank %d: %d of %d, shrunk %d, wrong %d, total %g, flag %x, agreed %d\n", world_rank, rank, ranks, shrunk,
         wrong, total, (unsigned)flag, class_of(agreed));
  fprintf(stderr, "rank %d ends at %.3f us\n", world_rank, MPI_Wtime() * 1e6);
}

static void any(void) {
  int got = 0, size = 0, value = 40 + world_rank;
  if (rank == 1)
    for (double end = MPI_Wtime() + 1; MPI_Wtime() < end;) continue;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(&got, 1, MPI_INT, 1, 7, comm, &requests[0]);
  MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 8, comm, &requests[1]);
  int all = class_of(MPI_Waitall(2, requests, statuses)), first = statuses[0].MPI_ERROR, second = statuses[1].MPI_ERROR;
  const int alone = class_of(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 9, comm, MPI_STATUS_IGNORE));
  MPIX_Comm_failure_ack(comm);
  MPI_Group acknowledged;
  MPIX_Comm_failure_get_acked(comm, &acknowledged);
  MPI_Group_size(acknowledged, &size);
  MPI_Group_free(&acknowledged);
  if (rank == 0) {
    for (int to = 2; to < ranks; ++to) MPI_Send(&to, 1, MPI_INT, to, 8, comm);
    MPI_Recv(&got, 1, MPI_INT, 2, 9, comm, MPI_STATUS_IGNORE);
    MPI_Cancel(&requests[1]);
  } else if (rank == 2) {
    MPI_Send(&rank, 1, MPI_INT, 0, 9, comm);
  }
  const int then = class_of(MPI_Wait(&requests[1], statuses));
  printf("rank %d: all %d: %d %d, alone %d, acknowledged %d, then %d\n", rank, all, class_of(first), class_of(second),
         alone, size, then);
}

static void codes(void) {
  int value = 0, flag = 1;
  MPI_Request request;
  MPI_Status status;
  MPI_Comm made;
  MPI_Group failed;
  if (rank == 1)
    for (double end = MPI_Wtime() + 1; MPI_Wtime() < end;) continue;
  const int receive = MPI_Recv(&value, 1, MPI_INT, 1, 7, comm, &status);
  const int send = MPI_Send(&value, 1, MPI_INT, 1, 7, comm), probe = MPI_Probe(1, 7, comm, &status);
  MPI_Isend(&value, 1, MPI_INT, 1, 7, comm, &request);
  const int wait = MPI_Wait(&request, &status), barrier = MPI_Barrier(comm);
  MPI_Ibarrier(comm, &request);
  const int later = MPI_Wait(&request, &status), dup = MPI_Comm_dup(comm, &made);
  const int agree = MPIX_Comm_agree(comm, &flag);
  MPIX_Comm_failure_ack(comm);
  const int again = MPIX_Comm_agree(comm, &flag);
  int size = 0, live = 0, to = (rank == 0) ? 2 : (rank == 2 ? 3 : 0), from = (rank == 0) ? 3 : (rank == 2 ? 0 : 2);
  MPIX_Comm_get_failed(comm, &failed);
  MPI_Group_size(failed, &size);
  MPI_Group_free(&failed);
  const int alive = MPI_Sendrecv(&rank, 1, MPI_INT, to, 3, &live, 1, MPI_INT, from, 3, comm, &status);
  if (rank == 0) MPIX_Comm_revoke(comm);
  const int revoked = MPI_Recv(&value, 1, MPI_INT, from, 11, comm, &status);
  printf(
      "rank %d: receive %d send %d probe %d wait %d barrier %d later %d dup %d agree %d again %d failed %d alive %d %d "
      "revoked %d\n",
      rank, class_of(receive), class_of(send), class_of(probe), class_of(wait), class_of(barrier), class_of(later),
      class_of(dup), class_of(agree), class_of(again), size, class_of(alive), live == from, class_of(revoked));
}

static int handled;
static void handle(MPI_Comm* of, int* code, ...) {
  (void)of;
  handled = class_of(*code);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* what = argc > 1 ? argv[1] : "50";
  comm = MPI_COMM_WORLD;
  describe(comm);
  world_rank = rank;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (strcmp(what, "any") == 0) {
    any();
  } else if (strcmp(what, "codes") == 0) {
    codes();
  } else if (strcmp(what, "handler") == 0) {
    MPI_Errhandler own;
    MPI_Comm_create_errhandler(handle, &own);
    MPI_Comm_set_errhandler(comm, own);
    for (int round = 0; handled == 0; ++round) MPI_Barrier(comm);
    printf("rank %d: handled %d\n", rank, handled);
  } else {
    go_on(atoi(what));
  }
  MPI_Finalize();
  return 0;
}
