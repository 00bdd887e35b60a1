# SPDX-License-Identifier: Apache-2.0
"""Changes that may make a run faster, each with what it is expected to save.

Problem: a replay of everything that could be changed takes too long. Model: each change says what it would do to the
parts of the critical path: a message takes what it does on the idle changed machine, and waits for others in proportion
to the load of the busiest link or interface; a rank's computing shrinks; a collective takes what one of them takes
alone, of the size that takes most of its time. Limits: the path itself may change, which an expectation does not know:
the replay does.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from exanet import _core
from exanet.advise.replayed import Base, Change, Setting, setting
from exanet.errors import InputError
from exanet.quantity import bytes_text
from exanet.replay import simulate
from exanet.results import critical_path
from exanet.trace import folder, rules
from exanet.trace.write import Writer

MAPPINGS = ("linear", "round-robin", "random")
"""Placements that are tried."""

_MOST_PAIRS = 20_000
"""Of nodes, whose routes make the load of links: those with most bytes."""

_EAGER = (256, 128, 64)
"""Limits of eager messages in bytes that are tried, the largest first, beside the most that fits a router's packet;
the interface's packets become as long as they need."""

_MOST_COLLECTIVES = 3
_MOST_RANKS_ALONE = 1024
"""Of collectives that are replayed alone."""

_LATE = 1.1
"""A rank that computes so many times the median is late."""


@dataclass(frozen=True)
class Candidate:
    """A change, why it may help, and what it is expected to save."""

    kind: str
    why: str  # a sentence on the run as it is
    what: str  # the change, as the subject of "saves"
    change: Change
    saves_ps: int


def candidates(run: Base) -> list[Candidate]:
    """All that fit the machine and the trace."""
    return [*_late_rank(run), *_slow_links(run), *_placements(run), *_eager(run), *_collectives(run), *_links(run)]


def _share(run: Base, ps: float) -> str:
    return f"{100.0 * ps / run.took_ps:.1f} % of the time"


def _messages(run: Base) -> list[dict[str, Any]]:
    return run.path.filter(kind="message").to_dicts()


def _saved_alone(run: Base, other: Setting) -> int:
    """What the path's messages take less on another machine, or between other nodes, where both are idle."""
    rows = _messages(run)
    times = critical_path.alone(rows, other.machine, other.nodes, flow=other.flow)
    return sum(row["interface_ps"] + row["links_ps"] - after for row, after in zip(rows, times, strict=True) if after is not None)


def _late_rank(run: Base) -> Iterator[Candidate]:
    own = run.path.filter(pl.col("kind").is_in(("compute", "rank")))
    parts = own.group_by("rank").agg((pl.col("end_ps") - pl.col("begin_ps")).sum().alias("ps"))
    for rank, on_path in parts.sort(["ps", "rank"], descending=[True, False]).head(1).iter_rows():
        computed = [int(ps) for ps in run.found["ranks"]["compute_ps"]]
        usual = median(computed)
        if computed[rank] <= usual * _LATE:
            continue
        factor = usual / computed[rank]
        times = f"computes {computed[rank] / usual:.1f} times the median of the ranks" if usual else "alone computes, and most do not"
        yield Candidate(
            "late rank",
            f"{_share(run, on_path)} waits for rank {rank}, which {times}",
            f"rank {rank} with the median's computing",
            Change(rank_factors=[factor if each == rank else 1.0 for each in range(len(computed))]),
            int(on_path * (1 - factor)),
        )


def _slow_links(run: Base) -> Iterator[Candidate]:
    """What --faults has slow, lossy or down."""
    faults = run.found.get("faults")
    if faults is None or not len(faults["what"]):
        return
    rows = zip(faults["what"], faults["kind"], faults["up"], strict=True)
    names = list(dict.fromkeys(f"{what} ({kind})" for what, kind, up in rows if not up))
    queueing = int(run.path["queueing_ps"].sum())
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    yield Candidate(
        "faults",
        f"messages take {_share(run, queueing)} longer than on an idle network without faults, and this has {shown}",
        "the machine without these faults",
        Change(without_faults=True),
        queueing,
    )


