/* SPDX-License-Identifier: Apache-2.0
 * For handlers of `exanet run --handlers FILE.c` (docs/spin.md): what they are given, and what they can ask of their
 * interface. Names are those of PsPIN's runtime where it has the same. */
#ifndef EXANET_SPIN_H
#define EXANET_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#define SPIN_OK 0
#define SPIN_FAIL 1
#define SPIN_MOST_CLUSTERS 16
#define SPIN_ANY 0xffffffffu

typedef struct task {
  void *pkt_mem;           /* the packet's bytes, in the cluster's memory */
  uint32_t pkt_mem_size;   /* 0 in a completion handler */
  uint32_t pkt_offset;     /* of the packet in its message */
  uint32_t flow_id;        /* number of the message at this interface */
  uint32_t msg_size;       /* bytes of the message */
  uint32_t source;         /* rank that has sent it */
  uint32_t tag;
  uint32_t host_mem_low;   /* address of the receive's buffer in host memory ... */
  uint32_t host_mem_high;
  uint32_t host_mem_size;  /* ... and how many bytes it has */
  void *handler_mem;       /* memory that all clusters share: variables lie there */
  uint32_t handler_mem_size;
  uint32_t scratchpad_size;
  uint32_t clusters;
  void *scratchpad[SPIN_MOST_CLUSTERS]; /* of each cluster; zero at the beginning of the run */
} task_t;

typedef struct handler_args {
  task_t *task;
  uint32_t hpu_gid;    /* which HPU runs the handler, of the interface ... */
  uint32_t cluster_id; /* ... its cluster ... */
  uint32_t hpu_id;     /* ... and which one it is there */
} handler_args_t;

/* A file defines those of these three that its messages need. */
void header_handler(handler_args_t *args);
void payload_handler(handler_args_t *args);
void completion_handler(handler_args_t *args);

/* Which messages the handlers take: `SPIN_MATCH(.tag = 7, .source = SPIN_ANY, .destination = 1, .least = 1024);`.
   What is left out is 0. A file without it takes every message. */
struct spin_match {
  uint32_t tag, source, destination, least;
};
#define SPIN_MATCH(...) __attribute__((used, section(".spin.match"))) const struct spin_match spin_match = {__VA_ARGS__}

typedef uint32_t spin_cmd_t; /* number of a command */

/* Registers of the interface: core/nic/handlers/layout.hpp. */
#define SPIN_REGISTER(at) (*(volatile uint32_t *)(0x1b000000u + (at)))

static inline void spin_command_(uint64_t host, uint32_t local, uint32_t bytes, uint32_t kind, spin_cmd_t *cmd) {
  SPIN_REGISTER(0x00) = (uint32_t)host;
  SPIN_REGISTER(0x04) = (uint32_t)(host >> 32);
  SPIN_REGISTER(0x08) = local;
  SPIN_REGISTER(0x0c) = bytes;
  __asm__ volatile("" ::: "memory");
  SPIN_REGISTER(0x10) = kind;
  *cmd = SPIN_REGISTER(0x10);
}

/* Moves bytes between the interface's memories and host memory, beside what the handler does meanwhile. `event` is
   PsPIN's, and without effect: the message completes when its handlers and their commands are done. */
static inline int spin_dma_to_host(uint64_t host, uint32_t local, uint32_t bytes, bool event, spin_cmd_t *cmd) {
  (void)event;
  spin_command_(host, local, bytes, 0, cmd);
  return SPIN_OK;
}
static inline int spin_dma_from_host(uint64_t host, uint32_t local, uint32_t bytes, bool event, spin_cmd_t *cmd) {
  (void)event;
  spin_command_(host, local, bytes, 1, cmd);
  return SPIN_OK;
}
/* Writes 8 bytes. */
static inline int spin_write_to_host(uint64_t host, uint64_t value, spin_cmd_t *cmd) {
  SPIN_REGISTER(0x1c) = (uint32_t)value;
  SPIN_REGISTER(0x20) = (uint32_t)(value >> 32);
  spin_command_(host, 0, 8, 2, cmd);
  return SPIN_OK;
}
static inline int spin_cmd_wait(spin_cmd_t cmd) {
  SPIN_REGISTER(0x14) = cmd;
  (void)SPIN_REGISTER(0x14);
  return SPIN_OK;
}
static inline int spin_cmd_test(spin_cmd_t cmd, bool *completed) {
  SPIN_REGISTER(0x18) = cmd;
  *completed = SPIN_REGISTER(0x18) != 0;
  return SPIN_OK;
}

static inline uint64_t spin_host_address(const task_t *task) {
  return (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
}

static inline uint32_t spin_cycle(void) {
  uint32_t cycle;
  __asm__ volatile("csrr %0, 0xb00" : "=r"(cycle));
  return cycle;
}

/* Adds to a word of memory that several HPUs add to, or keeps the larger one there. Both return what was there. */
static inline uint32_t amo_add(volatile void *word, uint32_t value) {
  uint32_t old;
  __asm__ volatile("amoadd.w %0, %2, (%1)" : "=r"(old) : "r"(word), "r"(value) : "memory");
  return old;
}

static inline uint32_t amo_max(volatile void *word, uint32_t value) {
  uint32_t old;
  __asm__ volatile("amomaxu.w %0, %2, (%1)" : "=r"(old) : "r"(word), "r"(value) : "memory");
  return old;
}

#endif
