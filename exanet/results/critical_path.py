# SPDX-License-Identifier: Apache-2.0
"""The critical path of a run: the computing, calls and messages, one after the other, that its end waited for.

Problem: most of what happens in a run does not decide when it ends. Model: backwards from the rank that ends last.
While a rank did not wait, the path is its own computing and calls. Where a wait ended, the message that ended it is on
the path: from its posting, and on with the rank that posted it; or, where the message waited for its receiver, from the
time at which that got to it, and on with the receiver. So the parts have no gap, and add up to the run's time. What a
message took is compared with an idle network (idle_messages.py). Limits: waits whose end no message explains (an
interface's reduction, a test that passes time) are the rank's own; a run of more messages or waits than simulators
list has no path.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from exanet.results import idle_messages
from exanet.results.folder import PROTOCOLS

KINDS = ("compute", "call", "message", "rank", "start")
"""Of parts: `rank` is one without recorded calls, `start` the time before a program that starts later."""

SCHEMA = {
    "kind": pl.String,
    "rank": pl.Int64,
    "to_rank": pl.Int64,
    "begins_at": pl.Int64,
    "ends_at": pl.Int64,
    "call": pl.String,
    "begin_ps": pl.Int64,
    "end_ps": pl.Int64,
    "bytes": pl.Int64,
    "protocol": pl.String,
    "interface_ps": pl.Int64,
    "links_ps": pl.Int64,
    "queueing_ps": pl.Int64,
}
"""Of the table critical_path (docs/results.md)."""

_EAGER, _RENDEZVOUS, _PUT, _GET, _ATOMIC = range(len(PROTOCOLS))


def table(found: Mapping[str, Any], machine: Mapping[str, Any], *, flow: bool) -> tuple[pl.DataFrame | None, str]:
    """A row for each part, in the order of time; or None, and why there is none."""
    summary, waits = found["summary"], found["waits"]
    if not summary.get("complete", True) or not len(found["ranks"]["rank"]):
        return None, "the run has not ended"
    if waits["dropped"] or found["messages_dropped"]:
        return None, "there are more waits or messages than the simulator lists"
    walk = _Walk(found)
    parts = walk.parts()
    rows = [part for part in parts if part["kind"] == "message"]
    _split(rows, found, machine, flow)
    return pl.DataFrame([{name: part.get(name) for name in SCHEMA} for part in parts], schema=SCHEMA), ""


class _Walk:
    """What each rank did and what ended its waits, sorted by time, and the way back through it."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        ranks = found["ranks"]
        self.end = [int(at) for at in ranks["virtual_ps"]]
        self.start = [int(at) for at in ranks.get("start_ps", np.zeros(len(self.end), np.int64))]
        self.waits = _by_rank(found["waits"]["rank"], len(self.end), found["waits"]["to_ps"], found["waits"]["from_ps"])
        self.calls = _calls(found.get("calls"), len(self.end))
        names = ("src", "dst", "bytes", "protocol", "posted_ps", "delivered_ps")
        self.messages = {name: np.asarray(found["messages"][name], dtype=np.int64) for name in names}
        self.messages["taken_ps"] = np.asarray(found["waits"]["taken_ps"], dtype=np.int64)
        protocol, delivered = self.messages["protocol"], self.messages["delivered_ps"]
        received = np.flatnonzero(np.isin(protocol, (_EAGER, _RENDEZVOUS, _GET)) & (delivered != self.messages["taken_ps"]))
        sent = np.flatnonzero(np.isin(protocol, (_RENDEZVOUS, _PUT, _ATOMIC)))
        # When each was delivered, and its number.
        self.received = _by_rank(self.messages["dst"][received], len(self.end), delivered[received], received)
        self.sent = _by_rank(self.messages["src"][sent], len(self.end), delivered[sent], sent)

    def parts(self) -> list[dict[str, Any]]:
        """In the order of time."""
        back: list[dict[str, Any]] = []
        time = max(self.end)
        rank = self.end.index(time)
        while time > self.start[rank]:
            tos, froms = self.waits[rank]
            i = bisect_right(tos, time) - 1
            ended = max(int(tos[i]), self.start[rank]) if i >= 0 else self.start[rank]
            self._own(back, rank, ended, time)
            time = ended
            if i < 0 or time <= self.start[rank]:
                break
            message = self._ended_by(rank, int(froms[i]), time)
            if message < 0:
                since = max(int(froms[i]), self.start[rank])
                self._own(back, rank, since, time)
                time = since
                continue
            part = self._message(message, rank, time)
            back.append(part)
            rank, time = part["begins_at"], part["begin_ps"]
        if time > 0:
            back.append({"kind": "start", "rank": rank, "begin_ps": 0, "end_ps": time})
        return [{"begins_at": part["rank"], "ends_at": part["rank"], **part} for part in reversed(back)]

    def _message(self, message: int, rank: int, time: int) -> dict[str, Any]:
        """The part that ends with it, at this rank and time."""
        src, dst, size, protocol, posted, _, taken = (int(column[message]) for column in self.messages.values())
        late = taken > posted and not self._waits_at(dst, taken)
        ends = {"begins_at": dst if late or protocol == _GET else src, "ends_at": rank}
        times = {"begin_ps": taken if late else posted, "end_ps": time}
        return {"kind": "message", "rank": src, "to_rank": dst, "bytes": size, "protocol": PROTOCOLS[protocol], **ends, **times}

    def _waits_at(self, rank: int, time: int) -> bool:
        """Within a wait: its ends do not count."""
        tos, froms = self.waits[rank]
        i = bisect_right(tos, time)
        return i < len(tos) and bool(froms[i] < time)

    def _ended_by(self, rank: int, since: int, time: int) -> int:
        """The message that has ended a wait, or -1."""
        delivered, number = self.received[rank]
        i = bisect_right(delivered, time) - 1
        if i >= 0 and delivered[i] > since and self._began(number[i]) < time:
            return int(number[i])
        delivered, number = self.sent[rank]
        i = bisect_right(delivered, time) - 1
        # The news of a delivery takes no longer than what was delivered.
        if i >= 0 and (began := self._began(number[i])) < time and time - delivered[i] <= delivered[i] - began:
            return int(number[i])
        return -1

    def _began(self, message: int) -> int:
        return max(int(self.messages["posted_ps"][message]), int(self.messages["taken_ps"][message]))

    def _own(self, back: list[dict[str, Any]], rank: int, since: int, until: int) -> None:
        """Appends what a rank did from `since` to `until`, the last first."""
        begins, ends, names = self.calls[rank]
        part: dict[str, Any]
        while until > since:
            i = bisect_left(begins, until) - 1
            if i >= 0 and ends[i] >= until:
                begin, part = max(int(begins[i]), since), {"kind": "call", "call": names[i]}
            else:
                begin, part = max(int(ends[i]) if i >= 0 else 0, since), {"kind": "compute" if len(names) else "rank"}
            part |= {"rank": rank, "number": i, "begin_ps": begin, "end_ps": until}
            until = begin
            behind = back[-1] if back else {}
            if all(behind.get(key) == part[key] for key in ("kind", "rank", "number")) and behind["begin_ps"] == part["end_ps"]:
                behind["begin_ps"] = until
            else:
                back.append(part)


