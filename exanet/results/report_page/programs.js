// SPDX-License-Identifier: Apache-2.0
// Several programs that a replay ran together: the time of each, and what it sent over time, with what it sent in a run
// alone.

const PROGRAM = { name: 0, ranks: 1, start: 2, took: 3, alone: 4, slowdown: 5 };

// `rows`: columns as in PROGRAM, the last two with --alone only. `sent`, `alone`: bytes in each part of the time, a row
// for each program. `part_ps`: length of a part.
function programsSection({ rows, sent, alone, part_ps }) {
  const { scale, unit } = timeUnit(part_ps * sent[0].length);
  const gigabits = (bytes) => (bytes * 8e3) / part_ps; // a second
  // A point at the end of each part, and one at the beginning.
  const curve = (name, values, i, type) => ({
    name, type: "line", step: "start", symbol: curveStyle(i).symbol, symbolSize: 7, showAllSymbol: "auto",
    data: [values[0], ...values].map((bytes, part) => [(part * part_ps) / scale, gigabits(bytes)]),
    lineStyle: { width: type === "solid" ? 2 : 1.5, type }, itemStyle: { color: tintOf(i, rows.length) },
  });
  const curves = () => rows.flatMap((row, i) => [
    curve(row[PROGRAM.name], sent[i], i, "solid"), ...(alone ? [curve(`${row[PROGRAM.name]}, alone`, alone[i], i, "dashed")] : []),
  ]);
  const place = chartIn(320, () => ({
    grid: { left: 70, right: 20, top: 20, bottom: 50 },
    xAxis: axis({ type: "value", name: `time (${unit})`, nameGap: 30, min: 0, max: (part_ps * sent[0].length) / scale, axisLabel: { color: colour("soft"), showMaxLabel: false } }),
    yAxis: axis({ type: "value", name: "sent (Gb/s)", nameGap: 50 }),
    tooltip: tooltip((items) => tip(`until ${threeDigits(items[0].value[0])} ${unit}`, items.map(({ seriesName, value }) => [seriesName, `${threeDigits(value[1])} Gb/s`])), { trigger: "axis" }),
    series: curves(),
  }));
  const keys = element("div", { class: "bar" });
  const colours = () => keys.replaceChildren(...rows.map((row, i) => element("span", { class: "key curve", style: `--tint: ${tintOf(i, rows.length)}`, "data-glyph": MARKS[i % MARKS.length][1] }, row[PROGRAM.name])));
  colours();
  new MutationObserver(colours).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const columns = [["program"], ["ranks"], ["start", formatTime], ["run time", formatTime], ...(alone ? [["alone", formatTime], ["slow-down", (times) => times.toFixed(3)]] : [])];
  const csv = csvButton("throughput", ["program", "start_ps", "bytes", ...(alone ? ["alone_bytes"] : [])], () =>
    rows.flatMap((row, i) => sent[i].map((bytes, part) => [row[PROGRAM.name], part * part_ps, bytes, ...(alone ? [alone[i][part]] : [])])));
  return section("Programs", `What each program sent over time. A message counts at the time of its posting.${alone ? " Dashed: the same program alone on the same nodes." : ""}`,
    bar([], [csv]), keys, place, table(columns, rows));
}
