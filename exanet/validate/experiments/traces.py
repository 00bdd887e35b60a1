# SPDX-License-Identifier: Apache-2.0
"""Replays of programs on whole networks, against what RED-SEA published of its simulators (SAURON, and that of UPV).

The traces of NEST, GROMACS, LAMMPS and PATMOS are not published. Molecular dynamics as exanet/trace/written.py writes
it stands in for them: halos, the exchange of a particle mesh, and sums of energies, with computing between them. So the
orders that were published are judged, never times. Broadcasts need no trace but their number and size. Interfaces are
the prototype's, but for R52; docs/traces/studies.md has the same in full size, and with LAMMPS itself.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from exanet import replay
from exanet.trace import written
from exanet.validate.registry import Measured, Off, Reading, experiment
from exanet.validate.runner import Runner

_BROADCASTS = 100
_BROADCAST_BYTES = 1_000_000
_TREES = ("binary", "GLF", "LLF", "hardware")
_GROUPS_SHARE_LINKS = (
    "the source says neither how ranks are mapped nor how packets are routed. With ranks in the order of nodes and minimal routes the 18 "
    "ranks of a group send to two other groups in the binary tree, 18 messages over each link between groups, which makes the tree slow"
)

_MUCH_MORE = 2.0
"""Times as many packets in stage 1 as in stage 2 that count as much more."""

_SMALL_DIFFERENCE = 0.1
"""Share of the longest run by which runs may differ that counts as small."""

_NOTICED = 0.01
"""Share of a message's time that counts as a difference between networks."""

_SLOW_LINKS = "links: {link: {rate: 100 Gb/s}}"
"""BXIv2's rate over the links of bxi-256, which have BXIv3's."""

_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)

_NETWORKS = {
    "BXIv3-like fat tree": "",
    "BXIv2-like fat tree": _SLOW_LINKS,
    "BXIv3-like megafly": """topology: {kind: megafly, shape: [8, 4, 4, 2]}
links:
  link: null
  local: &like {rate: 400 Gb/s, word: 512 bit, pause_every: 0 words, framing: 0 words, latency: 50 ns}
  global: *like""",
}
"""Changes of bxi-256; the megafly has its links, by the names of a megafly's."""


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="exanet-validate-") as place:
        yield Path(place)


def _changed(folder: Path, base: str, changes: str) -> str:
    """A machine's name, or the file of one with YAML laid over it."""
    if not changes:
        return base
    file = folder / "changed.yaml"
    file.write_text(f"extends: {base}\nname: {base}-changed\n{changes}\n", encoding="utf-8")
    return str(file)


def _replayed(trace: Path, machine: str, collectives: Mapping[str, str] | None = None, mapping: str = "round-robin") -> dict[str, Any]:
    return replay.replay(replay.Options((trace,), machine, mapping, collectives=collectives or {}))[0]


def _message_times_us(found: Mapping[str, Any]) -> np.ndarray:
    """From the post of each message to its arrival, in order."""
    messages = found["messages"]
    return np.sort(np.asarray(messages["delivered_ps"], dtype=np.int64) - np.asarray(messages["posted_ps"], dtype=np.int64)) * 1e-6


@functools.cache
def _took_ms(runner: Runner, algorithm: str, mapping: str = "round-robin", routing: str = "minimal") -> float:
    """Milliseconds of the broadcasts."""
    runner.report(f"broadcasts by {algorithm}, ranks mapped {mapping}, {routing} routing")
    with _folder() as folder:
        trace = written.broadcasts(folder / "trace", 342, _BROADCASTS, _BROADCAST_BYTES)
        machine = _changed(folder, "dragonfly-342", "" if routing == "minimal" else f"topology: {{routing: {routing}}}")
        return float(_replayed(trace, machine, {"bcast": algorithm}, mapping)["summary"]["virtual_ps"]) * 1e-9


