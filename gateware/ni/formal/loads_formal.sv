// SPDX-License-Identifier: Apache-2.0
// ni_loads under a master that keeps the rules of AXI4, with bursts of any kind. Proved: what is offered stays until it
// is taken; each burst is answered with as many beats as it asked for, all with its ID, the last one marked, before the
// next burst is taken; beat i is the value at the address that AXI gives to it, as the bus had it; all beats of a burst
// that is not INCR, or of beats wider than the bus, are errors, and no others are.
module loads_formal (
  input logic         clk_i,
  input logic [3:0]   id_i,
  input logic [20:0]  address_i,
  input logic [7:0]   len_i,
  input logic [2:0]   size_i,
  input logic [1:0]   burst_i,
  input logic         valid_i,
  input logic         ready_i,
  input logic [127:0] value_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic arready, rvalid, rlast, valid;
  logic [3:0] rid;
  logic [127:0] rdata;
  logic [1:0] rresp;
  logic [20:0] address;
  assign valid = rst_n && valid_i;
  ni_loads dut (
    .clk_i, .rst_ni(rst_n), .s_axi_arid(id_i), .s_axi_araddr(address_i), .s_axi_arlen(len_i), .s_axi_arsize(size_i), .s_axi_arburst(burst_i),
    .s_axi_arvalid(valid), .s_axi_arready(arready), .s_axi_rid(rid), .s_axi_rdata(rdata), .s_axi_rresp(rresp), .s_axi_rlast(rlast),
    .s_axi_rvalid(rvalid), .s_axi_rready(ready_i), .address_o(address), .value_i);

  // What is offered stays; a burst of kind INCR does not cross 4 KiB.
  logic waits = 1'b0;
  logic [37:0] request_q = '0;
  always_ff @(posedge clk_i) begin
    waits <= valid && !arready;
    request_q <= {id_i, address_i, len_i, size_i, burst_i};
  end
  always_comb if (waits) assume (valid_i && {id_i, address_i, len_i, size_i, burst_i} == request_q);

  // The burst under way, the address of its next beat, and the beats that are left behind that one.
  logic open = 1'b0, bad = 1'b0;
  logic [3:0] id = '0;
  logic [7:0] left = '0;
  logic [2:0] size = '0;
  logic [20:0] at = '0, step;
  logic [127:0] value_q = '0;
  assign step = 21'd1 << size;
  always_ff @(posedge clk_i) begin
    value_q <= value_i;
    if (!rst_n) open <= 1'b0;
    else if (valid && arready) begin
      open <= 1'b1;
      {id, left, size, at} <= {id_i, len_i, size_i, address_i};
      bad <= burst_i != 2'b01 || size_i > 3'd4;
    end else if (rvalid && ready_i) begin
      open <= left != '0;
      left <= left - 1'b1;
      at <= (at & ~(step - 1'b1)) + step;
    end
  end
  logic waited = 1'b0;
  always_ff @(posedge clk_i) begin
    waited <= rst_n && rvalid && !ready_i;
    if (rst_n) begin
      OneAtATime: assert (arready == !open);
      Answers: assert (!rvalid || (open && rid == id && rlast == (left == '0)));
      Errors: assert (!rvalid || rresp == (bad ? 2'b10 : 2'b00));
      Address: assert (!open || address == at);
      Value: assert (!rvalid || waited || rdata == value_q);
      Wide: cover (rvalid && rlast && size == 3'd4 && id == 4'd5 && !bad);
      Third: cover (rvalid && rlast && address == 21'd12 && size == 3'd2 && $past(ready_i) && !bad);
      Refused: cover (rvalid && bad && left == 8'd1);
    end
  end

  // Helps the proof.
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      States: assert (2'(dut.load_q) <= 2'd2 && (2'(dut.load_q) == 2'd2) == rvalid && (2'(dut.load_q) == 2'd0) == !open);
      Kept: assert (!open || (dut.left_q == left && dut.size_q == size && rid == id && rresp == (bad ? 2'b10 : 2'b00)));
      Counts: assert (2'(dut.load_q) != 2'd1 || dut.look_q <= 3'd4);
    end
  end
endmodule
