// SPDX-License-Identifier: Apache-2.0
// Reductions along trees of nodes: parts of this node's processes and of the nodes below are combined in the order of
// their branches; the sum goes to the node above, or is the result, which goes back down and into the processes'
// memory. docs/gateware/reductions.md has the rules.
//
// A tree changes in steps of two cycles: one reads it, the next decides and writes it. What asks for steps (a packet,
// memory, the engine, a store) waits for its own, and no step waits for anything. Each 16 cycles one tree's
// retransmission timeout is checked, so each tree's in 256.
//
// Nothing is answered by itself: the result says that the part has come, the next part that the result has. A part
// without a result is sent again; one that comes again of the reduction that ended last is answered by its result. What
// is older is nobody's.
module ni_reduce (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  // stores, as of ni_stores
  output logic                         ready_o,
  input  logic                         store_i,
  input  logic [19:4]                  line_i,
  input  logic [127:0]                 data_i,
  input  logic [15:0]                  strobe_i,
  // packets, as frames of an ni_port
  input  logic                         s_axis_tvalid,
  output logic                         s_axis_tready,
  input  logic [127:0]                 s_axis_tdata,
  input  logic [15:0]                  s_axis_tkeep,
  input  logic                         s_axis_tlast,
  input  exanet_pkg::ni_user_t         s_axis_tuser,
  output logic                         m_axis_tvalid,
  input  logic                         m_axis_tready,
  output logic [127:0]                 m_axis_tdata,
  output logic [15:0]                  m_axis_tkeep,
  output logic                         m_axis_tlast,
  output exanet_pkg::ni_user_t         m_axis_tuser,
  // memory
  output logic [47:0]                  m_axi_awaddr,
  output logic [7:0]                   m_axi_awlen,
  output logic                         m_axi_awvalid,
  input  logic                         m_axi_awready,
  output logic [127:0]                 m_axi_wdata,
  output logic [15:0]                  m_axi_wstrb,
  output logic                         m_axi_wlast,
  output logic                         m_axi_wvalid,
  input  logic                         m_axi_wready,
  input  logic [1:0]                   m_axi_bresp,
  input  logic                         m_axi_bvalid,
  output logic                         m_axi_bready,
  // trees that are not closed, or have a notice to send, or with memory
  output logic [15:0]                  at_work_o,
  output logic                         stores_o,  // some are not over
  // counts since reset; they wrap
  output logic [31:0]                  ended_o,
  output logic [31:0]                  failed_o,
  output logic [31:0]                  repeated_o,  // parts and results that were sent again
  output logic [31:0]                  dropped_o    // packets that nobody waited for
);
  import exanet_pkg::*;
  import ni_reduce_pkg::*;
  localparam logic [2:0] MostBackoff = 3'd5;
  typedef struct packed {
    logic scan;
    logic arrival;
    logic refused;
    logic combined;
    logic call;
    logic open;
  } kind_t;  // one at most
  kind_t kind_next, kind_q;
  typedef struct packed {
    arrival_t what;  // of a call tree, branch and shape, of others the tree at least
    logic legal;  // its shape
  } event_t;
  event_t event_next, event_q;
  reduce_call_t call;

  // --- Stores, in order: payload, calls, and what the kernel writes.
  typedef struct packed {
    logic [19:4] line;
    logic [127:0] data;
    logic [15:0] strobe;
  } order_t;
  order_t next_order, order;
  logic next_valid, order_takes, order_valid, order_done, payload, calls, opens, order_steps, hold_q, decided_q;
  logic [3:0] orders_q;
  ni_reduce_config_t config_q;
  exanet_fifo #(.Width($bits(order_t)), .Depth(8)) u_orders (
    .clk_i, .rst_ni, .write_i(store_i), .data_i({line_i, data_i, strobe_i}), .read_i(order_takes), .valid_o(next_valid), .data_o(next_order));
  assign order_takes = next_valid && (!order_valid || order_done);
  always_ff @(posedge clk_i) if (order_takes) order <= next_order;
  assign ready_o = orders_q < 4'd5;
  // What it is, by its address.
  typedef struct packed {
    logic payload;
    logic calls;
    logic opens;
    logic places;
    logic configures;
  } kind_of_order_t;
  kind_of_order_t what, what_next;
  always_comb begin
    logic whole, page;
    whole = next_order.strobe[7:0] == '1;
    page = !next_order.line[19];
    what_next.payload = page && next_order.line[11:9] == '0;
    what_next.calls = page && next_order.line[11:4] == 8'h20 && whole;
    what_next.opens = next_order.line[19:8] == 12'h800 && whole;
    what_next.places = next_order.line[19:12] == 8'h81 && whole;
    what_next.configures = next_order.line == 16'h8010 && whole;
  end
  always_ff @(posedge clk_i) if (order_takes) what <= what_next;
  assign payload = order_valid && what.payload;
  assign calls = order_valid && what.calls;
  assign opens = order_valid && what.opens;

  // --- Vectors: parts, sums and results. A packet's words come before a store's.
  logic part_writes, result_writes, sum_writes, store_writes, fetch, fetch_partial, partial_q;
  logic [11:0] arrival_at, part_write_at, part_read_at;
  logic [8:0] sum_at, fetch_at;
  logic [127:0] arrival_data, part_data, sum_data, fetched_sum, fetched_result;
  assign store_writes = payload && !part_writes;
  assign part_write_at = part_writes ? arrival_at : {order.line[18:12], order.line[8:4]};
  assign order_done = order_valid && (payload ? store_writes : calls || opens ? order_steps : 1'b1);
  (* ram_style = "block" *) logic [127:0] parts[Trees*Branches*32];
  always_ff @(posedge clk_i) begin
    for (int unsigned b = 0; b < 16; b++) begin
      if (part_writes || (store_writes && order.strobe[b])) begin
        parts[part_write_at][8*b+:8] <= part_writes ? arrival_data[8*b+:8] : order.data[8*b+:8];
      end
    end
    part_data <= parts[part_read_at];
  end
  // What is overwritten while it is read is of a reduction that all below have the result of: nobody takes it.
  ni_table #(.Entries(Trees * 32), .Width(128), .Same(1'b1)) u_sums (
    .clk_i, .rst_ni, .write_i(sum_writes), .write_at_i(sum_at), .data_i(sum_data), .read_i(fetch), .read_at_i(fetch_at), .data_o(fetched_sum));
  ni_table #(.Entries(Trees * 32), .Width(128), .Same(1'b1)) u_results (
    .clk_i, .rst_ni, .write_i(result_writes), .write_at_i({arrival_at[11:8], arrival_at[4:0]}), .data_i(arrival_data), .read_i(fetch),
    .read_at_i(fetch_at), .data_o(fetched_result));
  always_ff @(posedge clk_i) if (fetch) partial_q <= fetch_partial;

  // --- Trees, and their neighbours.
  logic [7:0] neighbour_at;
  logic [63:0] neighbour;
  ni_table #(.Entries(Trees * 16), .Width(64), .Same(1'b1)) u_neighbours (
    .clk_i, .rst_ni, .write_i(order_valid && what.places), .write_at_i(order.line[11:4]), .data_i(order.data[63:0]), .read_i(1'b1),
    .read_at_i(neighbour_at), .data_o(neighbour));
  (* ram_style = "distributed" *) state_t states[Trees];
  (* ram_style = "distributed" *) ni_reduce_tree_t places[Trees];
  logic [Trees-1:0] enabled_q, busy_q;  // busy: its parts are with the engine
  tree_t arrival_tree;
  logic arrival_valid, arrival_steps, receiver_idle;
  arrival_t arrival;
  ni_reduce_receive u_receive (
    .clk_i, .rst_ni, .hold_i(hold_q), .idle_o(receiver_idle), .s_axis_tvalid, .s_axis_tready, .s_axis_tdata, .s_axis_tkeep, .s_axis_tlast,
    .s_axis_tuser, .tree_o(arrival_tree), .enabled_i(enabled_q[arrival_tree]), .place_i(places[arrival_tree]), .state_i(states[arrival_tree]),
    .write_part_o(part_writes), .write_result_o(result_writes), .write_at_o(arrival_at), .data_o(arrival_data), .valid_o(arrival_valid),
    .arrival_o(arrival), .taken_i(arrival_steps));

  // --- The engine.
  job_t job, job_next;
  logic pushes, job_valid, combined, combined_q, combined_steps;
  exanet_fifo #(.Width($bits(job_t)), .Depth(Trees)) u_jobs (
    .clk_i, .rst_ni, .write_i(pushes), .data_i(job_next), .read_i(combined_steps), .valid_o(job_valid), .data_o(job));
  ni_reduce_engine u_engine (
    .clk_i, .rst_ni, .valid_i(job_valid && !combined_q), .job_i(job), .done_o(combined), .read_at_o(part_read_at), .data_i(part_data),
    .write_o(sum_writes), .write_at_o(sum_at), .data_o(sum_data));

  // --- The sender.
  logic notifies, notifies_instead, notifies_letter, refused, refused_steps;
  targets_t targets;
  letter_t letter;
  typedef struct packed {
    tree_t tree;
    logic instead;
    logic letter_valid;
    targets_t targets;
    letter_t letter;
  } notice_t;
  logic notice_valid_q;
  logic [15:0] notices_left;
  notice_t notice_q;
  tree_t refused_tree;
  logic [7:0] refused_epoch;
  ni_reduce_send u_send (
    .clk_i, .rst_ni, .dcid_i(config_q.dcid), .at_work_o(notices_left), .notify_i(notice_valid_q), .notify_tree_i(notice_q.tree),
    .notify_instead_i(notice_q.instead), .notify_targets_i(notice_q.targets), .notify_letter_valid_i(notice_q.letter_valid),
    .notify_letter_i(notice_q.letter), .neighbour_at_o(neighbour_at), .neighbour_i(neighbour), .fetch_o(fetch),
    .fetch_at_o(fetch_at), .fetch_partial_o(fetch_partial), .data_i(partial_q ? fetched_sum : fetched_result), .m_axis_tvalid, .m_axis_tready,
    .m_axis_tdata, .m_axis_tkeep, .m_axis_tlast, .m_axis_tuser, .m_axi_awaddr, .m_axi_awlen, .m_axi_awvalid, .m_axi_awready, .m_axi_wdata,
    .m_axi_wstrb, .m_axi_wlast, .m_axi_wvalid, .m_axi_wready, .m_axi_bresp, .m_axi_bvalid, .m_axi_bready, .refused_o(refused),
    .refused_tree_o(refused_tree), .refused_epoch_o(refused_epoch), .refused_taken_i(refused_steps));

  // A step that closes a tree leaves it in these until the sender has heard of it.
  logic [15:0] at_work;
  always_comb begin
    at_work = enabled_q | busy_q | notices_left;
    if (notice_valid_q) at_work[notice_q.tree] = 1'b1;
  end
  // What is stored in this cycle counts behind the next one, as its processor hears of it later yet.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      at_work_o <= '0;
      stores_o  <= 1'b0;
    end else begin
      at_work_o <= at_work;
      stores_o  <= orders_q != '0 || next_valid || order_valid || kind_q.open || kind_q.call;
    end
  end

  // --- Steps: which one. A retransmission scan has its own cycle, and nobody begins in the one before it.
  logic decides_q, chooses, scans, free;
  logic [7:0] clock_q;
  state_t state_q, state;
  ni_reduce_tree_t place_q, open_place_q;
  logic enabled_here_q;
  assign call = order.data[63:0];
  assign scans = clock_q[3:0] == '0;
  assign free = !decides_q && clock_q[3:0] != '0 && clock_q[3:0] != '1;
  assign arrival_steps = free && arrival_valid;
  assign refused_steps = free && refused && !arrival_valid;
  assign combined_steps = free && combined_q && !refused && !arrival_valid;
  // An opening waits for the engine and then for the packet that is being taken in, behind which none begins. A step
  // that has just decided may have made the engine busy.
  assign order_steps = free && !combined_q && !refused && !arrival_valid && (calls || (hold_q && !decided_q && receiver_idle));
  assign chooses = scans || arrival_steps || refused_steps || combined_steps || order_steps;
  always_comb begin
    kind_next = '0;
    event_next.what = arrival;
    if (scans) begin
      kind_next.scan = 1'b1;
      event_next.what.tree = clock_q[7:4];
    end else if (arrival_valid) kind_next.arrival = 1'b1;
    else if (refused) begin
      kind_next.refused = 1'b1;
      event_next.what.tree = refused_tree;
      event_next.what.number[23:16] = refused_epoch;
    end else if (combined_q) begin
      kind_next.combined = 1'b1;
      event_next.what.tree = job.tree;
    end else begin
      kind_next.call = calls;
      kind_next.open = !calls;
      event_next.what.tree = calls ? order.line[18:15] : order.line[7:4];
      event_next.what.branch = order.line[14:12];
      event_next.what.shape = {call.bytes, call.element, call.operation};
    end
    event_next.legal = legal(event_next.what.shape);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      order_valid <= 1'b0;
      hold_q     <= 1'b0;
      decided_q  <= 1'b0;
      clock_q    <= '0;
      decides_q  <= 1'b0;
      kind_q     <= '0;
      combined_q <= 1'b0;
      orders_q   <= '0;
      config_q   <= '0;
    end else begin
      hold_q     <= opens && !order_done && !busy_q[order.line[7:4]];
      decided_q  <= decides_q;
      order_valid <= order_takes || (order_valid && !order_done);
      clock_q    <= clock_q + 1'b1;
      decides_q  <= chooses;
      kind_q     <= chooses ? kind_next : '0;
      combined_q <= combined || (combined_q && !combined_steps);
      orders_q   <= orders_q + 4'(store_i) - 4'(order_takes);
      if (order_valid && what.configures) config_q <= order.data[63:0];
    end
  end
  always_ff @(posedge clk_i) begin
    if (chooses) begin
      event_q        <= event_next;
      open_place_q   <= order.data[63:0];
      state_q        <= states[event_next.what.tree];
      place_q        <= places[event_next.what.tree];
      enabled_here_q <= enabled_q[event_next.what.tree];
    end
  end

  // --- Steps: the decision.
  logic [Branches-1:0] one, remote, come;
  logic from_local, from_remote, came, agrees, last_one, same_round, round_before, same_epoch;
  logic takes, ends, fails, goes_up, asks_again, repeats, answers;
  logic [15:0] age;
  logic [16:0] since;
  logic [3:0] reason;
  assign one = 8'd1 << event_q.what.branch;
  assign remote = place_q.branches & ~place_q.locals;
  assign came = (state_q.come & one) != '0;
  assign come = state_q.come | one;
  assign last_one = come == place_q.branches;
  assign agrees = event_q.legal && (state_q.come == '0 || state_q.shape == event_q.what.shape);
  assign same_epoch = event_q.what.number[23:16] == place_q.epoch;
  assign same_round = event_q.what.number[15:0] == state_q.round;
  assign round_before = event_q.what.number[15:0] == state_q.round - 16'd1;
  assign from_local = kind_q.call && enabled_here_q && (place_q.branches & place_q.locals & one) != '0;
  assign from_remote = kind_q.arrival && enabled_here_q && same_epoch && event_q.what.pdid == place_q.pdid;
  assign age = state_q.age + 16'd1;
  assign since = state_q.since + 17'd1;

  always_comb begin
    logic part, result, scan, late;
    part = from_remote && !event_q.what.result && (remote & one) != '0;
    result = from_remote && event_q.what.result && !place_q.root;
    scan = kind_q.scan && enabled_here_q && state_q.phase != Broken && state_q.come != '0;
    late = scan && config_q.limit != '0 && state_q.age >= config_q.limit;
    takes = state_q.phase == Gather && !came && agrees &&
        (from_local || (part && same_round && event_q.what.kept && event_q.what.reason == '0));
    ends = (result && state_q.phase == Await && same_round && event_q.what.kept && event_q.what.shape == state_q.shape) ||
        (kind_q.combined && enabled_here_q && state_q.phase == Combine && place_q.root);
    goes_up = kind_q.combined && enabled_here_q && state_q.phase == Combine && !place_q.root;
    // The node above is notified again, as it has not answered; so is one below that has not heard.
    repeats = scan && !late && state_q.phase == Await && config_q.timeout != '0 &&
        state_q.since >= 17'(config_q.timeout) << state_q.backoff;
    asks_again = part && event_q.what.reason == '0 && state_q.phase == Gather && !came && state_q.begun && round_before;
    answers = state_q.phase == Broken && (from_local || (part && event_q.what.reason == '0));
    reason = NackReasonSilent;
    fails = late;
    if (state_q.phase != Broken) begin
      if ((part || result) && event_q.what.reason != '0) begin
        fails = 1'b1;
        reason = event_q.what.reason;
      end else if (state_q.phase == Gather && !came && !agrees && (from_local || (part && same_round && event_q.what.kept))) begin
        fails = 1'b1;
        reason = NackReasonMismatch;
      end else if (kind_q.refused && enabled_here_q && same_epoch) begin
        fails = 1'b1;
        reason = NackReasonMemory;
      end
    end

    state = state_q;
    if (takes) begin
      state.come = come;
      state.shape = event_q.what.shape;
      if (state_q.come == '0) state.age = 16'd1;
      if (last_one) state.phase = Combine;
    end
    if (scan) begin
      state.age = age;
      state.since = repeats ? 17'd1 : since;
      if (repeats && state_q.backoff != MostBackoff) state.backoff = state_q.backoff + 1'b1;
    end
    if (goes_up) begin
      state.phase = Await;
      state.since = 17'd1;
      state.backoff = '0;
    end
    if (ends) begin
      state.phase = Gather;
      state.come = '0;
      state.begun = 1'b1;
      state.round = state_q.round + 16'd1;
    end
    if (fails) state.phase = Broken;
    if (kind_q.open) state = '0;
  end
  assign pushes = takes && last_one;
  assign job_next = '{tree: event_q.what.tree, branches: place_q.branches, shape: event_q.what.shape};

  // --- Who is notified, a cycle later.
  logic [3:0] counts_q;
  always_comb begin
    targets = '0;
    if (fails || ends) targets.down = remote;
    else if (asks_again || (answers && kind_q.arrival)) targets.down = one;
    if (fails || ends) targets.locals = place_q.branches & place_q.locals;
    else if (answers && kind_q.call) targets.locals = one;
    targets.up = (fails && !place_q.root) || goes_up || repeats;
    letter.number = {place_q.epoch, state_q.round};
    letter.pdid = place_q.pdid;
    letter.shape = state_q.shape;
    if (fails) letter.shape.bytes = '0;
    letter.reason = fails ? reason : NackReasonNone;
    letter.partial = kind_q.combined;
  end
  assign notifies_letter = ends || fails || goes_up;
  assign notifies_instead = notifies_letter || kind_q.open;
  assign notifies = notifies_letter || repeats || asks_again || answers || kind_q.open;

  always_ff @(posedge clk_i) begin
    notice_q <= '{tree: event_q.what.tree, instead: notifies_instead, letter_valid: notifies_letter, targets: targets, letter: letter};
    if (decides_q) states[event_q.what.tree] <= state;
    if (kind_q.open) places[event_q.what.tree] <= open_place_q;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      notice_valid_q <= 1'b0;
      enabled_q  <= '0;
      busy_q     <= '0;
      ended_o    <= '0;
      failed_o   <= '0;
      repeated_o <= '0;
      dropped_o  <= '0;
      counts_q   <= '0;
    end else begin
      notice_valid_q <= notifies;
      if (kind_q.open) enabled_q[event_q.what.tree] <= open_place_q.enabled;
      if (pushes) busy_q[event_q.what.tree] <= 1'b1;
      if (kind_q.combined) busy_q[event_q.what.tree] <= 1'b0;
      counts_q   <= {ends, fails, repeats || asks_again,
                     kind_q.arrival && !(takes || ends || fails || asks_again || answers)};
      ended_o    <= ended_o + 32'(counts_q[3]);
      failed_o   <= failed_o + 32'(counts_q[2]);
      repeated_o <= repeated_o + 32'(counts_q[1]);
      dropped_o  <= dropped_o + 32'(counts_q[0]);
    end
  end
endmodule
