// SPDX-License-Identifier: Apache-2.0
// Blocks of 64b/66b (IEEE 802.3 clause 82), their scrambler, groups of 257 bits and alignment markers (clause 91). A block
// here is its 64 bits and whether it is a control block; bit 0 goes first, and so does byte 0 of a word.
package eth_pcs_pkg;
  localparam logic [7:0] Idle = 8'h07;
  localparam logic [7:0] Start = 8'hFB;
  localparam logic [7:0] Terminate = 8'hFD;
  localparam logic [7:0] Error = 8'hFE;
  localparam logic [7:0] Sequence = 8'h9C;

  // Eight bytes of the 100 Gb/s media independent interface, and which of them are control characters.
  typedef struct packed {
    logic [7:0]  control;
    logic [63:0] data;
  } word_t;
  localparam word_t IdleWord = '{control: '1, data: {8{Idle}}};
  localparam word_t ErrorWord = '{control: '1, data: {8{Error}}};

  typedef struct packed {
    logic        control;
    logic [63:0] payload;
  } block_t;
  localparam logic [63:0] ErrorPayload = {{8{7'h1E}}, 8'h1E};

  // Types of blocks that end a frame, by the number of its bytes in there.
  localparam logic [7:0][7:0] TerminateTypes = {8'hFF, 8'hE1, 8'hD2, 8'hCC, 8'hB4, 8'hAA, 8'h99, 8'h87};

  function automatic block_t encode(word_t word);
    logic [63:0] payload;
    logic idles;
    payload = ErrorPayload;
    idles = 1'b1;
    for (int unsigned i = 0; i < 8; i++) idles &= word.data[8*i+:8] == Idle;
    if (word.control == '0) return '{control: 1'b0, payload: word.data};
    if (word.control == '1 && idles) payload = 64'h1E;
    if (word.control == 8'h01 && word.data[7:0] == Start) payload = {word.data[63:8], 8'h78};
    if (word.control == 8'h01 && word.data[7:0] == Sequence) payload = {word.data[63:8], 8'h4B};
    for (int unsigned k = 0; k < 8; k++) begin
      if (word.control == 8'hFF << k && word.data[8*k+:8] == Terminate) begin
        payload = '0;
        payload[7:0] = TerminateTypes[k];
        for (int unsigned i = 0; i < 7; i++) if (i < k) payload[8*i+8+:8] = word.data[8*i+:8];
      end
    end
    return '{control: 1'b1, payload: payload};
  endfunction

  // What is no block of the standard is an error.
  function automatic word_t decode(block_t block);
    word_t word;
    if (!block.control) return '{control: '0, data: block.payload};
    word = ErrorWord;
    if (block.payload == 64'h1E) word = IdleWord;
    if (block.payload[7:0] == 8'h78) word = '{control: 8'h01, data: {block.payload[63:8], Start}};
    if (block.payload[7:0] == 8'h4B) word = '{control: 8'h01, data: {block.payload[63:8], Sequence}};
    for (int unsigned k = 0; k < 8; k++) begin
      if (block.payload[7:0] == TerminateTypes[k]) begin
        word = '{control: 8'hFF << k, data: {8{Idle}}};
        word.data[8*k+:8] = Terminate;
        for (int unsigned i = 0; i < 7; i++) if (i < k) word.data[8*i+:8] = block.payload[8*i+8+:8];
      end
    end
    return word;
  endfunction

  // x^58 + x^39 + 1 over 512 bits: the state is what went over the line last, the newest bit highest. One over
  // 1 + z^39 + z^58 is the product of its squares, 1 + z^78 + z^116 and so on, until they are longer than the word.
  function automatic logic [511:0] scramble(logic [57:0] state, logic [511:0] payload);
    logic [511:0] sum;
    sum = payload ^ 512'(state[57:19]) ^ 512'(state);
    sum = sum ^ sum << 39 ^ sum << 58;
    sum = sum ^ sum << 78 ^ sum << 116;
    sum = sum ^ sum << 156 ^ sum << 232;
    return sum ^ sum << 312 ^ sum << 464;
  endfunction

  function automatic logic [511:0] descramble(logic [57:0] state, logic [511:0] scrambled);
    logic [569:0] line;
    line = {scrambled, state};
    return line[569:58] ^ line[530:19] ^ line[511:0];
  endfunction

  // Four scrambled blocks as 257 bits: of the first control block the second nibble of its type is left out.
  function automatic logic [256:0] pack(logic [3:0] control, logic [255:0] payload);
    logic [256:0] group;
    group = {payload, 1'b1};
    if (control[3]) group = {payload[255:200], payload[195:0], ~control, 1'b0};
    if (control[2]) group = {payload[255:136], payload[131:0], ~control, 1'b0};
    if (control[1]) group = {payload[255:72], payload[67:0], ~control, 1'b0};
    if (control[0]) group = {payload[255:8], payload[3:0], ~control, 1'b0};
    group[4:0] ^= group[12:8];
    return group;
  endfunction

  // The nibble that was left out, scrambled, from the first one and what the scrambler had in the block before: its bits 32
  // to 25 and 13 to 6.
  function automatic logic [3:0] second_nibble(logic [7:0] newer, logic [7:0] older, logic [3:0] first);
    logic [3:0] low, high;
    low = first ^ newer[3:0] ^ older[3:0];
    case (low)
      4'hE: high = 4'h1;
      4'h8: high = 4'h7;
      4'hB: high = 4'h4;
      4'h7: high = 4'h8;
      4'h9: high = 4'h9;
      4'hA: high = 4'hA;
      4'h4: high = 4'hB;
      4'hC: high = 4'hC;
      4'h2: high = 4'hD;
      4'h1: high = 4'hE;
      4'hF: high = 4'hF;
      default: high = 4'h0;  // no type: the decoder finds an error
    endcase
    return high ^ newer[7:4] ^ older[7:4];
  endfunction

  // Alignment markers of the twenty lanes of the code: bytes 0 to 2; bytes 4 to 6 are their complement (table 82-2).
  localparam logic [19:0][23:0] Markers = {
    24'hE5F0C0, 24'h2A665F, 24'hB7D6AD, 24'h4C31C4, 24'hCD3635, 24'hCAC783, 24'hBDF81A, 24'hB2B95C, 24'h5591B9, 24'h996CFD,
    24'hFBC968, 24'h7624A0, 24'h66457B, 24'h264A9A, 24'hC214DD, 24'h0907F5, 24'h7B954D, 24'hE84B59, 24'h8E719D, 24'h2168C1
  };
  // Without the parity that bytes 3 and 7 may have.
  function automatic logic [63:0] marker(int unsigned lane);
    return {8'hFF, ~Markers[lane], 8'h00, Markers[lane]};
  endfunction
  // The first markers of all lanes of the correction are alike, so are their last ones.
  function automatic logic [319:0] lane_markers(int unsigned lane);
    return {marker(16), marker(lane + 12), marker(lane + 8), marker(lane + 4), marker(0)};
  endfunction

  // How many of a marker's twelve nibbles are wrong.
  function automatic logic [3:0] nibbles_wrong(logic [63:0] found, logic [63:0] wanted);
    logic [63:0] difference;
    logic [3:0] count;
    difference = found ^ wanted;
    count = '0;
    for (int unsigned i = 0; i < 16; i++) if (i % 8 < 6) count += 4'(difference[4*i+:4] != '0);
    return count;
  endfunction
endpackage
