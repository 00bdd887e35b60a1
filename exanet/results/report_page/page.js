// SPDX-License-Identifier: Apache-2.0
// The page of a run, from top to bottom.

function shortSection(lines) {
  return section("In short", null, element("ul", { class: "findings" }, ...lines.map((line) => element("li", {}, line))));
}

function figure(value, what, small) {
  return element("div", { class: "figure" }, element("span", {}, what), element("b", {}, value), small ? element("small", {}, small) : null);
}

function headline(data) {
  const { summary, run } = data;
  const hottest = Math.max(...data.links.map((link) => link[LINK.use]), 0);
  const slowdown = run.slowdown ? `${run.slowdown >= 10 ? Math.round(run.slowdown) : run.slowdown.toPrecision(2)} × virtual time` : "";
  const latency = summary.message_latency;
  const figures = [
    figure(formatTime(summary.virtual_ps), "virtual time"),
    figure(formatTime(run.wall_s * 1e12), "wall time", slowdown),
    figure(formatCount(summary.messages), "messages", `${formatCount(summary.packets)} packets`),
    figure(formatBytes(summary.message_bytes), "sent in messages"),
    figure(`${summary.wait_percent.toFixed(1)} %`, "of rank time waiting", `computing ${summary.compute_percent.toFixed(1)} %`),
    ...(summary.after_last_call_percent >= 1 ? [figure(`${summary.after_last_call_percent.toFixed(1)} %`, "of rank time after the last MPI call", "computing until MPI_Finalize")] : []),
    figure(latency.count ? formatTime(latency.p50_ns * 1e3) : "–", "median latency", latency.count ? `messages; 99 % within ${formatTime(latency.p99_ns * 1e3)}` : ""),
    figure(`${hottest.toFixed(1)} %`, "use of the hottest link"),
    ...(data.mean_hops === null ? [] : [figure(data.mean_hops.toFixed(2), "hops of a packet, mean", "links that it passed")]),
    ...(summary.energy.power_w === undefined ? [] : [figure(watts(summary.energy.power_w), "drawn by the network", joules(summary.energy.energy_j))]),
  ];
  const asked = summary.run;
  const conditions = [
    ["Program", (asked.program || []).join(" ")], ["Machine", asked.machine_name], ["Ranks", data.placed], ["Placement", asked.map], ["Faults", asked.faults], ["Compute time", asked.compute],
    ["MPI", asked.mpi], ["Seed", asked.seed], ["ExaNet", asked.exanet_version], ["Started", run.started], ["Simulated on", `${run.host_system}, ${run.host_cores} cores`],
    ["Machine description", `SHA-256 ${summary.machine_sha256.slice(0, 16)}…`],
  ].filter(([, value]) => value !== undefined && value !== null && value !== "");
  return element("section", {}, element("div", { class: "figures" }, ...figures), element("dl", {}, ...conditions.flatMap(([what, value]) => [element("dt", {}, what), element("dd", {}, String(value))])),
    element("details", {}, element("summary", {}, "The machine as simulated"), element("pre", {}, JSON.stringify(summary.machine, null, 2))));
}

function showPage() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const pair = (...sections) => element("div", { class: "pair" }, ...sections);
  document.querySelector("h1").textContent = data.title;
  const incomplete = data.summary.complete ? null : element("section", { class: "incomplete", role: "alert" }, `Incomplete: ${data.summary.reason || "the run was stopped"}. The page shows what was measured until then.`);
  document.querySelector("main").append(...[incomplete, data.short.length ? shortSection(data.short) : null, headline(data), data.programs ? programsSection(data.programs) : null, timelineSection(data), machineSection(data), data.gateways ? gatewaysSection(data.gateways) : null, pair(matrixSection(data), linksSection(data)),
    pair(sizesSection(data), latencySection(data)), callsSection(data), data.queues ? queuesSection(data.queues) : null, energySection(data.energy, false)].filter((part) => part !== null));
  followTheme();
}

showPage();
