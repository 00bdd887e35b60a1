# SPDX-License-Identifier: Apache-2.0
"""Finds what no run can have before anything runs, and names the sweep's value that is to blame.

Each combination of values is given once to the checks of `exanet sim`, and to the simulator's own, which a network is
made for and thrown away. Seeds and loads of one kind make no difference to them. Large networks are not made here, nor
more than so many; what shows only in them, or while a run runs, ends as a failed run.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from exanet import _core, sim
from exanet.errors import InputError
from exanet.machine import Machine
from exanet.machine.located import Mark
from exanet.sim import jobs, matrix, messages
from exanet.sim.spec import of_messages
from exanet.sweep import replays

_LARGE = 20_000  # endpoints
_MOST_ENDPOINTS = 2_000_000  # of all networks made; some seconds


class Checks:
    """`marks` are the places of values, by axis and value; `usual` the values of axes that are not given."""

    def __init__(self, marks: Mapping[tuple[str, Any], Mark], usual: Mapping[str, Any], traces: replays.Traces) -> None:
        self._traces = traces
        self._marks, self._usual = marks, usual
        self._seen: set[Any] = set()
        self._left = _MOST_ENDPOINTS

    def problems(self, where: Hashable, machine: Machine, resolved: dict[str, Any], picked: Mapping[str, Any]) -> list[str]:
        """Why this run cannot be, each at its place; nothing, too, if that was reported before. `where`
        distinguishes machines."""
        spec = {name: picked[name] for name in self._usual}
        load, seed = spec.get("load"), spec["seed"]
        kind = (load == 0, load is not None and load > 1, seed if not 0 <= seed < 1 << 64 else 0)
        key = (where, kind, *(value for name, value in spec.items() if name not in ("load", "seed")))
        found: list[str] = []
        if key in self._seen:
            return found
        self._seen.add(key)
        while (refused := self._refused(machine, resolved, spec)) is not None:
            blamed = self._blamed(refused, machine, resolved, spec)
            mark = self._marks[blamed, spec[blamed]] if blamed else picked["machine"].mark
            found.append(mark.error(f"{picked['machine'].value}: {refused}" if "machine" in refused else refused))
            if blamed is None:
                break
            spec[blamed] = self._usual[blamed]  # and what else?
        return found

    def _blamed(self, refused: str, machine: Machine, resolved: dict[str, Any], spec: Mapping[str, Any]) -> str | None:
        """The first axis without whose value it would not be refused so; of several, the one that the message begins
        with."""
        for name in sorted(self._usual, key=lambda name: not refused.startswith(name)):
            changed = {**spec, name: self._usual[name]}
            if (name, spec[name]) in self._marks and self._refused(machine, resolved, changed) != refused:
                return name
        return None

    def _refused(self, machine: Machine, resolved: dict[str, Any], spec: Mapping[str, Any]) -> str | None:
        make = machine.nodes <= min(_LARGE, self._left)
        self._left -= machine.nodes if make else 0
        try:
            if "trace" in spec:
                self._try_traces(machine, resolved, spec, make)
            elif "job" in spec:
                _try_jobs(resolved, spec, make)
            else:
                _try_traffic(resolved, spec, make)
        except (InputError, ValueError) as error:
            return " ".join(str(error).split())
        return None

    def _try_traces(self, machine: Machine, resolved: dict[str, Any], values: Mapping[str, Any], make: bool) -> None:
        if values["trace"] is None:
            return
        placed = self._traces.placed(machine, resolved, values)
        if make:
            _core.Replay(resolved, placed, values["level"] == "flow")


def _try_traffic(resolved: dict[str, Any], values: Mapping[str, Any], make: bool) -> None:
    kinds = sim.TrafficSpec.__dataclass_fields__
    spec = sim.TrafficSpec(**{name: values[name.removesuffix("_ps")] for name in kinds})
    spec = replace(spec, traffic=matrix.in_full(spec.traffic, resolved))
    load = 1.0 if values["load"] is None else values["load"]
    payload = sim.payload_of(resolved, spec)
    options = sim.packet_options(spec, load, payload, 1)
    if not of_messages(spec):
        if load == 0:
            raise InputError("a load of 0 is a burst of messages: say how long they are (message_bytes), or give a load above 0")
        if make:
            _core.Traffic(resolved, options)
        return
    if load and spec.rounds != 1:
        raise InputError("rounds are of messages that are sent all at once: give load 0")
    # A burst, however long the open loop would be; of two rounds in its place, for what a burst of one alone can have.
    if make:
        messages.running(resolved, payload, 0.0, replace(spec, rounds=2 if load else min(spec.rounds, 2)))


def _try_jobs(resolved: dict[str, Any], values: Mapping[str, Any], make: bool) -> None:
    programs = [jobs.Job.parse(part) for part in values["job"].split(" + ")]
    figures = {name: values[name] for name in ("mapping", "packet_bytes", "seed", "nic") if name in values}
    jobs.running(resolved, programs, **figures, level="packet", make=make)
