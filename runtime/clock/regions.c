/* SPDX-License-Identifier: Apache-2.0
 * Parallel regions of OpenMP, as compiled by GCC: what libgomp's threads take of the time.
 *
 * Problem: libgomp's threads wait for each other on futexes and in loops of their own, which nobody sees from outside,
 * and what they spin there is no work.
 *
 * Model: the functions that begin a region are called with ours in place of the program's. Each thread's part begins
 * at the time at which the region began, and the region ends with the part that ends last. Barriers inside are
 * meetings. What a thread computes in between, waiting, is not counted. The tasks of a region are carried out while
 * threads wait, so in a region that has made one what its threads spin counts as well.
 *
 * Limits: critical sections and ordered loops, in which threads wait for each other one by one, take no time of each
 * other. Regions that reduce over tasks, barriers that may be cancelled, and regions of other compilers' libraries are
 * not seen: they take what the thread computes that began them. */
#include <stdatomic.h>

#include "meetings.h"

struct team {
  void (*function)(void *);
  void *data;
  bool counts;
  uint64_t from_ps;
  _Atomic uint64_t latest_ps; /* at which a part has ended */
  atomic_bool tasks;
  struct exanet_meeting meeting;
  /* that of the thread that began the region, and when its part of it began */
  struct team *outer;
  uint64_t outer_began;
};
/* In whose region the thread is, also when its part has ended and it carries out tasks; NULL: in none that counts. */
SHIM_TLS struct team *own_team;

static void run_part(void *argument) {
  struct team *team = argument;
  own_team = team->counts ? team : NULL;
  if (team->counts) exanet_part_begins(team, team->from_ps);
  team->function(team->data);
  uint64_t ps;
  if (!team->counts || !exanet_thread_time(&ps)) return;
  uint64_t latest = atomic_load(&team->latest_ps);
  while (latest < ps && !atomic_compare_exchange_weak(&team->latest_ps, &latest, ps)) continue;
}

static void begins(struct team *team, void (*function)(void *), void *data) {
  *team = (struct team){.function = function, .data = data, .outer = own_team, .outer_began = exanet_part_began()};
  team->counts = exanet_thread_time(&team->from_ps);
}

static void ends(struct team *team) {
  own_team = team->outer;
  if (team->counts) {
    const uint64_t latest_ps = atomic_load(&team->latest_ps);
    if (atomic_load(&team->tasks)) {
      exanet_thread_learns(latest_ps);
      exanet_thread_learns(team->from_ps + exanet_parts_ps(team));
    } else {
      exanet_thread_goes_on_at(latest_ps);
    }
  }
  if (team->outer != NULL) exanet_part_resumes(team->outer, team->outer_began);
}

#define COMMA ,
#define REGION(name, PARAMETERS, ARGUMENTS)                                                    \
  EXPORT void GOMP_##name(void (*function)(void *), void *data, unsigned threads PARAMETERS) { \
    typedef void (*region_function)(void (*)(void *), void *, unsigned PARAMETERS);            \
    static void *slot;                                                                         \
    const region_function real = (region_function)exanet_openmp_own(&slot, "GOMP_" #name);     \
    struct team team;                                                                          \
    begins(&team, function, data);                                                             \
    real(run_part, &team, threads ARGUMENTS);                                                  \
    ends(&team);                                                                               \
  }
#define FLAGS COMMA unsigned flags
#define RANGE COMMA long start COMMA long end COMMA long step
#define LOOP(name) \
  REGION(parallel_loop_##name, RANGE COMMA long chunk FLAGS, COMMA start COMMA end COMMA step COMMA chunk COMMA flags)
#define LOOP_AT_RUN_TIME(name) REGION(parallel_loop_##name, RANGE FLAGS, COMMA start COMMA end COMMA step COMMA flags)

REGION(parallel, FLAGS, COMMA flags)
REGION(parallel_sections, COMMA unsigned sections FLAGS, COMMA sections COMMA flags)
LOOP(static)
LOOP(dynamic)
LOOP(guided)
LOOP(nonmonotonic_dynamic)
LOOP(nonmonotonic_guided)
LOOP_AT_RUN_TIME(runtime)
LOOP_AT_RUN_TIME(nonmonotonic_runtime)
LOOP_AT_RUN_TIME(maybe_nonmonotonic_runtime)

static unsigned team_size(void) {
  static void *slot;
  return (unsigned)((int (*)(void))exanet_openmp_own(&slot, "omp_get_num_threads"))();
}

static void meet(void (*barrier)(void)) {
  struct team *team = own_team;
  const unsigned round = team != NULL ? exanet_meeting_come(&team->meeting, team_size()) : 0;
  barrier();
  if (team == NULL) return;
  const uint64_t latest_ps = exanet_meeting_latest(&team->meeting, round);
  if (atomic_load(&team->tasks))
    exanet_thread_learns(latest_ps);
  else
    exanet_thread_goes_on_at(latest_ps);
}

#define BARRIER(name)                                              \
  EXPORT void GOMP_##name(void) {                                  \
    static void *slot;                                             \
    meet((void (*)(void))exanet_openmp_own(&slot, "GOMP_" #name)); \
  }
BARRIER(barrier)
BARRIER(loop_end)
BARRIER(sections_end)

#define TASKS(name, PARAMETERS, ARGUMENTS)                                   \
  EXPORT void GOMP_##name PARAMETERS {                                       \
    static void *slot;                                                       \
    if (own_team != NULL) atomic_store(&own_team->tasks, true);              \
    ((void(*) PARAMETERS)exanet_openmp_own(&slot, "GOMP_" #name)) ARGUMENTS; \
  }
#define WHAT void (*function)(void *), void *data, void (*copy)(void *, void *), long size, long alignment
TASKS(task, (WHAT, bool at_once, unsigned flags, void **depends, int priority, void *event),
      (function, data, copy, size, alignment, at_once, flags, depends, priority, event))
TASKS(taskloop, (WHAT, unsigned flags, unsigned long tasks, int priority, long start, long end, long step),
      (function, data, copy, size, alignment, flags, tasks, priority, start, end, step))
TASKS(taskloop_ull,
      (WHAT, unsigned flags, unsigned long tasks, int priority, unsigned long long start, unsigned long long end,
       unsigned long long step),
      (function, data, copy, size, alignment, flags, tasks, priority, start, end, step))
