// SPDX-License-Identifier: Apache-2.0
// A message that is sent and one that is received, in one call: MPI_Sendrecv and its kin.
//
// Model: both are begun at once; a request is over when both are. What is sent from the buffer that is received into is
// kept aside.
#include "runtime/simulated/messages.h"
#include "runtime/simulated/requests.h"

/* Arguments are (buffer, count, type, to, tag, …, comm, status or request); of the rest where it stands. */
struct places {
  int8_t received, from, comm; /* received: the buffer, which its count and type follow */
};
static const struct places apart = {5, 8, 10}, replacing = {0, 5, 7};

struct exchange {
  const struct exanet_communicator *comm;
  struct exanet_bytes out, in;
  struct exanet_live_call call;
};

/* -1: the library is to say what is wrong; or an error that it has reported. */
static long begin(struct exanet_simulated *s, const struct places *at, struct exchange *e) {
  const long *a = s->a, sent = exanet_simulated_count(s, 1), received = exanet_simulated_count(s, at->received + 1);
  const long type = a[at->received + 2];
  *e = (struct exchange){.comm = exanet_simulated_comm(s, a[at->comm])};
  if (!exanet_bytes_valid(a[0], sent, a[2]) || !exanet_message_fits(e->comm, (int)a[3], (int)a[4], true) ||
      !exanet_bytes_valid(a[at->received], received, type) ||
      !exanet_message_fits(e->comm, (int)a[at->from], (int)a[at->from + 1], false) || a[at->comm + 1] == 0)
    return -1;
  const int unsent = exanet_bytes_begin(s, &e->out, a[0], sent, a[2]);
  if (unsent != 0) return unsent;
  if (at->received == 0) exanet_bytes_copy(&e->out);
  const int unreceived = exanet_bytes_begin(s, &e->in, a[at->received], received, type);
  if (unreceived != 0) return exanet_bytes_end(&e->out, false), unreceived;
  e->call.comm = e->comm->number;
  e->call.sent = exanet_message_of(e->comm, &e->out, (int)a[3], (int)a[4]);
  e->call.received = exanet_message_of(e->comm, &e->in, (int)a[at->from], (int)a[at->from + 1]);
  return 0;
}

static long exchange(struct exanet_simulated *s, uint8_t code, const struct places *at) {
  struct exchange e;
  const long wrong = begin(s, at, &e);
  if (wrong != 0) return wrong < 0 ? exanet_simulated_real(s) : wrong;
  struct exanet_live_status status = {.source = EXANET_LIVE_NOBODY};
  e.call.code = code;
  e.call.statuses = &status;
  exanet_live_call(s->ni, &e.call, true);
  if (e.call.error == 0) exanet_bytes_end(&e.out, false); /* else it may be under way still */
  return exanet_message_end(s, &e.call, s->a[at->comm + 1], e.comm, &e.in);
}

static long begin_request(struct exanet_simulated *s, const struct places *at) {
  struct exchange e;
  const long wrong = begin(s, at, &e);
  if (wrong != 0) return wrong < 0 ? exanet_simulated_real(s) : wrong;
  exanet_bytes_keep(&e.in);
  const uint32_t number = exanet_live_request_take(s);
  exanet_live_request_begin(number, &(struct exanet_live_request){.bytes = e.in,
                                                                  .sent = e.out,
                                                                  .comm = e.comm->number,
                                                                  .handle = s->a[at->comm],
                                                                  .receives = true,
                                                                  .of_any = e.call.received.peer == EXANET_LIVE_ANY});
  e.call.code = EXANET_LIVE_ISENDRECV;
  e.call.request = number;
  exanet_live_call(s->ni, &e.call, false);
  *(uint32_t *)s->a[at->comm + 1] = exanet_live_request_handle(number);
  return 0;
}

long exanet_simulated_exchange(struct exanet_simulated *s, uint8_t code) { return exchange(s, code, &apart); }
long exanet_simulated_replace(struct exanet_simulated *s, uint8_t code) { return exchange(s, code, &replacing); }

/* Two calls that no recording has, by their numbers among those that the program makes. */
long exanet_simulated_iexchange(struct exanet_simulated *s, uint8_t code) {
  (void)code;
  return begin_request(s, s->call == EXANET_MPI_Isendrecv ? &apart : &replacing);
}
