// SPDX-License-Identifier: Apache-2.0
// The page of the network interface's bench: the cycles of a message, a write and a read by stage, streams, options,
// and published figures beside them.

const PAGES = { none: "no translation", hit: "TLB hit", miss: "TLB miss" };
const bytesOf = (count) => (count >= 1024 ? `${count / 1024} KiB` : `${count} B`);

// A bar for each of `all`, stacked from its stages.
function stageBars(all, names) {
  return () => ({
    grid: { left: 120, right: 20, top: 20, bottom: 50 },
    xAxis: axis({ type: "value", name: "cycles since the last store", nameGap: 30, min: 0 }),
    yAxis: axis({ type: "category", data: names, inverse: true }),
    tooltip: tooltip((item) => tip(item.seriesName, [[item.name, `${item.value} cycles`]]), { trigger: "item" }),
    series: all[0].stages.map((stage, i) => ({
      name: stage.stage, type: "bar", stack: "cycles", data: all.map((of) => of.stages[i].cycles), itemStyle: { color: tintOf(i, all[0].stages.length) },
    })),
  });
}

function stageSection(title, all, names) {
  const said = all.every((of) => of.model_equal) ? "The model has each packet, burst and answer in the same cycle as the gateware." : "The model differs from the gateware.";
  const columns = [["until", null], ...names.flatMap((name) => [[name, null], ["sum", null], ["model", null]])];
  const rows = all[0].stages.map((stage, i) => [stage.stage, ...all.flatMap((of) => [of.stages[i].cycles, of.stages[i].since_store_cycles, of.stages[i].model_cycles ?? ""])]);
  const flat = all.flatMap((of, i) => of.stages.map((stage) => [names[i], stage.stage, stage.cycles, stage.since_store_cycles, stage.model_cycles ?? ""]));
  const save = csvButton(title.toLowerCase().replace(/[^a-z0-9]+/g, "-"), ["of", "stage", "cycles", "since_store_cycles", "model_cycles"], flat);
  return section(title, said, bar([], [save]), chartIn(80 + 44 * all.length, stageBars(all, names)), table(columns, rows));
}

function showInterface() {
  const data = JSON.parse(document.getElementById("data").textContent);
  document.querySelector("h1").textContent = data.title;
  const main = document.querySelector("main");
  main.append(stageSection("A message, user to user", data.messages, data.messages.map((of) => bytesOf(of.bytes))));
  for (const read of [false, true]) {
    for (const count of [...new Set(data.transfers.map((of) => of.bytes))]) {
      const these = data.transfers.filter((of) => of.read === read && of.bytes === count);
      main.append(stageSection(`A ${read ? "read" : "write"} of ${bytesOf(count)}`, these, these.map((of) => PAGES[of.pages])));
    }
  }
  const fixed = (digits) => (value) => (value === "" ? "" : value.toFixed(digits));
  const streams = [
    ...data.packetizer.map((of) => [`messages of ${of.payload_bytes} B, back to back`, of.cycles_a_packet, ""]),
    ["writes of 64 B, 64 under way, to the node itself", data.small_writes.cycles_a_write, ""],
    ...data.large.map((of) => [`packets of ${of.read ? "reads" : "writes"} of 16 KiB, ${of.at_a_time} at a time`, of.cycles_a_packet, of.percent_of_link]),
  ];
  const where = (of) => (of.to_itself ? "to the node itself" : "over the link");
  main.append(
    section("Streams", "Mean number of cycles from one header to the next.", table([["", null], ["cycles each", fixed(2)], ["% of the link", fixed(1)]], streams)),
    section("Translation", `Writes of 512 B. Published: ${data.published.A04.value} % more bandwidth with a TLB (A04).`,
      table([["", null], ["", null], ["cycles each", fixed(2)], ["bandwidth, %", fixed(0)], ["walks each", fixed(0)]],
        data.translation.map((of) => [of.what, where(of), of.cycles_a_packet, of.bandwidth_percent, of.walks_a_packet]))),
    section("Reads of memory ahead", `Cycles of a write of 16 KiB. Published: up to ${data.published.A03.value} % of time saved (A03).`,
      table([["memory, cycles", null], ["", null], ["reads at a time", null], ["cycles", null], ["time saved, %", fixed(0)]],
        data.reads_ahead.map((of) => [of.memory_cycles, where(of), of.reads || "16", of.cycles, of.time_saved_percent]))),
    section("Completions", "Cycles from the first store until a process of the other node has found the bytes.",
      table([["bytes", null], ["fast send", null], ["write and fence", null], ["write, its end polled, and a message", null]],
        data.completions.map((of) => [of.bytes, of.message, of.write_and_fence, of.write_and_message]))),
    section("Comparison with published figures", "", table([["row", null], ["published", null], ["ours", null], ["what differs", null]], data.beside)));
  followTheme();
}

showInterface();
