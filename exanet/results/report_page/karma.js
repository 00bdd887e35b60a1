// SPDX-License-Identifier: Apache-2.0
// The page of the KARMA bench: round trips and bandwidth by payload; lines are measured here, points are published.

// One line of a chart: the rows that `test` takes, and the column to draw. Lines with equal values differ in
// width.
function measured(name, rows, test, column, scale, tint, dashed, width = 2) {
  return {
    name, type: "line", symbolSize: 5, data: rows.filter(test).map((row) => [row.payload_bytes, row[column] * scale]), itemStyle: { color: colour(tint) },
    lineStyle: { color: colour(tint), type: dashed ? "dashed" : "solid", width },
  };
}

function publishedPoint(name, x, y, tint) {
  return { name, type: "scatter", symbol: "diamond", symbolSize: 14, data: [[x, y]], itemStyle: { color: "transparent", borderColor: colour(tint), borderWidth: 2 } };
}

function byPayload(yName, format, most, series) {
  return () => ({
    grid: { left: 70, right: 20, top: 20, bottom: 50 },
    xAxis: axis({ type: "value", name: "payload (bytes)", nameGap: 30, min: 0, max: most }),
    yAxis: axis({ type: "value", name: yName, nameGap: 50, min: 0 }),
    tooltip: tooltip((item) => tip(item.seriesName, [["payload", formatBytes(item.value[0])], [yName, format(item.value[1])]]), { trigger: "item" }),
    series: series(),
  });
}

function trips(data, most) {
  const line = (hops, cycles, tint, dashed) => measured(`${hops} hop${hops > 1 ? "s" : ""}, ${cycles ? "transceivers" : "IP alone"}`, data.latency,
    (row) => row.hops === hops && row.line_cycles === cycles && row.payload_bytes <= most, "round_trip_ns", 1e-3, tint, dashed);
  return byPayload("round trip (µs)", (us) => formatTime(us * 1e6), most, () => [
    line(1, data.line_cycles, "one"), line(2, data.line_cycles, "two"), ...(data.line_cycles ? [line(1, 0, "one", true), line(2, 0, "two", true)] : []),
    { ...publishedPoint(`published: one hop below (K08)`, 16, data.published.K08.value * 1e-3, "one"), symbol: "triangle", symbolRotate: 180 },
  ]);
}

function rates(rows, names, fact, points) {
  return byPayload("share of the peak", (percent) => `${percent.toFixed(2)} %`, 512, () => [
    ...names.map(([name, label, tint, pause], i) => measured(label, rows, (row) => row.flows === name && (row.pause_words || 0) === pause, "efficiency_percent", 1, tint, pause > 0, 2 * (names.length - i))),
    ...points.map(([row, label, tint]) => publishedPoint(`published: ${label} (${row})`, 512, fact[row].value, tint)),
  ]);
}

const HOP_COLUMNS = [["a further hop", null], ["cycles, IP alone", null], ["ns", (ns) => ns.toFixed(1)], ["cycles, with transceivers", null], ["ns", (ns) => ns.toFixed(1)]];

function showKarma() {
  const data = JSON.parse(document.getElementById("data").textContent), fact = data.published;
  document.querySelector("h1").textContent = data.title;
  const hop = data.hop.alone.map((row, i) => [row.part, row.cycles, row.ns, data.hop.with_line[i].cycles, data.hop.with_line[i].ns]);
  const hops = [["one", "1 hop"], ["two", "2 hops"]];
  const router = [["1 sender", "1 sender", "one", 0], ["2 senders to one port", "2 senders to one port", "two", 0], ["3 senders, each its own port", "3 senders", "three", 0]];
  const link = [["one way", "one way", "one", 0], ["both ways", "both ways", "two", 0], ["one way", "one way, gearbox idle", "one", 32], ["both ways", "both ways, gearbox idle", "two", 32]];
  const columns = ["hops", "payload_bytes", "line_cycles", "round_trip_cycles", "round_trip_ns", "one_way_cycles", "one_way_ns"];
  const rate = ["flows", "pause_words", "payload_bytes", "gbps", "efficiency_percent"];
  const csv = (name, names, rows) => csvButton(name, names, rows.map((row) => names.map((column) => row[column] ?? 0)));
  document.querySelector("main").append(
    section("The time of a further hop, by part", `Published: ${fact.E04.value} ns (E04) and ${fact.K05.value} ns (K05).`, table(HOP_COLUMNS, hop)),
    section("Round trip", "Solid: with transceivers; dashed: the IP alone. The setup is that of figure 7 of the KARMA paper, whose text gives one bound, drawn here.",
      bar(legend(hops), [csv("round-trips", columns, data.latency)]), chartIn(360, trips(data, 512))),
    section("Round trip, small packets", "As above, up to 128 bytes (figure 8).", bar(legend(hops), []), chartIn(320, trips(data, 128))),
    section("Router, port to port", "Payload rate as a share of 20 Gb/s. Diamonds are published values (figure 9).",
      bar(legend([["one", "1 sender"], ["two", "2 senders to one port"], ["three", "3 senders, each its own port"]]), [csv("router", rate, data.router)]),
      chartIn(340, rates(data.router, router, fact, [["K10", "1 sender", "one"], ["K12", "2 senders", "two"]]))),
    section("Link", "Payload rate as a share of 10 Gb/s. Dashed: with the idle words of a 64b/66b gearbox. The diamond is a published value (figure 10).",
      bar(legend([["one", "one way"], ["two", "both ways"]]), [csv("link", rate, data.link)]), chartIn(340, rates(data.link, link, fact, [["K14", "one way", "one"]]))));
  followTheme();
}

showKarma();
