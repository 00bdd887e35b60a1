// SPDX-License-Identifier: Apache-2.0
// Link use, drawn on the machine's shape. Nodes have positions in three dimensions, and the reader turns the view.

const MOST_STRETCHED = 4; // up to this ratio of the scales of both axes, the picture is not stretched

const LINK = { node: 0, to: 1, port: 2, kind: 3, use: 4, bytes: 5, packets: 6, waited: 7 };

// Wrap-around links of a torus would cross the whole picture, so they are drawn as stubs that leave the machine. A link
// is taken for one of these when it is much longer than the shortest link with the same port name.
function linkVectors(data, wraps) {
  const vectors = data.links.map((link) => [1, 2, 3].map((k) => data.nodes[link[LINK.to]][k] - data.nodes[link[LINK.node]][k]));
  const shortest = {};
  vectors.forEach((vector, i) => {
    const name = data.links[i][LINK.port];
    shortest[name] = Math.min(shortest[name] ?? Infinity, Math.hypot(...vector));
  });
  return vectors.map((vector, i) => {
    const length = Math.hypot(...vector);
    const least = shortest[data.links[i][LINK.port]];
    return wraps && length > 1.6 * least ? { stub: true, vector: vector.map((v) => (-0.4 * v * least) / length) } : { stub: false, vector };
  });
}

function projector(view) {
  const [cy, sy, cp, sp] = [Math.cos(view.yaw), Math.sin(view.yaw), Math.cos(view.pitch), Math.sin(view.pitch)];
  return ([x, y, z]) => [cy * x - sy * y, sp * (sy * x + cy * y) + cp * z];
}

// `asked`: the measures to choose from, and the texts for the picture and for a node.
function machineSection(data, asked = { measures: ["use", "bytes", "waited"], title: "How much each link was used", say: "Ranks ran on the filled nodes.", node: "ranks", wraps: true }) {
  const spread = [1, 2, 3].map((k) => Math.max(...data.nodes.map((node) => node[k])) - Math.min(...data.nodes.map((node) => node[k])));
  const flat = spread[2] === 0;
  const start = () => (flat ? { yaw: 0, pitch: Math.PI / 2 } : { yaw: -0.42, pitch: 0.5 });
  const vectors = linkVectors(data, asked.wraps);
  const known = {
    use: { label: "Use", column: LINK.use, show: (v) => `${v.toFixed(1)} %` },
    bytes: { label: "Bytes carried", column: LINK.bytes, show: formatBytes },
    waited: { label: "Waiting for the link", column: LINK.waited, show: formatTime },
  };
  const measures = Object.fromEntries(asked.measures.map((key) => [key, known[key]]));
  // A small run on a large machine would fill only a corner of the picture, so the nodes in use are shown first.
  const touched = new Set(data.nodes.flatMap((node, i) => (node[4] ? [i] : [])));
  data.links.filter((link) => link[LINK.packets] > 0).forEach((link) => [LINK.node, LINK.to].forEach((end) => touched.add(link[end])));
  const partial = touched.size > 0 && touched.size < data.nodes.length;
  let usedOnly = partial && touched.size * 4 <= data.nodes.length;
  const shown = (i) => !usedOnly || touched.has(i);
  let measure = "use";
  let view = start();

  const hover = ({ seriesType, data: item }) => {
    if (seriesType === "scatter") return tip(item.node[0], [[asked.node, item.node[4] || "none"]]);
    const link = data.links[item.link];
    return tip(`${data.nodes[link[LINK.node]][0]} ${link[LINK.port]} → ${data.nodes[link[LINK.to]][0]}`, [
      ...Object.values(measures).map(({ label, column, show }) => [label.toLowerCase(), show(link[column])]),
      ...(asked.measures.includes("bytes") ? [["packets", formatCount(link[LINK.packets])]] : []), ...(vectors[item.link].stub ? [["", "wraps around"]] : []),
    ]);
  };

  const options = (place) => {
    const project = projector(view);
    const [width, height] = [place.clientWidth, place.clientHeight];
    const at = data.nodes.map((node) => project(node.slice(1, 4)));
    const ends = data.links.map((link, i) => {
      const from = data.nodes[link[LINK.node]].slice(1, 4);
      return project(from.map((v, k) => v + vectors[i].vector[k]));
    });
    const drawn = data.links.map((link, i) => i).filter((i) => shown(data.links[i][LINK.node]) && shown(data.links[i][LINK.to]));
    const all = [...at.filter((_, i) => shown(i)), ...drawn.map((i) => ends[i])];
    const box = [0, 1].map((k) => [Math.min(...all.map((p) => p[k])), Math.max(...all.map((p) => p[k]))]);
    // Both axes have one scale, unless the picture would be a narrow strip: a shape that is much longer in one direction
    // is stretched in the other.
    const space = [width - 80, height - 110];
    const units = box.map(([least, most], k) => Math.max((most - least) / space[k], 1e-9));
    const same = Math.max(...units);
    if (Math.min(...units) * MOST_STRETCHED > same) units.fill(same);
    else if (Math.min(...units) < 1e-6 * same) units.fill(same); // all points on one line: not stretched
    const range = (k, pixels, shift = 0) => {
      const middle = (box[k][0] + box[k][1]) / 2 + shift * units[k];
      return { type: "value", show: false, min: middle - (units[k] * pixels) / 2, max: middle + (units[k] * pixels) / 2 };
    };
    const { column, show } = measures[measure];
    const most = Math.max(...data.links.map((link) => link[column]), 0);
    const tints = ramp("heat").map((text) => [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16)));
    const tint = (part) => {
      const i = Math.min(Math.floor(part * 3), 2);
      return `rgb(${tints[i].map((v, k) => Math.round(v + (tints[i + 1][k] - v) * (part * 3 - i))).join()})`;
    };
    const lines = drawn.map((i) => {
      const link = data.links[i];
      const part = most ? link[column] / most : 0;
      return {
        coords: [at[link[LINK.node]], ends[i]], link: i, part,
        lineStyle: { color: tint(part), width: part ? 1.5 + 2.5 * part : 1, opacity: part ? 1 : 0.55, curveness: vectors[i].stub ? 0 : 0.12 },
      };
    });
    lines.sort((a, b) => a.part - b.part);
    const size = Math.max(5, Math.min(11, 100 / Math.sqrt(usedOnly ? touched.size : data.nodes.length)));
    return {
      grid: { left: 0, right: 0, top: 0, bottom: 0 },
      xAxis: range(0, width), yAxis: range(1, height, 16),
      visualMap: { ...colourScale("heat", 0, most || 1, show), dimension: 1, seriesIndex: 2 },
      tooltip: tooltip(hover),
      series: [
        { type: "lines", coordinateSystem: "cartesian2d", data: lines, emphasis: { lineStyle: { width: 6 } }, z: 2 },
        {
          type: "scatter", symbolSize: size, z: 3, // with few nodes there is space for their names
          label: { show: (usedOnly ? touched.size : data.nodes.length) <= 8, position: "bottom", formatter: ({ data: item }) => item.node[0], color: colour("soft"), fontSize: 11 },
          data: data.nodes.map((node, i) => [node, i]).filter(([, i]) => shown(i)).map(([node, i]) => ({ value: at[i], node, itemStyle: { color: node[4] ? colour("text") : colour("card"), borderColor: colour("soft"), borderWidth: 1 } })),
        },
        { type: "scatter", data: [] }, // carries the colour scale
      ],
    };
  };

  const place = chartIn(560, options);
  place.classList.add("machine");
  const turned = (yaw, pitch) => {
    view = { yaw, pitch: Math.max(0, Math.min(Math.PI / 2, pitch)) };
    requestAnimationFrame(() => draw(place));
  };
  place.tabIndex = 0;
  const step = Math.PI / 24;
  const turns = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
  place.addEventListener("keydown", (event) => {
    if (!turns[event.key]) return;
    event.preventDefault();
    turned(view.yaw + turns[event.key][0], view.pitch + turns[event.key][1]);
  });
  let held = null;
  place.addEventListener("pointerdown", (event) => (held = { x: event.clientX, y: event.clientY, ...view }));
  window.addEventListener("pointerup", () => (held = null));
  window.addEventListener("pointermove", (event) => {
    if (held) turned(held.yaw + (event.clientX - held.x) / 200, held.pitch + (event.clientY - held.y) / 200);
  });
  const choices = toggle(Object.entries(measures).map(([key, { label }]) => [key, label]), (key) => {
    measure = key;
    draw(place);
  });
  const reset = element("button", { type: "button" }, "Reset view");
  reset.addEventListener("click", () => {
    view = start();
    draw(place);
  });
  const part = element("button", { type: "button", "aria-pressed": String(usedOnly) }, `Only the ${touched.size} of ${data.nodes.length} nodes in use`);
  part.addEventListener("click", () => {
    usedOnly = !usedOnly;
    part.setAttribute("aria-pressed", String(usedOnly));
    draw(place);
  });
  return section(asked.title, `Each directed link at its place. The two directions of a link are drawn as two arcs, wrap-around links as stubs. ${asked.say} Drag the picture or use the arrow keys to turn it.`,
    bar(choices.length > 1 ? choices : [], partial ? [part, reset] : [reset]), place);
}

