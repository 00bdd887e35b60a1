/* SPDX-License-Identifier: Apache-2.0
 * The region that a rank's libexanet and the simulator share: the simulated network interface as a process sees it.
 *
 * Each rank has a slot: a ring of descriptors (rank to simulator), a ring of completions (simulator to rank), its
 * clock, and a word to sleep on; the records in the rings are those of descriptors.h. Either side writes a ring's
 * payload first and its index after with release order; the other reads the index with acquire order. Only the two
 * sides named beside a field ever write it.
 *
 * Ranks are woken one after another: the simulator lays down the list of ranks that are due, wakes the first few, and
 * every rank that goes to sleep wakes the next of the list; the last one wakes the simulator. One context switch a
 * rank, and never more ranks running than there are processors. Packed ranks may be run by workers
 * (runtime/exec/worker.c), which then take the next of the list. Where there is a processor to spare, simulator and
 * workers spin for each other's word for a while before they sleep: then nobody has to call the kernel to wake them.
 */
#ifndef EXANET_SHM_H
#define EXANET_SHM_H

#include <stdint.h>

#include "exanet/descriptors.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EXN_MAGIC 0x3154454e41584531ull
#define EXN_VERSION 24u
#define EXN_RING_SLOTS 1024u          /* 64 KiB a ring, two rings a rank; touched only as far as they are used */
#define EXN_RING_MASK (EXN_RING_SLOTS - 1u)
#define EXN_MPI_CALLS 192u
#define EXN_REASON_BYTES 128u
#define EXN_STOP_BYTES 512u

struct exn_ring {
  uint32_t head
      __attribute__((aligned(64)));  /* consumer; the two sides hardly ever run at once, so they share a line */
  uint32_t tail;                                /* producer */
  uint8_t slots[EXN_RING_SLOTS][EXANET_SLOT_BYTES] __attribute__((aligned(64)));
};

enum exn_state {
  EXN_ABSENT = 0,                     /* not attached yet */
  EXN_RUNNING,
  EXN_SLEEPING,                       /* waits for a completion or deadline_ps */
  EXN_AT_START,                       /* waits for all ranks to start virtual time */
  EXN_AT_FINISH,                      /* waits for all ranks to end it */
  EXN_ENDED,                          /* finished and left */
};

/* Where a packed rank's registers are, and who may go on with it. */
enum exn_place {
  EXN_IN_OWN_PROCESS = 0, /* in its own process */
  EXN_DESCHEDULED, /* laid down while it sleeps: whoever sees its turn may take it */
  EXN_ON_WORKER, /* on a worker */
  EXN_RETURNING, /* interrupted on a worker: its own process goes on with it */
};

/* What simulator_wake says. */
enum exn_simulator {
  EXN_AWAKE = 0,                      /* it works, or spins on this word */
  EXN_CALLED,                         /* somebody has something for it */
  EXN_ASLEEP,                         /* it sleeps on this word */
};

/* Where the simulator is. */
enum exn_where {
  EXN_NOWHERE = 0,                    /* not decided yet */
  EXN_APART,                          /* in the process of `exanet run` */
  EXN_HOSTED,                         /* in the host of packed ranks, which has taken it */
  EXN_ENDED_THERE,                    /* the host has run it to its end, and has written what there is to know */
};

enum exn_phase { EXN_FREE = 0, EXN_VIRTUAL = 1, EXN_DONE = 2 };

/* Collectives that the interfaces can take from the MPI library. */
#define EXN_OFFLOADS(X) X(allreduce) X(barrier) X(bcast) X(reduce)
#define EXN_OFFLOAD_BIT(name) EXN_OFFLOAD_##name,
enum exn_offload { EXN_OFFLOADS(EXN_OFFLOAD_BIT) EXN_OFFLOAD_COUNT };

