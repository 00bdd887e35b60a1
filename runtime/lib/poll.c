// SPDX-License-Identifier: Apache-2.0
// Completions, and what an empty poll means in virtual time.
//
// A poll that finds something returns it at once. The first empty poll after that, or after something was posted, is
// free, because MPI libraries read a queue until it is empty; of a rank that has begun nonblocking collectives so are
// some more after something was found, because Open MPI goes on with them between polls, a step at each, and sees that
// one is over after its last step. The next one waits: until the next completion's time, but no further than a window
// that doubles with each empty poll, because the caller may also wait for something that is not the network. Inside
// MPI_Test and its kin a poll is a question, not a wait: it takes one short fixed step. Other MPI calls poll some times
// before they wait (nonblocking_polls.c). Of programs without MPI nothing says which of both a poll is. The first
// window is then no longer than that step, and a loop of polls still waits after few of them.
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/lib/ni.h"

#define EXN_EMPTY 16u
#define EXN_SPARE 3u /* with one, some ends of MPI_Ireduce on 3 to 17 ranks came a window late; with three, none did */
#define EXN_FEW 4u /* 500 us of waiting, in windows of 16 us and more */

int exn_local_grow(struct exanet_ni *ni) {
  const uint32_t size = ni->local_size ? ni->local_size * 2 : 64;
  struct exanet_completion_small *grown = malloc(size * sizeof *grown);
  if (!grown) return -ENOMEM;
  for (uint32_t i = 0; i < ni->local_count; ++i) grown[i] = ni->local[(ni->local_head + i) & (ni->local_size - 1)];
  free(ni->local);
  ni->local = grown;
  ni->local_head = 0;
  ni->local_size = size;
  return 0;
}

/* The next completion in the ring, whatever its time; NULL when there is none. */
static const union exn_completion *front(struct exanet_ni *ni) {
  struct exn_ring *ring = &ni->slot->cq;
  for (;;) {
    if (ring->head == __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE)) return NULL;
    const union exn_completion *c = (const union exn_completion *)ring->slots[ring->head & EXN_RING_MASK];
    if (c->header.kind != EXANET_C_PAD) return c;
    __atomic_store_n(&ring->head, (ring->head | EXN_RING_MASK) + 1, __ATOMIC_RELEASE);
  }
}

static void take_packet(const union exn_completion *c, struct exanet_completion *out) {
  out->peer = c->packet.peer;
  out->len = out->packet_len = c->header.payload_bytes;
  memcpy(out->packet, &c->packet + 1, c->header.payload_bytes);
}

static void take_receive(const union exn_completion *c, struct exanet_completion *out) {
  out->cookie = c->receive.cookie;
  out->peer = c->receive.peer;
  out->tag = c->receive.tag;
  out->len = c->receive.length;
  out->data = c->receive.data;
  out->buf = (void *)(uintptr_t)c->receive.buffer;
  if (c->header.payload_bytes) memcpy(out->buf, &c->receive + 1, c->header.payload_bytes);
}

/* A send, put, get or atomic: their records are alike. */
#define TAKE_INITIATOR(record)     \
  do {                             \
    out->cookie = (record).cookie; \
    out->peer = (record).peer;     \
    out->len = (record).length;    \
  } while (0)

