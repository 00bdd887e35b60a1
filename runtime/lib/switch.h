/* SPDX-License-Identifier: Apache-2.0
 * What a packed rank finds of its host's workers (runtime/exec/worker.c): the address of an exn_workers in its
 * auxiliary vector. What it executes anew has another vector, and so never believes that a worker could take it. */
#ifndef EXANET_LIB_SWITCH_H
#define EXANET_LIB_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXN_AT_WORKERS 0x45584e43ul /* a type of entry that neither Linux nor glibc has */

/* What the simulator is given where it is in the host, itself on a thread that workers may take. */
struct exn_simulator_calls {
  /* Sleeps as the simulator does, for at most `ns`, unless it has been called meanwhile. True: it was called. On
   * return the calling thread's kernel may be another one than before. */
  bool (*wait)(int64_t ns);
  bool (*on_worker)(void); /* the caller is on a worker, which looks for a rank to run when the simulator waits */
  void (*wake)(uint32_t *word, int most); /* a futex's sleepers */
  bool (*copy)(void *to, const void *from, size_t bytes); /* false: one of the two is not mapped, or not so */
};

/* A file whose beginning lies in `texts`, in large pages (large_text.c). Whoever moves `state` from EXN_TEXT_NONE
   fills it in, and copies it. */
enum exn_text_state { EXN_TEXT_NONE, EXN_TEXT_BEING_COPIED, EXN_TEXT_READY, EXN_TEXT_REFUSED /* by the kernel */ };
struct exn_file {
  uint64_t device, inode, size, changed_s, changed_ns;
};
struct exn_text {
  uint32_t state; /* futex */
  struct exn_file file;
  uint64_t offset, bytes; /* in the memory file */
};
#define EXN_MOST_TEXTS 16u
#define EXN_MOST_TEXT_BYTES (UINT64_C(1) << 26) /* of one */
struct exn_texts {
  char path[40]; /* of the memory file, of EXN_MOST_TEXTS * EXN_MOST_TEXT_BYTES; empty: there is none */
  struct exn_text of[EXN_MOST_TEXTS];
};

struct exn_workers {
  uint32_t version; /* EXN_VERSION */
  struct exn_texts *texts;
  /* Hands over as a rank that goes to sleep does, and returns once `turn` is over, or when the rank must look after
   * itself: its process has a signal, or the run ends. Meanwhile a worker may have had the calling thread, and may
   * have it on return. False: nothing was done, and the rank sleeps by itself. Contract: one thread a rank calls,
   * always the same, whose `turn` has been read before. */
  bool (*wait)(uint32_t rank, uint32_t turn);
  /* The processor time of the same thread, ns. It goes on where the thread's kernel changes while the rank computes;
     it may jump in wait(). */
  uint64_t (*cpu_ns)(uint32_t rank);
};
#endif
