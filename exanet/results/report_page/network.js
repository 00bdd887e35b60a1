// SPDX-License-Identifier: Apache-2.0
// The network under synthetic traffic: the use of each link, drawn at its place, and the packets queued in routers over
// time.

const MOST_STACKED = 12; // routers with an area of their own; the others share one

// `drawing`: names, places, links as pairs of nodes, port names, number of endpoints; `use`: per mille, one value a
// link.
function networkData(drawing, use) {
  return {
    nodes: drawing.names.map((name, i) => [name, ...drawing.at[i], i < drawing.endpoints ? "endpoint" : ""]),
    links: drawing.links.map(([from, to], i) => [from, to, drawing.ports[i], 0, use[i] / 10, 0, use[i] > 0 ? 1 : 0, 0]),
  };
}

// `queues`: step_us, names of routers or groups of them, and rows of packets, a row a router.
function stackedQueues(queues) {
  const mean = (row) => row.reduce((sum, v) => sum + v, 0) / row.length;
  const order = queues.rows.map((row, i) => [mean(row), i]).sort((a, b) => b[0] - a[0]).map(([, i]) => i);
  const shown = order.slice(0, MOST_STACKED).map((i) => [queues.names[i], queues.rows[i]]);
  const rest = order.slice(MOST_STACKED);
  if (rest.length) shown.push([`${rest.length} others`, queues.rows[0].map((_, t) => rest.reduce((sum, i) => sum + queues.rows[i][t], 0))]);
  return () => ({
    grid: { left: 70, right: 20, top: 16, bottom: 50 },
    xAxis: axis({ type: "value", name: "time (µs)", nameGap: 30, min: 0 }),
    yAxis: axis({ type: "value", name: "packets queued", nameGap: 50 }),
    tooltip: tooltip((item) => tip(item.seriesName, [["at", `${threeDigits(item.value[0])} µs`], ["packets", threeDigits(item.value[1])]]), { trigger: "item" }),
    series: shown.map(([name, row], i) => ({
      name, type: "line", stack: "all", symbolSize: 4, showSymbol: false, data: row.map((v, t) => [(t + 1) * queues.step_us, v]), areaStyle: { color: tintOf(i, shown.length) },
      lineStyle: { width: 0 }, itemStyle: { color: tintOf(i, shown.length) }, triggerLineEvent: true,
    })),
  });
}

// `rows`: values over time, a row for each of `names`; `say` formats a value.
function heatOverTime({ rows, names, step_us }, least, say, what) {
  const cells = rows.flatMap((row, y) => row.map((v, x) => [x, y, v]));
  const most = Math.max(...cells.map((cell) => cell[2]), least);
  return () => ({
    grid: { left: 110, right: 12, top: 40, bottom: 44 },
    xAxis: axis({ type: "category", data: rows[0].map((_, t) => threeDigits((t + 1) * step_us)), name: "time (µs)", nameGap: 28, axisLabel: { color: colour("soft"), ...sparse(rows[0].length, 12) } }),
    yAxis: axis({ type: "category", data: names, inverse: true, axisLabel: { color: colour("soft"), ...sparse(names.length, 24) } }),
    visualMap: colourScale("heat", 0, most, say),
    tooltip: tooltip(({ value: [x, y, v] }) => tip(names[y], [["at", `${threeDigits((x + 1) * step_us)} µs`], [what, say(v)]])),
    series: [{ type: "heatmap", data: cells, progressive: 0 }],
  });
}

function useOverTimeSection(used, drawing) {
  const names = used.links.map((i) => `${drawing.names[drawing.links[i][0]]} ${drawing.ports[i]}`);
  return section("Use of the hottest links over time", "Share of each part of the measured window in which the link carried words. The hottest link is at the top.",
    chartIn(Math.min(160 + 16 * names.length, 560), heatOverTime({ ...used, names }, 1, (v) => formatPercent(v / 1000), "use")));
}

function queuesSection(queues) {
  const places = { stacked: chartIn(380, stackedQueues(queues)), heat: chartIn(Math.min(160 + 16 * queues.names.length, 560), heatOverTime(queues, 1, (v) => `${threeDigits(v)} packets`, "queued")) };
  return section("Packets queued in routers", `Packets whose heads are in a router's input buffers, including those of the network interface${queues.group > 1 ? `; each row is the mean of ${queues.group} neighbouring routers` : ""}. Above: all routers, stacked, the fullest first. Below: each router.`,
    places.stacked, places.heat);
}

const MOST_LINKS = 4096; // of report.py

// A menu of runs, and the pictures of the chosen run. entries: [{label, machine, use, queues, over_time}]; `use` is null
// for a network that is too large to draw. drawings: by machine.
function networksSection(entries, drawings) {
  if (!entries.length) return null;
  const place = element("div", {});
  const choice = element("select", { "aria-label": "run" }, ...entries.map(({ label }, i) => element("option", { value: String(i) }, label)));
  const show = () => {
    const { machine, use, queues, over_time } = entries[Number(choice.value)];
    charts.splice(0, charts.length, ...charts.filter((entry) => !place.contains(entry.place)));
    const title = "Use of each link";
    const links = use === null ? section(title, `Not drawn: the network has more than ${MOST_LINKS} links. links.parquet, beside this page, has the use of each.`) : machineSection(networkData(drawings[machine], use), {
      measures: ["use"], title, node: "kind", wraps: drawings[machine].wraps,
      say: "Filled nodes are endpoints, the others are switches. Use is the share of the measured window in which the link carried words.",
    });
    place.replaceChildren(...[links, over_time ? useOverTimeSection(over_time, drawings[machine]) : null, queues ? queuesSection(queues) : null].filter((part) => part !== null));
    for (const { place: chart } of charts) if (place.contains(chart)) draw(chart);
  };
  choice.value = String(entries.length - 1);
  choice.addEventListener("change", show);
  addEventListener("load", show);
  return element("div", {}, bar([element("label", {}, "The network at: ", choice)], []), place);
}
