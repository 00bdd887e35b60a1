// SPDX-License-Identifier: Apache-2.0
// The page of a timeline: the picture and what moves it, what is looked for, what is chosen.

const TABLE_ROWS = 100;
const KEYS = "Arrow keys move the picture, + and − zoom in time, [ and ] zoom on ranks, 0 shows the whole run, N and P choose the next and previous message, Shift with N and P the next and previous call, C shows or hides the critical path, Enter zooms to what is chosen, Escape lets go of it.";

let timeline; // all that is shown: {store, view, canvas, levels, looked, chosen, counts}

function makePicture(store) {
  const canvas = element("canvas", { class: "timeline", tabindex: "0", role: "application", "aria-roledescription": "timeline", "aria-label": `Calls and messages of ${store.ranks} ranks over virtual time. ${KEYS}` });
  const looked = lookedFor(store, { name: -1, ranks: null, least: 0, most: Infinity });
  const shown = { store, view: makeView(store), canvas: makeCanvas(canvas), looked, chosen: { message: -1, call: -1, beside: [] }, waits: false, withPath: true };
  shown.levels = levelsOf(store, looked);
  return shown;
}

// In the colours of the present theme.
function levelsOf(store, looked) {
  const { kindOf, name } = store.calls, kind = looked.all ? (i) => kindOf[name[i]] : (i) => (looked.call(i) ? kindOf[name[i]] : FAINT);
  return makeLevels(store, [...KIND_TINTS, colour("line")].map(rgbOf), rgbOf(colour("page")), kind);
}

// Draws when the browser is next ready for it.
function redraw() {
  if (timeline.waits) return;
  timeline.waits = true;
  requestAnimationFrame(drawNow);
}

function drawNow() {
  const { canvas, store, view, levels, looked, chosen } = timeline;
  timeline.waits = false;
  drawTimeline(canvas, store, view, levels, looked, chosen, timeline.withPath);
  clearTimeout(timeline.says);
  timeline.says = setTimeout(sayView, 250);
}

// Says in words what is in view, for readers of screens as well; fills the tables that are open.
function sayView() {
  const { view, store, looked, canvas } = timeline, counts = { shown: canvas.drawn.length, all: countMessages(store, view, looked) }, last = Math.min(Math.ceil(view.row1), store.ranks) - 1;
  const some = counts.shown < counts.all ? ` ${formatCount(counts.shown)} of ${formatCount(counts.all)} messages in view are drawn, the longest first; zoom in for the others.` : ` ${formatCount(counts.all)} messages in view, all drawn.`;
  document.getElementById("said").textContent = `Ranks ${Math.floor(view.row0)} to ${last}, from ${exactTime(view.t0)} to ${exactTime(view.t1)} (${formatTime(view.t1 - view.t0)}).${some}`;
  for (const details of document.querySelectorAll("details.inview")) if (details.open) details.fill();
}

function choose({ message = -1, call = -1 }) {
  const { store } = timeline, place = document.getElementById("detail");
  const found = message >= 0 ? describeMessage(store, message) : call >= 0 ? describeCall(store, call) : null;
  timeline.chosen = { message, call, beside: found?.beside || [] };
  const button = (label, does) => {
    const made = element("button", { type: "button" }, label);
    made.addEventListener("click", does);
    return made;
  };
  const buttons = found ? [button("Zoom to it", zoomToChosen), ...(found.last >= 0 ? [button("Show that message", () => choose({ message: found.last }))] : []), button("Let go", () => choose({}))] : [];
  place.replaceChildren(element("h2", {}, found ? found.title : "Nothing is chosen"), ...(found ? [element("div", { class: "bar" }, ...buttons), ...found.elements] : [element("p", { class: "say" }, "Click a message or a call in the picture, or press N.")]));
  redraw();
}

function zoomToChosen() {
  const { store, view, chosen } = timeline, { calls, messages } = store;
  if (chosen.message >= 0) lookAt(view, messages.posted[chosen.message], delivered(store, chosen.message), [messages.src[chosen.message], messages.dst[chosen.message]]);
  if (chosen.call >= 0) lookAt(view, calls.begin[chosen.call], calls.begin[chosen.call] + calls.took[chosen.call], [rankOfCall(store, chosen.call)]);
  redraw();
}

