# SPDX-License-Identifier: Apache-2.0
"""Sweeps over recorded programs: what a run of them is, what it depends on, and its figures. Each is `exanet replay`
alone.

The plan reads the traces and places their ranks; a worker only opens the streams, which it finds where the plan did.
What a run's result depends on is what is in the streams, so that a trace can be moved, and one that was recorded anew
is replayed anew.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exanet import level as levels
from exanet import programs, replay
from exanet.errors import InputError
from exanet.machine import Machine
from exanet.trace import folder, rules

DEFAULT = "default"
"""In the place of algorithms of collectives, or of rules that choose them: those that a replay takes by itself."""

_SEPARATOR = " + "


@dataclass(frozen=True)
class TracesSpec:
    """Parameters of a replay; `trace` as `exanet replay` has it, several together with " + " between them."""

    trace: str
    mapping: str = "linear"
    compute: float = 1.0
    collective: str = DEFAULT
    rules: str = DEFAULT  # or one of exanet.trace.rules.NAMES
    seed: int = 1
    level: str = "packet"  # one of exanet.level.LEVELS


def relative(text: str, place: Path | None) -> str:
    """The same traces, named from another folder."""
    if place is None:
        return text
    return _SEPARATOR.join(_relative(part, place) for part in text.split(_SEPARATOR))


def _relative(text: str, place: Path) -> str:
    found = None if (place / text).exists() else re.fullmatch(r"(.*?):(\w*=.*)", text)
    if found is None:
        return str(place / text)
    keys = re.sub(r"(?<=map=)[^,]+", lambda mapping: mapping_relative(mapping[0], place), found[2])
    return f"{place / found[1]}:{keys}"


def mapping_relative(mapping: str, place: Path | None) -> str:
    """The same mapping; if it is a file, named from another folder."""
    return mapping if place is None or not mapping.strip() or programs.is_word(mapping) else str(place / mapping)


def collectives(text: str) -> dict[str, str]:
    """Algorithms by collective. Raises InputError."""
    return {} if text == DEFAULT else rules.choices(text)


def chosen_rules(text: str) -> str | None:
    """Whose rules choose the other algorithms; None: those of the MPI that recorded a trace. Raises InputError."""
    name = None if text == DEFAULT else text
    rules.check(name)
    return name


class Traces:
    """The traces of a sweep, each read once."""

    def __init__(self) -> None:
        self._loaded: dict[Path, folder.Trace | None] = {}
        self._digests: dict[str, str] = {}  # by a trace's first stream

    def placed(self, described: Machine, resolved: dict[str, Any], values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The programs of a run on their nodes, as replay.simulate() takes them. Raises InputError."""
        spec = TracesSpec(**values)
        programs.check_compute(f"compute {spec.compute:g}", spec.compute)
        if not 0 <= spec.seed < 1 << 64:
            raise InputError(f"seed {spec.seed}: give a whole number from 0 to 2^64 - 1")
        levels.check(spec.level)
        options = replay.Options(
            spec.trace.split(_SEPARATOR),
            described.name,
            spec.mapping,
            spec.compute,
            collectives(spec.collective),
            spec.seed,
            rules=chosen_rules(spec.rules),
        )
        asked = replay.programs_of(options)
        return replay.placed(options, asked, [self._load(program) for program in asked], described, resolved)

    def _load(self, program: programs.Program) -> folder.Trace | None:
        assert program.trace is not None
        if program.trace not in self._loaded:
            self._loaded[program.trace] = replay.loaded(program)
        return self._loaded[program.trace]

    def depends_on(self, placed: list[dict[str, Any]], values: Mapping[str, Any]) -> dict[str, Any]:
        """What the result of a run depends on besides the machine. Raises InputError."""
        own = [
            {
                "nodes": hashlib.sha256(repr(program["placement"]).encode()).hexdigest(),
                "start_ps": program["start_ps"],
                "compute_factor": program["compute_factor"],
                "rules": program["rules"],
                "collectives": program["collectives"],
                "streams": self._digest(program["streams"]),
            }
            for program in placed
        ]
        return {"programs": own, "level": values["level"]}

    def _digest(self, files: Sequence[str]) -> str:
        """Of what is in the streams of one trace."""
        if files[0] not in self._digests:
            all_of_them = hashlib.sha256()
            for file in files:
                try:
                    with open(file, "rb") as stream:
                        all_of_them.update(hashlib.file_digest(stream, "sha256").digest())
                except OSError as error:
                    raise InputError(f"{file}: {error.strerror}") from None
            self._digests[files[0]] = all_of_them.hexdigest()
        return self._digests[files[0]]


def measure(machine: dict[str, Any], placed: list[dict[str, Any]], level: str, network: Callable[..., Any]) -> dict[str, Any]:
    """One run's figures, its network by `network` (results.report), and the processor time that it took."""
    found = replay.simulate(placed, machine, level=level)
    summary, links, ranks = found["summary"], found["links"], found["ranks"]
    end_ps = summary["virtual_ps"]
    use = np.asarray(links["busy_ps"], dtype=np.float64) / max(end_ps, 1)
    figures = {
        "finished_ns": end_ps / 1e3,
        "compute_ns": float(np.mean(ranks["compute_ps"])) / 1e3,
        **{name: summary[name] for name in ("messages", "bytes", "packets", "packet_hops", "events")},
        "mean_hops": summary["packet_hops"] / max(summary["packets"], 1),
        "hottest_link_use": float(use.max()),
        "mean_link_use": float(use.mean()),
    }
    return {"figures": figures, "network": network({"links": {**links, "use": use}}, end_ps), "cpu_s": summary["cpu_s"]}
