# SPDX-License-Identifier: Apache-2.0
"""Reads a file of faults and checks it against a machine, as machine files are: every problem at once, at its place
in the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from exanet import _core, lightly
from exanet.errors import InputError
from exanet.faults.schema import Drawn, Event, FaultsFile, Lofamo
from exanet.machine import Machine, located
from exanet.machine.check import MOST_CHANNELS
from exanet.machine.located import Located, Mark
from exanet.machine.schema import topology_needs

_LISTS: dict[str, Any] = {"events": Event, "drawn": Drawn}


def add(described: Machine, file: str | Path | None, *, hosts: bool = True, from_ps: int = 0) -> Machine:
    """The machine, on which what `file` says fails; itself without a file. `hosts`: that run ranks, and may die.
    `from_ps`: the time of the file at which the run begins; what has not ended by then holds from the run's beginning.

    Raises InputError with each problem of the file at its line, also with what the machine does not have.
    """
    if file is None:
        return described
    if not str(file):
        raise InputError("--faults: the name of the file is empty; give one, or leave the option out")
    described.one_network("--faults")
    tree = located.read(Path(file).expanduser(), located.printable(str(file)))
    model = _checked(tree)
    events = [(number, change) for number, event in enumerate(model.events) for change in event.changes()]
    if not events and not model.drawn:
        raise InputError(tree.mark.error("the file lists no failures; add 'events' or 'drawn' (exanet faults new writes an example)"))
    if from_ps:
        events = _from(events, from_ps)
        if not events:
            return described
    schedule = {
        "events": [change for _, change in events],
        "drawn": [drawn.resolved() for drawn in model.drawn],
        "reaction_ps": model.reaction,
        **({"detection_ps": model.detection} if model.hosts else {}),
        **({"lofamo": model.lofamo.resolved(_line_ps(described))} if model.lofamo else {}),
    }
    if model.hosts and not hosts:
        raise InputError(
            [
                tree.find(("events", number, "host")).error(
                    "'host': hosts die under ranks alone, in exanet run and replay; write 'interface' for one that answers no more"
                )
                for number in model.hosts
            ]
        )
    failing = replace(described, faults=schedule, faults_file=str(file))
    try:
        needs = _core.fault_needs(failing.resolve())
    except _core.ConfigError as error:
        raise InputError(_placed(tree, error, [number for number, _ in events])) from None
    return replace(failing, faults_channels=_channels(described, needs["virtual_channels"]))


def check_restarts(file: str | Path) -> None:
    """Raises InputError where a program cannot be started again under this file."""
    tree = located.read(Path(file).expanduser(), located.printable(str(file)))
    model = _checked(tree)
    if model.drawn:
        what = "'drawn': failures by rate cannot go on in a program that is started again (--restarts); list them as events"
        raise InputError(tree.find(("drawn",), key=True).error(what))
    if not model.hosts:
        raise InputError(tree.mark.error("no event has 'host', so --restarts has nothing to start again; add one, or leave it out"))


def _from(events: list[tuple[int, dict[str, Any]]], from_ps: int) -> list[tuple[int, dict[str, Any]]]:
    """The changes as a run has them that begins at that time: earlier ones at its beginning, in their order, but for
    those that are over."""
    left = []
    for number, change in sorted(events, key=lambda event: int(event[1]["at_ps"])):
        at, lasts = change["at_ps"] - from_ps, change.get("lasts_ps", 0)
        if at >= 0:
            left.append((number, change | {"at_ps": at}))
        elif lasts == 0:
            left.append((number, change | {"at_ps": 0}))
        elif at + lasts > 0:
            left.append((number, change | {"at_ps": 0, "lasts_ps": at + lasts}))
    return left


def _line_ps(described: Machine) -> int:
    """Latency of the machine's slowest kind of link."""
    return max((int(link["latency_ps"]) for link in described.resolve()["links"]), default=0)


def _channels(described: Machine, needed: int) -> int:
    """Virtual channels of routers whose routes may change: those for new routes come in addition to those that packets
    have without faults, so that nothing else changes (at most 8 altogether)."""
    router, own = described.model.router, topology_needs(described.model).virtual_channels
    channels = int(described.resolve()["router"]["virtual_channels"])
    alike = channels // own if router.vc_allocation != "routing" else 1  # that may stand for each other
    while alike > 1 and alike * needed > MOST_CHANNELS:
        alike -= 1
    return max(alike * needed, channels)


def changes(failing: Machine) -> int:
    """How many changes a machine with faults makes."""
    return int(_core.fault_needs(failing.resolve())["changes"])


def _checked(tree: Located) -> FaultsFile:
    if isinstance(tree.value, dict) and "lofamo" in tree.value and tree.value["lofamo"].value is None:
        what = "'lofamo' has nothing below it; add 'period', and 'master' or 'service', indented, or take it out"
        raise InputError(tree.keys["lofamo"].error(what))
    with lightly.imports():
        FaultsFile.model_rebuild()
    try:
        return FaultsFile.model_validate(tree.plain(), strict=False)
    except ValidationError as error:
        found = {_problem(tree, detail) for detail in error.errors(include_url=False)}
        raise InputError([mark.error(text) for mark, text in sorted(found)]) from None


def _placed(tree: Located, error: _core.ConfigError, sources: list[int]) -> list[str]:
    """The simulator's refusal, each problem at the event that it comes from."""
    found: dict[str, None] = {}
    for path, text in error.problems:
        parts = path.split(".")
        mark = tree.mark
        if parts[:2] == ["faults", "lofamo"]:
            mark = tree.find(tuple(parts[1:]))
        elif len(parts) == 3 and parts[0] == "faults":
            number = int(parts[2])
            mark = tree.find((parts[1], sources[number] if parts[1] == "events" else number))
        found[mark.error(text)] = None
    return list(found)


def _problem(tree: Located, detail: Any) -> tuple[Mark, str]:
    path = tuple(detail["loc"])
    inner = path and path[0] == "lofamo" and len(path) > 1
    owner = Lofamo if inner else _LISTS[str(path[0])] if len(path) > 2 else FaultsFile
    return located.problem(tree, detail, owner, "a file of faults is a mapping of keys to values, e.g. 'events:' with a list")