// Chooses the next message or call, and comes to it where it is not in view.
function chooseNext(what, by) {
  const { store, view, looked, chosen } = timeline, { calls, messages } = store;
  const from = chosen[what] >= 0 ? chosen[what] : what === "message" ? placeInList(messages, messages.lists[0].index, view.t0) - (by > 0 ? 1 : 0) : callAfter(calls, calls.first[Math.floor(view.row0)], calls.first[Math.floor(view.row0) + 1], view.t0) - (by > 0 ? 1 : 0);
  const found = nextOf(looked[what], what === "message" ? messages.count : calls.count, from, by);
  if (found < 0) return void (document.getElementById("said").textContent = `There is no ${by > 0 ? "later" : "earlier"} ${what} that is looked for.`);
  choose({ [what]: found });
  if (what === "message") comeTo(view, messages.posted[found], [messages.src[found], messages.dst[found]]);
  else comeTo(view, calls.begin[found], [rankOfCall(store, found)]);
}

function onKey(event) {
  const { view } = timeline, moves = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1], PageUp: [0, -0.9], PageDown: [0, 0.9] }, { key } = event;
  const does = {
    "+": () => zoomTime(view, 1 / 1.5), "=": () => zoomTime(view, 1 / 1.5), "-": () => zoomTime(view, 1.5), "]": () => zoomRanks(view, 1 / 1.5), "[": () => zoomRanks(view, 1.5), 0: () => look(view, view.all),
    Home: () => look(view, { t0: 0, t1: view.t1 - view.t0 }), End: () => look(view, { t0: view.all.t1 - (view.t1 - view.t0), t1: view.all.t1 }),
    n: () => chooseNext("message", 1), p: () => chooseNext("message", -1), N: () => chooseNext("call", 1), P: () => chooseNext("call", -1), c: () => showPath(!timeline.withPath), Enter: zoomToChosen, Escape: () => choose({}),
  }[key] || (moves[key] && (() => pan(view, ...moves[key])));
  if (!does || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  does();
  redraw();
}

// Shows the critical path, or hides it.
function showPath(shown) {
  const box = document.getElementById("with-path");
  if (!box) return void (document.getElementById("said").textContent = "These results have no critical path.");
  timeline.withPath = box.checked = shown;
  redraw();
}

function pathBox() {
  const box = element("input", { id: "with-path", type: "checkbox" });
  box.checked = timeline.withPath;
  box.addEventListener("change", () => showPath(box.checked));
  return element("span", { class: "key", style: `--tint: ${PATH_TINT}` }, box, element("label", { for: "with-path" }, " critical path"));
}

// The mouse and fingers: drags move, a wheel zooms where the picture has the focus or Ctrl is held, two fingers zoom.
function listen(place) {
  const { canvas: c, view } = timeline, down = new Map();
  let moved = 0;
  place.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== place) return;
    event.preventDefault();
    const factor = 1.0015 ** event.deltaY;
    if (event.shiftKey) zoomRanks(view, 1.0015 ** (event.deltaY || event.deltaX), rowAt(c, view, event.offsetY));
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(view, event.deltaX / c.width, 0);
    else zoomTime(view, factor, timeAt(c, view, event.offsetX));
    redraw();
  }, { passive: false });
  place.addEventListener("pointerdown", (event) => {
    if (down.size === 0) moved = 0;
    down.set(event.pointerId, event);
    place.setPointerCapture(event.pointerId);
  });
  place.addEventListener("pointermove", (event) => {
    const before = down.get(event.pointerId);
    if (!before) return;
    const [dx, dy] = [event.offsetX - before.offsetX, event.offsetY - before.offsetY];
    moved += Math.abs(dx) + Math.abs(dy);
    const other = [...down.values()].find(({ pointerId }) => pointerId !== event.pointerId);
    if (other) zoomTime(view, Math.max(Math.abs(before.offsetX - other.offsetX), 10) / Math.max(Math.abs(event.offsetX - other.offsetX), 10), timeAt(c, view, other.offsetX));
    else pan(view, -dx / c.width, -dy / c.height);
    down.set(event.pointerId, event);
    redraw();
  });
  place.addEventListener("pointerup", (event) => {
    if (down.delete(event.pointerId) && moved < 5) chooseAt(event.offsetX, event.offsetY);
  });
  place.addEventListener("pointercancel", (event) => down.delete(event.pointerId));
  place.addEventListener("dblclick", (event) => {
    zoomTime(view, 0.25, timeAt(c, view, event.offsetX));
    redraw();
  });
  place.addEventListener("keydown", onKey);
}

