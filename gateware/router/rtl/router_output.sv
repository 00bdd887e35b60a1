// SPDX-License-Identifier: Apache-2.0
// One output: grants it to a whole packet at a time, counts the space behind it, and carries the packet's words to the
// port.
//
// A grant takes a slot of the consumer behind the port (given back by release_i when the packet has moved on there)
// and, towards a link, space for the packet in the far FIFOs. So the words of a granted packet are never stopped, and a
// packet holds no output while it waits for space.
//
// Two classes, bulk and priority, share the far end's pool of each virtual channel, and each has queues of its own at
// both ends. Where a priority packet can go no bulk packet does, and bulk leaves space for the largest priority packet:
// so bulk that waits never holds priority up. There has to be space for the largest packet, whatever this one's length:
// else short ones would go whenever a long one of the same channel waits.
//
// All inputs are served in turn or, with links_first_i, packets from links go before those of network interfaces: who
// is on the way frees space where he comes from, who enters takes it. But after MostPassed grants to links in which an
// interface could have gone, one of theirs goes first.
module router_output #(
  parameter int unsigned Inputs = 7,
  parameter int unsigned LinkInputs = 4,  // the first ones; the others are network interfaces
  parameter int unsigned Port = 0,
  parameter bit          IsLink = 1'b1,
  parameter int unsigned Slots = 1,
  parameter int unsigned FarWords = 512,   // of each virtual channel's pool at the far end
  parameter int unsigned FarHeaders = 32,
  parameter int unsigned MostWords = exanet_pkg::MaxPayloadWords,  // payload of the largest packet
  parameter int unsigned MostPassed = 15
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 fixed_i,
  input  logic                 links_first_i,
  // of each class, bulk and priority
  input  router_pkg::request_t   request_i[2][Inputs],
  input  router_pkg::word_t      word_i[2][Inputs],
  input  logic [1:0][Inputs-1:0] ends_i,  // the next cycle's word is the packet's last
  output logic [1:0][Inputs-1:0] grant_o,
  input  exanet_pkg::credit_t  credit_i[2],
  input  logic                 release_i,
  output exanet_pkg::flit_t    flit_o
);
  localparam int unsigned SelectBits = Inputs > 1 ? $clog2(Inputs) : 1;
  localparam int unsigned SlotBits = $clog2(Slots + 1);

  logic busy_q, idle_q, idle_d, slot_q, fresh_q, vc, vc_q, granted, class_q, class_d;
  logic [SelectBits-1:0] select_q, select_d;
  logic [SlotBits-1:0] slots_q, slots_d;
  // As wide as the totals that a link carries: then a total that was taken from a damaged word is put right by the next
  // one, whatever it was.
  logic [10:0] words_q[2];
  logic [6:0] headers_q[2];
  logic [5:0] taken;
  logic [1:0][1:0] space_q;  // for a packet of each class, in each channel
  logic [1:0][Inputs-1:0] asks;
  logic [Inputs-1:0] own;
  logic own_q;
  logic [3:0] passed_q;

  // What a request meets is in registers, which hold in a cycle what follows from all that was known in the one before:
  // whether the output can be granted (idle: no packet, or its last word, is in the crossbar), whether the consumer has
  // a slot, and for whom there is space.
  always_comb begin
    asks = '0;
    if (idle_q && slot_q)
      for (int unsigned c = 0; c < 2; c++)
        for (int unsigned i = 0; i < Inputs; i++) if (request_i[c][i].ports[Port]) asks[c][i] = space_q[c][request_i[c][i].vcs[Port]];
  end

  localparam logic [Inputs-1:0] FromLinks = (Inputs)'((1 << LinkInputs) - 1);
  logic [Inputs-1:0] first;
  assign first = !links_first_i ? '0 : passed_q == 4'(MostPassed) ? ~FromLinks : FromLinks;
  router_arbiter #(.Inputs(Inputs)) u_arbiter (.clk_i, .rst_ni, .fixed_i, .first_i(first), .request_i(asks), .grant_o(grant_o));

  // Whoever asks is granted, or another one is.
  assign granted = asks != '0;
  assign class_d = asks[1] != '0;
  assign own = asks[class_d] & ~FromLinks;
  always_comb begin
    select_d = '0;
    for (int unsigned i = 0; i < Inputs; i++) if (grant_o[0][i] || grant_o[1][i]) select_d = select_d | SelectBits'(i);
  end

  // The next grant is two cycles away at least: what one changes is counted in the cycle behind it.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      passed_q <= '0;
      own_q    <= 1'b0;
    end else begin
      own_q <= own != '0;
      if (!links_first_i || (fresh_q && 32'(select_q) >= LinkInputs)) passed_q <= '0;
      else if (fresh_q && own_q) passed_q <= passed_q + 1'b1;
    end
  end

  // The packet's channel and length are asked for in that cycle as well, in which its input still shows them.
  assign vc = fresh_q ? request_i[class_q][select_q].vcs[Port] : vc_q;
  assign taken = request_i[class_q][select_q].words;
  // An input says ahead that its packet's last word comes, in which cycle this output is free again.
  assign idle_d = !granted && (idle_q || ends_i[class_q][select_q]);
  assign slots_d = slots_q + SlotBits'(release_i) - SlotBits'(fresh_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q   <= 1'b0;
      idle_q   <= 1'b1;
      fresh_q  <= 1'b0;
      select_q <= '0;
      class_q  <= 1'b0;
      vc_q     <= 1'b0;
      slots_q  <= SlotBits'(Slots);
      slot_q   <= 1'b1;
    end else begin
      busy_q  <= granted || !idle_q;
      idle_q  <= idle_d;
      fresh_q <= granted;
      vc_q    <= vc;
      slots_q <= slots_d;
      slot_q  <= slots_d != '0;
      if (granted) begin
        select_q <= select_d;
        class_q  <= class_d;
      end
    end
  end

  for (genvar v = 0; v < 2; v++) begin : gen_credits
    if (IsLink) begin : gen_counters
      logic take;
      logic [10:0] words_d;
      logic [6:0] headers_d;
      assign take = fresh_q && vc == (v == 1);
      assign words_d = words_q[v] + 11'(credit_i[v].words) - (take ? 11'(taken) : '0);
      assign headers_d = headers_q[v] + 7'(credit_i[v].headers) - 7'(take);
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) begin
          words_q[v]   <= 11'(FarWords);
          headers_q[v] <= 7'(FarHeaders);
          {space_q[1][v], space_q[0][v]} <= '1;
        end else begin
          words_q[v]   <= words_d;
          headers_q[v] <= headers_d;
          // Bulk leaves space for one packet.
          space_q[0][v] <= words_d >= 11'(2 * MostWords) && headers_d >= 7'd2;
          space_q[1][v] <= words_d >= 11'(MostWords) && headers_d != '0;
        end
      end
    end else begin : gen_none
      assign words_q[v] = '0;
      assign headers_q[v] = '0;
      assign {space_q[1][v], space_q[0][v]} = '1;
    end
  end

  // The header leaves with the channel of its next link. The code is linear, so its check bits change by those of that
  // one bit.
  localparam exanet_pkg::header_t VcBit = '{vc: 1'b1, default: '0};
  localparam logic [119:0] VcData = VcBit[119:0];
  localparam exanet_pkg::header_t VcFlip = '{vc: 1'b1, ecc: exanet_code_pkg::header_ecc(VcData), default: '0};
  router_pkg::word_t word;
  exanet_pkg::header_t header;

  assign word = word_i[class_q][select_q];
  assign header = word.data;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      flit_o <= '0;
    end else begin
      flit_o.valid <= busy_q && word.valid;
      flit_o.vc <= IsLink && vc;
      flit_o.head <= word.head;
      flit_o.tail <= word.tail;
      flit_o.data <= (IsLink && word.head && header.vc != vc) ? word.data ^ 128'(VcFlip) : word.data;
    end
  end
endmodule
