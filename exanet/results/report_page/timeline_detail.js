// SPDX-License-Identifier: Apache-2.0
// Says of a message, or a call, what the results hold: where it went, where it waited, and for whom.

const MOST_BESIDE = 200; // messages on the same links that are drawn
const LINK_IN_PAGE = { node: 0, to: 1, port: 2, use: 3, waited: 4, packets: 5, bytes: 6 };

const callName = (store, call) => store.data.calls[store.calls.name[call]][0];
const placeOf = (store, rank) => `rank ${rank} on ${store.data.nodes[store.data.node[rank]]}`;

// Messages between other ranks that were under way meanwhile on links of this one: of each link those with their
// overlap in time, the longest first.
function sharedLinks(store, message, route) {
  const { messages } = store, t0 = messages.posted[message], t1 = delivered(store, message), onLink = new Map([...route].map((link) => [link, []])), known = new Map();
  const links = (i) => {
    const key = messages.src[i] * store.ranks + messages.dst[i];
    if (!known.has(key)) known.set(key, [...(routeOf(store, i) || [])].filter((link) => onLink.has(link)));
    return known.get(key);
  };
  eachMessage(store, messages.lists[0], t0, t1, (i) => {
    const overlap = Math.min(t1, delivered(store, i)) - Math.max(t0, messages.posted[i]);
    if (i !== message && overlap > 0) for (const link of links(i)) onLink.get(link).push([i, overlap]);
  });
  for (const list of onLink.values()) list.sort((a, b) => b[1] - a[1]);
  return onLink;
}

// The shortest time of a message with the same size, protocol and nodes, and how many there are.
function shortestLike(store, message) {
  const { messages, data: { node } } = store, from = node[messages.src[message]], to = node[messages.dst[message]];
  let least = Infinity, count = 0;
  for (let i = 0; i < messages.count; ++i) {
    if (messages.bytes[i] !== messages.bytes[message] || messages.protocol[i] !== messages.protocol[message] || node[messages.src[i]] !== from || node[messages.dst[i]] !== to) continue;
    ++count;
    least = Math.min(least, messages.took[i]);
  }
  return { least, count };
}

// Sentences on the two ranks of a message: what they were in, and which waited for the other.
function ranksSaid(store, i) {
  const { calls, messages } = store, said = [], [src, dst, posted, came] = [messages.src[i], messages.dst[i], messages.posted[i], delivered(store, i)];
  const sends = callAround(store, src, posted), takes = callAround(store, dst, came);
  if (calls.count === 0) return ["The results hold no calls of these ranks."];
  said.push(sends < 0 ? `Rank ${src} was in no recorded call when it posted the message.` : `Rank ${src} posted it in ${callName(store, sends)}, which began at ${exactTime(calls.begin[sends])} and took ${formatTime(calls.took[sends])}.`);
  if (takes < 0) {
    const later = callAfter(calls, calls.first[dst], calls.first[dst + 1], came);
    said.push(later < calls.first[dst + 1] ? `Rank ${dst} computed when it arrived; its next call, ${callName(store, later)}, began ${formatTime(calls.begin[later] - came)} later. Nobody waited for it until then.` : `Rank ${dst} was in no recorded call when it arrived.`);
    return said;
  }
  const since = calls.begin[takes], late = clamp(posted - since, 0, came - since);
  said.push(`Rank ${dst} was in ${callName(store, takes)} when it arrived, since ${exactTime(since)}.`);
  if (late > 0) said.push(`Rank ${dst} waited ${formatTime(late)} there before rank ${src} posted the message, and ${formatTime(came - posted)} while it was on its way.`);
  else if (store.data.protocols[messages.protocol[i]] === "rendezvous") said.push(`The message was posted ${formatTime(since - posted)} before that call began: a long message moves when its receive is posted, and rank ${src} waited for rank ${dst} if that was only then.`);
  else said.push(`The message was posted ${formatTime(since - posted)} before that call began; rank ${dst} waited at most ${formatTime(came - since)} for it.`);
  return said;
}

// A time with all its digits.
const exactTime = (ps) => `${(ps / 1e6).toLocaleString("en", { maximumFractionDigits: 6 })} µs`;