/* What a rank is to send and to receive of a broadcast, whole messages in stages (core/collectives/schedule.hpp). */
struct exn_tree_question {
  uint32_t ranks, me, root; /* of the communicator, and this one's and the root's numbers there */
  uint32_t is_long; /* 1: of more bytes than an eager message has, 0: of fewer */
  uint32_t steps; /* simulator: how many */
  /* [ranks]: their numbers in the run; answered: [steps], whom with, by number in the communicator, and flags */
  uint32_t list[];
};
#define EXN_STEP_SENDS 1u
#define EXN_STEP_ENDS_STAGE 2u
#define EXN_STEP_COPIED 4u /* by the network: sent to a group of ranks, the peer; or received from the root */
#define EXN_STEP_SIGNALS 8u /* without bytes, that its sender is ready */
#define EXN_STEP_FLAGS 4
#define EXN_STEP_PEER(step) ((step) >> EXN_STEP_FLAGS)

/* How programs broadcast. */
enum exn_bcast {
  EXN_BCAST_OF_THE_LIBRARY = 0,
  EXN_BCAST_BY_MESSAGES, /* along a tree that the simulator knows */
  EXN_BCAST_BY_COPIES, /* of packets, in routers; each rank's endpoint 0 is for these */
};

/* What touches the network sooner after its call than messages do: the simulator lets ranks run less far together
   once somebody can do so. */
enum exn_sooner {
  EXN_SOONER_PACKETS = 1,
  EXN_SOONER_ONE_SIDED = 2,
  EXN_SOONER_STREAMS = 4,
};

struct exn_mpi_profile {
  uint64_t calls;
  uint64_t time_ps;
};

/* A call on a file of a simulated storage. */
enum exn_storage_action {
  EXN_STORAGE_NONE = 0,
  EXN_STORAGE_READ,
  EXN_STORAGE_WRITE,
  EXN_STORAGE_SYNC,
  EXN_STORAGE_METADATA
};
struct exn_storage_call {
  uint32_t action; /* enum exn_storage_action */
  uint32_t storage; /* by its place in the run's list */
  uint64_t file; /* its number there; of an operation on a name, that of its folder */
  uint64_t offset, bytes;
  uint64_t file_bytes; /* the file's size, of a read */
};

struct exn_storage_profile {
  uint64_t reads, writes, syncs, metadata;
  uint64_t read_bytes, written_bytes;
  uint64_t time_ps;
};

/* GPUs of each node, from the machine file (core/nic/gpu.hpp). */
struct exn_gpu {
  uint32_t per_node; /* 0: there are none */
  uint64_t memory_bytes; /* of each */
  uint64_t memory_rate; /* rates in bits per second */
  uint64_t launch_ps;
  uint64_t copy_ps, copy_rate; /* between host and device */
  uint64_t peer_read_ps, peer_read_rate;
  uint64_t staged_above; /* bytes of a message above which it is copied; UINT64_MAX: never */
};

/* That libexanet charges to a rank's clock, ps; from the machine file, of the rank's network. */
struct exn_costs {
  uint64_t send_cpu_ps; /* MPI + library, before the first store */
  uint64_t store_word_ps; /* one word of store_word_bytes stored to the interface */
  uint64_t rdma_cpu_ps; /* starting an RDMA transfer */
  uint64_t packet_cpu_ps; /* library, bare packet */
  uint64_t test_step_ps; /* an empty poll inside MPI_Test */
  uint64_t store_word_bytes; /* the width of the router's words */
};

