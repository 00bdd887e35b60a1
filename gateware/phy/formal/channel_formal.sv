// SPDX-License-Identifier: Apache-2.0
// Two ends of a channel on a line that loses whatever it likes, one of which is reset whenever it likes. Proved: a word
// is taken by neither end unless both count from the same reset, so nothing from before one reaches the link behind it;
// words go after the flags that they follow; an end begins anew only while its channel is down, and says so only when
// its link has done it. Times are short, and Quiet is more than the line's two cycles there and back.
module channel_formal #(
  parameter int unsigned Quiet = 10
) (
  input logic       clk_i,
  input logic       reset_i,  // of end 0
  input logic [1:0] beat_i,
  input logic [1:0] drained_i,
  input logic [1:0] clear_i,
  input logic [1:0] ready_i,
  input logic [1:0] offers_i,
  input logic [1:0] loses_i
);
  typedef struct packed {
    logic       valid;
    logic       control;
    logic [3:0] flags;
    logic [1:0] session;  // resets of end 0, as far as the sender knows
  } entry_t;
  logic [1:0] rst_n = '0;
  logic [1:0] resets = '0;  // of end 0
  always_ff @(posedge clk_i) begin
    rst_n <= {1'b1, !reset_i};
    if (rst_n[0] && reset_i) resets <= resets + 1'b1;
  end

  entry_t [1:0] sent, came, first = '0, second = '0;  // on the line, from each end
  logic [1:0] ready, takes, drain, restart, valid, control, up;
  logic [1:0][63:0] data, taken;
  for (genvar n = 0; n < 2; n++) begin : gen_end
    phy_channel #(.Refresh(4), .Silence(3), .Quiet(Quiet)) u_channel (
      .clk_i, .rst_ni(rst_n[n]), .link_valid_i(offers_i[n]), .link_data_i('0), .link_ready_o(ready[n]),
      .link_valid_o(takes[n]), .link_data_o(taken[n]),
      .drain_o(drain[n]), .drained_i(drained_i[n]), .restart_o(restart[n]), .clear_i(clear_i[n]),
      .tx_valid_o(valid[n]), .tx_control_o(control[n]), .tx_data_o(data[n]), .tx_ready_i(ready_i[n]),
      .rx_valid_i(came[n].valid), .rx_control_i(came[n].control), .rx_data_i(64'(came[n].flags)), .beat_i(beat_i[n]), .up_o(up[n]));
    assign sent[n].valid = rst_n[n] && valid[n] && ready_i[n] && !loses_i[n];
    assign sent[n].control = control[n];
    assign sent[n].flags = data[n][3:0];
    assign came[n] = second[1-n];
  end

  always_ff @(posedge clk_i) begin
    first  <= sent;
    second <= first;
  end

  // The reset from which end 1 counts: the one whose flags came last, until words have gone; then it stays.
  logic [1:0] heard = '0, noted = '0, session;
  assign session = gen_end[1].u_channel.fresh_q ? heard : noted;
  assign sent[0].session = resets;
  assign sent[1].session = session;
  always_ff @(posedge clk_i) begin
    noted <= session;
    if (came[1].valid && came[1].control) heard <= came[1].session;
  end

  logic again = 1'b0, old = 1'b0;  // old: words may have gone since the link began anew
  always_ff @(posedge clk_i) begin
    if (rst_n[0] && takes[0]) FromTheOther: assert (came[0].session == resets);
    if (rst_n[1] && takes[1]) FromThisReset: assert (came[1].session == session);
    if (rst_n[0] && valid[0] && !control[0]) Reported: assert (gen_end[0].u_channel.flags == gen_end[0].u_channel.reported_q);
    if (rst_n == '1) Down: assert ((restart & up) == '0 && (drain & up) == '0);
    old <= restart[1] ? 1'b0 : old || up[1];
    if (rst_n[1]) Anew: assert (!(old && gen_end[1].u_channel.begun_q));
    if (rst_n == '1 && restart[1]) again <= 1'b1;
    // The other end begins anew behind a reset, and words go.
    Again: cover (again && takes[0]);
  end
endmodule
