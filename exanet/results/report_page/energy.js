// SPDX-License-Identifier: Apache-2.0
// Power and energy of the network by part, and latency by priority. Rows are those of the tables in the result folder.

function formatSi(value, unit) {
  return value === 0 ? `0 ${unit}` : scaled(value, [[1e9, `G${unit}`], [1e6, `M${unit}`], [1e3, `k${unit}`], [1, unit], [1e-3, `m${unit}`], [1e-6, `µ${unit}`], [1e-9, `n${unit}`], [1e-12, `p${unit}`]]);
}

const watts = (value) => formatSi(value, "W");
const joules = (value) => formatSi(value, "J");
const ENERGY_COLUMNS = [
  ["part", String], ["count", formatCount], ["packets", formatCount], ["bits", formatCount], ["idle", watts], ["idle energy", joules],
  ["energy of traffic", joules], ["energy", joules], ["power", watts],
];
const nanoseconds = formatNs;
const CLASS_COLUMNS = [
  ["load", formatPercent], ["class", String], ["created", formatCount], ["measured", formatCount], ["offered", formatPercent], ["accepted", formatPercent],
  ["mean latency", nanoseconds], ["in the network", nanoseconds], ["median", nanoseconds], ["90 %", nanoseconds], ["99 %", nanoseconds], ["99.9 %", nanoseconds],
];

// `rows`: those of the table energy; with several loads each begins with its load.
function energySection(rows, loads) {
  if (!rows.length) return null;
  const columns = loads ? [["load", formatPercent], ...ENERGY_COLUMNS] : ENERGY_COLUMNS;
  return section("Watts and joules", "Idle power over the whole time, and the energy of each packet and bit that passed. The machine file has the constants.",
    bar([], [csvButton("energy", columns.map(([name]) => name), rows)]), table(columns, rows));
}

function classesSection(rows) {
  return rows.length ? section("By priority", "Routers grant packets with priority first. The other packets are bulk.", table(CLASS_COLUMNS, rows)) : null;
}
