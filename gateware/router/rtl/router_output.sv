// SPDX-License-Identifier: Apache-2.0
// One output: grants it to a whole packet at a time, counts the room behind it, and carries the packet's words to the port.
//
// A grant takes a slot of the consumer behind the port (given back by release_i when the packet has moved on there) and, towards a link, room for
// the packet in the far FIFOs. So the words of a granted packet are never stopped, and a packet holds no output while it waits for room.
//
// Two classes, bulk and priority, share the far end's pool of each virtual channel, and each has queues of its own at both ends. Where a priority
// packet can go no bulk packet does, and bulk leaves room for the largest priority packet: so bulk that waits never holds priority up.
// There has to be room for the largest packet, whatever this one's length: else short ones would go whenever a long one of the same channel waits.
//
// All inputs are served in turn or, with links_first_i, packets from links go before those of network interfaces: who is on the way frees room where
// he comes from, who enters takes it. But after MostPassed grants to links in which an interface could have gone, one of theirs goes first.
module router_output #(
  parameter int unsigned Inputs = 7,
  parameter int unsigned LinkInputs = 4,  // the first ones; the others are network interfaces
  parameter int unsigned Port = 0,
  parameter bit          IsLink = 1'b1,
  parameter int unsigned Slots = 1,
  parameter int unsigned FarWords = 512,   // of each virtual channel's pool at the far end
  parameter int unsigned FarHeaders = 32,
  parameter int unsigned MostWords = exanet_pkg::MaxPayloadWords  // payload of the largest packet
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 fixed_i,
  input  logic                 links_first_i,
  // of each class, bulk and priority
  input  router_pkg::request_t   request_i[2][Inputs],
  input  router_pkg::word_t      word_i[2][Inputs],
  input  logic [1:0][Inputs-1:0] last_i,
  output logic [1:0][Inputs-1:0] grant_o,
  input  exanet_pkg::credit_t  credit_i[2],
  input  logic                 release_i,
  output exanet_pkg::flit_t    flit_o
);
  localparam int unsigned SelectBits = Inputs > 1 ? $clog2(Inputs) : 1;
  localparam int unsigned SlotBits = $clog2(Slots + 1);

  logic busy_q, free, fresh_q, vc, vc_q, granted, class_q, class_d;
  logic [SelectBits-1:0] select_q, select_d;
  logic [SlotBits-1:0] slots_q;
  // As wide as the totals that a link carries: then a total that was taken from a damaged word is put right by the next one, whatever it was.
  logic [10:0] words_q[2];
  logic [6:0] headers_q[2];
  logic [5:0] taken;
  logic [1:0][1:0] room;  // for a packet of each class, in each channel
  logic [1:0][Inputs-1:0] asks;
  logic [Inputs-1:0] ranked, links, own, pick, grant;
  logic [3:0] passed_q;

  assign free = (!busy_q || last_i[class_q][select_q]) && slots_q != '0;
  for (genvar c = 0; c < 2; c++) begin : gen_class
    localparam int unsigned Packets = c == 0 ? 2 : 1;  // bulk leaves room for one
    for (genvar v = 0; v < 2; v++) begin : gen_room
      assign room[c][v] = !IsLink || (headers_q[v] >= 7'(Packets) && words_q[v] >= 11'(Packets * MostWords));
    end
    for (genvar i = 0; i < Inputs; i++) begin : gen_asks
      assign asks[c][i] = request_i[c][i].ports[Port] && room[c][request_i[c][i].vcs[Port]] && free;
    end
  end

  localparam logic [3:0] MostPassed = 4'd15;
  localparam logic [Inputs-1:0] FromLinks = (Inputs)'((1 << LinkInputs) - 1);
  assign class_d = asks[1] != '0;
  assign ranked = asks[class_d];
  assign links = ranked & FromLinks;
  assign own = ranked & ~FromLinks;
  assign pick = fixed_i || !links_first_i ? ranked : (links == '0 || (own != '0 && passed_q == MostPassed)) ? own : links;
  router_arbiter #(.Inputs(Inputs)) u_arbiter (.clk_i, .rst_ni, .fixed_i, .class_i(class_d), .request_i(pick), .grant_o(grant));
  assign grant_o[0] = class_d ? '0 : grant;
  assign grant_o[1] = class_d ? grant : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) passed_q <= '0;
    else if (!links_first_i || (grant & ~FromLinks) != '0) passed_q <= '0;
    else if (granted && own != '0) passed_q <= passed_q + 1'b1;
  end

  always_comb begin
    granted  = grant != '0;
    select_d = '0;
    for (int unsigned i = 0; i < Inputs; i++) if (grant[i]) select_d = SelectBits'(i);
  end
  // The packet's channel and length are asked for in the cycle behind its grant, in which its input still shows them: the next grant is two at least away.
  assign vc = fresh_q ? request_i[class_q][select_q].vcs[Port] : vc_q;
  assign taken = request_i[class_q][select_q].words;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q   <= 1'b0;
      fresh_q  <= 1'b0;
      select_q <= '0;
      class_q  <= 1'b0;
      vc_q     <= 1'b0;
      slots_q  <= SlotBits'(Slots);
    end else begin
      fresh_q <= granted;
      vc_q    <= vc;
      if (granted) begin
        busy_q   <= 1'b1;
        select_q <= select_d;
        class_q  <= class_d;
      end else if (last_i[class_q][select_q]) begin
        busy_q <= 1'b0;
      end
      slots_q <= slots_q + SlotBits'(release_i) - SlotBits'(granted);
    end
  end

  for (genvar v = 0; v < 2; v++) begin : gen_credits
    if (IsLink) begin : gen_counters
      logic take;
      assign take = fresh_q && vc == (v == 1);
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) begin
          words_q[v]   <= 11'(FarWords);
          headers_q[v] <= 7'(FarHeaders);
        end else begin
          words_q[v]   <= words_q[v] + 11'(credit_i[v].words) - (take ? 11'(taken) : '0);
          headers_q[v] <= headers_q[v] + 7'(credit_i[v].headers) - 7'(take);
        end
      end
    end else begin : gen_none
      assign words_q[v] = '0;
      assign headers_q[v] = '0;
    end
  end

  // The header leaves with the channel of its next link. The code is linear, so its check bits change by those of that one bit.
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
