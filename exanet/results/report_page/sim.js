// SPDX-License-Identifier: Apache-2.0
// The page of a simulation under synthetic traffic: latency and accepted load against offered load, and the network at
// each load.

const POINT = { offered: 0, accepted: 1, mean: 2, p50: 3, p99: 4, zero: 5, saturated: 6, fairness: 7, most: 8, hops: 9, offeredGbps: 10, acceptedGbps: 11 };
const POINT_COLUMNS = [
  ["offered", formatPercent], ["accepted", formatPercent], ["mean latency", formatNs], ["median", formatNs],
  ["99 %", formatNs], ["empty network", formatNs], ["saturated", (yes) => (yes === null ? "?" : yes ? "yes" : "no")],
  ["fairness", (share) => share.toFixed(3)], ["hottest link", formatPercent], ["hops", (hops) => hops.toFixed(2)], ["offered Gb/s", threeDigits],
  ["accepted Gb/s", threeDigits],
];

// `beyond`: points beyond saturation, which count only packets that arrived; they are hollow and not joined by a line.
function curve(name, points, column, tint, scale, dashed, beyond) {
  return {
    name, type: "line", data: points.map((p) => [p[POINT.offered], p[column] * scale, p[POINT.offeredGbps], p[POINT.acceptedGbps]]), symbolSize: 7, itemStyle: { color: colour(tint) },
    symbol: beyond ? "emptyTriangle" : "emptyCircle", lineStyle: { color: colour(tint), type: dashed ? "dashed" : "solid", width: beyond ? 0 : 2 },
  };
}

// The payload rate of all senders together at a load of 1.
function inGbps(points) {
  const known = points.find((p) => p[POINT.offered] > 0);
  return known ? ` (1 is ${threeDigits(known[POINT.offeredGbps] / known[POINT.offered])} Gb/s of payload, all senders together)` : "";
}

function curves(points, yName, lines) {
  return (place) => ({
    grid: { left: 70, right: 20, top: 20, bottom: 50 },
    xAxis: axis({ type: "value", name: `offered load${inGbps(points)}`, nameGap: 30, min: 0 }),
    yAxis: lines.log ? logAxis(place, lines.flatMap(([, of, column, , scale]) => of.map((p) => p[column] * scale)), { name: yName, nameGap: 50 })
      : axis({ type: "value", name: yName, nameGap: 50 }),
    tooltip: tooltip(({ seriesName, value }) => tip(seriesName, [["offered", `${formatPercent(value[0])}, ${threeDigits(value[2])} Gb/s`], [yName, threeDigits(value[1])],
      ["accepted", `${threeDigits(value[3])} Gb/s`]]), { trigger: "item" }),
    series: lines.map((line) => curve(...line)),
  });
}

function showSimulation() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const known = data.points.filter((p) => p[POINT.mean] > 0);
  const points = known.filter((p) => !p[POINT.saturated]), beyond = known.filter((p) => p[POINT.saturated]);
  document.querySelector("h1").textContent = data.title;
  const latency = Object.assign([["mean", points, POINT.mean, "one", 1e-3], ["99 %", points, POINT.p99, "two", 1e-3], ["empty network", known, POINT.zero, "three", 1e-3, true],
    ["mean of arrived", beyond, POINT.mean, "one", 1e-3, false, true], ["99 % of arrived", beyond, POINT.p99, "two", 1e-3, false, true]].filter((line) => line[1].length > 0), { log: true });
  const load = [["accepted", data.points, POINT.accepted, "one", 1], ["offered", data.points, POINT.offered, "three", 1, true]];
  document.querySelector("main").append(...[
    section("Latency against load", "Time from the creation of a packet or message to its delivery, including the queue at its source. Beyond saturation that queue grows without end, so the curve ends there. Triangles show the latency of packets that arrived, which underestimates it.",
      bar(legend([["one", "mean"], ["two", "99 %"], ["three", "empty network"]]), [csvButton("points", POINT_COLUMNS.map(([name]) => name), data.points)]), chartIn(420, curves(points, "latency (µs)", latency))),
    section("Accepted against offered load", ["Load 1 fills one link of each sender.", data.most].join(" "), bar(legend([["one", "accepted"], ["three", "offered"]]), []), chartIn(320, curves(data.points, "accepted load", load))),
    ...data.rates.map(ratesChart),
    networksSection(data.networks, data.drawings),
    classesSection(data.classes),
    energySection(data.energy, true),
    section("All points", null, table(POINT_COLUMNS, data.points)),
    section("The run", null, element("pre", {}, JSON.stringify(data.run, null, 2)))].filter((part) => part !== null));
  followTheme();
}

showSimulation();
