# SPDX-License-Identifier: Apache-2.0
"""A trace in Paje's format, for ViTE and PajeNG: a container a rank, a state for computing and for each call, a link
for each message.

Source: Schnorr, Stein and Chassin de Kergommeaux, "Paje Trace File Format", version 1.2.5. Times are seconds, events in
order.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from exanet.trace import perfetto
from exanet.trace.folder import Trace
from exanet.trace.records import ONE_SIDED

_EVENTS = {
    "PajeDefineContainerType": "Alias string, Type string, Name string",
    "PajeDefineStateType": "Alias string, Type string, Name string",
    "PajeDefineLinkType": "Alias string, Type string, StartContainerType string, EndContainerType string, Name string",
    "PajeDefineEntityValue": "Alias string, Type string, Name string, Color color",
    "PajeCreateContainer": "Time date, Alias string, Type string, Container string, Name string",
    "PajeSetState": "Time date, Type string, Container string, Value string",
    "PajeStartLink": "Time date, Type string, Container string, StartContainer string, Value string, Key string",
    "PajeEndLink": "Time date, Type string, Container string, EndContainer string, Value string, Key string",
    "PajeDestroyContainer": "Time date, Type string, Name string",
}
_NUMBER = {name: number for number, name in enumerate(_EVENTS)}
_COMPUTING = "computing"
_COLORS = ("0.35 0.60 0.85", "0.90 0.55 0.25", "0.45 0.70 0.40", "0.80 0.35 0.40", "0.60 0.45 0.75", "0.55 0.45 0.40", "0.85 0.50 0.70")
_PS_IN_S = 10**12


def _event(name: str, *fields: str) -> str:
    return " ".join((str(_NUMBER[name]), *fields))


def _head(trace: Trace, states: list[str]) -> Iterator[str]:
    for name, fields in _EVENTS.items():
        yield f"%EventDef {name} {_NUMBER[name]}"
        yield from (f"% {field}" for field in fields.split(", "))
        yield "%EndEventDef"
    yield _event("PajeDefineContainerType", "program", "0", '"program"')
    yield _event("PajeDefineContainerType", "rank", "program", '"rank"')
    yield _event("PajeDefineStateType", "state", "rank", '"state"')
    yield _event("PajeDefineLinkType", "message", "program", "rank", "rank", '"message"')
    for number, name in enumerate(states):
        color = "0.85 0.85 0.85" if name == _COMPUTING else _COLORS[number % len(_COLORS)]
        yield _event("PajeDefineEntityValue", name, "state", f'"{name}"', f'"{color}"')
    yield _event("PajeCreateContainer", _time(0), "p", "program", "0", '"program"')
    for rank in range(trace.about.ranks):
        yield _event("PajeCreateContainer", _time(0), f"r{rank}", "rank", "p", f'"rank {rank}"')


def _time(ps: int) -> str:
    return f"{ps // _PS_IN_S}.{ps % _PS_IN_S:012d}"


def _happens(calls: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """What happens in the order of time: `ps`, which of the events, `rank`, and a state's name or a message's size
    and number."""
    size, number = pl.col("bytes").cast(pl.String), pl.int_range(pl.len()).cast(pl.String)
    # A receive may be posted before its message is sent.
    arrived = pl.max_horizontal("begin_ps", "received_ps").alias("ps")
    # Of one moment a call comes behind the computing before it, and before the next one.
    calls = calls.with_row_index("call_number")
    turn = 2 * pl.col("call_number").cast(pl.Int64)
    computed = calls.filter(pl.col("compute_ps") > 0).select(
        (pl.col("begin_ps") - pl.col("compute_ps")).alias("ps"),
        _of("PajeSetState"),
        "rank",
        pl.lit(_COMPUTING).alias("value"),
        turn.alias("turn"),
    )
    called = calls.select(
        pl.col("begin_ps").alias("ps"), _of("PajeSetState"), "rank", pl.col("call").alias("value"), (turn + 1).alias("turn")
    )
    ended = calls.group_by("rank").agg((pl.col("begin_ps") + pl.col("took_ps")).max().alias("ps"))
    frames = [
        computed,
        called,
        links.select(
            pl.col("begin_ps").alias("ps"), _of("PajeStartLink"), pl.col("src").alias("rank"), size.alias("value"), number.alias("key")
        ),
        links.select(arrived, _of("PajeEndLink"), pl.col("dst").alias("rank"), size.alias("value"), number.alias("key")),
        ended.select("ps", _of("PajeDestroyContainer"), "rank"),
    ]
    return pl.concat(frames, how="diagonal").sort("ps", "event", "turn", maintain_order=True)


def _of(name: str) -> pl.Expr:
    return pl.lit(_NUMBER[name]).alias("event")


def write(trace: Trace, file: Path) -> dict[str, int]:
    """Writes the file. Returns what it does not hold, by what that is. Raises InputError, OSError."""
    calls = trace.calls()
    links = perfetto.messages(calls)
    happens = _happens(calls, links)
    with file.open("w", encoding="utf-8") as out:
        for line in _head(trace, [_COMPUTING, *calls["call"].unique().sort()]):
            out.write(line + "\n")
        last_ps = 0
        for ps, event, rank, value, key in happens.select("ps", "event", "rank", "value", "key").iter_rows():
            last_ps = ps
            if event == _NUMBER["PajeSetState"]:
                fields = ["state", f"r{rank}", value]
            elif event == _NUMBER["PajeDestroyContainer"]:
                fields = ["rank", f"r{rank}"]
            else:
                fields = ["message", "p", f"r{rank}", f'"{value} B"', f"m{key}"]
            out.write(f"{event} {_time(ps)} {' '.join(fields)}\n")
        out.write(_event("PajeDestroyContainer", _time(last_ps), "program", "p") + "\n")
    sent = len(calls.filter((pl.col("peer") >= 0) & ~pl.col("call").is_in(ONE_SIDED)))
    return {"links of messages whose receive is from any rank, by any tag, or persistent": sent - len(links)}
