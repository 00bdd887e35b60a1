// SPDX-License-Identifier: Apache-2.0
// Completions, and what an empty poll means in virtual time.
//
// A poll that finds something returns it at once. The first empty poll after that, or after something was posted, is free, because MPI
// libraries read a queue until it is empty. The next one waits: until the next completion's time, but no further than a window that
// doubles with each empty poll, because the caller may also wait for something that is not the network. Inside MPI_Test and its kin
// a poll is a question, not a wait: it takes one short fixed step.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/lib/ni.h"

int exn_local_grow(struct exanet_ni *ni) {
  const uint32_t size = ni->local_size ? ni->local_size * 2 : 64;
  struct exanet_completion_small *grown = malloc(size * sizeof *grown);
  if (!grown) return -ENOMEM;
  for (uint32_t i = 0; i < ni->local_count; ++i) grown[i] = ni->local[(ni->local_head + i) % ni->local_size];
  free(ni->local);
  ni->local = grown;
  ni->local_head = 0;
  ni->local_size = size;
  return 0;
}

/* The next completion in the ring, whatever its time; NULL when there is none. */
static struct exn_cqe *front(struct exanet_ni *ni) {
  struct exn_ring *ring = &ni->slot->cq;
  for (;;) {
    if (ring->head == __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE)) return NULL;
    struct exn_cqe *cqe = (struct exn_cqe *)ring->slots[ring->head & EXN_RING_MASK];
    if (cqe->kind != 0) return cqe;
    __atomic_store_n(&ring->head, (ring->head | EXN_RING_MASK) + 1, __ATOMIC_RELEASE);  /* padding up to the ring's end */
  }
}

static void take_one(struct exanet_ni *ni, const struct exn_cqe *cqe, struct exanet_completion *out) {
  out->kind = cqe->kind;
  out->tagged = (uint8_t)cqe->tagged;
  out->ep = cqe->ep;
  out->status = cqe->status;
  out->peer = cqe->peer;
  out->cookie = cqe->cookie;
  out->tag = cqe->tag;
  out->len = cqe->len;
  out->data = cqe->data;
  out->has_data = cqe->has_data;
  out->buf = (void *)(uintptr_t)cqe->addr;
  out->packet_len = 0;
  const void *carried = cqe + 1;
  if (cqe->kind == EXANET_C_PACKET) {
    out->packet_len = cqe->inline_bytes;
    memcpy(out->packet, carried, cqe->inline_bytes);
  } else if (cqe->inline_bytes) {
    memcpy(out->buf, carried, cqe->inline_bytes);
  }
  exn_charge(ni, cqe->cpu_ps);
  struct exn_ring *ring = &ni->slot->cq;
  __atomic_store_n(&ring->head, ring->head + cqe->slots, __ATOMIC_RELEASE);
}

static int take(struct exanet_ni *ni, struct exanet_completion *out, int max) {
  int n = 0;
  while (n < max && ni->local_count > 0) {
    const struct exanet_completion_small done = ni->local[ni->local_head];
    ni->local_head = (ni->local_head + 1) % ni->local_size;
    --ni->local_count;
    out[n].kind = EXANET_C_SEND;
    out[n].tagged = 0;
    out[n].ep = done.ep;
    out[n].status = 0;
    out[n].peer = 0;
    out[n].cookie = done.cookie;
    out[n].tag = out[n].data = 0;
    out[n].len = done.len;
    out[n].buf = NULL;
    out[n].has_data = out[n].packet_len = 0;
    ++n;
  }
  const bool timed = exn_virtual(ni);
  for (struct exn_cqe *cqe; n < max && (cqe = front(ni)) && (!timed || cqe->time_ps <= ni->clock_ps);) take_one(ni, cqe, &out[n++]);
  if (n > 0) {
    exn_completion_came();
    ni->fresh = true;
    ni->window_ps = EXN_FIRST_WINDOW_PS;
    ni->idle_polls = 0;
  }
  return n;
}

/* Moves the clock to the next completion or to `until`, whichever is earlier; asks the simulator unless it has already said enough. */
static void wait_until(struct exanet_ni *ni, uint64_t until, bool blocking) {
  const struct exn_cqe *next = front(ni);
  const uint64_t at = next && next->time_ps < until ? next->time_ps : until;
  if (at <= ni->slot->horizon_ps) ni->clock_ps = at;
  else exn_sleep(ni, EXN_SLEEPING, at, blocking);  /* the simulator does not look for what it has already put into the ring */
}

static int poll_virtual(struct exanet_ni *ni, struct exanet_completion *out, int max) {
  if (ni->fresh) {
    ni->fresh = false;
    return 0;
  }
  if (ni->multithreaded && exn_other_threads_run()) {
    ni->others_first = true;
    return 0;
  }
  if (exn_testing()) {
    wait_until(ni, ni->clock_ps + ni->region->test_step_ps, false);
  } else {
    uint64_t window = ni->window_ps;
    if (ni->multithreaded) window = window < EXN_THREADS_SLOWER * EXN_FIRST_WINDOW_PS ? window / EXN_THREADS_SLOWER : EXN_FIRST_WINDOW_PS;
    wait_until(ni, ni->clock_ps + window, !ni->multithreaded);
    if (ni->window_ps < EXN_LAST_WINDOW_PS) ni->window_ps *= 2;
  }
  return take(ni, out, max);
}

int exanet_poll(struct exanet_ni *ni, struct exanet_completion *out, int max) {
  exn_account_enter(ni);
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
  exn_account_leave(ni);
  return n;
}

int exanet_wait(struct exanet_ni *ni, struct exanet_completion *out, int max, uint64_t timeout_ps) {
  exn_account_enter(ni);
  const uint64_t end = timeout_ps > UINT64_MAX / 2 - ni->clock_ps ? UINT64_MAX / 2 : ni->clock_ps + timeout_ps;
  int n, patience = 20;
  while ((n = take(ni, out, max)) == 0) {
    if (exn_virtual(ni)) {
      if (ni->clock_ps >= end) break;
      wait_until(ni, end, true);
    } else {
      /* Time stands still: a real millisecond of patience stands for any finite timeout. */
      if (timeout_ps != UINT64_MAX && patience-- == 0) break;
      exn_free_wait(ni);
    }
  }
  exn_account_leave(ni);
  return n;
}
