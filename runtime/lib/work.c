// SPDX-License-Identifier: Apache-2.0
// Posts work: each call charges what it costs the processor, stamps a descriptor with the rank's clock and puts it into
// the ring.
//
// Problem: the simulator handles descriptors in the order of virtual time, so what a call costs must be on the clock
// before the descriptor is seen, and a full ring must not cost virtual time.
//
// Model: the costs are the machine file's, from the region: stores of words to the interface, the start of an RDMA
// transfer, a bare packet. What is copied into the descriptor (an eager message, an injected buffer, operands) is the
// caller's again at once.
//
// Limit: the caller serialises calls; the ring has one producer.
#include <errno.h>
#include <string.h>

#include "core/nic/targets/device_range.h"
#include "core/protocol/atomic_table.h"
#include "runtime/lib/gpu.h"
#include "runtime/lib/ni.h"

/* The simulator has to know before somebody hands over what touches the network sooner than messages: it may have
 * let others run too far. Costs no virtual time. */
static void warn_of(struct exanet_ni *ni, enum exn_sooner what) {
  if (ni->region->sooner & what) return;
  ni->slot->sooner |= what;
  if (exn_virtual(ni)) exn_sleep(ni, EXN_SLEEPING, ni->clock_ps, false);
}

/* Takes slots of the ring for a descriptor of `fixed_bytes` and its payload, fixed part zeroed; waits if the ring is
 * full. Contract: what the call costs is charged after this, not before: a full ring gives the simulator the
 * processor, which then counts on nothing being posted before the rank's clock and that cost. */
static void *begin(struct exanet_ni *ni, enum exanet_descriptor_kind kind, uint16_t ep, uint32_t flags,
                   uint32_t fixed_bytes, uint32_t payload_bytes) {
  exn_account_stop(ni);
  struct exn_ring *ring = &ni->slot->work;
  const uint32_t slots = (fixed_bytes + payload_bytes + EXANET_SLOT_BYTES - 1) / EXANET_SLOT_BYTES;
  for (;;) {
    const uint32_t tail = ring->tail, used = tail - __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
    const uint32_t to_end = EXN_RING_SLOTS - (tail & EXN_RING_MASK);
    const uint32_t need = slots <= to_end ? slots : to_end + slots;
    if (EXN_RING_SLOTS - used >= need) break;
    /* Full: let the simulator take what is there. Costs no virtual time. */
    if (exn_virtual(ni))
      exn_sleep(ni, EXN_SLEEPING, ni->clock_ps, false);
    else
      exn_free_wait(ni);
  }
  uint32_t at = ring->tail & EXN_RING_MASK;
  if (slots > EXN_RING_SLOTS - at) {
    struct exn_descriptor_header *pad = (struct exn_descriptor_header *)ring->slots[at];
    pad->kind = EXN_OP_PAD;
    pad->slots = 0;
    __atomic_store_n(&ring->tail, ring->tail + EXN_RING_SLOTS - at, __ATOMIC_RELEASE);
    at = 0;
  }
  struct exn_descriptor_header *header = (struct exn_descriptor_header *)ring->slots[at];
  memset(header, 0, fixed_bytes);
  header->kind = (uint8_t)kind;
  header->slots = (uint8_t)slots;
  header->ep = ep;
  header->flags = (uint16_t)flags;
  header->payload_bytes = (uint16_t)payload_bytes;
  return header;
}

static void end(struct exanet_ni *ni, struct exn_descriptor_header *header) {
  struct exn_ring *ring = &ni->slot->work;
  header->time_ps = ni->clock_ps;
  ni->idle_ps = 0;
  __atomic_store_n(&ring->tail, ring->tail + header->slots, __ATOMIC_RELEASE);
  exn_polls.fresh = true;
  exn_something_happened();
  exn_polls.window_ps = ni->first_window_ps;
  exn_polls.empty = 0;
  ni->slot->horizon_ps = 0; /* what this descriptor leads to is not in the ring yet: the next wait has to ask */
  if (!exn_virtual(ni)) exn_kick(ni);
  exn_account_leave(ni);
}

