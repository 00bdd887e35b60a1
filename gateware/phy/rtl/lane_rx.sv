// SPDX-License-Identifier: Apache-2.0
// Receives one lane of 8b/10b, in the recovered clock: finds the words among the bits of a transceiver's bus by the
// commas, which are in a word's first character only (pcs8b10b_tx), and decodes them. Five cycles.
//
// A lane is in lock after four valid words that begin with a marker, without an invalid word between them. A word is
// invalid if a character is not in the code or has the wrong disparity, or if a comma is in another place. In lock, an
// error counter goes up by one with each invalid word, and down by one with each four valid words in a row. At four,
// lock is lost, and the next comma sets the word boundary.
module lane_rx #(
  parameter int unsigned Bytes = 4
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                signal_i,
  input  logic [Bytes*10-1:0] data_i,     // bit 0 came first
  output logic [Bytes-1:0]    control_o,
  output logic [Bytes*8-1:0]  data_o,
  output logic                sound_o,    // each character is in the code and has the right disparity
  output logic                locked_o
);
  import code8b10b_pkg::*;
  localparam int unsigned Bits = Bytes * 10, At = $clog2(Bits);

  // Where a comma begins, of two words one after the other; and the word that begins there.
  logic [Bits-1:0] before_q, comma, comma_q, word_q;
  logic [2*Bits-1:0] window;
  logic [At-1:0] at, at_q, place_q;
  logic found_q;
  assign window = {data_i, before_q};
  always_comb begin
    at = '0;
    for (int unsigned i = 0; i < Bits; i++) begin
      comma[i] = window[i+:7] == 7'b1111100 || window[i+:7] == 7'b0000011;
      if (comma_q[i]) at |= At'(i);
    end
  end
  always_ff @(posedge clk_i) begin
    before_q <= data_i;
    comma_q  <= comma;
    at_q     <= at;
    word_q   <= Bits'(window >> place_q);
  end

  // Characters, whether they are such at either disparity, and which one they leave, if they say.
  logic [Bytes-1:0][9:0] code, code_q;
  character_t [Bytes-1:0] character_q, decoded_q;
  logic [Bytes-1:0] says, says_q, leaves, leaves_q, negative_q, positive_q, finds, finds_q;
  logic disparity_q, disparity;
  always_comb begin
    disparity = disparity_q;
    for (int unsigned b = 0; b < Bytes; b++) begin
      code[b] = {<<{word_q[10*b+:10]}};
      {says[b], leaves[b]} = disparity_of(code[b]);
      finds[b] = disparity;
      if (says_q[b]) disparity = leaves_q[b];
    end
  end
  always_ff @(posedge clk_i) begin
    code_q <= code;
    {says_q, leaves_q} <= {says, leaves};
    for (int unsigned b = 0; b < Bytes; b++) begin
      character_q[b] <= decode(code[b]);
      negative_q[b]  <= encode(character_q[b], 1'b0) == code_q[b] && (!character_q[b].control || is_control(character_q[b].data));
      positive_q[b]  <= encode(character_q[b], 1'b1) == code_q[b] && (!character_q[b].control || is_control(character_q[b].data));
    end
    disparity_q <= disparity;
    finds_q     <= finds;
    decoded_q   <= character_q;
    sound_o     <= ((finds_q & positive_q) | (~finds_q & negative_q)) == '1;
    for (int unsigned b = 0; b < Bytes; b++) {control_o[b], data_o[8*b+:8]} <= decoded_q[b];
  end

  // In step. A comma elsewhere means that words begin elsewhere, where each of their characters may be sound.
  logic marked, elsewhere;
  logic [1:0] good_q, bad_q, run_q;
  assign elsewhere = found_q && at_q != place_q;
  assign marked = control_o[0] && is_marker(data_o[7:0]);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      found_q  <= 1'b0;
      place_q  <= '0;
      locked_o <= 1'b0;
      good_q   <= '0;
      bad_q    <= '0;
      run_q    <= '0;
    end else begin
      found_q <= comma_q != '0;
      if (!locked_o) begin
        {bad_q, run_q} <= '0;
        if (!sound_o) good_q <= '0;
        else if (marked) good_q <= good_q + 1'b1;
        if (sound_o && marked && good_q == '1) locked_o <= 1'b1;
        if (elsewhere) begin
          place_q  <= at_q;
          good_q   <= '0;
          locked_o <= 1'b0;
        end
      end else if (!sound_o || elsewhere) begin
        bad_q  <= bad_q + 1'b1;
        run_q  <= '0;
        good_q <= '0;
        if (bad_q == '1) locked_o <= 1'b0;
      end else begin
        run_q <= run_q + 1'b1;
        if (run_q == '1 && bad_q != '0) bad_q <= bad_q - 1'b1;
      end
      if (!signal_i) begin
        locked_o <= 1'b0;
        good_q   <= '0;
      end
    end
  end
endmodule
