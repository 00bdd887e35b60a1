// SPDX-License-Identifier: Apache-2.0
// Notifies the neighbours of trees, and their processes: one packet or one write of memory after the other. Whom a tree
// has yet to notify, and of what, is kept as a bit for each, so that to ask for it again costs nothing and never waits.
// Trees take turns; neighbours come before processes, as others wait behind them. One write of memory is under way at
// most; packets go on meanwhile.
module ni_reduce_send (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic [21:0]                     dcid_i,
  // whom to notify: these too, or these instead of those before
  input  logic                            notify_i,
  input  ni_reduce_pkg::tree_t            notify_tree_i,
  input  logic                            notify_instead_i,
  input  ni_reduce_pkg::targets_t         notify_targets_i,
  input  logic                            notify_letter_valid_i,  // with another letter than before
  input  ni_reduce_pkg::letter_t          notify_letter_i,
  output logic [15:0]                     at_work_o,  // trees with a notice to send, or one with memory
  // neighbours and places of trees, as the kernel wrote them: tree, branch or 8 for the node above; a cycle later
  output logic [7:0]                      neighbour_at_o,
  input  logic [63:0]                     neighbour_i,
  // vectors: tree, word; a cycle later
  output logic                            fetch_o,
  output logic [8:0]                      fetch_at_o,
  output logic                            fetch_partial_o,
  input  logic [127:0]                    data_i,
  // packets, as frames of an ni_port
  output logic                            m_axis_tvalid,
  input  logic                            m_axis_tready,
  output logic [127:0]                    m_axis_tdata,
  output logic [15:0]                     m_axis_tkeep,
  output logic                            m_axis_tlast,
  output exanet_pkg::ni_user_t            m_axis_tuser,
  // memory
  output logic [47:0]                     m_axi_awaddr,
  output logic [7:0]                      m_axi_awlen,
  output logic                            m_axi_awvalid,
  input  logic                            m_axi_awready,
  output logic [127:0]                    m_axi_wdata,
  output logic [15:0]                     m_axi_wstrb,
  output logic                            m_axi_wlast,
  output logic                            m_axi_wvalid,
  input  logic                            m_axi_wready,
  input  logic [1:0]                      m_axi_bresp,
  input  logic                            m_axi_bvalid,
  output logic                            m_axi_bready,
  // memory has refused a write of this tree
  output logic                            refused_o,
  output ni_reduce_pkg::tree_t            refused_tree_o,
  output logic [7:0]                      refused_epoch_o,
  input  logic                            refused_taken_i
);
  import exanet_pkg::*;
  import ni_reduce_pkg::*;
  typedef enum logic [2:0] { Idle, Read, Pick, Look, Words } state_e;
  state_e state_q;

  // --- Whom to notify. What is asked for comes before what is done about it.
  (* ram_style = "distributed" *) targets_t pending[Trees];
  (* ram_style = "distributed" *) letter_t letters[Trees];
  logic [Trees-1:0] packets_q, writes_q, open_trees;
  tree_t tree_q, next_tree;
  targets_t notified, waits_q, rest;
  logic picks, nothing, memory_q, memory_free, some_packet_q;
  logic [3:0] target, target_q;
  letter_t letter_q;
  // Bits of the memory count where there are some: so it need not be cleared.
  function automatic targets_t open_targets(targets_t targets, logic packets, logic writes);
    return '{up: packets && targets.up, down: {Branches{packets}} & targets.down, locals: {Branches{writes}} & targets.locals};
  endfunction
  assign notified = notify_instead_i ? notify_targets_i
      : notify_targets_i | open_targets(pending[notify_tree_i], packets_q[notify_tree_i], writes_q[notify_tree_i]);
  assign memory_free = !memory_q && !refused_o;
  assign nothing = !some_packet_q && (waits_q.locals == '0 || !memory_free);
  assign picks = state_q == Pick && !notify_i && !nothing;
  always_comb begin
    target = 4'd8;
    for (int unsigned i = Branches; i > 0; i--) begin
      if (some_packet_q ? !waits_q.up && waits_q.down[i-1] : waits_q.locals[i-1]) target = 4'(i - 1);
    end
    rest = waits_q;
    if (waits_q.up) rest.up = 1'b0;
    else if (some_packet_q) rest.down = waits_q.down & (waits_q.down - 1'b1);
    else rest.locals = waits_q.locals & (waits_q.locals - 1'b1);
  end
  // The next tree behind the last one that has something to do.
  assign open_trees = packets_q | (memory_free ? writes_q : '0);
  always_comb begin
    next_tree = tree_q;
    for (int unsigned i = Trees; i > 0; i--) if (open_trees[4'(32'(tree_q) + i)]) next_tree = 4'(32'(tree_q) + i);
  end
  always_ff @(posedge clk_i) begin
    if (notify_i || picks) pending[notify_i ? notify_tree_i : tree_q] <= notify_i ? notified : rest;
    if (notify_i && notify_letter_valid_i) letters[notify_tree_i] <= notify_letter_i;
    if (state_q == Read) begin
      waits_q       <= open_targets(pending[tree_q], packets_q[tree_q], writes_q[tree_q]);
      some_packet_q <= packets_q[tree_q];
    end
    if (picks) {target_q, letter_q} <= {target, letters[tree_q]};
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      packets_q <= '0;
      writes_q  <= '0;
    end else if (notify_i) begin
      packets_q[notify_tree_i] <= notified.up || notified.down != '0;
      writes_q[notify_tree_i]  <= notified.locals != '0;
    end else if (picks) begin
      packets_q[tree_q] <= rest.up || rest.down != '0;
      writes_q[tree_q]  <= rest.locals != '0;
    end
  end

  // --- One of them is notified: word by word.
  logic write_q, offers, taken, final_word, ends, address_sent_q, address_sent, words_sent_q, words_sent;
  logic [5:0] word_q, words_q;
  logic [9:0] left_q;
  ni_reduce_node_t node;
  ni_reduce_place_t place;
  reduce_address_t address;
  reduce_end_t end_word;
  ni_user_t user;
  assign neighbour_at_o = {tree_q, target};
  assign node = neighbour_i;
  assign place = neighbour_i;
  always_comb begin
    address = '0;
    address.tree = node.tree;
    if (target_q[3]) address.branch = node.branch;
    {address.bytes, address.element, address.operation} = letter_q.shape;
    user = '0;
    user.dmadd = address;
    user.dcid = node.dcid;
    user.pdid = letter_q.pdid;
    user.source_dcid = dcid_i;
    user.kind = target_q[3] ? PacketTypeReductionPart : PacketTypeReductionResult;
    user.high_priority = 1'b1;
    user.number = letter_q.number;
    user.source_pdid = letter_q.pdid;
    user.reason = letter_q.reason;
    user.last = 1'b1;
    end_word = '0;
    end_word.number = letter_q.number;
    end_word.reason = letter_q.reason;
    end_word.valid = 1'b1;
    end_word.bytes = letter_q.shape.bytes;
  end
  // A packet without a byte is a beat, too; behind a write's words comes its end.
  assign final_word = write_q ? word_q == words_q : word_q + 6'd1 >= words_q;
  assign m_axis_tvalid = state_q == Words && !write_q;
  assign m_axis_tdata = words_q == '0 ? '0 : data_i;
  assign m_axis_tlast = final_word;
  assign m_axi_awvalid = state_q == Words && write_q && !address_sent_q;
  assign m_axi_wvalid = state_q == Words && write_q && !words_sent_q;
  assign m_axi_wdata = final_word ? end_word : data_i;
  assign m_axi_wlast = final_word;
  always_comb begin
    for (int unsigned i = 0; i < 16; i++) begin
      m_axis_tkeep[i] = left_q > 10'(i);
      m_axi_wstrb[i] = final_word || left_q > 10'(i);
    end
  end
  assign offers = write_q ? m_axi_wvalid : m_axis_tvalid;
  assign taken = offers && (write_q ? m_axi_wready : m_axis_tready);
  assign address_sent = address_sent_q || (m_axi_awvalid && m_axi_awready);
  assign words_sent = words_sent_q || (taken && final_word);
  assign ends = state_q == Words && words_sent && (!write_q || address_sent);
  assign fetch_o = state_q == Look || taken;
  assign fetch_at_o = {tree_q, state_q == Look ? 5'd0 : word_q[4:0] + 5'd1};
  assign fetch_partial_o = letter_q.partial;
  assign m_axi_awlen = 8'(words_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q        <= Idle;
      tree_q         <= '0;
      word_q         <= '0;
      words_q        <= '0;
      left_q         <= '0;
      write_q        <= 1'b0;
      address_sent_q <= 1'b0;
      words_sent_q   <= 1'b0;
      m_axis_tuser   <= '0;
      m_axi_awaddr   <= '0;
    end else begin
      case (state_q)
        Idle:
        if (open_trees != '0) begin
          tree_q  <= next_tree;
          state_q <= Read;
        end
        Read: if (!notify_i) state_q <= Pick;
        Pick: begin
          // Who is to be notified has changed: once more.
          state_q <= notify_i ? Read : nothing ? Idle : Look;
          write_q <= !some_packet_q;
        end
        Look: begin
          state_q        <= Words;
          word_q         <= '0;
          words_q        <= words_of(letter_q.shape.bytes);
          left_q         <= letter_q.shape.bytes;
          address_sent_q <= 1'b0;
          words_sent_q   <= 1'b0;
          m_axis_tuser   <= user;
          m_axi_awaddr   <= {place.line, 10'h3f0 - {words_of(letter_q.shape.bytes), 4'd0}};
        end
        default: begin
          if (ends) state_q <= Idle;
          address_sent_q <= address_sent;
          words_sent_q   <= words_sent;
          if (taken && !final_word) begin
            word_q <= word_q + 1'b1;
            left_q <= left_q - 10'd16;
          end
        end
      endcase
    end
  end

  always_comb begin
    at_work_o = packets_q | writes_q;
    if (state_q != Idle) at_work_o[tree_q] = 1'b1;
    if (memory_q || refused_o) at_work_o[refused_tree_o] = 1'b1;
  end

  // --- Memory's answer.
  assign m_axi_bready = memory_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      memory_q        <= 1'b0;
      refused_o       <= 1'b0;
      refused_tree_o  <= '0;
      refused_epoch_o <= '0;
    end else begin
      if (state_q == Look && write_q) begin
        memory_q        <= 1'b1;
        refused_tree_o  <= tree_q;
        refused_epoch_o <= letter_q.number[23:16];
      end else if (m_axi_bvalid) memory_q <= 1'b0;
      refused_o <= refused_o ? !refused_taken_i : memory_q && m_axi_bvalid && m_axi_bresp[1];
    end
  end

  exanet_stream_check #(.Width(128 + 16 + 1 + $bits(ni_user_t))) u_check (
    .clk_i, .rst_ni, .valid_i(m_axis_tvalid), .data_i({m_axis_tdata, m_axis_tkeep, m_axis_tlast, m_axis_tuser}), .ready_i(m_axis_tready));
  exanet_stream_check #(.Width(128 + 16 + 1)) u_check_write (
    .clk_i, .rst_ni, .valid_i(m_axi_wvalid), .data_i({m_axi_wdata, m_axi_wstrb, m_axi_wlast}), .ready_i(m_axi_wready));
endmodule
