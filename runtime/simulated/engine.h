/* SPDX-License-Identifier: Apache-2.0
 * What the calls that the simulator carries out share: communicators, contents of buffers, and how one of them ends. */
#ifndef EXANET_SIMULATED_ENGINE_H
#define EXANET_SIMULATED_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "core/replay/live_call.h"
#include "exanet/mpi_calls.h"
#include "runtime/lib/internal.h"
#include "runtime/record/communicators.h"
#include "runtime/record/library.h"

/* Classes of errors, in MPICH. */
enum {
  EXANET_ERR_BUFFER = 1,
  EXANET_ERR_COUNT,
  EXANET_ERR_TYPE,
  EXANET_ERR_TAG,
  EXANET_ERR_COMM,
  EXANET_ERR_RANK,
  EXANET_ERR_ROOT,
  EXANET_ERR_TRUNCATE = 14,
  EXANET_ERR_OTHER = 15,
  EXANET_ERR_IN_STATUS = 17,
  EXANET_ERR_PENDING,
  EXANET_ERR_REQUEST
};

/* The library's own, which count as no calls. */
struct exanet_simulated_library {
  int (*pack)(const void *from, int count, long type, void *to, int size, int *at, long comm);
  int (*unpack)(const void *from, int size, int *at, void *to, int count, long type, long comm);
  int (*type_dup)(long type, void *copy);
  int (*type_free)(void *type);
  int (*type_true_extent)(long type, long *lower, long *extent);
  int (*reduce_local)(const void *in, void *inout, int count, long type, long op);
  int (*call_errhandler)(long comm, int code);
  int (*get_errhandler)(long comm, void *handler);
  int (*set_errhandler)(long comm, long handler);
  int (*errhandler_free)(void *handler);
  int (*comm_get_attr)(long comm, int key, void *value, int *found);
  int (*comm_create_group)(long comm, long group, int tag, void *made);
  int (*group_incl)(long group, int count, const int *ranks, void *made);
  int (*group_excl)(long group, int count, const int *ranks, void *made);
  int (*buffer_attach)(void *buffer, int bytes);
  int (*buffer_detach)(void *buffer, int *bytes);
  int (*type_iov_len)(long type, long most_bytes, long *blocks, long *bytes);
  int (*type_iov)(long type, long first, struct iovec *blocks, long most, long *count);
  int (*type_get_envelope)(long type, int *ints, int *addresses, int *types, int *combiner);
  int (*type_get_contents)(long type, int ints, int addresses, int types, int *int_list, long *address_list,
                           int *type_list);
};
extern struct exanet_simulated_library exanet_own;

/* A call under way. */
struct exanet_simulated {
  struct exanet_ni *ni;
  uint32_t call; /* enum exanet_mpi_call */
  exanet_mpi_function real;
  bool large;
  const long *a;
  long comm; /* that it is on, once it is known */
};

/* The communicator; NULL: the argument is none, and the library says what is wrong. Ends the run on one that cannot be
   used by calls that are simulated; the second one also on an intercommunicator. Valid until the next one is made. */
const struct exanet_communicator *exanet_simulated_comm(struct exanet_simulated *s, long handle);
const struct exanet_communicator *exanet_simulated_intracomm(struct exanet_simulated *s, long handle);
/* Notes one that the library has made. */
void exanet_simulated_made(const struct exanet_simulated *s, long handle);
/* The library's own call: of what is local, and of arguments that it is to find wrong. */
long exanet_simulated_real(const struct exanet_simulated *s);
/* Ends the run: this call, or `what` of it, is not simulated. */
_Noreturn void exanet_simulated_refuse(const struct exanet_simulated *s, const char *what);
static inline long exanet_simulated_count(const struct exanet_simulated *s, int at) {
  return s->large ? s->a[at] : (int)s->a[at];
}
void *exanet_simulated_memory(void *memory); /* what calloc() gave: the process ends where it is NULL */

