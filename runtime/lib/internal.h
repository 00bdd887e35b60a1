/* SPDX-License-Identifier: Apache-2.0
 * Declares what the clock shim and the provider may ask of libexanet beyond its public interface. Same shared
 * object, so no ABI promise.
 *
 * Contract: calls that take the interface want what serialises calls on it, as in exanet.h, except readings of the
 * clock and what concerns threads. Whatever is not declared here or in host.h is libexanet's own. */
#ifndef EXANET_LIB_INTERNAL_H
#define EXANET_LIB_INTERNAL_H

#include <stdbool.h>

#include "exanet/exanet.h"
#include "runtime/lib/host.h"

/* What the process's first operation on the network, or look for a completion, does before anything else; NULL:
   nothing. (runtime/clock sets it, runtime/provider calls it) */
extern void (*exanet_first_operation)(void);

/* The process's interface if it is open, or NULL. Never opens it. */
struct exanet_ni *exanet_process_ni(void);

/* Depth of MPI calls on this thread, in all phases; only the outermost is the program's own. */
extern __thread __attribute__((tls_model("initial-exec"))) int exanet_mpi_depth;
/* Set on threads that belong to the MPI library (progress threads, PMIx): their clocks stay real. So do those of the
   program's own thread while it is in MPI_Abort, where the library waits for its launcher: EXANET_ABORTS then. */
extern __thread __attribute__((tls_model("initial-exec"))) int exanet_helper_thread;
#define EXANET_ABORTS 2

/* Inside MPI_Test, MPI_Iprobe and their kin an empty poll costs one short fixed step instead of waiting for the next
   arrival. Nests; per thread. */
void exanet_testing_begin(void);
void exanet_testing_end(void);

/* Profile of MPI calls: `call` is an index into the shim's table of names (< EXANET_MPI_CALLS). Nested calls count
   for the outermost. */
#define EXANET_MPI_CALLS 192
enum exanet_call_kind {
  EXANET_CALL_PLAIN,
  EXANET_CALL_BLOCKING, /* waits for messages, and polls for nothing else */
  EXANET_CALL_TEST, /* asks whether something has happened */
  EXANET_CALL_IMMEDIATE, /* waits for nobody */
  EXANET_CALL_ONE_SIDED, /* on a window, which may be the rank's own */
};
void exanet_mpi_enter(struct exanet_ni *ni, uint32_t call, enum exanet_call_kind kind);
void exanet_mpi_leave(struct exanet_ni *ni, uint32_t call, enum exanet_call_kind kind);

/* Whether a message was on its way to a receive of the rank when virtual time last passed for it. */
bool exanet_is_receiving(const struct exanet_ni *ni);

/* Time that the rank has computed, less what it computed in MPI calls while it would have waited anyway. */
uint64_t exanet_computed_ps(const struct exanet_ni *ni);
/* Time that the calling thread computes between these two is ours, and moves no clock. */
void exanet_uncounted_begin(struct exanet_ni *ni);
void exanet_uncounted_end(struct exanet_ni *ni);

/* The program asked for several threads (MPI_THREAD_MULTIPLE or FI_THREAD_SAFE): polls then yield to the process's
   other threads. */
void exanet_set_multithreaded(struct exanet_ni *ni);

/* With several threads, inside MPI: the calling thread spins for what another one does. */
void exanet_thread_spins(void);
/* It takes or leaves a lock; it sleeps on one, or on something else. */
void exanet_thread_locks(bool locked);
void exanet_thread_waits_for_lock(void); /* whose owner may be waiting for its turn */
void exanet_thread_sleeps_at_lock(bool asleep);
void exanet_thread_sleeps(bool asleep);
void exanet_thread_is_at_work(bool at_work); /* even if it sleeps */
/* In or outside MPI: it sleeps until something happens, but no longer than until this time. */
void exanet_thread_waits_until(uint64_t ps); /* on the rank's clock; 0: no more */
bool exanet_takes_turns(const struct exanet_ni *ni);
/* A sleep in virtual time: of the whole rank, or of the calling thread beside others. */
void exanet_sleep(struct exanet_ni *ni, uint64_t ps);
/* The same, at whose end the other ranks have come to the rank's clock, too. */
void exanet_sleep_with_others(struct exanet_ni *ni, uint64_t ps);
/* The program creates a thread: before, and then either in it or when it could not be. NULL: there are too many. */
struct exn_thread;
struct exn_thread *exanet_thread_expect(void);
void exanet_thread_begins(struct exn_thread *thread);
void exanet_thread_expect_no_more(struct exn_thread *thread);
/* Who posts an operation, NULL where the rank has one thread; and that the operation has completed, in whichever
   thread's poll. */
