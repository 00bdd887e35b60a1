/* SPDX-License-Identifier: Apache-2.0
 * MPI_Allreduce, MPI_Barrier, and short MPI_Bcast and MPI_Reduce of unmodified programs, by the units of the
 * interfaces that reduce.
 *
 * Problem: a program calls them on any communicator, and the processors are to have as little as possible to do with
 * it. Model: a communicator gets a tree of units, by its first call, which one of its ranks asks for and sends to
 * the others; it is kept as an attribute of the communicator, and goes with it. Each rank then stores its part into
 * its interface, and waits for the result in its memory; meanwhile the library's own progress goes on, as other
 * ranks may wait for that. A broadcast is a reduction bit by bit to which only the root brings something; a
 * reduction to one rank is one to all whose result the others drop.
 *
 * Left to the library are vectors longer than a unit takes, elements and operations that it has not,
 * intercommunicators, communicators with processes of another program, those for which a unit is short of trees or
 * branches, programs that begin MPI by sessions, calls that return at once, and persistent ones. All ranks of a
 * communicator decide alike, by what MPI wants to be the same on all of them.
 *
 * Sums of floating-point numbers are taken in the order of the tree, so they may differ in their last bits from the
 * library's; they are the same on all ranks and in all runs. */
#include "runtime/collectives/offload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/protocol/atomic_table.h"
#include "exanet/shm.h"
#include "runtime/collectives/members.h"
#include "runtime/collectives/waits.h"
#include "runtime/provider/exanet_prov.h"

#define ERR_COUNT 2 /* the same value in MPICH and Open MPI */
#define ERR_OTHER (exanet_mpi.kind == EXANET_TRACE_OPEN_MPI ? 16 : 15)

/* A communicator's tree of units. */
struct tree {
  bool used; /* or the library does it */
  int size, rank;
  uint32_t number;
};

/* The library's own, which count as no calls. */
static struct {
  int (*pack)(const void *from, int count, long type, void *to, int size, int *at, long comm);
  int (*type_envelope)(long type, int *integers, int *addresses, int *types, int *combiner);
  int (*unpack)(const void *from, int size, int *at, void *to, int count, long type, long comm);
  int (*comm_create_keyval)(int (*copy)(long, int, void *, void *, void *, int *),
                            int (*forget)(long, int, void *, void *), void *key, void *extra);
  int (*comm_set_attr)(long comm, int key, void *value);
  int (*comm_get_attr)(long comm, int key, void *value, int *found);
  int (*comm_delete_attr)(long comm, int key);
  int (*comm_call_errhandler)(long comm, int code);
} own;

enum { LARGE = 1, PROFILED = 2 };
static exanet_mpi_function library[EXN_OFFLOAD_COUNT][4]; /* [LARGE | PROFILED] */

static bool ready;
static int key;
static uint32_t offloaded;

/* -- what a unit has ----------------------------------------------------------------------------------------------- */

/* Sources: the headers of MPICH 5.0 and of Open MPI 4.1 and 5.0. Names of C types and of Fortran's, as Open MPI's
   objects are called. */
static struct {
  const char *name;
  uint32_t mpich;
  int number; /* of atomic_table.h */
  uint64_t handle;
} types[] = {{"int", 0x4c000405, exanet_type_i32, 0},           {"unsigned", 0x4c000406, exanet_type_u32, 0},
             {"long", 0x4c000807, exanet_type_i64, 0},          {"unsigned_long", 0x4c000808, exanet_type_u64, 0},
             {"long_long_int", 0x4c000809, exanet_type_i64, 0}, {"unsigned_long_long", 0x4c000819, exanet_type_u64, 0},
             {"float", 0x4c00040a, exanet_type_f32, 0},         {"double", 0x4c00080b, exanet_type_f64, 0},
             {"int32_t", 0x4c000439, exanet_type_i32, 0},       {"int64_t", 0x4c00083a, exanet_type_i64, 0},
             {"uint32_t", 0x4c00043d, exanet_type_u32, 0},      {"uint64_t", 0x4c00083e, exanet_type_u64, 0},
             {"aint", 0x4c000843, exanet_type_i64, 0},          {"offset", 0x4c000844, exanet_type_i64, 0},
             {"count", 0x4c000845, exanet_type_i64, 0},         {"integer", 0x4c00041b, exanet_type_i32, 0},
             {"integer4", 0x4c000430, exanet_type_i32, 0},      {"integer8", 0x4c000831, exanet_type_i64, 0},
             {"real", 0x4c00041c, exanet_type_f32, 0},          {"real4", 0x4c000427, exanet_type_f32, 0},
             {"dblprec", 0x4c00081f, exanet_type_f64, 0},       {"real8", 0x4c000829, exanet_type_f64, 0}},
  operations[] = {{"max", 0x58000001, exanet_op_max, 0}, {"min", 0x58000002, exanet_op_min, 0},
                  {"sum", 0x58000003, exanet_op_sum, 0}, {"band", 0x58000006, exanet_op_band, 0},
                  {"bor", 0x58000008, exanet_op_bor, 0}, {"bxor", 0x5800000a, exanet_op_bxor, 0}};
