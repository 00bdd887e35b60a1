// SPDX-License-Identifier: Apache-2.0
// What the units of a network interface hand each other.
package ni_pkg;
  // Bytes of a beat up to the highest that TKEEP has.
  function automatic logic [4:0] bytes_kept(logic [15:0] keep);
    bytes_kept = '0;
    for (int unsigned i = 0; i < 16; i++) if (keep[i]) bytes_kept = 5'(i + 1);
  endfunction

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
endpackage
