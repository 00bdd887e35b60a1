/* SPDX-License-Identifier: Apache-2.0
 * Wrappers of the MPI calls: who calls what for how long, and whether the call only asks (exanet/mpi_calls.h).
 *
 * Every argument of these functions is an integer or a pointer, and so is every result. The x86-64 System V
 * convention passes such arguments in six registers and then in 8-byte stack slots, the caller cleaning up, whatever
 * their widths; so one wrapper shape with as many `long` arguments as the longest call has (MPI_Rget_accumulate: 13)
 * passes any of them on unchanged. Reading stack slots that the caller did not fill is harmless. The same holds for
 * the results: the high half of %rax is passed on as found.
 *
 * MPI_X and PMPI_X are wrapped apart, each in front of the next definition of its own name, so that a PMPI tool
 * between the program and the library works as without us; Fortran's entry points end in one of the two. Only the
 * outermost call of a thread counts.
 *
 * Large-count variants with arrays of counts (MPI_Gatherv_c …) are in runtime/lists, MPI 4's persistent collectives
 * in runtime/persistent; those that Open MPI 4 has under names of its own (MPIX_Bcast_init …), which nobody probes
 * for by weak symbols, are here.
 *
 * Limit: other functions that not every supported MPI has (MPI 4's partitioned calls) are not wrapped; they work and
 * take time, but do not show in the profile. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "exanet/mpi_calls.h"
#include "runtime/record/record.h"

_Static_assert(EXANET_MPI_CALL_COUNT <= EXANET_MPI_CALLS, "the region's profile has too few rows");

#define ARGUMENTS EXANET_MPI_ARGUMENTS
#define PASSED EXANET_MPI_PASSED
typedef exanet_mpi_function mpi_function;

static mpi_function find_or_die(const char *name) {
  mpi_function found = (mpi_function)exanet_mpi_real(name);
  if (found == NULL) {
    fprintf(stderr, "exanet: this process called %s, but no MPI library in it has that function\n", name);
    abort();
  }
  return exanet_mended(name, found);
}

static inline mpi_function resolve(mpi_function *slot, const char *name) {
  mpi_function found = __atomic_load_n(slot, __ATOMIC_RELAXED);
  if (__builtin_expect(found == NULL, 0)) {
    found = find_or_die(name);
    __atomic_store_n(slot, found, __ATOMIC_RELAXED);
  }
  return found;
}

exanet_mpi_instead_function exanet_mpi_instead;

/* The library's function, or one of ours in front of it; not that of a tool, which calls the library in its turn. */
static bool is_library(enum exanet_mpi_call call, const void *function) {
  static const void *known[EXANET_MPI_CALL_COUNT];
  if (function == __atomic_load_n(&known[call], __ATOMIC_RELAXED)) return true;
  if (!exanet_is_in_library(function, "libmpi") && !exanet_is_in_library(function, "libexanet-fi")) return false;
  __atomic_store_n(&known[call], function, __ATOMIC_RELAXED);
  return true;
}

/* Beside the call itself, which `carry_out` stands for: its times and, where calls are recorded, its record. */
#define RECORDED(carry_out)                                                                      \
  struct exanet_recorded_call recorded = {.call = call, .large = large, .arguments = arguments}; \
  exanet_uncounted_begin(ni);                                                                    \
  exanet_record_prepare(ni, &recorded);                                                          \
  exanet_uncounted_end(ni);                                                                      \
  exanet_mpi_enter(ni, call, kind);                                                              \
  exanet_record_begins(ni, &recorded);                                                           \
  const long result = carry_out;                                                                 \
  exanet_mpi_leave(ni, call, kind);                                                              \
  exanet_uncounted_begin(ni);                                                                    \
  exanet_record_ends(ni, &recorded, (int)result);                                                \
  exanet_uncounted_end(ni);                                                                      \
  return result;

