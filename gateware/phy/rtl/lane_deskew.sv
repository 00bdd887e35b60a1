// SPDX-License-Identifier: Apache-2.0
// Puts lanes side by side that have come in up to Most words apart. Every one of the words that say `align` was sent on
// all lanes at once, more than 2 * Most words behind the one before: the first that all lanes show says how long each
// has to wait. As a lane that is later still may have shown the one before, and as their distances are drawn, four more
// have to come together on all lanes before the words are taken; and when four in a row have not, it is asked anew.
module lane_deskew #(
  parameter int unsigned Lanes = 4,
  parameter int unsigned Width = 37,
  parameter int unsigned Most = 7
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic [Lanes-1:0]       locked_i,
  input  logic [Lanes-1:0]       align_i,
  input  logic [Lanes*Width-1:0] data_i,
  output logic [Lanes*Width-1:0] data_o,
  output logic                   aligned_o
);
  localparam int unsigned AgeBits = $clog2(Most + 1);
  logic [Lanes-1:0] seen_q, seen, together;
  logic [Lanes-1:0][AgeBits-1:0] age_q, age, wait_q;
  logic old;  // a lane has waited as long as it may
  logic placed_q, fresh_q;  // the waits are set; just now
  logic [1:0] agreed_q, apart_q;
  // This cycle's words and those before.
  logic [Most:0][Lanes-1:0] align;
  logic [Most:0][Lanes*Width-1:0] past;

  assign align[0] = align_i;
  assign past[0] = data_i;
  always_ff @(posedge clk_i) begin
    align[Most:1] <= align[Most-1:0];
    past[Most:1]  <= past[Most-1:0];
  end

  assign seen = seen_q | align_i;
  always_comb begin
    old = 1'b0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      age[l] = align_i[l] ? '0 : age_q[l] + 1'b1;
      if (seen[l] && age[l] == AgeBits'(Most)) old = 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned l = 0; l < Lanes; l++) begin
      together[l]            <= align[wait_q[l]][l];
      data_o[Width*l+:Width] <= past[wait_q[l]][Width*l+:Width];
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      seen_q    <= '0;
      age_q     <= '0;
      wait_q    <= '0;
      placed_q  <= 1'b0;
      fresh_q   <= 1'b0;
      agreed_q  <= '0;
      apart_q   <= '0;
      aligned_o <= 1'b0;
    end else begin
      age_q   <= age;
      fresh_q <= 1'b0;
      if (!placed_q) begin
        {agreed_q, apart_q} <= '0;
        seen_q <= old || seen == '1 ? '0 : seen;
        if (seen == '1) begin
          wait_q   <= age;
          placed_q <= 1'b1;
          fresh_q  <= 1'b1;
        end
      end else if (together == '1) begin
        apart_q  <= '0;
        agreed_q <= agreed_q + 1'b1;
        if (agreed_q == '1) aligned_o <= 1'b1;
      end else if (together != '0 && !fresh_q) begin
        apart_q <= apart_q + 1'b1;
        if (!aligned_o || apart_q == '1) {placed_q, aligned_o} <= '0;
      end
      if (locked_i != '1) begin
        seen_q <= '0;
        {placed_q, aligned_o} <= '0;
      end
    end
  end
endmodule