/* A buffer of the program, and its bytes one after the other: the buffer itself where it has no gaps, else a copy. */
struct exanet_bytes {
  void *buffer, *data;
  long count, type, comm;
  uint64_t bytes;
  bool copied, kept_type;
};
/* Whether a type can be: a handle that is none, or a count below zero, is for the library to find. */
bool exanet_bytes_valid(long buffer, long count, long type);
uint64_t exanet_element_bytes(long type);
/* An error, which the library has reported; 0 for none. */
int exanet_bytes_begin(const struct exanet_simulated *s, struct exanet_bytes *b, long buffer, long count, long type);
/* Beyond the call: keeps the type, which the program may free. */
void exanet_bytes_keep(struct exanet_bytes *b);
void exanet_bytes_end(struct exanet_bytes *b, bool received);

/* errors.c: an error, once its handler has been called; and of arguments, false where the library is to say what is
   wrong. */
int exanet_simulated_error(long comm, int code);
bool exanet_simulated_ends_program(long comm);
struct exanet_truncated {
  long comm; /* whose handler is called */
  int from; /* rank of MPI_COMM_WORLD */
  uint64_t bytes, space;
  uint32_t failure; /* number of what has failed in its place; 0: it is too long */
};
int exanet_simulated_truncated(const struct exanet_simulated *s, const struct exanet_truncated *t, int code);
int exanet_simulated_no_buffer(const struct exanet_simulated *s, uint64_t bytes, uint64_t space);
/* Of what has failed on the network, or with a rank that has died: the class (enum exanet_live_error), 0 for none; the
   code, once the handler has been called, or the end of the run; the same of a call on the communicator that `s` is on;
   and of what the library is to carry out among all members. */
int exanet_failure_class(uint32_t error);
int exanet_simulated_failed(const struct exanet_simulated *s, long comm, uint32_t failure, int code);
int exanet_simulated_call_failed(const struct exanet_simulated *s, const struct exanet_live_call *call);
int exanet_simulated_check(struct exanet_simulated *s, long handle);
bool exanet_simulated_tag_fits(int tag);
bool exanet_simulated_op_fits(long type, long op);
const char *exanet_simulated_op_name(long op);

/* A call's result: messages.c, exchanges.c, probes.c, buffered.c, requests.c, persistent.c, collectives.c, windows.c,
   accesses.c, tolerance.c. */
long exanet_simulated_send(struct exanet_simulated *s, uint8_t code);
long exanet_simulated_receive(struct exanet_simulated *s, uint8_t code);
long exanet_simulated_exchange(struct exanet_simulated *s, uint8_t code);
long exanet_simulated_replace(struct exanet_simulated *s, uint8_t code);
long exanet_simulated_iexchange(struct exanet_simulated *s, uint8_t code);
long exanet_simulated_probe(struct exanet_simulated *s, uint8_t code);
long exanet_simulated_probed(struct exanet_simulated *s, uint8_t code);
long exanet_simulated_buffered(struct exanet_simulated *s, uint8_t code);
long exanet_simulated_detach(struct exanet_simulated *s, uint8_t code);
long exanet_simulated_requests(struct exanet_simulated *s, uint8_t code);
long exanet_simulated_init(struct exanet_simulated *s, uint8_t code);
long exanet_simulated_start(struct exanet_simulated *s, uint8_t code);
long exanet_simulated_collective(struct exanet_simulated *s, uint8_t code);
long exanet_simulated_window(struct exanet_simulated *s, uint8_t code);
long exanet_simulated_window_free(struct exanet_simulated *s, uint8_t code);
long exanet_simulated_synchronise(struct exanet_simulated *s, uint8_t code);
long exanet_simulated_access(struct exanet_simulated *s, uint8_t code);
long exanet_simulated_tolerance(struct exanet_simulated *s, uint8_t code);

/* reductions.c: what rank `me` of `n` gets, by the algorithm, of the members' parts. False: its order is unknown. */
struct exanet_reduction {
  const struct exanet_live_part *parts;
  const char *algorithm;
  uint8_t code; /* of the blocking collective */
  uint32_t n, me, root;
  long count; /* elements of the vector */
  long first, taken; /* those of the result */
  long type, op;
  uint64_t element_bytes;
  bool commutes, exact; /* exact: any order gives the same bits */
};
bool exanet_reduction_of(const struct exanet_reduction *r, void *result);
bool exanet_reduction_is_alike(const struct exanet_reduction *r); /* for all members */
#endif
