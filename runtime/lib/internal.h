/* SPDX-License-Identifier: Apache-2.0
 * What the clock shim and the provider may ask of libexanet beyond its public interface. Same shared object, so no ABI promise. */
#ifndef EXANET_LIB_INTERNAL_H
#define EXANET_LIB_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "exanet/exanet.h"

/* The process's interface if it is open, or NULL. Never opens it. */
struct exanet_ni *exanet_process_ni(void);

/* Inside MPI_Test, MPI_Iprobe and their kin an empty poll costs one short fixed step instead of waiting for the next arrival. Nests; per thread. */
void exanet_testing_begin(void);
void exanet_testing_end(void);

/* Profile of MPI calls: `call` is an index into the shim's table of names (< EXANET_MPI_CALLS). Nested calls count for the outermost. */
#define EXANET_MPI_CALLS 192
void exanet_mpi_enter(struct exanet_ni *ni, uint32_t call);
void exanet_mpi_leave(struct exanet_ni *ni, uint32_t call);

/* The program asked for several threads (MPI_THREAD_MULTIPLE or FI_THREAD_SAFE): polls then yield to the process's other threads. */
void exanet_set_multithreaded(struct exanet_ni *ni);

/* With several threads: the calling thread spins inside MPI and has nothing to do until something arrives. */
void exanet_thread_spins(struct exanet_ni *ni);
/* The calling thread waits for the interface's lock in order to look for completions. */
void exanet_thread_at_lock(bool at_lock);
/* Whether the last poll returned nothing because other threads have work: whoever polled then steps aside, without the interface's lock,
 * which is what they may be waiting for. Yields, or after some times in vain sleeps for a moment of real time. */
bool exanet_others_first(struct exanet_ni *ni);
void exanet_step_aside(void);
/* Whether another thread of this process computes or is in an MPI call; costs some microseconds. */
int exanet_other_threads_busy(void);

/* Clock reads: returns the virtual clock in ps; after 1000 reads in a row without any other libexanet call each read adds 100 ns,
 * so that a program that spins on the clock gets on. */
uint64_t exanet_clock_read(struct exanet_ni *ni);

/* Nanoseconds since the epoch that the virtual clock's zero stands for (the same in every rank of a run, fixed: runs must repeat). */
#define EXANET_EPOCH_S 1700000000

/* MPI_Abort(code) was called: tells the simulator, which ends the run and reports it. */
void exanet_abort(struct exanet_ni *ni, int code);

/* A forked child is no rank: drops the interface without touching the region. exanet_process_ni() returns NULL in this process from then on. */
void exanet_forget(void);

/* How many threads the program has created itself; 0: its main thread is alone, but for those of its libraries. (runtime/clock) */
int exanet_program_threads(void);

/* The system's clock. In a rank clock_gettime() and its kin read virtual time, also for calls from this library: time what the host
 * really took (CPU time of the rank, watchdogs) with this. Async-signal-safe. (runtime/clock) */
int exanet_system_clock(clockid_t clock, struct timespec *out);
/* The system's pthread_mutex_trylock(): a lock found taken by the interposed one says that the thread waits. (runtime/clock) */
int exanet_system_trylock(pthread_mutex_t *mutex);
#endif