static __attribute__((noinline)) long pass_recorded(struct exanet_ni *ni, mpi_function real, enum exanet_mpi_call call,
                                                    enum exanet_call_kind kind, bool large, ARGUMENTS) {
  const long arguments[] = {PASSED};
  RECORDED(real(PASSED))
}

static long carry_out_recorded(struct exanet_ni *ni, mpi_function real, enum exanet_mpi_call call,
                               enum exanet_call_kind kind, bool large, const long *arguments) {
  RECORDED(exanet_mpi_instead(ni, call, real, large, arguments))
}

static long carry_out(struct exanet_ni *ni, mpi_function real, enum exanet_mpi_call call, enum exanet_call_kind kind,
                      bool large, const long *arguments) {
  exanet_mpi_enter(ni, call, kind);
  const long result = exanet_mpi_instead(ni, call, real, large, arguments);
  exanet_mpi_leave(ni, call, kind);
  return result;
}

/* The call, carried out by the simulator; what a tool calls in its turn is. */
static __attribute__((noinline)) long pass_simulated(struct exanet_ni *ni, mpi_function real, enum exanet_mpi_call call,
                                                     enum exanet_call_kind kind, bool large, ARGUMENTS) {
  const long arguments[] = {PASSED};
  if (!is_library(call, (const void *)real)) return real(PASSED);
  exanet_mpi_depth = 1;
  if (kind == EXANET_CALL_TEST) exanet_testing_begin();
  const long result =
      (__builtin_expect(exanet_recording, 0) ? carry_out_recorded : carry_out)(ni, real, call, kind, large, arguments);
  if (kind == EXANET_CALL_TEST) exanet_testing_end();
  exanet_uncount(ni); /* what the simulator has charged is all: it ran here meanwhile, or other ranks did */
  exanet_mpi_depth = 0;
  return result;
}

static inline __attribute__((always_inline)) long pass(mpi_function real, enum exanet_mpi_call call,
                                                       enum exanet_call_kind kind, bool large, ARGUMENTS) {
  struct exanet_ni *ni = exanet_mpi_depth == 0 ? exanet_virtual_ni() : NULL;
  if (ni == NULL) {
    exanet_mpi_depth++;
    long result = real(PASSED);
    exanet_mpi_depth--;
    return result;
  }
  if (__builtin_expect(exanet_mpi_instead != NULL, 0)) return pass_simulated(ni, real, call, kind, large, PASSED);
  exanet_mpi_depth = 1;
  if (kind == EXANET_CALL_TEST) exanet_testing_begin();
  long result;
  if (__builtin_expect(exanet_recording, 0)) {
    result = pass_recorded(ni, real, call, kind, large, PASSED);
  } else {
    exanet_mpi_enter(ni, call, kind);
    result = real(PASSED);
    exanet_mpi_leave(ni, call, kind);
  }
  if (kind == EXANET_CALL_TEST) exanet_testing_end();
  exanet_mpi_depth = 0;
  return result;
}

/* The function to call for MPI_<name>_c. An MPI older than version 4 has none, and a program that found ours by a
 * weak symbol may still call it: the plain function serves, since it takes the same arguments as long as the counts
 * fit an int. */
struct large_count {
  mpi_function real, plain;
  int sought;
};
#define MPI_ERR_COUNT_CLASS 2 /* the same value in MPICH and Open MPI */

static mpi_function resolve_large(struct large_count *slot, const char *name, const char *plain) {
  if (__atomic_load_n(&slot->sought, __ATOMIC_ACQUIRE)) return slot->real;
  slot->real = (mpi_function)exanet_mpi_real(name);
  if (slot->real == NULL)
    slot->plain = find_or_die(plain);
  else
    slot->real = exanet_mended(name, slot->real);
  __atomic_store_n(&slot->sought, 1, __ATOMIC_RELEASE);
  return slot->real;
}

