/* SPDX-License-Identifier: Apache-2.0
 * One-sided calls, whose results each rank prints: with the program's MPI library they must be the same.
 *
 * usage: simulated_windows [operations|types|epochs|shared], without arguments all. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "simulated.h"

#define WIDTH 12

static void print_bits(const char *what, const void *data, size_t bytes) {
  uint64_t hash = 1469598103934665603u;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
  printf("%s rank %d: %016llx\n", what, rank, (unsigned long long)hash);
}

/* -- operations ---------------------------------------------------------------------------------------------------- */

struct typed {
  const char *name;
  MPI_Datatype type;
  size_t bytes, used; /* used: of each element; the rest is padding */
  void (*set)(void *at, int value);
};
#define SETTER(name, type) \
  static void set_##name(void *at, int value) { *(type *)at = (type)value; }
SETTER(int8, int8_t)
SETTER(uint16, uint16_t)
SETTER(int, int)
SETTER(long, long)
SETTER(uint64, uint64_t)
SETTER(complex, double complex)
static void set_float(void *at, int value) {
  *(float *)at = value % 5 == 4 ? NAN : value % 5 == 3 ? -0.0f : (float)value / 3;
}
static void set_double(void *at, int value) {
  *(double *)at = value % 5 == 4 ? -0.0 : value % 5 == 3 ? 0.0 : (double)value / 7;
}
static void set_longer(void *at, int value) { *(long double *)at = (long double)value / 3; }
static void set_pair(void *at, int value) { ((int *)at)[0] = value % 3, ((int *)at)[1] = value; }
struct double_int {
  double value;
  int index;
};
static void set_double_int(void *at, int value) {
  *(struct double_int *)at = (struct double_int){value % 4 / 8.0, value};
}
struct short_int {
  short value;
  int index;
};
static void set_short_int(void *at, int value) {
  *(struct short_int *)at = (struct short_int){(short)(value % 2), value};
}

static const MPI_Op operations[] = {MPI_MAX, MPI_MIN,  MPI_SUM,  MPI_PROD,   MPI_LAND,   MPI_BAND,    MPI_LOR,
                                    MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP};

/* Whether the operation takes the type: the library says. */
static int takes(const struct typed *t, MPI_Op op) {
  char in[32] = {0}, inout[32] = {0};
  if (op == MPI_REPLACE || op == MPI_NO_OP) return 1;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int error = MPI_Reduce_local(in, inout, 1, t->type, op);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  return error == MPI_SUCCESS;
}

/* All elements, so that padding does not count. */
static uint64_t sum_of(const struct typed *t, const char *data) {
  uint64_t hash = 7;
  for (int i = 0; i < WIDTH; i++)
    for (size_t k = 0; k < t->bytes; k++) {
      const int pads = t->type == MPI_DOUBLE_INT    ? k >= 12
                       : t->type == MPI_SHORT_INT   ? k == 2 || k == 3
                       : t->type == MPI_LONG_DOUBLE ? k >= 10
                                                    : 0;
      if (!pads) hash = hash * 31 + (unsigned char)data[(size_t)i * t->bytes + k];
    }
  return hash;
}

