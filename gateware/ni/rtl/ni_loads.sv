// SPDX-License-Identifier: Apache-2.0
// Turns the read channels of AXI4 into loads: a beat in six cycles, whose value is sampled five cycles after its address
// is known. It takes INCR bursts of any size up to 16 bytes a beat. Each beat of other bursts gets SLVERR.
//
module ni_loads #(
  parameter int unsigned AddressBits = 21,
  parameter int unsigned IdBits = 4
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic [IdBits-1:0]      s_axi_arid,
  input  logic [AddressBits-1:0] s_axi_araddr,
  input  logic [7:0]             s_axi_arlen,
  input  logic [2:0]             s_axi_arsize,
  input  logic [1:0]             s_axi_arburst,
  input  logic                   s_axi_arvalid,
  output logic                   s_axi_arready,
  output logic [IdBits-1:0]      s_axi_rid,
  output logic [127:0]           s_axi_rdata,
  output logic [1:0]             s_axi_rresp,
  output logic                   s_axi_rlast,
  output logic                   s_axi_rvalid,
  input  logic                   s_axi_rready,
  output logic [AddressBits-1:0] address_o,
  input  logic [127:0]           value_i
);
  localparam logic [1:0] Incr = 2'b01, SlaveError = 2'b10;
  typedef enum logic [1:0] { Idle, Look, Answer } load_e;
  load_e load_q;
  logic [2:0] size_q, look_q;
  logic [7:0] left_q;
  assign s_axi_arready = load_q == Idle;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      load_q       <= Idle;
      look_q       <= '0;
      s_axi_rvalid <= 1'b0;
      address_o    <= '0;
      size_q       <= '0;
      left_q       <= '0;
      s_axi_rid    <= '0;
      s_axi_rdata  <= '0;
      s_axi_rresp  <= '0;
      s_axi_rlast  <= 1'b0;
    end else begin
      case (load_q)
        Idle:
        if (s_axi_arvalid) begin
          {s_axi_rid, address_o, size_q, left_q} <= {s_axi_arid, s_axi_araddr, s_axi_arsize, s_axi_arlen};
          s_axi_rresp <= s_axi_arburst == Incr && s_axi_arsize <= 3'd4 ? '0 : SlaveError;
          look_q      <= '0;
          load_q      <= Look;
        end
        Look: begin
          look_q <= look_q + 1'b1;
          if (look_q == 3'd4) begin
            load_q       <= Answer;
            s_axi_rvalid <= 1'b1;
            s_axi_rdata  <= value_i;
            s_axi_rlast  <= left_q == '0;
          end
        end
        default:
        if (s_axi_rready) begin
          s_axi_rvalid <= 1'b0;
          left_q       <= left_q - 1'b1;
          look_q       <= '0;
          address_o    <= ((address_o >> size_q) + 1'b1) << size_q;
          load_q       <= left_q == '0 ? Idle : Look;
        end
      endcase
    end
  end

  exanet_stream_check #(.Width(IdBits + 128 + 1)) u_check_loads (
    .clk_i, .rst_ni, .valid_i(s_axi_rvalid), .data_i({s_axi_rid, s_axi_rdata, s_axi_rlast}), .ready_i(s_axi_rready));
endmodule