_Columns = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def _by_rank(rank: npt.ArrayLike, ranks: int, by: npt.ArrayLike, other: npt.ArrayLike) -> list[_Columns]:
    """Two columns of each rank, in the order of the first."""
    owner, first, second = (np.asarray(column, dtype=np.int64) for column in (rank, by, other))
    order = np.lexsort((first, owner))
    bounds = np.searchsorted(owner[order], np.arange(ranks + 1))
    first, second = first[order], second[order]
    return [(first[bounds[r] : bounds[r + 1]], second[bounds[r] : bounds[r + 1]]) for r in range(ranks)]


def _calls(calls: pl.DataFrame | None, ranks: int) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], pl.Series]]:
    """Beginnings, ends and names of each rank's calls."""
    if calls is None:
        none = np.zeros(0, dtype=np.int64)
        return [(none, none, pl.Series("call", [], dtype=pl.String))] * ranks
    begins, names = calls["begin_ps"].to_numpy(), calls["call"]
    ends = begins + calls["took_ps"].to_numpy()
    bounds = np.searchsorted(calls["rank"].to_numpy(), np.arange(ranks + 1))
    return [(begins[a:b], ends[a:b], names[int(a) : int(b)]) for a, b in pairwise(bounds)]


def _split(rows: list[dict[str, Any]], found: Mapping[str, Any], machine: Mapping[str, Any], flow: bool) -> None:
    """Adds to messages what of their time is that of interfaces and routers, of links, and beyond an idle network."""
    node = [int(each) for each in found["ranks"]["node"]]
    links = idle_messages.link_times({(node[row["rank"]], node[row["to_rank"]]) for row in rows}, machine, found["links"])
    fastest = _fastest(found["messages"], node)
    for row, measured in zip(rows, alone(rows, machine, node, flow=flow), strict=True):
        pair, took = (node[row["rank"]], node[row["to_rank"]]), row["end_ps"] - row["begin_ps"]
        idle = min(fastest[*pair, row["bytes"], row["protocol"]] if measured is None else measured, took)
        latency, byte = links.get(pair, (0, 0.0))
        on_links = min(_crossings(row) * latency + int(byte * row["bytes"]), idle)
        row |= {"interface_ps": idle - on_links, "links_ps": on_links, "queueing_ps": took - idle}


