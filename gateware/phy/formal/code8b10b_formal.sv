// SPDX-License-Identifier: Apache-2.0
// 8b/10b, characters one after the other, any data and the twelve control characters, at the disparity that those
// before have left. Proved: decoding gives back what was encoded; ones and zeros differ by at most one behind each
// character, from half a one, and what a code says of that is so; no more than five bits alike follow each other;
// commas are in K28.1 and K28.5, at their beginning, and nowhere else; one wrong bit in a character is no character at
// this disparity, or leaves another disparity than the right one, so that the next character that is not even shows it.
// Of K28.7, which makes commas with its neighbours, only decoding is proved.
module code8b10b_formal (
  input logic       clk_i,
  input logic       control_i,
  input logic [7:0] data_i,
  input logic [3:0] wrong_i  // the bit that the line turns
);
  import code8b10b_pkg::*;
  logic positive = 1'b0;  // any start is as good: the other one is its complement, as `Begins` reaches
  logic begun = 1'b0;
  logic [9:0] code, code_q = '0, damaged;
  character_t character, back, other;
  assign character = '{control: control_i, data: data_i};
  assign code = encode(character, positive);
  assign back = decode(code);
  logic [1:0] says;
  assign says = disparity_of(code);
  assign damaged = code ^ (10'd1 << wrong_i);
  assign other = decode(damaged);
  logic seven, seven_q = 1'b0;  // K28.7
  assign seven = control_i && data_i == 8'hFC;

  // Two characters in the order of the line, the first bit highest, and how many bits alike begin at each.
  logic [19:0] two;
  logic longer;  // six alike
  logic [10:0] commas;  // at each of the first character's bits, and the second one's first
  assign two = {code_q, code};
  always_comb begin
    longer = 1'b0;
    for (int unsigned i = 0; i + 6 <= 20; i++) if (two[i+:6] == '0 || two[i+:6] == '1) longer = 1'b1;
    for (int unsigned i = 0; i < 11; i++) commas[i] = two[19-i-:7] == 7'b0011111 || two[19-i-:7] == 7'b1100000;
  end
  logic comma_q = 1'b0, comma;
  assign comma = control_i && data_i inside {8'h3C, 8'hBC};  // K28.1, K28.5

  always_ff @(posedge clk_i) begin
    OneOfThem: assume (!control_i || is_control(data_i));
    WhichBit: assume (wrong_i < 4'd10);
    positive <= positive_behind(code, positive);
    code_q <= code;
    begun <= 1'b1;
    seven_q <= seven;
    comma_q <= comma;
    Back: assert (back == character);
    Says: assert (positive_behind(code, positive) == (says[1] ? says[0] : positive));
    Balanced: assert ($countones(code) == 5 ? positive_behind(code, positive) == positive : $countones(code) == (positive ? 4 : 6));
    Shows: assert (encode(other, positive) != damaged || (other.control && !is_control(other.data)) ||
                   positive_behind(damaged, positive) != positive_behind(code, positive));
    if (begun && !seven && !seven_q) begin
      FiveAtMost: assert (!longer);
      Commas: assert (commas[9:1] == '0 && commas[0] == comma_q && commas[10] == comma);
    end
    // As the standard's tables have them.
    if ({control_i, data_i} == 9'h1BC) K28_5: assert (code == (positive ? 10'b1100000101 : 10'b0011111010));
    if ({control_i, data_i} == 9'h0C5) D5_6: assert (code == 10'b1010010110);
    if ({control_i, data_i} == 9'h050) D16_2: assert (code == (positive ? 10'b1001000101 : 10'b0110110101));
    if ({control_i, data_i} == 9'h0F4) D20_7: assert (code == (positive ? 10'b0010110001 : 10'b0010110111));
    Begins: cover (begun && positive && comma);
    PassesAtFirst: cover (encode(other, positive) == damaged);
    Five: cover (begun && (two[12:8] == '1 || two[12:8] == '0));
  end
endmodule