function networkSaid(store, i, route) {
  const { least, count } = shortestLike(store, i), took = store.messages.took[i], said = [];
  if (count > 1) said.push(took > least ? `It took ${formatTime(took - least)} longer than the fastest of ${formatCount(count)} messages of this size between these nodes, which took ${formatTime(least)}: so long it waited in all, at interfaces, for links or for its receiver.` : `It is the fastest of ${formatCount(count)} messages of this size between these nodes.`);
  else said.push("There is no other message of this size between these nodes to compare it with.");
  if (route === null) said.push("The page has no route between these nodes.");
  else if (route.length === 0) said.push("Both ranks are on one node: the message used no link.");
  else if (store.data.routing !== "fixed") said.push(`The machine routes by ${store.data.routing}: the route below is the topology's own, and packets may have taken another.`);
  return said;
}

// Rows of the links of a route: what was on them meanwhile, and over the whole run.
function routeRows(store, route, onLink) {
  const { data, messages } = store;
  return [...route].map((number) => {
    const link = data.links[number], beside = onLink.get(number), who = beside.slice(0, 3).map(([i]) => `${messages.src[i]} → ${messages.dst[i]} (${formatBytes(messages.bytes[i])})`);
    const mean = link[LINK_IN_PAGE.packets] ? link[LINK_IN_PAGE.waited] / link[LINK_IN_PAGE.packets] : 0;
    return [`${data.nodes[link[LINK_IN_PAGE.node]]} → ${data.nodes[link[LINK_IN_PAGE.to]]}`, beside.length, who.join(", ") + (beside.length > 3 ? ", …" : ""), `${link[LINK_IN_PAGE.use].toFixed(1)} %`, formatTime(mean)];
  });
}

// Elements that describe a message; and `beside`, the messages on its links meanwhile.
function describeMessage(store, i) {
  const { messages, data } = store, route = routeOf(store, i), onLink = sharedLinks(store, i, route || []);
  const beside = [...new Map([...onLink.values()].flat().map(([other, overlap]) => [other, overlap]))].sort((a, b) => b[1] - a[1]).slice(0, MOST_BESIDE).map(([other]) => other);
  const facts = [["From", placeOf(store, messages.src[i])], ["To", placeOf(store, messages.dst[i])], ["Size", `${formatBytes(messages.bytes[i])} (${messages.bytes[i]} B)`], ["Protocol", data.protocols[messages.protocol[i]]],
    ["Posted", exactTime(messages.posted[i])], ["Delivered", exactTime(delivered(store, i))], ["Took", formatTime(messages.took[i])]];
  const links = route && route.length ? [element("h3", {}, "Its way"), table([["link"], ["others meanwhile"], ["who, the longest together first"], ["use in the run"], ["mean wait of a packet"]], routeRows(store, route, onLink)),
    element("p", { class: "say" }, "Others meanwhile: messages whose route has this link and that were under way at the same time, drawn dashed. The results count waiting by link and not by message, so they do not say which of these it waited for.")] : [];
  const title = `Message ${i + 1} of ${messages.count}: rank ${messages.src[i]} to rank ${messages.dst[i]}, ${formatBytes(messages.bytes[i])}`;
  return { title, beside, elements: [definitions(facts), element("ul", {}, ...[...ranksSaid(store, i), ...networkSaid(store, i, route)].map((line) => element("li", {}, line))), ...links] };
}

// Elements that describe a call.
function describeCall(store, i) {
  const { calls, messages } = store, rank = rankOfCall(store, i), end = calls.begin[i] + calls.took[i], own = [];
  let last = -1;
  eachMessage(store, messages.lists[0], calls.begin[i], end, (m) => {
    if (messages.src[m] === rank && messages.posted[m] > calls.begin[i] && messages.posted[m] <= end) own.push(m);
    const came = delivered(store, m);
    if (messages.dst[m] === rank && came > calls.begin[i] && came <= end && (last < 0 || came > delivered(store, last))) last = m;
  });
  const facts = [["Rank", placeOf(store, rank)], ["Began", exactTime(calls.begin[i])], ["Ended", exactTime(end)], ["Took", formatTime(calls.took[i])], ["Gives", formatBytes(calls.bytes[i])], ["Messages posted in it", formatCount(own.length)]];
  const said = last < 0 ? "No message arrived at this rank while it was in the call." : `The last message that arrived in it came from rank ${messages.src[last]} at ${exactTime(delivered(store, last))}, ${formatTime(end - delivered(store, last))} before its end, and was posted ${messages.posted[last] > calls.begin[i] ? `${formatTime(messages.posted[last] - calls.begin[i])} after the call began` : "before the call began"}.`;
  return { title: `${callName(store, i)} of rank ${rank}, ${formatTime(calls.took[i])}`, last, elements: [definitions(facts), element("p", {}, said)] };
}

const definitions = (facts) => element("dl", {}, ...facts.flatMap(([what, value]) => [element("dt", {}, what), element("dd", {}, value)]));
