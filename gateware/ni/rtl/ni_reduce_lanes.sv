// SPDX-License-Identifier: Apache-2.0
// Two words of vectors into one, element by element, AddLatency cycles later; one word a cycle. Minimum and maximum of
// floats are those of IEEE 754-2019: a NaN on either side gives the NaN of ni_float_add, and -0 is less than +0. They
// compare as integers do, when the bits of negative floats are turned round.
module ni_reduce_lanes (
  input  logic                          clk_i,
  input  logic                          first_i,  // the result is b as it is
  input  exanet_pkg::reduce_operation_e operation_i,
  input  exanet_pkg::reduce_type_e      element_i,
  input  logic [127:0]                  a_i,
  input  logic [127:0]                  b_i,
  output logic [127:0]                  data_o
);
  import exanet_pkg::*;
  localparam int unsigned Delay = ni_reduce_pkg::AddLatency - 1;
  logic wide, float, is_signed;
  assign wide = element_i == ReduceTypeInt64 || element_i == ReduceTypeUint64 || element_i == ReduceTypeFloat64;
  assign float = element_i == ReduceTypeFloat32 || element_i == ReduceTypeFloat64;
  assign is_signed = float || element_i == ReduceTypeInt32 || element_i == ReduceTypeInt64;

  // --- Integers and all that compares, by lanes of 32 bits; the lanes of an element of 64 bits go together.
  function automatic logic [31:0] key(logic [31:0] x, logic top, logic negative, logic signs);
    return {x[31] ^ (top && signs), x[30:0]} ^ {{32{negative && float}} & {!top, 31'h7fffffff}};
  endfunction
  function automatic logic is_nan32(logic [30:0] x);
    return x > 31'h7f800000;
  endfunction
  function automatic logic is_nan64(logic [62:0] x);
    return x > 63'h7ff0000000000000;
  endfunction
  logic [3:0] less, same, nan, element_nan, less_q, same_q, nan_q;
  logic [3:0][31:0] sum, quick;
  always_comb begin
    logic [32:0] total;
    logic top, carry;
    carry = 1'b0;
    for (int unsigned i = 0; i < 4; i++) begin
      logic [31:0] a, b, a_key, b_key;
      logic a_negative, b_negative;
      top = !wide || i % 2 == 1;
      a = a_i[32*i+:32];
      b = b_i[32*i+:32];
      a_negative = wide ? a_i[32*(i|1)+31] : a[31];
      b_negative = wide ? b_i[32*(i|1)+31] : b[31];
      a_key = key(a, top, a_negative, is_signed);
      b_key = key(b, top, b_negative, is_signed);
      less[i] = a_key < b_key;
      same[i] = a_key == b_key;
      total = {1'b0, a} + {1'b0, b} + 33'(wide && i % 2 == 1 && carry);
      carry = total[32];
      sum[i] = total[31:0];
      nan[i] = is_nan32(a[30:0]) || is_nan32(b[30:0]);
    end
    for (int unsigned i = 0; i < 4; i++) begin
      element_nan[i] = float && (wide ? is_nan64(a_i[64*(i/2)+:63]) || is_nan64(b_i[64*(i/2)+:63]) : nan[i]);
    end
  end

  // One cycle to compare and to add, one to choose.
  reduce_operation_e operation_q;
  logic wide_q, first_q;
  logic [3:0][31:0] a_q, b_q, sum_q;
  logic [1:0] choice;  // integers and all that compares, sums of floats, of doubles
  assign choice = first_i || !float || operation_i != ReduceOperationSum ? 2'd0 : wide ? 2'd2 : 2'd1;
  always_comb begin
    for (int unsigned i = 0; i < 4; i++) begin
      logic element_less;
      element_less = wide_q ? less_q[i|1] || (same_q[i|1] && less_q[i&2]) : less_q[i];
      case (operation_q)
        ReduceOperationMin: quick[i] = element_less ? a_q[i] : b_q[i];
        ReduceOperationMax: quick[i] = element_less ? b_q[i] : a_q[i];
        ReduceOperationAnd: quick[i] = a_q[i] & b_q[i];
        ReduceOperationOr: quick[i] = a_q[i] | b_q[i];
        ReduceOperationXor: quick[i] = a_q[i] ^ b_q[i];
        default: quick[i] = sum_q[i];
      endcase
      if (nan_q[i]) quick[i] = !wide_q ? 32'h7fc00000 : i % 2 == 1 ? 32'h7ff80000 : '0;
      if (first_q) quick[i] = b_q[i];
    end
  end

  logic [Delay:1][3:0][31:0] quick_q;
  logic [Delay:0][1:0] choice_q;
  always_ff @(posedge clk_i) begin
    operation_q       <= operation_i;
    wide_q            <= wide;
    first_q           <= first_i;
    less_q            <= less;
    same_q            <= same;
    nan_q             <= element_nan;
    for (int unsigned i = 0; i < 4; i++) {a_q[i], b_q[i]} <= {a_i[32*i+:32], b_i[32*i+:32]};
    sum_q             <= sum;
    quick_q[1]        <= quick;
    quick_q[Delay:2]  <= quick_q[Delay-1:1];
    choice_q[Delay:1] <= choice_q[Delay-1:0];
    choice_q[0]       <= choice;
  end

  // --- Sums of floats.
  logic [127:0] floats, doubles;
  for (genvar i = 0; i < 4; i++) begin : gen_float
    ni_float_add #(.ExponentBits(8), .FractionBits(23)) u_add (
      .clk_i, .a_i(a_i[32*i+:32]), .b_i(b_i[32*i+:32]), .sum_o(floats[32*i+:32]));
  end
  for (genvar i = 0; i < 2; i++) begin : gen_double
    ni_float_add #(.ExponentBits(11), .FractionBits(52)) u_add (
      .clk_i, .a_i(a_i[64*i+:64]), .b_i(b_i[64*i+:64]), .sum_o(doubles[64*i+:64]));
  end
  assign data_o = choice_q[Delay] == 2'd0 ? quick_q[Delay] : choice_q[Delay] == 2'd1 ? floats : doubles;
endmodule
