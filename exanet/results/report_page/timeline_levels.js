// SPDX-License-Identifier: Apache-2.0
// Levels of detail of the calls: for each rank and part of the time the mean colour of what the rank did. Parts of a
// level are twice as long as those of the one before. A picture of pixels shorter than the parts of level 0 is made of
// the calls themselves.

const MOST_PARTS = 1 << 20; // of all ranks, in level 0

const powerOf2 = (least) => 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(least, 1))));

// `kindOf(call)` is an index of `tints`, `none` the colour between calls; both as [red, green, blue].
function makeLevels(store, tints, none, kindOf) {
  const { ranks, calls } = store, parts = Math.min(powerOf2(MOST_PARTS / powerOf2(ranks)), powerOf2((2 * calls.count) / Math.max(ranks, 1)), 8192);
  const part = store.end / parts, { changes, sums } = canvasOf(ranks * parts, tints, none);
  for (let rank = 0; rank < ranks; ++rank) {
    for (let i = calls.first[rank]; i < calls.first[rank + 1]; ++i) addCall(sums, rank * parts, parts, changes, 3 * kindOf(i), calls.begin[i] / part, (calls.begin[i] + calls.took[i]) / part);
  }
  const levels = [{ part, parts, colours: packedOf(sums, new Uint32Array(ranks * parts)) }];
  for (let length = parts; length > 64; length /= 2) levels.push({ part: part * 2 ** levels.length, parts: length / 2, colours: halved(levels[levels.length - 1].colours) });
  return { levels, kindOf, tints, none };
}

// Sums of colours for `pixels` pixels, and what each kind of call changes in them.
function canvasOf(pixels, tints, none) {
  const sums = new Float32Array(3 * pixels);
  for (let i = 0; i < sums.length; i += 3) {
    sums[i] = none[0];
    sums[i + 1] = none[1];
    sums[i + 2] = none[2];
  }
  return { sums, changes: Float32Array.from(tints.flatMap((tint) => tint.map((value, channel) => value - none[channel]))) };
}

// Each pixel as one number, as the pictures of a canvas have it: alpha, blue, green, red from the highest byte on.
function packedOf(sums, out) {
  for (let i = 0, from = 0; i < out.length; ++i, from += 3) out[i] = -16777216 | (((sums[from + 2] + 0.5) | 0) << 16) | (((sums[from + 1] + 0.5) | 0) << 8) | ((sums[from] + 0.5) | 0);
  return out;
}

// The mean of `count` colours from `at` on.
function meanOf(colours, at, count) {
  let red = 0, green = 0, blue = 0;
  for (let i = at; i < at + count; ++i) {
    red += colours[i] & 255;
    green += (colours[i] >> 8) & 255;
    blue += (colours[i] >> 16) & 255;
  }
  return -16777216 | (((blue / count + 0.5) | 0) << 16) | (((green / count + 0.5) | 0) << 8) | ((red / count + 0.5) | 0);
}

function halved(fine) {
  const coarse = new Uint32Array(fine.length / 2);
  for (let i = 0; i < coarse.length; ++i) coarse[i] = meanOf(fine, 2 * i, 2);
  return coarse;
}

// Adds what of a row's `parts` parts lies from `from` to `to`, which count in parts; `kind` is where its changes are.
function addCall(sums, row, parts, changes, kind, from, to) {
  if (to <= 0 || from >= parts) return;
  const low = from < 0 ? 0 : from, high = to > parts ? parts : to, last = Math.min(Math.floor(high), parts - 1), first = Math.floor(low);
  for (let at = first; at <= last; ++at) {
    const share = Math.min(high, at + 1) - Math.max(low, at), pixel = 3 * (row + at);
    sums[pixel] += share * changes[kind];
    sums[pixel + 1] += share * changes[kind + 1];
    sums[pixel + 2] += share * changes[kind + 2];
  }
}

// The colours of `width` pixels from t0 to t1 of the ranks from row0 to before row1, into `out`.
function paintRows(store, { levels, kindOf, tints, none }, t0, t1, row0, row1, width, out) {
  const pixel = (t1 - t0) / width, level = levels.findLast(({ part }) => part <= pixel);
  if (level) return paintLevel(level, t0, pixel, row0, row1, width, out);
  const { sums, changes } = canvasOf((row1 - row0) * width, tints, none), { calls } = store;
  for (let rank = row0; rank < row1; ++rank) {
    const end = calls.first[rank + 1];
    for (let i = callAfter(calls, calls.first[rank], end, t0); i < end && calls.begin[i] < t1; ++i) addCall(sums, (rank - row0) * width, width, changes, 3 * kindOf(i), (calls.begin[i] - t0) / pixel, (calls.begin[i] + calls.took[i] - t0) / pixel);
  }
  packedOf(sums, out);
}

function paintLevel({ part, parts, colours }, t0, pixel, row0, row1, width, out) {
  const starts = Int32Array.from({ length: width + 1 }, (_, x) => clamp(Math.floor((t0 + x * pixel) / part), 0, parts - 1));
  for (let rank = row0, to = 0; rank < row1; ++rank) {
    for (let x = 0; x < width; ++x, ++to) {
      const count = starts[x + 1] - starts[x];
      out[to] = count <= 1 ? colours[rank * parts + starts[x]] : meanOf(colours, rank * parts + starts[x], count);
    }
  }
}
