// SPDX-License-Identifier: Apache-2.0
// Draws what is in view into a canvas: calls as slices, messages as arrows from sender to receiver.

const MOST_ARROWS = 1500; // drawn at once, about: the longest of those in view
const HEADS_UP_TO = 400; // arrows that have heads
const KIND_TINTS = ["#0072b2", "#d55e00", "#e69f00", "#009e73", "#cc79a7", "#7f7f7f"]; // for all kinds of colour vision (Okabe and Ito)
const FAINT = KIND_TINTS.length; // the kind of calls that are not looked for

const rgbOf = (tint) => [1, 3, 5].map((at) => parseInt(tint.slice(at, at + 2), 16));

// The canvas with its measures; `left` are the labels of ranks, `bottom` the axis of time.
function makeCanvas(canvas) {
  return { canvas, paper: canvas.getContext("2d"), rows: document.createElement("canvas"), left: 64, top: 6, bottom: 26, width: 0, height: 0, drawn: [] };
}

function resize(c) {
  const ratio = window.devicePixelRatio || 1, { clientWidth, clientHeight } = c.canvas;
  Object.assign(c, { canvasWidth: clientWidth, left: clientWidth < 600 ? 40 : 64 });
  Object.assign(c, { width: Math.max(clientWidth - c.left, 1), height: Math.max(clientHeight - c.top - c.bottom, 1) });
  Object.assign(c.canvas, { width: Math.round(clientWidth * ratio), height: Math.round(clientHeight * ratio) });
  c.paper.setTransform(ratio, 0, 0, ratio, 0, 0);
}

const xOf = (c, view, time) => c.left + ((time - view.t0) / (view.t1 - view.t0)) * c.width;
const yOf = (c, view, row) => c.top + ((row - view.row0) / (view.row1 - view.row0)) * c.height;
const timeAt = (c, view, x) => view.t0 + ((x - c.left) / c.width) * (view.t1 - view.t0);
const rowAt = (c, view, y) => view.row0 + ((y - c.top) / c.height) * (view.row1 - view.row0);

// Draws all of it, the critical path if it is wanted. `looked` has what the reader looks for (timeline_search.js), `chosen` what is chosen.
function drawTimeline(c, store, view, levels, looked, chosen, withPath) {
  const { paper } = c;
  paper.clearRect(0, 0, c.canvasWidth, c.height + c.top + c.bottom);
  paper.save();
  paper.beginPath();
  paper.rect(c.left, c.top, c.width, c.height);
  paper.clip();
  drawRows(c, store, view, levels);
  drawSlices(c, store, view, looked);
  drawMessages(c, store, view, looked);
  if (withPath && store.path) drawPath(c, view, store.path);
  drawChosen(c, store, view, chosen);
  paper.restore();
  drawAxes(c, store, view);
}

// All calls as one picture of a pixel's height for each rank, which is stretched to the height of a row.
function drawRows(c, store, view, levels) {
  const row0 = Math.floor(view.row0), row1 = Math.min(Math.ceil(view.row1), store.ranks), width = Math.max(Math.round(c.width), 1);
  if (row1 <= row0) return;
  const picture = new ImageData(width, row1 - row0);
  paintRows(store, levels, view.t0, view.t1, row0, row1, width, new Uint32Array(picture.data.buffer));
  Object.assign(c.rows, { width, height: row1 - row0 });
  c.rows.getContext("2d").putImageData(picture, 0, 0);
  c.paper.imageSmoothingEnabled = false;
  const high = c.height / (view.row1 - view.row0), gap = high >= 6 ? 0.12 * high : 0;
  if (gap === 0) return void c.paper.drawImage(c.rows, c.left, yOf(c, view, row0), c.width, high * (row1 - row0));
  for (let row = row0; row < row1; ++row) c.paper.drawImage(c.rows, 0, row - row0, width, 1, c.left, yOf(c, view, row) + gap, c.width, high - 2 * gap);
}

