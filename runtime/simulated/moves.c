// SPDX-License-Identifier: Apache-2.0
// Collectives that move data, with one count for all.
#include <string.h>

#include "runtime/simulated/blocks.h"
#include "runtime/simulated/operation.h"

/* Bytes of what this member brings and takes: blocks by the ranks' numbers. */
struct shape {
  bool sends, receives;
  long send_blocks, receive_blocks;
};

static struct shape shape_of(const struct exanet_operation *o) {
  const long n = o->comm->size;
  switch (o->code) {
    case EXANET_TRACE_Bcast: return (struct shape){o->is_root, !o->is_root, 1, 1};
    case EXANET_TRACE_Gather: return (struct shape){true, o->is_root, 1, n};
    case EXANET_TRACE_Scatter: return (struct shape){o->is_root, true, n, 1};
    case EXANET_TRACE_Allgather: return (struct shape){true, true, 1, n};
    default: return (struct shape){true, true, n, n};
  }
}

/* An error, 0 for none; its first one is kept. */
static int take(struct exanet_operation *o, uint32_t from, uint64_t at, uint64_t space) {
  const struct exanet_live_part *part = &o->call.parts[from];
  if (part->bytes > space && o->truncated.bytes == 0)
    o->truncated =
        (struct exanet_truncated){o->s.comm, exanet_communicator_peer(o->comm, (int)from), part->bytes, space, 0};
  if (part->bytes > 0) memcpy((char *)o->received.data + at, part->data, part->bytes < space ? part->bytes : space);
  return part->bytes > space ? EXANET_ERR_TRUNCATE : 0;
}

static int end_move(struct exanet_operation *o, bool over) {
  const struct shape shape = shape_of(o);
  int error = 0;
  if (over && shape.receives && o->received.data != NULL) {
    const uint64_t block = o->received.bytes / (uint64_t)shape.receive_blocks;
    if (shape.receive_blocks == 1)
      error = take(o, (uint32_t)o->root, 0, block);
    else
      for (uint32_t i = 0; i < (uint32_t)o->comm->size; i++) {
        const int own = take(o, i, i * block, block);
        if (own != 0) error = own;
      }
  }
  exanet_bytes_end(&o->sent, false);
  exanet_bytes_end(&o->received, over);
  return error;
}

long exanet_begin_move(struct exanet_operation *o) {
  const long *a = o->a;
  const struct shape shape = shape_of(o);
  const bool alone = o->code == EXANET_TRACE_Bcast;
  const long send_buffer = a[0], receive_buffer = alone ? a[0] : a[3];
  const long send_count = exanet_operation_count(o, 1), receive_count = exanet_operation_count(o, alone ? 1 : 4);
  const long send_type = a[2], receive_type = alone ? a[2] : a[5];
  const bool scatters = o->code == EXANET_TRACE_Scatter;
  const bool keeps_sent = !alone && !scatters && exanet_is_in_place(send_buffer);
  const bool keeps_received = scatters && o->is_root && exanet_is_in_place(receive_buffer);
  if (shape.sends && !keeps_sent && !exanet_bytes_valid(send_buffer, send_count, send_type)) return -1;
  if (shape.receives && !keeps_received && !exanet_bytes_valid(receive_buffer, receive_count, receive_type)) return -1;
  if (keeps_sent && !shape.receives) return -1;
  o->call.flags = keeps_sent ? EXANET_TRACE_IN_PLACE : 0;
  int error = 0;
  if (shape.receives && !keeps_received)
    error = exanet_bytes_begin(&o->s, &o->received, receive_buffer, receive_count * shape.receive_blocks, receive_type);
  if (error != 0) return error;
  if (shape.sends && !keeps_sent)
    error = exanet_bytes_begin(&o->s, &o->sent, send_buffer, send_count * shape.send_blocks, send_type);
  else if (shape.sends && o->code == EXANET_TRACE_Alltoall)
    error = exanet_bytes_begin(&o->s, &o->sent, receive_buffer, receive_count * shape.send_blocks, receive_type);
  else if (shape.sends)
    error =
        exanet_bytes_begin(&o->s, &o->sent, exanet_moved(receive_buffer, receive_count * o->comm->rank, receive_type),
                           receive_count, receive_type);
  if (error != 0) return exanet_bytes_end(&o->received, false), error;
  const bool sends = alone || (shape.sends && !keeps_sent);
  o->call.bytes = sends ? (uint64_t)send_count * exanet_element_bytes(send_type) : 0;
  o->call.receive_bytes =
      shape.receives && !keeps_received && !alone ? (uint64_t)receive_count * exanet_element_bytes(receive_type) : 0;
  o->call.element_bytes = exanet_element_bytes(sends ? send_type : receive_type);
  if (o->keeps) exanet_bytes_keep(&o->received);
  o->end = end_move;
  return 0;
}
