// SPDX-License-Identifier: Apache-2.0
// A top-of-rack switch of two ports with memories of 8 flits, between neighbours that send packets of 4 flits or more to
// any output, as far as they have credits, and return credits at any time for what they have got.
// Proved, with the assertions inside the modules: no buffer overflows and no empty queue is read; no output has two
// inputs and no input two outputs; the flits of a packet leave an output one behind the other, as many as its header
// says, and in the order in which they came in; none leaves without a credit. Reached: both outputs send at once, and
// a packet of five flits leaves behind another of the same input.
module tor_formal (
  input logic            clk_i,
  input logic [1:0]      send_i,
  input logic [1:0]      to_i,
  input logic [1:0]      longer_i,  // the packet that begins has a word of payload
  input logic [1:0]      free_i
);
  localparam int unsigned Ports = 2, Depth = 8, Credits = Depth - Ports;
  logic rst_n = 1'b0;
  tor_pkg::route_config_t here;
  logic [Ports-1:0] valid, credit, out, returnable;
  tor_pkg::flit_t [Ports-1:0] in_flit, out_flit;

  // One switch of two endpoints: the lowest bit of the address is the port.
  assign here = '{above: '0, subtree: '0, down_shift: '0, down_mask: 6'd1, up_shift: '0, up_mask: '0, first_up: 6'd2};
  exanet_tor #(.Ports(Ports), .Depth(Depth)) dut (
    .clk_i, .rst_ni(rst_n), .route_i(here), .rx_valid_i(valid), .rx_flit_i(in_flit), .rx_credit_o(credit),
    .tx_valid_o(out), .tx_flit_o(out_flit), .tx_credit_i(free_i & returnable));

  // Of a sender: credits, the packet's flits that have gone, and where it goes to. A flit carries the number of its
  // packet among those of its input and output, and its own.
  logic [Ports-1:0][3:0] credits = '{default: 4'(Credits)};
  logic [Ports-1:0][2:0] sent = '0, length = '0;
  logic [Ports-1:0] goes_to = '0;
  logic [Ports-1:0][1:0][1:0] packets = '0;  // by input and output
  always_comb begin
    for (int unsigned i = 0; i < Ports; i++) begin
      valid[i]   = rst_n && send_i[i] && credits[i] != '0;
      in_flit[i] = '0;
      in_flit[i].first = sent[i] == '0;
      in_flit[i].last  = sent[i] != '0 && sent[i] == length[i];
      if (sent[i] == '0) in_flit[i].data[tor_pkg::AddressLow] = to_i[i];
      if (sent[i] == 3'd1) in_flit[i].data[tor_pkg::LengthLow] = length[i] == 3'd4;
      in_flit[i].data[5:0] = {1'(i), sent[i] == '0 ? packets[i][to_i[i]] : packets[i][goes_to[i]], sent[i]};
    end
  end
  always_ff @(posedge clk_i) begin
    rst_n <= 1'b1;
    for (int unsigned i = 0; i < Ports; i++) begin
      credits[i] <= credits[i] + 4'(credit[i]) - 4'(valid[i]);
      if (valid[i]) begin
        sent[i] <= in_flit[i].last ? '0 : sent[i] + 1'b1;
        if (sent[i] == '0) begin
          goes_to[i] <= to_i[i];
          length[i]  <= longer_i[i] ? 3'd4 : 3'd3;
        end
        if (in_flit[i].last) packets[i][goes_to[i]] <= packets[i][goes_to[i]] + 1'b1;
      end
    end
  end

  // Of a receiver: flits whose credits are not returned yet, and those of the packet that have come.
  logic [Ports-1:0][3:0] unreturned = '0;
  logic [Ports-1:0] came_from = '0;
  logic [Ports-1:0][2:0] came = '0;
  logic [Ports-1:0][1:0][1:0] due = '0;  // number of the next packet, by output and input
  always_comb for (int unsigned o = 0; o < Ports; o++) returnable[o] = unreturned[o] != '0;
  always_ff @(posedge clk_i) begin
    for (int unsigned o = 0; o < Ports; o++) begin
      unreturned[o] <= unreturned[o] + 4'(out[o]) - 4'(free_i[o] && returnable[o]);
      if (out[o]) begin
        came[o]      <= out_flit[o].last ? '0 : came[o] + 1'b1;
        came_from[o] <= out_flit[o].data[5];
        if (out_flit[o].last) due[o][out_flit[o].data[5]] <= due[o][out_flit[o].data[5]] + 1'b1;
      end
    end
  end
  for (genvar p = 0; p < Ports; p++) begin : gen_check
    always_ff @(posedge clk_i) begin
      if (rst_n) begin
        HasCredit : assert (unreturned[p] + 4'(out[p]) <= 4'(Credits));
        InOrder : assert (!out[p] || (out_flit[p].data[2:0] == came[p] && out_flit[p].first == (came[p] == '0)));
        OnePacket : assert (!out[p] || came[p] == '0 || out_flit[p].data[5] == came_from[p]);
        NextPacket : assert (!out[p] || out_flit[p].data[4:3] == due[p][out_flit[p].data[5]]);
        RightOutput : assert (!out[p] || came[p] != '0 || out_flit[p].data[tor_pkg::AddressLow] == (p != 0));
        NoMoreCredits : assert (credits[p] + 4'(credit[p]) <= 4'(Credits));
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      BothSend : cover (out == '1);
      PacketBehindPacket : cover (out[0] && came[0] == 3'd4 && due[0] != '0 && due[0][0] != '0 && out_flit[0].data[5] == 1'b0);
    end
  end
endmodule
