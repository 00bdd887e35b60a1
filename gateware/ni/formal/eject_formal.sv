// SPDX-License-Identifier: Apache-2.0
// ni_eject under a router that hands over packets whole and unmixed (as `output` proves of it), with anything in them
// and as many words as it likes, and a slave at any pace. Proved: a packet whose header's code, length or CRC is wrong,
// which has too few words or too many, or which a link has marked, is never offered, and is counted; each other one is
// offered once, in order, as one frame with its bytes (TDATA, TKEEP, TLAST) and TUSER in all beats, four cycles behind
// its footer at the latest; a slot is released once for each packet; the stream keeps the rules of AXI4-Stream (the
// module's own assertions).
//
// Data takes no part in control: one bit of TDATA and one of TUSER, any, are compared, and the codes of all of them.
// These are computed by the package's functions, as in the module, and are others here (ni/formal/exanet_code_pkg.sv).
module eject_formal #(
  parameter int unsigned MostWords = 2,
  parameter int unsigned Bit = 77,      // of TDATA that is looked at
  parameter int unsigned UserBit = 100  // of TUSER
) (
  input logic         clk_i,
  input logic         valid_i,
  input logic         tail_i,
  input logic [127:0] data_i,
  input logic         ready_i
);
  import exanet_pkg::*;
  localparam int unsigned Slots = 2, Words = Slots * MostWords, Bits = $clog2(Words);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // Packets from the router: a header where there is a slot, words, a footer.
  flit_t flit;
  header_t header, head = '0;
  footer_t footer;
  logic open = 1'b0, heads, pays, tails, releases;
  logic [2:0] taken = '0;  // slots
  assign heads = rst_n && valid_i && !open && 32'(taken) < Slots;
  assign pays = rst_n && valid_i && open && !tail_i;
  assign tails = rst_n && valid_i && open && tail_i;
  assign flit = '{valid: heads || pays || tails, vc: 1'b0, head: heads, tail: tails, data: data_i};
  assign {header, footer} = {2{data_i}};

  logic valid, last, beat;
  logic [127:0] data;
  logic [15:0] keep;
  ni_user_t user;
  logic [31:0] packets, dropped;
  ni_eject #(.Slots(Slots), .MostWords(MostWords)) dut (
    .clk_i, .rst_ni(rst_n), .flit_i(flit), .release_o(releases), .tvalid_o(valid), .tready_i(ready_i), .tdata_o(data), .tkeep_o(keep), .tlast_o(last),
    .tuser_o(user), .packets_o(packets), .dropped_o(dropped));
  assign beat = valid && ready_i;

  // The packet that comes in, and whether it is sound; words of the length that it announces, and whether there are
  // more.
  function automatic logic [Bits:0] words_of(logic [9:0] length);
    return (Bits + 1)'((length + 10'd15) >> 4);
  endfunction
  logic legal, more = 1'b0, fits, sound, just = 1'b0;
  logic [Bits:0] here = '0;
  logic [31:0] crc = '1, crc_next;
  logic [127:0] covered;
  assign legal = 32'(head.length) <= 16 * MostWords;
  assign fits = legal && here < words_of(head.length);
  always_comb begin
    covered = data_i;
    if (tails) {covered[127], covered[31:0]} = '0;
    crc_next = exanet_code_pkg::crc_word(crc, covered);
    sound = exanet_code_pkg::header_sound(head) && legal && !more && here == words_of(head.length) && !footer.error && footer.crc32 == ~crc_next;
  end

  // Words and frames that are to come out, in order.
  logic [Bits:0] write = '0, ends_at = '0, read = '0;
  logic [2:0] frames = '0, gone = '0;
  logic [2*Words-1:0] wanted = '0;
  logic [3:0][9:0] lengths = '0;
  logic [3:0] users = '0;  // the bit of TUSER
  ni_user_t arrives;
  logic ended = 1'b0, verdict = 1'b0;  // of the packet whose footer came in the cycle before
  logic [31:0] damaged = '0, passed = '0;
  assign arrives = '{dmadd: head.dmadd, dcid: head.dcid, pdid: head.pdid, source_dcid: head.source_dcid, kind: head.kind,
                     high_priority: head.high_priority, multicast: head.multicast, number: footer.number, source_pdid: footer.source_pdid,
                     channel: footer.channel, block: footer.block, reason: footer.reason, last: footer.last, ack_request: footer.ack_request,
                     reserved: '0};
  always_ff @(posedge clk_i) begin
    taken <= taken + 3'(heads) - 3'(releases);
    just  <= heads;
    ended <= tails;
    verdict <= tails && sound;
    if (heads) begin
      open <= 1'b1;
      more <= 1'b0;
      here <= '0;
      head <= header;
      crc  <= exanet_code_pkg::crc_header(header);
    end else if (pays || tails) begin
      crc <= crc_next;
    end
    if (pays) begin
      if (fits) begin
        here  <= here + 1'b1;
        write <= write + 1'b1;
        wanted[write] <= data_i[Bit];
      end else begin
        more <= 1'b1;
      end
    end
    if (tails) begin
      open <= 1'b0;
      if (sound) begin
        ends_at <= write;
        frames  <= frames + 1'b1;
        lengths[frames[1:0]] <= head.length;
        users[frames[1:0]] <= arrives[UserBit];
      end else begin
        write <= ends_at;
        damaged <= damaged + 1'b1;
      end
    end
  end

  // The frame that comes out: bytes that are to come before its end.
  logic amid = 1'b0, carries;
  logic [9:0] left_q = '0, left, here_bytes;
  logic [2:0] whole, waiting = '0;
  assign whole = frames - gone;
  assign left = amid ? left_q : lengths[gone[1:0]];
  assign here_bytes = left > 10'd16 ? 10'd16 : left;
  assign carries = valid && left != '0;
  always_ff @(posedge clk_i) begin
    if (beat) begin
      left_q <= left - 10'd16;
      amid   <= !last;
      read   <= read + (Bits + 1)'(carries);
      gone   <= gone + 3'(last);
      passed <= passed + 32'(last);
    end
    waiting <= rst_n && whole != '0 && !valid ? waiting + 3'(waiting != '1) : '0;
  end

  always_ff @(posedge clk_i) begin
    Begin: assert (rst_n || {open, taken, ended, verdict, write, ends_at, read, frames, gone, amid, waiting, damaged, passed} == '0);
    if (rst_n) begin
      OfASoundOne: assert (!valid || whole != '0);
      if (valid) begin
        Keep: assert (keep == 16'((17'd1 << here_bytes) - 17'd1));
        Last: assert (last == (left <= 10'd16));
        User: assert (user[UserBit] == users[gone[1:0]]);
        Data: assert (left == '0 || data[Bit] == wanted[read]);
      end
      InTime: assert (waiting <= 3'd3);
      Dropped: assert (damaged == dropped + 32'(ended && !verdict));
      Passed: assert (passed == packets);
      NotTwice: assert (32'(taken) <= Slots && 32'(releases) <= 32'(taken));
    end
  end

  // Helps the proof: what of it is where in the module.
  logic [2:0] records;
  logic [Bits:0] in_frames, in_third;
  assign records = whole - 3'(valid && last) - 3'(verdict);
  assign in_third = whole == 3'd3 ? words_of(lengths[2'(gone[1:0] + 2'd2)]) : '0;
  assign in_frames = (whole == '0 ? '0 : words_of(left)) + (whole >= 3'd2 ? words_of(lengths[2'(gone[1:0] + 2'd1)]) : '0) + in_third;
  logic late = 1'b0;
  always_ff @(posedge clk_i) late <= verdict;
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      Packet: assert (!(open || ended) || (dut.header_q == head && dut.length_words_q == (legal ? 6'(words_of(head.length)) : '0)));
      PacketWords: assert (!(open || ended) || (dut.words_q == 6'(here) && dut.extra_q == more && here <= (legal ? words_of(head.length) : '0)));
      PacketCrc: assert (!(open || ended) || dut.crc_q == crc);
      HeadSound: assert (!(open || ended) || just || dut.header_sound_q == (exanet_code_pkg::header_sound(head) && legal));
      NotJust: assert (!(just && ended) && (!just || open) && !(open && ended));
      Ended: assert (dut.ended_q == ended && (!verdict || ended) && (!ended || dut.sound == verdict));
      Record: assert (!verdict || (lengths[2'(frames[1:0] - 2'd1)] == head.length && whole != '0));
      RecordUser: assert (!verdict || users[2'(frames[1:0] - 2'd1)] == dut.arrived[UserBit]);
      Written: assert (write == (ended && !verdict ? dut.u_buffer.committed_q : dut.u_buffer.write_q));
      EndsAt: assert (ends_at == (verdict ? dut.u_buffer.write_q : dut.u_buffer.committed_q));
      Read: assert (read + (Bits + 1)'(carries) == dut.u_buffer.read_q - (Bits + 1)'(dut.word_valid));
      InFrames: assert (ends_at - read == in_frames && write - ends_at == (open ? here : '0));
      VerdictWords: assert (!verdict || dut.u_buffer.write_q - dut.u_buffer.committed_q == words_of(head.length));
      DroppedWords: assert (!(ended && !verdict) || dut.u_buffer.write_q - dut.u_buffer.committed_q == here);
      Committed: assert ((Bits + 1)'(dut.u_buffer.committed_q - dut.u_buffer.read_q) <= (Bits + 1)'(Words));
      Whole: assert (whole <= 3'd3 && records <= 3'd2 && whole >= 3'(valid && last) + 3'(verdict));
      Records: assert (dut.u_buffer.u_records.write_q == 2'(frames - 3'(verdict)) && dut.u_buffer.u_records.read_q == 2'(gone + 3'(valid && last)));
      Slot: assert (32'(dut.pending_q) <= Slots && taken == records + 3'(dut.pending_q) + 3'(open) + 3'(ended));
      Amid: assert (dut.amid_q == (valid ? !last : amid) && (!dut.amid_q || dut.left_q == (valid ? left - 10'd16 : left_q)));
      AmidOne: assert (!amid || (whole != '0 && left_q != '0 && left_q < lengths[gone[1:0]] && 10'(lengths[gone[1:0]] - left_q) % 10'd16 == '0));
      Fetched: assert (dut.word_valid || dut.u_buffer.committed_q == dut.u_buffer.read_q || late);
      Visible: assert (waiting == '0 || valid || (dut.record_valid && (waiting == 3'd1 || (waiting == 3'd2 && dut.word_valid))));
      Soon: assert (waiting != 3'd1 || valid || late || left == '0 || dut.word_valid);
      if (dut.word_valid) Fetch: assert (dut.word[Bit] == wanted[(Bits + 1)'(dut.u_buffer.read_q - 1'b1)]);
    end
  end
  for (genvar k = 0; k < 4; k++) begin : gen_frame
    localparam logic [1:0] Place = k[1:0];
    logic [1:0] behind;
    assign behind = Place - gone[1:0];
    always_ff @(posedge clk_i) if (rst_n) Lengths: assert (3'(behind) >= whole || 32'(lengths[k]) <= 16 * MostWords);
  end
  for (genvar k = 0; k < Words; k++) begin : gen_word
    localparam logic [Bits:0] Behind = k[Bits:0];
    logic [Bits:0] at;  // the word that is k behind the one to read next
    assign at = dut.u_buffer.read_q + Behind;
    always_ff @(posedge clk_i) begin
      if (rst_n) Content: assert (Behind >= write - dut.u_buffer.read_q || dut.u_buffer.memory[at[Bits-1:0]][Bit] == wanted[at]);
    end
  end
  for (genvar k = 0; k < 2; k++) begin : gen_record
    localparam logic [1:0] Behind = k[1:0];
    logic [1:0] at;
    logic [9:0] length;
    ni_user_t of_frame;
    assign {length, of_frame} = dut.u_buffer.u_records.memory[at[0]];
    assign at = dut.u_buffer.u_records.read_q + Behind;
    always_ff @(posedge clk_i) begin
      if (rst_n) begin
        RecordKept: assert (Behind >= dut.u_buffer.u_records.write_q - dut.u_buffer.u_records.read_q ||
                            (length == lengths[at] && of_frame[UserBit] == users[at]));
      end
    end
  end

  // A frame of two words behind a damaged packet; one without bytes while another waits; both slots are taken.
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      BehindDamaged: cover (beat && last && amid && damaged != '0);
      EmptyFirst: cover (beat && last && left == '0 && whole == 3'd2);
      Full: cover (32'(taken) == Slots && whole == 3'd3);
    end
  end
endmodule
