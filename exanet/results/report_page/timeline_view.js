// SPDX-License-Identifier: Apache-2.0
// What of a run is in view: a span of time and some ranks.

const LEAST_SPAN = 1000; // ps
const LEAST_ROWS = 2;

function makeView(store) {
  const all = { t0: 0, t1: store.end, row0: 0, row1: store.ranks };
  return { ...all, all };
}

const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

// Puts the view where it is asked for, as far as there is something.
function look(view, { t0 = view.t0, t1 = view.t1, row0 = view.row0, row1 = view.row1 }) {
  const span = clamp(t1 - t0, Math.min(LEAST_SPAN, view.all.t1), view.all.t1), rows = clamp(row1 - row0, Math.min(LEAST_ROWS, view.all.row1), view.all.row1);
  view.t0 = clamp(t0, 0, view.all.t1 - span);
  view.t1 = view.t0 + span;
  view.row0 = clamp(row0, 0, view.all.row1 - rows);
  view.row1 = view.row0 + rows;
}

// Shows `factor` times as much time, or as many ranks, about a place that stays where it is.
function zoomTime(view, factor, about = (view.t0 + view.t1) / 2) {
  look(view, { t0: about - (about - view.t0) * factor, t1: about + (view.t1 - about) * factor });
}

function zoomRanks(view, factor, about = (view.row0 + view.row1) / 2) {
  look(view, { row0: about - (about - view.row0) * factor, row1: about + (view.row1 - about) * factor });
}

// By shares of what is in view.
function pan(view, time, ranks) {
  const dt = time * (view.t1 - view.t0), dr = ranks * (view.row1 - view.row0);
  look(view, { t0: view.t0 + dt, t1: view.t1 + dt, row0: view.row0 + dr, row1: view.row1 + dr });
}

const ROWS_ABOUT = 12; // with which a message or call is shown

// A message, or a call, with some space about it.
function lookAt(view, from, to, rows) {
  const beside = Math.max((to - from) * 1.2, LEAST_SPAN / 2), [least, most] = [Math.min(...rows), Math.max(...rows)], more = Math.max(ROWS_ABOUT - (most + 1 - least), 2) / 2;
  look(view, { t0: from - beside, t1: to + beside, row0: Math.floor(least - more), row1: Math.ceil(most + 1 + more) });
}

// Brings a time and rows into view where they are not, without a change of scale.
function comeTo(view, time, rows) {
  const span = view.t1 - view.t0, high = view.row1 - view.row0, [least, most] = [Math.min(...rows), Math.max(...rows)];
  if (time < view.t0 || time > view.t1) look(view, { t0: time - span / 2, t1: time + span / 2 });
  if (least < view.row0 || most + 1 > view.row1) look(view, { row0: Math.min((least + most + 1 - high) / 2, least), row1: Math.max((least + most + 1 + high) / 2, most + 1) });
}

// Times for the axis at a distance of at least `least` ps: 1, 2 or 5 times a power of ten apart.
function ticks(view, least) {
  const power = 10 ** Math.floor(Math.log10(least)), step = power * [1, 2, 5, 10].find((factor) => power * factor >= least), found = [];
  for (let at = Math.ceil(view.t0 / step) * step; at <= view.t1; at += step) found.push(at);
  return { step, found };
}

// A time of the axis, with the digits that a step needs.
function tickLabel(ps, step) {
  const { scale, unit } = timeUnit(Math.max(ps, step));
  return ps === 0 ? "0" : `${(ps / scale).toFixed(Math.max(0, Math.ceil(Math.log10(scale / step) - 1e-9)))} ${unit}`;
}
