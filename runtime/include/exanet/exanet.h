/* SPDX-License-Identifier: Apache-2.0
 * libexanet: the user-level network-interface library.
 *
 * A process opens the (simulated) network interface of its node, opens endpoints on it (a virtualised mailbox with its
 * packetizer), and posts work; what finished comes back from exanet_poll(). Every call returns 0 (or a count) or a
 * negative errno value and never blocks in real time longer than the simulator needs to reach the virtual time at which
 * something happens.
 *
 * Threads: the caller serialises calls on one exanet_ni (the libfabric provider does it with one lock).
 */
#ifndef EXANET_EXANET_H
#define EXANET_EXANET_H

#include <stddef.h>
#include <stdint.h>

#include "exanet/descriptors.h"  /* enums, flags and limits named below */

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default) /* programs link to these; everything else in the library stays inside */

struct exanet_ni;

#define EXANET_ANY UINT64_MAX       /* any source */

/* An endpoint's address on the machine: rank and endpoint number. */
static inline exanet_addr exanet_address(uint32_t rank, uint16_t ep) { return rank | ((uint64_t)ep << 32); }
static inline uint32_t exanet_addr_rank(exanet_addr a) { return (uint32_t)a; }
static inline uint16_t exanet_addr_ep(exanet_addr a) { return (uint16_t)(a >> 32); }

/* -- opening ------------------------------------------------------------------------------------------------------- */
/* The environment names the machine: EXANET_NI (path of the shared region), EXANET_RANK (this process's rank), set
 * by `exanet run`. One interface a process: a second open returns the same one (counted). -ENODEV: no machine;
 * -EPROTO: another version. */
int exanet_open(struct exanet_ni **ni);
void exanet_close(struct exanet_ni *ni);
uint32_t exanet_rank(const struct exanet_ni *ni);
uint32_t exanet_size(const struct exanet_ni *ni);
size_t exanet_eager_max(const struct exanet_ni *ni); /* largest message sent without rendezvous, bytes */
size_t exanet_packet_max(const struct exanet_ni *ni); /* largest packetizer message, bytes */

/* Endpoints are numbered by the process, 0..65534. MESSAGE endpoints match tags; RAW ones are bare mailboxes. */
int exanet_ep_open(struct exanet_ni *ni, enum exanet_endpoint_kind kind, uint16_t *ep);
/* Posted receives vanish without completions, matched ones too; sends of messages that were not taken complete with
   -ECONNRESET. */
int exanet_ep_close(struct exanet_ni *ni, uint16_t ep);

/* -- protection domain: registered memory -------------------------------------------------------------------------- */
/* `access`: EXANET_REMOTE_READ, EXANET_REMOTE_WRITE, EXANET_OFFSET_ADDRESSED, EXANET_REPORT_EVENTS. */
/* `key` in: wanted key, when `choose` is 0 (a region that has it already is replaced); out: the key. */
int exanet_mem_register(struct exanet_ni *ni, void *addr, size_t len, uint32_t access, int choose, uint64_t *key);
int exanet_mem_deregister(struct exanet_ni *ni, uint64_t key);

/* -- work ---------------------------------------------------------------------------------------------------------- */
/* `cookie` comes back in the completion. Buffers belong to the interface until then, unless EXANET_INJECT (buffer
 * reusable at once). -EHOSTUNREACH: no such rank; -EMSGSIZE: longer than the interface takes. A full queue is waited
 * for, at no virtual time. */
/* `flags`: EXANET_INJECT (up to EXANET_INJECT_MAX bytes), EXANET_SILENT, EXANET_HAS_DATA, EXANET_DELIVERED,
 * EXANET_MULTI (see min_left), EXANET_CLAIM, EXANET_DISCARD, EXANET_TAGGED. */

/* Tagged or untagged message to a MESSAGE endpoint. Order between two endpoints is kept in matching. */
int exanet_send(struct exanet_ni *ni, uint16_t ep, exanet_addr to, uint64_t tag, const void *buf, size_t len,
                uint64_t data, uint32_t flags, uint64_t cookie);
/* `from`: an address or EXANET_ANY. A bit set in `ignore` is not compared. A message longer than `len` completes
   with -EMSGSIZE (truncated). */
int exanet_recv(struct exanet_ni *ni, uint16_t ep, exanet_addr from, uint64_t tag, uint64_t ignore, void *buf,
                size_t len, size_t min_left, uint32_t flags, uint64_t cookie);
/* Completes with EXANET_C_PEEK: status 0 and the message's peer, tag, len, data; or -ENOMSG. */
int exanet_peek(struct exanet_ni *ni, uint16_t ep, exanet_addr from, uint64_t tag, uint64_t ignore, uint32_t flags,
                uint64_t cookie);
/* If the receive is still unmatched it completes with -ECANCELED; otherwise nothing happens (its completion is on
 * its way). A multi-receive buffer takes no more messages, and completes with -ECANCELED, in place of
 * EXANET_C_MULTI_DONE, after those on their way into it. */
int exanet_cancel(struct exanet_ni *ni, uint16_t ep, uint64_t cookie);