static void take_one(struct exanet_ni *ni, const union exn_completion *c, struct exanet_completion *out) {
  const struct exn_completion_header *header = &c->header;
  memset(out, 0, offsetof(struct exanet_completion, packet));
  out->kind = header->kind;
  out->tagged = (header->flags & EXANET_TAGGED) != 0;
  out->ep = header->ep;
  out->status = header->status;
  out->has_data = (header->flags & EXANET_HAS_DATA) != 0;
  switch ((enum exanet_completion_kind)header->kind) {
    case EXANET_C_SEND: TAKE_INITIATOR(c->send); break;
    case EXANET_C_PUT: TAKE_INITIATOR(c->put); break;
    case EXANET_C_GET: TAKE_INITIATOR(c->get); break;
    case EXANET_C_ATOMIC: TAKE_INITIATOR(c->atomic); break;
    case EXANET_C_RECEIVE: take_receive(c, out); break;
    case EXANET_C_PACKET: take_packet(c, out); break;
    case EXANET_C_PEEK:
      out->cookie = c->peek.cookie;
      out->peer = c->peek.peer;
      out->tag = c->peek.tag;
      out->len = c->peek.length;
      out->data = c->peek.data;
      break;
    case EXANET_C_REMOTE_PUT:
      out->peer = c->remote_put.peer;
      out->len = c->remote_put.length;
      out->data = c->remote_put.data;
      break;
    case EXANET_C_REMOTE_EVENT:
      out->peer = c->remote_event.peer;
      out->key = c->remote_event.key;
      out->len = c->remote_event.length;
      out->access = c->remote_event.access;
      break;
    case EXANET_C_REDUCTION:
      out->cookie = c->reduction.cookie;
      out->buf = (void *)(uintptr_t)c->reduction.buffer;
      if (header->payload_bytes) memcpy(out->buf, &c->reduction + 1, header->payload_bytes);
      break;
    case EXANET_C_REDUCTION_OPEN:
      out->cookie = c->reduction_open.cookie;
      out->data = c->reduction_open.tree;
      break;
    case EXANET_C_MULTI_DONE: out->cookie = c->multi_done.cookie; break;
    case EXANET_C_PAD:
    case EXANET_C_CONNECT:
    case EXANET_C_SEGMENT:
    case EXANET_C_DATAGRAM: break;
  }
  exn_charge(ni, header->cpu_ps);
  struct exn_ring *ring = &ni->slot->cq;
  __atomic_store_n(&ring->head, ring->head + header->slots, __ATOMIC_RELEASE);
}

static int take(struct exanet_ni *ni, struct exanet_completion *out, int max) {
  int n = 0;
  while (n < max && ni->local_count > 0) {
    const struct exanet_completion_small done = ni->local[ni->local_head];
    ni->local_head = (ni->local_head + 1) % ni->local_size;
    --ni->local_count;
    memset(&out[n], 0, offsetof(struct exanet_completion, packet));
    out[n].kind = EXANET_C_SEND;
    out[n].ep = done.ep;
    out[n].cookie = done.cookie;
    out[n].len = done.len;
    ++n;
  }
  const bool timed = exn_virtual(ni);
  bool of_streams = false;
  for (const union exn_completion *c; n < max && (c = front(ni)) && (!timed || c->header.time_ps <= ni->clock_ps);) {
    const bool of_stream =
        c->header.kind == EXANET_C_SEGMENT || c->header.kind == EXANET_C_CONNECT || c->header.kind == EXANET_C_DATAGRAM;
    if (of_stream) exn_stream_arrived(ni, c);
    take_one(ni, c, &out[n]);
    of_streams |= of_stream;
    n += !of_stream;
  }
  if (n > 0 || of_streams) {
    ni->idle_ps = 0;
    exn_completion_came();
    exn_polls.fresh = true;
    exn_polls.spare = ni->rounds ? EXN_SPARE : 0;
    exn_polls.window_ps = ni->first_window_ps;
    exn_polls.empty = 0;
    ni->idle_polls = 0;
  }
  return n;
}

/* Moves the clock to the next completion or to `until`, whichever is earlier; asks the simulator unless it has
   already said enough. */
static void wait_until(struct exanet_ni *ni, uint64_t until, bool blocking) {
  if (exanet_program_threads()) {
    exn_let_woken_go_first();
    const uint64_t sleep_end = exn_next_sleep_end();
    if (sleep_end < until) until = sleep_end > ni->clock_ps ? sleep_end : ni->clock_ps;
    if (sleep_end != UINT64_MAX) blocking = false;
  }
  const union exn_completion *next = front(ni);
  const uint64_t at = next && next->header.time_ps < until ? next->header.time_ps : until, before = ni->clock_ps;
  if (at <= ni->slot->horizon_ps) {
    ni->clock_ps = at;
  } else {
    ni->slot->takes_first = !exanet_program_threads();
    exn_sleep(ni, EXN_SLEEPING, at,
              blocking); /* the simulator does not look for what it has already put into the ring */
    ni->slot->takes_first = 0;
  }
  const uint64_t waited = ni->clock_ps - before;
  ni->swallowed_ps += waited < ni->idle_ps ? waited : ni->idle_ps;
  ni->idle_ps = 0;
  if (exanet_program_threads()) {
    exn_wake_nappers(ni);
    exn_let_woken_go_first(); /* they read the clock, which the caller is about to charge */
  }
}

void exanet_polls_may_be_questions(struct exanet_ni *ni) { ni->first_window_ps = ni->slot->costs.test_step_ps; }

