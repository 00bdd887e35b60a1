// SPDX-License-Identifier: Apache-2.0
// Messages by size, and the latency of packets and messages.

function sizesSection(data) {
  if (!data.sizes.some((row) => row[2] > 0)) return section("How large the messages were", "No rank sent anything.");
  const used = data.sizes.map((row) => row[2] > 0);
  const rows = data.sizes.slice(Math.max(used.indexOf(true), 0), used.lastIndexOf(true) + 1);
  const range = ([lower, upper]) => (lower === upper ? formatBytes(lower) : `${formatBytes(lower)} – ${formatBytes(upper)}`);
  const measures = { messages: { column: 2, show: formatCount }, bytes: { column: 3, show: formatBytes } };
  let measure = "messages";

  const options = () => {
    const { column, show } = measures[measure];
    return {
      grid: { left: 78, right: 16, top: 14, bottom: 50 },
      xAxis: axis({ type: "category", data: rows.map(([, upper]) => formatBytes(upper).replace(/\.0+ /, " ")), name: "message size, up to", nameGap: 30 }),
      yAxis: axis({ type: "value", name: measure, nameGap: 62, axisLabel: { color: colour("soft"), formatter: show }, splitLine: { show: true, lineStyle: { color: colour("line") } } }),
      tooltip: tooltip(({ dataIndex }) => tip(range(rows[dataIndex]), [["messages", formatCount(rows[dataIndex][2])], ["bytes", formatBytes(rows[dataIndex][3])]]), { trigger: "item" }),
      series: [{ type: "bar", data: rows.map((row) => row[column]), itemStyle: { color: colour("one"), borderRadius: [3, 3, 0, 0] }, barCategoryGap: "12%" }],
    };
  };

  const place = chartIn(320, options);
  const choices = toggle([["messages", "Messages"], ["bytes", "Bytes"]], (key) => {
    measure = key;
    draw(place);
  });
  return section("How large the messages were", "Each bar is a range of sizes, which is twice as wide as the one before it.",
    bar(choices, [csvButton("message_sizes", ["lower_bytes", "upper_bytes", "messages", "bytes"], data.sizes)]), place,
    asTable([["from", formatBytes], ["to", formatBytes], ["messages", formatCount], ["bytes", formatBytes]], rows));
}

// The cumulative distribution as [[upper_ns, percent]], from the lower edge of the lowest bucket
function cumulative(buckets) {
  const all = buckets.reduce((sum, [, , count]) => sum + count, 0);
  let seen = 0;
  const points = buckets.map(([, upper, count]) => [upper, (100 * (seen += count)) / all]);
  return buckets.length ? [[Math.max(buckets[0][0], buckets[0][1] / 2), 0], ...points] : [];
}

function latencySection(data) {
  const kinds = [["packet", "one"], ["message", "two"]].filter(([kind]) => data.latency[kind].length);
  if (!kinds.length) return section("How long packets and messages took", "No rank sent anything.");
  const options = () => {
    const curves = kinds.map(([kind]) => cumulative(data.latency[kind]));
    const ends = curves.flat().map(([ns]) => ns).filter((ns) => ns > 0);
    return {
      grid: { left: 56, right: 24, top: 14, bottom: 50 },
      xAxis: axis({
        type: "log", name: "took at most (logarithmic)", nameGap: 30, min: 10 ** Math.floor(Math.log10(Math.min(...ends, 1e3))), max: 10 ** Math.ceil(Math.log10(Math.max(...ends, 1e3))),
        axisLabel: { color: colour("soft"), formatter: (ns) => formatTime(ns * 1e3).replace(/\.0+ /, " ") }, splitLine: { show: true, lineStyle: { color: colour("line") } },
      }),
      yAxis: axis({ type: "value", name: "share (%)", nameGap: 36, min: 0, max: 100, splitLine: { show: true, lineStyle: { color: colour("line") } } }),
      tooltip: tooltip((lines) => tip(`within ${formatTime(lines[0].axisValue * 1e3)}`, lines.map(({ seriesName, data: [ns, percent] }) => [`${seriesName}s (${formatTime(ns * 1e3)})`, `${percent.toFixed(2)} %`])), { trigger: "axis" }),
      series: kinds.map(([kind, tint], i) => ({
        type: "line", name: kind, data: curves[i], showSymbol: false, lineStyle: { color: colour(tint), width: 2 }, itemStyle: { color: colour(tint) },
      })),
    };
  };
  const figures = kinds.map(([kind]) => {
    const f = data.summary[`${kind}_latency`];
    return [`${kind}s`, f.count, f.p50_ns, f.p90_ns, f.p99_ns, f.max_ns];
  });
  const ns = (value) => formatTime(value * 1e3);
  const csv = csvButton("latency", ["kind", "lower_ns", "upper_ns", "count"], () => kinds.flatMap(([kind]) => data.latency[kind].map((row) => [kind, ...row])));
  return section("How long packets and messages took", "Share of packets and of messages with at most this latency. A packet's runs from router to router, a message's from posting to delivery.",
    bar(legend(kinds.map(([kind, tint]) => [tint, `${kind}s`])), [csv]), chartIn(320, options), table([["", null], ["count", formatCount], ["median", ns], ["90 %", ns], ["99 %", ns], ["longest", ns]], figures));
}

function callsSection(data) {
  if (!data.calls.length) return section("Which MPI calls the time went to", "No MPI call was made in virtual time.");
  const all = data.calls.reduce((sum, row) => sum + row[2], 0) || 1;
  const rows = data.calls.map(([call, calls, time, least, most]) => [call, calls, time, time / all, time / (calls || 1), least, most]);
  const columns = [["MPI call"], ["calls", formatCount], ["time, all ranks", formatTime], ["share", formatPercent], ["mean a call", formatTime], ["least of a rank", formatTime], ["most of a rank", formatTime]];
  return section("Which MPI calls the time went to", "Virtual time from a call to its return. It includes the time for which the rank waited.",
    bar([], [csvButton("mpi_calls", ["call", "calls", "time_ps", "least_ps", "most_ps"], data.calls)]), table(columns, rows, "share"));
}