// The message at a place of the picture, or else the call.
function chooseAt(x, y) {
  const { canvas: c, store, view } = timeline, message = messageNear(c, store, view, x, y, 5), rank = Math.floor(rowAt(c, view, y));
  if (message >= 0) return choose({ message });
  choose({ call: rank >= 0 && rank < store.ranks ? callAt(store, rank, timeAt(c, view, x)) : -1 });
}

// The fields of what is looked for.
function searchBar(store) {
  const field = (label, id, hint) => [element("label", { for: id }, label), element("input", { id, type: "text", size: "9", placeholder: hint, autocomplete: "off" })];
  const names = element("select", { id: "call" }, element("option", { value: "-1" }, "all calls"), ...store.data.calls.map(([name], i) => element("option", { value: String(i) }, name)));
  const wrong = element("p", { class: "wrong", role: "alert" }), found = element("p", { class: "say", role: "status", id: "found" });
  const form = element("form", { class: "bar search", role: "search" }, element("label", { for: "call" }, "Call"), names, ...field("Ranks", "ranks", "3, 5-9"), ...field("Size from", "least", "64 KiB"), ...field("to", "most", "1 MiB"));
  const value = (id) => form.querySelector(`#${id}`).value;
  const button = (label, does) => {
    const made = element("button", { type: "button" }, label);
    made.addEventListener("click", does);
    return made;
  };
  const apply = () => {
    try {
      timeline.looked = lookedFor(store, { name: Number(names.value), ranks: ranksOf(value("ranks"), store.ranks), least: sizeOf(value("least"), 0), most: sizeOf(value("most"), Infinity) });
      wrong.textContent = "";
    } catch (error) {
      return void (wrong.textContent = error.message);
    }
    timeline.levels = levelsOf(store, timeline.looked);
    found.textContent = timeline.looked.all ? "" : `Found: ${countOf(timeline.looked.call, store.calls.count)} of ${store.calls.count} calls (others are grey), ${countOf(timeline.looked.message, store.messages.count)} of ${store.messages.count} messages (others are not drawn).`;
    redraw();
  };
  form.addEventListener("submit", (event) => (event.preventDefault(), apply()));
  form.addEventListener("change", apply);
  const steps = [["← message", "message", -1], ["message →", "message", 1], ["← call", "call", -1], ["call →", "call", 1]].map(([label, what, by]) => button(label, () => chooseNext(what, by)));
  form.append(element("button", { type: "submit" }, "Search"), ...steps, button("Whole run", () => (look(timeline.view, timeline.view.all), redraw())));
  return [form, wrong, found];
}

const countOf = (wanted, count) => {
  let found = 0;
  for (let i = 0; i < count; ++i) found += wanted(i);
  return found;
};

// A table of what is in view, filled when it is open.
function inView(title, columns, rows, chosen) {
  const details = element("details", { class: "inview" }, element("summary", {}, title));
  details.fill = () => {
    const found = rows(), made = table(columns, found.map(([, ...cells]) => cells));
    made.querySelectorAll("tbody tr").forEach((row, i) => {
      const button = element("button", { type: "button" }, row.firstChild.textContent);
      button.addEventListener("click", () => choose(chosen(found[i][0])));
      row.firstChild.replaceChildren(button);
    });
    details.replaceChildren(details.firstChild, made);
  };
  details.addEventListener("toggle", () => details.open && details.fill());
  return details;
}

