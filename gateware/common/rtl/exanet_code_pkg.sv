// SPDX-License-Identifier: Apache-2.0
// The check bits of headers and control words and the CRC-32 of IEEE 802.3: each bit is the parity of the word under
// one mask of the generated tables.
package exanet_code_pkg;
  function automatic logic [7:0] header_ecc(logic [119:0] data);
    logic [7:0] ecc;
    for (int unsigned j = 0; j < 8; j++) ecc[j] = ^(data & exanet_pkg::HeaderMasks[j]);
    return ecc;
  endfunction

  function automatic logic header_sound(exanet_pkg::header_t header);
    return header.ecc == header_ecc(header[119:0]) && !header.reserved;
  endfunction

  function automatic logic [6:0] control_ecc(logic [56:0] data);
    logic [6:0] ecc;
    for (int unsigned j = 0; j < 6; j++) ecc[j] = ^(data & exanet_pkg::HammingMasks[j]);
    ecc[6] = ^{data, ecc[5:0]};
    return ecc;
  endfunction

  // The state after 64 more bits, lowest first.
  function automatic logic [31:0] crc_step(logic [31:0] state, logic [63:0] data);
    logic [63:0] word;
    logic [31:0] next;
    word = data ^ {32'b0, state};
    for (int unsigned j = 0; j < 32; j++) next[j] = ^(word & exanet_pkg::CrcMasks[j]);
    return next;
  endfunction

  // The state after a word.
  function automatic logic [31:0] crc_word(logic [31:0] state, logic [127:0] data);
    return crc_step(crc_step(state, data[63:0]), data[127:64]);
  endfunction

  // The state after a packet's header; its channel and check bits, which every router writes anew, count as zero.
  function automatic logic [31:0] crc_header(exanet_pkg::header_t header);
    header.vc  = 1'b0;
    header.ecc = '0;
    return crc_word('1, header);
  endfunction
endpackage