static void count_empty(struct exanet_ni *ni) {
  ++exn_polls.empty;
  if (!exn_testing()) exn_wait_was_empty(exn_polls.empty > EXN_FEW);
  exn_add_nonblocking(ni);
}

/* Of a rank with several threads it is asked only once its waits have been empty for long. */
static bool waits_for_ever(const struct exanet_ni *ni) {
  return !ni->multithreaded || (exn_polls.empty > EXN_EMPTY && exn_others_wait_for_ever());
}

static int poll_virtual(struct exanet_ni *ni, struct exanet_completion *out, int max) {
  if (exn_polls.fresh) {
    exn_polls.fresh = false;
    return 0;
  }
  if (exn_polls.spare > 0 && !exn_testing()) {
    --exn_polls.spare;
    return 0;
  }
  if (ni->multithreaded && exn_other_threads_run()) return 0;
  if (exn_testing()) {
    wait_until(ni, ni->clock_ps + ni->slot->costs.test_step_ps, false);
    exn_step_is_over();
  } else {
    if (exn_catch_up(ni)) return take(ni, out, max);
    if (exn_poll_is_nonblocking(ni)) return 0;
    exn_polls.nonblocking = 0;
    wait_until(ni, ni->clock_ps + exn_polls.window_ps, waits_for_ever(ni));
    if (exn_polls.window_ps < EXN_LAST_WINDOW_PS) exn_polls.window_ps *= 2;
  }
  const int n = take(ni, out, max);
  if (n == 0) count_empty(ni);
  return n;
}

int exanet_poll(struct exanet_ni *ni, struct exanet_completion *out, int max) {
  if (!exn_polls.nonblocking)
    exn_account_stop(ni); /* what a non-blocking poll has taken counts once it is known to have been work */
  exn_dealt_with();
  int n = take(ni, out, max);
  if (n == 0) {
    if (exn_virtual(ni)) {
      n = poll_virtual(ni, out, max);
    } else {
      if (++ni->idle_polls > 1) exn_free_wait(ni);
      n = take(ni, out, max);
    }
  }
  if (!exn_polls.nonblocking) exn_account_leave(ni);
  return n;
}

int exanet_wait_once(struct exanet_ni *ni, struct exanet_completion *out, int max, uint64_t until_ps, bool serves) {
  exn_account_stop(ni);
  exn_dealt_with();
  const uint64_t arrived = exn_streams_arrived;
  int n = take(ni, out, max);
  /* Also where the time has come: what the simulator has for the rank until now is to be in the ring. */
  if (until_ps > 0 && until_ps < ni->clock_ps) until_ps = ni->clock_ps;
  if (n == 0 && exn_streams_arrived == arrived && until_ps > 0 && exn_virtual(ni) &&
      !(ni->multithreaded && exn_other_threads_run())) {
    const bool for_ever = until_ps == UINT64_MAX, alone = !exanet_program_threads();
    const uint64_t window = ni->clock_ps + exn_polls.window_ps;
    ni->slot->serves = serves && (alone || exn_others_wait_for_ever()) ? 1 + ni->served : 0;
    wait_until(ni, alone || until_ps < window ? until_ps : window, for_ever && waits_for_ever(ni));
    ni->slot->serves = 0;
    if (exn_polls.window_ps < EXN_LAST_WINDOW_PS) exn_polls.window_ps *= 2;
    n = take(ni, out, max);
    if (n == 0 && exn_streams_arrived == arrived) {
      count_empty(ni);
      ni->served += serves;
    }
  }
  if (exn_streams_arrived != arrived) ni->served = 0;
  exn_account_leave(ni);
  return n;
}

int exanet_wait(struct exanet_ni *ni, struct exanet_completion *out, int max, uint64_t timeout_ps) {
  exn_account_stop(ni);
  const uint64_t end = timeout_ps > UINT64_MAX / 2 - ni->clock_ps ? UINT64_MAX / 2 : ni->clock_ps + timeout_ps;
  int n, tries_left = 20;
  while ((n = take(ni, out, max)) == 0) {
    if (exn_virtual(ni)) {
      if (ni->clock_ps >= end) break;
      wait_until(ni, end, true);
      ++exn_polls.empty;
    } else {
      /* Time stands still: a real millisecond of waiting stands for any finite timeout. */
      if (timeout_ps != UINT64_MAX && tries_left-- == 0) break;
      exn_free_wait(ni);
    }
  }
  exn_account_leave(ni);
  return n;
}
