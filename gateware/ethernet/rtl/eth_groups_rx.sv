// SPDX-License-Identifier: Apache-2.0
// From messages of the correction to scrambled blocks: takes out the markers, five groups of 257 bits at the begin of every
// Period-th message, and gives words of eight blocks. The first chunk behind the reset opens a message with markers.
//
// Behind markers words are made of two chunks, and behind the next ones of one again. Words come two cycles after the
// chunk that completes them. bad blocks are of a message that could not be corrected, or have no header of the standard.
module eth_groups_rx
  import eth_pcs_pkg::*;
#(
  parameter int unsigned Period = 4096
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         valid_i,
  input  logic         bad_i,
  input  logic [513:0] chunk_i,
  output logic         valid_o,
  output logic [7:0]   bad_o,
  output logic [7:0]   control_o,
  output logic [511:0] payload_o
);
  localparam int unsigned PeriodBits = unsigned'($clog2(Period));
  logic [3:0] at_q;
  logic [PeriodBits-1:0] message_q;
  logic odd_q, marks, completes;
  logic [257:0] held_q;  // with whether it is bad
  logic [1:0][257:0] groups;
  assign marks = message_q == '0 && at_q <= 4'd2;
  assign completes = valid_i && (!marks || (at_q == 4'd2 && odd_q));
  assign groups[0] = odd_q ? held_q : {bad_i, chunk_i[256:0]};
  assign groups[1] = {bad_i, odd_q && !marks ? chunk_i[256:0] : chunk_i[513:257]};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      at_q      <= '0;
      message_q <= '0;
      odd_q     <= 1'b0;
    end else if (valid_i) begin
      at_q <= at_q == 4'd9 ? '0 : at_q + 1'b1;
      if (at_q == 4'd9) message_q <= message_q + 1'b1;
      if (marks && at_q == 4'd2) odd_q <= !odd_q;
    end
  end
  always_ff @(posedge clk_i) if (valid_i && !(marks && at_q != 4'd2)) held_q <= {bad_i, chunk_i[513:257]};

  // Headers, and payloads with a gap where the second nibble of a type was left out; that of a fourth block follows from
  // the third one, which has no gap.
  logic valid_q;
  logic [1:0] bad_q;
  logic [1:0][3:0] control_q;
  logic [1:0][255:0] payload_q;
  logic [1:0][2:0] gap_q;  // in the first, second or third block
  for (genvar g = 0; g < 2; g++) begin : gen_groups
    logic [4:0] header;
    logic [255:0] payload;
    logic [2:0] gap;
    logic [256:0] group;
    assign group = groups[g][256:0];
    assign header = group[4:0] ^ group[12:8];
    always_comb begin
      payload = {group[256:5], header[4:1]};
      gap = '0;
      if (!header[0]) begin
        payload = {group[256:201], second_nibble(group[165:158], group[146:139], group[200:197]), group[200:5]};
        if (!header[3]) begin
          gap = 3'b100;
          payload = {group[256:137], 4'b0, group[136:5]};
        end
        if (!header[2]) begin
          gap = 3'b010;
          payload = {group[256:73], 4'b0, group[72:5]};
        end
        if (!header[1]) begin
          gap = 3'b001;
          payload = {group[256:9], 4'b0, group[8:5]};
        end
      end
    end
    always_ff @(posedge clk_i) begin
      bad_q[g]     <= groups[g][257] || header == 5'b11110;
      control_q[g] <= header[0] ? '0 : ~header[4:1];
      payload_q[g] <= payload;
      gap_q[g]     <= gap;
    end
  end

  // The other gaps, from the block before.
  logic [63:0] last_q;
  logic [511:0] filled;
  logic [8:0][63:0] behind_last;  // each block
  assign behind_last[0] = last_q;
  for (genvar b = 0; b < 8; b++) begin : gen_before
    assign behind_last[b+1] = payload_q[b/4][64*(b%4)+:64];
  end
  always_comb begin
    filled = {payload_q[1], payload_q[0]};
    for (int unsigned b = 0; b < 8; b++) begin
      if (b % 4 != 3 && gap_q[b/4][b%4]) filled[64*b+4+:4] = second_nibble(behind_last[b][32:25], behind_last[b][13:6], filled[64*b+:4]);
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      valid_o <= 1'b0;
    end else begin
      valid_q <= completes;
      valid_o <= valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (valid_q) last_q <= filled[511:448];
    payload_o <= filled;
    control_o <= {control_q[1], control_q[0]};
    bad_o     <= {{4{bad_q[1]}}, {4{bad_q[0]}}};
  end
endmodule
