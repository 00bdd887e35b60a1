// SPDX-License-Identifier: Apache-2.0
// Submissions of ni_transfers: transfers that processes store, and reads that other nodes ask for, until a channel is
// free.
//
// The first words of a transfer are kept for their context; the last one submits it. A channel is promised with that,
// or the store is refused and the context's status says why. Reads of other nodes have a FIFO of their own, and so many
// channels as the kernel keeps for them; who was admitted last goes behind where both wait. Limits: eight submissions
// and 32 reads wait.
module ni_transfer_submit #(
  parameter int unsigned Contexts = 256,
  parameter int unsigned Channels = 256,
  parameter int unsigned Peers = 4096,
  parameter int unsigned NodeBits = 0,  // as of ni_peer
  parameter int unsigned XBits = 8,
  parameter int unsigned YBits = 7,
  localparam int unsigned ContextBits = $clog2(Contexts),
  localparam int unsigned ChannelBits = $clog2(Channels),
  localparam int unsigned PeerBits = $clog2(Peers)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  exanet_pkg::ni_config_t  config_i,
  input  logic                    clears_i,  // tables, this entry
  input  logic [ContextBits-1:0]  clear_at_i,
  output logic                    ready_o,  // it can take a store more, and that of this cycle
  // stores: the context a cycle ahead, then, where it is to its page, 16 bytes of it, with the context's domain
  input  logic [ContextBits-1:0]  context_i,
  input  logic                    store_i,
  input  logic                    context_write_i,  // the context is given to whom the kernel says
  input  logic [7:0]              line_i,
  input  logic [127:0]            data_i,
  input  logic [15:0]             strobe_i,
  input  logic [9:0]              pdid_i,
  output logic                    hands_o,  // a transfer was stored a cycle ago, taken or not
  // what a process reads
  input  logic [ContextBits-1:0]  status_at_i,
  output exanet_pkg::ni_transfer_status_t status_o,
  // reads that other nodes ask for
  output logic                    serves_o,  // there is a channel for one that comes a cycle later
  input  logic                    serve_valid_i,
  input  ni_pkg::serve_t          serve_i,
  // what is to be admitted to a channel
  output logic                    valid_o,
  input  logic                    taken_i,
  output ni_pkg::submission_t     submission_o,
  output logic [PeerBits-1:0]     peer_o,
  output logic [ContextBits-1:0]  context_o,
  // a channel is free again
  input  logic                    release_i,
  input  logic                    released_serves_i
);
  import exanet_pkg::*;
  import ni_pkg::*;
  typedef logic [PeerBits-1:0] peer_t;

  // --- Stores: the first three words of a transfer and the two of its fence are kept for their context.
  logic [4:0][63:0] kept;
  logic [ContextBits-1:0] context_q, hands_context_q, own_context;
  logic hands_q, known, claims, own_valid, own_taken, served_last_q, serve_waits;
  serve_t serve;
  logic [5:0] serves_q;
  logic [ChannelBits:0] own_q, most_own_q, served_q;
  logic signed [ChannelBits+1:0] spares_q, spares_next;
  logic [2:0] submissions_q;
  logic [9:0] hands_pdid_q;
  transfer_t transfer_q;
  transfer_fence_t fence_q;
  peer_t peer, own_peer;
  submission_t submission_next, own_submission;
  store_refusal_e refusal;
  // Words 0 to 2, 4 and 5 of the stores; a page that is given to another process has none.
  for (genvar w = 0; w < 5; w++) begin : gen_kept
    localparam int unsigned Word = w < 3 ? w : w + 1;
    ni_table #(.Entries(Contexts), .Width(64), .Same(1'b1)) u_kept (
      .clk_i, .rst_ni, .write_i(context_write_i || (store_i && line_i == 8'($unsigned(8 + Word / 2)) && strobe_i[8*(Word%2)+:8] == '1)),
      .write_at_i(context_q), .data_i(context_write_i ? '0 : data_i[64*(Word%2)+:64]), .read_i(1'b1), .read_at_i(context_i), .data_o(kept[w]));
  end
  always_ff @(posedge clk_i) begin
    context_q       <= context_i;
    hands_context_q <= context_q;
    hands_pdid_q    <= pdid_i;
    transfer_q      <= {data_i[127:64], strobe_i[7:0] == '1 ? data_i[63:0] : kept[2], kept[1], kept[0]};
    fence_q         <= {kept[4], kept[3]};
  end
  assign hands_o = hands_q;
  always_comb begin
    submission_next = '{transfer: transfer_q, fence: fence_q, fences: 1'b0, serves: 1'b0, pdid: hands_pdid_q};
    if (transfer_q.read) begin
      // Its request is a block of one packet, whatever its length.
      submission_next.transfer.fence = 1'b0;
      submission_next.transfer.length = 32'd1;
      submission_next.fence.value = {32'd0, transfer_q.length};
    end else if (transfer_q.fence && transfer_q.length == '0) begin
      submission_next.fences = 1'b1;
      submission_next.transfer.target = {fence_q.word, 3'd0};
      submission_next.transfer.length = 32'd8;
    end
  end
  ni_peer #(.Peers(Peers), .NodeBits(NodeBits), .XBits(XBits), .YBits(YBits)) u_peer (
    .clk_i, .dcid_i(transfer_q.dcid), .y_shift_i(config_i.y_shift), .z_shift_i(config_i.z_shift), .peer_o(peer), .known_o(known));
  // An address has 48 bits: bytes behind the last one would be those from 0 on.
  function automatic logic is_beyond(logic [47:0] address, logic [31:0] length);
    logic [32:0] behind;
    behind = {1'b0, address[31:0]} + {1'b0, length};
    return address[47:32] == '1 && behind > {1'b1, 32'd0};
  endfunction
  always_comb begin
    refusal = StoreRefusalNone;
    if (own_q >= most_own_q || spares_q <= 0) refusal = StoreRefusalNoSlot;
    if (is_beyond(transfer_q.own, transfer_q.length) || is_beyond(transfer_q.target, transfer_q.length)) refusal = StoreRefusalRange;
    if (!known) refusal = StoreRefusalDestination;
  end
  assign claims = hands_q && refusal == StoreRefusalNone;
  exanet_fifo #(.Width($unsigned($bits(submission_t)) + PeerBits + ContextBits), .Depth(8)) u_submissions (
    .clk_i, .rst_ni, .write_i(claims), .data_i({submission_next, peer, hands_context_q}), .read_i(own_taken), .valid_o(own_valid),
    .data_o({own_submission, own_peer, own_context}));

  // --- Reads that are to be served wait beside them, in turn where both wait. There is a channel for each.
  localparam int unsigned ServesWaiting = 32;
  exanet_fifo #(.Width($bits(serve_t)), .Depth(ServesWaiting)) u_serves (
    .clk_i, .rst_ni, .write_i(serve_valid_i), .data_i(serve_i), .read_i(taken_i && submission_o.serves), .valid_o(serve_waits),
    .data_o(serve));
  assign valid_o = own_valid || serve_waits;
  assign own_taken = taken_i && !submission_o.serves;
  always_comb begin
    submission_o = own_submission;
    {peer_o, context_o} = {own_peer, own_context};
    if (serve_waits && !(own_valid && served_last_q)) begin
      submission_o = '0;
      submission_o.serves = 1'b1;
      submission_o.fences = serve.length == '0;
      {peer_o, context_o} = {peer_t'(serve.peer), ContextBits'(0)};
      submission_o.pdid = serve.pdid;
      submission_o.transfer.own = serve.from;
      submission_o.transfer.target = serve.length == '0 ? '0 : serve.to;
      submission_o.transfer.length = serve.length == '0 ? 32'd8 : serve.length;
      submission_o.transfer.dcid = serve.dcid;
      submission_o.transfer.fence = 1'b1;
      submission_o.fence.value = read_response_t'{number: serve.number, channel: serve.slot, failure: NackReasonNone, reserved: '0};
    end
  end

  // --- Channels that no store and no read has been promised. What is kept for others' reads may have been changed
  // since; so may one fewer than none be left.
  assign spares_next = spares_q - $signed((ChannelBits + 2)'(claims)) - $signed((ChannelBits + 2)'(serve_valid_i)) +
      $signed((ChannelBits + 2)'(release_i));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      served_last_q <= 1'b0;
      serves_q      <= '0;
      served_q      <= '0;
      spares_q      <= $signed((ChannelBits + 2)'(Channels));
      serves_o      <= 1'b0;
    end else begin
      if (taken_i) served_last_q <= submission_o.serves;
      serves_q <= serves_q + 6'(serve_valid_i) - 6'(taken_i && submission_o.serves);
      served_q <= served_q + (ChannelBits + 1)'(serve_valid_i) - (ChannelBits + 1)'(release_i && released_serves_i);
      serves_o <= !clears_i && serves_q < 6'(ServesWaiting - 1) &&
          32'(served_q) + 32'(serve_valid_i) < 32'(config_i.kept_channels) && spares_next > 0;
      spares_q <= spares_next;
    end
  end
  assign ready_o = !clears_i && submissions_q < 3'd4;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      hands_q       <= 1'b0;
      own_q         <= '0;
      most_own_q    <= '0;
      submissions_q <= '0;
    end else begin
      hands_q       <= store_i && line_i == 8'd9 && strobe_i[15:8] == '1;
      own_q         <= own_q + (ChannelBits + 1)'(claims) - (ChannelBits + 1)'(release_i && !released_serves_i);
      most_own_q    <= 32'(config_i.kept_channels) < Channels ? (ChannelBits + 1)'(Channels - 32'(config_i.kept_channels)) : '0;
      submissions_q <= submissions_q + 3'(claims) - 3'(own_taken);
    end
  end

  // --- What each context has submitted, what was refused, and why last.
  (* ram_style = "distributed" *) logic [35:0] statuses[Contexts];
  logic [35:0] status_here;
  assign status_here = statuses[hands_context_q];
  always_ff @(posedge clk_i) begin
    if (clears_i) statuses[clear_at_i] <= '0;
    else if (hands_q)
      statuses[hands_context_q] <= claims ? {status_here[35:16], status_here[15:0] + 16'd1}
          : {refusal, status_here[31:16] + 16'd1, status_here[15:0]};
  end
  assign status_o = {28'd0, statuses[status_at_i]};
endmodule