static void one_type(const struct typed *t) {
  const int right = (rank + 1) % size;
  char *memory, *mine = calloc(WIDTH, t->bytes), *old = calloc(WIDTH, t->bytes);
  MPI_Win win;
  MPI_Win_allocate(WIDTH * (MPI_Aint)t->bytes, (int)t->bytes, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (size_t o = 0; o < sizeof operations / sizeof operations[0]; o++) {
    if (!takes(t, operations[o])) continue;
    memset(memory, 0, WIDTH * t->bytes);
    for (int i = 0; i < WIDTH; i++) {
      t->set(memory + (size_t)i * t->bytes, 3 * i + rank);
      t->set(mine + (size_t)i * t->bytes, 5 * i + 2 * rank + 1);
    }
    MPI_Win_fence(0, win);
    MPI_Get_accumulate(mine, WIDTH, t->type, old, WIDTH, t->type, right, 0, WIDTH, t->type, operations[o], win);
    MPI_Win_fence(0, win);
    const uint64_t first = sum_of(t, memory), fetched = sum_of(t, old);
    if (operations[o] != MPI_NO_OP)
      MPI_Accumulate(mine, WIDTH - 1, t->type, right, 1, WIDTH - 1, t->type, operations[o], win);
    MPI_Win_fence(0, win);
    MPI_Fetch_and_op(mine, old, t->type, right, 2, operations[o], win);
    MPI_Win_fence(0, win);
    printf("%s, operation %zu, rank %d: %llx %llx %llx %llx\n", t->name, o, rank, (unsigned long long)first,
           (unsigned long long)fetched, (unsigned long long)sum_of(t, memory), (unsigned long long)sum_of(t, old));
  }
  MPI_Win_free(&win);
  free(mine);
  free(old);
}

static void all_operations(void) {
  const struct typed types[] = {
      {"int8", MPI_INT8_T, 1, 1, set_int8},
      {"uint16", MPI_UINT16_T, 2, 2, set_uint16},
      {"int", MPI_INT, 4, 4, set_int},
      {"long", MPI_LONG, 8, 8, set_long},
      {"uint64", MPI_UINT64_T, 8, 8, set_uint64},
      {"float", MPI_FLOAT, 4, 4, set_float},
      {"double", MPI_DOUBLE, 8, 8, set_double},
      {"long double", MPI_LONG_DOUBLE, 16, 10, set_longer},
      {"complex", MPI_C_DOUBLE_COMPLEX, 16, 16, set_complex},
      {"pair", MPI_2INT, 8, 8, set_pair},
      {"double and int", MPI_DOUBLE_INT, 16, 12, set_double_int},
      {"short and int", MPI_SHORT_INT, 8, 6, set_short_int},
  };
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) one_type(&types[i]);
}

/* -- datatypes ----------------------------------------------------------------------------------------------------- */