static uint64_t address_of(const void *buf) { return (uint64_t)(uintptr_t)buf; }

static bool is_group(exanet_addr to) { return (exanet_addr_rank(to) & EXANET_GROUP) != 0; }
static bool no_such_rank(const struct exanet_ni *ni, exanet_addr to) {
  return to >> 48 != 0 || exanet_addr_rank(to) >= ni->region->ranks;
}

int exanet_ep_open(struct exanet_ni *ni, enum exanet_endpoint_kind kind, uint16_t *ep) {
  if (ni->endpoints > 65534) return -ENOSPC;
  *ep = (uint16_t)ni->endpoints++;
  if (kind == EXANET_EP_RAW) warn_of(ni, EXN_SOONER_PACKETS);
  struct exn_ep_open_descriptor *d = begin(ni, EXN_OP_EP_OPEN, *ep, 0, sizeof *d, 0);
  d->ep_kind = (uint8_t)kind;
  end(ni, &d->header);
  return 0;
}

int exanet_ep_close(struct exanet_ni *ni, uint16_t ep) {
  struct exn_ep_close_descriptor *d = begin(ni, EXN_OP_EP_CLOSE, ep, 0, sizeof *d, 0);
  end(ni, &d->header);
  return 0;
}

int exanet_mem_register(struct exanet_ni *ni, void *addr, size_t len, uint32_t access, int choose, uint64_t *key) {
  /* Chosen keys lie where callers that number their own regions from 0 do not come. */
  if (choose) *key = ni->next_key++ | 1ull << 32;
  warn_of(ni, EXN_SOONER_ONE_SIDED); /* whoever writes or reads there, or elsewhere, has had a key before */
  struct exn_mem_register_descriptor *d = begin(ni, EXN_OP_MEM_REGISTER, 0, 0, sizeof *d, 0);
  d->key = *key;
  d->address = address_of(addr);
  d->length = len;
  d->access = access;
  end(ni, &d->header);
  return 0;
}

int exanet_mem_deregister(struct exanet_ni *ni, uint64_t key) {
  struct exn_mem_deregister_descriptor *d = begin(ni, EXN_OP_MEM_DEREGISTER, 0, 0, sizeof *d, 0);
  d->key = key;
  end(ni, &d->header);
  return 0;
}

/* Stores go to the interface a word of the router's width at a time. */
static uint64_t store_cost(const struct exanet_ni *ni, uint64_t bytes) {
  const uint64_t word = ni->slot->costs.store_word_bytes;
  return ni->slot->costs.store_word_ps * ((bytes + word - 1) / word);
}

/* Copies into the descriptor what it carries. Out of a GPU's memory the processor waits for that. */
static void carry(struct exanet_ni *ni, void *to, const void *from, uint32_t bytes) {
  if (bytes == 0) return;
  if (exanet_is_device(address_of(from)) && ni->region->gpu.per_node > 0)
    exn_charge(ni, exn_gpu_read_ps(&ni->region->gpu, bytes));
  memcpy(to, from, bytes);
}

/* An eager send is over for the sender once it is stored: its completion needs no simulator. */
static int complete_locally(struct exanet_ni *ni, uint16_t ep, uint64_t cookie, uint64_t len);

int exanet_send(struct exanet_ni *ni, uint16_t ep, exanet_addr to, uint64_t tag, const void *buf, size_t len,
                uint64_t data, uint32_t flags, uint64_t cookie) {
  const bool eager = len <= ni->region->eager_max;
  if (no_such_rank(ni, to) && !(is_group(to) && exanet_bcast_is_copied(ni))) return -EHOSTUNREACH;
  if (!eager && (flags & EXANET_INJECT) && len > EXANET_INJECT_MAX) return -EMSGSIZE;
  const uint32_t carried = eager || (flags & EXANET_INJECT) ? (uint32_t)len : 0;
  /* A buffer that was copied for a rendezvous is the caller's again at once, and so is its completion. */
  const bool local = (eager || (flags & EXANET_INJECT)) && !(flags & EXANET_DELIVERED);
  struct exn_send_descriptor *d = begin(ni, EXN_OP_SEND, ep, flags | (local ? EXANET_SILENT : 0), sizeof *d, carried);
  const bool transfers = is_group(to) && !eager; /* a descriptor in the place of an envelope */
  exn_charge(
      ni, ni->slot->costs.send_cpu_ps + (transfers ? ni->slot->costs.rdma_cpu_ps
                                                   : store_cost(ni, ni->region->envelope_bytes + (eager ? len : 0))));
  d->peer = to;
  d->cookie = cookie;
  d->tag = tag;
  d->buffer = address_of(buf);
  d->length = len;
  d->data = data;
  carry(ni, d + 1, buf, carried);
  end(ni, &d->header);
  return local && !(flags & EXANET_SILENT) ? complete_locally(ni, ep, cookie, len) : 0;
}

