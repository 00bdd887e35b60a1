# SPDX-License-Identifier: Apache-2.0
"""A replay of a trace with something changed: where its ranks are, the algorithms of collectives, constants of the
machine, its faults, the computing of single ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from exanet import faults
from exanet.errors import InputError
from exanet.machine import load
from exanet.machine.located import values
from exanet.replay import Options, loaded, placed, programs_of, simulate
from exanet.results import critical_path
from exanet.trace import timed
from exanet.trace.folder import Trace


@dataclass(frozen=True)
class Change:
    """What is to be otherwise."""

    mapping: str | None = None
    collectives: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)  # values by key of the machine file
    without_faults: bool = False
    rank_factors: Sequence[float] = ()  # on the computing of each rank; none: 1


@dataclass(frozen=True)
class Setting:
    """What is replayed: the trace, the machine as resolved, and the nodes of ranks."""

    options: Options
    trace: Trace
    machine: dict[str, Any]
    specs: list[dict[str, Any]]

    @property
    def nodes(self) -> list[int]:
        """By rank."""
        return list(self.specs[0]["placement"])

    @property
    def flow(self) -> bool:
        """At flow level."""
        return self.options.level == "flow"


@dataclass(frozen=True)
class Base:
    """The replay without a change."""

    setting: Setting
    found: dict[str, Any]
    path: pl.DataFrame
    calls: pl.DataFrame

    @property
    def took_ps(self) -> int:
        """The run's time."""
        return int(self.found["summary"]["virtual_ps"])


def setting(options: Options, change: Change | None = None) -> Setting:
    """The trace on the machine. Raises InputError on what does not go together."""
    change = change or Change()
    options = replace(options, mapping=change.mapping or options.mapping, collectives={**options.collectives, **change.collectives})
    described = load(options.machine, values(dict(change.machine), "advise"), packets=options.level == "packet")
    described = faults.add(described, None if change.without_faults else options.faults)
    asked = programs_of(options)
    traces = [loaded(program) for program in asked]
    resolved = described.resolve()
    specs = placed(options, asked, traces, described, resolved)
    if change.rank_factors:
        specs[0]["rank_factors"] = list(change.rank_factors)
    assert traces[0] is not None
    return Setting(options, traces[0], resolved, specs)


def base(given: Setting) -> Base:
    """The replay of a setting, with its critical path. Raises InputError where there is none."""
    found = simulate(given.specs, given.machine, level=given.options.level, call_times=True)
    calls = found["calls"] = timed.replayed([given.trace], [len(given.nodes)], found.pop("call_times"))
    if not found["summary"]["virtual_ps"]:
        raise InputError(f"{given.trace.folder}: its replay takes no time, so nothing can make it faster")
    path, without = critical_path.table(found, given.machine, flow=given.flow)
    if path is None:
        raise InputError(f"{given.trace.folder}: it has no critical path: {without}")
    return Base(given, found, path, calls)


def took_ps(given: Setting) -> int:
    """The time of a setting's replay."""
    return int(simulate(given.specs, given.machine, level=given.options.level)["summary"]["virtual_ps"])