static void all_types(void) {
  const int right = (rank + 1) % size;
  int memory[600], mine[600], got[600];
  MPI_Win win;
  MPI_Datatype column, blocks, backwards, resized;
  MPI_Type_vector(20, 2, 5, MPI_INT, &column);
  MPI_Type_indexed(3, (int[]){4, 1, 7}, (int[]){30, 3, 11}, MPI_INT, &blocks);
  MPI_Type_create_indexed_block(4, 1, (int[]){3, 2, 1, 0}, MPI_INT, &backwards);
  MPI_Type_create_resized(column, 0, 440, &resized);
  MPI_Datatype *const types[] = {&column, &blocks, &backwards, &resized};
  const int counts[] = {40, 12, 4, 40};
  MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  for (int t = 0; t < 4; t++) {
    MPI_Type_commit(types[t]);
    for (int i = 0; i < 600; i++) memory[i] = -1 - i - rank, mine[i] = 1000 * rank + i, got[i] = 0;
    MPI_Win_fence(0, win);
    MPI_Put(mine, counts[t], MPI_INT, right, 7, 1, *types[t], win); /* gaps there */
    MPI_Win_fence(0, win);
    print_bits("put into a type", memory, sizeof memory);
    MPI_Win_fence(0, win);
    MPI_Put(mine, 1, *types[t], right, 300, counts[t], MPI_INT, win); /* gaps here */
    MPI_Win_fence(0, win);
    print_bits("put of a type", memory, sizeof memory);
    MPI_Get(got, 1, *types[t], right, 10, counts[t], MPI_INT, win);
    MPI_Get(got + 300, counts[t], MPI_INT, right, 3, 1, *types[t], win);
    MPI_Win_fence(0, win);
    print_bits("get", got, sizeof got);
    MPI_Accumulate(mine, 1, *types[t], right, 5, 1, *types[t], MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Get_accumulate(mine, 1, *types[t], got, counts[t], MPI_INT, right, 100, 1, *types[t], MPI_MAX, win);
    MPI_Win_fence(0, win);
    print_bits("accumulated", memory, sizeof memory);
    print_bits("fetched", got, sizeof got);
  }
  MPI_Win_free(&win);
  for (int t = 0; t < 4; t++) MPI_Type_free(types[t]);
}

/* -- epochs -------------------------------------------------------------------------------------------------------- */

static void counter(void) {
  long *memory, one = 1, mine = 0, sum = 0;
  MPI_Win win;
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  *memory = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 6; i++) { /* all add to all, under a lock of each */
    const int to = (rank + i) % size;
    long value = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
    MPI_Get(&value, 1, MPI_LONG, to, 0, 1, MPI_LONG, win);
    MPI_Win_flush(to, win);
    value += 1;
    MPI_Put(&value, 1, MPI_LONG, to, 0, 1, MPI_LONG, win);
    MPI_Win_unlock(to, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  mine = *memory;
  MPI_Win_unlock(rank, win);
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == 6L * size);
  MPI_Win_lock_all(0, win);
  long old = -1;
  MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, win);
  MPI_Win_flush_local_all(win);
  CHECK(old >= 0 && old < 6L * size + size);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

/* The last rank makes a communicator, which waits for all, while the others still access its window. */
static void elsewhere(void) {
  int *memory, one = 1;
  const int last = size - 1;
  MPI_Comm comm;
  MPI_Win win;
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  *memory = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 3 && rank != last; i++) {
    MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
    MPI_Accumulate(&one, 1, MPI_INT, last, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock(last, win);
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  CHECK(rank != last || *memory == 3 * last);
  MPI_Comm_free(&comm);
  MPI_Win_free(&win);
}

static void requests(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  long memory[4000], mine[4000], got[4000];
  MPI_Win win;
  MPI_Request all[3];
  MPI_Status statuses[3];
  for (int i = 0; i < 4000; i++) memory[i] = i + rank, mine[i] = -i - rank, got[i] = 0;
  MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  MPI_Rget(got, 2000, MPI_LONG, right, 2000, 2000, MPI_LONG, win, &all[0]);
  MPI_Rput(mine, 100, MPI_LONG, right, 0, 100, MPI_LONG, win, &all[1]);
  MPI_Raccumulate(mine, 100, MPI_LONG, right, 200, 100, MPI_LONG, MPI_SUM, win, &all[2]);
  MPI_Waitall(3, all, statuses);
  for (int i = 0; i < 2000; i++) CHECK(got[i] == 2000 + i + right);
  MPI_Rget_accumulate(mine, 50, MPI_LONG, got, 50, MPI_LONG, right, 1000, 50, MPI_LONG, MPI_REPLACE, win, &all[0]);
  MPI_Rget(got, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win, &all[1]);
  MPI_Wait(&all[1], MPI_STATUS_IGNORE);
  int done = 0;
  while (!done) MPI_Test(&all[0], &done, MPI_STATUS_IGNORE);
  for (int i = 0; i < 50; i++) CHECK(got[i] == 1000 + i + right);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 100; i++) CHECK(memory[i] == -i - left);
  for (int i = 0; i < 100; i++) CHECK(memory[200 + i] == 200 + i + rank - i - left);
  for (int i = 0; i < 50; i++) CHECK(memory[1000 + i] == -i - left);
  MPI_Win_free(&win);
}

/* Halves of a group that post and start; the other half of the world is on a communicator of its own. */
static void exposures(void) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  int n, me;
  MPI_Comm_size(half, &n);
  MPI_Comm_rank(half, &me);
  int memory[8] = {0}, value = 100 + rank, flag = 0;
  MPI_Win win;
  MPI_Group group, before, behind;
  MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, half, &win);
  MPI_Comm_group(half, &group);
  MPI_Group_incl(group, 1, (int[]){(me + 1) % n}, &behind);
  MPI_Group_incl(group, 1, (int[]){(me + n - 1) % n}, &before);
  for (int i = 0; i < 8; i++) {
    MPI_Win_post(before, 0, win);
    MPI_Win_start(behind, 0, win);
    MPI_Put(&value, 1, MPI_INT, (me + 1) % n, i, 1, MPI_INT, win);
    MPI_Accumulate(&value, 1, MPI_INT, (me + 1) % n, i, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_complete(win);
    if (i % 2 == 0)
      MPI_Win_wait(win);
    else
      for (flag = 0; !flag;) MPI_Win_test(win, &flag);
  }
  print_bits("exposed", memory, sizeof memory);
  MPI_Win_free(&win);
  MPI_Group_free(&group), MPI_Group_free(&before), MPI_Group_free(&behind);
  MPI_Comm_free(&half);
}