def _speed_up(runner: Runner, algorithm: str, remark: str, published: float) -> Measured:
    """How many times as fast as the binary tree; the source says neither how ranks are mapped nor how packets are
    routed."""
    binary, ours = _took_ms(runner, "binary"), _took_ms(runner, algorithm)
    drawn = {name: _took_ms(runner, name, "random") for name in ("binary", algorithm)}
    # Copies take minimal routes, whatever the routing of other packets.
    valiant = {name: _took_ms(runner, name, routing="minimal" if name == "hardware" else "valiant") for name in ("binary", algorithm)}
    return Measured(
        binary / ours,
        f"one after the other on 342 ranks, a rank a node: {binary:.1f} ms by the binary tree, {ours:.1f} ms by {algorithm}; ranks "
        f"mapped at random {drawn['binary']:.1f} and {drawn[algorithm]:.1f}, with Valiant routing {valiant['binary']:.1f} and "
        f"{valiant[algorithm]:.1f}. {remark}",
        data={"ms": {"binary": binary, algorithm: ours}, "random_mapping_ms": drawn, "valiant_ms": valiant},
        readings=(
            Reading("ranks mapped at random", drawn["binary"] / drawn[algorithm], published),
            Reading("Valiant routing", valiant["binary"] / valiant[algorithm], published),
        ),
    )


@experiment("R58", kind="predicted", off=Off(2.687, _GROUPS_SHARE_LINKS), long=True)
def hardware_broadcast(runner: Runner) -> Measured:
    return _speed_up(runner, "hardware", "Routers copy packets along minimal routes", 5)


@experiment("R59", kind="predicted", off=Off(1.459, _GROUPS_SHARE_LINKS), long=True)
def local_link_first(runner: Runner) -> Measured:
    return _speed_up(runner, "LLF", "Their tree is not published; ours enters each group, switch and node once", 2.3)


@experiment("R60", kind="shape", long=True)
def global_link_first(runner: Runner) -> Measured:
    took = {algorithm: _took_ms(runner, algorithm) for algorithm in _TREES}
    return Measured(
        took["binary"] / took["GLF"],
        f"as R58: {took['GLF']:.1f} ms by GLF",
        holds=took["LLF"] < took["GLF"] < took["binary"],
        text=" : ".join(f"{took['binary'] / took[name]:.2f}" for name in ("binary", "GLF", "LLF")),
        data=took,
    )


@experiment("R61", kind="beside")
def gain_of_collectives(runner: Runner) -> Measured:
    """Short broadcasts, ranks mapped at random, where no mapping helps a tree."""
    took = {}
    with _folder() as folder:
        trace = written.broadcasts(folder / "trace", 342, 5, 16_384)
        for algorithm in ("binary", "LLF", "hardware"):
            runner.report(f"short broadcasts by {algorithm}")
            took[algorithm] = float(_replayed(trace, "dragonfly-342", {"bcast": algorithm}, "random")["summary"]["virtual_ps"]) * 1e-6
    gains = [took["binary"] / took[algorithm] for algorithm in ("LLF", "hardware")]
    return Measured(
        gains[0],
        f"5 broadcasts of 16 KiB on 342 ranks mapped at random: {', '.join(f'{us:.0f} us by {name}' for name, us in took.items())}. "
        "The summary names neither collectives nor sizes nor what it compares with; R58 and R59 have longer broadcasts",
        text=", ".join(f"{gain:.2f} times" for gain in gains),
        data=took,
    )


@functools.cache
def _dynamics(runner: Runner) -> dict[str, dict[str, float]]:
    """Molecular dynamics of 256 ranks on each network: milliseconds of the run, and the mean time of a message in
    microseconds."""
    figures = {}
    with _folder() as folder:
        trace = written.molecular_dynamics(folder / "trace", 2, (8, 8, 4))
        for name, changes in _NETWORKS.items():
            runner.report(f"molecular dynamics on the {name}")
            found = _replayed(trace, _changed(folder, "bxi-256", changes))
            figures[name] = {"run_ms": found["summary"]["virtual_ps"] * 1e-9, "message_us": float(_message_times_us(found).mean())}
    return figures


@experiment("R51", kind="shape")
def applications_by_network(runner: Runner) -> Measured:
    figures = _dynamics(runner)
    runs = [one["run_ms"] for one in figures.values()]
    apart = (max(runs) - min(runs)) / max(runs)
    fast, slow = (figures[f"{name}-like fat tree"]["message_us"] for name in ("BXIv3", "BXIv2"))
    return Measured(
        apart,
        f"written molecular dynamics, 256 ranks: run and mean time of a message with BXIv3-like switches, with links of 100 Gb/s, and in "
        f"the megafly. Runs differ by {apart:.1%}, where {_SMALL_DIFFERENCE:.0%} is small; what the published traces compute is not known",
        holds=apart <= _SMALL_DIFFERENCE and fast < slow,
        text=", ".join(f"{one['run_ms']:.2f} ms {one['message_us']:.2f} us" for one in figures.values()),
        data=figures,
    )


