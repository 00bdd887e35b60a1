// SPDX-License-Identifier: Apache-2.0
// Several threads of one rank: when may its time pass?
//
// Each thread polls by itself, and none knows of the others' plans. Time may pass once every thread waits: it sleeps in the kernel (a lock, a
// join, a timer), or it is in an MPI call in which it has posted something or polled in vain, and so most likely spins for its completion.
// A thread that computes, or has just entered MPI and is about to post, goes first. Not every spinning thread polls: MPI libraries let one
// of them look after the network and the others spin on what it finds.
//
// Limit: a thread that spins on memory outside MPI until another one has received something looks like one that computes; after EXN_PATIENCE
// polls in vain time passes in spite of it. Which thread comes first is the host's choice, so such runs do not repeat to the byte.
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/lib/ni.h"

#define EXN_MOST_THREADS 256   /* more threads than these that poll count as computing ones */
#define EXN_PATIENCE 5000u     /* polls in vain, each some tens of microseconds with its yield */

static struct poller {
  pid_t tid;        /* 0: free */
  bool in_mpi;
  bool waits;       /* has posted or polled in vain in this MPI call */
} pollers[EXN_MOST_THREADS];
static uint32_t in_vain;
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread __attribute__((tls_model("initial-exec"))) struct poller *own;

static void free_poller(void *poller) { __atomic_store_n(&((struct poller *)poller)->tid, 0, __ATOMIC_RELEASE); }
static void make_key(void) { pthread_key_create(&at_thread_end, free_poller); }

static struct poller *own_poller(void) {
  if (own) return own;
  pthread_once(&once, make_key);
  const pid_t self = (pid_t)syscall(SYS_gettid);
  for (struct poller *p = pollers; p < pollers + EXN_MOST_THREADS && !own; ++p) {
    pid_t none = 0;
    if (__atomic_compare_exchange_n(&p->tid, &none, self, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) own = p;
  }
  if (own) pthread_setspecific(at_thread_end, own);
  return own;
}

void exn_thread_waits(bool waits) {
  struct poller *me = own_poller();
  if (me) me->waits = waits;
}

void exn_thread_in_mpi(bool in_mpi, bool waits) {
  struct poller *me = own_poller();
  if (!me) return;
  me->in_mpi = in_mpi;
  me->waits = waits;
}

void exanet_thread_spins(void) { exn_thread_waits(true); }

void exn_something_happened(void) { in_vain = 0; }

static bool on_processor(const char *tid) {
  char path[64], stat[256];
  snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", tid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, stat, sizeof stat - 1);
  close(fd);
  if (n <= 0) return false;
  stat[n] = 0;
  const char *after = strrchr(stat, ')');
  return after && after[1] && after[2] == 'R';
}

static const struct poller *find(pid_t tid) {
  for (const struct poller *p = pollers; p < pollers + EXN_MOST_THREADS; ++p)
    if (__atomic_load_n(&p->tid, __ATOMIC_ACQUIRE) == tid) return p;
  return NULL;
}

static bool has_work(const struct poller *p, const char *tid) { return !(p && p->waits) && on_processor(tid); }
static bool is_busy(const struct poller *p, const char *tid) { return (p && p->in_mpi) || on_processor(tid); }

static bool any_other_thread(bool (*is)(const struct poller *, const char *)) {
  DIR *tasks = opendir("/proc/self/task");
  if (!tasks) return false;
  const pid_t self = (pid_t)syscall(SYS_gettid);
  bool found = false;
  for (struct dirent *entry; !found && (entry = readdir(tasks));) {
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    const pid_t tid = (pid_t)atoi(entry->d_name);
    found = tid != self && is(find(tid), entry->d_name);
  }
  closedir(tasks);
  return found;
}

bool exn_other_threads_run(void) {
  exn_thread_waits(true);
  return ++in_vain <= EXN_PATIENCE && any_other_thread(has_work);
}

int exanet_other_threads_busy(void) { return any_other_thread(is_busy); }