static void errors(void) {
  int memory[4] = {0}, value = 1, class = 0;
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  int found[] = {MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win),
                 MPI_Win_unlock(0, win),
                 MPI_Win_complete(win),
                 MPI_Win_flush(0, win),
                 MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win),
                 MPI_Get(NULL, -1, MPI_INT, 0, 0, 1, MPI_INT, win)};
  for (int i = 0; i < 6; i++) {
    MPI_Error_class(found[i], &class);
    printf("error %d, rank %d: %d\n", i, rank, class);
  }
  MPI_Win_free(&win);
}

static void epochs(void) {
  counter();
  elsewhere();
  requests();
  exposures();
  errors();
}

static void shared(void) {
  int *mine, *first, unit, flavor_is, *flavor;
  MPI_Aint bytes;
  MPI_Comm node;
  MPI_Win win, dynamic;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int n, me;
  MPI_Comm_size(node, &n);
  MPI_Comm_rank(node, &me);
  MPI_Win_allocate_shared(4 * sizeof *mine, sizeof *mine, MPI_INFO_NULL, node, &mine, &win);
  MPI_Win_shared_query(win, 0, &bytes, &unit, &first);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < 4; i++) mine[i] = rank;
  MPI_Win_sync(win);
  MPI_Barrier(node);
  const int one = 10;
  MPI_Accumulate(&one, 1, MPI_INT, (me + 1) % n, 2, 1, MPI_INT, MPI_SUM, win);
  MPI_Win_flush_all(win);
  MPI_Barrier(node);
  MPI_Win_sync(win);
  MPI_Win_unlock_all(win);
  print_bits("shared", mine, 4 * sizeof *mine);
  if (me == 0) print_bits("of all", first, 4 * sizeof *mine * (size_t)n);
  MPI_Win_free(&win);
  MPI_Comm_free(&node);
  int attached[16] = {0};
  MPI_Aint here, there;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
  MPI_Win_get_attr(dynamic, MPI_WIN_CREATE_FLAVOR, &flavor, &flavor_is);
  CHECK(flavor_is && *flavor == MPI_WIN_FLAVOR_DYNAMIC);
  MPI_Win_attach(dynamic, attached, sizeof attached);
  MPI_Get_address(attached, &here);
  MPI_Sendrecv(&here, 1, MPI_AINT, (rank + size - 1) % size, 0, &there, 1, MPI_AINT, (rank + 1) % size, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_fence(0, dynamic);
  MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, MPI_Aint_add(there, 12), 1, MPI_INT, dynamic);
  MPI_Win_fence(0, dynamic);
  print_bits("dynamic", attached, sizeof attached);
  MPI_Win_detach(dynamic, attached);
  MPI_Win_free(&dynamic);
}

int main(int argc, char **argv) {
  const char *part = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!part[0] || strcmp(part, "operations") == 0) all_operations();
  if (!part[0] || strcmp(part, "types") == 0) all_types();
  if (!part[0] || strcmp(part, "epochs") == 0) epochs();
  if (!part[0] || strcmp(part, "shared") == 0) shared();
  MPI_Finalize();
  return 0;
}
