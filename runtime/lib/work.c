// SPDX-License-Identifier: Apache-2.0
// Posting work: each call charges what it costs the processor, stamps a command with the rank's clock and puts it into the ring.
#include <errno.h>
#include <string.h>

#include "core/msg/atomic_table.h"
#include "runtime/lib/ni.h"

static uint32_t slots_for(uint32_t payload_bytes) {
  return (uint32_t)((sizeof(struct exn_cmd) + payload_bytes + EXN_SLOT_BYTES - 1) / EXN_SLOT_BYTES);
}

/* Contract: what the call costs is charged after this, not before: a full ring gives the simulator the processor, which then counts on
 * nothing being posted before the rank's clock and that cost. */
struct exn_cmd *exn_cmd_begin(struct exanet_ni *ni, uint32_t payload_bytes) {
  struct exn_ring *ring = &ni->slot->cmd;
  const uint32_t slots = slots_for(payload_bytes);
  for (;;) {
    const uint32_t tail = ring->tail, used = tail - __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
    const uint32_t to_end = EXN_RING_SLOTS - (tail & EXN_RING_MASK);
    const uint32_t need = slots <= to_end ? slots : to_end + slots;
    if (EXN_RING_SLOTS - used >= need) break;
    /* Full: let the simulator take what is there. Costs no virtual time. */
    if (exn_virtual(ni)) exn_sleep(ni, EXN_SLEEPING, ni->clock_ps, false);
    else exn_free_wait(ni);
  }
  uint32_t at = ring->tail & EXN_RING_MASK;
  if (slots > EXN_RING_SLOTS - at) {
    struct exn_cmd *pad = (struct exn_cmd *)ring->slots[at];
    pad->op = EXN_OP_PAD;
    pad->slots = 0;
    __atomic_store_n(&ring->tail, ring->tail + EXN_RING_SLOTS - at, __ATOMIC_RELEASE);
    at = 0;
  }
  struct exn_cmd *cmd = (struct exn_cmd *)ring->slots[at];
  memset(cmd, 0, sizeof *cmd);
  cmd->slots = (uint8_t)slots;
  cmd->inline_bytes = payload_bytes;
  return cmd;
}

void exn_cmd_end(struct exanet_ni *ni, struct exn_cmd *cmd) {
  struct exn_ring *ring = &ni->slot->cmd;
  cmd->time_ps = ni->clock_ps;
  __atomic_store_n(&ring->tail, ring->tail + cmd->slots, __ATOMIC_RELEASE);
  ni->fresh = true;
  exn_something_happened();
  if (ni->multithreaded) exn_thread_waits();
  ni->window_ps = EXN_FIRST_WINDOW_PS;
  ni->slot->horizon_ps = 0;  /* what this command leads to is not in the ring yet: the next wait has to ask */
  if (!exn_virtual(ni)) exn_kick(ni);
  exn_account_leave(ni);
}

static uint8_t *payload(struct exn_cmd *cmd) { return (uint8_t *)(cmd + 1); }

static bool no_such_rank(const struct exanet_ni *ni, exanet_addr to) { return to >> 16 >= ni->region->ranks; }

int exanet_ep_open(struct exanet_ni *ni, enum exanet_ep_kind kind, uint16_t *ep) {
  if (ni->endpoints > 65534) return -ENOSPC;
  exn_account_enter(ni);
  struct exn_cmd *cmd = exn_cmd_begin(ni, 0);
  cmd->op = EXN_OP_EP_OPEN;
  *ep = cmd->ep = (uint16_t)ni->endpoints++;
  cmd->data = kind == EXANET_EP_RAW;
  exn_cmd_end(ni, cmd);
  return 0;
}

int exanet_ep_close(struct exanet_ni *ni, uint16_t ep) {
  exn_account_enter(ni);
  struct exn_cmd *cmd = exn_cmd_begin(ni, 0);
  cmd->op = EXN_OP_EP_CLOSE;
  cmd->ep = ep;
  exn_cmd_end(ni, cmd);
  return 0;
}

int exanet_mem_register(struct exanet_ni *ni, void *addr, size_t len, uint32_t access, int choose, uint64_t *key) {
  /* Chosen keys lie where callers that number their own regions from 0 do not come. */
  if (choose) *key = ni->next_key++ | 1ull << 32;
  exn_account_enter(ni);
  struct exn_cmd *cmd = exn_cmd_begin(ni, 0);
  cmd->op = EXN_OP_MEM_REGISTER;
  cmd->tag = (uint64_t)(uintptr_t)addr;
  cmd->len = len;
  cmd->flags = access;
  cmd->ignore = *key;
  exn_cmd_end(ni, cmd);
  return 0;
}