#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

#define FIND(list, argument, found)              \
  for (size_t i_ = 0; i_ < COUNT_OF(list); i_++) \
    if ((list)[i_].handle != 0 && (list)[i_].handle == exanet_handle_of(argument)) (found) = (list)[i_].number

/* False where the library is to do it. */
static bool find_shape(long count, long type, long operation, int *op, int *element) {
  *op = *element = -1;
  FIND(types, type, *element);
  FIND(operations, operation, *op);
  return *op >= 0 && *element >= 0 && count > 0 && exanet_process_ni() != NULL &&
         exanet_reduction_valid(exanet_process_ni(), *op, *element, (size_t)count) == 0;
}

/* -- trees --------------------------------------------------------------------------------------------------------- */

static int forget(long comm, int of, void *value, void *extra) {
  (void)comm, (void)of, (void)extra;
  struct tree *tree = value;
  if (tree->used && exanet_process_ni() != NULL) {
    exanet_lock();
    exanet_reduction_close(exanet_process_ni(), tree->number);
    exanet_unlock();
  }
  free(tree);
  return 0;
}

/* 1 + the number of the tree that this rank opens for the members; 0: there is none. */
static uint32_t opened(struct exanet_ni *ni, const uint32_t *members, int size) {
  struct exanet_awaited opening = {.poster = exanet_thread_posting()};
  exanet_lock();
  exanet_reduction_open(ni, members, (uint32_t)size, (uint64_t)(uintptr_t)&opening);
  exanet_unlock();
  return exanet_await(&opening) == 0 ? 1 + opening.tree : 0;
}

/* All members of the communicator come here at once, at its first call. */
static int make(struct exanet_ni *ni, long comm, struct tree **made) {
  struct tree *tree = exanet_kept(calloc(1, sizeof *tree));
  exanet_mpi.comm_size(comm, &tree->size);
  exanet_mpi.comm_rank(comm, &tree->rank);
  uint32_t *members = exanet_members_of(comm, tree->size), number = 0;
  int result = 0;
  if (members != NULL) {
    if (tree->rank == 0) number = opened(ni, members, tree->size);
    result = exanet_mpi.bcast(&number, sizeof number, (long)exanet_mpi.byte, 0, comm);
    tree->used = result == 0 && number != 0;
    tree->number = number - 1;
  }
  free(members);
  own.comm_set_attr(comm, key, tree);
  *made = tree;
  return result;
}

/* NULL where the library is to do it, or `result` where that is an error. */
static struct tree *tree_of(enum exn_offload what, long comm, int *result) {
  struct exanet_ni *ni = exanet_process_ni();
  struct tree *tree = NULL;
  int found = 0;
  if (!ready || (offloaded >> what & 1) == 0 || ni == NULL || !exanet_is_virtual(ni) ||
      exanet_handle_of(comm) == exanet_mpi.no_communicator || own.comm_get_attr(comm, key, &tree, &found) != 0)
    return NULL;
  if (!found) *result = make(ni, comm, &tree);
  if (*result != 0) own.comm_call_errhandler(comm, *result);
  return tree->used ? tree : NULL;
}

/* -- calls --------------------------------------------------------------------------------------------------------- */

static int reduce(const struct tree *tree, const char *name, long comm, int op, int element, size_t count,
                  const void *part, void *result) {
  struct exanet_awaited waits = {.poster = exanet_thread_posting()};
  exanet_lock();
  exanet_reduce(exanet_process_ni(), tree->number, op, element, count, part, result, (uint64_t)(uintptr_t)&waits);
  exanet_unlock();
  const int status = exanet_await(&waits), error = status == -EINVAL ? ERR_COUNT : ERR_OTHER;
  if (status == 0) return 0;
  if (status == -EINVAL)
    fprintf(stderr,
            "exanet: rank %d of a communicator of %d: its ranks do not agree in operation, type or count of %s\n",
            tree->rank, tree->size, name);
  else
    fprintf(stderr, "exanet: rank %d of a communicator of %d: %s has failed on the network\n", tree->rank, tree->size,
            name);
  return own.comm_call_errhandler(comm, error), error;
}

