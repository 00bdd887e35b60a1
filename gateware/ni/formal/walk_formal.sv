// SPDX-License-Identifier: Apache-2.0
// ni_walk between any clients, any memory and any kernel. Proved, for each walk of any client to any page of a domain:
// memory is asked for the entries of that page alone, from the table on that the kernel has last named for this domain,
// each where the entry before says; and the answer, which goes to the client that has asked, is what the last of them
// says: mapped where it is a leaf of the third or fourth table and memory has not refused it, with its frame, size and
// whether it may be written. A domain without a table is not looked for. The fault that is reported to the kernel has
// the page that was asked for.
//
// The domain is any of those that there are. Memory may say something else at each read: tables change.
module walk_formal #(
  parameter int unsigned Domains = 4
) (
  input logic                   clk_i,
  input logic [9:0]             domain_i,  // the one that is looked at
  input logic                   write_i,
  input logic [9:0]             write_at_i,
  input exanet_pkg::ni_domain_t write_value_i,
  input logic [2:0]             walk_valid_i,
  input ni_pkg::walk_t [2:0]    walk_i,
  input logic                   fault_taken_i,
  input logic                   arready_i,
  input logic [127:0]           rdata_i,
  input logic [1:0]             rresp_i,
  input logic                   rvalid_i
);
  import exanet_pkg::*;
  import ni_pkg::*;
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic up, arvalid, rready;
  logic [2:0] done, valid;
  logic [47:0] araddr;
  walked_t walked;
  ni_fault_t first;
  logic [31:0] walks, faults, lost;
  assign valid = rst_n ? walk_valid_i : '0;
  ni_walk #(.Domains(Domains)) dut (
    .clk_i, .rst_ni(rst_n), .ready_o(up), .domain_write_i(rst_n && up && write_i), .domain_at_i(write_at_i), .domain_value_i(write_value_i),
    .walk_valid_i(valid), .walk_i, .walk_done_o(done), .walked_o(walked), .fault_o(first), .fault_taken_i(rst_n && fault_taken_i),
    .m_axi_araddr(araddr), .m_axi_arvalid(arvalid), .m_axi_arready(rst_n && arready_i), .m_axi_rdata(rdata_i), .m_axi_rresp(rresp_i),
    .m_axi_rvalid(rst_n && rvalid_i), .m_axi_rready(rready), .walks_o(walks), .faults_o(faults), .lost_o(lost));

  // A client asks until it is answered, for one page; domains are those that there are.
  logic [2:0] asks = '0;
  walk_t [2:0] asked;
  logic [9:0] domain_q;
  always_ff @(posedge clk_i) begin
    asks <= valid & ~done;
    asked <= walk_i;
    domain_q <= domain_i;
  end
  always_comb begin
    if (rst_n) assume (domain_i == domain_q);
    assume (domain_i < 10'(Domains) && write_at_i < 10'(Domains));
    for (int unsigned c = 0; c < 3; c++) begin
      assume (walk_i[c].domain < 10'(Domains));
      if (asks[c]) assume (valid[c] && walk_i[c] == asked[c]);
    end
  end

  // The table that the kernel has named for the domain last.
  ni_domain_t root = '0, written;
  assign written = '{root: write_value_i.root, valid: write_value_i.valid, default: '0};
  always_ff @(posedge clk_i) begin
    if (!rst_n) root <= '0;
    else if (up && write_i && write_at_i == domain_i) root <= written;
  end

  // What memory has said of a page of the domain, since its walk began: the entry that is next, or what the last one
  // has said.
  typedef enum logic [1:0] { NoWalk, Begins, Reads, Ends } walks_e;
  walks_e walks_q = NoWalk;
  logic is_domain_q = 1'b0, waits_q = 1'b0;  // the walk is of the domain; memory has been asked
  logic [1:0] level_q, client_q;
  logic [35:0] page_q;
  logic [44:0] next_q;  // address of the entry, in units of 8 bytes
  walked_t walked_q;
  ni_domain_t root_q;
  ni_page_t entry;
  logic takes, good;
  assign takes = arvalid && arready_i && rst_n;
  assign entry = next_q[0] ? rdata_i[127:64] : rdata_i[63:0];
  assign good = entry.valid && !rresp_i[1];
  function automatic logic [8:0] index_of(logic [35:0] page, logic [1:0] level);
    return 9'(page >> (32'd27 - 32'd9 * 32'(level)));
  endfunction
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      walks_q <= NoWalk;
      waits_q <= 1'b0;
    end else begin
      if (walks_q == NoWalk && dut.starts) begin
        walks_q <= Begins;
        client_q <= dut.client;
        is_domain_q <= walk_i[dut.client].domain == domain_i;
        page_q <= walk_i[dut.client].page;
        root_q <= write_i && write_at_i == domain_i ? written : root;
      end
      if (walks_q == Begins) begin
        walks_q <= root_q.valid ? Reads : Ends;
        level_q <= '0;
        walked_q <= '0;
        next_q <= {root_q.root, index_of(page_q, 2'd0)};
      end
      if (walks_q == Reads && takes) waits_q <= 1'b1;
      if (walks_q == Reads && waits_q && rvalid_i) begin
        waits_q <= 1'b0;
        level_q <= level_q + 2'd1;
        next_q <= {entry.frame, index_of(page_q, level_q + 2'd1)};
        if (!good || entry.leaf || level_q == 2'd3) begin
          walks_q <= Ends;
          walked_q <= '{mapped: good && entry.leaf && level_q >= 2'd2, writable: entry.writable,
                        size: level_q == 2'd3 ? {1'b0, entry.wide} : 2'd2, frame: entry.frame};
        end
      end
      if (done != '0) begin
        walks_q <= NoWalk;
        waits_q <= 1'b0;
      end
    end
  end
  logic of_domain;
  assign of_domain = walks_q != NoWalk && is_domain_q;

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      Asks: assert (!(arvalid && of_domain) || (walks_q == Reads && !waits_q && araddr == {next_q[44:1], 4'd0}));
      Answers: assert (done == '0 || ((walks_q == Ends || !is_domain_q) && done == 3'(3'd1 << client_q) && valid[client_q] &&
                       walk_i[client_q].page == page_q));
      Says: assert (!(done != '0 && of_domain) || (walk_i[client_q].domain == domain_i && walked.mapped == walked_q.mapped &&
                    (!walked.mapped || walked == walked_q)));
      Reports: assert (!(dut.u_faults.write_i && of_domain) || (dut.fault.page == page_q && dut.fault.pdid == domain_i &&
                     !(walked_q.mapped && (walked_q.writable || client_q == 2'(PageAccessRead)))));
      Large: cover (done != '0 && of_domain && walked.mapped && walked.size == 2'd2);
      Small: cover (done != '0 && of_domain && walked.mapped && walked.size == 2'd0 && walked.writable);
      Refused: cover (done != '0 && of_domain && !walked.mapped && level_q == 2'd3);
      Another: cover (done != '0 && !of_domain && walked.mapped);
    end
  end

  // Helps the proof: both are at the same place.
  logic [2:0] state;
  assign state = 3'(dut.state_q);
  ni_domain_t named;  // in the unit's table
  assign {named.more_reserved, named.reserved} = '0;
  assign {named.root, named.valid} = dut.u_domains.memory[domain_i[$clog2(Domains)-1:0]];
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      Idle: assert ((state == 3'd0) == (walks_q == NoWalk));
      Root: assert (state <= 3'd4 && (state != 3'd1 || walks_q == Begins) && (walks_q != Begins || (state == 3'd1 && dut.level_q == '0)));
      Client: assert (walks_q == NoWalk || (client_q <= 2'd2 && dut.client_q == client_q && asks[client_q] && valid[client_q] &&
                      dut.walk_q == walk_i[client_q] && dut.walk_q.page == page_q && is_domain_q == (dut.walk_q.domain == domain_i)));
      Turn: assert (dut.client_q <= 2'd2);
      Named: assert (dut.clears ? root == '0 && (dut.clear_q <= ($clog2(Domains) + 1)'(domain_i) || named == '0) : named == root);
      Read: assert (!(walks_q == Begins && is_domain_q) || dut.root == root_q);
      Level: assert (!(walks_q == Reads && of_domain) || (dut.level_q == level_q && dut.entry_q == next_q && (state == 3'd2 || state == 3'd3) &&
                     waits_q == (state == 3'd3)));
      Waits: assert (walks_q == Reads || !waits_q);
      Last: assert (!(walks_q == Ends && of_domain) || (state == 3'd4 && walked.mapped == walked_q.mapped && walked == walked_q));
      Counted: assert (dut.faults_q == 5'(dut.u_faults.write_q - dut.u_faults.read_q) && dut.faults_q <= 5'd16);
    end
  end
endmodule
