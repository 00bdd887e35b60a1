// SPDX-License-Identifier: Apache-2.0
// ni_stores under a master that keeps the rules of AXI4, with bursts of any kind, and a unit that takes stores at any
// time. Proved: each burst is answered once, in order, with its ID, behind its address and its last beat; a burst that
// is not INCR, or of beats wider than the bus, is answered with an error and is no store, and no other burst is; each
// beat of the others is one store, in order, with the beat's bytes and the line of the address that AXI gives to it. No
// more than four answers wait. What is offered stays (the module's own assertions). That what is ready does not follow
// from what is valid is looked at on netlists (gateware/handshakes.py).
//
// The burst and the beat that are followed are any. Limits: bursts and beats are distinguished by the lowest four bits
// of their number; a master's bursts have as many beats as their address says.
module stores_formal #(
  parameter int unsigned Burst = 5,
  parameter int unsigned Beat = 2
) (
  input logic         clk_i,
  input logic [3:0]   id_i,
  input logic [20:0]  address_i,
  input logic [7:0]   len_i,
  input logic [2:0]   size_i,
  input logic [1:0]   burst_i,
  input logic         awvalid_i,
  input logic [127:0] data_i,
  input logic [15:0]  strobe_i,
  input logic         last_i,
  input logic         wvalid_i,
  input logic         bready_i,
  input logic         ready_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic awvalid, awready, wvalid, wready, bvalid, store;
  logic [3:0] bid;
  logic [1:0] bresp;
  logic [20:4] next_line, line;
  logic [127:0] data;
  logic [15:0] strobe;
  assign awvalid = rst_n && awvalid_i;
  assign wvalid = rst_n && wvalid_i;
  ni_stores dut (
    .clk_i, .rst_ni(rst_n), .s_axi_awid(id_i), .s_axi_awaddr(address_i), .s_axi_awlen(len_i), .s_axi_awsize(size_i), .s_axi_awburst(burst_i),
    .s_axi_awvalid(awvalid), .s_axi_awready(awready), .s_axi_wdata(data_i), .s_axi_wstrb(strobe_i), .s_axi_wlast(last_i), .s_axi_wvalid(wvalid),
    .s_axi_wready(wready), .s_axi_bid(bid), .s_axi_bresp(bresp), .s_axi_bvalid(bvalid), .s_axi_bready(rst_n && bready_i), .ready_i,
    .next_line_o(next_line), .store_o(store), .line_o(line), .data_o(data), .strobe_o(strobe));

  // What is offered stays, and a burst has as many beats as its address says.
  logic address_waits = 1'b0, beat_waits = 1'b0;
  logic [37:0] address_q = '0;
  logic [144:0] beat_q = '0;
  always_ff @(posedge clk_i) begin
    address_waits <= awvalid && !awready;
    beat_waits <= wvalid && !wready;
    {address_q, beat_q} <= {id_i, address_i, len_i, size_i, burst_i, data_i, strobe_i, last_i};
  end
  always_comb begin
    if (address_waits) assume (awvalid_i && {id_i, address_i, len_i, size_i, burst_i} == address_q);
    if (beat_waits) assume (wvalid_i && {data_i, strobe_i, last_i} == beat_q);
    if (dut.beat) assume (dut.last == (dut.left == '0));
  end

  // Numbers: of addresses, of beats, of bursts whose last beat has come, that have been stored, and that have been
  // answered; of beats that were stored.
  logic [3:0] addresses = '0, beats = '0, whole = '0, stored = '0, answered = '0, stored_beats = '0;
  // The burst that is followed: what its address says, and the address of its next beat. The beat that is followed.
  logic seen = 1'b0, bad = 1'b0, caught = 1'b0, beat_last = 1'b0;
  logic [3:0] id = '0;
  logic [2:0] size = '0;
  logic [20:0] at = '0, step, here;
  logic [127:0] beat_data = '0;
  logic [15:0] beat_strobe = '0;
  logic addressed, takes, comes, follows, follows_beat, here_bad;
  logic [2:0] here_size;
  assign addressed = awvalid && awready;
  assign takes = wvalid && wready;
  assign comes = addressed && addresses == 4'(Burst);
  assign follows = dut.beat && stored == 4'(Burst) && (seen || comes);
  assign follows_beat = dut.beat && stored_beats == 4'(Beat);
  assign here = comes ? address_i : at;
  assign here_size = comes ? size_i : size;
  assign here_bad = comes ? burst_i != 2'b01 || size_i > 3'd4 : bad;
  assign step = 21'd1 << here_size;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {addresses, beats, whole, stored, answered, stored_beats, seen, caught} <= '0;
    end else begin
      addresses <= addresses + 4'(addressed);
      beats <= beats + 4'(takes);
      whole <= whole + 4'(takes && last_i);
      stored <= stored + 4'(dut.beat && dut.last);
      stored_beats <= stored_beats + 4'(dut.beat);
      answered <= answered + 4'(bvalid && bready_i);
      if (comes) {seen, id, bad, size} <= {1'b1, id_i, here_bad, size_i};
      else if (bvalid && bready_i && answered == 4'(Burst)) seen <= 1'b0;
      if (follows) at <= (here & ~(step - 1'b1)) + step;
      else if (comes) at <= address_i;
      if (takes && beats == 4'(Beat)) {caught, beat_data, beat_strobe, beat_last} <= {1'b1, data_i, strobe_i, last_i};
      else if (follows_beat) caught <= 1'b0;
    end
  end

  // A store is a beat of the cycle before.
  logic was_beat = 1'b0, was_followed = 1'b0, was_bad = 1'b0, was_caught = 1'b0;
  logic [16:0] was_line = '0;
  logic [127:0] was_data = '0;
  logic [15:0] was_strobe = '0;
  always_ff @(posedge clk_i) begin
    {was_beat, was_followed, was_bad, was_line} <= {rst_n && dut.beat, rst_n && follows, here_bad, here[20:4]};
    was_caught <= rst_n && follows_beat;
    {was_data, was_strobe} <= takes && beats == 4'(Beat) ? {data_i, strobe_i} : {beat_data, beat_strobe};
  end

  logic [3:0] whole_waits, addresses_wait, behind;
  assign whole_waits = whole - answered;
  assign addresses_wait = addresses - answered;
  assign behind = 4'(Burst) - answered;
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      // An answer is behind its address and its last beat, and there is one for each burst.
      AnswersWhole: assert (!bvalid || (whole_waits != '0 && whole_waits <= 4'd5 && addresses_wait != '0 && addresses_wait <= 4'd5));
      FourWait: assert (4'(stored - answered) <= 4'd4 && (bvalid == (stored != answered)));
      Answer: assert (!(bvalid && answered == 4'(Burst)) || (bid == id && bresp == (bad ? 2'b10 : 2'b00)));
      NoneLost: assert (beats - stored_beats <= 4'd1 && addresses - stored <= 4'd1 && whole - stored <= 4'd1);
      OfABeat: assert (!store || was_beat);
      Stored: assert (!was_followed || (store == !was_bad && (was_bad || line == was_line)));
      Itself: assert (!was_caught || (data == was_data && strobe == was_strobe));
      Errors: cover (bvalid && bresp[1] && answered == 4'(Burst) && bid == 4'd9);
      Second: cover (store && was_followed && was_caught && line == 17'd3 && size == 3'd4);
      Early: cover (whole != addresses && beats != stored_beats && stored != answered);
    end
  end

  // Helps the proof.
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      Open: assert (dut.open_q == (addresses != stored));
      Waits: assert (dut.waits_q == (beats != stored_beats) && (whole != stored) == (dut.waits_q && dut.last_q));
      Ready: assert (!dut.space_q || 4'(stored - answered) <= 4'd3);
      Counted: assert (4'(dut.answers_q) == 4'(stored - answered) &&
                       3'(dut.u_answers.write_q - dut.u_answers.read_q) == 3'(stored - answered));
      Followed: assert (!(dut.open_q && stored == 4'(Burst)) || (seen && {dut.id_q, dut.bad_q, dut.size_q, dut.address_q} == {id, bad, size, at}));
      Caught: assert (!(dut.waits_q && stored_beats == 4'(Beat)) || (caught &&
                      {dut.data_q, dut.strobe_q, dut.last_q} == {beat_data, beat_strobe, beat_last}));
      Kept: assert (!(behind < 4'(stored - answered)) ||
                    (seen && dut.u_answers.memory[2'(dut.u_answers.read_q + 3'(behind))] == {bad, id}));
    end
  end
endmodule