/* RDMA. `remote` is an address (or offset) in the region `key` of rank `to`. Completes when the end-to-end
 * acknowledgement is back (put) or the data is in memory (get); with -EACCES, touching nothing, when the region does
 * not allow it. A get may overtake a put: it sees what was complete before it. */
int exanet_put(struct exanet_ni *ni, uint16_t ep, exanet_addr to, const void *buf, size_t len, uint64_t remote,
               uint64_t key, uint64_t data, uint32_t flags, uint64_t cookie);
int exanet_get(struct exanet_ni *ni, uint16_t ep, exanet_addr to, void *buf, size_t len, uint64_t remote, uint64_t key,
               uint32_t flags, uint64_t cookie);

/* Atomics: op and type numbers are libfabric's (enum fi_op, enum fi_datatype), count elements. `result` may be NULL
 * unless fetching; `compare` is for the compare-and-swap family. Executed one at a time at the target's interface,
 * in the order of virtual time. */
int exanet_atomic_valid(enum exanet_atomic_kind kind, int op, int type, size_t *max_count); /* 0 or -EOPNOTSUPP */
size_t exanet_atomic_size(int type); /* bytes of one element, 0: unknown */
int exanet_atomic(struct exanet_ni *ni, uint16_t ep, enum exanet_atomic_kind kind, exanet_addr to, int op, int type,
                  size_t count, const void *operand, const void *compare, void *result, uint64_t remote, uint64_t key,
                  uint32_t flags, uint64_t cookie);

/* Bare packetizer message of at most exanet_packet_max() bytes to a RAW endpoint's mailbox; no completion, arrives
   as EXANET_C_PACKET. */
int exanet_packet_send(struct exanet_ni *ni, uint16_t ep, exanet_addr to, const void *buf, size_t len);

/* Reductions in the interfaces, where the run offers them: a tree of processes, `members` being their numbers, each
 * once, the caller's among them, is opened by one of them, and completes with EXANET_C_REDUCTION_OPEN, whose `data`
 * is its number; -ENOSPC: there is no space for it, -EOPNOTSUPP: the machine cannot. Each member then hands over its
 * part, and completes with EXANET_C_REDUCTION when the result is in `result`; -EINVAL: parts did not agree, or the
 * last result was not waited for. op: sum, min, max, bor, band, bxor; type: 32 or 64 bits; count 0: a barrier. */
int exanet_reduction_open(struct exanet_ni *ni, const uint32_t *members, uint32_t count, uint64_t cookie);
size_t exanet_reduction_max(const struct exanet_ni *ni); /* bytes of the longest vector */
int exanet_reduction_valid(const struct exanet_ni *ni, int op, int type,
                           size_t count); /* 0, -EOPNOTSUPP or -EMSGSIZE */
int exanet_reduce(struct exanet_ni *ni, uint32_t tree, int op, int type, size_t count, const void *part, void *result,
                  uint64_t cookie);
int exanet_reduction_close(struct exanet_ni *ni, uint32_t tree);

/* -- completions --------------------------------------------------------------------------------------------------- */
/* Zero, but for what the record of the kind in descriptors.h has. */
struct exanet_completion {
  uint8_t kind; /* enum exanet_completion_kind */
  uint8_t tagged;
  uint16_t ep;
  int32_t status; /* 0 or a negative errno value */
  exanet_addr peer; /* source of a receive, peek, packet */
  uint64_t cookie;
  uint64_t tag;
  uint64_t len; /* bytes of the message (may exceed the buffer when truncated: status -EMSGSIZE) */
  uint64_t data; /* valid if has_data; reduction_open: the tree */
  uint64_t key; /* remote event: the region */
  void *buf; /* receive: where the data landed (multi-receive: inside the buffer) */
  uint32_t access; /* remote event: EXANET_REMOTE_READ or EXANET_REMOTE_WRITE */
  uint16_t has_data;
  uint16_t packet_len;
  uint8_t packet[EXANET_PACKET_MAX];
};

/* Up to `max` completions due at or before the rank's clock; 0 when there are none. In virtual time an empty poll
 * may advance the clock (see docs/virtual-time.md): a loop of polls therefore waits in virtual time without spinning
 * in real time. */
int exanet_poll(struct exanet_ni *ni, struct exanet_completion *out, int max);
/* As exanet_poll, but waits for at least one completion up to `timeout_ps` of virtual time (UINT64_MAX: for ever). */
int exanet_wait(struct exanet_ni *ni, struct exanet_completion *out, int max, uint64_t timeout_ps);

/* -- virtual time -------------------------------------------------------------------------------------------------- */
/* Before exanet_start() and after exanet_finish() time stands still and messages travel at once. Both wait for all
   ranks. */
int exanet_start(struct exanet_ni *ni);
int exanet_finish(struct exanet_ni *ni);
int exanet_is_virtual(const struct exanet_ni *ni);
uint64_t exanet_clock_ps(const struct exanet_ni *ni);
void exanet_advance(struct exanet_ni *ni, uint64_t ps); /* the rank computes (or sleeps) for so long */

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
