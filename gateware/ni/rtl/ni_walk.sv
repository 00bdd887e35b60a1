// SPDX-License-Identifier: Apache-2.0
// Walks tables of pages in memory for those who translate (ni_translate), one page at a time, in turn; and keeps the
// faults that the kernel has yet to take.
//
// A domain's first table is in a register. A table has 512 entries of 8 bytes (ni_page): the third one pages of 2 MiB
// or the fourth tables, that one pages of 4 or 64 KiB. So four reads of memory find a page, three a large one. An entry
// that memory refuses to read is none.
//
// A fault that finds the queue full is counted and forgotten: who has caused it asks again, as long as the transfer
// goes on.
module ni_walk #(
  parameter int unsigned Domains = 1024
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  output logic                   ready_o,  // its table is clear
  // what the kernel writes: a domain's first table
  input  logic                   domain_write_i,
  input  logic [9:0]             domain_at_i,
  input  exanet_pkg::ni_domain_t domain_value_i,
  // those who translate, by page_access_e
  input  logic [2:0]             walk_valid_i,
  input  ni_pkg::walk_t [2:0]    walk_i,
  output logic [2:0]             walk_done_o,
  output ni_pkg::walked_t        walked_o,
  // faults; the kernel takes the first one
  output exanet_pkg::ni_fault_t  fault_o,
  input  logic                   fault_taken_i,
  // tables in memory
  output logic [47:0]            m_axi_araddr,
  output logic                   m_axi_arvalid,
  input  logic                   m_axi_arready,
  input  logic [127:0]           m_axi_rdata,
  input  logic [1:0]             m_axi_rresp,
  input  logic                   m_axi_rvalid,
  output logic                   m_axi_rready,
  // counts since reset; they wrap
  output logic [31:0]            walks_o,
  output logic [31:0]            faults_o,
  output logic [31:0]            lost_o  // faults that found the queue full
);
  import exanet_pkg::*;
  import ni_pkg::*;
  localparam int unsigned FaultDepth = 16;
  localparam int unsigned DomainBits = $clog2(Domains);
  localparam logic [1:0] Last = 2'd3;

  logic [DomainBits:0] clear_q;
  logic clears;
  assign clears = !clear_q[DomainBits];
  assign ready_o = !clears;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) clear_q <= '0;
    else if (clears) clear_q <= clear_q + 1'b1;
  end

  typedef enum logic [2:0] { Idle, Root, Ask, Look, Done } state_e;
  state_e state_q;
  logic [1:0] client, client_q, level_q;
  walk_t walk_q;
  walked_t walked_q;
  ni_domain_t root;
  ni_page_t entry;
  logic [44:0] entry_q;  // its address in units of 8 bytes
  logic [8:0] index;
  logic starts, leaf, found;
  assign starts = state_q == Idle && walk_valid_i != '0 && !clears;
  // Those behind the last one in turn first.
  always_comb begin
    client = client_q;
    for (int unsigned i = 3; i > 0; i--) if (walk_valid_i[2'((32'(client_q) + i) % 3)]) client = 2'((32'(client_q) + i) % 3);
  end
  ni_table #(.Entries(Domains), .Width(37), .Same(1'b1)) u_domains (
    .clk_i, .rst_ni, .write_i(domain_write_i || clears), .write_at_i(clears ? clear_q[DomainBits-1:0] : domain_at_i[DomainBits-1:0]),
    .data_i(clears ? '0 : {domain_value_i.root, domain_value_i.valid}), .read_i(starts),
    .read_at_i(walk_i[client].domain[DomainBits-1:0]), .data_o({root.root, root.valid}));
  assign {root.more_reserved, root.reserved} = '0;

  assign m_axi_arvalid = state_q == Ask;
  assign m_axi_araddr = {entry_q[44:1], 4'd0};
  assign m_axi_rready = state_q == Look;
  assign entry = entry_q[0] ? m_axi_rdata[127:64] : m_axi_rdata[63:0];
  assign found = entry.valid && !m_axi_rresp[1];
  assign leaf = entry.leaf && level_q[1];
  always_comb begin
    case (level_q)
      2'd0: index = walk_q.page[26:18];
      2'd1: index = walk_q.page[17:9];
      default: index = walk_q.page[8:0];
    endcase
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q  <= Idle;
      client_q <= '0;
      level_q  <= '0;
    end else begin
      case (state_q)
        Idle:
        if (starts) begin
          client_q <= client;
          level_q  <= '0;
          state_q  <= Root;
        end
        Root: state_q <= root.valid ? Ask : Done;
        Ask: if (m_axi_arready) state_q <= Look;
        Look:
        if (m_axi_rvalid) begin
          level_q <= level_q + 2'd1;
          state_q <= found && !entry.leaf && level_q != Last ? Ask : Done;
        end
        default: state_q <= Idle;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (starts) walk_q <= walk_i[client];
    if (state_q == Root) begin
      entry_q  <= {root.root, walk_q.page[35:27]};
      walked_q <= '0;
    end
    if (state_q == Look && m_axi_rvalid) begin
      entry_q  <= {entry.frame, index};
      walked_q <= '{mapped: found && leaf, writable: entry.writable, size: level_q != Last ? 2'd2 : {1'b0, entry.wide}, frame: entry.frame};
    end
  end
  assign walked_o = walked_q;
  always_comb begin
    walk_done_o = '0;
    walk_done_o[client_q] = state_q == Done;
  end

  // --- Faults.
  ni_fault_t fault, first;
  logic faulted, keeps, fault_valid, fault_taken;
  logic [4:0] faults_q;
  nack_reason_e reason;
  assign reason = page_fault(walked_q.mapped, walked_q.writable, client_q != 2'(PageAccessRead));
  assign faulted = state_q == Done && reason != NackReasonNone;
  assign keeps = faulted && !faults_q[4];
  assign fault = '{valid: 1'b1, access: client_q, reason: reason, page: walk_q.page, pdid: walk_q.domain, default: '0};
  exanet_fifo #(.Width($bits(ni_fault_t)), .Depth(FaultDepth)) u_faults (
    .clk_i, .rst_ni, .write_i(keeps), .data_i(fault), .read_i(fault_taken), .valid_o(fault_valid), .data_o(first));
  assign fault_taken = fault_taken_i && fault_valid;
  assign fault_o = fault_valid ? first : '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      faults_q <= '0;
      walks_o  <= '0;
      faults_o <= '0;
      lost_o   <= '0;
    end else begin
      faults_q <= faults_q + 5'(keeps) - 5'(fault_taken);
      walks_o  <= walks_o + 32'(state_q == Done);
      faults_o <= faults_o + 32'(faulted);
      lost_o   <= lost_o + 32'(faulted && !keeps);
    end
  end

  exanet_stream_check #(.Width(48)) u_check (.clk_i, .rst_ni, .valid_i(m_axi_arvalid), .data_i(m_axi_araddr), .ready_i(m_axi_arready));
endmodule
