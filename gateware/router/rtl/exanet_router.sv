// SPDX-License-Identifier: Apache-2.0
// APErouter: dimension-order, virtual cut-through router with a full crossbar; a word of 128 bits a cycle and port.
//
// Ports are numbered inter-tile first. A header on the wire at one clock edge is on the output's wire four edges later
// in an empty router:
//   1 port register   2 route, write to the FIFO   3 request and grant   4 crossbar into the output register
// Behind a port each virtual channel has two queues, of bulk and of priority packets, which draw on one pool of space:
// each is as deep as the pool. Senders keep count of it: a port's receiver starts with PayloadDepth words and
// HeaderDepth headers in each virtual channel (intra-tile: IntraDepth and IntraHeaders in channel 0) and gives them
// back through credit_o. Of bulk a sender leaves space for the largest priority packet. With Qfdb ports 0 to 2 lead to
// the other nodes of its QFDB (router_route).
// docs/microarchitecture.md has the rules.
module exanet_router #(
  parameter int unsigned InterPorts = 2,
  parameter int unsigned IntraPorts = 3,
  parameter int unsigned Dimensions = 1,
  parameter bit          Qfdb = 1'b0,         // a node of a QFDB, or a point of a grid
  parameter bit          Multicast = 1'b0,    // packets with header.multicast go to several nodes (router_copies); else they go to one
  parameter int unsigned XBits = 8,           // split of addresses (router_route)
  parameter int unsigned YBits = 7,
  parameter int unsigned PayloadDepth = 512,  // of each virtual channel: 1024 words a port
  parameter int unsigned HeaderDepth = 32,    // of each virtual channel and class: 128 a port
  parameter int unsigned IntraDepth = 4096,
  parameter int unsigned IntraHeaders = 64,   // of each class
  parameter int unsigned MostWords = exanet_pkg::MaxPayloadWords,  // payload of the largest packet that is sent
  parameter int unsigned LinkSlots = 1,       // packets that a link takes before it releases one
  parameter int unsigned IntraSlots = 8,      // packets that the network interface takes before it releases one
  localparam int unsigned Ports = InterPorts + IntraPorts
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  exanet_pkg::router_config_t config_i,
  input  exanet_pkg::flit_t          flit_i[Ports],
  output exanet_pkg::credit_t        credit_o[Ports][2],  // space in this router's FIFOs, back to the senders
  output exanet_pkg::flit_t          flit_o[Ports],
  input  exanet_pkg::credit_t        credit_i[Ports][2],  // space in the FIFOs at the far end, inter-tile ports alone
  input  logic [Ports-1:0]           release_i,           // one slot behind the output is free again
  output logic [31:0]                discarded_o          // packets without a route, since reset
);
  localparam int unsigned Inputs = 2 * InterPorts + IntraPorts;  // of each class
  localparam int unsigned PortBits = $clog2(Ports);
  if (InterPorts < 1 || InterPorts > exanet_pkg::MaxInterPorts || IntraPorts < 1 || IntraPorts > 4) begin : gen_illegal_1
    $error("1 to 9 inter-tile and 1 to 4 intra-tile ports");
  end
  if (Dimensions < 1 || Dimensions > 3) begin : gen_illegal_2
    $error("1 to 3 dimensions");
  end
  if (MostWords < 1 || MostWords > exanet_pkg::MaxPayloadWords || 2 * MostWords > PayloadDepth || 2 * MostWords > IntraDepth) begin : gen_illegal_3
    $error("a pool holds two of the largest packets, of 1 to 32 payload words each");
  end
  if (HeaderDepth < 2 || HeaderDepth > 64 || IntraHeaders < 2 || IntraHeaders > 64) begin : gen_illegal_4
    $error("a pool holds 2 to 64 headers");
  end
  if (PayloadDepth > 512 || IntraDepth > 4096) begin : gen_illegal_5
    $error("a pool of a link holds up to 512 payload words, of an intra-tile port up to 4096");
  end
  if ((PayloadDepth & (PayloadDepth - 1)) != 0 || (HeaderDepth & (HeaderDepth - 1)) != 0 || (IntraDepth & (IntraDepth - 1)) != 0 ||
      (IntraHeaders & (IntraHeaders - 1)) != 0) begin : gen_illegal_6
    $error("depths are powers of two");
  end
  if (IntraSlots < 1 || LinkSlots < 1) begin : gen_illegal_7
    $error("a consumer takes one packet at least");
  end

  localparam int unsigned NodeBits = Qfdb ? 2 : 0;
  if (XBits < 1 || XBits > 8 || YBits < 1 || YBits > 8 || NodeBits + XBits + YBits < 14 || NodeBits + XBits + YBits > 21) begin : gen_illegal_8
    $error("a coordinate has 1 to 8 of an address's 22 bits");
  end
  if (Qfdb && InterPorts < exanet_pkg::QfdbNodes - 1) begin : gen_illegal_9
    $error("a node of a QFDB has a port to each of the three others");
  end

  exanet_pkg::router_config_t config_q;
  exanet_pkg::flit_t flit_q[Ports];
  exanet_pkg::credit_t credit_q[Ports][2];
  logic [Ports-1:0] release_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      config_q  <= '0;
      release_q <= '0;
      for (int unsigned p = 0; p < Ports; p++) begin
        flit_q[p] <= '0;
        for (int unsigned v = 0; v < 2; v++) credit_q[p][v] <= '0;
      end
    end else begin
      config_q  <= config_i;
      release_q <= release_i;
      for (int unsigned p = 0; p < Ports; p++) begin
        flit_q[p] <= flit_i[p];
        for (int unsigned v = 0; v < 2; v++) credit_q[p][v] <= credit_i[p][v];
      end
    end
  end

  // A queue never holds more than its headers' payload.
  localparam int unsigned HeadersWords = exanet_pkg::MaxPayloadWords * HeaderDepth;
  localparam int unsigned IntraHeadersWords = exanet_pkg::MaxPayloadWords * IntraHeaders;
  localparam int unsigned QueueWords = PayloadDepth < HeadersWords ? PayloadDepth : HeadersWords;
  localparam int unsigned IntraQueueWords = IntraDepth < IntraHeadersWords ? IntraDepth : IntraHeadersWords;

  router_pkg::way_t ways[3];
  router_ways #(.InterPorts(InterPorts), .FirstPort(Qfdb ? exanet_pkg::QfdbNodes - 1 : 0)) u_ways (
    .clk_i, .rst_ni, .config_i(config_q), .ways_o(ways));

  router_pkg::request_t request[2][Inputs];
  router_pkg::word_t word[2][Inputs];
  logic [1:0][Inputs-1:0] ends, discarded;
  logic [1:0][Inputs-1:0] granted, grants[Ports];  // by any output, and by each

  for (genvar p = 0; p < Ports; p++) begin : gen_port
    logic [PortBits-1:0] port;
    logic vc, known;
    logic [5:0] words;
    exanet_pkg::header_t header;
    router_pkg::route_t route;
    assign header = flit_q[p].data;
    router_route #(
      .InterPorts(InterPorts), .IntraPorts(IntraPorts), .Dimensions(Dimensions), .Qfdb(Qfdb), .XBits(XBits), .YBits(YBits), .Port(p)
    ) u_route (
      .ways_i(ways), .enabled_i(config_q.enabled), .qfdb_node_i(config_q.qfdb_node), .disabled_i(config_q.disabled[2:0]),
      .type_port_i(config_q.type_port), .header_i(header), .port_o(port), .vc_o(vc), .known_o(known), .words_o(words));
    logic [Ports-1:0] ports, vcs;  // of a multicast packet
    logic some;
    if (Multicast) begin : gen_copies
      router_copies #(
        .InterPorts(InterPorts), .IntraPorts(IntraPorts), .Dimensions(Dimensions), .Qfdb(Qfdb), .XBits(XBits), .YBits(YBits), .Port(p)
      ) u_copies (
        .ways_i(ways), .enabled_i(config_q.enabled), .qfdb_node_i(config_q.qfdb_node), .disabled_i(config_q.disabled[2:0]),
        .type_port_i(config_q.type_port), .header_i(header), .ports_o(ports), .vcs_o(vcs), .known_o(some));
    end else begin : gen_one
      assign {ports, vcs, some} = '0;
    end
    always_comb begin
      route = 'x;  // of a word that is no header
      if (flit_q[p].head) begin
        route.valid = Multicast && header.multicast ? some : known;
        route.port = 4'(port);
        route.vc = vc;
        route.ports = header.multicast ? router_pkg::MaxPorts'(ports) : router_pkg::MaxPorts'(1'b1) << port;
        route.vcs = header.multicast ? router_pkg::MaxPorts'(vcs) : {router_pkg::MaxPorts{vc}};
        route.words = words;
      end
    end

    // A header names the class of its packet, and packets follow each other on the wire.
    logic class_q, now_class;
    assign now_class = flit_q[p].head ? header.high_priority : class_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) class_q <= 1'b0;
      else if (flit_q[p].valid) class_q <= now_class;
    end

    for (genvar v = 0; v < (p < InterPorts ? 2 : 1); v++) begin : gen_vc
      localparam int unsigned I = p < InterPorts ? 2 * p + v : InterPorts + p;
      exanet_pkg::credit_t freed[2];
      for (genvar c = 0; c < 2; c++) begin : gen_class
        logic [Ports-1:0] grant;  // of each output
        always_comb begin
          grant = '0;
          for (int unsigned o = 0; Multicast && o < Ports; o++) grant[o] = grants[o][c][I];
        end
        router_input #(
          .Ports(Ports), .Multicast(Multicast),
          .PayloadDepth(p < InterPorts ? QueueWords : IntraQueueWords),
          .HeaderDepth(p < InterPorts ? HeaderDepth : IntraHeaders)
        ) u_input (
          .clk_i, .rst_ni,
          .write_i(flit_q[p].valid && now_class == (c == 1) && (p >= InterPorts || flit_q[p].vc == (v == 1))),
          .flit_i(flit_q[p]), .route_i(route), .request_o(request[c][I]), .granted_i(granted[c][I]), .grant_i(grant),
          .word_o(word[c][I]), .ends_o(ends[c][I]), .credit_o(freed[c]), .discarded_o(discarded[c][I]));
      end
      assign credit_o[p][v] = '{words: freed[0].words + freed[1].words, headers: freed[0].headers + freed[1].headers};
    end
    if (p >= InterPorts) begin : gen_one_channel
      assign credit_o[p][1] = '0;
    end

    router_output #(
      .Inputs(Inputs), .LinkInputs(2 * InterPorts), .Port(p), .IsLink(p < InterPorts), .Slots(p < InterPorts ? LinkSlots : IntraSlots),
      .FarWords(PayloadDepth), .FarHeaders(HeaderDepth), .MostWords(MostWords)
    ) u_output (
      .clk_i, .rst_ni, .fixed_i(config_q.fixed_priority), .links_first_i(config_q.links_first), .request_i(request), .word_i(word), .ends_i(ends),
      .grant_o(grants[p]), .credit_i(credit_q[p]), .release_i(release_q[p]), .flit_o(flit_o[p]));
  end

  always_comb begin
    granted = '0;
    for (int unsigned p = 0; p < Ports; p++) granted = granted | grants[p];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) discarded_o <= '0;
    else discarded_o <= discarded_o + $unsigned($countones(discarded));
  end
endmodule
