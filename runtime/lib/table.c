// SPDX-License-Identifier: Apache-2.0
// The table of the program's threads (threads.h): an entry for each thread that has created others or has come to
// libexanet.
//
// Limit: EXN_MOST_THREADS entries. A thread without one takes no turns, and nobody waits for it.
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/lib/ni.h"
#include "runtime/lib/threads.h"

struct exn_thread exn_threads[EXN_MOST_THREADS];
struct exn_thread *exn_token_holder;
__thread __attribute__((tls_model("initial-exec"))) struct exn_thread *exn_me;
void (*exn_thread_ends)(struct exn_thread *thread) = exn_thread_free;

static struct exn_thread *used_end = exn_threads;
static uint32_t created; /* entries handed out */
static bool announced; /* by the program's pthread_create(): those of all its threads */
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct exn_thread *exn_threads_end(void) { return __atomic_load_n(&used_end, __ATOMIC_ACQUIRE); }

static void end_thread(void *entry) { exn_thread_ends(entry); }
static void make_key(void) { pthread_key_create(&at_thread_end, end_thread); }

void exn_thread_free(struct exn_thread *thread) {
  if (thread->stat > 0) exanet_system_close(thread->stat - 1);
  *thread = (struct exn_thread){.tid = thread->tid, .go = thread->go};
  __atomic_store_n(&thread->tid, 0, __ATOMIC_RELEASE);
}

static void extend_to(struct exn_thread *end) {
  struct exn_thread *known = exn_threads_end();
  while (known < end && !__atomic_compare_exchange_n(&used_end, &known, end, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    continue;
}

static struct exn_thread *take_entry(pid_t tid) {
  for (struct exn_thread *p = exn_threads; p < exn_threads + EXN_MOST_THREADS; ++p) {
    pid_t none = 0;
    if (!__atomic_compare_exchange_n(&p->tid, &none, tid, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) continue;
    p->order = __atomic_add_fetch(&created, 1, __ATOMIC_RELAXED);
    extend_to(p + 1);
    return p;
  }
  return NULL;
}

static void keep_entry(struct exn_thread *entry) {
  pthread_once(&once, make_key);
  exn_me = entry;
  pthread_setspecific(at_thread_end, entry);
}

struct exn_thread *exn_own_thread(void) {
  if (exn_me) return exn_me;
  struct exn_thread *entry = take_entry((pid_t)syscall(SYS_gettid));
  if (entry) keep_entry(entry);
  return entry;
}

struct exn_thread *exanet_thread_posting(void) { return exn_me; }

struct exn_thread *exanet_thread_expect(void) {
  struct exn_thread *creator = exn_own_thread(); /* who creates threads is one of them */
  __atomic_store_n(&announced, true, __ATOMIC_RELEASE);
  struct exn_thread *entry = take_entry(EXN_COMING);
  if (entry) entry->creator = creator;
  return entry;
}

void exanet_thread_expect_no_more(struct exn_thread *entry) {
  if (entry) __atomic_store_n(&entry->tid, 0, __ATOMIC_RELEASE);
}

void exanet_thread_begins(struct exn_thread *entry) {
  if (!entry) return;
  __atomic_store_n(&entry->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
  keep_entry(entry);
}

void exanet_thread_is_helper(void) {
  struct exn_thread *me = exn_own_thread();
  if (me) me->helper = true;
}

bool exn_thread_is_in_place(bool in_place) {
  return exn_me && __atomic_exchange_n(&exn_me->in_place, in_place, __ATOMIC_ACQ_REL);
}

void exanet_thread_is_at_work(bool at_work) { exn_thread_is_in_place(at_work); }

void exanet_thread_waits_until(uint64_t ps) {
  struct exn_thread *me = exanet_program_threads() ? exn_own_thread() : NULL;
  if (me) __atomic_store_n(&me->limit_ps, ps, __ATOMIC_RELEASE);
}

static struct exn_thread *find(pid_t tid) {
  for (struct exn_thread *p = exn_threads; p < exn_threads_end(); ++p)
    if (__atomic_load_n(&p->tid, __ATOMIC_ACQUIRE) == tid) return p;
  return NULL;
}

static bool any_other_task(bool (*is)(struct exn_thread *, pid_t)) {
  const int folder = exanet_system_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *tasks = folder >= 0 ? fdopendir(folder) : NULL;
  if (!tasks) {
    if (folder >= 0) exanet_system_close(folder);
    return false;
  }
  const pid_t self = (pid_t)syscall(SYS_gettid);
  bool found = false;
  for (struct dirent *entry; !found && (entry = readdir(tasks));) {
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    const pid_t tid = (pid_t)atoi(entry->d_name);
    if (tid == self) continue;
    struct exn_thread *thread = find(tid);
    found = !(thread && thread->helper) && is(thread, tid);
  }
  closedir(tasks);
  return found;
}

bool exn_any_other_thread(bool (*is)(struct exn_thread *, pid_t)) {
  if (!__atomic_load_n(&announced, __ATOMIC_ACQUIRE)) return any_other_task(is);
  const struct exn_thread *me = exn_own_thread();
  for (struct exn_thread *p = exn_threads; p < exn_threads_end(); ++p) {
    const pid_t tid = __atomic_load_n(&p->tid, __ATOMIC_ACQUIRE);
    if (tid != 0 && p != me && !p->helper && is(p, tid)) return true;
  }
  return false;
}
