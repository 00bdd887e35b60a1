// SPDX-License-Identifier: Apache-2.0
// A reduction unit beside a network interface: a window of 1 MiB at the processors' bus, a port of the memory, and an
// intra-tile port of the router.
//
//   0x1000 (8 t + b) + 0x000 to 0x1ff   store: vector of branch b of tree t, any widths, in any order
//   0x1000 (8 t + b) + 0x200            store of 8 bytes, reduce_call_t: starts the call
//   0x80000 + 16 t                      store of 8 bytes: tree t, ni_reduce_tree_t, after its neighbours
//   0x80100                             store of 8 bytes: ni_reduce_config_t
//   0x81000 + 256 t + 16 b              store of 8 bytes: branch b of tree t: ni_reduce_node_t, or ni_reduce_place_t of a process; b = 8: the node above
//   0x80110                             load: counts of 32 bits: reductions ended, failed, packets sent again, unexpected packets
//   0x80120                             load: count of 32 bits: damaged packets; at 0x80124 a bit for each busy tree, and bit 16 while stores
//                                       are pending; at 0x80128 the count of stores without effect because they
//                                       carried only a part of their 8 bytes
// Other stores have no effect, other loads return zeros. The kernel maps a page for the process that is that branch, and
// for nobody else.
module exanet_reduce #(
  parameter int unsigned IdBits = 4,
  parameter int unsigned IntraDepth = 4096,  // as of the router
  parameter int unsigned IntraHeaders = 64,
  parameter int unsigned IntraSlots = 8
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  // processors
  input  logic [IdBits-1:0]   s_axi_awid,
  input  logic [19:0]         s_axi_awaddr,
  input  logic [7:0]          s_axi_awlen,
  input  logic [2:0]          s_axi_awsize,
  input  logic [1:0]          s_axi_awburst,
  input  logic                s_axi_awvalid,
  output logic                s_axi_awready,
  input  logic [127:0]        s_axi_wdata,
  input  logic [15:0]         s_axi_wstrb,
  input  logic                s_axi_wlast,
  input  logic                s_axi_wvalid,
  output logic                s_axi_wready,
  output logic [IdBits-1:0]   s_axi_bid,
  output logic [1:0]          s_axi_bresp,
  output logic                s_axi_bvalid,
  input  logic                s_axi_bready,
  input  logic [IdBits-1:0]   s_axi_arid,
  input  logic [19:0]         s_axi_araddr,
  input  logic [7:0]          s_axi_arlen,
  input  logic [2:0]          s_axi_arsize,
  input  logic [1:0]          s_axi_arburst,
  input  logic                s_axi_arvalid,
  output logic                s_axi_arready,
  output logic [IdBits-1:0]   s_axi_rid,
  output logic [127:0]        s_axi_rdata,
  output logic [1:0]          s_axi_rresp,
  output logic                s_axi_rlast,
  output logic                s_axi_rvalid,
  input  logic                s_axi_rready,
  // memory, coherent with the processors' caches
  output logic [47:0]         m_axi_awaddr,
  output logic [7:0]          m_axi_awlen,
  output logic [2:0]          m_axi_awsize,
  output logic [1:0]          m_axi_awburst,
  output logic                m_axi_awvalid,
  input  logic                m_axi_awready,
  output logic [127:0]        m_axi_wdata,
  output logic [15:0]         m_axi_wstrb,
  output logic                m_axi_wlast,
  output logic                m_axi_wvalid,
  input  logic                m_axi_wready,
  input  logic [1:0]          m_axi_bresp,
  input  logic                m_axi_bvalid,
  output logic                m_axi_bready,
  // router
  output exanet_pkg::flit_t   flit_o,
  input  exanet_pkg::credit_t credit_i,
  input  exanet_pkg::flit_t   flit_i,
  output logic                release_o
);
  import exanet_pkg::*;
  if ((IntraHeaders & (IntraHeaders - 1)) != 0) begin : gen_illegal
    $error("the router's pool has a power of two of headers");
  end

  logic ready, store, in_valid, in_ready, in_last, out_valid, out_ready, out_last;
  logic [19:4] line;
  logic [127:0] data, in_data, out_data, value;
  logic [15:0] strobe, in_keep, out_keep;
  logic [19:0] load_at;
  ni_user_t in_user, out_user;
  logic [31:0] damaged;
  logic [3:0][31:0] counts;
  logic [15:0] at_work;
  logic stores, part, vector;
  logic [31:0] parts_q;

  ni_stores #(.AddressBits(20), .IdBits(IdBits)) u_stores (
    .clk_i, .rst_ni, .s_axi_awid, .s_axi_awaddr, .s_axi_awlen, .s_axi_awsize, .s_axi_awburst, .s_axi_awvalid, .s_axi_awready, .s_axi_wdata,
    .s_axi_wstrb, .s_axi_wlast, .s_axi_wvalid, .s_axi_wready, .s_axi_bid, .s_axi_bresp, .s_axi_bvalid, .s_axi_bready,
    .ready_i(ready), .store_o(store), .line_o(line), .data_o(data), .strobe_o(strobe));
  ni_loads #(.AddressBits(20), .IdBits(IdBits)) u_loads (
    .clk_i, .rst_ni, .s_axi_arid, .s_axi_araddr, .s_axi_arlen, .s_axi_arsize, .s_axi_arburst, .s_axi_arvalid, .s_axi_arready, .s_axi_rid,
    .s_axi_rdata, .s_axi_rresp, .s_axi_rlast, .s_axi_rvalid, .s_axi_rready, .address_o(load_at), .value_i(value));
  always_comb begin
    value = '0;
    if (load_at[19:4] == 16'h8011) value = 128'(counts);
    if (load_at[19:4] == 16'h8012) value = {32'd0, parts_q, 15'd0, stores, at_work, damaged};
  end
  // Bytes of a vector count one by one; all else is words of 8 bytes.
  assign vector = !line[19] && line[11:9] == '0;
  assign part = store && !vector && ((strobe[7:0] != '0 && strobe[7:0] != '1) || (strobe[15:8] != '0 && strobe[15:8] != '1));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) parts_q <= '0;
    else parts_q <= parts_q + 32'(part);
  end

  ni_port #(.IntraDepth(IntraDepth), .IntraHeaders(IntraHeaders), .IntraSlots(IntraSlots)) u_port (
    .clk_i, .rst_ni, .s_axis_tvalid(in_valid), .s_axis_tready(in_ready), .s_axis_tdata(in_data), .s_axis_tkeep(in_keep), .s_axis_tlast(in_last),
    .s_axis_tuser(in_user), .m_axis_tvalid(out_valid), .m_axis_tready(out_ready), .m_axis_tdata(out_data), .m_axis_tkeep(out_keep),
    .m_axis_tlast(out_last), .m_axis_tuser(out_user), .flit_o, .credit_i, .flit_i, .release_o, .dropped_o(damaged));
  ni_reduce u_reduce (
    .clk_i, .rst_ni, .ready_o(ready), .store_i(store), .line_i(line), .data_i(data), .strobe_i(strobe), .s_axis_tvalid(out_valid),
    .s_axis_tready(out_ready), .s_axis_tdata(out_data), .s_axis_tkeep(out_keep), .s_axis_tlast(out_last), .s_axis_tuser(out_user),
    .m_axis_tvalid(in_valid), .m_axis_tready(in_ready), .m_axis_tdata(in_data), .m_axis_tkeep(in_keep), .m_axis_tlast(in_last),
    .m_axis_tuser(in_user), .m_axi_awaddr, .m_axi_awlen, .m_axi_awvalid, .m_axi_awready, .m_axi_wdata, .m_axi_wstrb, .m_axi_wlast, .m_axi_wvalid,
    .m_axi_wready, .m_axi_bresp, .m_axi_bvalid, .m_axi_bready, .at_work_o(at_work),
    .stores_o(stores), .ended_o(counts[0]), .failed_o(counts[1]), .repeated_o(counts[2]), .dropped_o(counts[3]));
  assign m_axi_awsize = 3'd4;
  assign m_axi_awburst = 2'b01;
endmodule
