# SPDX-License-Identifier: Apache-2.0
"""The programs that a replay runs together: traces and synthetic jobs, each with its start and its nodes.

Problem: several programs share a machine, some with nodes of their own choice. Model: a program is read from its text
on the command line; programs whose nodes a file says come first, the others share what is left by their mapping, in
their order. Limit: a node runs ranks of one program, but where a file says otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from exanet import _core, keys, units
from exanet.bounds import time_within
from exanet.errors import InputError
from exanet.machine import Machine
from exanet.quantity import counted
from exanet.run import placement
from exanet.sim.jobs import Job
from exanet.trace import rules
from exanet.units import UnitError

_TRACE_FORM = "give TRACE:KEY=VALUE,... with the keys start, map, compute and those of --collective, e.g. trace:start=1ms,bcast=LLF"

_JOB_FORM = (
    "give NAME:KEY=VALUE,... with the keys ranks, bytes, rounds, pause, start, map and algorithm, e.g. alltoall:bytes=4KiB,rounds=10"
)


@dataclass(frozen=True)
class Program:
    """One of the programs of a replay: a recorded one (`trace`), or a job."""

    text: str  # as the command line has it
    trace: Path | None = None
    job: Job | None = None
    start_ps: int = 0
    mapping: str | None = None  # None: that of all
    compute: float | None = None  # None: that of all
    # algorithms, before those of all; of a job that calls one, its own
    collectives: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def recorded(cls, text: str) -> Program:
        """From TRACE or TRACE:KEY=VALUE,... Raises InputError."""
        trace, rest = _split(text)
        if not rest:
            return cls(text, trace=trace)
        found = keys.read(text, rest.split(","), ("start", "map", "compute", *rules.algorithms()), _TRACE_FORM)
        return replace(cls(text, trace=trace), **_common(text, found))

    @classmethod
    def synthetic(cls, text: str) -> Program:
        """From NAME:KEY=VALUE,... of a job, with the keys start, map and algorithm besides. Raises InputError."""
        name, _, rest = text.partition(":")
        parts = rest.split(",") if rest else []
        known = ("start", "map", "algorithm")
        for part in parts:
            if part.partition("=")[0] not in (*known, "ranks", "bytes", "rounds", "pause", "priority"):
                raise InputError(f"--job {text}: '{part}' is not understood; {_JOB_FORM}")
        ours = [part for part in parts if part.partition("=")[0] in known]
        found = keys.read(f"--job {text}", ours, known, _JOB_FORM)
        others = ",".join(part for part in parts if part not in ours)
        job = Job.parse(f"{name}:{others}" if others else name)
        if name in rules.algorithms() and name not in _core.program_names() and "algorithm" not in found:
            raise InputError(
                f"--job {text}: a job that calls a collective takes an algorithm; give {name}:algorithm={rules.algorithms()[name][0]}"
            )
        if job.priority:
            raise InputError(f"--job {text}: a replay's interfaces send all data in one class; leave out the priority")
        made = replace(cls(text, job=job), **_common(f"--job {text}", found))
        return replace(made, collectives=_of_job(f"--job {text}", name, found["algorithm"])) if "algorithm" in found else made


def _split(text: str) -> tuple[Path, str]:
    """The folder of TRACE or TRACE:KEY=VALUE,..., and what stands behind it."""
    found = None if Path(text).exists() else re.fullmatch(r"(.*?):([\w-]*=.*)", text)
    return (Path(found[1]), found[2]) if found else (Path(text), "")


def stem(traces: Sequence[str], jobs: Sequence[str]) -> str:
    """What the first program is called, for the name of a folder."""
    return _split(traces[0])[0].name if traces else jobs[0].partition(":")[0]


def _of_job(what: str, name: str, algorithm: str) -> dict[str, str]:
    """The one algorithm of a job that calls a collective. Raises InputError."""
    if name not in rules.algorithms():
        raise InputError(
            f"{what}: {name} has no algorithm: that is for jobs that call one of {', '.join(rules.algorithms())}; leave it out"
        )
    rules.check_algorithm(what, name, algorithm)
    return {name: algorithm}


def _common(text: str, given: Mapping[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if "start" in given:
        try:
            made["start_ps"] = units.parse(given["start"], units.TIME)
        except UnitError as error:
            raise InputError(f"{text}: start: {error}") from None
        time_within(f"{text}: start", made["start_ps"])
    if "map" in given:
        made["mapping"] = given["map"]
    if "compute" in given:
        try:
            made["compute"] = float(given["compute"])
        except ValueError:
            made["compute"] = -1.0
        check_compute(f"{text}: compute={given['compute']}", made["compute"])
    chosen = {key: value for key, value in given.items() if key in rules.algorithms()}
    for collective, algorithm in chosen.items():
        rules.check_algorithm(text, collective, algorithm)
    return made | ({"collectives": chosen} if chosen else {})


def check_compute(what: str, factor: float) -> None:
    """Raises InputError unless it is a factor on computing."""
    if not 0 <= factor < 1e6:
        raise InputError(f"{what}: give a factor from 0 to a million on the recorded computing")


def place(
    programs: Sequence[Program], ranks: Sequence[int], mapping: str, described: Machine, topology: dict[str, Any], seed: int
) -> list[list[int]]:
    """The node of each rank, by program. Raises InputError.

    A single trace is placed as `exanet run` places a program. Several have nodes of their own, but where files say
    otherwise: the ranks of a trace fill the cores of a node (linear, random), or take one each (round-robin, switch,
    node), and a job's one each. Files come first, then the others, by mapping in the order of the programs. `ranks` are
    those of the programs, 0 for a job that takes an equal share of the nodes that are left.
    """
    placement.check("--map ''", mapping, placement.REPLAY_KINDS)
    for program in programs:
        if program.mapping is not None:
            of = f"--job {program.text}" if program.job else program.text
            placement.check(f"{of}: map=", program.mapping, placement.REPLAY_KINDS)
    words = [mapping if program.mapping is None else program.mapping for program in programs]
    cores = described.cores_for_programs()
    own: dict[str, Any] = {
        "nodes": described.nodes,
        "cores_per_node": cores,
        "seed": seed,
        "kinds": placement.REPLAY_KINDS,
        "networks": described.halves(),
    }
    if len(programs) == 1 and programs[0].job is None and words[0] not in ("switch", "node"):
        return [placement.place(words[0], ranks=ranks[0], **own)]
    placed: list[list[int]] = [[] for _ in programs]
    by_file = [number for number, word in enumerate(words) if not is_word(word)]
    together = [number for number in by_file if programs[number].mapping is None]
    for numbers in ([together] if together else []) + [[number] for number in by_file if number not in together]:
        if any(ranks[number] == 0 for number in numbers):
            raise InputError(f"--map {words[numbers[0]]}: a file places jobs with a number of ranks; write ranks=NUMBER")
        nodes = placement.place(words[numbers[0]], ranks=sum(ranks[number] for number in numbers), **own)
        for number in numbers:
            placed[number], nodes = nodes[: ranks[number]], nodes[ranks[number] :]
    used = Counter(node for nodes in placed for node in nodes)
    for node, count in sorted(used.items()):
        if count > cores:
            raise InputError(
                f"the files of map put {counted(count, 'rank')} on node {node}, which has {counted(cores, 'core')}; put some elsewhere"
            )
    taken = sorted({*used, *described.gateway_nodes})
    alone_on_node = ("round-robin", "switch", "node")
    per_node = [1 if program.job or word in alone_on_node else cores for program, word in zip(programs, words, strict=True)]
    needs = _nodes_needed(programs, ranks, per_node, by_file, taken, topology)
    for word in dict.fromkeys(words[number] for number in range(len(programs)) if number not in by_file):
        numbers = [number for number, other in enumerate(words) if other == word]
        kind = "linear" if word == "round-robin" else word.partition(":")[0]
        mapped = _core.map_jobs(topology, kind, [needs[number] for number in numbers], placement.seed_of(word, seed), taken)
        for number, nodes in zip(numbers, mapped, strict=True):
            count = ranks[number] or needs[number]
            placed[number] = [nodes[rank // per_node[number]] for rank in range(count)]
            taken += nodes
    return placed


def is_word(mapping: str) -> bool:
    """Whether it is a mapping by itself, and not the name of a file with one."""
    return mapping == "round-robin" or mapping.partition(":")[0] == "random" or mapping in _core.mapping_names()


def _nodes_needed(
    programs: Sequence[Program],
    ranks: Sequence[int],
    per_node: Sequence[int],
    by_file: Sequence[int],
    taken: Sequence[int],
    topology: dict[str, Any],
) -> list[int]:
    """Nodes of each program that no file places. Raises InputError where there are too few."""
    others = [number for number in range(len(programs)) if number not in by_file]
    needs = [-(-ranks[number] // per_node[number]) if number in others else 0 for number in range(len(programs))]
    there = _core.topology_needs(topology)["endpoints"]
    if topology.get("failed"):
        there -= len(_core.failed_endpoints(topology))
    left = there - len(taken) - sum(needs)
    sharing = [number for number in others if ranks[number] == 0]
    if left < 2 * len(sharing):
        wanted = ", ".join(f"{programs[number].text}: {needs[number] or 'two or more'}" for number in others)
        away = f", of which files of map have taken {len(taken)}" if taken else ""
        raise InputError(
            f"the programs take more nodes than there are ({wanted}): the machine has {there}{away}; leave one out, or take a larger one"
        )
    for number in sharing:
        needs[number] = left // len(sharing)
    return needs