// Edges and names of calls that are wide enough.
function drawSlices(c, store, view, looked) {
  const { calls, data } = store, { paper } = c, high = c.height / (view.row1 - view.row0), perPs = c.width / (view.t1 - view.t0);
  if (high < 12) return;
  paper.font = "12px system-ui, sans-serif";
  paper.textBaseline = "middle";
  paper.strokeStyle = colour("page");
  for (let rank = Math.floor(view.row0); rank < Math.min(Math.ceil(view.row1), store.ranks); ++rank) {
    const end = calls.first[rank + 1], first = callAfter(calls, calls.first[rank], end, view.t0);
    if (callAfter(calls, first, end, view.t1) - first > c.width / 4) continue;
    for (let i = first; i < end && calls.begin[i] < view.t1; ++i) {
      const wide = calls.took[i] * perPs;
      if (wide < 1 && looked.call(i)) {
        paper.fillStyle = KIND_TINTS[calls.kindOf[calls.name[i]]]; // also of calls that take no time
        paper.fillRect(xOf(c, view, calls.begin[i]), yOf(c, view, rank) + 0.12 * high, 1, 0.76 * high);
      }
      if (wide < 4) continue;
      const x = xOf(c, view, calls.begin[i]), y = yOf(c, view, rank) + 0.12 * high, seen = Math.max(x, c.left);
      paper.strokeRect(x, y, wide, 0.76 * high);
      const space = Math.min(x + wide, c.left + c.width) - seen - 6, name = data.calls[calls.name[i]][0].replace("MPI_", "");
      if (space < 10 + 6 * name.length || !looked.call(i)) continue;
      paper.fillStyle = calls.kindOf[calls.name[i]] === 0 || calls.kindOf[calls.name[i]] > 4 ? "#ffffff" : "#111111";
      paper.fillText(name, seen + 4, y + 0.38 * high);
    }
  }
}

// The messages in view, the longest ones where there are too many to draw. They are what can be clicked.
function drawMessages(c, store, view, looked) {
  const { messages } = store, row0 = view.row0 - 1, row1 = view.row1;
  const inRows = (i) => (messages.src[i] > row0 && messages.src[i] < row1) || (messages.dst[i] > row0 && messages.dst[i] < row1);
  const found = (list) => {
    const some = [];
    eachMessage(store, list, view.t0, view.t1, (i) => void (inRows(i) && some.push(i)));
    return some;
  };
  let at = looked.lists.length - 1;
  c.drawn = found(looked.lists[at]);
  while (at > 0 && c.drawn.length <= MOST_ARROWS) {
    const more = found(looked.lists[--at]);
    if (more.length > MOST_ARROWS) {
      const share = (MOST_ARROWS - c.drawn.length) / (more.length - c.drawn.length);
      c.drawn = more.filter((i) => messages.rarity[i] > at || scattered(i ^ 0x5bd1) < share);
      break;
    }
    c.drawn = more;
  }
  const { paper } = c, few = c.drawn.length <= HEADS_UP_TO;
  paper.strokeStyle = paper.fillStyle = colour("text");
  paper.globalAlpha = few ? 0.75 : 0.28;
  paper.lineWidth = 1;
  paper.beginPath();
  for (const i of c.drawn) addArrow(c, store, view, i, few);
  paper.stroke();
  paper.globalAlpha = 1;
}

// How many messages there are in view.
function countMessages(store, view, looked) {
  const { messages } = store;
  let count = 0;
  eachMessage(store, looked.lists[0], view.t0, view.t1, (i) => void (count += (messages.src[i] > view.row0 - 1 && messages.src[i] < view.row1) || (messages.dst[i] > view.row0 - 1 && messages.dst[i] < view.row1)));
  return count;
}

// The two ends of a message in the picture.
function endsOf(c, { messages }, view, i) {
  const [src, dst] = [messages.src[i], messages.dst[i]], down = Math.sign(dst - src) * 0.3;
  return [xOf(c, view, messages.posted[i]), yOf(c, view, src + 0.5 + down), xOf(c, view, messages.posted[i] + messages.took[i]), yOf(c, view, dst + 0.5 - down)];
}

