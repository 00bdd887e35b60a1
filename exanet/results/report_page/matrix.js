// SPDX-License-Identifier: Apache-2.0
// The traffic matrix: messages and bytes between each pair of ranks.

function matrixSection(data) {
  if (!data.matrix.length) return section("Who sent how much to whom", "No rank sent anything.");
  const size = Math.ceil(data.ranks.length / data.group);
  const labels = Array.from({ length: size }, (_, row) => rankLabel(data, row).replace(/ranks? /, ""));
  const measures = { bytes: { column: 3, show: formatBytes }, messages: { column: 2, show: formatCount } };
  let measure = "bytes";

  const options = () => {
    const { column, show } = measures[measure];
    const cells = data.matrix.filter((pair) => pair[column] > 0);
    // The colour scale is logarithmic, since a halo exchange and a reduction differ by orders of magnitude.
    const points = cells.map((pair) => [pair[0], pair[1], Math.log10(pair[column])]);
    const values = points.map((point) => point[2]);
    const most = Math.max(...values, 0);
    const least = Math.min(...values, most - 0.1);
    const side = (name, options) => axis({ type: "category", data: labels, name, splitArea: { show: false }, axisTick: { show: false }, axisLabel: { color: colour("soft"), ...sparse(size, name.startsWith("sender") ? 14 : 32) }, ...options });
    return {
      grid: { left: 60, right: 12, top: 40, bottom: 44 },
      xAxis: side("sender (rank)", { nameGap: 28 }),
      yAxis: side("receiver (rank)", { nameGap: 44, inverse: true }),
      visualMap: colourScale("scale", least, most, (value) => show(10 ** value)),
      tooltip: tooltip(({ dataIndex }) => {
        const [src, dst, messages, bytes] = cells[dataIndex];
        return tip(`${rankLabel(data, src)} → ${rankLabel(data, dst)}`, [["messages", formatCount(messages)], ["bytes", formatBytes(bytes)], ["mean message", formatBytes(bytes / (messages || 1))]]);
      }),
      series: [{ type: "heatmap", data: points, progressive: 0, emphasis: { itemStyle: { borderColor: colour("text"), borderWidth: 1 } } }],
    };
  };

  const place = chartIn(500, options);
  const choices = toggle([["bytes", "Bytes"], ["messages", "Messages"]], (key) => {
    measure = key;
    draw(place);
  });
  const grouped = data.group > 1 ? ` Each cell is ${data.group} × ${data.group} ranks; pairs.parquet has every pair.` : "";
  const csv = csvButton("matrix", data.group > 1 ? ["src_group", "dst_group", "messages", "bytes"] : ["src", "dst", "messages", "bytes"], data.matrix);
  return section("Who sent how much to whom", `The colour scale is logarithmic. Ranks of empty cells sent nothing to each other.${grouped}`, bar(choices, [csv]), place,
    asTable([["from", (row) => rankLabel(data, row)], ["to", (row) => rankLabel(data, row)], ["messages", formatCount], ["bytes", formatBytes]], data.matrix));
}
