// SPDX-License-Identifier: Apache-2.0
// What one has chosen in a comparison, and ranks over time with the same parts of time for all runs.

// By the kind of item (rank, call, link, ...): the chosen one's name, or nothing. Views of the same kind share it.
const chosen = new Map();
const watching = []; // functions that are called with the kind when its choice changes

function choose(kind, item) {
  if (item === undefined || chosen.get(kind) === item) chosen.delete(kind);
  else chosen.set(kind, item);
  for (const follow of watching) follow(kind);
}

// What is not chosen is drawn paler, so that the chosen one stands out in each run.
const paleness = (kind, item) => (chosen.has(kind) && chosen.get(kind) !== item ? 0.25 : 1);

// A picture for each run, side by side where there is space; `options(run)` draws one, and `clicked` gets what was
// clicked.
function sideBySide(names, title, height, options, clicked) {
  const sides = names.map((name, run) => {
    const place = chartIn(height, (on) => options(run, on), (chart) => chart.on("click", clicked));
    place.setAttribute("aria-label", `${title}: ${name}`);
    return element("figure", { class: "side" }, element("figcaption", {}, name), place);
  });
  return { box: element("div", { class: "sides" }, ...sides), redraw: () => sides.forEach((side) => draw(side.lastChild)) };
}

// `waiting`: part_ps, group (ranks of a row), rows of per mille, a list for each run.
function waitingSection({ part_ps, group, rows }, names) {
  const title = "When ranks waited";
  const parts = Math.max(...rows.map((run) => run[0]?.length ?? 0)), ranks = Math.max(...rows.map((run) => run.length));
  const { scale, unit } = timeUnit(part_ps * parts);
  const at = (part) => threeDigits((part * part_ps) / scale);
  const label = (row) => (group === 1 ? `rank ${row}` : `ranks ${row * group}–${(row + 1) * group - 1}`);
  const rowOf = () => (chosen.has("rank") ? Math.floor(Number(chosen.get("rank")) / group) : -1);
  const options = (run) => ({
    grid: { left: 52, right: 12, top: 40, bottom: 44 },
    xAxis: axis({ type: "category", data: Array.from({ length: parts }, (_, part) => at(part)), name: `virtual time (${unit})`, nameGap: 28, axisTick: { show: false }, axisLabel: { color: colour("soft"), ...sparse(parts, 6) } }),
    yAxis: axis({ type: "category", inverse: true, data: Array.from({ length: ranks }, (_, row) => row * group), name: "rank", nameGap: 34, axisTick: { show: false }, axisLabel: { color: colour("soft"), ...sparse(ranks, 16) } }),
    visualMap: colourScale("scale", 0, 1000, (v) => `${Math.round(v / 10)} %`),
    tooltip: tooltip(({ value: [part, row, share] }) => tip(`${names[run]}, ${label(row)}`, [["from", `${at(part)} ${unit}`], ["waiting", `${(share / 10).toFixed(1)} %`]])),
    series: [{
      type: "heatmap", progressive: 0,
      data: rows[run].flatMap((row, r) => row.map((share, part) => ({ value: [part, r, share], itemStyle: { opacity: rowOf() < 0 || rowOf() === r ? 1 : 0.25 } }))),
    }],
  });
  const height = Math.max(240, Math.min(90 + ranks * 12, 520));
  const { box, redraw } = sideBySide(names, title, height, options, ({ value }) => choose("rank", String(value[1] * group)));
  watching.push((kind) => kind === "rank" && redraw());
  return section(title, `Darker (in the dark theme: brighter): the rank waited longer. All runs have the same axis of time. A rank that stays pale while the others wait is the one that they wait for.${group > 1 ? ` Each row is ${group} ranks.` : ""} Click a rank to see it in all runs.`, box);
}
