// SPDX-License-Identifier: Apache-2.0
// A heat map of ranks over virtual time, and beside it the totals of each rank.

function rankLabel(data, row) {
  if (data.group === 1) return `rank ${data.ranks[row] ? data.ranks[row][0] : row}`;
  const last = Math.min((row + 1) * data.group, data.ranks.length) - 1;
  return `ranks ${row * data.group}–${last}`;
}

// Of a run with storages the last column says how long each rank waited for its files.
const storedOf = (rank) => rank[12] ?? 0;
const hasStorage = (data) => data.ranks.some((rank) => rank.length > 12);

// Totals of each row of the picture: [compute_ps, wait_ps, library_ps, virtual_ps, storage_ps]
function rowTotals(data) {
  const totals = [];
  data.ranks.forEach((rank, i) => {
    const [, , virtual, compute, wait, library] = rank;
    const row = Math.floor(i / data.group);
    totals[row] ??= [0, 0, 0, 0, 0];
    [compute, wait, library, virtual, storedOf(rank)].forEach((value, k) => (totals[row][k] += value));
  });
  return totals;
}

const timelineMeasures = {
  wait: { label: "Waiting", values: (t) => t.wait, scale: "scale", show: (v) => `${Math.round(v / 10)} %`, most: () => 1000 },
  library: { label: "In the network library", values: (t) => t.library, scale: "scale", show: (v) => `${Math.round(v / 10)} %`, most: () => 1000 },
  compute: {
    label: "Computing", values: (t) => t.wait.map((row, r) => row.map((wait, b) => 1000 - wait - (t.library ? t.library[r][b] : 0))),
    scale: "scale", show: (v) => `${Math.round(v / 10)} %`, most: () => 1000,
  },
  sent: { label: "Bytes sent", values: (t) => t.sent_bytes, scale: "scale", show: formatBytes, most: (rows) => Math.max(...rows.map((row) => Math.max(...row))) },
};

// What the marks above the heat map are, the first three by name.
function faultsInWords(faults, scale, unit, decimals) {
  if (faults.length === 0) return "";
  const named = faults.slice(0, 3).map(({ ps, said }) => `${said} at ${(ps / scale).toFixed(decimals)} ${unit}`);
  const more = faults.length > 3 ? ` and ${faults.length - 3} more` : "";
  return ` Marks above (hollow: the end of a fault): ${named.join("; ")}${more}.`;
}