@functools.cache
def _times_by_switch(runner: Runner, base: str) -> dict[str, list[float]]:
    """Microseconds within which those shares of the messages of molecular dynamics on 128 nodes are, by the links'
    rate."""
    quantiles: dict[str, list[float]] = {}
    with _folder() as folder:
        trace = written.molecular_dynamics(folder / "trace", 2)
        for name, changes in (("BXIv3", ""), ("BXIv2", _SLOW_LINKS)):
            runner.report(f"molecular dynamics with {name}-like switches, {base}")
            machine = _changed(folder, base, f"topology: {{shape: [16, 8]}}\n{changes}")
            quantiles[name] = np.quantile(_message_times_us(_replayed(trace, machine)), _QUANTILES).tolist()
    return quantiles


def _behind(quantiles: Mapping[str, list[float]]) -> list[float]:
    return [slow / fast for fast, slow in zip(quantiles["BXIv3"], quantiles["BXIv2"], strict=True)]


@experiment("R52", kind="shape")
def message_times_by_switch(runner: Runner) -> Measured:
    ours, prototype = (_times_by_switch(runner, base) for base in ("bxi-256-portals", "bxi-256"))
    behind = _behind(ours)
    median = behind[_QUANTILES.index(0.5)]
    return Measured(
        median,
        "written molecular dynamics, 128 ranks on a fat tree of 128 nodes, interfaces that match messages as BXI's do "
        f"(machines/bxi-256-portals.yaml): times of messages within which {', '.join(f'{share:.0%}' for share in _QUANTILES)} are, with "
        f"links of 100 Gb/s over those with 400. Better is a median shorter by {_NOTICED:.0%} or more, and no share longer by as much. "
        f"With the prototype's interfaces {', '.join(f'{ratio:.3f}' for ratio in _behind(prototype))}",
        holds=median >= 1 + _NOTICED and min(behind) > 1 - _NOTICED,
        text=", ".join(f"{ratio:.3f}" for ratio in behind),
        data={"quantiles": _QUANTILES, "us": ours, "prototype_us": prototype},
    )


@experiment("R57", kind="shape")
def packets_by_stage(runner: Runner) -> Measured:
    runner.report("molecular dynamics on the 8-ary 2-tree")
    with _folder() as folder:
        trace = written.molecular_dynamics(folder / "trace", 2, (4, 4, 4))
        machine = _changed(folder, "fat-tree-64", "topology: {kind: k-ary-n-tree, shape: [8, 2]}")
        queued = np.asarray(_replayed(trace, machine)["queued"], dtype=np.int64)
    first, second = queued[:, :8], queued[:, 8:]
    ratio = float(first.sum() / max(second.sum(), 1))
    return Measured(
        ratio,
        f"written molecular dynamics in the place of LAMMPS: packets in stage 1 over those in stage 2, in {len(queued)} looks; at most "
        f"{first.max()} in a switch of stage 1 and {second.max()} of stage 2. {_MUCH_MORE:g} times as many count as much more. When the "
        "most is there depends on the trace, and is not judged",
        holds=ratio >= _MUCH_MORE,
        text=f"{ratio:.1f} : 1, at most {max(first.max(), second.max())}",
        data={"most": [int(first.max()), int(second.max())], "sum": [int(first.sum()), int(second.sum())]},
    )


@experiment("R62", kind="beside")
def interference(runner: Runner) -> Measured:
    found: dict[str, list[float]] = {}
    with _folder() as folder:
        broadcasts = written.broadcasts(folder / "broadcasts", 128, 50, 25_000)
        dynamics = written.molecular_dynamics(folder / "dynamics", 2)
        for mapping in ("round-robin", "switch", "node"):
            runner.report(f"broadcasts beside molecular dynamics, mapped by {mapping}")
            options = replay.Options((broadcasts, dynamics), "dragonfly-342", mapping, collectives={"bcast": "LLF"}, alone=True)
            found[mapping] = [row["slowdown"] for row in replay.replay(options)[0]["programs"]]
    return Measured(
        max(max(one) for one in found.values()),
        "50 broadcasts of 25 KB by LLF, of 500, beside two steps of written molecular dynamics in the place of GROMACS, 128 ranks each: "
        "how much each is slowed by the other with nodes in blocks, by switches and one by one. Published as a picture, without sizes",
        text=", ".join(f"{one[0]:.3f} {one[1]:.3f}" for one in found.values()),
        data=found,
    )
