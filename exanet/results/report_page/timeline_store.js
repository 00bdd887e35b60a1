// SPDX-License-Identifier: Apache-2.0
// Calls and messages of a run as typed arrays, and what can be asked of them.

const CHUNK = 256; // messages that are passed over together where none of them is in view
const MOST_RARE = 14;

// `calls` of rank r are those from first[r] to before first[r + 1], in order; messages are in the order of posting.
function makeStore(data, c) {
  const ranks = data.node.length, first = new Uint32Array(ranks + 1), begin = new Float64Array(c.call_gap.length);
  for (let rank = 0; rank < ranks; ++rank) {
    first[rank + 1] = first[rank] + c.call_count[rank];
    for (let i = first[rank], at = 0; i < first[rank + 1]; ++i) {
      begin[i] = at + c.call_gap[i];
      at = begin[i] + c.call_took[i];
    }
  }
  const count = c.message_src.length, posted = new Float64Array(count);
  for (let i = 0, at = 0; i < count; ++i) at = posted[i] = at + c.message_posted[i];
  const store = {
    data, ranks,
    calls: { count: begin.length, first, begin, took: c.call_took, name: c.call_name, bytes: c.call_bytes, kindOf: Uint8Array.from(data.calls, ([, kind]) => kind) },
    messages: { count, src: c.message_src, dst: c.message_dst, bytes: c.message_bytes, protocol: c.message_protocol, posted, took: c.message_took },
    routes: routesOf(c), path: pathOf(c, data.path),
  };
  store.end = endOf(store);
  store.messages.rarity = raritiesOf(store.messages);
  store.messages.lists = listsOf(store, () => true);
  return store;
}

// The last time that there is.
function endOf({ data, ranks, calls, messages }) {
  let end = Math.max(data.end_ps, 1);
  for (let rank = 0; rank < ranks; ++rank) {
    const last = calls.first[rank + 1] - 1;
    if (last >= calls.first[rank]) end = Math.max(end, calls.begin[last] + calls.took[last]);
  }
  for (let i = 0; i < messages.count; ++i) end = Math.max(end, messages.posted[i] + messages.took[i]);
  return end;
}

function routesOf(c) {
  const routes = new Map();
  for (let i = 0, at = 0; i < c.route_src.length; at += c.route_links[i], ++i) routes.set(`${c.route_src[i]} ${c.route_dst[i]}`, c.route_link.subarray(at, at + c.route_links[i]));
  return routes;
}

// A number in [0, 1) for each message, the same whenever the page is opened.
const scattered = (i) => ((Math.imul(i + 1, 2654435761) >>> 0) / 4294967296);

// How many of the messages are as long: n says that one of 2^n is. Equal ones are distributed by chance.
function raritiesOf({ count, took }) {
  const length = (i) => took[i] + 1 + scattered(i) * (took[i] * 1e-6 + 0.5);
  const sample = Float64Array.from({ length: Math.min(count, 1 << 14) }, (_, i) => length(Math.floor((i * count) / Math.min(count, 1 << 14)))).sort();
  const limits = [];
  for (let n = 1; n <= MOST_RARE && sample.length >> n; ++n) limits.push(sample[sample.length - (sample.length >> n)]);
  const rarity = new Uint8Array(count);
  for (let i = 0; i < count; ++i) {
    const own = length(i);
    let n = 0;
    while (n < limits.length && own >= limits[n]) ++n;
    rarity[i] = n;
  }
  return rarity;
}

// The first of the calls from `low` to before `high` that ends after `time`; `high` where none does.
function callAfter({ begin, took }, low, high, time) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (begin[middle] + took[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The call that a rank is in, or -1.
function callAt(store, rank, time) {
  const { calls } = store, i = callAfter(calls, calls.first[rank], calls.first[rank + 1], time);
  return i < calls.first[rank + 1] && calls.begin[i] <= time ? i : -1;
}

function rankOfCall({ calls: { first } }, call) {
  let low = 0, high = first.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (first[middle] <= call) low = middle;
    else high = middle;
  }
  return low;
}

// Lists of those messages for which `wanted` holds: list n has those of rarity n and above, in their order, and the last
// delivery of each CHUNK of them.
function listsOf({ messages }, wanted) {
  const { count, rarity, posted, took } = messages, sizes = new Uint32Array(MOST_RARE + 1);
  for (let i = 0; i < count; ++i) if (wanted(i)) for (let n = 0; n <= rarity[i]; ++n) ++sizes[n];
  const lists = Array.from(sizes, (size) => ({ index: new Uint32Array(size), last: new Float64Array(Math.ceil(size / CHUNK)) }));
  sizes.fill(0);
  for (let i = 0; i < count; ++i) {
    if (!wanted(i)) continue;
    for (let n = 0; n <= rarity[i]; ++n) {
      const chunk = Math.floor(sizes[n] / CHUNK), end = posted[i] + took[i];
      lists[n].index[sizes[n]++] = i;
      if (end > lists[n].last[chunk]) lists[n].last[chunk] = end;
    }
  }
  return lists;
}

// Where in a list the first message is that was posted at `time` or later.
function placeInList({ posted }, index, time) {
  let low = 0, high = index.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (posted[index[middle]] >= time) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Calls `take` with each message of a list that was under way at some time from t0 to t1, until it returns true.
function eachMessage({ messages }, { index, last }, t0, t1, take) {
  const { posted, took } = messages, end = placeInList(messages, index, t1 + 1);
  for (let chunk = 0; chunk * CHUNK < end; ++chunk) {
    if (last[chunk] < t0) continue;
    for (let at = chunk * CHUNK; at < Math.min(end, (chunk + 1) * CHUNK); ++at) if (posted[index[at]] + took[index[at]] >= t0 && take(index[at])) return;
  }
}

const delivered = ({ messages }, i) => messages.posted[i] + messages.took[i];

function routeOf(store, message) {
  const { node } = store.data, { src, dst } = store.messages, from = node[src[message]], to = node[dst[message]];
  return from === to ? [] : store.routes.get(`${from} ${to}`) || null;
}
