// SPDX-License-Identifier: Apache-2.0
// Decoder of the extended Hamming codes: corrects one wrong bit, tells when two are wrong.
module exanet_secded #(
  parameter int unsigned DataBits  = 120,
  parameter int unsigned CheckBits = 8
) (
  input  logic [DataBits-1:0]  data_i,
  input  logic [CheckBits-1:0] ecc_i,
  output logic [DataBits-1:0]  data_o,
  output logic                 corrected_o,  // one bit was wrong, in data or check bits
  output logic                 bad_o         // two bits were wrong: data_o is not to be used
);
  logic [CheckBits-2:0] syndrome;
  logic odd, known;
  logic [DataBits-1:0] flip;

  for (genvar j = 0; j < CheckBits - 1; j++) begin : gen_syndrome
    assign syndrome[j] = ^(data_i & exanet_pkg::HammingMasks[j][DataBits-1:0]) ^ ecc_i[j];
  end
  for (genvar i = 0; i < DataBits; i++) begin : gen_flip
    assign flip[i] = odd && syndrome == (CheckBits - 1)'(exanet_pkg::HammingCodes[i]);
  end

  assign odd = ^{data_i, ecc_i};
  // An odd number of wrong bits with a syndrome that no bit has is three or more.
  assign known = (syndrome & (syndrome - 1'b1)) == '0 || |flip;
  assign data_o = data_i ^ flip;
  assign corrected_o = odd && known;
  assign bad_o = (!odd && syndrome != '0) || (odd && !known);
endmodule
