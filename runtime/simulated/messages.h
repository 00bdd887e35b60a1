/* SPDX-License-Identifier: Apache-2.0
 * Messages whose arguments are (buffer, count, type, peer, tag, communicator, …). */
#ifndef EXANET_SIMULATED_MESSAGES_H
#define EXANET_SIMULATED_MESSAGES_H

#include "runtime/simulated/engine.h"

/* NULL: the library is to say what is wrong. */
const struct exanet_communicator *exanet_message_comm(struct exanet_simulated *s, bool sends);
/* Begins one as the request of that number, of a code that returns at once. `copies`: what is sent is the program's
   again at once. -1: the library is to say what is wrong; or an error that it has reported. */
long exanet_message_begin(struct exanet_simulated *s, uint8_t code, uint32_t number, bool copies);
/* The same of a buffered one, which is over at once (buffered.c). */
long exanet_buffered_begin(struct exanet_simulated *s, uint32_t number);
/* A peer as the simulator names it; of what is received or looked for also any. */
uint32_t exanet_message_peer(const struct exanet_communicator *comm, int rank);
static inline uint32_t exanet_message_tag(int tag) {
  return tag == exanet_mpi.any_tag ? EXANET_LIVE_ANY : (uint32_t)tag;
}
struct exanet_live_message exanet_message_of(const struct exanet_communicator *comm, const struct exanet_bytes *b,
                                             int peer, int tag);
/* What is sent is kept aside: the program's buffer is its own again. */
void exanet_bytes_copy(struct exanet_bytes *b);
/* Fills the status of a receive that is over, takes what has come, and reports how it failed, or what was too long. */
long exanet_message_end(const struct exanet_simulated *s, const struct exanet_live_call *call, long to,
                        const struct exanet_communicator *comm, struct exanet_bytes *bytes);
bool exanet_message_fits(const struct exanet_communicator *comm, int peer, int tag, bool sends);
#endif
