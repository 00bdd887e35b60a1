// SPDX-License-Identifier: Apache-2.0
// Asks the simulator for this rank's part of a broadcast. Meanwhile the rank counts as running, so no virtual time
// passes.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/lib/ni.h"

void exanet_ask_tree(struct exanet_ni *ni, struct exn_tree_question *question) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  struct exn_rank *slot = ni->slot;
  const struct timespec limit = {.tv_nsec = 100000000};
  exanet_system_lock(&lock);
  slot->question = (uint64_t)(uintptr_t)question;
  __atomic_store_n(&slot->asks, 1, __ATOMIC_SEQ_CST);
  __atomic_store_n(&ni->region->questions, 1, __ATOMIC_SEQ_CST);
  exn_kick(ni);
  while (__atomic_load_n(&slot->asks, __ATOMIC_ACQUIRE) != 0) {
    exn_exit_if_stopped(ni);
    syscall(SYS_futex, &slot->asks, FUTEX_WAIT, 1, &limit, NULL, 0);
  }
  exanet_system_unlock(&lock);
}
