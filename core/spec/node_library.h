/* SPDX-License-Identifier: Apache-2.0
 * What the simulator and a shared library of Verilated nodes say to each other: nodes joined by lines, packets in,
 * packets out, a clock cycle at a time. Plain C, because the library is built on its own, later, by another compiler
 * run, and loaded by name.
 *
 * Contract: calls come from one thread. Cycle k begins with the clock edge that step() number k makes; what was sent
 * before the call is on the port's wire from that cycle on, one word a cycle. Arrivals and space are of the cycle that
 * the last step() began.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EXANET_NODE_LIBRARY_VERSION 9u
#define EXANET_NODE_LIBRARY_SYMBOL "exanet_node_library"

typedef struct exanet_nodes exanet_nodes;

/* One direction of a link, from a node's inter-tile port to another's. */
typedef struct exanet_line {
  uint32_t from, from_port, to, to_port;
  uint32_t latency_cycles; /* of the transceivers and the cable */
  uint32_t pause_every;    /* words after which the transmitter pauses for a cycle; 0: never */
} exanet_line;

typedef struct exanet_node_packet {
  uint64_t id; /* 48 bits, different from that of every packet under way; travels in header, payload and footer */
  uint32_t source, destination; /* DCID; of a multicast packet hops in each dimension */
  uint16_t payload_bytes;
  uint8_t kind; /* packet_type; the router's registers say which intra-tile port it leaves by */
  uint8_t high_priority;
  uint8_t multicast;
  /* payload words, at most 31 each, whose lower and upper half equals Magic; the packet's id determines which ones */
  uint8_t magic_lower, magic_upper;
} exanet_node_packet;

/* A packet's last word is on the wire of its destination's intra-tile output. */
typedef struct exanet_arrival {
  uint64_t id;
  uint32_t node, port;
  uint32_t sound; /* header, length, payload and footer as they were sent, and marked by no link */
} exanet_arrival;

/* Space that has come back to the sender at a node's intra-tile input. */
typedef struct exanet_space {
  uint32_t node, port, words, headers;
} exanet_space;

typedef struct exanet_line_counts {
  uint64_t packets, payload_bytes;
  /* with a word of a packet on the line, or a pause before one that waits; Magic and Start included */
  uint64_t packet_cycles;
} exanet_line_counts;

/* A beat of 16 bytes on a bus of a node: 0 that of messages and transfers, 1 that of reductions. */
typedef struct exanet_store {
  uint32_t bus, address; /* of the line */
  uint32_t strobe; /* which bytes count, a bit each */
  uint32_t begins; /* messages or transfers: 1 with what hands one over */
  uint32_t data[4];
} exanet_store;

/* What a node's memory takes for an answer or the first beat of a read, in cycles; 1 at least. */
typedef struct exanet_memory {
  uint32_t read_cycles, write_cycles, mailbox_cycles;
} exanet_memory;

/* From these addresses on memory has words that are written by themselves, and those of them that report the ends of
   transfers. */
#define EXANET_WORDS (UINT64_C(1) << 47)
#define EXANET_ENDS (UINT64_C(3) << 46)

/* What goes on at a node's interfaces in the cycle that a step begins. */
enum {
  EXANET_SEEN_FREE, /* from the next cycle on the slot `place` is free */
  EXANET_SEEN_SERVED, /* the read of `address` */
  /* memory has a burst's last beat, which is `data`; place: 0 mailboxes, 1 transfers, 2 reductions */
  EXANET_SEEN_WRITTEN,
  EXANET_SEEN_INJECTED, /* the header `data` is at the router's port `place` */
  /* the last word of the packet whose header is `data` was on the wire of port `place` in the cycle before */
  EXANET_SEEN_DELIVERED
};
typedef struct exanet_seen {
  uint32_t what, place, bytes;
  uint32_t sound; /* bytes are those that a read of their address gives */
  uint64_t address;
  uint32_t data[4];
  uint32_t node;
} exanet_seen;

typedef struct exanet_node_library_calls {
  uint32_t version, inter_ports, intra_ports, line_bits;
  uint32_t interfaces; /* nodes have network interfaces: stores go in and things are seen, in place of packets */
  /* `registers`: four words a node (spec::RouterConfig); `credit`: threshold and interval of all links' credits in
   * the lower and upper 16 bits. Lines are numbered in the order given. `threads`: as many step the nodes, at most
   * one a node;
   * what comes out does not depend on it. */
  exanet_nodes* (*open)(uint32_t nodes, const uint32_t* registers, uint32_t credit, uint32_t lines,
                        const exanet_line* line, uint32_t threads);
  void (*close)(exanet_nodes*);
  /* Contract: the sender has space for the packet at that port, counting what space() has reported. */
  void (*send)(exanet_nodes*, uint32_t node, uint32_t port, const exanet_node_packet*);
  /* Before the first step: one packet in so many, and credit, has a wrong bit on each line
     (core/network/line_faults.hpp). */
  void (*disturb)(exanet_nodes*, uint64_t seed, uint32_t one_in);
  /* Before the first step: packets and credits that begin on this line in these cycles are lost. Contract: a step for
     each cycle from the first one on. */
  void (*take_down)(exanet_nodes*, uint32_t line, uint64_t from, uint64_t until);
  /* From the next step on, until it is let go, the interface behind a port gives back no slot; then one in each
     cycle. */
  void (*hold)(exanet_nodes*, uint32_t node, uint32_t port, int on);
  /* A port that is held gives back one of its slots before the edge that the next step makes; one in each, where
     more are given. */
  void (*give_back)(exanet_nodes*, uint32_t node, uint32_t port);
  void (*step)(exanet_nodes*);
  uint32_t (*arrivals)(const exanet_nodes*,
                       const exanet_arrival**); /* in the order of node and port; valid until the next step() */
  uint32_t (*space)(const exanet_nodes*, const exanet_space**); /* the same */
  /* Nothing is under way and every node has come to rest: further cycles would change nothing. Where links repeat
   * credits, for ever, or hold them back: nothing moves but credits, which packets may wait for, and further cycles
   * have to be made. */
  int (*at_rest)(const exanet_nodes*);
  uint32_t (*discarded)(const exanet_nodes*, uint32_t node); /* packets without a route on */
  void (*counts)(const exanet_nodes*, uint32_t line, exanet_line_counts*);
  /* Of nodes with interfaces; null without. Offered from the next step on, behind those before it. */
  void (*store)(exanet_nodes*, uint32_t node, const exanet_store*);
  void (*memory)(exanet_nodes*, const exanet_memory*); /* before the first step */
  /* These stores have their effect, and no cycle passes; 0: not, as the node's interfaces are not at rest. */
  int (*configure)(exanet_nodes*, uint32_t node, const exanet_store*, uint32_t count);
  int (*takes)(const exanet_nodes*, uint32_t node, uint32_t bus); /* a store that is offered to the next step() */
  uint32_t (*seen)(const exanet_nodes*, const exanet_seen**); /* in the order of nodes; valid until the next step() */
  void (*skip)(exanet_nodes*, uint64_t cycles); /* which pass with everything at rest */
} exanet_node_library_calls;

#ifdef __cplusplus
}
#endif
