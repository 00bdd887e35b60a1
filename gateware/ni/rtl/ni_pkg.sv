// SPDX-License-Identifier: Apache-2.0
// What the units of a network interface hand each other.
package ni_pkg;
  // Bytes of a beat up to the highest that TKEEP has.
  function automatic logic [4:0] bytes_kept(logic [15:0] keep);
    bytes_kept = '0;
    for (int unsigned i = 0; i < 16; i++) if (keep[i]) bytes_kept = 5'(i + 1);
  endfunction

  // A message as it was stored, but for its peer.
  typedef struct packed {
    logic [9:0]  pdid;  // of the context when it was: a page may change hands
    logic [3:0]  touched;  // words of its payload that were stored
    logic [6:0]  length;
    logic [15:0] mailbox;
    logic [21:0] dcid;
  } message_order_t;

  // A packet of a block. Its payload is yet to be read, but that of a fence or a request.
  typedef struct packed {
    exanet_pkg::packet_type_e kind;
    logic [79:0] payload;  // its address, or a fence's 8 bytes themselves, or a request's length and address
    logic [9:0]  bytes;  // of it, 1 to 512
    logic [47:0] target;
    logic [21:0] dcid;
    logic [9:0]  pdid;
    logic [23:0] number;
    logic [9:0]  slot;
    exanet_pkg::block_place_t place;  // or fence_place_t
    logic        final_packet;  // the last one of its block
    logic [5:0]  last_line;  // of memory that its payload is in, from its first
    logic        crosses;  // into the next page
  } write_packet_t;

  function automatic logic has_bytes(exanet_pkg::packet_type_e kind, logic fence);
    return fence || kind == exanet_pkg::PacketTypeReadRequest;
  endfunction

  // A packet whose payload is not to be read, or that memory refuses to read.
  typedef struct packed {
    logic [21:0] dcid;  // the node that the packet would have gone to
    logic [9:0]  slot;
    logic [23:0] number;
    exanet_pkg::nack_reason_e reason;
  } unread_t;

  // A page that is looked for in memory's tables, and what was found.
  typedef struct packed {
    logic [9:0]  domain;
    logic [35:0] page;
  } walk_t;
  typedef struct packed {
    logic        mapped;
    logic        writable;
    logic [1:0]  size;  // 4 KiB, 64 KiB, 2 MiB
    logic [35:0] frame;
  } walked_t;
  // Why a page is not to be used.
  function automatic exanet_pkg::nack_reason_e page_fault(logic mapped, logic writable, logic writes);
    if (!mapped) return exanet_pkg::NackReasonUnmapped;
    if (writes && !writable) return exanet_pkg::NackReasonReadOnly;
    return exanet_pkg::NackReasonNone;
  endfunction
  function automatic logic is_page_fault(exanet_pkg::nack_reason_e reason);
    return reason == exanet_pkg::NackReasonUnmapped || reason == exanet_pkg::NackReasonReadOnly;
  endfunction

  // A read that another node asks for.
  typedef struct packed {
    logic [47:0] from;  // here
    logic [47:0] to;
    logic [31:0] length;
    logic [21:0] dcid;
    logic [11:0] peer;
    logic [9:0]  pdid;
    logic [9:0]  slot;  // of the request, there
    logic [23:0] number;
  } serve_t;

  // The end of a read that this node has asked for.
  typedef struct packed {
    logic [11:0] peer;
    exanet_pkg::read_response_t end_of;
  } read_end_t;

  // A transfer that waits for a channel: of a process's stores, or of another node's request to read.
  typedef struct packed {
    exanet_pkg::transfer_t       transfer;
    exanet_pkg::transfer_fence_t fence;
    logic       fences;  // it is nothing but the fence, which is its target
    logic       serves;  // another node's read
    logic [9:0] pdid;
  } submission_t;

  // A transfer under way: what does not change, but for its peer; what does, but for the lowest bits of its blocks'
  // PSNs; and its blocks.
  typedef struct packed {
    logic [21:0] dcid;
    logic [9:0]  pdid;
    logic [44:0] fence_word;
    logic [63:0] fence_value;
  } transfer_order_t;
  typedef struct packed {
    logic active;
    logic [47:0] own;   // of the next block
    logic [47:0] target;
    logic [31:0] left;  // bytes in blocks that have not begun
    logic fence;        // one comes behind them
    logic fences;       // it is what has not begun
    logic [3:0] busy;   // slots: sent and not answered, or to be sent
    logic [3:0] queued;
    logic waits;        // in the queue of those that are to begin a block
    logic sending;      // a block of it is being sent for the first time
    logic [1:0] sent_slot;  // which one
    logic reads;        // it has a request in its first slot
    logic serves;
    logic acked;        // the request is: its end is to come
    logic nacked;       // the request is: it is to be sent anew
    logic [2:0] nacks;  // of the request so far; they count up to four
    logic [3:0] parked;     // slots whose block waits for some page
    logic [3:0] keeps_psn;  // one that is parked has its PSN
    logic [3:0] needs_psn;  // whose block is queued to get another one
    exanet_pkg::nack_reason_e failure;
  } transfer_state_t;
  typedef struct packed {
    logic [47:0] own;
    logic [47:0] target;
    logic fence;
    logic [11:0] last_byte;  // of the target address
    logic [2:0] at;          // packet that is next
    logic [23:0] psn;
    logic [11:0] round;      // when it was sent
    logic [3:0] tries;
    logic [3:0] faults;
    logic [2:0] backoff;
  } transfer_block_t;

  // How a transfer's end is reported, but for the slot of the message that stays behind it.
  typedef struct packed {
    logic [44:0] word;
    logic notify;
    logic [15:0] token;
    logic [9:0] pdid;
    logic message;  // one stays behind it
  } transfer_ending_t;

  // What a step of ni_transfers knows when it is decided: of the block that would begin, the block in its slot, and its
  // answer.
  typedef struct packed {
    logic finishes;       // a block that begins is the last one
    logic more;           // there is one
    logic single;         // it is one packet
    logic [11:0] end_byte;
    logic [12:0] block_bytes;
    logic may_begin;
    logic may_emit;
    logic final_packet;   // of the block in the slot
    logic first_packet;
    logic [11:0] offset;  // of the next packet
    logic lacks_psn;
    logic answered;       // its transfer's request
    logic late;           // its time for an answer is over
    logic timed_out;      // that for its read's end is
    logic retries;        // its request is to be sent anew
    logic abandons;       // its transfer has failed
    logic behind_parked;  // a fence, of which a block before it has no PSN
    logic fits;           // the answer is for it
    logic ends;           // and the end of a read
    logic page_fault;     // or a fault for which it is parked
    logic keeps_psn;      // then
    exanet_pkg::nack_reason_e reason;
  } transfer_facts_t;
endpackage
