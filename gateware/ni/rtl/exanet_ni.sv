// SPDX-License-Identifier: Apache-2.0
// A network interface between the processors' bus, memory, and intra-tile ports of the router: packetizer and mailboxes,
// and, with Channels, transfers. The first port is for messages, the second for acknowledgements, whose packets have
// priority and never wait for others, the third for transfers.
//
// The window of 2 MiB at the processors' bus: a page of 4 KiB for each context in the lower half, the kernel's registers
// in the upper half. docs/gateware/messages.md has the address of each counter.
//   page + 0x000 to 0x03f   store: payload of the context's next message
//   page + 0x040            store of 8 bytes, message_send_t: sends it
//   page + 0x080 to 0x09f   four stores of 8 bytes, or two of 16, transfer_t: the last one starts the transfer
//   page + 0x0a0 to 0x0af   two stores of 8 bytes, or one of 16, transfer_fence_t: before the last store of a transfer
//                           with a fence
//   page + 0x0c0            load of 8 bytes: ni_status_t
//   page + 0x0d0            load of 8 bytes: ni_transfer_status_t
//   page + 0x0c8            store of 8 bytes: mailbox_release_t
//   0x100000 + 16 c         store of 8 bytes: context c, ni_context_t
//   0x104000                store of 8 bytes: ni_config_t
//   0x104010                store of 8 bytes: clears what is known of one peer, whose interface was reset
//   0x104020 to 0x10406f    load: counts of 32 bits: messages sent, done, repeated, unexpected acknowledgements; messages stored, NACKed, repeated,
//                           dropped; damaged packets of messages, acknowledgements, transfers, pending changes of
//                           mailboxes and peers (0x10404c); packets of transfers sent, transfers ended, blocks repeated,
//                           unexpected acknowledgements; packets written, repeated, dropped, blocks acknowledged
//   0x104070                load: counts of 32 bits: page walks, faults, faults that found the queue full, completed invalidations
//   0x104080                load: count of 32 bits: stores without effect because they carried only a part of their 8 bytes, as one half of a word;
//                           store of 8 bytes: invalidates all translations; when it has completed, so have all
//                           invalidations before it
//   0x104090                load of 8 bytes: ni_fault_t, the first fault of the queue; store of 8 bytes: removes it
//   0x108000 + 16 m         store of 8 bytes: mailbox m, ni_mailbox_t
//   0x10c000 + 16 d         store of 8 bytes: protection domain d, ni_domain_t
// Other stores have no effect, other loads return zeros. A store acts for the domain that its context has at that time;
// a retransmission keeps this domain. After a reset the tables are cleared, in as many cycles as there are peers; stores
// wait for that.
module exanet_ni #(
  parameter int unsigned Contexts = 256,
  parameter int unsigned Mailboxes = 1024,
  parameter int unsigned Peers = 4096,
  parameter int unsigned Channels = 0,  // of transfers; 0: no transfers, and no third port
  parameter int unsigned Window = 32,  // largest number of blocks in flight to a node
  parameter int unsigned NodeBits = 0,  // of an address: node of the QFDB, then coordinates, as of router_route
  parameter int unsigned XBits = 8,
  parameter int unsigned YBits = 7,
  parameter int unsigned IdBits = 4,
  parameter int unsigned IntraDepth = 4096,  // as of the router
  parameter int unsigned IntraHeaders = 64,
  parameter int unsigned IntraSlots = 8,
  localparam int unsigned ContextBits = $unsigned($clog2(Contexts)),
  localparam int unsigned PeerBits = $unsigned($clog2(Peers)),
  localparam int unsigned BoxBits = $unsigned($clog2(Mailboxes)),
  localparam int unsigned Ports = Channels == 0 ? 2 : 3
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  // processors
  input  logic [IdBits-1:0]   s_axi_awid,
  input  logic [20:0]         s_axi_awaddr,
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
  input  logic [20:0]         s_axi_araddr,
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
  // memory of transfers
  output logic [47:0]         m_axi_dma_awaddr,
  output logic [7:0]          m_axi_dma_awlen,
  output logic [2:0]          m_axi_dma_awsize,
  output logic [1:0]          m_axi_dma_awburst,
  output logic                m_axi_dma_awvalid,
  input  logic                m_axi_dma_awready,
  output logic [127:0]        m_axi_dma_wdata,
  output logic [15:0]         m_axi_dma_wstrb,
  output logic                m_axi_dma_wlast,
  output logic                m_axi_dma_wvalid,
  input  logic                m_axi_dma_wready,
  input  logic [1:0]          m_axi_dma_bresp,
  input  logic                m_axi_dma_bvalid,
  output logic                m_axi_dma_bready,
  output logic [47:0]         m_axi_dma_araddr,
  output logic [7:0]          m_axi_dma_arlen,
  output logic [2:0]          m_axi_dma_arsize,
  output logic [1:0]          m_axi_dma_arburst,
  output logic                m_axi_dma_arvalid,
  input  logic                m_axi_dma_arready,
  input  logic [127:0]        m_axi_dma_rdata,
  input  logic [1:0]          m_axi_dma_rresp,
  input  logic                m_axi_dma_rvalid,
  output logic                m_axi_dma_rready,
  // memory of the page tables: reads only
  output logic [47:0]         m_axi_walk_araddr,
  output logic [7:0]          m_axi_walk_arlen,
  output logic [2:0]          m_axi_walk_arsize,
  output logic [1:0]          m_axi_walk_arburst,
  output logic                m_axi_walk_arvalid,
  input  logic                m_axi_walk_arready,
  input  logic [127:0]        m_axi_walk_rdata,
  input  logic [1:0]          m_axi_walk_rresp,
  input  logic                m_axi_walk_rvalid,
  output logic                m_axi_walk_rready,
  // router: the ports of messages, of acknowledgements, and of transfers
  output exanet_pkg::flit_t   [Ports-1:0] flit_o,
  input  exanet_pkg::credit_t [Ports-1:0] credit_i,
  input  exanet_pkg::flit_t   [Ports-1:0] flit_i,
  output logic [Ports-1:0]    release_o
);
  import exanet_pkg::*;
  localparam logic [1:0] Incr = 2'b01;
  if (Contexts < 2 || Contexts > 256 || (Contexts & (Contexts - 1)) != 0) begin : gen_illegal_1
    $error("Contexts is a power of two, 2 to 256");
  end
  if (Peers < 2 || Peers > 4096 || (Peers & (Peers - 1)) != 0) begin : gen_illegal_2
    $error("Peers is a power of two, 2 to 4096");
  end
  if (Channels == 1 || Channels > 256 || (Channels & (Channels - 1)) != 0) begin : gen_illegal_3
    $error("Channels is none, or a power of two, 2 to 256");
  end
  if (Window < 2 || Window > 32 || (Window & (Window - 1)) != 0) begin : gen_illegal_4
    $error("Window is a power of two, 2 to 32");
  end
  if (XBits < 1 || XBits > 8 || YBits < 1 || YBits > 8 || NodeBits + XBits + YBits < 14 || NodeBits + XBits + YBits > 21) begin : gen_illegal_5
    $error("a coordinate has 1 to 8 of an address's 22 bits");
  end
  if (IdBits < 1) begin : gen_illegal_6
    $error("an identifier of the bus has a bit at least");
  end
  if (NodeBits != 0 && NodeBits != 2) begin : gen_illegal_7
    $error("an address has 0 or 2 bits of the node in its QFDB");
  end
  if ((IntraHeaders & (IntraHeaders - 1)) != 0) begin : gen_illegal_8
    $error("the router's pool has a power of two of headers");
  end

  // --- Stores.
  logic store, ready, sends_ready, boxes_ready, transfers_ready, page, enabled, context_write;
  logic [ContextBits-1:0] context_next;
  logic [20:4] next_line, line;
  logic [127:0] data;
  logic [15:0] strobe;
  logic [9:0] pdid;
  logic low, high;  // eight bytes
  ni_config_t config_q;
  logic configured_q;
  ni_stores #(.AddressBits(21), .IdBits(IdBits)) u_stores (
    .clk_i, .rst_ni, .s_axi_awid, .s_axi_awaddr, .s_axi_awlen, .s_axi_awsize, .s_axi_awburst, .s_axi_awvalid, .s_axi_awready, .s_axi_wdata,
    .s_axi_wstrb, .s_axi_wlast, .s_axi_wvalid, .s_axi_wready, .s_axi_bid, .s_axi_bresp, .s_axi_bvalid, .s_axi_bready,
    .ready_i(ready), .next_line_o(next_line), .store_o(store), .line_o(line), .data_o(data), .strobe_o(strobe));
  assign context_write = store && line[20:12] == 9'h100 && low && 32'(line[11:4]) < Contexts;
  assign page = store && !line[20] && 32'(line[19:12]) < Contexts;
  assign context_next = next_line[20] ? next_line[4+:ContextBits] : next_line[12+:ContextBits];
  assign low = strobe[7:0] == '1;
  assign high = strobe[15:8] == '1;
  // Bytes of a payload count one by one; all else is words of 8 bytes.
  logic part, payload;
  logic [31:0] parts_q;
  assign payload = !line[20] && line[11:6] == '0;
  assign part = store && !payload && ((!low && strobe[7:0] != '0) || (!high && strobe[15:8] != '0));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) parts_q <= '0;
    else parts_q <= parts_q + 32'(part);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {config_q, configured_q} <= '0;
    else if (store && line == 17'h10400 && low) {config_q, configured_q} <= {data[63:0], 1'b1};
  end

  // What changes the tables of mailboxes and peers waits here for its turn, in order.
  typedef enum logic [1:0] { Release, Open, Clear } change_e;
  typedef struct packed {
    change_e kind;
    logic [15:0] at;
    logic [9:0] pdid;
    logic [63:0] value;
  } change_t;
  change_t change, change_next;
  logic changes, change_valid, change_taken, boxes_rest, release_taken, kernel_taken, clears_blocks, blocks_cleared;
  logic [3:0] changes_q;
  always_comb begin
    change_next.kind = Release;
    change_next.at = '0;
    change_next.pdid = pdid;
    change_next.value = data[127:64];
    changes = page && line[11:4] == 8'h0c && high && enabled;
    if (store && line[20:14] == 7'b1000010 && low && 32'(line[13:4]) < Mailboxes) begin
      changes = 1'b1;
      change_next.kind = Open;
      change_next.at = 16'(line[13:4]);
      change_next.value = data[63:0];
    end else if (store && line == 17'h10401 && low && 32'(data[15:0]) < Peers) begin
      changes = 1'b1;
      change_next.kind = Clear;
      change_next.at = data[15:0];
    end
  end
  exanet_fifo #(.Width($bits(change_t)), .Depth(8)) u_changes (
    .clk_i, .rst_ni, .write_i(changes), .data_i(change_next), .read_i(change_taken), .valid_o(change_valid), .data_o(change));
  assign change_taken = change_valid && (change.kind == Release ? release_taken : kernel_taken && (change.kind != Clear || blocks_cleared));
  // Blocks first: it takes long only where memory does.
  assign clears_blocks = change_valid && change.kind == Clear;
  assign ready = sends_ready && boxes_ready && transfers_ready && changes_q < 4'd5;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) changes_q <= '0;
    else changes_q <= changes_q + 4'(changes) - 4'(change_taken);
  end

  // --- Ports.
  localparam int unsigned Messages = 0, Answers = 1, Blocks = 2;
  // Transfers keep few packets in the router, where one whose link is busy holds up those behind it. With more, all
  // blocks of two transfers would be there or under way: each would wait for an acknowledgement, then send a whole
  // block to one link, and the other's would wait behind it.
  localparam int unsigned BlocksHeaders = IntraHeaders < 12 ? IntraHeaders : 12;
  logic [Ports-1:0] in_valid, in_ready, in_last, out_valid, out_ready, out_last;
  logic [Ports-1:0][127:0] in_data, out_data;
  logic [Ports-1:0][15:0] in_keep, out_keep;
  ni_user_t [Ports-1:0] in_user, out_user;
  logic [2:0][31:0] damaged;
  for (genvar p = 0; p < Ports; p++) begin : gen_port
    ni_port #(.IntraDepth(IntraDepth), .IntraHeaders(p == Blocks ? BlocksHeaders : IntraHeaders), .IntraSlots(IntraSlots)) u_port (
      .clk_i, .rst_ni, .s_axis_tvalid(in_valid[p]), .s_axis_tready(in_ready[p]), .s_axis_tdata(in_data[p]), .s_axis_tkeep(in_keep[p]),
      .s_axis_tlast(in_last[p]), .s_axis_tuser(in_user[p]), .m_axis_tvalid(out_valid[p]), .m_axis_tready(out_ready[p]),
      .m_axis_tdata(out_data[p]), .m_axis_tkeep(out_keep[p]), .m_axis_tlast(out_last[p]), .m_axis_tuser(out_user[p]),
      .flit_o(flit_o[p]), .credit_i(credit_i[p]), .flit_i(flit_i[p]), .release_o(release_o[p]),
      .dropped_o(damaged[p]));
  end
  // Until the kernel has said which node this is, messages and packets of transfers are nobody's, and dropped.
  logic [Ports-1:0] frame_valid, frame_ready, takes_q, amid_q;
  for (genvar p = 0; p < Ports; p++) begin : gen_takes
    assign frame_valid[p] = out_valid[p] && takes_q[p];
    assign out_ready[p] = frame_ready[p] || !takes_q[p];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        {takes_q[p], amid_q[p]} <= '0;
      end else begin
        if (out_valid[p] && out_ready[p]) amid_q[p] <= !out_last[p];
        if (!takes_q[p]) takes_q[p] <= configured_q && (out_valid[p] ? out_last[p] : !amid_q[p]);
      end
    end
  end
  assign in_data[Answers] = '0;
  assign in_keep[Answers] = '0;
  assign in_last[Answers] = 1'b1;

  // Answers of mailboxes and of blocks share a port, in turn where both are there; what comes goes by its kind.
  logic box_valid, box_ready, block_valid, block_ready, to_transfers, transfers_take, sender_valid, sender_ready;
  ni_user_t box_user, block_user;
  logic blocks_turn_q, held_q, held_blocks_q, blocks_go;
  assign blocks_go = held_q ? held_blocks_q : block_valid && (blocks_turn_q || !box_valid);
  assign in_valid[Answers] = blocks_go ? block_valid : box_valid;
  assign in_user[Answers] = blocks_go ? block_user : box_user;
  assign box_ready = in_ready[Answers] && !blocks_go;
  assign block_ready = in_ready[Answers] && blocks_go;
  assign to_transfers = Channels != 0 && (out_user[Answers].kind == PacketTypeAck || out_user[Answers].kind == PacketTypeNack);
  assign sender_valid = frame_valid[Answers] && !to_transfers;
  assign frame_ready[Answers] = to_transfers ? transfers_take : sender_ready;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {blocks_turn_q, held_q, held_blocks_q} <= '0;
    end else begin
      held_q        <= in_valid[Answers] && !in_ready[Answers];
      held_blocks_q <= blocks_go;
      if (in_valid[Answers] && in_ready[Answers]) blocks_turn_q <= !blocks_go;
    end
  end

  logic [3:0][31:0] sender_counts, mailbox_counts, transfer_counts, block_counts;
  logic [3:0][31:0] page_counts;
  ni_fault_t page_fault;
  ni_transfer_status_t transfer_status;
  ni_status_t status;
  logic claim_valid, claim_taken, claimed, launch_valid, launch_taken;
  logic [ContextBits+1:0] claim_slot, launch_slot;
  logic [9:0] claim_pdid;
  nack_reason_e claim_reason;
  logic [ContextBits-1:0] status_at;
  ni_packetizer #(.Contexts(Contexts), .Peers(Peers), .NodeBits(NodeBits), .XBits(XBits), .YBits(YBits)) u_packetizer (
    .clk_i, .rst_ni, .config_i(config_q), .ready_o(sends_ready),
    .context_i(context_next),
    .store_i(page), .line_i(line[11:4]), .data_i(data), .strobe_i(strobe), .pdid_o(pdid), .enabled_o(enabled),
    .context_write_i(context_write),
    .context_value_i(data[63:0]),
    .status_at_i(status_at), .status_o(status), .claim_valid_i(claim_valid), .claim_taken_o(claim_taken), .claim_slot_i(claim_slot),
    .claim_pdid_i(claim_pdid), .claim_reason_i(claim_reason), .claimed_o(claimed), .launch_valid_i(launch_valid),
    .launch_taken_o(launch_taken), .launch_slot_i(launch_slot),
    .m_axis_tvalid(in_valid[Messages]), .m_axis_tready(in_ready[Messages]), .m_axis_tdata(in_data[Messages]), .m_axis_tkeep(in_keep[Messages]),
    .m_axis_tlast(in_last[Messages]),
    .m_axis_tuser(in_user[Messages]), .s_axis_tvalid(sender_valid), .s_axis_tready(sender_ready), .s_axis_tuser(out_user[Answers]),
    .sent_o(sender_counts[0]), .done_o(sender_counts[1]), .repeated_o(sender_counts[2]), .stale_o(sender_counts[3]));

  ni_mailbox #(.Mailboxes(Mailboxes), .Peers(Peers), .NodeBits(NodeBits), .XBits(XBits), .YBits(YBits)) u_mailbox (
    .clk_i, .rst_ni, .config_i(config_q), .ready_o(boxes_ready),
    .open_i(change_valid && change.kind == Open), .open_at_i(change.at[BoxBits-1:0]), .open_value_i(change.value),
    .clear_i(change_valid && change.kind == Clear && blocks_cleared), .clear_at_i(change.at[PeerBits-1:0]), .kernel_taken_o(kernel_taken),
    .at_rest_o(boxes_rest),
    .release_i(change_valid && change.kind == Release), .release_value_i(change.value), .release_pdid_i(change.pdid),
    .release_taken_o(release_taken),
    .s_axis_tvalid(frame_valid[Messages]), .s_axis_tready(frame_ready[Messages]),
    .s_axis_tdata(out_data[Messages]), .s_axis_tkeep(out_keep[Messages]),
    .s_axis_tlast(out_last[Messages]),
    .s_axis_tuser(out_user[Messages]), .m_axis_tvalid(box_valid), .m_axis_tready(box_ready), .m_axis_tuser(box_user),
    .m_axi_awaddr, .m_axi_awlen, .m_axi_awvalid, .m_axi_awready, .m_axi_wdata, .m_axi_wlast, .m_axi_wvalid, .m_axi_wready,
    .m_axi_bresp, .m_axi_bvalid, .m_axi_bready,
    .stored_o(mailbox_counts[0]), .refused_o(mailbox_counts[1]), .repeated_o(mailbox_counts[2]), .dropped_o(mailbox_counts[3]));
  assign m_axi_awsize = 3'd4;
  assign m_axi_awburst = Incr;
  assign m_axi_wstrb = '1;

  // --- Transfers.
  if (Channels != 0) begin : gen_transfers
    ni_pkg::write_packet_t packet;
    ni_pkg::unread_t unread;
    transfer_end_t end_value;
    logic packet_valid, packet_taken, unread_valid, unread_taken, end_valid, end_taken, end_message, end_answered;
    logic senders_ready, blocks_ready, clear_taken, cleared_q;
    logic [44:0] end_word;
    logic serves, serve_valid, read_end_valid, read_end_taken;
    ni_pkg::serve_t serve;
    ni_pkg::read_end_t read_end;
    logic walks_ready;
    assign transfers_ready = senders_ready && blocks_ready && walks_ready;
    assign blocks_cleared = cleared_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) cleared_q <= 1'b0;
      else cleared_q <= clears_blocks && (cleared_q || clear_taken) && !change_taken;
    end

    // Pages: of what is read, of what is written, and of words that say that a transfer has ended, each looked up by
    // itself.
    localparam int unsigned Read = 32'(PageAccessRead), Write = 32'(PageAccessWrite), End = 32'(PageAccessEnd);
    logic ends_written, ends_looked;
    logic [2:0] invalidates, cleared_pages, drained, look, want, known, walk_valid, walk_done;
    logic [2:0][9:0] domain;
    logic [2:0][35:0] page_of, page_frame;
    nack_reason_e [2:0] fault;
    ni_pkg::walk_t [2:0] walk;
    ni_pkg::walked_t walked;
    logic asks;  // for an invalidation
    logic [31:0] asked_q;  // invalidations
    for (genvar a = 0; a < 3; a++) begin : gen_translate
      ni_translate #(.Writes(a != Read)) u_translate (
        .clk_i, .rst_ni, .clear_i(cleared_pages[a]), .look_i(look[a]), .domain_i(domain[a]), .page_i(page_of[a]), .want_i(want[a]),
        .known_o(known[a]), .frame_o(page_frame[a]), .fault_o(fault[a]), .walk_valid_o(walk_valid[a]), .walk_o(walk[a]), .walk_done_i(walk_done[a]),
        .walked_i(walked));
    end
    ni_walk u_walk (
      .clk_i, .rst_ni, .ready_o(walks_ready), .domain_write_i(store && line[20:14] == 7'b1000011 && low), .domain_at_i(line[13:4]),
      .domain_value_i(data[63:0]), .walk_valid_i(walk_valid), .walk_i(walk), .walk_done_o(walk_done), .walked_o(walked),
      .fault_o(page_fault), .fault_taken_i(store && line == 17'h10409 && low), .m_axi_araddr(m_axi_walk_araddr),
      .m_axi_arvalid(m_axi_walk_arvalid), .m_axi_arready(m_axi_walk_arready), .m_axi_rdata(m_axi_walk_rdata), .m_axi_rresp(m_axi_walk_rresp),
      .m_axi_rvalid(m_axi_walk_rvalid), .m_axi_rready(m_axi_walk_rready), .walks_o(page_counts[0]), .faults_o(page_counts[1]),
      .lost_o(page_counts[2]));
    // On each of the ways nothing is looked up while what was translated before is under way; then all pages there are
    // forgotten. None waits for another: what is read waits for the network, and that for what is written.
    assign asks = store && line == 17'h10408 && low;
    assign cleared_pages = invalidates & drained;
    assign drained[End] = ends_looked && ends_written;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        asked_q        <= '0;
        invalidates    <= '0;
        page_counts[3] <= '0;
      end else begin
        asked_q     <= asked_q + 32'(asks);
        invalidates <= {3{asks}} | (invalidates & ~drained);
        if (invalidates == '0) page_counts[3] <= asked_q;
      end
    end

    ni_transfers #(
      .Contexts(Contexts), .Channels(Channels), .Peers(Peers), .Window(Window), .NodeBits(NodeBits), .XBits(XBits), .YBits(YBits)
    ) u_transfers (
      .clk_i, .rst_ni, .config_i(config_q), .ready_o(senders_ready), .context_i(context_next), .store_i(page && enabled),
      .context_write_i(context_write), .line_i(line[11:4]),
      .data_i(data), .strobe_i(strobe), .pdid_i(pdid), .status_at_i(status_at), .status_o(transfer_status),
      .serves_o(serves), .serve_valid_i(serve_valid), .serve_i(serve), .read_end_valid_i(read_end_valid),
      .read_end_taken_o(read_end_taken), .read_end_i(read_end),
      .packet_valid_o(packet_valid), .packet_taken_i(packet_taken), .packet_o(packet), .unread_valid_i(unread_valid),
      .unread_taken_o(unread_taken), .unread_i(unread), .s_axis_tvalid(frame_valid[Answers] && to_transfers), .s_axis_tready(transfers_take),
      .s_axis_tuser(out_user[Answers]), .invalidates_i(invalidates[End]), .drained_o(ends_looked), .look_o(look[End]), .domain_o(domain[End]),
      .page_o(page_of[End]), .want_o(want[End]), .known_i(known[End]), .page_frame_i(page_frame[End]), .fault_i(fault[End]),
      .end_valid_o(end_valid), .end_taken_i(end_taken), .end_word_o(end_word), .end_value_o(end_value),
      .end_message_o(end_message), .end_answered_i(end_answered), .claim_valid_o(claim_valid), .claim_taken_i(claim_taken),
      .claim_slot_o(claim_slot), .claim_pdid_o(claim_pdid), .claim_reason_o(claim_reason), .claimed_i(claimed), .launch_valid_o(launch_valid),
      .launch_taken_i(launch_taken), .launch_slot_o(launch_slot),
      .packets_o(transfer_counts[0]), .ended_o(transfer_counts[1]), .repeated_o(transfer_counts[2]), .stale_o(transfer_counts[3]));

    ni_gather u_gather (
      .clk_i, .rst_ni, .config_i(config_q), .packet_valid_i(packet_valid), .packet_taken_o(packet_taken), .packet_i(packet),
      .unread_valid_o(unread_valid), .unread_taken_i(unread_taken), .unread_o(unread), .invalidates_i(invalidates[Read]),
      .drained_o(drained[Read]), .look_o(look[Read]), .domain_o(domain[Read]), .page_o(page_of[Read]), .want_o(want[Read]),
      .known_i(known[Read]), .page_frame_i(page_frame[Read]), .fault_i(fault[Read]),
      .m_axi_araddr(m_axi_dma_araddr), .m_axi_arlen(m_axi_dma_arlen), .m_axi_arvalid(m_axi_dma_arvalid), .m_axi_arready(m_axi_dma_arready),
      .m_axi_rdata(m_axi_dma_rdata), .m_axi_rresp(m_axi_dma_rresp), .m_axi_rvalid(m_axi_dma_rvalid), .m_axi_rready(m_axi_dma_rready),
      .m_axis_tvalid(in_valid[Blocks]), .m_axis_tready(in_ready[Blocks]), .m_axis_tdata(in_data[Blocks]), .m_axis_tkeep(in_keep[Blocks]),
      .m_axis_tlast(in_last[Blocks]), .m_axis_tuser(in_user[Blocks]));

    ni_blocks #(.Peers(Peers), .Window(Window), .NodeBits(NodeBits), .XBits(XBits), .YBits(YBits)) u_blocks (
      .clk_i, .rst_ni, .config_i(config_q), .ready_o(blocks_ready), .clear_i(clears_blocks && !cleared_q), .clear_at_i(change.at[PeerBits-1:0]),
      .clear_taken_o(clear_taken),
      .s_axis_tvalid(frame_valid[Blocks]), .s_axis_tready(frame_ready[Blocks]), .s_axis_tdata(out_data[Blocks]), .s_axis_tkeep(out_keep[Blocks]),
      .s_axis_tlast(out_last[Blocks]), .s_axis_tuser(out_user[Blocks]), .m_axis_tvalid(block_valid), .m_axis_tready(block_ready),
      .m_axis_tuser(block_user), .serves_i(serves), .serve_valid_o(serve_valid), .serve_o(serve),
      .read_end_valid_o(read_end_valid), .read_end_taken_i(read_end_taken), .read_end_o(read_end),
      .invalidates_i(invalidates[Write]), .drained_o(drained[Write]), .ends_written_o(ends_written),
      .look_o(look[Write]), .domain_o(domain[Write]), .page_o(page_of[Write]),
      .want_o(want[Write]), .known_i(known[Write]), .page_frame_i(page_frame[Write]), .fault_i(fault[Write]),
      .end_valid_i(end_valid), .end_taken_o(end_taken), .end_word_i(end_word), .end_value_i(end_value),
      .end_message_i(end_message), .end_answered_o(end_answered),
      .m_axi_awaddr(m_axi_dma_awaddr), .m_axi_awlen(m_axi_dma_awlen), .m_axi_awvalid(m_axi_dma_awvalid), .m_axi_awready(m_axi_dma_awready),
      .m_axi_wdata(m_axi_dma_wdata), .m_axi_wstrb(m_axi_dma_wstrb), .m_axi_wlast(m_axi_dma_wlast), .m_axi_wvalid(m_axi_dma_wvalid),
      .m_axi_wready(m_axi_dma_wready), .m_axi_bresp(m_axi_dma_bresp), .m_axi_bvalid(m_axi_dma_bvalid), .m_axi_bready(m_axi_dma_bready),
      .written_o(block_counts[0]), .repeated_o(block_counts[1]), .dropped_o(block_counts[2]), .answered_o(block_counts[3]));
  end else begin : gen_no_transfers
    assign {transfers_ready, blocks_cleared} = '1;
    assign {transfer_counts, block_counts, transfer_status, damaged[2]} = '0;
    assign {block_valid, block_user, transfers_take} = '0;
    assign {claim_valid, claim_slot, claim_pdid, launch_valid, launch_slot} = '0;
    assign claim_reason = NackReasonNone;
    assign {m_axi_dma_awaddr, m_axi_dma_awlen, m_axi_dma_awvalid, m_axi_dma_wdata, m_axi_dma_wstrb, m_axi_dma_wlast, m_axi_dma_wvalid} = '0;
    assign {page_counts, page_fault, m_axi_walk_araddr, m_axi_walk_arvalid, m_axi_walk_rready} = '0;
    assign {m_axi_dma_bready, m_axi_dma_araddr, m_axi_dma_arlen, m_axi_dma_arvalid, m_axi_dma_rready} = '0;
  end
  assign {m_axi_dma_awsize, m_axi_dma_arsize} = {2{3'd4}};
  assign {m_axi_dma_awburst, m_axi_dma_arburst} = {2{Incr}};
  assign {m_axi_walk_arlen, m_axi_walk_arsize, m_axi_walk_arburst} = {8'd0, 3'd4, Incr};

  // --- Loads: a context's free slots are looked at one after the other, while they wait.
  logic [20:0] address;
  logic [127:0] value;
  ni_loads #(.AddressBits(21), .IdBits(IdBits)) u_loads (
    .clk_i, .rst_ni, .s_axi_arid, .s_axi_araddr, .s_axi_arlen, .s_axi_arsize, .s_axi_arburst, .s_axi_arvalid, .s_axi_arready, .s_axi_rid,
    .s_axi_rdata, .s_axi_rresp, .s_axi_rlast, .s_axi_rvalid, .s_axi_rready, .address_o(address), .value_i(value));
  assign status_at = address[12+:ContextBits];
  always_comb begin
    value = '0;
    if (!address[20] && address[11:4] == 8'h0c && 32'(address[19:12]) < Contexts) value = {64'd0, status};
    if (!address[20] && address[11:4] == 8'h0d && 32'(address[19:12]) < Contexts) value = {64'd0, transfer_status};
    if (address[20:4] == 17'h10402) value = 128'(sender_counts);
    if (address[20:4] == 17'h10403) value = 128'(mailbox_counts);
    if (address[20:4] == 17'h10404) value = {32'(changes_q) + 32'(!boxes_rest), damaged};
    if (address[20:4] == 17'h10405) value = 128'(transfer_counts);
    if (address[20:4] == 17'h10406) value = 128'(block_counts);
    if (address[20:4] == 17'h10407) value = 128'(page_counts);
    if (address[20:4] == 17'h10408) value = 128'(parts_q);
    if (address[20:4] == 17'h10409) value = {64'd0, page_fault};
  end
endmodule
