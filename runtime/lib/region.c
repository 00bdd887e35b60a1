// SPDX-License-Identifier: Apache-2.0
// Opens the simulated network interface: maps the region that EXANET_NI names, and becomes the rank that EXANET_RANK
// says.
//
// Model: one interface a process, counted. Who opens it first reports to the simulator that the rank is there, and says
// how its memory may be reached and its thread be scheduled. Highest layer of libexanet: it uses the others.
//
// Limit: the region stays mapped until the process ends, since threads of the MPI library may still read the clock.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/lib/ni.h"

static struct exn_region *map_region(const char *path, int *error) {
  struct stat st;
  const int fd = exanet_system_open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    *error = -ENODEV;
    return NULL;
  }
  struct exn_region *region = MAP_FAILED;
  if (fstat(fd, &st) == 0 && (size_t)st.st_size >= sizeof *region)
    region = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  exanet_system_close(fd);
  if (region == MAP_FAILED) {
    *error = -ENODEV;
    return NULL;
  }
  if (region->magic != EXN_MAGIC || region->version != EXN_VERSION || region->bytes != (uint64_t)st.st_size) {
    munmap(region, (size_t)st.st_size);
    *error = -EPROTO;
    return NULL;
  }
  return region;
}

static struct exn_region *mapped_early;

void exanet_map_early(void) {
  const char *path = getenv("EXANET_NI");
  int error = 0;
  if (path != NULL && *path != 0 && mapped_early == NULL) mapped_early = map_region(path, &error);
}

/* A program that ends before MPI_Finalize ends the run, at its time. Of a run in which ranks have died: their processes
   are still there, and launchers end all ranks when the first one leaves without the others. So all leave together.
   Registered before the program's own, and called behind them. */
static void leave_with_others(int status, void *unused) {
  (void)unused;
  struct exanet_ni *ni = exanet_process_ni();
  if (!ni || ni->slot->pid != (uint32_t)getpid()) return;
  fflush(NULL);
  if (exn_virtual(ni)) {
    ni->slot->exit_code = 1u + (uint32_t)(status & 0xff);
    exanet_go_no_further(ni);
  }
  if (ni->region->phase == EXN_DONE && exanet_ranks_have_died(ni)) exn_await_stop(ni);
}

static __attribute__((constructor)) void watch_end(void) { on_exit(leave_with_others, NULL); }

int exanet_open(struct exanet_ni **out) {
  static struct exanet_ni process_ni;
  struct exanet_ni *ni = &process_ni;
  if (exn_is_forgotten()) return -ENODEV;
  if (exanet_process_ni()) {
    ++ni->opened;
    *out = ni;
    return 0;
  }
  const char *path = getenv("EXANET_NI"), *rank = getenv("EXANET_RANK");
  if (!path || !*path || !rank || !*rank) return -ENODEV;
  char *end;
  const unsigned long number = strtoul(rank, &end, 10);
  int error = 0;
  struct exn_region *region = mapped_early != NULL ? mapped_early : map_region(path, &error);
  mapped_early = NULL;
  if (!region) return error;
  if (*end || number >= region->ranks) {
    munmap(region, region->bytes);
    return -ENODEV;
  }
  const struct exn_rank *slot = exn_rank_slot(region, (uint32_t)number);
  const pid_t other = (pid_t)__atomic_load_n(&slot->pid, __ATOMIC_ACQUIRE);
  if (other != 0 && other != getpid() && kill(other, 0) == 0) {
    munmap(region, region->bytes);
    return -EBUSY;
  }
  *ni = (struct exanet_ni){.region = region,
                           .slot = exn_rank_slot(region, (uint32_t)number),
                           .rank = (uint32_t)number,
                           .opened = 1,
                           .next_key = 1,
                           .first_window_ps = EXN_FIRST_WINDOW_PS};
  /* The simulator moves bulk data in and out of this process; where the kernel restricts that to relatives, say that
     it may. */
  prctl(PR_SET_PTRACER, region->simulator_pid, 0, 0, 0);
  /* A rank that wakes another goes to sleep right after: being preempted in between would cost a context switch for
     nothing. */
  sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
  exn_find_workers(ni);
  ni->clock_ps = ni->slot->clock_ps;
  ni->slot->pid = (uint32_t)getpid();
  __atomic_store_n(&ni->slot->state, EXN_RUNNING, __ATOMIC_RELEASE);
  exn_set_process_ni(ni);
  exn_account_leave(ni);
  exn_kick(ni);
  uint16_t copies;
  if (exanet_bcast_is_copied(ni)) exanet_ep_open(ni, EXANET_EP_MESSAGE, &copies);
  *out = ni;
  return 0;
}

/* The region stays mapped: a progress thread of the MPI library may still look at the clock. */
void exanet_close(struct exanet_ni *ni) {
  if (ni->opened > 0) --ni->opened;
}
