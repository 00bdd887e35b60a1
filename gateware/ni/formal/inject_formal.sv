// SPDX-License-Identifier: Apache-2.0
// ni_inject under a master that keeps the rules of AXI4-Stream, with any frames, and a router that gives space back
// whenever it likes. Proved: each frame that is one goes out once, in order, as a header with its fields and length,
// exactly its payload words, and a footer with its fields and the CRC of what went, without a gap and never mixed; one
// that is none leaves nothing behind but its count. Space is respected for both classes, and bulk leaves the space of
// the largest packet. A frame with space is on its way within three cycles, and the stream stands still only while a
// whole frame waits.
//
// Data takes no part in control: one bit of TDATA and one of TUSER, any, are compared, and the codes of all of them.
// These are computed by the package's functions, as in the module, and are others here (ni/formal/exanet_code_pkg.sv).
module inject_formal #(
  parameter int unsigned MostWords = 2,
  parameter int unsigned IntraDepth = 5,
  parameter int unsigned IntraHeaders = 3,
  parameter int unsigned Bit = 77,      // of TDATA that is looked at
  parameter int unsigned UserBit = 100  // of TUSER
) (
  input logic                 clk_i,
  input logic                 valid_i,
  input logic [127:0]         data_i,
  input logic [15:0]          keep_i,
  input logic                 last_i,
  input exanet_pkg::ni_user_t user_i,
  input logic [1:0][2:0]      free_words_i,   // of each class, bulk and priority
  input logic [1:0][1:0]      free_headers_i
);
  import exanet_pkg::*;
  localparam int unsigned Words = 2 * MostWords, Bits = $clog2(Words);
  localparam int unsigned HeaderBits = 108;  // of TUSER, that the header has
  localparam logic [1:0] Idle = 2'd0, Payload = 2'd1, Footer = 2'd2;  // as ni_inject
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // The beat that is offered stays until it is taken.
  logic waits = 1'b0, last = 1'b0, valid, ready, beat;
  logic [127:0] data = '0;
  logic [15:0] keep = '0;
  ni_user_t user = '0;
  assign valid = rst_n && valid_i;
  assign beat = valid && ready;
  always_ff @(posedge clk_i) begin
    waits <= valid && !ready;
    {data, keep, last, user} <= {data_i, keep_i, last_i, user_i};
  end
  always_comb if (waits) assume (valid_i && {data_i, keep_i, last_i, user_i} == {data, keep, last, user});

  flit_t flit;
  credit_t credit;
  logic [31:0] packets, refused;
  ni_inject #(.Words(Words), .Packets(2), .IntraDepth(IntraDepth), .IntraHeaders(IntraHeaders), .MostWords(MostWords)) dut (
    .clk_i, .rst_ni(rst_n), .tvalid_i(valid), .tready_o(ready), .tdata_i(data_i), .tkeep_i(keep_i), .tlast_i(last_i), .tuser_i(user_i),
    .flit_o(flit), .credit_i(credit), .packets_o(packets), .refused_o(refused));

  // The frame that comes in: its bytes, and whether it is one.
  logic amid = 1'b0, bad_q = 1'b0, short_q = 1'b0, from_lowest, bad, stores;
  logic [9:0] bytes_q = '0, bytes;
  logic [4:0] kept;
  logic masked, urgent_q = 1'b0, user_q = 1'b0;
  always_comb begin
    {kept, from_lowest} = '0;
    for (int unsigned i = 0; i <= 16; i++) if (keep_i == 16'((17'd1 << i) - 17'd1)) {kept, from_lowest} = {5'(i), 1'b1};
    masked = data_i[Bit] && keep_i[Bit/8];
    bytes = (amid ? bytes_q : '0) + 10'(kept);
    bad = !from_lowest || 32'(bytes) > 16 * MostWords || (amid && (bad_q || (short_q && kept != '0)));
    stores = beat && !bad && kept != '0;
  end

  // Words and frames that are to go out, in order.
  logic [Bits:0] write = '0, ends_at = '0, read = '0;  // words; those behind ends_at are of the frame that comes in
  logic [1:0] frames = '0, gone = '0;
  logic [Words-1:0] wanted = '0;
  logic [1:0] urgent = '0, users = '0;  // priority, and the bit of TUSER
  logic [1:0][9:0] lengths = '0;
  logic [31:0] refused_here = '0, sent = '0;
  always_ff @(posedge clk_i) begin
    if (beat) begin
      amid <= !last_i;
      bad_q <= bad;
      short_q <= (amid && short_q) || (kept != '0 && kept != 5'd16);
      bytes_q <= !bad ? bytes : amid ? bytes_q : '0;
      if (!amid) {urgent_q, user_q} <= {user_i.high_priority, user_i[UserBit]};
      if (stores) wanted[write[Bits-1:0]] <= masked;
      write <= last_i && bad ? ends_at : write + (Bits + 1)'(stores);
      if (last_i && bad) refused_here <= refused_here + 1'b1;
      if (last_i && !bad) begin
        ends_at <= write + (Bits + 1)'(stores);
        frames <= frames + 1'b1;
        {urgent[frames[0]], users[frames[0]]} <= amid ? {urgent_q, user_q} : {user_i.high_priority, user_i[UserBit]};
        lengths[frames[0]] <= bytes;
      end
    end
  end

  // The packet that goes out.
  function automatic logic [Bits:0] words_of(logic [9:0] length);
    return (Bits + 1)'((length + 10'd15) >> 4);
  endfunction
  header_t header;
  footer_t footer;
  ni_user_t of_header, of_footer;  // TUSER, as far as either has it
  logic front_urgent;
  logic open = 1'b0, heads, pays, tails, open_next;
  logic [Bits:0] left = '0, left_next;
  logic [31:0] crc = '1, crc_next;
  logic [127:0] covered;
  assign {header, footer} = {2{flit.data}};
  assign front_urgent = urgent[gone[0]];
  assign of_header = '{dmadd: header.dmadd, dcid: header.dcid, pdid: header.pdid, source_dcid: header.source_dcid, kind: header.kind,
                       high_priority: header.high_priority, multicast: header.multicast, default: '0};
  assign of_footer = '{number: footer.number, source_pdid: footer.source_pdid, channel: footer.channel, block: footer.block,
                       reason: footer.reason, last: footer.last, ack_request: footer.ack_request, default: '0};
  assign heads = flit.valid && flit.head;
  assign tails = flit.valid && flit.tail;
  assign pays = flit.valid && !flit.head && !flit.tail;
  assign open_next = heads || (open && !tails);
  assign left_next = heads ? words_of(lengths[gone[0]]) : left - (Bits + 1)'(pays);
  always_comb begin
    covered = flit.data;
    if (flit.tail) {covered[127], covered[31:0]} = '0;
    crc_next = heads ? exanet_code_pkg::crc_header(header) : flit.valid ?
        exanet_code_pkg::crc_word(crc, covered) : crc;
  end
  always_ff @(posedge clk_i) begin
    {open, left, crc} <= {open_next, left_next, crc_next};
    read <= read + (Bits + 1)'(pays);
    gone <= gone + 2'(tails);
    sent <= sent + 32'(tails);
  end

  // The router's pool: what was sent and has not left.
  logic [1:0][2:0] taken_words = '0, free_words;
  logic [1:0][1:0] taken_headers = '0, free_headers;
  logic [2:0] words_here;
  logic [1:0] headers_here;
  for (genvar c = 0; c < 2; c++) begin : gen_class
    logic takes;
    assign takes = heads && header.high_priority == (c == 1);
    assign free_words[c] = rst_n && free_words_i[c] <= taken_words[c] ? free_words_i[c] : '0;
    assign free_headers[c] = rst_n && free_headers_i[c] <= taken_headers[c] ? free_headers_i[c] : '0;
    always_ff @(posedge clk_i) begin
      taken_words[c] <= taken_words[c] - free_words[c] + (takes ? 3'(left_next) : '0);
      taken_headers[c] <= taken_headers[c] - free_headers[c] + 2'(takes);
    end
  end
  assign credit = '{words: 12'(free_words[0]) + 12'(free_words[1]), headers: 8'(free_headers[0]) + 8'(free_headers[1])};
  assign words_here = taken_words[0] + taken_words[1];
  assign headers_here = taken_headers[0] + taken_headers[1];

  // Cycles in which a whole frame has space and does not go; in which the stream stands still and no whole frame waits.
  logic [1:0] waiting = '0, still = '0;
  logic space;
  assign space = front_urgent ? 32'(words_here) + 32'(words_of(lengths[gone[0]])) <= IntraDepth && 32'(headers_here) < IntraHeaders :
      32'(words_here) + 32'(words_of(lengths[gone[0]])) + MostWords <= IntraDepth && 32'(headers_here) + 1 < IntraHeaders;
  always_ff @(posedge clk_i) begin
    waiting <= rst_n && frames != gone && space && !open && !flit.valid ? waiting + 2'(waiting != '1) : '0;
    still <= rst_n && !ready && frames == gone ? still + 2'(still != '1) : '0;
  end

  always_ff @(posedge clk_i) begin
    Begin: assert (rst_n || {flit.valid, open, waits, amid, write, ends_at, read, frames, gone, taken_words, taken_headers, waiting, still, sent,
                   refused_here} == '0);
    if (rst_n) begin
      HeadFirst: assert (!flit.valid || (flit.head == !open && !(flit.head && flit.tail)));
      WholeLength: assert (!flit.valid || flit.head || flit.tail == (left == '0));
      NoGap: assert (!open || flit.valid);
      OfAFrame: assert (!heads || frames != gone);
      OneChannel: assert (!flit.valid || !flit.vc);
      if (heads) begin
        Length: assert (header.length == lengths[gone[0]]);
        Header: assert (header.high_priority == front_urgent && (UserBit >= HeaderBits || of_header[UserBit] == users[gone[0]]));
        Coded: assert (header.ecc == exanet_code_pkg::header_ecc(header[119:0]) && !header.reserved && !header.vc);
      end
      if (pays) InOrder: assert (flit.data[Bit] == wanted[read[Bits-1:0]]);
      if (tails) begin
        Fields: assert (UserBit < HeaderBits || UserBit >= 174 || of_footer[UserBit] == users[gone[0]]);
        Zeros: assert (footer.reserved == '0 && !footer.error);
        Crc: assert (footer.crc32 == ~crc_next);
      end
      Sent: assert (packets == sent + 32'(tails));
      Refused: assert (refused_here == refused + 32'(dut.ended_q && dut.bad_q));
      WordsFit: assert (32'(taken_words[0]) + 32'(taken_words[1]) <= IntraDepth);
      HeadersFit: assert (32'(taken_headers[0]) + 32'(taken_headers[1]) <= IntraHeaders);
      BulkLeavesSpace: assert (32'(taken_words[0]) + MostWords <= IntraDepth && 32'(taken_headers[0]) < IntraHeaders);
      GoesInTime: assert (waiting <= 2'd2);
      GoesOn: assert (still <= 2'd2);
    end
  end

  // Helps the proof: what of it is where in the module.
  logic [Bits:0] in_frames;
  logic [1:0] whole;
  logic verdict, refuses, late = 1'b0;
  logic [1:0] state;
  assign state = 2'(dut.state_q);
  assign verdict = dut.ended_q && !dut.bad_q;
  assign refuses = dut.ended_q && dut.bad_q;
  assign whole = frames - gone;
  assign in_frames = (whole == '0 ? '0 : open ? left : words_of(lengths[gone[0]])) + (whole == 2'd2 ? words_of(lengths[!gone[0]]) : '0);
  always_ff @(posedge clk_i) late <= verdict;
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      Frame: assert (dut.first_q == !amid && (!amid || dut.bad_q == bad_q));
      FrameUser: assert (!amid || (dut.user_q.high_priority == urgent_q && dut.user_q[UserBit] == user_q));
      FrameBytes: assert (!amid || bad_q || (dut.bytes_q == bytes_q && dut.closed_q == short_q && (short_q || bytes_q[3:0] == '0)));
      Verdict: assert (!verdict || (dut.user_q.high_priority == urgent[!frames[0]] && dut.user_q[UserBit] == users[!frames[0]] &&
                                    dut.bytes_q == lengths[!frames[0]] && whole != '0));
      VerdictWords: assert (!verdict || dut.u_buffer.write_q - dut.u_buffer.committed_q == words_of(lengths[!frames[0]]));
      Committed: assert ((Bits + 1)'(dut.u_buffer.committed_q - dut.u_buffer.read_q) <= (Bits + 1)'(Words));
      Still: assert (still == '0 || (!dut.ended_q && (still == 2'd1 || ready || frames != gone)));
      RefusedWords: assert (!refuses || (Bits + 1)'(dut.u_buffer.write_q - dut.u_buffer.committed_q) <= (Bits + 1)'(MostWords));
      Behind: assert (3'(whole) >= 3'(tails) + 3'(verdict));
      Lengths: assert ((whole == '0 || 32'(lengths[gone[0]]) <= 16 * MostWords) && (whole != 2'd2 || 32'(lengths[!gone[0]]) <= 16 * MostWords));
      Written: assert (write == (refuses ? dut.u_buffer.committed_q : dut.u_buffer.write_q));
      Ended: assert (ends_at == (verdict ? dut.u_buffer.write_q : dut.u_buffer.committed_q));
      Read: assert (read == dut.u_buffer.read_q - (Bits + 1)'(dut.word_valid) - (Bits + 1)'(pays));
      InFrames: assert (ends_at - read == in_frames && write - ends_at == (amid ? words_of(bytes_q) : '0));
      Bytes: assert (!amid || 32'(bytes_q) <= 16 * MostWords);
      Whole: assert (whole <= 2'd2 && dut.frames_q == whole - 2'(tails) + 2'(refuses));
      Records: assert (dut.u_buffer.u_records.write_q == frames - 2'(verdict) && dut.u_buffer.u_records.read_q == gone + 2'(tails));
      Ready: assert (32'(dut.held) <= Words && (!ready || (32'(dut.held) < Words && dut.frames_q < 2'd2)));
      State: assert (open_next ? state == (left_next == '0 ? Footer : Payload) : state == Idle);
      Left: assert (!open || 32'(left) <= MostWords);
      Rest: assert (!open_next || 6'(left_next) == dut.rest_q);
      Opened: assert (!open || (whole != '0 && dut.crc == crc_next) || tails);
      OpenedNow: assert (!heads || dut.crc == crc_next);
      FootersPart: assert (state == Idle || dut.footer_q == dut.footer_crc);
      HasRecord: assert (!open_next || dut.record_valid);
      Begun: assert (dut.begun_q == heads);
      SpaceWasThere: assert (!heads || (header.high_priority ? 32'(words_here) + 32'(left_next) <= IntraDepth && 32'(headers_here) < IntraHeaders :
                                       32'(words_here) + 32'(left_next) + MostWords <= IntraDepth && 32'(headers_here) + 1 < IntraHeaders));
      SpaceKept: assert (32'(dut.words_q) + 32'(words_here) == IntraDepth && 32'(dut.headers_q) + 32'(headers_here) == IntraHeaders);
      Fetched: assert (dut.word_valid || dut.u_buffer.committed_q == dut.u_buffer.read_q || late);
      Late: assert (!late || (!(open_next && state == Payload) || dut.word_valid || 32'(left_next) == 0));
      Visible: assert (waiting == '0 || (dut.record_valid && space && (waiting == 2'd1 || heads)));
      if (dut.word_valid) Fetch: assert (dut.word[Bit] == wanted[Bits'(dut.u_buffer.read_q - 1'b1)]);
    end
  end
  for (genvar k = 0; k < Words; k++) begin : gen_word
    localparam logic [Bits-1:0] Place = k[Bits-1:0];
    logic [Bits-1:0] behind;
    assign behind = Place - dut.u_buffer.read_q[Bits-1:0];
    always_ff @(posedge clk_i) begin
      if (rst_n) Content: assert ((Bits + 1)'(behind) >= write - dut.u_buffer.read_q || dut.u_buffer.memory[k][Bit] == wanted[k]);
    end
  end
  for (genvar k = 0; k < 2; k++) begin : gen_record
    localparam logic Place = k[0];
    logic behind;
    logic [15:0] length;
    ni_user_t of_frame;
    assign behind = Place - dut.u_buffer.u_records.read_q[0];
    assign {length, of_frame} = dut.u_buffer.u_records.memory[k];
    always_ff @(posedge clk_i) begin
      if (rst_n) begin
        Record: assert (2'(behind) >= dut.u_buffer.u_records.write_q - dut.u_buffer.u_records.read_q ||
                        (length == {6'(words_of(lengths[k])), lengths[k]} && of_frame.high_priority == urgent[k] && of_frame[UserBit] == users[k]));
      end
    end
  end

  // A frame of two words, one without a byte behind one that is none, and one that has waited for space.
  logic waited = 1'b0;
  always_ff @(posedge clk_i) begin
    waited <= rst_n && whole != '0 && !space && !open && !flit.valid;
    if (rst_n) begin
      GoesWhole: cover (tails && lengths[gone[0]] == 10'd17);
      GoesBehindNone: cover (tails && refused != '0 && lengths[gone[0]] == '0);
      GoesWhenSpace: cover (waited && space);
    end
  end
endmodule
