// SPDX-License-Identifier: Apache-2.0
// Buffered sends, carried out by the simulator.
//
// Model: a message is copied, and its memory counts as taken from the buffer that the program has attached until it has
// been sent; the buffer itself is not written to. What has been sent meanwhile is looked for where space is short.
// Limit: a buffer of one communicator or session (MPI 4.1) is not found; the pieces that are free need not be in one
// place.
#include <limits.h>
#include <stdlib.h>

#include "runtime/simulated/messages.h"
#include "runtime/simulated/requests.h"

#define OVERHEAD 96u /* MPI_BSEND_OVERHEAD of MPICH 5.0 */
#define AUTOMATIC (-2L) /* MPI_BUFFER_AUTOMATIC */

static struct {
  bool known; /* the library has been asked */
  uint64_t bytes, taken;
  uint32_t *numbers; /* of messages under way */
  struct exanet_live_status *statuses;
  uint32_t *places, count, capacity;
} attached;

/* The library has the program's buffer, and says which when it gives it back. */
static void ask_for_buffer(void) {
  if (attached.known) return;
  void *buffer = NULL;
  int bytes = 0;
  attached.bytes = 0;
  if (exanet_own.buffer_detach(&buffer, &bytes) != 0) return;
  if (buffer == NULL && bytes == 0) return;
  exanet_own.buffer_attach(buffer, bytes);
  attached.bytes = (long)buffer == AUTOMATIC ? UINT64_MAX : (uint64_t)bytes;
  attached.known = true;
}

static uint64_t taken_by(uint32_t number) { return exanet_live_request_at(number)->bytes.bytes + OVERHEAD; }

static void look_once(const struct exanet_simulated *s, bool all) {
  struct exanet_live_call call = {.code = all ? EXANET_TRACE_Waitall : EXANET_TRACE_Testsome,
                                  .requests = attached.numbers,
                                  .request_count = attached.count,
                                  .statuses = attached.statuses,
                                  .places = attached.places};
  exanet_live_call(s->ni, &call, all);
  for (uint32_t i = 0; i < call.completed; i++) {
    const uint32_t number = attached.numbers[attached.places[i]];
    attached.taken -= taken_by(number);
    exanet_live_request_finish(exanet_live_request_at(number), &attached.statuses[i]);
    exanet_live_request_give_back(number);
    attached.numbers[attached.places[i]] = UINT_MAX;
  }
  uint32_t left = 0;
  for (uint32_t i = 0; i < attached.count; i++)
    if (attached.numbers[i] != UINT_MAX) attached.numbers[left++] = attached.numbers[i];
  attached.count = left;
}

/* Gives up those that have been sent: all of them, or those that have been by now. One that has failed ends a wait. */
static void look(const struct exanet_simulated *s, bool all) {
  if (attached.count > 0) look_once(s, all);
  while (all && attached.count > 0) look_once(s, all);
}

static void add(uint32_t number) {
  if (attached.count == attached.capacity) {
    attached.capacity = 2 * attached.capacity + 16;
    const size_t n = attached.capacity;
    attached.numbers = exanet_simulated_memory(realloc(attached.numbers, n * sizeof *attached.numbers));
    attached.places = exanet_simulated_memory(realloc(attached.places, n * sizeof *attached.places));
    attached.statuses = exanet_simulated_memory(realloc(attached.statuses, n * sizeof *attached.statuses));
  }
  attached.numbers[attached.count++] = number;
  attached.taken += taken_by(number);
}

static long send_buffered(struct exanet_simulated *s) {
  const long *a = s->a;
  if (exanet_message_comm(s, true) == NULL) return -1;
  if ((int)a[3] == exanet_mpi.process_null) return 0;
  const uint64_t bytes = (uint64_t)exanet_simulated_count(s, 1) * exanet_element_bytes(a[2]) + OVERHEAD;
  ask_for_buffer();
  if (bytes > attached.bytes - attached.taken) look(s, false);
  if (bytes > attached.bytes - attached.taken)
    return exanet_simulated_no_buffer(s, bytes, attached.bytes - attached.taken);
  const uint32_t number = exanet_live_request_take(s);
  const long wrong = exanet_message_begin(s, EXANET_TRACE_Isend, number, true);
  if (wrong != 0 || exanet_live_request_at(number)->done)
    exanet_live_request_give_back(number);
  else
    add(number);
  return wrong;
}

long exanet_buffered_begin(struct exanet_simulated *s, uint32_t number) {
  const long wrong = send_buffered(s);
  if (wrong == 0)
    exanet_live_request_begin(number, &(struct exanet_live_request){
                                          .handle = s->comm, .done = true, .status = {.source = EXANET_LIVE_NOBODY}});
  return wrong;
}

/* (buffer, count, type, to, tag, comm[, request]) */
long exanet_simulated_buffered(struct exanet_simulated *s, uint8_t code) {
  if (code == EXANET_TRACE_Bsend) {
    const long wrong = send_buffered(s);
    return wrong < 0 ? exanet_simulated_real(s) : wrong;
  }
  if (exanet_message_comm(s, true) == NULL || s->a[6] == 0) return exanet_simulated_real(s);
  const uint32_t number = exanet_live_request_take(s);
  const long wrong = exanet_buffered_begin(s, number);
  if (wrong != 0)
    exanet_live_request_give_back(number);
  else
    *(uint32_t *)s->a[6] = exanet_live_request_handle(number);
  return wrong;
}

long exanet_simulated_detach(struct exanet_simulated *s, uint8_t code) {
  (void)code;
  look(s, true);
  attached.known = false;
  return exanet_simulated_real(s);
}
