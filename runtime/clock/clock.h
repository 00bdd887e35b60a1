/* SPDX-License-Identifier: Apache-2.0
 * What the parts of the clock shim share. */
#ifndef EXANET_CLOCK_CLOCK_H
#define EXANET_CLOCK_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exanet/mpi_calls.h"
#include "runtime/lib/internal.h"

#define EXPORT __attribute__((visibility("default")))
#define PS_PER_NS UINT64_C(1000)
#define PS_PER_US UINT64_C(1000000)
#define PS_PER_MS UINT64_C(1000000000)
#define PS_PER_S UINT64_C(1000000000000)

/* Readings of clocks at the program's time 0, in seconds, in every rank of every run: those of the date (2026-01-01
 * in UTC), and those that count from the machine's start. Far enough apart that a deadline shows by its size which
 * kind of clock it was made from. */
#define EXANET_EPOCH_S INT64_C(1767225600)
#define EXANET_BOOT_S INT64_C(1000)

/* The shim is loaded before the program starts, so its thread-local state fits the static block: one instruction to
 * read, and no allocation on the first access (clock_gettime must not allocate). */
#define SHIM_TLS static __thread __attribute__((tls_model("initial-exec")))

/* The interface, if this is one of the program's threads in the virtual phase; else NULL and clocks are the
   system's. */
static inline struct exanet_ni *exanet_virtual_ni(void) {
  if (exanet_helper_thread) return NULL;
  struct exanet_ni *ni = exanet_process_ni();
  return ni != NULL && exanet_is_virtual(ni) ? ni : NULL;
}

/* -- now.c: the time that the program sees ------------------------------------------------------------------------- */
/* Whether the calling thread's clocks are the program's, not the system's. */
bool exanet_in_program_time(void);
/* The program's time: picoseconds since the process began. */
uint64_t exanet_now_ps(void);
/* Outside virtual time: a sleep or wait is over that lasted until this point of the program's time. */
void exanet_passed_until(uint64_t ps);
/* The part of the program's time that is not the rank's clock: at least so much. */
void exanet_still_until(uint64_t ps);
/* In a forked child: its time goes on at the system's rate. Before the interface is forgotten. */
void exanet_now_in_child(void);
bool exanet_in_child(void);
/* The system's monotonic clock. */
uint64_t exanet_system_ps(void);

/* Whether the code at `address` is in a library whose file's name begins so. */
bool exanet_is_in_library(const void *address, const char *name);

/* The MPI library's own function, or NULL when it has none of that name. */
void *exanet_mpi_real(const char *name);
/* The same, kept in *slot; where there is none the process ends. */
void *exanet_mpi_own(void **slot, const char *name);
/* A function of the OpenMP library, likewise. */
void *exanet_openmp_own(void **slot, const char *name);
/* A function of the library by which Open MPI speaks with its launcher. */
void *exanet_launcher_real(const char *name);

/* Defines MPI_<name> and PMPI_<name>, each in front of the next definition of its own name: the value is that of an
   expression with `real`. */
#define EXANET_BOTH_NAMES(name, type, result, parameters, ...) \
  EXPORT result MPI_##name parameters;                         \
  EXPORT result PMPI_##name parameters;                        \
  EXPORT result MPI_##name parameters {                        \
    static void *slot;                                         \
    type real = (type)exanet_mpi_own(&slot, "MPI_" #name);     \
    return __VA_ARGS__;                                        \
  }                                                            \
  EXPORT result PMPI_##name parameters {                       \
    static void *slot;                                         \
    type real = (type)exanet_mpi_own(&slot, "PMPI_" #name);    \
    return __VA_ARGS__;                                        \
  }

/* `found`, or what stands in its place: where the library has a defect (mends.c), and where the run chose the tree
   of broadcasts. */
exanet_mpi_function exanet_mended(const char *name, exanet_mpi_function found);

/* What carries the program's calls out in the library's place; NULL: the library. (calls.c) */
typedef long (*exanet_mpi_instead_function)(struct exanet_ni *ni, uint32_t call, exanet_mpi_function real, bool large,
                                            const long *arguments);
extern exanet_mpi_instead_function exanet_mpi_instead;

/* The calling thread is outside MPI in a rank whose threads take turns inside. */
static inline bool exanet_may_hand_turn_on(void) {
  if (exanet_mpi_depth > 0) return false;
  const struct exanet_ni *ni = exanet_virtual_ni();
  return ni != NULL && exanet_takes_turns(ni);
}
/* The value of a call that may sleep until another thread does something. */
#define EXANET_ASLEEP(call)      \
  ({                             \
    exanet_thread_blocks(true);  \
    const int status_ = (call);  \
    exanet_thread_blocks(false); \
    status_;                     \
  })

/* -- users.c: virtual time begins with the first of its users and ends with the last ------------------------------- */
/* A library of this process has set itself up. The interface if it is the first, with the users locked until
   exanet_users_done(); NULL: virtual time has begun with another one, or this is no run. */
struct exanet_ni *exanet_users_add(const char *library);
/* All ranks meet, and virtual time begins. */
void exanet_users_start(struct exanet_ni *ni);
/* One is about to end. The interface if it is the last, likewise. */
struct exanet_ni *exanet_users_remove(void);
void exanet_users_done(void);
/* Ranks have died with their hosts: a library's shut-down would wait for them, and is left out. */
EXPORT bool exanet_users_lost_ranks(void);

/* A library other than MPI: around its own set-up, whether that went well, and around its own end. */
EXPORT void exanet_library_begins(void);
EXPORT void exanet_library_has_begun(const char *library, bool well);
EXPORT void exanet_library_ends(void);
EXPORT void exanet_library_has_ended(void);
EXPORT void exanet_library_aborts(int code);
/* A function of an OpenSHMEM library, as exanet_mpi_own() finds one of MPI's. */
EXPORT void *exanet_shmem_own(void **slot, const char *name);

/* Called by the wrappers of the same names, which stand in a shared object of their own (runtime/sessions). */
EXPORT int exanet_session_init(const char *name, long info, long errhandler, void *session);
EXPORT int exanet_session_finalize(const char *name, void *session);

/* Called by the wrappers that stand in shared objects of their own (runtime/lists, runtime/persistent), with as many
 * arguments as the longest call has. `large`: its counts are MPI_Count. */
EXPORT long exanet_call_beside(void **slot, const char *name, uint32_t call, enum exanet_call_kind kind, bool large,
                               const long *arguments);

/* The MPI library granted MPI_THREAD_MULTIPLE. */
void exanet_note_thread_multiple(struct exanet_ni *ni);
#endif