function messageRows({ store, view, looked }) {
  const { messages, data } = store, rows = [];
  eachMessage(store, looked.lists[0], view.t0, view.t1, (i) => {
    rows.push([i, `${messages.src[i]} → ${messages.dst[i]}`, formatBytes(messages.bytes[i]), data.protocols[messages.protocol[i]], exactTime(messages.posted[i]), formatTime(messages.took[i])]);
    return rows.length >= TABLE_ROWS;
  });
  return rows;
}

function callRows({ store, view, looked }) {
  const { calls } = store, rows = [];
  for (let rank = Math.floor(view.row0); rank < Math.min(Math.ceil(view.row1), store.ranks); ++rank) {
    const end = calls.first[rank + 1];
    for (let i = callAfter(calls, calls.first[rank], end, view.t0); i < end && calls.begin[i] < view.t1 && rows.length < TABLE_ROWS; ++i) if (looked.call(i)) rows.push([i, `${callName(store, i)} of rank ${rank}`, formatBytes(calls.bytes[i]), exactTime(calls.begin[i]), formatTime(calls.took[i])]);
  }
  return rows;
}

// What the page does not have, and what the run's own notes say.
function remarks({ left_out: { messages, calls_after_ps: after }, notes }, store) {
  return [
    ...(messages ? [`${formatCount(messages)} later messages are not in the results, whose list was full.`] : []),
    ...(after === null ? [] : [`Calls that begin after ${formatTime(after)} are left out: there are too many for a page.`]),
    ...(store.calls.count ? [] : ["There are no calls in these results."]), ...notes,
  ].map((line) => element("p", { class: "say" }, line));
}

async function showTimeline() {
  const data = JSON.parse(document.getElementById("data").textContent), main = document.querySelector("main");
  document.querySelector("h1").textContent = data.title;
  followTheme();
  const store = makeStore(data, await unpack(data.packed));
  data.packed = null;
  timeline = makePicture(store);
  const { canvas } = timeline.canvas, used = new Set(data.calls.map(([, kind]) => kind));
  const keys = data.kinds.map((kind, i) => element("span", { class: "key", style: `--tint: ${KIND_TINTS[i]}` }, kind)).filter((_, i) => used.has(i));
  main.append(...(data.reason ? [element("section", { class: "incomplete", role: "alert" }, `Incomplete: ${data.reason}. The page shows what was measured until then.`)] : []),
    element("section", {}, element("h2", {}, "Calls and messages over time"), element("p", { class: "say" }, `A row for each rank: slices are calls, what is between them is computing, lines are messages from their posting to their delivery.`),
      element("details", {}, element("summary", {}, "Keys and mouse"), element("p", { class: "say" }, `With the picture in focus: ${KEYS} A wheel zooms in time, with Shift on ranks; drag to move, and click a message or a call to choose it.`)),
      ...remarks(data, store), ...searchBar(store), element("div", { class: "bar" }, ...keys, ...(store.path ? [pathBox()] : [])), canvas, element("p", { id: "said", class: "say", role: "status" }),
      ...(store.path ? [pathTables(store.path)] : []),
      inView(`Messages in view as a table (the first ${TABLE_ROWS})`, [["from → to"], ["size"], ["protocol"], ["posted"], ["took"]], () => messageRows(timeline), (message) => ({ message })),
      inView(`Calls in view as a table (the first ${TABLE_ROWS})`, [["call"], ["gives"], ["began"], ["took"]], () => callRows(timeline), (call) => ({ call }))),
    element("section", { id: "detail", "aria-live": "polite" }));
  listen(canvas);
  choose({});
  resize(timeline.canvas);
  window.addEventListener("resize", () => (resize(timeline.canvas), redraw()));
  new MutationObserver(() => {
    timeline.levels = levelsOf(store, timeline.looked);
    redraw();
  }).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  drawNow();
  document.body.dataset.drawn = String(Math.round(performance.now())); // ms since the page was asked for
}

showTimeline();
