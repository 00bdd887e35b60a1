// SPDX-License-Identifier: Apache-2.0
// The page of a sweep: a curve for each machine and traffic, the network of one of them, and all runs.

const AT = { offered: 0, accepted: 1, mean: 2, p99: 3, zero: 4, hops: 5, hottest: 6, fairness: 7, saturated: 8, runs: 9, load: 10, gbps: 11 };
const MOST_CURVES = 24; // drawn in one picture; the table has all

function curvesIn(curves, column, scale, options) {
  const drawn = (line) => line.points.filter((p) => p[column] > 0 && !(options.log && p[AT.saturated]));
  return (place) => ({
    grid: { left: 70, right: 20, top: 20, bottom: 50 },
    xAxis: axis({ type: "value", name: "offered load", nameGap: 30, min: 0 }),
    yAxis: options.log ? logAxis(place, curves.flatMap((line) => drawn(line).map((p) => p[column] * scale)), { name: options.name, nameGap: 50 })
      : axis({ type: "value", name: options.name, nameGap: 50 }),
    graphic: curves.some((line) => drawn(line).length) ? [] : [{ type: "text", left: "center", top: "middle", style: { text: "no run below saturation", fill: colour("soft"), fontSize: 14 } }],
    tooltip: tooltip(({ seriesName, value }) => tip(seriesName, [["offered", formatPercent(value[0])], [options.name, threeDigits(value[1])], ["accepted", `${threeDigits(value[3])} Gb/s`],
      ["means of", `${value[2]} runs`]]), { trigger: "item" }),
    series: curves.map((line, i) => ({
      name: line.name, type: "line", symbolSize: 7, symbol: curveStyle(i).symbol, data: drawn(line).map((p) => [p[AT.offered], p[column] * scale, p[AT.runs], p[AT.gbps]]),
      itemStyle: { color: tintOf(i, curves.length) }, lineStyle: { color: tintOf(i, curves.length), type: curveStyle(i).dash },
    })),
  });
}

function curveSection(curves) {
  const measures = {
    mean: ["Mean latency", AT.mean, 1e-3, { name: "mean latency (µs)", log: true }], p99: ["99 %", AT.p99, 1e-3, { name: "99 % latency (µs)", log: true }],
    accepted: ["Accepted load", AT.accepted, 1, { name: "accepted load" }], hottest: ["Hottest link", AT.hottest, 1, { name: "use of the hottest link" }],
    fairness: ["Fairness", AT.fairness, 1, { name: "Jain's index" }],
  };
  const keys = element("div", { class: "bar" });
  const picture = (first, height) => {
    let [, column, scale, options] = measures[first];
    const place = chartIn(height, (on) => curvesIn(curves, column, scale, options)(on));
    return { place, show: (key) => { [, column, scale, options] = measures[key]; draw(place); } };
  };
  const latency = picture("mean", 440), load = picture("accepted", 360);
  const colours = () => keys.replaceChildren(...curves.map(({ name }, i) => element("span", { class: "key curve", style: `--tint: ${tintOf(i, curves.length)}`, "data-glyph": curveGlyph(i) }, name)));
  new MutationObserver(colours).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const choice = (keysOf, show) => toggle(keysOf.map((key) => [key, measures[key][0]]), show);
  return [
    section("Latency against load", "Means over seeds. Beyond saturation latency grows with the measured time and counts only packets that arrived, so curves end there.", keys, bar(choice(["mean", "p99"], latency.show), []), latency.place),
    section("Throughput against load", "Load 1 fills one link of each sender.", bar(choice(["accepted", "hottest", "fairness"], load.show), []), load.place),
  ];
}

// The highest load of each, as on the terminal: the result of a search, or the highest accepted load.
function mostSection(data) {
  const rows = [...data.most].sort((a, b) => b[1] - a[1]);
  const columns = [[""], ["accepted", formatPercent], ["Gb/s", threeDigits], ["empty network", formatNs], ["hops", (v) => v.toFixed(2)], ["hottest link", formatPercent], ["fairness", (v) => v.toFixed(3)]];
  return section(data.search ? "The highest load before saturation" : "The highest load that each accepted", null, bar([], [csvButton("most", columns.map(([name]) => name), rows)]), table(columns, rows, "accepted"));
}

function jobsSection(jobs, third) {
  const columns = [[""], ["time to the end", formatNs], ["hops", (v) => v.toFixed(2)], [third, formatNs], ["hottest link", formatPercent], ["means of", (n) => `${n} runs`]];
  const rows = [...jobs].sort((a, b) => a[1] - b[1]);
  return section("Time until the last rank has finished", null, bar([], [csvButton("jobs", columns.map(([name]) => name), rows)]), table(columns, rows, "time to the end"));
}

function showSweep() {
  const data = JSON.parse(document.getElementById("data").textContent);
  document.querySelector("h1").textContent = data.title;
  const failed = data.runs.filter((row) => row[row.length - 1] !== null);
  const some = data.curves.slice(0, MOST_CURVES);
  const show = (value) => (value === null ? "" : typeof value === "number" && !Number.isInteger(value) ? threeDigits(value) : String(value));
  document.querySelector("main").append(...[
    failed.length ? element("section", { class: "incomplete", role: "alert" }, `${failed.length} of ${data.runs.length} runs failed: ${[...new Set(failed.map((row) => row[row.length - 1]))].slice(0, 3).join("; ")}`) : null,
    ...(data.search || !some.length ? [] : curveSection(some)),
    data.curves.length > MOST_CURVES ? element("p", { class: "say" }, `${MOST_CURVES} of ${data.curves.length} curves are drawn; runs.parquet has all.`) : null,
    data.jobs.length ? jobsSection(data.jobs, data.third) : null, data.curves.length ? mostSection(data) : null, networksSection(data.networks, data.drawings),
    section("All runs", null, bar([], [csvButton("runs", data.columns, data.runs)]), table(data.columns.map((name) => [name, show]), data.runs)),
  ].filter((part) => part !== null));
  followTheme();
}

showSweep();
