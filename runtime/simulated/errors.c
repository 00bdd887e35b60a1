// SPDX-License-Identifier: Apache-2.0
// Errors of calls that are simulated: those that the simulator finds, and arguments that the library is to find wrong.
//
// Model: an error goes to the handler of the communicator. Where that ends the program, the library would name one of
// its own calls, so a line before says which call of the program's it was. Whether an operation takes a type is asked
// of the library, once for each pair. Where what has failed on the network ends the program, the simulator ends the
// run, and says what. Limit: handlers get the class alone.
#include <stdio.h>

#include "runtime/simulated/engine.h"

/* Source: the header of MPICH 5.0. */
#define ERRORS_ARE_FATAL 0x54000000u
#define ERRORS_ABORT 0x54000003u
#define TAG_UB 0x64400001
#define BUILT_IN 1u /* the two highest bits of a handle */
/* Classes of errors. */
enum { PROCESS_FAILED = 101, PROCESS_FAILED_PENDING, REVOKED };

static int handler_of(long comm) {
  int handler = 0;
  return exanet_own.get_errhandler(comm, &handler) == 0 ? handler : 0;
}

static void drop(int handler) {
  if ((uint32_t)handler >> 30 != BUILT_IN) exanet_own.errhandler_free(&handler);
}

int exanet_simulated_error(long comm, int code) {
  exanet_own.call_errhandler(comm, code);
  return code;
}

/* Whether an error ends the program. */
bool exanet_simulated_ends_program(long comm) {
  const int handler = handler_of(comm);
  drop(handler);
  return (uint32_t)handler == ERRORS_ARE_FATAL || (uint32_t)handler == ERRORS_ABORT;
}

int exanet_failure_class(uint32_t error) {
  switch ((enum exanet_live_error)error) {
    case EXANET_LIVE_NO_ERROR: return 0;
    case EXANET_LIVE_PROCESS_FAILED: return PROCESS_FAILED;
    case EXANET_LIVE_MAY_FAIL: return PROCESS_FAILED_PENDING;
    case EXANET_LIVE_REVOKED: return REVOKED;
    case EXANET_LIVE_LOST: break;
  }
  return EXANET_ERR_OTHER;
}

int exanet_simulated_failed(const struct exanet_simulated *s, long comm, uint32_t failure, int code) {
  if (exanet_simulated_ends_program(comm)) {
    struct exanet_live_call fatal = {.code = EXANET_LIVE_FATAL, .failure = failure};
    exanet_live_call(s->ni, &fatal, true);
  }
  return exanet_simulated_error(comm, code);
}

int exanet_simulated_call_failed(const struct exanet_simulated *s, const struct exanet_live_call *call) {
  if (call->error == EXANET_LIVE_NO_ERROR) return 0;
  return exanet_simulated_failed(s, s->comm, call->failure, exanet_failure_class(call->error));
}

int exanet_simulated_check(struct exanet_simulated *s, long handle) {
  const struct exanet_communicator *comm = exanet_communicator_find(handle);
  if (comm == NULL || comm->remote != NULL || !exanet_live_knows_failures()) return 0;
  s->comm = handle;
  struct exanet_live_call call = {.code = EXANET_LIVE_CHECK, .comm = comm->number};
  exanet_live_call(s->ni, &call, false);
  return exanet_simulated_call_failed(s, &call);
}

int exanet_simulated_no_buffer(const struct exanet_simulated *s, uint64_t bytes, uint64_t space) {
  if (exanet_simulated_ends_program(s->comm))
    fprintf(stderr, "exanet: rank %u in %s: the message takes %llu B of the attached buffer, which has %llu B left\n",
            exanet_rank(s->ni), exanet_mpi_call_name(s->call), (unsigned long long)bytes, (unsigned long long)space);
  return exanet_simulated_error(s->comm, EXANET_ERR_BUFFER);
}

int exanet_simulated_truncated(const struct exanet_simulated *s, const struct exanet_truncated *t, int code) {
  if (t->failure != 0) return exanet_simulated_failed(s, t->comm, t->failure, code);
  if (exanet_simulated_ends_program(t->comm))
    fprintf(stderr, "exanet: rank %u in %s: what rank %d sends has %llu B, and the buffer %llu B: message truncated\n",
            exanet_rank(s->ni), exanet_mpi_call_name(s->call), t->from, (unsigned long long)t->bytes,
            (unsigned long long)t->space);
  return exanet_simulated_error(t->comm, code);
}

bool exanet_simulated_tag_fits(int tag) {
  static int most = -1;
  int *found = NULL, set = 0;
  if (most < 0) {
    const bool known = exanet_own.comm_get_attr((long)exanet_mpi.world, TAG_UB, &found, &set) == 0 && set;
    most = known ? *found : 0x7fffffff;
  }
  return tag <= most;
}

/* Without a communicator an error goes to the handler of MPI_COMM_SELF where the program has set one, else to that of
   MPI_COMM_WORLD. One that is set cannot be unset, so what may be the default is left. */
static bool library_takes(long type, long op) {
  const long comms[] = {(long)exanet_mpi.world, (long)exanet_mpi.self};
  int handlers[2] = {handler_of(comms[0]), handler_of(comms[1])};
  const int count = (uint32_t)handlers[1] == ERRORS_ARE_FATAL ? 1 : 2;
  _Alignas(16) char in[128] = {0}, inout[128] = {0}; /* the longest built-in type has 32 bytes */
  for (int i = 0; i < count; i++) exanet_own.set_errhandler(comms[i], (long)exanet_mpi.errors_return);
  const bool takes = exanet_own.reduce_local(in, inout, 1, type, op) == 0;
  for (int i = 0; i < count; i++) exanet_own.set_errhandler(comms[i], handlers[i]);
  for (int i = 0; i < 2; i++) drop(handlers[i]);
  return takes;
}

bool exanet_simulated_op_fits(long type, long op) {
  static struct {
    uint32_t type, op;
    bool takes;
  } known[64];
  if ((uint32_t)op >> 30 != BUILT_IN) return true;
  const unsigned at = ((uint32_t)type * 31 + (uint32_t)op) % 64;
  if (known[at].type != (uint32_t)type || known[at].op != (uint32_t)op) {
    known[at].takes = library_takes(type, op);
    known[at].type = (uint32_t)type;
    known[at].op = (uint32_t)op;
  }
  return known[at].takes;
}

const char *exanet_simulated_op_name(long op) {
  static const char *const names[] = {"MPI_MAX",    "MPI_MIN",    "MPI_SUM",     "MPI_PROD", "MPI_LAND",
                                      "MPI_BAND",   "MPI_LOR",    "MPI_BOR",     "MPI_LXOR", "MPI_BXOR",
                                      "MPI_MINLOC", "MPI_MAXLOC", "MPI_REPLACE", "MPI_NO_OP"};
  const uint32_t number = ((uint32_t)op & 0xff) - 1;
  if ((uint32_t)op >> 30 != BUILT_IN) return "an operation of the program's own";
  return number < sizeof names / sizeof names[0] ? names[number] : "an operation of MPI's";
}
