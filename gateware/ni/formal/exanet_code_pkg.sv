// SPDX-License-Identifier: Apache-2.0
// In place of the codes of headers and packets in proofs of where they go, not of what they are: sums that every bit
// goes into, in order. With the true ones a solver does not come to an end. What those are is what the C++ of the tests
// says of every packet (gateware/tb/packet.hpp).
package exanet_code_pkg;
  function automatic logic [7:0] header_ecc(logic [119:0] data);
    logic [7:0] ecc;
    ecc = '0;
    for (int unsigned i = 0; i < 15; i++) ecc = {ecc[6:0], ecc[7]} ^ data[8*i+:8];
    return ecc;
  endfunction

  function automatic logic header_sound(exanet_pkg::header_t header);
    return header.ecc == header_ecc(header[119:0]) && !header.reserved;
  endfunction

  function automatic logic [6:0] control_ecc(logic [56:0] data);
    return data[6:0] ^ data[13:7] ^ data[20:14] ^ data[27:21] ^ data[34:28] ^ data[41:35] ^ data[48:42] ^ data[55:49] ^ 7'(data[56]);
  endfunction

  function automatic logic [31:0] crc_step(logic [31:0] state, logic [63:0] data);
    return {state[30:0], state[31]} ^ data[31:0] ^ {data[62:32], data[63]};
  endfunction

  function automatic logic [31:0] crc_word(logic [31:0] state, logic [127:0] data);
    return crc_step(crc_step(state, data[63:0]), data[127:64]);
  endfunction

  function automatic logic [31:0] crc_header(exanet_pkg::header_t header);
    header.vc  = 1'b0;
    header.ecc = '0;
    return crc_word('1, header);
  endfunction
endpackage