int exanet_mem_deregister(struct exanet_ni *ni, uint64_t key) {
  exn_account_enter(ni);
  struct exn_cmd *cmd = exn_cmd_begin(ni, 0);
  cmd->op = EXN_OP_MEM_DEREGISTER;
  cmd->ignore = key;
  exn_cmd_end(ni, cmd);
  return 0;
}

static uint64_t store_cost(const struct exanet_ni *ni, uint64_t bytes) { return ni->region->store_word_ps * ((bytes + 15) / 16); }

/* An eager send is over for the sender once it is stored: its completion needs no simulator. */
static int complete_locally(struct exanet_ni *ni, uint16_t ep, uint64_t cookie, uint64_t len);

int exanet_send(struct exanet_ni *ni, uint16_t ep, exanet_addr to, uint64_t tag, const void *buf, size_t len, uint64_t data,
                uint32_t flags, uint64_t cookie) {
  const bool eager = len <= ni->region->eager_max;
  if (no_such_rank(ni, to)) return -EHOSTUNREACH;
  if (!eager && (flags & EXANET_INJECT) && len > EXANET_INJECT_MAX) return -EMSGSIZE;
  const uint32_t carried = eager || (flags & EXANET_INJECT) ? (uint32_t)len : 0;
  exn_account_enter(ni);
  struct exn_cmd *cmd = exn_cmd_begin(ni, carried);
  exn_charge(ni, ni->region->send_cpu_ps + store_cost(ni, ni->region->envelope_bytes + (eager ? len : 0)));
  const bool local = eager && !(flags & EXANET_DELIVERED);
  /* A buffer that was copied for a rendezvous is the caller's again at once, and so is its completion. */
  const bool copied = !eager && (flags & EXANET_INJECT) && !(flags & EXANET_DELIVERED);
  cmd->op = EXN_OP_SEND;
  cmd->ep = ep;
  cmd->flags = flags | (local || copied ? EXANET_SILENT : 0);
  cmd->peer = to;
  cmd->tag = tag;
  cmd->addr = (uint64_t)(uintptr_t)buf;
  cmd->len = len;
  cmd->data = data;
  cmd->cookie = cookie;
  if (carried) memcpy(payload(cmd), buf, carried);
  exn_cmd_end(ni, cmd);
  return (local || copied) && !(flags & EXANET_SILENT) ? complete_locally(ni, ep, cookie, len) : 0;
}

int exanet_recv(struct exanet_ni *ni, uint16_t ep, exanet_addr from, uint64_t tag, uint64_t ignore, void *buf, size_t len,
                size_t min_left, uint32_t flags, uint64_t cookie) {
  exn_account_enter(ni);
  struct exn_cmd *cmd = exn_cmd_begin(ni, 0);
  cmd->op = EXN_OP_RECV;
  cmd->ep = ep;
  cmd->flags = flags;
  cmd->peer = from;
  cmd->tag = tag;
  cmd->ignore = ignore;
  cmd->addr = (uint64_t)(uintptr_t)buf;
  cmd->len = len;
  cmd->data = min_left;
  cmd->cookie = cookie;
  exn_cmd_end(ni, cmd);
  return 0;
}

int exanet_peek(struct exanet_ni *ni, uint16_t ep, exanet_addr from, uint64_t tag, uint64_t ignore, uint32_t flags, uint64_t cookie) {
  exn_account_enter(ni);
  struct exn_cmd *cmd = exn_cmd_begin(ni, 0);
  cmd->op = EXN_OP_PEEK;
  cmd->ep = ep;
  cmd->flags = flags;
  cmd->peer = from;
  cmd->tag = tag;
  cmd->ignore = ignore;
  cmd->cookie = cookie;
  exn_cmd_end(ni, cmd);
  /* The answer exists at this very moment, but the simulator has to give it: do not spend the next poll for nothing. */
  ni->fresh = false;
  return 0;
}

int exanet_cancel(struct exanet_ni *ni, uint16_t ep, uint64_t cookie) {
  exn_account_enter(ni);
  struct exn_cmd *cmd = exn_cmd_begin(ni, 0);
  cmd->op = EXN_OP_CANCEL;
  cmd->ep = ep;
  cmd->cookie = cookie;
  exn_cmd_end(ni, cmd);
  return 0;
}