int exanet_recv(struct exanet_ni *ni, uint16_t ep, exanet_addr from, uint64_t tag, uint64_t ignore, void *buf,
                size_t len, size_t min_left, uint32_t flags, uint64_t cookie) {
  struct exn_receive_descriptor *d = begin(ni, EXN_OP_RECEIVE, ep, flags, sizeof *d, 0);
  d->peer = from;
  d->cookie = cookie;
  d->tag = tag;
  d->ignore = ignore;
  d->buffer = address_of(buf);
  d->length = len;
  d->min_left = min_left;
  end(ni, &d->header);
  return 0;
}

int exanet_peek(struct exanet_ni *ni, uint16_t ep, exanet_addr from, uint64_t tag, uint64_t ignore, uint32_t flags,
                uint64_t cookie) {
  struct exn_peek_descriptor *d = begin(ni, EXN_OP_PEEK, ep, flags, sizeof *d, 0);
  d->peer = from;
  d->cookie = cookie;
  d->tag = tag;
  d->ignore = ignore;
  end(ni, &d->header);
  /* The answer exists at this very time, but the simulator has to give it: do not spend the next poll for nothing. */
  exn_polls.fresh = false;
  return 0;
}

int exanet_cancel(struct exanet_ni *ni, uint16_t ep, uint64_t cookie) {
  struct exn_cancel_descriptor *d = begin(ni, EXN_OP_CANCEL, ep, 0, sizeof *d, 0);
  d->cookie = cookie;
  end(ni, &d->header);
  return 0;
}

int exanet_put(struct exanet_ni *ni, uint16_t ep, exanet_addr to, const void *buf, size_t len, uint64_t remote,
               uint64_t key, uint64_t data, uint32_t flags, uint64_t cookie) {
  if (no_such_rank(ni, to)) return -EHOSTUNREACH;
  if ((flags & EXANET_INJECT) && len > EXANET_INJECT_MAX) return -EMSGSIZE;
  const uint32_t carried = flags & EXANET_INJECT ? (uint32_t)len : 0;
  struct exn_put_descriptor *d = begin(ni, EXN_OP_PUT, ep, flags, sizeof *d, carried);
  exn_charge(ni, ni->slot->costs.rdma_cpu_ps);
  d->peer = to;
  d->cookie = cookie;
  d->buffer = address_of(buf);
  d->length = len;
  d->remote = remote;
  d->key = key;
  d->data = data;
  carry(ni, d + 1, buf, carried);
  end(ni, &d->header);
  return 0;
}

int exanet_get(struct exanet_ni *ni, uint16_t ep, exanet_addr to, void *buf, size_t len, uint64_t remote, uint64_t key,
               uint32_t flags, uint64_t cookie) {
  if (no_such_rank(ni, to)) return -EHOSTUNREACH;
  struct exn_get_descriptor *d = begin(ni, EXN_OP_GET, ep, flags, sizeof *d, 0);
  exn_charge(ni, ni->slot->costs.rdma_cpu_ps);
  d->peer = to;
  d->cookie = cookie;
  d->buffer = address_of(buf);
  d->length = len;
  d->remote = remote;
  d->key = key;
  end(ni, &d->header);
  return 0;
}

size_t exanet_atomic_size(int type) { return exanet_type_bytes(type); }