/* (sendbuf, recvbuf, count, datatype, op, comm) */
static long allreduce(exanet_mpi_function otherwise, bool large, EXANET_MPI_ARGUMENTS) {
  const long count = large ? a2 : (int)a2;
  int op, element, result = 0;
  if (!ready || !find_shape(count, a3, a4, &op, &element) || a1 == 0 || a1 == exanet_mpi.in_place || a0 == 0 ||
      a0 == a1)
    return otherwise(EXANET_MPI_PASSED);
  const struct tree *tree = tree_of(EXN_OFFLOAD_allreduce, a5, &result);
  if (tree == NULL || result != 0) return result != 0 ? result : otherwise(EXANET_MPI_PASSED);
  const void *part = (const void *)(a0 == exanet_mpi.in_place ? a1 : a0);
  return reduce(tree, "MPI_Allreduce", a5, op, element, (size_t)count, part, (void *)a1);
}

/* (sendbuf, recvbuf, count, datatype, op, root, comm) */
static long reduce_to_one(exanet_mpi_function otherwise, bool large, EXANET_MPI_ARGUMENTS) {
  const long count = large ? a2 : (int)a2;
  const int root = (int)a5;
  int op, element, result = 0;
  if (!ready || !find_shape(count, a3, a4, &op, &element) || a0 == 0) return otherwise(EXANET_MPI_PASSED);
  const struct tree *tree = tree_of(EXN_OFFLOAD_reduce, a6, &result);
  if (tree == NULL || result != 0 || root < 0 || root >= tree->size)
    return result != 0 ? result : otherwise(EXANET_MPI_PASSED);
  uint64_t dropped[EXANET_REDUCTION_MAX / sizeof(uint64_t)];
  const bool mine = root == tree->rank;
  const void *part = (const void *)(mine && a0 == exanet_mpi.in_place ? a1 : a0);
  return reduce(tree, "MPI_Reduce", a6, op, element, (size_t)count, part, mine ? (void *)a1 : dropped);
}

/* (comm) */
static long barrier(exanet_mpi_function otherwise, bool large, EXANET_MPI_ARGUMENTS) {
  (void)large;
  int result = 0;
  const struct tree *tree = ready ? tree_of(EXN_OFFLOAD_barrier, a0, &result) : NULL;
  if (tree == NULL || result != 0) return result != 0 ? result : otherwise(EXANET_MPI_PASSED);
  return reduce(tree, "MPI_Barrier", a0, exanet_op_sum, exanet_type_u32, 0, NULL, NULL);
}

/* No buffer at all, where it is not that the type has addresses of its own: the library says so. */
static bool lacks_buffer(long buffer, long type) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  return buffer == 0 && own.type_envelope(type, &integers, &addresses, &types, &combiner) == 0 &&
         integers + addresses + types == 0;
}

/* (buffer, count, datatype, root, comm). Ranks may describe the same bytes by different types, so these alone
   decide. */
static long broadcast(exanet_mpi_function otherwise, bool large, EXANET_MPI_ARGUMENTS) {
  const long count = large ? a1 : (int)a1;
  const int root = (int)a3;
  int result = 0, at = 0;
  const struct exanet_ni *ni = exanet_process_ni();
  if (!ready || ni == NULL || exanet_handle_of(a2) == exanet_mpi.no_type || count < 0 || count > EXANET_REDUCTION_MAX ||
      lacks_buffer(a0, a2))
    return otherwise(EXANET_MPI_PASSED);
  /* In words of 32 bits. */
  const uint64_t bytes = (uint64_t)count * exanet_type_bytes_of(a2);
  if (bytes == 0 || (bytes + 3) / 4 * 4 > exanet_reduction_max(ni)) return otherwise(EXANET_MPI_PASSED);
  const struct tree *tree = tree_of(EXN_OFFLOAD_bcast, a4, &result);
  if (tree == NULL || result != 0 || root < 0 || root >= tree->size)
    return result != 0 ? result : otherwise(EXANET_MPI_PASSED);
  uint64_t words[EXANET_REDUCTION_MAX / sizeof(uint64_t)] = {0};
  /* A root whose type is none brings nothing, for those who wait for it. */
  const int packed = root == tree->rank ? own.pack((const void *)a0, (int)count, a2, words, sizeof words, &at, a4) : 0;
  if (packed != 0) memset(words, 0, sizeof words);
  result = reduce(tree, "MPI_Bcast", a4, exanet_op_bor, exanet_type_u32, (bytes + 3) / 4, words, words);
  at = 0;
  if (result == 0 && root != tree->rank) result = own.unpack(words, (int)bytes, &at, (void *)a0, (int)count, a2, a4);
  return result != 0 ? result : packed;
}

