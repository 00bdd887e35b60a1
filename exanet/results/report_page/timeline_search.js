// SPDX-License-Identifier: Apache-2.0
// Looks for calls and messages by the name of a call, ranks and sizes.

// "3, 5-9" as a set of whole numbers below `most`; null for all of them, where the text is empty. Throws an Error.
function ranksOf(text, most) {
  if (!text.trim()) return null;
  const found = new Set();
  for (const word of text.split(",")) {
    const [, from, to] = /^\s*(\d+)\s*(?:-\s*(\d+)\s*)?$/.exec(word) || [];
    if (from === undefined || Number(to ?? from) < Number(from) || Number(to ?? from) >= most) throw new Error(`Ranks: give numbers from 0 to ${most - 1}, such as 3, 5-9`);
    for (let rank = Number(from); rank <= Number(to ?? from); ++rank) found.add(rank);
  }
  return found;
}

// "64 KiB" in bytes; `otherwise` where the text is empty. Throws an Error.
function sizeOf(text, otherwise) {
  if (!text.trim()) return otherwise;
  const [, number, unit] = /^\s*(\d+(?:\.\d+)?)\s*(B|KiB|MiB|GiB|kB|MB|GB)?\s*$/i.exec(text) || [];
  if (number === undefined) throw new Error(`Size: "${text}" is none; give one such as 512, 64 KiB or 1 MB`);
  const scales = { b: 1, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, kb: 1e3, mb: 1e6, gb: 1e9 };
  return Number(number) * scales[(unit || "B").toLowerCase()];
}

// What is looked for. {name: number of a call or -1, ranks, least, most} as predicates on calls and messages.
function lookedFor(store, { name, ranks, least, most }) {
  const { calls, messages } = store, all = name < 0 && ranks === null && least === 0 && most === Infinity, sized = least > 0 || most < Infinity;
  if (all) return { all, call: () => true, message: () => true, lists: messages.lists };
  const found = new Uint8Array(calls.count), sent = new Uint8Array(messages.count);
  for (let rank = 0; rank < store.ranks; ++rank) {
    if (ranks !== null && !ranks.has(rank)) continue;
    for (let i = calls.first[rank]; i < calls.first[rank + 1]; ++i) found[i] = (name < 0 || calls.name[i] === name) && (!sized || (calls.bytes[i] >= least && calls.bytes[i] <= most));
  }
  const wanted = ranks === null ? null : Uint8Array.from({ length: store.ranks }, (_, rank) => ranks.has(rank));
  for (let i = 0; i < messages.count; ++i) {
    if (messages.bytes[i] < least || messages.bytes[i] > most || (wanted && !wanted[messages.src[i]] && !wanted[messages.dst[i]])) continue;
    sent[i] = name < 0 || comesOf(store, i, name);
  }
  const message = (i) => sent[i] === 1;
  return { all, call: (i) => found[i] === 1, message, lists: listsOf(store, message) };
}

// Whether the sender posts a message in a call of this name, or the receiver is in one when it arrives.
function comesOf(store, message, name) {
  const { calls, messages } = store, ends = [[messages.src[message], messages.posted[message]], [messages.dst[message], delivered(store, message)]];
  return ends.some(([rank, time]) => {
    const call = callAround(store, rank, time);
    return call >= 0 && calls.name[call] === name;
  });
}

// The call that a rank is in at `time`, or that ends then; -1 where there is none.
function callAround(store, rank, time) {
  const { calls } = store, first = calls.first[rank], i = callAfter(calls, first, calls.first[rank + 1], time - 1);
  return i < calls.first[rank + 1] && calls.begin[i] <= time ? i : -1;
}

// The next one from `from` on, by steps of 1 or -1, for which `wanted` holds; -1 where there is none.
function nextOf(wanted, count, from, by) {
  for (let i = from + by; i >= 0 && i < count; i += by) if (wanted(i)) return i;
  return -1;
}