int exanet_atomic_valid(enum exanet_atomic_kind kind, int op, int type, size_t *max_count) {
  if (!exanet_op_valid((int)kind, op, type)) return -EOPNOTSUPP;
  if (max_count) *max_count = EXANET_ATOMIC_MAX / exanet_type_bytes(type);
  return 0;
}

int exanet_atomic(struct exanet_ni *ni, uint16_t ep, enum exanet_atomic_kind kind, exanet_addr to, int op, int type,
                  size_t count, const void *operand, const void *compare, void *result, uint64_t remote, uint64_t key,
                  uint32_t flags, uint64_t cookie) {
  size_t most;
  if (no_such_rank(ni, to)) return -EHOSTUNREACH;
  if (exanet_atomic_valid(kind, op, type, &most) != 0) return -EOPNOTSUPP;
  if (count == 0 || count > most) return -EMSGSIZE;
  const size_t bytes = count * exanet_type_bytes(type);
  const bool reads = op == exanet_op_read, compares = kind == EXANET_ATOMIC_COMPARE;
  const uint32_t carried = reads ? 0 : (uint32_t)(bytes * (compares ? 2 : 1));
  struct exn_atomic_descriptor *d = begin(ni, EXN_OP_ATOMIC, ep, flags, sizeof *d, carried);
  exn_charge(ni, ni->slot->costs.rdma_cpu_ps);
  d->peer = to;
  d->cookie = cookie;
  d->result = address_of(result);
  d->remote = remote;
  d->key = key;
  d->count = (uint32_t)count;
  d->atomic_kind = (uint8_t)kind;
  d->operation = (uint8_t)op;
  d->datatype = (uint8_t)type;
  if (!reads) carry(ni, d + 1, operand, (uint32_t)bytes);
  if (compares) carry(ni, (uint8_t *)(d + 1) + bytes, compare, (uint32_t)bytes);
  end(ni, &d->header);
  return 0;
}

int exanet_packet_send(struct exanet_ni *ni, uint16_t ep, exanet_addr to, const void *buf, size_t len) {
  if (no_such_rank(ni, to)) return -EHOSTUNREACH;
  if (len > ni->region->packet_max) return -EMSGSIZE;
  struct exn_packet_descriptor *d = begin(ni, EXN_OP_PACKET, ep, 0, sizeof *d, (uint32_t)len);
  exn_charge(ni, ni->slot->costs.packet_cpu_ps + store_cost(ni, len > 0 ? len : 1));
  d->peer = to;
  carry(ni, d + 1, buf, (uint32_t)len);
  end(ni, &d->header);
  return 0;
}

int exanet_reduction_open(struct exanet_ni *ni, const uint32_t *members, uint32_t count, uint64_t cookie) {
  struct exn_reduction_open_descriptor *d = begin(ni, EXN_OP_REDUCTION_OPEN, 0, 0, sizeof *d, 0);
  d->cookie = cookie;
  d->members = address_of(members);
  d->count = count;
  end(ni, &d->header);
  return 0;
}

int exanet_reduction_close(struct exanet_ni *ni, uint32_t tree) {
  struct exn_reduction_close_descriptor *d = begin(ni, EXN_OP_REDUCTION_CLOSE, 0, 0, sizeof *d, 0);
  d->tree = tree;
  end(ni, &d->header);
  return 0;
}

void exanet_listen(struct exanet_ni *ni, uint16_t port, uint16_t host_port) {
  warn_of(ni, EXN_SOONER_STREAMS);
  struct exn_listen_descriptor *d = begin(ni, EXN_OP_LISTEN, 0, 0, sizeof *d, 0);
  d->port = port;
  d->host_port = host_port;
  end(ni, &d->header);
}

void exanet_connect(struct exanet_ni *ni, uint32_t peer, uint16_t port, uint16_t peer_port) {
  warn_of(ni, EXN_SOONER_STREAMS);
  struct exn_connect_descriptor *d = begin(ni, EXN_OP_CONNECT, 0, 0, sizeof *d, 0);
  exn_charge(ni, ni->region->segment_cpu_ps);
  d->peer = peer;
  d->port = port;
  d->peer_port = peer_port;
  end(ni, &d->header);
}

