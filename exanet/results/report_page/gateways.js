// SPDX-License-Identifier: Apache-2.0
// Gateways between two networks: the use of their processors, what waited for them, and for how long.

const GATEWAY_COLUMNS = ["first_node", "second_node", "messages", "bytes", "use_percent", "waited_ps", "longest_wait_ps", "most_queue", "most_queue_bytes"];

// Rows: GATEWAY_COLUMNS, the nodes by name, both directions together; the time waited is a message's.
function gatewaysSection(rows) {
  const columns = [["first network"], ["second network"], ["passed on", formatCount], ["bytes", formatBytes], ["use", (share) => `${share.toFixed(1)} %`], ["waited, mean", formatTime],
    ["longest", formatTime], ["most queued", formatCount], ["bytes queued", formatBytes]];
  return section("Gateways", "What each gateway passed on between the networks: messages, and fragments of long transfers. Use is the share of the run in which its processor worked; the time waited is that for the processor.",
    bar([], [csvButton("gateways", GATEWAY_COLUMNS, rows)]), table(columns, rows, "use"));
}
