// SPDX-License-Identifier: Apache-2.0
// Records inside the router, wide enough for any number of ports.
package router_pkg;
  // What a FIFO's front packet asks of the outputs.
  typedef struct packed {
    logic       valid;
    logic [3:0] port;
    logic       vc;
    logic [5:0] words;
  } request_t;

  // A word on its way through the crossbar.
  typedef struct packed {
    logic         valid;
    logic         head;
    logic         tail;
    logic [127:0] data;
  } word_t;
endpackage
