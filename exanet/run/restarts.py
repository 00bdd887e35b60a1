# SPDX-License-Identifier: Apache-2.0
"""`exanet run --restarts`: a program that writes checkpoints is started again after hosts have died.

Problem: what a machine that breaks costs a program is the time of all its attempts. Model: each attempt is a run with
results of its own. The next one begins `--restart-delay` after the end of the one before, on the nodes that are left,
with the ranks that are left; what fails, fails at its time in the virtual time of all of them. Limits: the program
finds its checkpoints by itself; its clocks begin anew in each attempt; failures by rate cannot go on.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exanet import units
from exanet.directory import result_directory
from exanet.errors import InputError
from exanet.files import write_whole
from exanet.quantity import counted
from exanet.run import program, supervise
from exanet.run.options import Attempt, Options

MOST = 1000
"""Restarts of a run: each attempt has a folder."""


@dataclass(frozen=True)
class _Ended:
    """An attempt that is over."""

    attempt: Attempt
    ranks: int
    exit_code: int
    summary: dict[str, Any]
    nodes: tuple[int, ...]  # of each rank

    @property
    def dead(self) -> list[dict[str, Any]]:
        return list(self.summary.get("dead_ranks", ()))

    @property
    def end_ps(self) -> int:
        return self.attempt.began_ps + int(self.summary["virtual_ps"])

    @property
    def died(self) -> bool:
        """Whether the program has ended because hosts died, and nobody has stopped the run."""
        stopped = str(self.summary.get("reason", "")).startswith(tuple(supervise.STOP_SIGNALS.values()))
        return bool(self.dead) and not self.summary["complete"] and not stopped


def run(options: Options) -> int:
    """Runs the program, again after hosts have died; returns the exit code of the last attempt. Raises InputError."""
    delay_ps = _checked(options)
    name = program.label(options.command) if options.command else ""
    folder = result_directory("run --restarts", options.directory, f"exanet-run-{name}", quiet=options.quiet)
    done: list[_Ended] = []
    while True:
        code, ended = _attempt(options, folder, done, delay_ps)
        if ended is None:
            return code
        done.append(ended)
        _write(folder, done)
        left = len(set(ended.nodes) - {dead["node"] for dead in ended.dead})
        if not ended.died or left == 0 or len(done) > options.restarts:
            for number in range(len(done) + 1, MOST + 2):  # of an earlier run
                if (earlier := _place(folder, number)).is_dir():
                    shutil.rmtree(earlier)
            _say_end(done, left)
            return code
        dead = ", ".join(f"rank {each['rank']} on node {each['node']}" for each in ended.dead)
        _say(
            f"attempt {len(done)} ended at {units.format_time(ended.end_ps)} without {dead}; "
            f"the program is started again on {counted(left, 'node')} at {units.format_time(ended.end_ps + delay_ps)}"
        )


def _checked(options: Options) -> int:
    """The delay in picoseconds. Raises InputError on what does not go together."""
    try:
        delay_ps = units.parse(options.restart_delay, units.TIME)
    except units.UnitError as error:
        raise InputError(f"--restart-delay {options.restart_delay}: {error}") from None
    if options.restarts == 0:
        raise InputError("--restart-delay: nothing is started again without --restarts; add it, e.g. --restarts 1")
    if not 1 <= options.restarts <= MOST:
        raise InputError(f"--restarts {options.restarts}: give a number from 1 to {MOST}")
    if not options.faults:
        raise InputError("--restarts: nothing dies without --faults; give a file with an event 'host' (docs/faults.md), or leave it out")
    for other, given in (("--record", options.record is not None), ("--cpu", options.cpu is not None)):
        if given:
            raise InputError(f"--restarts and {other} do not go together; leave one of them out")
    from exanet.faults import check_restarts

    check_restarts(options.faults)
    return delay_ps


def _place(folder: Path, number: int) -> Path:
    return folder / f"attempt-{number}"


def _written(summary: Path) -> int:
    """When the file was written, in nanoseconds; 0 where there is none."""
    try:
        return summary.stat().st_mtime_ns
    except OSError:
        return 0


def _attempt(options: Options, folder: Path, done: list[_Ended], delay_ps: int) -> tuple[int, _Ended | None]:
    """Runs the next attempt. Returns its exit code, and None where it has not come to the simulated machine. Raises
    InputError."""
    nodes: tuple[int, ...] = ()
    began_ps = 0
    if done:
        before = done[-1]
        dead = {each["node"] for each in before.dead}
        nodes = tuple(node for node in before.nodes if node not in dead)
        began_ps = before.end_ps + delay_ps
    attempt = Attempt(len(done) + 1, began_ps, nodes)
    place = _place(folder, attempt.number)
    ranks = len(nodes) or options.ranks
    earlier = _written(place / "summary.json")
    code = program.run(replace(options, ranks=ranks, directory=place, attempt=attempt))
    if _written(place / "summary.json") == earlier:
        return code, None
    import polars as pl

    summary = json.loads((place / "summary.json").read_text(encoding="utf-8"))
    placed = pl.read_parquet(place / "ranks.parquet").sort("rank")["node"].to_list()
    return code, _Ended(attempt, ranks, code, summary, tuple(placed))


def _write(folder: Path, done: list[_Ended]) -> None:
    """attempts.parquet: docs/results.md has its columns."""
    import polars as pl

    from exanet.files import parquet

    rows = [
        {
            "attempt": each.attempt.number,
            "ranks": each.ranks,
            "begin_ps": each.attempt.began_ps,
            "failed_ps": min((each.attempt.began_ps + dead["time_ps"] for dead in each.dead), default=None),
            "end_ps": each.end_ps,
            "dead_ranks": len(each.dead),
            "complete": bool(each.summary["complete"]),
            "exit_code": each.exit_code,
        }
        for each in done
    ]
    frame = pl.DataFrame(rows, schema_overrides={"failed_ps": pl.Int64})
    write_whole(folder / "attempts.parquet", parquet(frame))


def _say_end(done: list[_Ended], left: int) -> None:
    last = done[-1]
    why = ""
    if last.died:
        why = "; no node is left" if left == 0 else f"; it is not started again after {counted(len(done) - 1, 'restart')}"
    _say(f"{counted(len(done), 'attempt')}, {units.format_time(last.end_ps)} of virtual time altogether{why}")


def _say(text: str) -> None:
    print(f"exanet: {text}", file=sys.stderr, flush=True)
