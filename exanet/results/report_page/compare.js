// SPDX-License-Identifier: Apache-2.0
// The page of a comparison: sentences, what was asked for differently, and views with a picture for each run on the same
// axes. What is chosen in one is marked in all.

const formatPoints = (percent) => `${percent.toFixed(1)} %`;

function formatOf(figure) {
  if (figure.endsWith("_ps")) return formatTime;
  if (figure.endsWith("_ns")) return (ns) => formatTime(ns * 1e3);
  if (figure.endsWith("_bytes")) return formatBytes;
  if (figure.endsWith("_percent")) return formatPoints;
  return (value) => (Number.isInteger(value) ? formatCount(value) : value < 1 ? value.toFixed(3) : threeDigits(value));
}

const orDash = (format) => (value) => (value === null || value === undefined ? "–" : format(value));

// A change as in "+12.0 µs (+3.4 %)"; a dash where one of both has no such value.
function changeText(first, value, format) {
  if (first === null || value === null) return "–";
  if (first === value) return "=";
  const sign = value > first ? "+" : "-";
  if (format === formatPoints) return `${sign}${Math.abs(value - first).toFixed(1)} points`;
  return `${sign}${format(Math.abs(value - first))}${first ? ` (${sign}${Math.abs((100 * (value - first)) / first).toFixed(1)} %)` : ""}`;
}

// A figure's name as words: `packet_latency_p50_ns` is the median of the latency of packets.
const figureWords = (figure) => figure.replace("_p50_ns", ", median").replace("_p99_ns", ", 99 %").replace("_ps", " time").replace("_ns", "").replaceAll("_", " ");

// The largest size of a class, by its least one.
const mostBytes = (least) => (least === "0" ? 1 : 2 * Number(least) - 2);
const sizeLabel = (least) => (Number(least) === mostBytes(least) ? formatBytes(Number(least)) : `${formatBytes(Number(least))} to ${formatBytes(mostBytes(least))}`);
const itemLabel = (view, item) => (view.key === "rank" ? `rank ${item}` : view.key === "size" ? sizeLabel(item)
  : view.key === "load" ? `load ${item}` : { compute: "computing", wait: "waiting", library: "in the library" }[item] || item);
const axisLabelOf = (view, item) => (view.key === "size" ? formatBytes(mostBytes(item)).replace(/\.0+ /, " ") : view.key === "rank" || view.key === "load" ? item : view.key === "link" ? item.split(" → ")[0] : itemLabel(view, item));

// The options of one run's picture of a view; `most` is the end of the axis of all runs.
function sideOptions(view, figure, run, name, most, place) {
  const format = formatOf(figure.key), values = figure.values[run], narrow = place.clientWidth < 480;
  const horizontal = view.shape === "rows", labels = view.items.map((item) => axisLabelOf(view, item));
  const left = horizontal ? (narrow ? 130 : 190) : 74;
  const items = axis({
    type: "category", data: labels, inverse: horizontal, axisTick: { show: false }, name: horizontal ? "" : view.key === "size" ? "size, up to" : view.word, nameGap: 28,
    axisLabel: { color: colour("soft"), width: left - 12, overflow: "truncate", ...(horizontal ? { interval: 0 } : sparse(labels.length, narrow ? 8 : 14)) },
  });
  const scale = axis({
    type: "value", min: 0, max: most || 1, name: figure.label, nameGap: horizontal ? 26 : 58, splitNumber: narrow ? 3 : 5, splitLine: { show: true, lineStyle: { color: colour("line") } },
    axisLabel: { color: colour("soft"), formatter: format, hideOverlap: true, showMaxLabel: false },
  });
  const mark = (item) => (chosen.get(view.key) === item ? { symbolSize: 15 } : {});
  const data = view.items.map((item, i) => ({ value: values[i], itemStyle: { color: colour(run === 0 ? "three" : "one"), opacity: paleness(view.key, item) }, ...mark(item) }));
  return {
    grid: { left, right: 16, top: 8, bottom: 44 },
    xAxis: horizontal ? scale : items,
    yAxis: horizontal ? items : scale,
    tooltip: tooltip(({ dataIndex }) => tip(`${name}, ${itemLabel(view, view.items[dataIndex])}`, [[figure.label, orDash(format)(values[dataIndex])]])),
    series: [view.shape === "curve" ? { type: "line", data, symbolSize: 8, lineStyle: { color: colour(run === 0 ? "three" : "one"), width: 2 } }
      : { type: "bar", data, barCategoryGap: view.items.length > 60 ? "0%" : "20%" }],
  };
}

// The item that has changed most between the first run and another one; -1 where none has.
function mostChanged(figure) {
  const changes = figure.values[0].map((first, i) => Math.max(...figure.values.slice(1).map((values) => (first === null || values[i] === null ? 0 : Math.abs(values[i] - first)))));
  const most = Math.max(...changes);
  return most > 0 ? changes.indexOf(most) : -1;
}