void exanet_segment_send(struct exanet_ni *ni, const struct exanet_segment *segment) {
  warn_of(ni, EXN_SOONER_STREAMS);
  struct exn_segment_descriptor *d = begin(ni, EXN_OP_SEGMENT, 0, 0, sizeof *d, 0);
  exn_charge(ni, ni->region->segment_cpu_ps);
  d->peer = segment->peer;
  d->length = segment->length;
  d->port = segment->port;
  d->peer_port = segment->peer_port;
  d->sequence = segment->sequence;
  d->segment_kind = (uint8_t)segment->kind;
  end(ni, &d->header);
  ni->served = 0;
  ++ni->slot->segments;
  if (segment->kind == EXANET_SEGMENT_DATA || segment->kind == EXANET_SEGMENT_FULL)
    ni->slot->segment_bytes += segment->length;
}

void exanet_take_datagrams(struct exanet_ni *ni, uint16_t port, bool takes) {
  warn_of(ni, EXN_SOONER_STREAMS);
  struct exn_listen_descriptor *d = begin(ni, EXN_OP_LISTEN, 0, 0, sizeof *d, 0);
  d->port = port;
  d->host_port = takes;
  d->datagrams = 1;
  end(ni, &d->header);
}

void exanet_fragment_send(struct exanet_ni *ni, const struct exanet_fragment *fragment, const void *bytes,
                          uint32_t size) {
  warn_of(ni, EXN_SOONER_STREAMS);
  struct exn_datagram_descriptor *d = begin(ni, EXN_OP_DATAGRAM, 0, 0, sizeof *d, size);
  exn_charge(ni, ni->region->segment_cpu_ps);
  d->cookie = fragment->socket;
  d->peer = fragment->peer;
  d->port = fragment->port;
  d->peer_port = fragment->peer_port;
  d->length = fragment->length;
  d->fragment = fragment->number;
  d->fragments = fragment->count;
  d->identification = fragment->identification;
  d->echo = fragment->echo;
  memcpy(d + 1, bytes, size);
  end(ni, &d->header);
  ni->served = 0;
  ++ni->slot->segments;
  ni->slot->segment_bytes += size;
  ni->slot->datagrams += fragment->number == 0;
}

size_t exanet_reduction_max(const struct exanet_ni *ni) { return ni->region->reduction_max; }

int exanet_reduction_valid(const struct exanet_ni *ni, int op, int type, size_t count) {
  if (!exanet_reduces(op, type)) return -EOPNOTSUPP;
  return count <= ni->region->reduction_max / exanet_type_bytes(type) ? 0 : -EMSGSIZE;
}

int exanet_reduce(struct exanet_ni *ni, uint32_t tree, int op, int type, size_t count, const void *part, void *result,
                  uint64_t cookie) {
  const int wrong = exanet_reduction_valid(ni, op, type, count);
  if (wrong) return wrong;
  const uint32_t bytes = (uint32_t)(count * exanet_type_bytes(type));
  struct exn_reduction_descriptor *d = begin(ni, EXN_OP_REDUCTION, 0, 0, sizeof *d, bytes);
  /* The part, and a word that says what is to be done with it. */
  exn_charge(ni, ni->slot->costs.send_cpu_ps + store_cost(ni, bytes) + ni->slot->costs.store_word_ps);
  d->cookie = cookie;
  d->buffer = address_of(result);
  d->tree = tree;
  d->count = (uint16_t)count;
  d->operation = (uint8_t)op;
  d->datatype = (uint8_t)type;
  carry(ni, d + 1, part, bytes);
  end(ni, &d->header);
  return 0;
}

static int complete_locally(struct exanet_ni *ni, uint16_t ep, uint64_t cookie, uint64_t len) {
  if (ni->local_count == ni->local_size && exn_local_grow(ni) != 0) return -ENOMEM;
  ni->local[(ni->local_head + ni->local_count++) % ni->local_size] = (struct exanet_completion_small){cookie, len, ep};
  return 0;
}
