// SPDX-License-Identifier: Apache-2.0
// Translates addresses on one of the interface's ways to memory: 64 pages of protection domains are kept here, and
// ni_walk is asked for others.
//
// A client looks a page up in one cycle and knows the next; what is not here is known when it has been walked to. Pages
// are kept by their size, two at each place: 32 of 4 KiB, 16 of 64 KiB, 16 of 2 MiB. What is not to be used (a page
// that is not there, or is not to be written) is not kept, so that a kernel that changes its mind need not say so.
// Contract: from a look until it is known there is no other, and nothing is cleared.
module ni_translate #(
  parameter bit Writes = 1'b0  // pages have to be writable
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     clear_i,  // what is kept is forgotten
  input  logic                     look_i,
  input  logic [9:0]               domain_i,
  input  logic [35:0]              page_i,
  input  logic                     want_i,  // behind a look: walk where the page is not here
  output logic                     known_o,  // behind a look
  output logic [35:0]              frame_o,  // where the page is in memory
  output exanet_pkg::nack_reason_e fault_o,  // or why it is not to be used
  // ni_walk
  output logic                     walk_valid_o,
  output ni_pkg::walk_t            walk_o,
  input  logic                     walk_done_i,
  input  ni_pkg::walked_t          walked_i
);
  import exanet_pkg::*;
  localparam int unsigned Sizes = 3, Ways = 2;
  localparam int unsigned Parts = 4;  // in which an entry is compared
  ni_pkg::walk_t asked_q;
  logic [Sizes-1:0][Ways-1:0] hits;
  logic [Sizes-1:0][Ways-1:0][35:0] frames;
  logic [35:0] walked_frame, walked_frame_q;
  logic walked_q;
  nack_reason_e fault;

  for (genvar s = 0; s < Sizes; s++) begin : gen_size
    localparam int unsigned Shift = s == 0 ? 0 : s == 1 ? 4 : 9;
    localparam int unsigned Bits = s == 0 ? 4 : 3;
    localparam int unsigned PartBits = (46 - Shift + Parts - 1) / Parts;  // of a domain with a page
    typedef struct packed {
      logic [9:0] domain;
      logic [35:Shift] page;
      logic [35:Shift] frame;
    } entry_t;
    logic [Bits-1:0] place, fill_place;
    logic [2**Bits-1:0] turn_q;
    logic fills;
    assign place = Bits'(page_i >> Shift) ^ Bits'(page_i >> (Shift + Bits)) ^ Bits'(domain_i);
    assign fill_place = Bits'(asked_q.page >> Shift) ^ Bits'(asked_q.page >> (Shift + Bits)) ^ Bits'(asked_q.domain);
    assign fills = walk_done_i && fault == NackReasonNone && walked_i.size == 2'($unsigned(s));
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) turn_q <= '0;
      else if (fills) turn_q[fill_place] <= !turn_q[fill_place];
    end
    for (genvar w = 0; w < Ways; w++) begin : gen_way
      (* ram_style = "distributed" *) entry_t entries[2**Bits];
      logic [2**Bits-1:0] valid_q;
      entry_t here;
      logic fills_here;
      logic [35:Shift] frame_q;
      logic [Parts*PartBits-1:0] differs;
      logic [Parts:0] equal_q;  // and whether it is valid
      assign here = entries[place];
      assign fills_here = fills && turn_q[fill_place] == 1'($unsigned(w));
      assign differs = (Parts * PartBits)'({here.domain ^ domain_i, here.page ^ page_i[35:Shift]});
      assign hits[s][w] = equal_q == '1;
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) equal_q <= '0;
        else if (look_i) begin
          for (int unsigned p = 0; p < Parts; p++) equal_q[p] <= differs[p*PartBits+:PartBits] == '0;
          equal_q[Parts] <= valid_q[place];
        end
      end
      assign frames[s][w] = (36'(frame_q) << Shift) | (asked_q.page & 36'($unsigned(2 ** Shift - 1)));
      always_ff @(posedge clk_i) begin
        if (look_i) frame_q <= here.frame;
        if (fills_here)
          entries[fill_place] <= '{domain: asked_q.domain, page: asked_q.page[35:Shift], frame: walked_i.frame[35:Shift]};
      end
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) valid_q <= '0;
        else if (clear_i) valid_q <= '0;
        else if (fills_here) valid_q[fill_place] <= 1'b1;
      end
    end
  end

  // A page has one size, so one of them hits; a kernel that changes a size without an invalidation gets one of both. An
  // entry is compared in parts when it is looked at; whether it hits, and which one it is, is found behind that, where
  // less is to be done in a cycle.
  always_comb begin
    frame_o = walked_frame_q;
    for (int unsigned s = 0; s < Sizes; s++) for (int unsigned w = 0; w < Ways; w++) if (hits[s][w]) frame_o = frames[s][w];
    walked_frame = walked_i.frame;
    if (walked_i.size == 2'd1) walked_frame[3:0] = asked_q.page[3:0];
    if (walked_i.size == 2'd2) walked_frame[8:0] = asked_q.page[8:0];
    fault = ni_pkg::page_fault(walked_i.mapped, walked_i.writable, Writes);
  end
  assign known_o = walked_q || hits != '0;
  assign walk_valid_o = want_i && !known_o;
  assign walk_o = asked_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      walked_q <= 1'b0;
      fault_o  <= NackReasonNone;
    end else if (look_i) begin
      walked_q <= 1'b0;
      fault_o  <= NackReasonNone;
    end else if (walk_done_i) begin
      walked_q <= 1'b1;
      fault_o  <= fault;
    end
  end
  always_ff @(posedge clk_i) begin
    if (look_i) asked_q <= '{domain: domain_i, page: page_i};
    if (walk_done_i) walked_frame_q <= walked_frame;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) if (rst_ni) OneAtATime : assert (!(look_i && walk_valid_o) && !(clear_i && (look_i || walk_valid_o)));
`endif
endmodule
