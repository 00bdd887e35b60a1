// SPDX-License-Identifier: Apache-2.0
// Two ni_ports at a router whose packets are small: what the test of MostWords drives. Nothing is at the router's link.
module port_pair #(
  parameter int unsigned MostWords = 1,
  parameter int unsigned Headers = 2,
  parameter int unsigned Slots = 1
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  exanet_pkg::router_config_t  config_i,
  input  logic                        s_axis_tvalid,
  output logic                        s_axis_tready,
  input  logic [127:0]                s_axis_tdata,
  input  logic [15:0]                 s_axis_tkeep,
  input  logic                        s_axis_tlast,
  input  logic [175:0]                s_axis_tuser,
  output logic                        m_axis_tvalid,
  input  logic                        m_axis_tready,
  output logic [127:0]                m_axis_tdata,
  output logic [15:0]                 m_axis_tkeep,
  output logic                        m_axis_tlast,
  output logic [175:0]                m_axis_tuser,
  output logic [31:0]                 sent_o,
  output logic [31:0]                 refused_o,
  output logic [31:0]                 received_o,
  output logic [31:0]                 dropped_o,
  output logic [31:0]                 discarded_o
);
  localparam int unsigned Depth = 2 ** $clog2(2 * MostWords);
  exanet_pkg::flit_t in[3], out[3];
  exanet_pkg::credit_t credit[3][2], far[3][2];
  logic [2:0] moved_on;
  logic [1:0][31:0] sent, refused, received, dropped;
  logic [1:0][175:0] user;
  logic [1:0] ready, valid, last;
  logic [1:0][127:0] data;
  logic [1:0][15:0] keep;
  exanet_router #(
    .InterPorts(1), .IntraPorts(2), .PayloadDepth(Depth), .HeaderDepth(Headers), .IntraDepth(Depth), .IntraHeaders(Headers),
    .MostWords(MostWords), .IntraSlots(Slots)
  ) u_router (
    .clk_i, .rst_ni, .config_i, .flit_i(in), .credit_o(credit), .flit_o(out), .credit_i(far), .release_i(moved_on), .discarded_o);
  assign in[0] = '0;
  assign moved_on[0] = 1'b0;
  assign far = '{default: '0};
  for (genvar p = 0; p < 2; p++) begin : gen_port
    ni_port #(.IntraDepth(Depth), .IntraHeaders(Headers), .IntraSlots(Slots), .MostWords(MostWords)) u_port (
      .clk_i, .rst_ni, .s_axis_tvalid(p == 0 && s_axis_tvalid), .s_axis_tready(ready[p]), .s_axis_tdata, .s_axis_tkeep, .s_axis_tlast, .s_axis_tuser,
      .m_axis_tvalid(valid[p]), .m_axis_tready, .m_axis_tdata(data[p]), .m_axis_tkeep(keep[p]), .m_axis_tlast(last[p]), .m_axis_tuser(user[p]),
      .flit_o(in[1+p]), .credit_i(credit[1+p][0]), .flit_i(out[1+p]), .release_o(moved_on[1+p]),
      .sent_o(sent[p]), .refused_o(refused[p]), .received_o(received[p]), .dropped_o(dropped[p]));
  end
  assign s_axis_tready = ready[0];
  assign {m_axis_tvalid, m_axis_tdata, m_axis_tkeep, m_axis_tlast, m_axis_tuser} = {valid[1], data[1], keep[1], last[1], user[1]};
  assign {sent_o, refused_o, received_o, dropped_o} = {sent[0], refused[0], received[1], dropped[1]};
endmodule