def alone(rows: list[dict[str, Any]], machine: Mapping[str, Any], node: Sequence[int], *, flow: bool) -> list[int | None]:
    """What parts of the path that are messages take on an idle machine, with ranks on these nodes; None for one-sided
    accesses. One that the machine sends eagerly waits for nobody."""
    two_sided = [row for row in rows if row["protocol"] in ("eager", "rendezvous")]
    kinds = {(node[row["rank"]], node[row["to_rank"]], size) for row in two_sided for size in (max(row["bytes"], 1), 1)}
    idle = idle_messages.measured(kinds, machine, flow=flow)
    found: list[int | None] = []
    for row in rows:
        src, dst, size = node[row["rank"]], node[row["to_rank"]], max(row["bytes"], 1)
        if row["protocol"] not in ("eager", "rendezvous"):
            found.append(None)
        elif row["bytes"] <= machine["ni"]["eager_max_bytes"]:
            found.append(0 if _late(row) or _awaited(row) else idle[src, dst, size].took_ps)
        else:
            own = idle[src, dst, size]
            found.append(own.took_ps - _late(row) * idle[src, dst, 1].took_ps + _awaited(row) * own.known_ps)
    return found


def _late(row: Mapping[str, Any]) -> bool:
    """The message waited for its receiver."""
    return bool(row["protocol"] == "rendezvous" and row["begins_at"] == row["to_rank"])


def _awaited(row: Mapping[str, Any]) -> bool:
    """Its sender waited for the news of its delivery."""
    return bool(row["protocol"] == "rendezvous" and row["ends_at"] == row["rank"])


def _crossings(row: Mapping[str, Any]) -> int:
    """How often the network is crossed: for a rendezvous by its envelope, the request, the data and the news."""
    return {"eager": 1, "rendezvous": 3 - _late(row) + _awaited(row)}.get(row["protocol"], 2)


def _fastest(messages: Mapping[str, Any], node: list[int]) -> dict[tuple[int, int, int, str], int]:
    """The shortest time of one-sided accesses by nodes, size and protocol."""
    found: dict[tuple[int, int, int, str], int] = {}
    one_sided = np.flatnonzero(np.asarray(messages["protocol"]) >= _PUT)
    columns = (np.asarray(messages[name])[one_sided] for name in ("src", "dst", "bytes", "protocol", "posted_ps", "delivered_ps"))
    for src, dst, size, protocol, posted, delivered in zip(*columns, strict=True):
        key = node[int(src)], node[int(dst)], int(size), PROTOCOLS[int(protocol)]
        found[key] = min(found.get(key, 1 << 62), int(delivered) - int(posted))
    return found