def _placements(run: Base) -> Iterator[Candidate]:
    network = sum(int(run.path[name].sum()) for name in ("interface_ps", "links_ps", "queueing_ps"))
    load = _busiest(run, run.setting)
    for mapping in MAPPINGS:
        try:
            other = setting(run.setting.options, Change(mapping=mapping))
        except InputError:
            continue  # it does not fit the machine
        if other.nodes == run.setting.nodes:
            continue
        ratio = _busiest(run, other) / load if load else 1.0
        queueing = int(int(run.path["queueing_ps"].sum()) * (1 - ratio))
        yield Candidate(
            "placement",
            f"{_share(run, network)} is that of messages, with the placement {run.setting.options.mapping}",
            f"the placement {mapping}" + (f" (seed {run.setting.options.seed})" if mapping == "random" else ""),
            Change(mapping=mapping),
            _saved_alone(run, other) + queueing,
        )


def _busiest(run: Base, given: Setting) -> int:
    """Bytes through the link or the interface that has most, on the topology's own routes."""
    node = given.nodes
    between: Counter[tuple[int, int]] = Counter()
    passed: Counter[tuple[str, int, int]] = Counter()
    pairs = run.found["pairs"]
    for src, dst, size in zip(pairs["src"], pairs["dst"], pairs["bytes"], strict=True):
        ends = node[int(src)], node[int(dst)]
        between[ends] += int(size)
        passed["out of node", ends[0], 0] += int(size)
        passed["into node", ends[1], 0] += int(size)
    ends_of = sorted((ends for ends in between if ends[0] != ends[1]), key=lambda ends: (-between[ends], ends))[:_MOST_PAIRS]
    for ends, route in zip(ends_of, _core.routes(given.machine, ends_of), strict=True):
        for link in route:
            passed["link", *link] += between[ends]
    return max(passed.values(), default=0)


def _eager(run: Base) -> Iterator[Candidate]:
    """The largest limit that the machine's packets allow."""
    ni = run.setting.machine["ni"]
    now = ni["eager_max_bytes"]
    most = run.setting.machine["router"]["max_payload_bytes"] - ni["envelope_bytes"]
    for size in sorted({*_EAGER, most}, reverse=True):
        messages = run.path.filter((pl.col("protocol") == "rendezvous") & (pl.col("bytes") <= size))
        if size <= now or size < 1 or messages.is_empty():
            return
        limit, longest = f"{size} B", max(ni["packet_max_bytes"], ni["envelope_bytes"] + size)
        change = Change(machine={"ni.eager_max": limit, "ni.packet_max": f"{longest} B"})
        try:
            other = setting(run.setting.options, change)
        except InputError:
            continue
        took = int((messages["end_ps"] - messages["begin_ps"]).sum())
        why = f"{_share(run, took)} is that of messages of {bytes_text(now + 1)} to {limit} by rendezvous"
        packets = "" if longest == ni["packet_max_bytes"] else f" (with ni.packet_max: {longest} B)"
        what = f"a limit of {limit} for eager messages in place of {bytes_text(now)}{packets}"
        yield Candidate("eager", why, what, change, _saved_alone(run, other))
        return