static struct exn_cmd *begin_rdma(struct exanet_ni *ni, uint8_t op, uint16_t ep, exanet_addr to, const void *buf, size_t len,
                                  uint64_t remote, uint64_t key, uint32_t flags, uint64_t cookie, uint32_t carried) {
  exn_account_enter(ni);
  struct exn_cmd *cmd = exn_cmd_begin(ni, carried);
  exn_charge(ni, ni->region->rdma_cpu_ps);
  cmd->op = op;
  cmd->ep = ep;
  cmd->flags = flags;
  cmd->peer = to;
  cmd->tag = remote;
  cmd->ignore = key;
  cmd->addr = (uint64_t)(uintptr_t)buf;
  cmd->len = len;
  cmd->cookie = cookie;
  return cmd;
}

int exanet_put(struct exanet_ni *ni, uint16_t ep, exanet_addr to, const void *buf, size_t len, uint64_t remote, uint64_t key,
               uint64_t data, uint32_t flags, uint64_t cookie) {
  if (no_such_rank(ni, to)) return -EHOSTUNREACH;
  if ((flags & EXANET_INJECT) && len > EXANET_INJECT_MAX) return -EMSGSIZE;
  const uint32_t carried = flags & EXANET_INJECT ? (uint32_t)len : 0;
  struct exn_cmd *cmd = begin_rdma(ni, EXN_OP_PUT, ep, to, buf, len, remote, key, flags, cookie, carried);
  cmd->data = data;
  if (carried) memcpy(payload(cmd), buf, carried);
  exn_cmd_end(ni, cmd);
  return 0;
}

int exanet_get(struct exanet_ni *ni, uint16_t ep, exanet_addr to, void *buf, size_t len, uint64_t remote, uint64_t key,
               uint32_t flags, uint64_t cookie) {
  if (no_such_rank(ni, to)) return -EHOSTUNREACH;
  exn_cmd_end(ni, begin_rdma(ni, EXN_OP_GET, ep, to, buf, len, remote, key, flags, cookie, 0));
  return 0;
}

size_t exanet_atomic_size(int type) { return exanet_type_bytes(type); }

int exanet_atomic_valid(enum exanet_atomic_kind kind, int op, int type, size_t *max_count) {
  if (!exanet_op_valid((int)kind, op, type)) return -EOPNOTSUPP;
  if (max_count) *max_count = EXN_ATOMIC_BYTES / exanet_type_bytes(type);
  return 0;
}

int exanet_atomic(struct exanet_ni *ni, uint16_t ep, enum exanet_atomic_kind kind, exanet_addr to, int op, int type, size_t count,
                  const void *operand, const void *compare, void *result, uint64_t remote, uint64_t key, uint32_t flags,
                  uint64_t cookie) {
  size_t most;
  if (no_such_rank(ni, to)) return -EHOSTUNREACH;
  if (exanet_atomic_valid(kind, op, type, &most) != 0) return -EOPNOTSUPP;
  if (count == 0 || count > most) return -EMSGSIZE;
  const size_t bytes = count * exanet_type_bytes(type);
  const bool reads = op == exanet_op_read, compares = kind == EXANET_ATOMIC_COMPARE;
  const uint32_t carried = reads ? 0 : (uint32_t)(bytes * (compares ? 2 : 1));
  struct exn_cmd *cmd = begin_rdma(ni, EXN_OP_ATOMIC, ep, to, NULL, bytes, remote, key, flags, cookie, carried);
  cmd->data = (uint64_t)op | (uint64_t)type << 8 | (uint64_t)kind << 16;
  cmd->count = (uint32_t)count;
  cmd->addr2 = (uint64_t)(uintptr_t)result;
  if (!reads) memcpy(payload(cmd), operand, bytes);
  if (compares) memcpy(payload(cmd) + bytes, compare, bytes);
  exn_cmd_end(ni, cmd);
  return 0;
}

int exanet_packet_send(struct exanet_ni *ni, uint16_t ep, exanet_addr to, const void *buf, size_t len) {
  if (no_such_rank(ni, to)) return -EHOSTUNREACH;
  if (len > ni->region->packet_max) return -EMSGSIZE;
  exn_account_enter(ni);
  struct exn_cmd *cmd = exn_cmd_begin(ni, (uint32_t)len);
  exn_charge(ni, ni->region->packet_cpu_ps + store_cost(ni, len > 0 ? len : 1));
  cmd->op = EXN_OP_PACKET;
  cmd->ep = ep;
  cmd->peer = to;
  cmd->len = len;
  if (len) memcpy(payload(cmd), buf, len);
  exn_cmd_end(ni, cmd);
  return 0;
}

static int complete_locally(struct exanet_ni *ni, uint16_t ep, uint64_t cookie, uint64_t len) {
  if (ni->local_count == ni->local_size && exn_local_grow(ni) != 0) return -ENOMEM;
  ni->local[(ni->local_head + ni->local_count++) % ni->local_size] = (struct exanet_completion_small){cookie, len, ep};
  return 0;
}
