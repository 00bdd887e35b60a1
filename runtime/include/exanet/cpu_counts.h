/* SPDX-License-Identifier: Apache-2.0
 * Processor cycles of a rank that runs on an emulated processor.
 *
 * Problem: under QEMU the host's processor time is that of the emulation. The program's own time is what the emulated
 * processor takes for its instructions.
 *
 * Model: a memory file that exanet-exec makes for each rank (its descriptor is in EXANET_CPU_COUNTS). A plugin of QEMU
 * (runtime/cpu) adds each thread's cycles to the thread's entry; runtime/lib reads its own thread's, in the same
 * process and thread. It stops the count while a rank waits, which takes the host's time, and begins it anew with
 * virtual time: what is counted does not depend on the host.
 *
 * Limit: EXN_CPU_THREADS threads at most; cycles of any further one count nothing. */
#ifndef EXANET_CPU_COUNTS_H
#define EXANET_CPU_COUNTS_H

#include <stdint.h>

#define EXN_CPU_THREADS 256
#define EXN_CPU_COUNTS_FD "EXANET_CPU_COUNTS"

struct exn_cpu_thread {
  uint32_t tid;    /* of the host; 0: not begun */
  uint16_t stopped; /* the program's: what the thread executes counts nothing, and leaves caches as they were */
  uint16_t fresh;   /* the program's, taken back by the plugin: caches are empty, and no branch is known */
  uint64_t cycles;
  uint64_t instructions;
  uint64_t mispredicted; /* branches */
  uint64_t misses[2];    /* of the first and second level of caches */
  uint64_t padding[2];
};

struct exn_cpu_counts {
  uint64_t cycle_fs; /* femtoseconds a cycle */
  uint64_t threads;  /* that have begun */
  uint64_t padding[6];
  struct exn_cpu_thread thread[EXN_CPU_THREADS];
};

#endif