function timelineSection(data) {
  if (!data.timeline.wait.length || !data.timeline.wait[0].length) return section("When each rank waited", "Virtual time never began.");
  const t = data.timeline;
  const rows = t.wait.length;
  const totals = rowTotals(data);
  const stored = hasStorage(data);
  const { scale, unit } = timeUnit(t.end_ps[t.end_ps.length - 1] || 1);
  const decimals = Math.max(0, Math.min(6, 1 + Math.ceil(-Math.log10(((t.end_ps[0] ?? 1) - (t.start_ps[0] ?? 0)) / scale))));
  const busy = t.library ? "Computing" : "Computing or in the library";
  // Bins begin at times that are not round; the first bin that begins at or after a round time carries it as its label.
  const round = new Map(roundSteps(t.end_ps[t.end_ps.length - 1] / scale).map((value) => [t.start_ps.findIndex((ps) => ps >= value * scale * (1 - 1e-9)), value]));
  let measure = "wait";
  // A mark above the bin in which something failed or came back.
  const states = {
    state: ["down", "up"], lossy: ["lossy", "lossy no more"], slow: ["slow", "at its rate again"],
    interface: ["interface stops", "interface works again"], impaired: ["impaired", "impaired no more"],
    host: ["host dies", ""],
    master_known: ["has failed: the master knows", "works again: the master knows"],
    all_known: ["has failed: all nodes know", "works again: all nodes know"],
  };
  const binOf = (ps) => Math.min(t.end_ps.filter((end) => end <= ps).length, t.end_ps.length - 1);
  const markOf = (shape, up) => (up ? `empty${shape[0].toUpperCase()}${shape.slice(1)}` : shape);
  const faults = (data.faults || []).map(([ps, what, up, kind]) => ({
    value: [binOf(ps), 0], symbol: markOf(kind.endsWith("_known") ? "diamond" : "triangle", up), symbolRotate: 180,
    ps, said: `${what} ${states[kind][Number(up)]}`,
  }));
  const hoverFault = ({ ps, said }) => tip(said, [["at", `${(ps / scale).toFixed(decimals)} ${unit}`]]);

  const hover = (r, b) => tip(`${rankLabel(data, r)}, ${(t.start_ps[b] / scale).toFixed(decimals)}–${(t.end_ps[b] / scale).toFixed(decimals)} ${unit}`, [
    ["waiting", `${(t.wait[r][b] / 10).toFixed(1)} %`],
    ...(t.library ? [["library", `${(t.library[r][b] / 10).toFixed(1)} %`]] : []),
    [busy.toLowerCase(), `${((1000 - t.wait[r][b] - (t.library ? t.library[r][b] : 0)) / 10).toFixed(1)} %`],
    ["sent", formatBytes(t.sent_bytes[r][b])],
  ]);
  const hoverTotal = (r) => tip(`${rankLabel(data, r)}, whole run`, [["computing", 0], ["waiting", 1], ["library", 2], ...(stored ? [["storage", 4]] : [])]
    .map(([what, k]) => [what, formatPercent(totals[r][k] / (totals[r][3] || 1))]));

  // The bars are beside the heat map where the page is wide enough, else below it.
  const narrow = (width) => width < 640;
  const part = Math.max(240, Math.min(90 + rows * 14, 640));
  const height = (width) => (narrow(width) ? 2 * part : part);

  const options = (place) => {
    const below = narrow(place.clientWidth);
    const chosen = timelineMeasures[measure];
    const values = chosen.values(t);
    const cells = values.flatMap((row, r) => row.map((value, b) => [b, r, value]));
    const labels = totals.map((_, r) => rankLabel(data, r).replace(/ranks? /, ""));
    const share = (name, k, tint) => ({
      type: "bar", name, stack: "time", xAxisIndex: 1, yAxisIndex: 1, // Bars of a few pixels touch, or the gaps between them would show as stripes.
      barWidth: rows > 40 ? "115%" : "80%", itemStyle: { color: colour(tint) },
      data: totals.map((row) => (100 * row[k]) / (row[3] || 1)),
    });
    const ranks = (gridIndex, show) => axis({ type: "category", inverse: true, data: labels, gridIndex, name: show ? "rank" : "", nameGap: 44, axisLabel: { show, color: colour("soft"), ...sparse(rows) }, axisTick: { show: false } });
    return {
      grid: below ? [{ left: 60, right: 14, top: 40, height: part - 84 }, { left: 60, right: 14, top: part + 10, height: part - 54 }]
        : [{ left: 60, right: 262, top: 40, bottom: 44 }, { right: 14, width: 220, top: 40, bottom: 44 }],
      xAxis: [
        axis({
          type: "category", data: t.start_ps, name: `virtual time (${unit})`, nameGap: 28, gridIndex: 0, axisTick: { show: false },
          axisLabel: { color: colour("soft"), interval: (bin) => round.has(bin), formatter: (_, bin) => String(round.get(bin)) },
        }),
        axis({ type: "value", max: 100, name: "share of the run (%)", nameGap: 28, gridIndex: 1 }),
      ],
      yAxis: [ranks(0, true), ranks(1, below)],
      visualMap: { ...colourScale("scale", 0, Math.max(chosen.most(values), 1), chosen.show), left: 60, seriesIndex: 0 },
      tooltip: tooltip(({ seriesType, data: cell, dataIndex }) => ({ heatmap: () => hover(cell[1], cell[0]), scatter: () => hoverFault(cell), bar: () => hoverTotal(dataIndex) })[seriesType]()),
      series: [
        { type: "heatmap", data: cells, xAxisIndex: 0, yAxisIndex: 0, progressive: 0, emphasis: { itemStyle: { borderColor: colour("text"), borderWidth: 1 } } },
        share("computing", 0, "one"), share("waiting", 1, "two"), share("library", 2, "three"),
        ...(stored ? [share("storage", 4, "text")] : []),
        ...(faults.length ? [{ type: "scatter", data: faults, xAxisIndex: 0, yAxisIndex: 0, symbolSize: 9, symbolOffset: [0, -((part - 84) / rows / 2 + 7)], clip: false, itemStyle: { color: colour("text") } }] : []),
      ],
    };
  };

  const place = chartIn(height, options);
  const keys = ["wait", ...(t.library ? ["library", "compute"] : []), "sent"];
  const choices = toggle(keys.map((key) => [key, timelineMeasures[key].label]), (key) => {
    measure = key;
    draw(place);
  });
  const csv = csvButton("timeline", ["rows", "start_ps", "end_ps", "wait_percent", ...(t.library ? ["library_percent"] : []), "sent_bytes"], () =>
    t.wait.flatMap((row, r) => row.map((wait, b) => [rankLabel(data, r), t.start_ps[b], t.end_ps[b], wait / 10, ...(t.library ? [t.library[r][b] / 10] : []), t.sent_bytes[r][b]])));
  const columns = ["rank", "node", "virtual_ps", "compute_ps", "wait_ps", "library_ps", "messages_sent", "bytes_sent", "messages_received", "bytes_received", "rma_ops", "rma_bytes", ...(stored ? ["storage_ps"] : [])];
  const tableColumns = [["rank"], ["node"], ["time", formatTime], ["computing", formatTime], ["waiting", formatTime], ["library", formatTime], ["messages sent", formatCount], ["sent", formatBytes],
    ["messages received", formatCount], ["received", formatBytes], ["one-sided", formatCount], ["one-sided bytes", formatBytes], ...(stored ? [["storage", formatTime]] : [])];
  const grouped = data.group > 1 ? ` Each row is ${data.group} neighbouring ranks together.` : "";
  return section("When each rank waited", `Heat map: each rank over virtual time, darker the more of it (in the dark theme: brighter).${stored ? " There, waiting for files counts as waiting." : ""} Bars: where its time went in the whole run.${grouped}${faultsInWords(faults, scale, unit, decimals)}`,
    bar(choices, [...legend([["one", "computing"], ["two", "waiting"], ["three", "in the library"], ...(stored ? [["text", "on storage"]] : [])]), csv, csvButton("ranks", columns, data.ranks)]), place, asTable(tableColumns, data.ranks));
}
