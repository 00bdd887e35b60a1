// SPDX-License-Identifier: Apache-2.0
// Turns the write channels of AXI4 into stores: one a cycle, in order, each with its address in units of 16 bytes, its
// bytes and their strobes. It takes INCR bursts of any size up to 16 bytes a beat. Other bursts get SLVERR, and none of
// their beats is a store.
module ni_stores #(
  parameter int unsigned AddressBits = 21,
  parameter int unsigned IdBits = 4
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic [IdBits-1:0]      s_axi_awid,
  input  logic [AddressBits-1:0] s_axi_awaddr,
  input  logic [7:0]             s_axi_awlen,
  input  logic [2:0]             s_axi_awsize,
  input  logic [1:0]             s_axi_awburst,
  input  logic                   s_axi_awvalid,
  output logic                   s_axi_awready,
  input  logic [127:0]           s_axi_wdata,
  input  logic [15:0]            s_axi_wstrb,
  input  logic                   s_axi_wlast,
  input  logic                   s_axi_wvalid,
  output logic                   s_axi_wready,
  output logic [IdBits-1:0]      s_axi_bid,
  output logic [1:0]             s_axi_bresp,
  output logic                   s_axi_bvalid,
  input  logic                   s_axi_bready,
  input  logic                   ready_i,  // one store more can be taken, and that of this cycle
  output logic [AddressBits-1:4] next_line_o,  // of what is a store in the next cycle
  output logic                   store_o,
  output logic [AddressBits-1:4] line_o,
  output logic [127:0]           data_o,
  output logic [15:0]            strobe_o
);
  localparam logic [1:0] Incr = 2'b01;
  localparam logic [1:0] SlaveError = 2'b10;
  logic open_q, waits_q, bad_q, bad, space_q, addressed, takes, beat, last, last_q, ends, answered;
  logic [IdBits-1:0] id_q, id;
  logic [AddressBits-1:0] address_q, address;
  logic [2:0] size_q, size, answers_q, answers;
  logic [127:0] data_q;
  logic [15:0] strobe_q;

  // An address and a beat each come by themselves: what is ready follows from registers alone. A beat before its
  // address waits for it here; an address before its first beat opens its burst.
  assign s_axi_awready = !open_q && space_q;
  assign s_axi_wready = !waits_q && space_q;
  assign addressed = s_axi_awvalid && s_axi_awready;
  assign takes = s_axi_wvalid && s_axi_wready;
  assign beat = (open_q || addressed) && (waits_q || takes);
  assign last = waits_q ? last_q : s_axi_wlast;
  assign ends = beat && last;
  assign {id, bad, size, address} = open_q ? {id_q, bad_q, size_q, address_q}
      : {s_axi_awid, s_axi_awburst != Incr || s_axi_awsize > 3'd4, s_axi_awsize, s_axi_awaddr};

  assign next_line_o = address[AddressBits-1:4];
  exanet_fifo #(.Width(IdBits + 1), .Depth(4)) u_answers (
    .clk_i, .rst_ni, .write_i(ends), .data_i({bad, id}), .read_i(answered), .valid_o(s_axi_bvalid), .data_o({s_axi_bresp[1], s_axi_bid}));
  assign s_axi_bresp[0] = SlaveError[0];
  assign answered = s_axi_bvalid && s_axi_bready;
  assign answers = answers_q + 3'(ends) - 3'(answered);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q    <= 1'b0;
      waits_q   <= 1'b0;
      space_q   <= 1'b0;
      answers_q <= '0;
      store_o   <= 1'b0;
    end else begin
      open_q    <= (open_q || addressed) && !ends;
      waits_q   <= (waits_q || takes) && !beat;
      answers_q <= answers;
      space_q   <= ready_i && answers < 3'd4;
      store_o   <= beat && !bad;
    end
  end
  always_ff @(posedge clk_i) begin
    if (addressed) {id_q, bad_q, size_q} <= {id, bad, size};
    if (beat) address_q <= ((address >> size) + 1'b1) << size;
    else if (addressed) address_q <= s_axi_awaddr;
    if (takes) {data_q, strobe_q, last_q} <= {s_axi_wdata, s_axi_wstrb, s_axi_wlast};
    line_o   <= address[AddressBits-1:4];
    data_o   <= waits_q ? data_q : s_axi_wdata;
    strobe_o <= waits_q ? strobe_q : s_axi_wstrb;
  end

`ifndef SYNTHESIS
  logic [7:0] left, left_q;
  assign left = open_q ? left_q : s_axi_awlen;
  always_ff @(posedge clk_i) begin
    if (beat) left_q <= left - 1'b1;
    else if (addressed) left_q <= left;
    if (rst_ni && beat) Length : assert (last == (left == '0));
    if (rst_ni) OneWaits : assert (!(open_q && waits_q));
  end
`endif
  exanet_stream_check #(.Width(IdBits + 2)) u_check (
    .clk_i, .rst_ni, .valid_i(s_axi_bvalid), .data_i({s_axi_bid, s_axi_bresp}), .ready_i(s_axi_bready));
endmodule