// Adds a message to the path that is drawn.
function addArrow(c, store, view, i, head) {
  const [x, y, toX, toY] = endsOf(c, store, view, i), length = Math.hypot(toX - x, toY - y);
  c.paper.moveTo(x, y);
  c.paper.lineTo(toX, toY);
  if (!head || length < 8) return;
  const back = Math.atan2(y - toY, x - toX);
  for (const turn of [-0.4, 0.4]) {
    c.paper.moveTo(toX, toY);
    c.paper.lineTo(toX + 7 * Math.cos(back + turn), toY + 7 * Math.sin(back + turn));
  }
}

// What is chosen, above all else: a message and those on its links, or the edge of a call.
function drawChosen(c, store, view, chosen) {
  const { paper } = c;
  const arrows = (list, tint, width, dash) => {
    Object.assign(paper, { strokeStyle: tint, lineWidth: width });
    paper.setLineDash(dash);
    paper.beginPath();
    for (const i of list) addArrow(c, store, view, i, true);
    paper.stroke();
    paper.setLineDash([]);
  };
  if (chosen.beside.length) arrows(chosen.beside, colour("bad"), 1.5, [5, 4]);
  if (chosen.message >= 0) {
    arrows([chosen.message], colour("card"), 6, []);
    arrows([chosen.message], colour("bad"), 3, []);
  }
  if (chosen.call >= 0) {
    const { calls } = store, rank = rankOfCall(store, chosen.call), high = c.height / (view.row1 - view.row0), x = xOf(c, view, calls.begin[chosen.call]);
    Object.assign(paper, { strokeStyle: colour("text"), lineWidth: 3 });
    paper.strokeRect(x, yOf(c, view, rank) + 1, Math.max(xOf(c, view, calls.begin[chosen.call] + calls.took[chosen.call]) - x, 2), Math.max(high - 2, 2));
    paper.lineWidth = 1;
  }
}

function drawAxes(c, store, view) {
  const { paper } = c, high = c.height / (view.row1 - view.row0), every = Math.max(1, Math.ceil(14 / high)), below = c.top + c.height;
  paper.font = "12px system-ui, sans-serif";
  Object.assign(paper, { fillStyle: colour("soft"), strokeStyle: colour("line"), textBaseline: "middle", textAlign: "right", lineWidth: 1 });
  for (let rank = Math.ceil(view.row0); rank < Math.min(view.row1, store.ranks); ++rank) {
    const y = yOf(c, view, rank + 0.5);
    if (rank % every === 0 && y > c.top + 4 && y < below - 4) paper.fillText(c.left >= 60 ? `rank ${rank}` : String(rank), c.left - 6, y);
  }
  paper.textBaseline = "alphabetic";
  const { step, found } = ticks(view, (110 / c.width) * (view.t1 - view.t0));
  for (const at of found) {
    const x = xOf(c, view, at), label = tickLabel(at, step), half = paper.measureText(label).width / 2;
    paper.fillRect(x, below, 1, 5);
    paper.textAlign = "center";
    if (x - half >= 0 && x + half <= c.canvasWidth) paper.fillText(label, x, below + 19);
  }
  paper.textAlign = "left";
  paper.strokeRect(c.left + 0.5, c.top + 0.5, c.width - 1, c.height - 1);
}

// The drawn message at a place of the picture, or -1.
function messageNear(c, store, view, x, y, within) {
  let best = -1, least = within;
  for (const i of c.drawn) {
    const [ax, ay, bx, by] = endsOf(c, store, view, i), long = (bx - ax) ** 2 + (by - ay) ** 2 || 1;
    const along = clamp(((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / long, 0, 1), far = Math.hypot(x - ax - along * (bx - ax), y - ay - along * (by - ay));
    if (far < least) [best, least] = [i, far];
  }
  return best;
}