struct exn_rank {
  /* futex: EXN_TURN more each time that the rank, asleep, is let run; whoever's turn it is to say so. The lowest bit
     changes when a packed rank returns to its own process, which is no turn */
  uint32_t turn __attribute__((aligned(64)));
  uint32_t wake; /* futex, free time only: 1 look again */
  uint32_t state; /* enum exn_state; rank when it goes to sleep, simulator when it lets it run */
  uint32_t pid; /* rank */
  uint32_t mpi_call; /* rank: 1 + index of the MPI call that it is in, 0: none */
  uint64_t clock_ps; /* rank while it runs, simulator while it sleeps */
  uint64_t deadline_ps; /* rank: wake at this time at the latest */
  uint64_t horizon_ps; /* simulator: every completion up to here is in the ring; rank: 0 once it has posted */
  uint64_t compute_ps; /* rank: sums for the profile */
  uint64_t library_ps;
  uint64_t clock_reads; /* rank: how often reading a clock added time: in a loop */
  uint64_t clock_reads_ps; /* rank: what reading in a loop added; a part of compute_ps */
  uint64_t last_call_ps; /* rank: when the last of its MPI calls before MPI_Finalize returned */
  uint32_t blocking; /* rank: 0 it does not really wait, else 1 + empty waits before this one (deadlock detection) */
  uint32_t abort_code; /* rank: 1 + code given to MPI_Abort */
  uint32_t exit_code; /* rank: 1 + code given to exit() before MPI_Finalize */
  uint32_t ended; /* rank, asleep: 1 with one of these codes, and it goes no further */
  uint32_t place; /* enum exn_place; who has its registers */
  uint64_t worker_turns; /* workers */
  uint32_t receiving; /* simulator, when it lets it run: something is on its way to a receive of the rank */
  uint32_t asks; /* futex: 1 rank has a question; 0 simulator has answered it */
  uint64_t question; /* rank: address of a struct exn_tree_question in its memory */
  uint32_t hosted; /* rank: 1 its memory is the host's map */
  uint32_t has_exited; /* who watches: 1 it has */
  uint32_t timed_sleep; /* rank: one of its threads sleeps, and goes on when the clock has come to its time */
  uint32_t
      takes_first; /* rank, asleep: once it is let run it takes what has come, and is charged for it, before all else */
  uint32_t sooner; /* rank: a bit of enum exn_sooner each that it, or others because of it, may hand over */
  uint32_t node; /* simulator: on which it is placed */
  uint64_t dies_ps; /* simulator: its host dies then; 0: it does not */
  uint32_t died; /* simulator: 1 it has */
  uint32_t left; /* rank: 1 its program has ended, and waits for the end of the run */
  uint64_t live_call; /* rank, asleep: address of the struct exanet_live_call that it is in, 0: none */
  uint64_t live_posted; /* rank, asleep: that of the first one that it has posted, 0: none; simulator: 0 taken */
  uint32_t serves; /* rank, asleep: 1 + its empty waits if it listens for streams and waits for nobody else, or 0 */
  uint64_t segments, segment_bytes; /* rank: of streams and datagrams, that it has sent, and their payload */
  uint64_t datagrams, dropped_datagrams; /* rank: that it has sent; that have come, and found the buffer full */
  struct exn_storage_call storage_call; /* rank, asleep: that it is in; simulator: action EXN_STORAGE_NONE, taken */
  struct exn_storage_profile storage; /* rank: sums for the profile */
  struct exn_costs costs; /* simulator */
  struct exn_mpi_profile mpi[EXN_MPI_CALLS];
  struct exn_ring work;
  struct exn_ring cq;
};

struct exn_region {
  uint64_t magic;
  uint32_t version;
  uint32_t ranks;
  uint64_t bytes; /* size of the whole region */
  uint32_t simulator_pid;
  uint32_t phase; /* enum exn_phase; simulator */
  uint32_t stop; /* simulator: ranks must exit at once */
  uint32_t multithreaded;
  uint32_t chosen_bcast; /* simulator: enum exn_bcast */
  uint32_t reduction_max; /* bytes of the longest vector that interfaces reduce */
  uint32_t offloaded; /* simulator: collectives that go to the interfaces, a bit of EXN_OFFLOADS each */
  uint32_t shares_nodes; /* simulator: 1 some node has several ranks */
  uint32_t questions; /* ranks: one of them asks */
  uint32_t deaths; /* simulator: ranks that have died */
  uint32_t simulates_mpi; /* simulator: 1 calls of MPI are carried out by it */
  uint32_t sooner; /* simulator: of all ranks, when it let them run */
  /* who watches over the run, and the simulator, of each other (runtime/coordinator/control.hpp) */
  uint32_t where; /* futex: enum exn_where */
  uint32_t stopping; /* the run is to end before its time */
  uint32_t reporting; /* whether `reason` has been written */
  uint32_t exited; /* how many ranks have */
  uint64_t now_ps, messages, packets, events; /* simulator: how far it is */
  char reason[EXN_STOP_BYTES];
  uint32_t failures; /* simulator: operations that have failed on the network */
  char failure[EXN_STOP_BYTES]; /* simulator, before the first of them is counted: that one */
  uint32_t envelope_bytes; /* from the machine file, as what follows */
  uint32_t eager_max;
  uint32_t packet_max;
  uint32_t segment_bytes; /* of a stream's longest segment */
  uint32_t window_bytes; /* of a stream */
  uint32_t fragment_bytes; /* of a datagram's longest fragment, with the header of UDP */
  uint32_t servers_end; /* simulator: 1 only servers are left */
  uint64_t segment_cpu_ps; /* the host's kernel, to send a segment */
  double compute_factor; /* 0: computing takes no virtual time */
  uint64_t before_ps; /* ranks: how far the furthest of their programs' clocks was when virtual time began */
  /* scheduling */
  uint32_t simulator_wake __attribute__((aligned(64))); /* futex: enum exn_simulator */
  uint32_t running __attribute__((aligned(64))); /* ranks that have been released and have not slept since */
  uint64_t due __attribute__((
      aligned(64))); /* low half: how many of due[] are still to be woken, the last one first; high half: which round
                                                it is, so that nobody takes from a list by the count of another */
  uint32_t due_offset; /* of uint32_t due[ranks], from the region's start */
  uint32_t rank_offset; /* of struct exn_rank[ranks] */
  /* host of packed ranks */
  uint32_t worker_turn
      __attribute__((aligned(64))); /* futex: one more each time that a worker may find a rank to run; anybody */
  uint32_t workers; /* how many run ranks; 0: none, or no more */
  uint32_t workers_spinning; /* workers: that spin on worker_turn, and need not be woken */
  uint32_t most_looking; /* simulator: how many may at once */
  char no_workers[EXN_REASON_BYTES]; /* why */
  struct exn_gpu gpu; /* simulator */
};

