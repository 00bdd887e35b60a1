// SPDX-License-Identifier: Apache-2.0
// Gateways between two networks: the use of their processors, what waited for them, and for how long.

const GATEWAY_COLUMNS = ["first_node", "second_node", "messages_from_first", "messages_from_second", "bytes_from_first", "bytes_from_second", "use_percent", "waited_ps", "longest_wait_ps", "most_queue", "most_queue_bytes"];

// Rows: GATEWAY_COLUMNS, the nodes by name, the time waited that of a message.
function gatewaysSection(rows) {
  const columns = [["node of the first network"], ["node of the second"], ["messages from the first", formatCount], ["from the second", formatCount],
    ["from the first", formatBytes], ["from the second", formatBytes], ["use", (share) => `${share.toFixed(1)} %`], ["waited, mean", formatTime], ["longest", formatTime],
    ["most in the queue", formatCount], ["bytes", formatBytes]];
  return section("Gateways", "What each gateway passed on between the networks: messages, and fragments of long transfers. Use is the share of the run in which its processor worked; the time waited is that for the processor.",
    bar([], [csvButton("gateways", GATEWAY_COLUMNS, rows)]), table(columns, rows, "use"));
}