#define DEFINE_ONE(name, call, variant)                                                             \
  static long name##_##variant(EXANET_MPI_ARGUMENTS) {                                              \
    return call(library[EXN_OFFLOAD_##name][variant], ((variant) & LARGE) != 0, EXANET_MPI_PASSED); \
  }
#define DEFINE(name, call)  \
  DEFINE_ONE(name, call, 0) \
  DEFINE_ONE(name, call, 1) \
  DEFINE_ONE(name, call, 2) \
  DEFINE_ONE(name, call, 3)
DEFINE(allreduce, allreduce)
DEFINE(barrier, barrier)
DEFINE(bcast, broadcast)
DEFINE(reduce, reduce_to_one)

exanet_mpi_function exanet_offload_mended(const char *name, exanet_mpi_function found) {
#define OURS(name) {name##_0, name##_1, name##_2, name##_3},
  static const exanet_mpi_function ours[EXN_OFFLOAD_COUNT][4] = {EXN_OFFLOADS(OURS)};
  static const char *const names[EXN_OFFLOAD_COUNT] = {"MPI_Allreduce", "MPI_Barrier", "MPI_Bcast", "MPI_Reduce"};
  const int profiled = name[0] == 'P' ? PROFILED : 0;
  const char *plain = name + (profiled ? 1 : 0);
  for (int i = 0; i < EXN_OFFLOAD_COUNT; i++) {
    const size_t length = strlen(names[i]);
    if (strncmp(plain, names[i], length) != 0) continue;
    const int large = strcmp(plain + length, "_c") == 0 ? LARGE : 0;
    if (!large && plain[length] != '\0') continue;
    library[i][large | profiled] = found;
    return ours[i][large | profiled];
  }
  return found;
}

/* -- opening and closing ------------------------------------------------------------------------------------------- */

static void name_handles(void *(*find)(const char *name)) {
  char name[64];
  const bool open_mpi = exanet_mpi.kind == EXANET_TRACE_OPEN_MPI;
#define NAME(list, prefix)                                                                              \
  for (size_t i = 0; i < COUNT_OF(list); i++) {                                                         \
    snprintf(name, sizeof name, prefix "%s", (list)[i].name);                                           \
    (list)[i].handle = open_mpi ? (uint64_t)(uintptr_t)exanet_mpi_object(name, find) : (list)[i].mpich; \
  }
  NAME(types, "ompi_mpi_")
  NAME(operations, "ompi_mpi_op_")
}

void exanet_offload_open(struct exanet_ni *ni, void *(*find)(const char *name)) {
  offloaded = exanet_offloaded(ni);
  if (offloaded == 0) return;
  const char *why = exanet_mpi_find_out(find);
  const struct exanet_wanted wanted[] = {{"PMPI_Pack", &own.pack},
                                         {"PMPI_Unpack", &own.unpack},
                                         {"PMPI_Type_get_envelope", &own.type_envelope},
                                         {"PMPI_Comm_create_keyval", &own.comm_create_keyval},
                                         {"PMPI_Comm_set_attr", &own.comm_set_attr},
                                         {"PMPI_Comm_get_attr", &own.comm_get_attr},
                                         {"PMPI_Comm_delete_attr", &own.comm_delete_attr},
                                         {"PMPI_Comm_call_errhandler", &own.comm_call_errhandler},
                                         {0}};
  if (why == NULL && !(exanet_mpi_functions(find, wanted) && exanet_waits_open(find)))
    why = "its MPI library lacks functions that offloaded collectives take";
  if (why != NULL) {
    if (exanet_rank(ni) == 0) fprintf(stderr, "exanet: --offload is not for this program: %s\n", why);
    _exit(2);
  }
  name_handles(find);
  exanet_members_open();
  own.comm_create_keyval(exanet_copy_none, forget, &key, NULL);
  struct tree *tree;
  ready = make(ni, (long)exanet_mpi.world, &tree) == 0;
}

void exanet_offload_close(void) {
  if (!ready) return;
  ready = false;
  own.comm_delete_attr((long)exanet_mpi.world, key);
  exanet_waits_close();
}
