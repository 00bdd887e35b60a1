// SPDX-License-Identifier: Apache-2.0
// The page of a trace: MPI calls over time, and their totals.

const MOST_CALLS = 8; // calls with a colour of their own; the others share one
const CALL = { name: 0, calls: 1, bytes: 2, took: 3 };
const PHASE = { from: 0, name: 2, calls: 3, bytes: 4, took: 5 };

const MEASURES = {
  took: ["Time in calls", "time of all ranks", formatTime],
  bytes: ["Bytes", "bytes", formatBytes],
  calls: ["Calls", "calls", formatCount],
};

// A row for each call with its values in each part of the time; the largest call first.
function areas(data, key) {
  const order = [...data.by_call].sort((a, b) => b[CALL[key]] - a[CALL[key]]).filter((row) => row[CALL[key]] > 0).map((row) => row[CALL.name]);
  const named = order.slice(0, MOST_CALLS), rows = new Map(named.map((name) => [name, new Array(data.parts).fill(0)]));
  if (order.length > MOST_CALLS) rows.set("others", new Array(data.parts).fill(0));
  for (const row of data.phases) {
    const into = rows.get(row[PHASE.name]) || rows.get("others");
    if (into) into[Math.floor(row[PHASE.from] / data.part_ps)] += row[PHASE[key]];
  }
  return [...rows];
}

function phaseOptions(data, key) {
  const [, name, format] = MEASURES[key], { scale, unit } = timeUnit(data.part_ps * data.parts), drawn = areas(data, key);
  const starts = Array.from({ length: data.parts }, (_, i) => threeDigits((i * data.part_ps) / scale));
  return {
    grid: { left: 90, right: 20, top: 20, bottom: 50 },
    xAxis: axis({ type: "category", data: starts, name: `begins after (${unit})`, nameGap: 30, axisLabel: { color: colour("soft"), ...sparse(data.parts, 12) } }),
    yAxis: axis({ type: "value", name, nameGap: 70, axisLabel: { color: colour("soft"), formatter: format } }),
    tooltip: tooltip((items) => tip(`from ${items[0].axisValue} ${unit} on`, items.filter(({ value }) => value > 0).map(({ seriesName, value }) => [seriesName, format(value)])), { trigger: "axis" }),
    series: drawn.map(([call, values], i) => ({
      name: call, type: "bar", stack: "calls", barCategoryGap: "10%", data: values, itemStyle: { color: tintOf(i, drawn.length) },
    })),
  };
}

function phaseSection(data) {
  let key = "took";
  const keys = element("div", { class: "bar" });
  const colours = () => keys.replaceChildren(...areas(data, key).map(([call], i, all) => element("span", { class: "key", style: `--tint: ${tintOf(i, all.length)}` }, call)));
  const place = chartIn(360, () => phaseOptions(data, key));
  const choices = toggle(Object.entries(MEASURES).map(([name, [label]]) => [name, label]), (chosen) => {
    key = chosen;
    colours();
    draw(place);
  });
  new MutationObserver(colours).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const columns = ["from_ps", "to_ps", "call", "calls", "bytes", "took_ps"];
  return section("Phases", `The run in ${data.parts} parts of equal length. A call counts in the part in which it begins.`, bar(choices, [csvButton("phases", columns, data.phases)]), keys, place);
}

function showTrace() {
  const data = JSON.parse(document.getElementById("data").textContent);
  document.querySelector("h1").textContent = data.title;
  const calls = [["call"], ["calls", formatCount], ["bytes", formatBytes], ["time", formatTime]];
  const sizes = [["from", formatBytes], ["messages", formatCount], ["bytes", formatBytes]];
  document.querySelector("main").append(...[
    data.reason === null ? null : element("section", { class: "incomplete", role: "alert" }, data.reason),
    element("p", { class: "say" }, `${formatCount(data.calls)} calls of ${data.ranks} ranks, ${data.mpi}`),
    data.phases.length ? phaseSection(data) : null,
    section("Calls", null, bar([], [csvButton("by_call", ["call", "calls", "bytes", "took_ps"], data.by_call)]), table(calls, data.by_call, "time")),
    data.by_size.length ? section("Messages point to point", null, table(sizes, data.by_size, "bytes")) : null,
  ].filter((part) => part !== null));
  followTheme();
}

showTrace();
