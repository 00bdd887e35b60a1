// SPDX-License-Identifier: Apache-2.0
// Streams of TCP and datagrams of UDP over the simulated network, as far as libexanet knows them: what has come goes to
// whoever keeps them (runtime/sockets), from whichever poll finds it.
#include "runtime/lib/ni.h"

void (*exanet_on_stream)(const struct exanet_stream_event *event);
void (*exanet_first_socket)(void);
uint64_t exn_streams_arrived;

void exn_stream_arrived(struct exanet_ni *ni, const union exn_completion *c) {
  struct exanet_stream_event event = {.ni = ni, .kind = c->header.kind, .status = c->header.status};
  if (c->header.kind == EXANET_C_CONNECT) {
    event.peer = exanet_addr_rank(c->connect.peer);
    event.port = c->connect.port;
    event.peer_port = c->connect.peer_port;
    event.host_port = c->connect.host_port;
  } else if (c->header.kind == EXANET_C_DATAGRAM) {
    event.datagram = c->datagram.datagram_kind;
    event.socket = c->datagram.cookie;
    event.peer = exanet_addr_rank(c->datagram.peer);
    event.port = c->datagram.port;
    event.peer_port = c->datagram.peer_port;
    event.length = c->datagram.length;
    event.bytes = &c->datagram + 1;
    event.carried = c->header.payload_bytes;
  } else {
    event.segment = c->segment.segment_kind;
    event.peer = exanet_addr_rank(c->segment.peer);
    event.port = c->segment.port;
    event.peer_port = c->segment.peer_port;
    event.length = c->segment.length;
  }
  ++exn_streams_arrived;
  if (exanet_on_stream) exanet_on_stream(&event);
}

uint32_t exanet_segment_max(const struct exanet_ni *ni) { return ni->region->segment_bytes; }
uint32_t exanet_fragment_max(const struct exanet_ni *ni) { return ni->region->fragment_bytes; }
void exanet_datagram_dropped(struct exanet_ni *ni) { ++ni->slot->dropped_datagrams; }
uint32_t exanet_stream_window(const struct exanet_ni *ni) { return ni->region->window_bytes; }
bool exanet_servers_end(const struct exanet_ni *ni) {
  return __atomic_load_n(&ni->region->servers_end, __ATOMIC_ACQUIRE) != 0;
}
uint64_t exanet_look_ps(const struct exanet_ni *ni) { return ni->slot->costs.test_step_ps; }
