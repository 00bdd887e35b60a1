// SPDX-License-Identifier: Apache-2.0
// Rates of flows over time, each beside its max-min share.

// `load`: of the point, 0 for a burst. `step_us`: from one value to the next. `flows`: how many there are. `lines`: of the
// greatest flows, source, destination, and rates and shares in Mb/s; shares are empty where they are not known.
function ratesChart({ load, step_us, flows, lines }) {
  const { scale, unit } = timeUnit(step_us * 1e6 * lines[0][2].length);
  const at = (part) => (part * step_us * 1e6) / scale;
  const name = ([from, to]) => `${from} → ${to}`;
  const curve = (line, i, values, dashed) => ({
    name: dashed ? `${name(line)}, share` : name(line), type: "line", step: "start", symbol: curveStyle(i).symbol, symbolSize: 7, showSymbol: !dashed && values.length <= 60,
    data: [values[0], ...values].map((rate, part) => [at(part), rate / 1e3]),
    lineStyle: { width: dashed ? 1.5 : 2, type: dashed ? "dashed" : "solid" }, itemStyle: { color: tintOf(i, lines.length) },
  });
  const shares = lines[0][3].length > 0;
  const place = chartIn(360, () => ({
    grid: { left: 70, right: 20, top: 20, bottom: 50 },
    xAxis: axis({ type: "value", name: `time (${unit})`, nameGap: 30, min: 0, max: at(lines[0][2].length), axisLabel: { color: colour("soft"), showMaxLabel: false } }),
    yAxis: axis({ type: "value", name: "arrived (Gb/s)", nameGap: 50 }),
    tooltip: tooltip((items) => tip(`until ${threeDigits(items[0].value[0])} ${unit}`, items.map(({ seriesName, value }) => [seriesName, `${threeDigits(value[1])} Gb/s`])), { trigger: "axis" }),
    series: lines.flatMap((line, i) => [curve(line, i, line[2], false), ...(shares ? [curve(line, i, line[3], true)] : [])]),
  }));
  const keys = element("div", { class: "bar" });
  const colours = () => keys.replaceChildren(...lines.map((line, i) => element("span", { class: "key curve", style: `--tint: ${tintOf(i, lines.length)}`, "data-glyph": MARKS[i % MARKS.length][1] }, name(line))));
  colours();
  new MutationObserver(colours).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const csv = csvButton("rates", ["source", "destination", "until_us", "mbps", ...(shares ? ["share_mbps"] : [])], () =>
    lines.flatMap(([from, to, rates, due]) => rates.map((rate, part) => [from, to, (part + 1) * step_us, rate, ...(shares ? [due[part]] : [])])));
  const which = lines.length < flows ? `The ${lines.length} of ${flows} flows with the most bytes. ` : "";
  return section(load ? `Rates of flows at load ${formatPercent(load)}` : "Rates of flows", `${which}Payload that arrived in each ${threeDigits(step_us)} µs.${shares ? " Dashed: the max-min share of the flow while the flows of that moment run." : ""}`,
    bar([], [csv]), keys, place);
}