static int counts_fit(unsigned counts, const long *arguments) {
  for (unsigned i = 0; counts >> i != 0; i++)
    if ((counts >> i & 1u) && (arguments[i] > INT_MAX || arguments[i] < INT_MIN)) return 0;
  return 1;
}

static long call_large(struct large_count *slot, const char *name, const char *plain, enum exanet_mpi_call call,
                       enum exanet_call_kind kind, unsigned counts, ARGUMENTS) {
  mpi_function real = resolve_large(slot, name, plain);
  if (real == NULL) {
    const long arguments[] = {PASSED};
    if (!counts_fit(counts, arguments)) return MPI_ERR_COUNT_CLASS;
    real = slot->plain;
  }
  return pass(real, call, kind, true, PASSED);
}

long exanet_call_beside(void **slot, const char *name, uint32_t call, enum exanet_call_kind kind, bool large,
                        const long *a) {
  return pass(resolve((mpi_function *)slot, name), call, kind, large, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7],
              a[8], a[9], a[10], a[11], a[12]);
}

#define WRAP(symbol, name, kind)                                                  \
  EXPORT long symbol(ARGUMENTS);                                                  \
  EXPORT long symbol(ARGUMENTS) {                                                 \
    static mpi_function real;                                                     \
    return pass(resolve(&real, #symbol), EXANET_MPI_##name, kind, false, PASSED); \
  }
#define WRAP_LARGE(symbol, plain, name, kind, counts)                                   \
  EXPORT long symbol(ARGUMENTS);                                                        \
  EXPORT long symbol(ARGUMENTS) {                                                       \
    static struct large_count slot;                                                     \
    return call_large(&slot, #symbol, #plain, EXANET_MPI_##name, kind, counts, PASSED); \
  }

#define WRAP_BOTH(name, kind)  \
  WRAP(MPI_##name, name, kind) \
  WRAP(PMPI_##name, name, kind)
#define WRAP_BOTH_LARGE(name, kind, counts)                  \
  WRAP_BOTH(name, kind)                                      \
  WRAP_LARGE(MPI_##name##_c, MPI_##name, name, kind, counts) \
  WRAP_LARGE(PMPI_##name##_c, PMPI_##name, name, kind, counts)
#define DEFINE_PLAIN(name, counts) WRAP_BOTH(name, EXANET_CALL_PLAIN)
#define DEFINE_BLOCKING(name, counts) WRAP_BOTH(name, EXANET_CALL_BLOCKING)
#define DEFINE_TEST(name, counts) WRAP_BOTH(name, EXANET_CALL_TEST)
#define DEFINE_IMMEDIATE(name, counts) WRAP_BOTH(name, EXANET_CALL_IMMEDIATE)
#define DEFINE_ONE_SIDED(name, counts) WRAP_BOTH(name, EXANET_CALL_ONE_SIDED)
#define DEFINE_PLAIN_LARGE(name, counts) WRAP_BOTH_LARGE(name, EXANET_CALL_PLAIN, counts)
#define DEFINE_BLOCKING_LARGE(name, counts) WRAP_BOTH_LARGE(name, EXANET_CALL_BLOCKING, counts)
#define DEFINE_IMMEDIATE_LARGE(name, counts) WRAP_BOTH_LARGE(name, EXANET_CALL_IMMEDIATE, counts)
#define DEFINE_ONE_SIDED_LARGE(name, counts) WRAP_BOTH_LARGE(name, EXANET_CALL_ONE_SIDED, counts)
#define DEFINE_PERSISTENT(name, counts)          \
  WRAP(MPIX_##name, name, EXANET_CALL_IMMEDIATE) \
  WRAP(PMPIX_##name, name, EXANET_CALL_IMMEDIATE)
#define DEFINE_NEWER(name, counts) /* runtime/persistent */
#define DEFINE_OWN(name, counts) /* phases.c */
#define DEFINE(name, kind, counts) DEFINE_##kind(name, counts)
EXANET_MPI_CALL_LIST(DEFINE)
