// SPDX-License-Identifier: Apache-2.0
// Decoder of the extended Hamming codes: corrects one wrong bit, tells when two are wrong.
module exanet_secded #(
  parameter int unsigned DataBits  = 120,
  parameter int unsigned CheckBits = 8
) (
  input  logic                 valid_i,      // nothing is computed without: simulation is faster for it
  input  logic [DataBits-1:0]  data_i,
  input  logic [CheckBits-1:0] ecc_i,
  output logic [DataBits-1:0]  data_o,
  output logic                 corrected_o,  // one bit was wrong, in data or check bits
  output logic                 bad_o         // two bits were wrong: data_o is not to be used
);
  logic [CheckBits-2:0] syndrome;
  logic odd, known;
  logic [DataBits-1:0] flip;

  always_comb begin
    syndrome = 'x;
    odd = 'x;
    flip = 'x;
    if (valid_i) begin
      odd = ^{data_i, ecc_i};
      for (int unsigned j = 0; j < CheckBits - 1; j++) syndrome[j] = ^(data_i & exanet_pkg::HammingMasks[j][DataBits-1:0]) ^ ecc_i[j];
      for (int unsigned i = 0; i < DataBits; i++) flip[i] = odd && syndrome == (CheckBits - 1)'(exanet_pkg::HammingCodes[i]);
    end
  end
  // An odd number of wrong bits with a syndrome that no bit has is three or more.
  assign known = (syndrome & (syndrome - 1'b1)) == '0 || |flip;
  assign data_o = data_i ^ flip;
  assign corrected_o = odd && known;
  assign bad_o = (!odd && syndrome != '0) || (odd && !known);
endmodule
