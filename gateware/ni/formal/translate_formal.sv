// SPDX-License-Identifier: Apache-2.0
// ni_translate under any looks, any walks and any invalidations between them. Proved, for a domain, one of its pages
// and a frame: where the answer to a look says that the page is in that frame, ni_walk has said so of this domain and a
// page that this one is in (and that it may be written, where that is asked for) since the last invalidation.
//
// Domain, page and frame are any: domains and pages are compared, and xor'ed to find a place, so that other ones are
// the same with the places in another order; and pages of every size may be in the frame, as its low bits are those of
// the page, or, where they are not, only one of the smallest.
module translate_formal #(
  parameter bit Writes = 1'b1,
  parameter logic [35:0] Frame = 36'h5200,
  localparam logic [9:0] Domain = '0,
  localparam logic [35:0] Page = '0
) (
  input logic            clk_i,
  input logic            clear_i,
  input logic            look_i,
  input logic [9:0]      domain_i,
  input logic [35:0]     page_i,
  input logic            want_i,
  input logic            walk_done_i,
  input ni_pkg::walked_t walked_i
);
  import exanet_pkg::*;
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic known, walk_valid;
  logic [35:0] frame;
  nack_reason_e fault;
  ni_pkg::walk_t walk;
  ni_translate #(.Writes(Writes)) dut (
    .clk_i, .rst_ni(rst_n), .clear_i(rst_n && clear_i), .look_i(rst_n && look_i), .domain_i, .page_i, .want_i(rst_n && want_i), .known_o(known),
    .frame_o(frame), .fault_o(fault), .walk_valid_o(walk_valid), .walk_o(walk), .walk_done_i(rst_n && walk_done_i), .walked_i);

  logic looked = 1'b0;  // nothing has been forgotten since the last look
  always_ff @(posedge clk_i) looked <= rst_n && (look_i || (looked && !clear_i));
  // The contract: a look is answered before the next one and before an invalidation, and a walk is of who asks.
  always_comb begin
    assume (!(look_i && clear_i));
    if (want_i && !known) assume (!look_i && !clear_i);
    assume (!want_i || looked);
    assume (!walk_done_i || walk_valid);
  end

  // What walks have said.
  logic said, translated = 1'b0;
  always_comb begin
    said = rst_n && walk_done_i && walk.domain == Domain && walked_i.mapped && (!Writes || walked_i.writable);
    case (walked_i.size)
      2'd0: said = said && walk.page == Page && walked_i.frame == Frame;
      2'd1: said = said && walk.page[35:4] == Page[35:4] && {walked_i.frame[35:4], Page[3:0]} == Frame;
      2'd2: said = said && walk.page[35:9] == Page[35:9] && {walked_i.frame[35:9], Page[8:0]} == Frame;
      default: said = said && walk.page == Page && walked_i.frame == Frame;
    endcase
  end
  logic here;
  assign here = looked && known && fault == NackReasonNone && walk.domain == Domain && walk.page == Page && frame == Frame;
  always_ff @(posedge clk_i) begin
    translated <= rst_n && (said || (translated && !clear_i));
    if (rst_n) begin
      Translated: assert (!here || translated);
      Fault: assert (fault == NackReasonNone || ni_pkg::is_page_fault(fault));
      Known: cover (here);
      Hit: cover (here && $past(look_i));
      Other: cover (looked && known && fault == NackReasonNone && walk.domain != Domain && frame == Frame);
    end
  end

  // Helps the proof: what is kept of this domain and page has been said.
  for (genvar s = 0; s < 3; s++) begin : gen_size
    localparam int unsigned Shift = s == 0 ? 0 : s == 1 ? 4 : 9;
    for (genvar w = 0; w < 2; w++) begin : gen_way
      logic [81-2*Shift:0] entry;  // domain, page, frame
      assign entry = dut.gen_size[s].gen_way[w].entries[0];
      always_ff @(posedge clk_i)
        if (rst_n)
          Kept : assert (!dut.gen_size[s].gen_way[w].valid_q[0] || entry != {Domain, Page[35:Shift], Frame[35:Shift]} ||
                         ((Page ^ Frame) & 36'($unsigned(2 ** Shift - 1))) != '0 || translated);
    end
  end
endmodule
