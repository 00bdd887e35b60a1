// SPDX-License-Identifier: Apache-2.0
// The picture of a network under synthetic traffic: the use of each link, where it is.

// `drawing`: names, places, links as pairs of nodes, port names, number of endpoints; `use`: per mille, a figure a link.
function networkData(drawing, use) {
  return {
    nodes: drawing.names.map((name, i) => [name, ...drawing.at[i], i < drawing.endpoints ? "endpoint" : ""]),
    links: drawing.links.map(([from, to], i) => [from, to, drawing.ports[i], 0, use[i] / 10, 0, use[i] > 0 ? 1 : 0, 0]),
  };
}

function networkSection(drawing, use, title) {
  return machineSection(networkData(drawing, use), {
    measures: ["use"], title, say: "Filled nodes are endpoints, the others switches. Use is the share of the measured window in which the link carried words.", node: "kind", wraps: drawing.wraps,
  });
}