struct exn_thread *exanet_thread_posting(void);
void exanet_thread_has_news(struct exn_thread *thread);
/* The same in virtual time. */
void exanet_thread_is_coming(void);
void exanet_thread_has_come(void);
void exanet_thread_has_not_come(void);
/* The calling thread, outside MPI, is about to sleep until another thread does something (true), or has woken. */
void exanet_thread_blocks(bool asleep);
/* The calling thread yields the processor outside MPI. */
void exanet_thread_yields(void);
/* The calling thread belongs to the MPI library. */
void exanet_thread_is_helper(void);
/* After a poll, without the interface's lock: lets other threads go first if the poll returned nothing because they
 * have work, and the caller gets to no better place for it. */
void exanet_step_aside(void);
/* Whether another thread of this process computes or is in an MPI call; costs some microseconds. */
int exanet_other_threads_busy(void);

/* Clock reads: returns the virtual clock in ps; after 1000 reads in a row without any other libexanet call each read
 * adds 100 ns, so that a program that spins on the clock gets on. */
uint64_t exanet_clock_read(struct exanet_ni *ni);
/* The same clock as it stands; in any phase, and free. */
uint64_t exanet_clock_peek(const struct exanet_ni *ni);
/* And as it stands for the calling thread, with what that has computed as far as it is counted. */
uint64_t exanet_clock_own(const struct exanet_ni *ni);

/* Threads that wait for each other, where computing counts (account.c). The calling thread's time; false: none
   counts. */
bool exanet_thread_time(uint64_t *ps);
/* It has waited for somebody whose time this is; what it has computed while it waited is not counted. */
void exanet_thread_goes_on_at(uint64_t ps);
void exanet_thread_learns(uint64_t ps); /* the same, of somebody for whom it need not wait; what it computed counts */
void exanet_thread_begins_at(uint64_t ps);
/* From when on it waits, which its creator learns when it looks at the clock; and no more. */
void exanet_thread_waits_from(uint64_t ps);
void exanet_thread_waits_no_more(void);
/* It begins with its part of something at this time; or resumes an outer one, of which it is known when that began, on
   the thread's processor clock. And the longest that one of the other threads has computed since it began with its own
   part. */
void exanet_part_begins(const void *whole, uint64_t ps);
uint64_t exanet_part_began(void);
void exanet_part_resumes(const void *whole, uint64_t began);
uint64_t exanet_parts_ps(const void *whole);

/* The program has no MPI, and nothing says which of its polls wait: before exanet_start(). */
void exanet_polls_may_be_questions(struct exanet_ni *ni);

/* The program's time before exanet_start(): each rank notes its own; from its return on the furthest of all ranks'
   is known. */
void exanet_note_before(struct exanet_ni *ni, uint64_t ps);
uint64_t exanet_before_ps(const struct exanet_ni *ni);

/* The node that a rank is placed on; whether any node has several ranks. */
uint32_t exanet_node(const struct exanet_ni *ni);
uint32_t exanet_node_of(const struct exanet_ni *ni, uint32_t rank);
bool exanet_shares_nodes(const struct exanet_ni *ni);

/* Whether the run chose how programs broadcast, and that routers copy what they send, between the endpoints
 * EXANET_COPIES; and what a rank has to do in one. The answer takes no virtual time. */
#define EXANET_COPIES 0
#define EXANET_GROUP (1u << 31) /* in a rank's place: with the number of a group of ranks */
struct exn_tree_question;
bool exanet_bcast_is_chosen(const struct exanet_ni *ni);
bool exanet_bcast_is_copied(const struct exanet_ni *ni);
void exanet_ask_tree(struct exanet_ni *ni, struct exn_tree_question *question);

/* What waits for a completion of exanet_reduce(), exanet_reduction_open(), or at the endpoint EXANET_COPIES: its
 * cookie is its address. (runtime/provider) */
struct exanet_awaited {
  bool done;
  int32_t status;
  uint32_t tree; /* that was opened */
  struct exn_thread *poster;
};

/* Whether calls of MPI are carried out by the simulator (core/replay/live_call.h); one of them, until it is over, which
   waits or asks; and the end of the run, for this reason, where one cannot be carried out. */
struct exanet_live_call;
bool exanet_simulates_mpi(const struct exanet_ni *ni);
void exanet_live_call(struct exanet_ni *ni, struct exanet_live_call *call, bool waits);
/* One that waits for nobody, kept until the rank next sleeps; charged if it sends. False: there are too many. */
bool exanet_live_post(struct exanet_ni *ni, const struct exanet_live_call *call, bool sends);
/* The same of a collective, whose cost is asked for. */
void exanet_live_start(struct exanet_ni *ni, struct exanet_live_call *call);
/* Whether any failure of another rank is known here: then nothing is posted without asking. */
bool exanet_live_knows_failures(void);
__attribute__((noreturn)) void exanet_end_run(struct exanet_ni *ni, const char *reason);