function viewSection(view, names) {
  let figure = view.figures.find(({ key }) => key === view.chosen_first);
  const most = () => Math.max(...figure.values.flat().filter((value) => value !== null), 0) * 1.02;
  const height = view.shape === "rows" ? 60 + 24 * view.items.length : 300;
  const { box, redraw } = sideBySide(names, view.title, height, (run, place) => sideOptions(view, figure, run, names[run], most(), place), ({ dataIndex }) => choose(view.key, view.items[dataIndex]));

  const choice = element("select", { "aria-label": `chosen ${view.word}` }, element("option", { value: "" }, "none chosen"), ...view.items.map((item) => element("option", { value: item }, itemLabel(view, item))));
  choice.addEventListener("change", () => choose(view.key, choice.value === "" ? undefined : choice.value));
  const said = element("p", { class: "say readout", role: "status" });
  const rows = () => view.items.map((item, i) => [item, ...figure.values.map((values) => values[i]), ...figure.values.slice(1).map((values) => [figure.values[0][i], values[i]])]);
  const tablePlace = element("div", {});
  const details = element("details", {}, element("summary", {}, `Show as a table (${view.items.length} rows)`), tablePlace);
  const makeTable = () => {
    if (!details.open) return;
    const format = formatOf(figure.key);
    const columns = [[view.word, (item) => itemLabel(view, item)], ...names.map((name) => [name, orDash(format)]), ...names.slice(1).map((name) => [`change, ${name}`, ([first, value]) => changeText(first, value, format)])];
    tablePlace.replaceChildren(table(columns, rows()));
    tablePlace.querySelectorAll("tbody tr").forEach((row, i) => {
      row.classList.toggle("chosen", chosen.get(view.key) === view.items[i]);
      row.addEventListener("click", () => choose(view.key, view.items[i]));
    });
  };
  const refresh = () => {
    const i = chosen.has(view.key) ? view.items.indexOf(chosen.get(view.key)) : mostChanged(figure);
    if (i < 0) return said.replaceChildren(chosen.has(view.key) ? `${itemLabel(view, chosen.get(view.key))} is not in this picture.` : `${figure.label}: the same in all runs`);
    const format = formatOf(figure.key), first = figure.values[0][i];
    const parts = names.map((name, run) => `${name} ${orDash(format)(figure.values[run][i])}${run ? ` (${changeText(first, figure.values[run][i], format)})` : ""}`);
    return said.replaceChildren(`${chosen.has(view.key) ? "Chosen" : "Changed most"}: ${itemLabel(view, view.items[i])}, ${figure.label}: ${parts.join("; ")}`);
  };
  const follow = (kind) => {
    if (kind !== view.key) return;
    choice.value = view.items.includes(chosen.get(kind)) ? chosen.get(kind) : "";
    refresh();
    makeTable();
    redraw();
  };
  watching.push(follow);
  details.addEventListener("toggle", makeTable);
  const buttons = toggle(view.figures.map(({ key, label }) => [key, label]), (key) => {
    figure = view.figures.find((one) => one.key === key);
    follow(view.key);
  });
  buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(view.figures[i].key === figure.key)));
  refresh();
  const csv = csvButton(view.key, [view.word, "figure", ...names], () => view.figures.flatMap(({ key, values }) => view.items.map((item, i) => [item, key, ...values.map((run) => run[i] ?? "")])));
  const more = view.left_out > 0 ? ` ${view.left_out} more, which changed less, are in differences.parquet.` : "";
  return section(view.title, `All runs have the same axes. Click a ${view.word}, or choose it, to see it in all runs.${more}`, bar(buttons, [element("label", {}, `${view.word}: `, choice), csv]), said, box, details);
}

function showComparison() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const [first] = data.runs, timed = data.runs.every((run) => run[4] !== null);
  document.querySelector("h1").textContent = data.title;
  const columns = [["run"], ["program", orDash(String)], ["machine", orDash(String)], ["ranks", orDash(String)], ...(timed ? [["virtual time", formatTime], ["change"]] : [])];
  const runs = data.runs.map((run, i) => [...run.slice(0, 4), ...(timed ? [run[4], i ? changeText(first[4], run[4], formatTime) : ""] : [])]);
  const totals = data.totals.filter(([, ...values]) => values.length);
  const format = (row) => orDash(formatOf(row[0]));
  document.querySelector("main").append(...[
    element("section", { class: "findings" }, element("h2", {}, "In short"), element("ul", {}, ...data.sentences.map((sentence) => element("li", {}, sentence)))),
    section("The runs", "The first is what the others are compared with.", table(columns, runs)),
    data.settings.length ? section("What was asked for differently", null, table([["key"], ...data.names.map((name) => [name, orDash(String)])], data.settings))
      : section("What was asked for differently", "Nothing: options and machine are the same."),
    data.waiting ? waitingSection(data.waiting, data.names) : null,
    ...data.views.map((view) => viewSection(view, data.names)),
    totals.length ? section("Totals", null, table([["figure"], ...data.names.map((name) => [name])], totals.map((row) => [figureWords(row[0]), ...row.slice(1).map(format(row))]))) : null,
  ].filter((part) => part !== null));
  followTheme();
}

showComparison();