// What a link's name means, with the first name on the page as the example.
function linkNames(data, first) {
  const example = `A link is named after the node it leaves, the port it leaves by, and the node it leads to: ${first}.`;
  const qfdb = data.nodes.some((node) => /^qfdb\(.*\)\.F1$/.test(node[0])) ? " F1 to F4 are the FPGAs of a QFDB, each with ports named after the three others. F1 also has the ports to other QFDBs." : "";
  return element("p", { class: "say" }, example + qfdb);
}

// The links with most of what is shown: the table is sorted by the chosen column, which has the bars.
function linksSection(data) {
  const name = (link) => `${data.nodes[link[LINK.node]][0]} ${link[LINK.port]} → ${data.nodes[link[LINK.to]][0]}`;
  const used = data.links.filter((link) => link[LINK.packets] > 0);
  const orders = [["use", "use", LINK.use], ["bytes", "carried", LINK.bytes], ["waited", "waiting", LINK.waited]];
  const place = element("div", {});
  const show = (key) => {
    const [, heading, column] = orders.find(([order]) => order === key);
    const rows = [...used].sort((a, b) => b[column] - a[column]).slice(0, 20).map((link) => [name(link), link[LINK.use] / 100, link[LINK.bytes], link[LINK.waited]]);
    place.replaceChildren(table([["link"], ["use", formatPercent], ["carried", formatBytes], ["waiting", formatTime]], rows, heading));
  };
  show("use");
  const csv = csvButton("links", ["node", "port", "to_node", "link_class", "use_percent", "payload_bytes", "packets", "waited_ps"], () =>
    data.links.map((link) => [data.nodes[link[0]][0], link[2], data.nodes[link[1]][0], ...link.slice(3)]));
  return section("Hottest links", `Use is the share of the run in which the link carried words. Waiting is the time for which the heads of packets waited for the link. ${used.length} of ${data.links.length} links carried packets.`,
    bar(toggle([["use", "By use"], ["bytes", "By bytes carried"], ["waited", "By waiting"]], show), [csv]), place, used.length ? linkNames(data, name(used[0])) : null);
}