static inline struct exn_rank *exn_rank_slot(struct exn_region *r, uint32_t rank) {
  return (struct exn_rank *)(void *)((char *)r + r->rank_offset) + rank;
}
static inline uint32_t *exn_due(struct exn_region *r) { return (uint32_t *)(void *)((char *)r + r->due_offset); }

#define EXN_RETURNED_TO_OWNER 1u
#define EXN_TURN 2u
/* Of two values of `turn`: no turn lies between them. */
static inline int exn_is_same_turn(uint32_t a, uint32_t b) { return (a ^ b) < EXN_TURN; }

/* Takes the next rank to wake off the list. Returns its place in due[], or -1 when there is none. */
static inline int64_t exn_take_due(struct exn_region *r) {
  uint64_t word = __atomic_load_n(&r->due, __ATOMIC_ACQUIRE);
  while ((uint32_t)word > 0)
    if (__atomic_compare_exchange_n(&r->due, &word, word - 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return (int64_t)(uint32_t)word - 1;
  return -1;
}

/* Whether to spin on a word before sleeping on it: spins in which it did not change are left out 1, 2, 4 ... 64
   times. */
struct exn_spin {
  uint32_t after,
      left_out; /* waits without a spin that are to come, and after the next spin in which nothing changed */
};
static inline int exn_spin_now(struct exn_spin *spin) {
  if (spin->after == 0) return 1;
  --spin->after;
  return 0;
}
static inline void exn_spin_ended(struct exn_spin *spin, int unchanged) {
  spin->left_out = !unchanged ? 0 : spin->left_out == 0 ? 1 : spin->left_out < 64 ? 2 * spin->left_out : 64;
  spin->after = spin->left_out;
}

/* Calls the simulator; true: it sleeps, and is to be woken. */
static inline int exn_call_simulator(struct exn_region *r) {
  return __atomic_exchange_n(&r->simulator_wake, EXN_CALLED, __ATOMIC_ACQ_REL) == EXN_ASLEEP;
}

/* Calls so many workers for what is on the list. Returns how many of them are to be woken. One that spins sees the
   word change, also when it has just given up. */
static inline uint32_t exn_call_workers(struct exn_region *r, uint32_t wanted) {
  __atomic_fetch_add(&r->worker_turn, 1, __ATOMIC_SEQ_CST);
  const uint32_t spinning = __atomic_load_n(&r->workers_spinning, __ATOMIC_SEQ_CST);
  return wanted > spinning ? wanted - spinning : 0;
}

#ifdef __cplusplus
}
#endif
#endif
