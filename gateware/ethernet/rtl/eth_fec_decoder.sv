// SPDX-License-Identifier: Apache-2.0
// Decoder of RS(528,514): takes four lanes of 132 bits a step, a codeword in ten steps, and gives the 5140 bits of its
// message in ten steps of 514, 58 steps later. All of it goes on with step_i alone. The first row behind the reset is the
// first of a codeword; valid_o is low until the first message is out.
//
// Up to seven wrong symbols are corrected. Of more, all but one codeword in some 500,000 are detected, and the whole
// message is marked bad. With bypass_i nothing is corrected, and bad says that some symbol is wrong; the latency is the
// same.
//
// Syndromes take until a codeword is complete; two solvers in turn have 20 steps each for 15 that they need; then places
// are searched for a row a step, and values found for one place a step. Rows wait in a memory meanwhile. Times below
// count from the step in which a codeword's first row is at the input.
module eth_fec_decoder
  import eth_fec_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              step_i,
  input  logic              bypass_i,
  input  logic [3:0][131:0] lanes_i,
  output logic              valid_o,
  output logic              first_o,     // chunk of a message
  output logic              bad_o,       // this message
  output logic [2:0]        corrected_o, // symbols of this codeword
  output logic [513:0]      chunk_o
);
  localparam logic [5:0] Latency = 6'd58;
  logic [3:0] at;
  logic [559:0] row;
  logic [13:0][9:0] syndromes;
  eth_fec_syndromes u_syndromes (.clk_i, .rst_ni, .step_i, .lanes_i, .at_o(at), .row_o(row), .syndromes_o(syndromes));

  logic [5:0] filled_q;
  logic number_q;  // of the codeword at the input
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      filled_q <= '0;
      number_q <= 1'b0;
    end else if (step_i) begin
      if (filled_q != Latency) filled_q <= filled_q + 1'b1;
      if (at == 4'd9) number_q <= !number_q;
    end
  end

  // Syndromes are complete at 12, solutions at 27.
  logic [1:0][7:0][9:0] locators, held_locators;
  logic [1:0][6:0][9:0] held_evaluators;
  logic [1:0][2:0] held_numbers;
  logic [1:0] held_valid;
  for (genvar s = 0; s < 2; s++) begin : gen_solvers
    eth_fec_solver u_solver (
      .clk_i,
      .rst_ni,
      .step_i,
      .load_i          (at == 4'd2 && number_q == (s == 0)),
      .syndromes_i     (syndromes),
      .locator_o       (locators[s]),
      .held_locator_o  (held_locators[s]),
      .held_evaluator_o(held_evaluators[s]),
      .held_valid_o    (held_valid[s]),
      .held_number_o   (held_numbers[s])
    );
  end

  // Rows are searched from 28 on, and their places known from 29 to 38.
  logic [55:0] found, hits;
  logic [3:0] hits_row;
  logic hits_number;
  assign hits_row = behind(at, 9);
  assign hits_number = at == 4'd9 ? number_q : !number_q;  // 29 is two codewords later, 30 three
  eth_fec_locator u_locator (
    .clk_i,
    .step_i,
    .load_i   (at == 4'd7),
    .locator_i(locators[number_q]),
    .at_i     (behind(at, 8)),
    .hits_o   (found)
  );
  assign hits = filled_q >= 6'd29 ? found : '0;

  logic [5:0] places;
  logic [3:0] places_q, total_q;
  always_comb begin
    places = '0;
    for (int unsigned q = 0; q < 56; q++) places += 6'(hits[q]);
  end
  always_ff @(posedge clk_i) begin
    if (step_i) begin
      places_q <= places[3:0];
      total_q  <= (at == 4'd0 ? '0 : total_q) + places_q;
    end
  end

  logic value_valid, value_codeword;
  logic [3:0] value_row;
  logic [5:0] value_place;
  logic [9:0] value;
  eth_fec_values u_values (
    .clk_i,
    .rst_ni,
    .step_i,
    .hits_i      (hits),
    .row_i       (hits_row),
    .codeword_i  (hits_number),
    .locators_i  (held_locators),
    .evaluators_i(held_evaluators),
    .valid_o     (value_valid),
    .codeword_o  (value_codeword),
    .row_o       (value_row),
    .place_o     (value_place),
    .value_o     (value)
  );

  // Corrections of two codewords are collected, until 54; those of a third are applied.
  typedef struct packed {
    logic       valid;
    logic [3:0] row;
    logic [5:0] place;
    logic [9:0] value;
  } correction_t;
  correction_t [1:0][6:0] collected_q;
  correction_t [6:0] applied_q;
  logic [1:0] sound_q;              // as many places as the solution has
  logic [1:0][2:0] held_numbers_q;  // a solver holds them until 52
  logic applied_bad_q, ends, done;
  logic [2:0] applied_number_q;
  assign ends = at == 4'd0;  // 40: all places are known
  assign done = at == 4'd4;  // 54: and all values
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) collected_q <= '0;
    else if (step_i) begin
      if (done) collected_q[!number_q] <= '0;
      if (value_valid) begin
        collected_q[value_codeword][0] <= '{valid: 1'b1, row: value_row, place: value_place, value: value};
        collected_q[value_codeword][6:1] <= collected_q[value_codeword][5:0];
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (step_i && ends) sound_q[number_q] <= held_valid[number_q] && total_q == {1'b0, held_numbers[number_q]};
    if (step_i && done) begin
      for (int unsigned i = 0; i < 7; i++) begin
        applied_q[i]       <= collected_q[!number_q][i];
        applied_q[i].valid <= collected_q[!number_q][i].valid && sound_q[!number_q] && !bypass_i;
      end
      applied_bad_q    <= bypass_i ? held_numbers_q[!number_q] != '0 : !sound_q[!number_q];
      applied_number_q <= sound_q[!number_q] && !bypass_i ? held_numbers_q[!number_q] : '0;
    end
  end
  always_ff @(posedge clk_i) if (step_i && ends) held_numbers_q[number_q] <= held_valid[number_q] ? held_numbers[number_q] : 3'd7;

  // The rows, from memory: at 55, with their corrections from 56 on, and corrected at 57.
  (* ram_style = "block" *) logic [559:0] memory[64];
  logic [5:0] write_q;
  logic [559:0] stored_q, stored2_q, changes, corrected_q;
  correction_t [6:0] here_q;
  logic [1:0] bad_q;
  logic [1:0][2:0] number_of_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) write_q <= '0;
    else if (step_i) write_q <= write_q + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (step_i) begin
      memory[write_q] <= row;
      stored_q        <= memory[write_q-6'd53];
      stored2_q       <= stored_q;
      for (int unsigned i = 0; i < 7; i++) begin
        here_q[i]       <= applied_q[i];
        here_q[i].valid <= applied_q[i].valid && applied_q[i].row == behind(at, 5);
      end
      bad_q       <= {bad_q[0], applied_bad_q};
      number_of_q <= {number_of_q[0], applied_number_q};
      corrected_q <= stored2_q ^ changes;
    end
  end
  always_comb begin
    changes = '0;
    for (int unsigned i = 0; i < 7; i++)
      for (int unsigned q = 0; q < 56; q++) if (here_q[i].valid && here_q[i].place == 6'(q)) changes[10*q+:10] |= here_q[i].value;
  end

  // Chunks of 514 bits: a row begins some bits behind the chunk's begin, which the row before has had.
  logic [3:0] corrected_at;
  logic [93:0] rest_q;
  logic [607:0] joined;
  logic [519:0] symbols;
  assign corrected_at = behind(at, 7);
  assign symbols = corrected_q[559:40];
  always_comb begin
    case (corrected_at)
      4'd0: joined = 608'(symbols);
      4'd1: joined = 608'({symbols, rest_q[5:0]});
      4'd2: joined = 608'({symbols, rest_q[11:0]});
      4'd3: joined = 608'({symbols, rest_q[17:0]});
      4'd4: joined = 608'({corrected_q, rest_q[23:0]});
      4'd5: joined = 608'({symbols, rest_q[69:0]});
      4'd6: joined = 608'({symbols, rest_q[75:0]});
      4'd7: joined = 608'({symbols, rest_q[81:0]});
      4'd8: joined = {symbols, rest_q[87:0]};
      default: joined = {94'b0, corrected_q[419:0], rest_q[93:0]};
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (step_i) begin
      {rest_q, chunk_o} <= joined;
      bad_o             <= bad_q[1];
      corrected_o       <= number_of_q[1];
      first_o           <= corrected_at == '0;
    end
  end
  assign valid_o = filled_q == Latency;
endmodule
