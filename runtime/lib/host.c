/* SPDX-License-Identifier: Apache-2.0
 * The host's own clocks, locks and threads (host.h). Lowest layer: it uses nothing of this library.
 *
 * libc's functions follow the shim in the global search order, so the next definition after this library's is the
 * system's. */
#define _GNU_SOURCE
#include "runtime/lib/host.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

void *exanet_real(void **slot, const char *name, const char *version) {
  void *found = __atomic_load_n(slot, __ATOMIC_RELAXED);
  if (found != NULL) return found;
  /* Of a function with several versions plain dlsym() may give the oldest one. */
  if (version != NULL) found = dlvsym(RTLD_NEXT, name, version);
  if (found == NULL) found = dlsym(RTLD_NEXT, name);
  __atomic_store_n(slot, found, __ATOMIC_RELAXED);
  return found;
}

typedef int (*gettime_function)(clockid_t, struct timespec *);
static gettime_function real_gettime;

static __attribute__((constructor)) void find_clock(void) {
  static void *slot;
  real_gettime = (gettime_function)exanet_real(&slot, "clock_gettime", NULL);
}

/* Signal handlers and constructors may call it: no lock, no allocation; before its libc function is known it asks
   the kernel. */
int exanet_system_clock(clockid_t clock, struct timespec *out) {
  return real_gettime != NULL ? real_gettime(clock, out) : (int)syscall(SYS_clock_gettime, clock, out);
}

int exanet_system_open(const char *path, int flags) { return (int)syscall(SYS_openat, AT_FDCWD, path, flags); }

ssize_t exanet_system_pread(int file, void *to, size_t bytes, off_t offset) {
  return syscall(SYS_pread64, file, to, bytes, offset);
}

int exanet_system_close(int file) { return (int)syscall(SYS_close, file); }

typedef int (*mutex_function)(pthread_mutex_t *);

#define SYSTEM(name, FUNCTION, version)                                     \
  int name(pthread_mutex_t *mutex) {                                        \
    static void *slot;                                                      \
    return ((mutex_function)exanet_real(&slot, #FUNCTION, version))(mutex); \
  }
SYSTEM(exanet_system_trylock, pthread_mutex_trylock, "GLIBC_2.34")
SYSTEM(exanet_system_lock, pthread_mutex_lock, "GLIBC_2.2.5")
SYSTEM(exanet_system_unlock, pthread_mutex_unlock, "GLIBC_2.2.5")

static atomic_int program_threads;

int exanet_program_threads(void) { return atomic_load(&program_threads); }
void exanet_program_thread_begins(void) { atomic_fetch_add(&program_threads, 1); }
void exanet_program_thread_ends(void) { atomic_fetch_sub(&program_threads, 1); }
