// SPDX-License-Identifier: Apache-2.0
// Columns of numbers that exanet/results/packed_columns.py has packed.

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// A column of its planes, lowest first, from `at` on.
function column(all, at, length, planes) {
  const plane = (n) => all.subarray(at + n * length, at + (n + 1) * length);
  if (planes <= 1) return planes ? plane(0) : new Uint8Array(length);
  const values = planes === 2 ? new Uint16Array(length) : planes <= 4 ? new Uint32Array(length) : new Float64Array(length);
  const low = [0, 1, 2, 3].map((n) => (n < planes ? plane(n) : null)), [a, b, c, d] = low;
  if (planes === 2) for (let i = 0; i < length; ++i) values[i] = a[i] | (b[i] << 8);
  else if (planes === 3) for (let i = 0; i < length; ++i) values[i] = a[i] | (b[i] << 8) | (c[i] << 16);
  else for (let i = 0; i < length; ++i) values[i] = (a[i] | (b[i] << 8) | (c[i] << 16) | (d[i] << 24)) >>> 0;
  for (let n = 4; n < planes; ++n) for (let i = 0, high = plane(n), factor = 2 ** (8 * n); i < length; ++i) values[i] += high[i] * factor;
  return values;
}

// The columns by name, as typed arrays.
async function unpack({ columns, text }) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const all = new Uint8Array(await new Response(stream).arrayBuffer()), found = {};
  let at = 0;
  for (const [name, length, planes] of columns) {
    found[name] = column(all, at, length, planes);
    at += length * planes;
  }
  return found;
}
