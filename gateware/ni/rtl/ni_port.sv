// SPDX-License-Identifier: Apache-2.0
// Connects one intra-tile port of the router to AXI4-Stream: a frame is a packet, in both directions. TUSER carries the
// fields of header and footer, except length, virtual channel and check codes. docs/gateware/stream-port.md has the rules.
//
// The streams' ports are plain vectors, so that Verilog can connect them: TUSER has the bits of exanet_pkg::ni_user_t
// (docs/reference/packet.md).
module ni_port #(
  parameter int unsigned Words = 128,  // of the buffer towards the router (ni_inject)
  parameter int unsigned Packets = 8,
  parameter int unsigned IntraDepth = 4096,  // as of the router
  parameter int unsigned IntraHeaders = 64,  // of the router's, those that this port may use
  parameter int unsigned IntraSlots = 8,
  // payload of the largest packet, as of the router: no frame has more
  parameter int unsigned MostWords = exanet_pkg::MaxPayloadWords
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  // frames into the network
  input  logic                s_axis_tvalid,
  output logic                s_axis_tready,
  input  logic [127:0]        s_axis_tdata,
  input  logic [15:0]         s_axis_tkeep,
  input  logic                s_axis_tlast,
  input  logic [175:0]        s_axis_tuser,
  // frames out of it
  output logic                m_axis_tvalid,
  input  logic                m_axis_tready,
  output logic [127:0]        m_axis_tdata,
  output logic [15:0]         m_axis_tkeep,
  output logic                m_axis_tlast,
  output logic [175:0]        m_axis_tuser,
  // router
  output exanet_pkg::flit_t   flit_o,
  input  exanet_pkg::credit_t credit_i,
  input  exanet_pkg::flit_t   flit_i,
  output logic                release_o,
  // counts since reset; they wrap
  output logic [31:0]         sent_o,
  output logic [31:0]         refused_o,   // frames that cannot be a packet: too long, or with gaps between bytes
  output logic [31:0]         received_o,
  output logic [31:0]         dropped_o    // damaged packets
);
  if ((IntraDepth & (IntraDepth - 1)) != 0) begin : gen_illegal_1
    $error("the router's pool is a power of two of payload words");
  end
  ni_inject #(.Words(Words), .Packets(Packets), .IntraDepth(IntraDepth), .IntraHeaders(IntraHeaders), .MostWords(MostWords)) u_inject (
    .clk_i, .rst_ni, .tvalid_i(s_axis_tvalid), .tready_o(s_axis_tready), .tdata_i(s_axis_tdata), .tkeep_i(s_axis_tkeep), .tlast_i(s_axis_tlast),
    .tuser_i(s_axis_tuser), .flit_o, .credit_i, .packets_o(sent_o), .refused_o);
  ni_eject #(.Slots(IntraSlots), .MostWords(MostWords)) u_eject (
    .clk_i, .rst_ni, .flit_i, .release_o, .tvalid_o(m_axis_tvalid), .tready_i(m_axis_tready), .tdata_o(m_axis_tdata), .tkeep_o(m_axis_tkeep),
    .tlast_o(m_axis_tlast), .tuser_o(m_axis_tuser), .packets_o(received_o), .dropped_o);
endmodule
