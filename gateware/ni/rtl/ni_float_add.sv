// SPDX-License-Identifier: Apache-2.0
// Sum of two floats of IEEE 754, rounded to nearest, ties to even, Latency cycles later; one sum a cycle. Denormals are
// numbers like others. A sum that is no number is always the same NaN, positive, quiet and without payload, whatever
// NaN came in; so parts that hold NaNs do not make the bits depend on anything but themselves.
module ni_float_add #(
  parameter int unsigned ExponentBits = 8,
  parameter int unsigned FractionBits = 23,
  localparam int unsigned Width = 1 + ExponentBits + FractionBits
) (
  input  logic             clk_i,
  input  logic [Width-1:0] a_i,
  input  logic [Width-1:0] b_i,
  output logic [Width-1:0] sum_o  // of eight cycles ago: ni_reduce_pkg::AddLatency
);
  localparam int unsigned Bits = FractionBits + 4;  // a significand with guard, round and sticky bit
  localparam int unsigned ShiftBits = $unsigned($clog2(Bits + 1));
  localparam int unsigned CountBits = $unsigned($clog2(Bits + 1));
  localparam logic [ExponentBits-1:0] Most = '1;
  localparam logic [Width-1:0] NotANumber = {1'b0, Most, 1'b1, (FractionBits - 1)'(0)};
  typedef struct packed {
    logic sign;
    logic subtracts;
    logic nan;
    logic infinite;
  } kind_t;

  // --- 1: the larger magnitude first.
  logic swap;
  logic [Width-2:0] a, b, big_q, small_q;
  kind_t kind_1_q;
  function automatic logic is_nan(logic [Width-2:0] x);
    return x[Width-2:FractionBits] == Most && x[FractionBits-1:0] != '0;
  endfunction
  function automatic logic is_infinite(logic [Width-2:0] x);
    return x[Width-2:FractionBits] == Most && x[FractionBits-1:0] == '0;
  endfunction
  assign a = a_i[Width-2:0];
  assign b = b_i[Width-2:0];
  assign swap = a < b;
  always_ff @(posedge clk_i) begin
    big_q              <= swap ? b : a;
    small_q            <= swap ? a : b;
    kind_1_q.sign      <= swap ? b_i[Width-1] : a_i[Width-1];
    kind_1_q.subtracts <= a_i[Width-1] != b_i[Width-1];
    kind_1_q.nan       <= is_nan(a) || is_nan(b) || (is_infinite(a) && is_infinite(b) && a_i[Width-1] != b_i[Width-1]);
    kind_1_q.infinite  <= is_infinite(a) || is_infinite(b);
  end

  // --- 2: how far they are apart. The exponent of a denormal is that of the least normal number.
  logic [ExponentBits-1:0] big_field, small_field, big_exponent, small_exponent, apart, exponent_2_q;
  logic [ShiftBits-1:0] shift_q;
  logic [FractionBits:0] big_2_q, small_2_q;
  kind_t kind_2_q;
  assign big_field = big_q[Width-2:FractionBits];
  assign small_field = small_q[Width-2:FractionBits];
  assign big_exponent = {big_field[ExponentBits-1:1], big_field[0] || big_field == '0};
  assign small_exponent = {small_field[ExponentBits-1:1], small_field[0] || small_field == '0};
  assign apart = big_exponent - small_exponent;
  always_ff @(posedge clk_i) begin
    exponent_2_q <= big_exponent;
    shift_q      <= apart > ExponentBits'(Bits) ? ShiftBits'(Bits) : ShiftBits'(apart);
    big_2_q      <= {big_field != '0, big_q[FractionBits-1:0]};
    small_2_q    <= {small_field != '0, small_q[FractionBits-1:0]};
    kind_2_q     <= kind_1_q;
  end

  // --- 3: the smaller one moved; bits that are lost leave a one at the end.
  logic [Bits-1:0] moved, moved_q;
  logic lost;
  logic [FractionBits:0] big_3_q;
  logic [ExponentBits-1:0] exponent_3_q;
  kind_t kind_3_q;
  always_comb begin
    moved = {small_2_q, 3'd0};
    lost = 1'b0;
    for (int unsigned k = 0; k < ShiftBits; k++) begin
      if (shift_q[k]) begin
        for (int unsigned i = 0; i < Bits; i++) if (i < 2 ** k) lost = lost || moved[i];
        moved = moved >> (2 ** k);
      end
    end
  end
  always_ff @(posedge clk_i) begin
    moved_q      <= {moved[Bits-1:1], moved[0] || lost};
    big_3_q      <= big_2_q;
    exponent_3_q <= exponent_2_q;
    kind_3_q     <= kind_2_q;
  end

  // --- 4: the sum of significands, with its carry at the top.
  logic [Bits:0] total_4_q;
  logic [ExponentBits-1:0] exponent_4_q;
  kind_t kind_4_q;
  always_ff @(posedge clk_i) begin
    total_4_q    <= {1'b0, big_3_q, 3'd0} + ({1'b0, moved_q} ^ {(Bits + 1) {kind_3_q.subtracts}}) + (Bits + 1)'(kind_3_q.subtracts);
    exponent_4_q <= exponent_3_q;
    kind_4_q     <= kind_3_q;
  end

  // --- 5: how far its first one is from the top.
  localparam int unsigned Leaves = 2 ** CountBits;
  logic [CountBits:0] zeros;
  logic [CountBits:0] zeros_q;
  logic [Bits:0] total_5_q;
  logic [ExponentBits-1:0] exponent_5_q;
  kind_t kind_5_q;
  logic none_q;
  always_comb begin
    logic [Leaves-1:0] bits_of;
    logic [Leaves-1:0][CountBits:0] found;  // zeros before the first one, of groups that get twice as large each time
    bits_of = '0;
    bits_of[Leaves-1-:Bits+1] = total_4_q;
    for (int unsigned i = 0; i < Leaves; i++) found[i] = (CountBits + 1)'(!bits_of[i]);
    for (int unsigned k = 0; k < CountBits; k++) begin
      for (int unsigned i = 0; i < Leaves >> (k + 1); i++) begin
        found[i] = found[2*i+1][k] ? (CountBits + 1)'(32'd1 << k) + found[2*i] : found[2*i+1];
      end
    end
    zeros = found[0];
  end
  always_ff @(posedge clk_i) begin
    zeros_q      <= zeros;
    none_q       <= total_4_q == '0;
    total_5_q    <= total_4_q;
    exponent_5_q <= exponent_4_q;
    kind_5_q     <= kind_4_q;
  end

  // --- 6: how far the exponent lets it move, if that is less.
  logic [CountBits:0] count_q;
  logic [Bits:0] total_6_q;
  logic [ExponentBits-1:0] exponent_6_q;
  kind_t kind_6_q;
  always_ff @(posedge clk_i) begin
    count_q       <= 32'(zeros_q) > 32'(exponent_5_q) ? (CountBits + 1)'(exponent_5_q) : zeros_q;
    total_6_q     <= total_5_q;
    exponent_6_q  <= exponent_5_q;
    kind_6_q      <= kind_5_q;
    kind_6_q.sign <= kind_5_q.sign && !(none_q && kind_5_q.subtracts);
  end

  // --- 7: moved there; without a one at the top it is a denormal.
  logic [Bits:0] placed, placed_q;
  logic [ExponentBits-1:0] field_q;
  kind_t kind_7_q;
  assign placed = total_6_q << count_q;
  always_ff @(posedge clk_i) begin
    placed_q <= placed;
    field_q  <= placed[Bits] ? exponent_6_q + 1'b1 - ExponentBits'(count_q) : '0;
    kind_7_q <= kind_6_q;
  end

  // --- 8: rounded. A fraction that overflows counts the exponent up.
  logic up;
  logic [Width-2:0] rounded;
  assign up = placed_q[3] && (placed_q[4] || placed_q[2:0] != '0);
  assign rounded = {field_q, placed_q[Bits-1:4]} + (Width - 1)'(up);
  always_ff @(posedge clk_i) begin
    if (kind_7_q.nan) sum_o <= NotANumber;
    else if (kind_7_q.infinite || field_q == Most) sum_o <= {kind_7_q.sign, Most, FractionBits'(0)};
    else sum_o <= {kind_7_q.sign, rounded};
  end
endmodule
