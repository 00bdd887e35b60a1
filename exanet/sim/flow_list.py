# SPDX-License-Identifier: Apache-2.0
"""Lists of flows from files: connection matrices of htsim, the simulator of Ultra Ethernet, as they are (`flows:FILE`).

A file begins with counts (`Nodes N`, `Connections N`, `Triggers N`) and comments behind `#`. Each further line has a
flow, `SRC->DST [id N] (start PS|trigger N) size BYTES [send_done_trigger N] [recv_done_trigger N]`, or a trigger,
`trigger id N oneshot|multishot|barrier [count N]`. A start counts picoseconds. A flow with a trigger begins when the
flows that name it are done: at their receivers, or with `send_done_trigger` as their senders learn.

Limits: flows with `msg` share a connection in htsim, `prio` orders its receivers' pulls, and failures name switches of
its fat trees: these are refused. So is a trigger whose first of several flows would start others, as no order of events
is known before the run.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from exanet.errors import InputError
from exanet.machine.located import Mark, printable
from exanet.quantity import counted

_LARGEST = 1 << 30  # bytes of a file
_COUNTS = {"Nodes": "nodes", "Connections": "flows", "Triggers": "triggers", "Failures": "failures"}
_ELSEWHERE = {
    "msg": "flows that share a connection are not built: write a flow for each connection",
    "prio": "priorities of pulls are not built: leave it out",
}
_FLOW = "SRC->DST start PS size BYTES"


@dataclass
class _Flow:
    mark: Mark
    src: int
    dst: int
    numbers: dict[str, int]


@dataclass
class _Trigger:
    mark: Mark
    kind: str = ""  # "" until its line has come
    count: int | None = None
    fired_by: list[str] = field(default_factory=list)  # places of flows as the core takes them
    starts: list[int] = field(default_factory=list)


@dataclass
class _List:
    counts: dict[str, tuple[Mark, int]] = field(default_factory=dict)
    flows: list[_Flow] = field(default_factory=list)
    triggers: dict[int, _Trigger] = field(default_factory=dict)


def in_core_text(file: Path, endpoints: int) -> str:
    """The list as core/workload/flow_list.hpp takes it. Raises InputError, with file and line, on what is no list of
    flows between `endpoints` endpoints."""
    shown = printable(str(file))
    read = _List()
    for number, line in enumerate(_text(file, shown).split("\n"), 1):
        if words := line.partition("#")[0].split():
            _line(read, Mark(shown, number), words)
    _check_counts(read, shown, endpoints)
    waits = _waits(read)
    starts = (f"{f.src} {f.dst} {f.numbers['size']} {f.numbers.get('start', 0)}" for f in read.flows)
    return "".join(" ".join([start, *waits.get(place, [])]) + ";" for place, start in enumerate(starts))


def _text(file: Path, shown: str) -> str:
    what = f"give a list of flows: lines of '{_FLOW}' behind 'Nodes N' and 'Connections N'"
    try:
        found = file.stat()
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISFIFO(found.st_mode):
            raise InputError(Mark(shown).error(f"no regular file; {what}"))
        if found.st_size > _LARGEST:
            raise InputError(Mark(shown).error("larger than 1 GiB; give a shorter list"))
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(Mark(shown).error(f"no text; {what}")) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no such file"
        raise InputError(Mark(shown).error(f"cannot be read: {why}; {what}")) from None


def _line(read: _List, mark: Mark, words: list[str]) -> None:
    if words[0] in _COUNTS:
        if words[0] in read.counts:
            raise InputError(mark.error(f"'{words[0]}' comes twice; leave one out"))
        if len(words) != 2:
            raise InputError(mark.error(f"give '{words[0]} N'"))
        read.counts[words[0]] = mark, _number(mark, words[0], words[1], 0)
    elif "->" in words[0]:
        read.flows.append(_flow(mark, words))
    elif words[0] == "trigger":
        _trigger(read, mark, words[1:])
    elif words[0] == "failure":
        raise InputError(mark.error("a failure names a switch of htsim's fat trees; leave it out, and give --fail or --faults"))
    else:
        raise InputError(
            mark.error(f"'{words[0][:40]}' begins no line of a list of flows; give '{_FLOW}', 'trigger id N KIND', or a count")
        )


def _flow(mark: Mark, words: list[str]) -> _Flow:
    ends = re.fullmatch(r"(\d{1,10})->(\d{1,10})", words[0])
    if ends is None:
        raise InputError(mark.error(f"'{words[0][:40]}' is no pair of endpoints; give 'SRC->DST', e.g. 0->13"))
    numbers: dict[str, int] = {}
    for key, value in _pairs(mark, words[1:]):
        if key in numbers:
            raise InputError(mark.error(f"'{key}' comes twice; leave one out"))
        if key not in ("id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger"):
            raise InputError(mark.error(f"'{key[:40]}': {_ELSEWHERE.get(key, f'no key of a flow; give {_FLOW!r}')}"))
        numbers[key] = _number(mark, key, value, 0 if key == "start" else 1)
    if "size" not in numbers:
        raise InputError(mark.error("the flow has no size; add 'size BYTES'"))
    if ("start" in numbers) == ("trigger" in numbers):
        raise InputError(mark.error("a flow begins at a time or by a trigger; give one of 'start PS' and 'trigger N'"))
    return _Flow(mark, int(ends[1]), int(ends[2]), numbers)


def _pairs(mark: Mark, words: list[str]) -> Iterator[tuple[str, str]]:
    for i in range(0, len(words), 2):
        if words[i] in _ELSEWHERE:
            raise InputError(mark.error(f"'{words[i]}': {_ELSEWHERE[words[i]]}"))
        if i + 1 == len(words):
            raise InputError(mark.error(f"'{words[i][:40]}' has no value; add one"))
        yield words[i], words[i + 1]


def _number(mark: Mark, key: str, text: str, least: int) -> int:
    """htsim reads starts as floating-point numbers: a fraction of a picosecond is cut off."""
    if re.fullmatch(r"\d{1,18}(\.\d*)?([eE]\+?\d)?" if key == "start" else r"\d{1,18}", text):
        number = int(text) if text.isdigit() else int(float(text))
        if number >= least:
            return number
    raise InputError(mark.error(f"{key} {text[:40]}: give a whole number from {least} on"))


def _trigger(read: _List, mark: Mark, words: list[str]) -> None:
    kinds = [word for word in words if word in ("oneshot", "multishot", "barrier")]
    rest = dict(_pairs(mark, [word for word in words if word not in kinds]))
    if len(kinds) != 1 or "id" not in rest or not set(rest) <= {"id", "count"}:
        raise InputError(mark.error("give 'trigger id N' with one of oneshot, multishot, barrier, and for a barrier 'count N'"))
    name = _number(mark, "id", rest["id"], 1)
    if name in read.triggers:
        raise InputError(mark.error(f"trigger {name} is in line {read.triggers[name].mark.line} already; give each its own id"))
    count = _number(mark, "count", rest["count"], 1) if "count" in rest else None
    if (kinds[0] == "barrier") != (count is not None):
        raise InputError(mark.error("a barrier has a count, and no other trigger has one"))
    read.triggers[name] = _Trigger(mark, kinds[0], count)


def _check_counts(read: _List, shown: str, endpoints: int) -> None:
    for what, found in (("Connections", len(read.flows)), ("Triggers", len(read.triggers)), ("Failures", 0)):
        mark, said = read.counts.get(what, (Mark(shown), 0))
        if said != found:
            raise InputError(mark.error(f"{what} {said}, but the file has {found} {_COUNTS[what]}; make both the same"))
    if not read.flows:
        raise InputError(Mark(shown).error(f"no flows; give lines of '{_FLOW}'"))
    mark, nodes = read.counts.get("Nodes", (Mark(shown), 0))
    if nodes < 1:
        raise InputError(mark.error("the number of endpoints is missing; add 'Nodes N'"))
    if nodes > endpoints:
        raise InputError(mark.error(f"Nodes {nodes}, but the machine has {counted(endpoints, 'endpoint')}; take a larger machine"))
    for flow in read.flows:
        for end in (flow.src, flow.dst):
            if end >= nodes:
                raise InputError(flow.mark.error(f"endpoint {end} of {nodes}; they are numbered from 0"))
        if flow.src == flow.dst:
            raise InputError(flow.mark.error(f"from endpoint {flow.src} to itself; leave the flow out"))


def _waits(read: _List) -> dict[int, list[str]]:
    """By place of a flow, those that it follows, as the core takes them."""
    for place, flow in enumerate(read.flows):
        for key, mark in (("trigger", ""), ("send_done_trigger", "s"), ("recv_done_trigger", "")):
            if (name := flow.numbers.get(key)) is None:
                continue
            if name not in read.triggers:
                raise InputError(flow.mark.error(f"trigger {name} has no line; add 'trigger id {name} oneshot'"))
            if key == "trigger":
                read.triggers[name].starts.append(place)
            else:
                read.triggers[name].fired_by.append(f"{place}{mark}")
    waits: dict[int, list[str]] = {}
    for name, trigger in read.triggers.items():
        _check_trigger(name, trigger)
        for place in trigger.starts:
            waits[place] = trigger.fired_by
    return waits


def _check_trigger(name: int, trigger: _Trigger) -> None:
    if not trigger.starts:
        return
    fired, needs = len(trigger.fired_by), trigger.count or 1
    if trigger.kind == "multishot" and (fired > 1 or len(trigger.starts) > 1):
        what = f"is a multishot of {fired} flows, each of which starts the next one of {len(trigger.starts)} in the order in which they end"
        raise InputError(trigger.mark.error(f"trigger {name} {what}; give each flow that starts another a oneshot of its own"))
    if fired != needs:
        what = "no flow names it" if fired == 0 else f"{counted(fired, 'flow')} name{'s' * (fired == 1)} it"
        raise InputError(
            trigger.mark.error(f"trigger {name} starts flows once {needs} are done, but {what}; name it in {needs}, or change its count")
        )
