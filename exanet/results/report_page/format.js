// SPDX-License-Identifier: Apache-2.0
// Formats values for readers: three digits and a unit.
"use strict";

function threeDigits(value) {
  return value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

function scaled(value, units) {
  const [scale, unit] = units.find(([s]) => value >= s * 0.9995) || units[units.length - 1];
  return `${threeDigits(value / scale)} ${unit}`;
}

function formatTime(ps) {
  return ps === 0 ? "0 s" : scaled(ps, [[1e12, "s"], [1e9, "ms"], [1e6, "µs"], [1e3, "ns"], [1, "ps"]]);
}

// A time in nanoseconds; empty where nothing arrived.
function formatNs(ns) {
  return ns === null ? "–" : formatTime(ns * 1e3);
}

function formatBytes(count) {
  return count < 1024 ? `${Math.round(count)} B` : scaled(count, [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]);
}

function formatCount(count) {
  return count < 1e5 ? String(Math.round(count)) : scaled(count, [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]);
}

function formatPercent(share) {
  return `${(share * 100).toFixed(1)} %`;
}

// The round values (1, 2 or 5 times a power of ten apart) up to `most`, at most ten.
function roundSteps(most) {
  const power = 10 ** Math.floor(Math.log10(most / 10));
  const step = power * [1, 2, 5, 10].find((factor) => most / (power * factor) <= 10);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => Number((i * step).toPrecision(6)));
}

// The values of a logarithmic axis from `least` to `most`: 1, 2 and 5 times powers of ten, or of more than three
// decades the powers alone.
function logSteps(least, most) {
  const factors = most / least > 1000 ? [1] : [1, 2, 5], steps = [];
  for (let power = Math.floor(Math.log10(least)); power <= Math.floor(Math.log10(most)) + 1; ++power) steps.push(...factors.map((factor) => Number(`${factor}e${power}`)));
  const first = Math.max(steps.findLastIndex((value) => value <= least), 0);
  return steps.slice(first, steps.findIndex((value, i) => i > first && value >= most) + 1);
}

// The unit of time in which an axis up to `ps` has short labels.
function timeUnit(ps) {
  const [scale, unit] = [[1e12, "s"], [1e9, "ms"], [1e6, "µs"], [1e3, "ns"]].find(([s]) => ps >= s) || [1, "ps"];
  return { scale, unit };
}
