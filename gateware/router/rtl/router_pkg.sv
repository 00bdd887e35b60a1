// SPDX-License-Identifier: Apache-2.0
// Records inside the router, wide enough for any number of ports.
package router_pkg;
  localparam int unsigned MaxPorts = exanet_pkg::MaxInterPorts + 4;

  // The outputs that a packet goes to, one or, of a multicast packet, several, and its virtual channel behind each.
  typedef struct packed {
    logic                valid;  // there is a route
    logic [3:0]          port;  // the only one, and its channel: all that is looked at without Multicast
    logic                vc;
    logic [MaxPorts-1:0] ports;
    logic [MaxPorts-1:0] vcs;
    logic [5:0]          words;
  } route_t;

  // Requests of a queue's front packet to the outputs.
  typedef struct packed {
    logic [MaxPorts-1:0] ports;  // that it asks for now
    logic [MaxPorts-1:0] vcs;
    logic [5:0]          words;
  } request_t;

  // One dimension of a router's configuration, worked out ahead of the packets (router_ways).
  typedef struct packed {
    logic [7:0]      here;
    logic [8:0]      side;
    logic            wraps;
    // coordinates above here and below this are upwards; the second one where half way round is
    logic [1:0][8:0] above;
    logic [1:0][8:0] below;  // the same of coordinates below here
    logic [3:0]      plus_port;
    logic [3:0]      minus_port;
    logic            plus_disabled;
    logic            minus_disabled;
    logic            plus_there;  // there is such a port
    logic            minus_there;
    logic            ordered;  // the dimension has a place in the order
    logic [2:0]      after;  // dimensions whose offsets are consumed before this one's
    logic [7:0]      most_plus;  // hops upwards that a multicast packet makes from its source at most
    logic [7:0]      most_minus;
    logic            top;  // a mesh ends here
    logic            bottom;
  } way_t;

  // A word on its way through the crossbar.
  typedef struct packed {
    logic         valid;
    logic         head;
    logic         tail;
    logic [127:0] data;
  } word_t;
endpackage
