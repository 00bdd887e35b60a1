// SPDX-License-Identifier: Apache-2.0
// The critical path: a line over the rows of ranks, from the beginning of the run to its end.

const PATH_TINT = "#f0e442"; // of Okabe and Ito's colours the one that no call has; its edge has the colour of text

// Of `parts` n is from begin[n] to begin[n + 1], and leads from rank at[n] to at[n + 1]; null without a path.
function pathOf(c, words) {
  const parts = c.path_took.length, begin = new Float64Array(parts + 1), at = new Uint32Array(parts + 1);
  if (!words || !parts) return null;
  for (let i = 0; i < parts; ++i) begin[i + 1] = begin[i] + c.path_took[i];
  at.set(c.path_at);
  at[parts] = words.last;
  return { parts, begin, at, words };
}

// The first part that ends after `time`.
function partAfter({ parts, begin }, time) {
  let low = 0, high = parts;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (begin[middle + 1] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The places that the line goes through; where several are in a pixel's width, only the highest and the lowest of them.
function pathPlaces(c, view, path) {
  const places = [], y = (i) => yOf(c, view, path.at[i] + 0.5);
  for (let i = partAfter(path, view.t0); i <= path.parts; ++i) {
    const x = xOf(c, view, path.begin[i]), last = places.at(-1);
    if (last && x - last.x < 1) Object.assign(last, { low: Math.min(last.low, y(i)), high: Math.max(last.high, y(i)), y: y(i) });
    else places.push({ x, first: y(i), low: y(i), high: y(i), y: y(i) });
    if (path.begin[i] > view.t1) break;
  }
  return places;
}

function drawPath(c, view, path) {
  const { paper } = c;
  paper.beginPath();
  for (const { x, first, low, high, y } of pathPlaces(c, view, path)) for (const each of new Set([first, low, high, y])) paper.lineTo(x, each);
  paper.lineJoin = "round";
  for (const [strokeStyle, lineWidth] of [[colour("text"), 6], [PATH_TINT, 3]]) {
    Object.assign(paper, { strokeStyle, lineWidth });
    paper.stroke();
  }
  paper.lineWidth = 1;
}

// What it is made of, for readers of screens as well.
function pathTables({ words }) {
  const share = (percent) => `${percent.toFixed(1)} %`;
  const rows = words.shares.map(([what, ps, percent]) => [what, formatTime(ps), share(percent)]), parts = words.longest.map(([text, begin, took, percent]) => [text, exactTime(begin), formatTime(took), share(percent)]);
  return element("details", { id: "path" }, element("summary", {}, "Critical path: what the end of the run waited for"),
    table([["what"], ["time"], ["share"]], rows), element("p", { class: "say" }, "Its longest parts:"), table([["part"], ["begins"], ["took"], ["share"]], parts));
}