/* Collectives that the run takes from the MPI library, a bit of enum exn_offload (shm.h) each. */
uint32_t exanet_offloaded(const struct exanet_ni *ni);

/* Streams of TCP over the simulated network (runtime/sockets). Who takes completions hands on what is theirs; the
   first socket begins virtual time, where it is to. */
struct exanet_stream_event {
  struct exanet_ni *ni;
  uint32_t kind; /* EXANET_C_CONNECT, EXANET_C_SEGMENT or EXANET_C_DATAGRAM */
  uint32_t segment; /* enum exanet_segment_kind */
  uint32_t datagram; /* enum exanet_datagram_kind */
  uint32_t peer;
  int32_t status;
  uint16_t port, peer_port, host_port;
  uint64_t length;
  uint64_t socket; /* datagrams: as given with the fragment */
  const void *bytes; /* of a fragment that has come, during the call */
  uint32_t carried; /* how many */
};
#pragma GCC visibility push(default)
extern void (*exanet_on_stream)(const struct exanet_stream_event *event);
extern void (*exanet_first_socket)(void);
uint32_t exanet_segment_max(const struct exanet_ni *ni);
uint32_t exanet_stream_window(const struct exanet_ni *ni);
bool exanet_servers_end(const struct exanet_ni *ni); /* all others have ended */
void exanet_listen(struct exanet_ni *ni, uint16_t port, uint16_t host_port); /* 0: no more */
void exanet_connect(struct exanet_ni *ni, uint32_t peer, uint16_t port, uint16_t peer_port);
struct exanet_segment {
  uint32_t peer;
  uint16_t port, peer_port;
  enum exanet_segment_kind kind;
  uint32_t sequence;
  uint64_t length;
};
void exanet_segment_send(struct exanet_ni *ni, const struct exanet_segment *segment);
uint32_t exanet_fragment_max(const struct exanet_ni *ni); /* with the header of UDP */
void exanet_take_datagrams(struct exanet_ni *ni, uint16_t port, bool takes);
struct exanet_fragment {
  uint64_t socket;
  uint32_t peer, identification;
  uint16_t port, peer_port, length; /* length: of the datagram */
  uint8_t number, count;
  bool echo;
};
void exanet_fragment_send(struct exanet_ni *ni, const struct exanet_fragment *fragment, const void *bytes,
                          uint32_t size);
void exanet_datagram_dropped(struct exanet_ni *ni);
/* Waits once, until something comes or this time at the longest; UINT64_MAX: for ever; 0: not at all. `serves`: only
   for somebody who connects. */
int exanet_wait_once(struct exanet_ni *ni, struct exanet_completion *out, int max, uint64_t until_ps, bool serves);
/* The region, before the program gives up the right to open it, as ping does at its start. */
void exanet_map_early(void);
/* An empty look at a stream. */
uint64_t exanet_look_ps(const struct exanet_ni *ni);
/* What the calling thread has computed since the last call is ours. */
void exanet_uncount(struct exanet_ni *ni);
/* A socket is made, which begins virtual time where the first one is to; whether that is under way. */
bool exanet_streams_begin(void);
/* Around what the program does with streams. NULL: it is not in virtual time, or inside a library that is not its own.
   (runtime/provider) */
struct exanet_ni *exanet_streams_enter(void);
void exanet_streams_leave(struct exanet_ni *ni);
/* exanet_wait_once(), inside; what has come for libfabric goes there. */
void exanet_streams_wait(struct exanet_ni *ni, uint64_t until_ps, bool serves);
#pragma GCC visibility pop
/* A call on a file of a simulated storage has moved its bytes: the time that it takes there. (storage.c) */
struct exn_storage_call;
void exanet_storage_call(struct exanet_ni *ni, const struct exn_storage_call *call);
/* With several threads: one of them is in the host's part of such a call, or has left it. */
void exanet_thread_uses_file(struct exanet_ni *ni, bool uses);

/* MPI_Abort(code) was called: notifies the simulator, which ends the run and reports it. The library may still print
   what it has to say, and comes to exanet_go_no_further() then. */
void exanet_abort(struct exanet_ni *ni, int code);
/* The rank's program has ended, as what it has noted in its slot says. In virtual time the rank waits here until the
   simulator has come to the rank's time and ends the run, so that the run ends at the same virtual time, and for the
   same reason, whichever rank the host runs first; does not return then. Returns outside virtual time, and beside other
   threads of the rank, which may be asleep in the simulator already. */
void exanet_go_no_further(struct exanet_ni *ni);

/* Whether ranks have died with their hosts: the MPI library's own end, which they would take part in, is then left
   out. */
bool exanet_ranks_have_died(const struct exanet_ni *ni);

/* A forked child is no rank: drops the interface without touching the region. exanet_process_ni() returns NULL in
   this process from then on. */
void exanet_forget(void);
#endif