def _links(run: Base) -> Iterator[Candidate]:
    """The class of the busiest link, at twice its rate."""
    links = run.found["links"]
    busy = [int(ps) for ps in links["busy_ps"]]
    if not busy or max(busy) == 0:
        return
    hottest = busy.index(max(busy))
    kind = run.setting.machine["links"][int(links["link_class"][hottest])]
    gigabits = 2000 * kind["word_bits"] / kind["word_time_ps"]
    change = Change(machine={f"links.{kind['name']}.rate": f"{gigabits:.6g} Gb/s"})
    try:
        other = setting(run.setting.options, change)
    except InputError:
        return
    node = run.setting.nodes
    queueing = sum(row["queueing_ps"] for row in _messages(run) if node[row["rank"]] != node[row["to_rank"]])
    yield Candidate(
        "links",
        f"the busiest link, of the class '{kind['name']}', is in use for {_share(run, min(max(busy), run.took_ps))}",
        f"twice the rate for links of the class '{kind['name']}' ({gigabits:.4g} Gb/s)",
        change,
        _saved_alone(run, other) + queueing // 2,
    )


def _collectives(run: Base) -> Iterator[Candidate]:
    """Of those with most of the path the algorithm that is fastest where one call is replayed alone."""
    for call, on_path in list(_collectives_on(run.path).items())[:_MOST_COLLECTIVES]:
        collective = call.removeprefix("MPI_").lower()
        ranks = len(run.setting.nodes)
        algorithms = rules.algorithms().get(collective, [])
        if len(algorithms) < 2 or ranks > _MOST_RANKS_ALONE:
            continue
        calls = run.calls.filter((pl.col("call") == call) & (pl.col("rank") == 0))
        if calls.is_empty():
            continue
        size = _longest(calls)
        now = _alone(run, call, size, {})
        times = {}
        for algorithm in algorithms:
            try:
                times[algorithm] = _alone(run, call, size, {collective: algorithm})
            except InputError:
                continue  # not for so many ranks, or not by these interfaces
        fastest = min(times, key=lambda name: (times[name], name), default=None)
        if fastest is not None and times[fastest] < now:
            yield Candidate(
                "collective",
                f"{_share(run, on_path)} is that of {call}, {'' if calls['bytes'].n_unique() == 1 else 'mostly of '}{bytes_text(size)}",
                f"the algorithm {fastest} for {collective}",
                Change(collectives={collective: fastest}),
                int(on_path * (1 - times[fastest] / now)),
            )


def _longest(calls: pl.DataFrame) -> int:
    """The size of those calls that take most time together."""
    by_size = calls.group_by("bytes").agg(pl.col("took_ps").sum().alias("ps"))
    return int(by_size.sort(["ps", "bytes"], descending=True)["bytes"][0])


def _collectives_on(path: pl.DataFrame) -> dict[str, int]:
    """Time of the path in each collective: its calls, and the messages that calls of it wait for. The largest first."""
    found: dict[str, int] = {}
    names = {f"MPI_{name.capitalize()}" for name in rules.algorithms()}
    call = None
    for part in path.select("kind", "call", "begin_ps", "end_ps").reverse().iter_rows(named=True):
        call = part["call"] if part["kind"] == "call" else call if part["kind"] == "message" else None
        if call in names:
            found[call] = found.get(call, 0) + part["end_ps"] - part["begin_ps"]
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def _alone(run: Base, call: str, size: int, collectives: Mapping[str, str]) -> int:
    """The time of one call of all ranks, on their nodes."""
    nodes: Sequence[int] = run.setting.nodes
    with tempfile.TemporaryDirectory(prefix="exanet-alone-") as scratch:
        with Writer(Path(scratch) / "trace", len(nodes), {"program": [call]}) as streams:
            for stream in streams:
                stream.collective(call.removeprefix("MPI_"), size, size, element=8 if size % 8 == 0 else 1)
                stream.end()
        own = run.setting.specs[0]
        chosen = {**own["collectives"], **collectives}
        streams_of = [str(folder.stream(Path(scratch) / "trace", rank)) for rank in range(len(nodes))]
        spec = {"name": call, "placement": nodes, "start_ps": 0, "streams": streams_of, "rules": own["rules"], "collectives": chosen}
        calm = {key: value for key, value in run.setting.machine.items() if key != "faults"}
        return int(simulate([spec], calm, level=run.setting.options.level)["summary"]["virtual_ps"])
