// SPDX-License-Identifier: Apache-2.0
// The code 8b/10b (IEEE 802.3 clause 36.2.4): eight bits and whether they are a control character, to ten bits that are
// as often one as zero on the line. Characters are written a to j in reading order, as the standard's tables are; on a
// bus bit a, the first on the line, is bit 0.
package code8b10b_pkg;
  typedef struct packed {
    logic       control;
    logic [7:0] data;  // the name D16.2 or K28.5 is that of {data[4:0], data[7:5]}
  } character_t;

  // Those that a line of lanes uses (pcs8b10b_tx).
  localparam logic [7:0] K28_3 = 8'h7C;
  localparam logic [7:0] K28_5 = 8'hBC;

  function automatic logic is_marker(logic [7:0] data);
    return data == K28_3 || data == K28_5;
  endfunction

  // The twelve control characters.
  function automatic logic is_control(logic [7:0] data);
    return data[4:0] == 5'd28 || (data[7:5] == 3'd7 && data[4:0] inside {5'd23, 5'd27, 5'd29, 5'd30});
  endfunction

  // Six bits abcdei where the running disparity is negative.
  function automatic logic [5:0] six(logic [4:0] x);
    case (x)
      5'd0:  return 6'b100111;
      5'd1:  return 6'b011101;
      5'd2:  return 6'b101101;
      5'd3:  return 6'b110001;
      5'd4:  return 6'b110101;
      5'd5:  return 6'b101001;
      5'd6:  return 6'b011001;
      5'd7:  return 6'b111000;
      5'd8:  return 6'b111001;
      5'd9:  return 6'b100101;
      5'd10: return 6'b010101;
      5'd11: return 6'b110100;
      5'd12: return 6'b001101;
      5'd13: return 6'b101100;
      5'd14: return 6'b011100;
      5'd15: return 6'b010111;
      5'd16: return 6'b011011;
      5'd17: return 6'b100011;
      5'd18: return 6'b010011;
      5'd19: return 6'b110010;
      5'd20: return 6'b001011;
      5'd21: return 6'b101010;
      5'd22: return 6'b011010;
      5'd23: return 6'b111010;
      5'd24: return 6'b110011;
      5'd25: return 6'b100110;
      5'd26: return 6'b010110;
      5'd27: return 6'b110110;
      5'd28: return 6'b001110;
      5'd29: return 6'b101110;
      5'd30: return 6'b011110;
      default: return 6'b101011;
    endcase
  endfunction

  // Four bits fghj where the running disparity is negative.
  function automatic logic [3:0] four(logic [2:0] y);
    case (y)
      3'd0: return 4'b1011;
      3'd1: return 4'b1001;
      3'd2: return 4'b0101;
      3'd3: return 4'b1100;
      3'd4: return 4'b1101;
      3'd5: return 4'b1010;
      3'd6: return 4'b0110;
      default: return 4'b1110;
    endcase
  endfunction

  function automatic logic even6(logic [5:0] bits);
    return $countones(bits) == 3;
  endfunction
  function automatic logic even4(logic [3:0] bits);
    return $countones(bits) == 2;
  endfunction

  // The disparity behind a character: each that is not even turns it.
  function automatic logic positive_behind(logic [9:0] code, logic positive);
    return positive ^ !even6(code[9:4]) ^ !even4(code[3:0]);
  endfunction

  // Whether a code says which disparity is behind it, whatever was before it, and which.
  function automatic logic [1:0] disparity_of(logic [9:0] code);
    logic [1:0] found;
    found = 2'b00;
    if (!even6(code[9:4]) || code[9:4] inside {6'b000111, 6'b111000}) found = {1'b1, $countones(code[9:4]) > 3 || code[9:4] == 6'b000111};
    if (!even4(code[3:0]) || code[3:0] inside {4'b0011, 4'b1100}) found = {1'b1, $countones(code[3:0]) > 2 || code[3:0] == 4'b0011};
    return found;
  endfunction

  // abcdeifghj, abcdei highest.
  function automatic logic [9:0] encode(character_t character, logic positive);
    logic [4:0] x;
    logic [5:0] first;
    logic [3:0] second;
    logic middle;  // disparity behind the first six bits
    {x, second} = {character.data[4:0], four(character.data[7:5])};
    if (character.control) begin
      // A control character is the complement of itself at the other disparity.
      first = x == 5'd28 ? 6'b001111 : six(x);
      // Behind its first six bits, of which four are one, the disparity is positive; even sixes of others would not be
      // there.
      if (x != 5'd28) second = 4'b1000;
      else
        case (character.data[7:5])
          3'd1, 3'd2, 3'd5, 3'd6: ;
          3'd7: second = 4'b1000;
          default: second = ~second;
        endcase
      return {first, second} ^ {10{positive}};
    end
    first = six(x);
    middle = positive ^ !even6(first);
    if (positive && (!even6(first) || x == 5'd7)) first = ~first;
    // Five bits alike in a row would follow, or a comma.
    if (character.data[7:5] == 3'd7 && (middle ? x inside {5'd11, 5'd13, 5'd14} : x inside {5'd17, 5'd18, 5'd20})) second = 4'b0111;
    if (middle && (!even4(second) || character.data[7:5] == 3'd3)) second = ~second;
    return {first, second};
  endfunction

  // What a code may be, if anything: whether it is that at a disparity says encode().
  function automatic character_t decode(logic [9:0] code);
    character_t found;
    logic [5:0] first;
    logic [3:0] second;
    logic turned;
    {first, second} = code;
    found = '0;
    if (first == 6'b001111 || first == 6'b110000) begin
      turned = first[5];
      if (turned) second = ~second;
      found.control = 1'b1;
      found.data[4:0] = 5'd28;
      case (second)
        4'b0100: found.data[7:5] = 3'd0;
        4'b1001: found.data[7:5] = 3'd1;
        4'b0101: found.data[7:5] = 3'd2;
        4'b0011: found.data[7:5] = 3'd3;
        4'b0010: found.data[7:5] = 3'd4;
        4'b1010: found.data[7:5] = 3'd5;
        4'b0110: found.data[7:5] = 3'd6;
        default: found.data[7:5] = 3'd7;
      endcase
    end else begin
      for (int unsigned x = 0; x < 32; x++)
        if (first == six(5'(x)) || (first == ~six(5'(x)) && (!even6(first) || x == 7))) found.data[4:0] = 5'(x);
      for (int unsigned y = 0; y < 8; y++)
        if (second == four(3'(y)) || (second == ~four(3'(y)) && (!even4(second) || y == 3))) found.data[7:5] = 3'(y);
      if (second == 4'b0111 || second == 4'b1000) begin
        found.data[7:5] = 3'd7;
        found.control = is_control(found.data);
      end
    end
    return found;
  endfunction
endpackage
