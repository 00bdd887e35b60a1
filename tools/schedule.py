# SPDX-License-Identifier: Apache-2.0
"""Runs commands that depend on one another, as many at a time as there are processors, and says what each took.

Contract: a part starts when all that it needs have passed and the processors that it takes are free; the parts before
it in the list go first. A part that runs longer than its limit is killed with everything that it started, and has
failed. What needs a failed part is left out. A part's output goes to a file of its own.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_POLL_S = 0.1
_GRACE_S = 10.0
"""From SIGTERM to SIGKILL for a part past its limit: time to clean up."""
_MOST_SHOWN = 40_000
"""Characters of the output of a part that failed; its file has all of it."""
_MARK = "EXANET_PART"
"""Variable of the environment that says of a process, whatever its session, which part of which run started it."""


@dataclass(frozen=True)
class Part:
    """One command of the pipeline, for bash.

    `share` is how many of the processors it can keep busy: the command finds their number, at least 1, in $JOBS. With
    `share` 0 it runs one thing at a time, and `busy` says for how much of its time it does. `limit_s` is how long it
    may take on a slow machine that others use, too.
    """

    name: str
    command: str
    needs: tuple[str, ...] = ()
    share: float = 0
    busy: float = 1
    limit_s: float = 1800

    def jobs(self, processors: int) -> int:
        return max(1, int(self.share * processors))

    def load(self, processors: int) -> float:
        """How many processors it keeps busy on average."""
        return self.jobs(processors) * self.busy


@dataclass(frozen=True)
class Outcome:
    """How a part ended: `passed`, `failed`, `timed out` or `left out`. Seconds on the wall, and of processors with
    all descendants."""

    name: str
    result: str
    wall_s: float = 0.0
    cpu_s: float = 0.0


@dataclass
class _Running:
    part: Part
    process: subprocess.Popen[bytes]
    load: float
    said: Callable[[str], None]
    began: float = field(default_factory=time.monotonic)
    ended_by_us: float | None = None

    def signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def check_limit(self, end: float) -> None:
        now = time.monotonic()
        if self.ended_by_us is None and (now - self.began > self.part.limit_s or now > end):
            self.ended_by_us = now
            self.said("\n".join([f"{self.part.name}: past its limit; it runs", *map(_described, _started_by(self.part))]))
            self.signal(signal.SIGTERM)
        elif self.ended_by_us is not None and now - self.ended_by_us > _GRACE_S:
            self.signal(signal.SIGKILL)

    def end_rest(self) -> None:
        """Kills what the part left running, in sessions of their own, too."""
        self.signal(signal.SIGKILL)
        for pid in _started_by(self.part):
            self.said(f"{self.part.name}: left running, killed:{_described(pid)}")
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def outcome(self) -> Outcome | None:
        """How it ended, or None while it runs."""
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if pid == 0:
            return None
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.end_rest()
        result = "timed out" if self.ended_by_us is not None else "passed" if self.process.returncode == 0 else "failed"
        return Outcome(self.part.name, result, time.monotonic() - self.began, usage.ru_utime + usage.ru_stime)


def _mark(part: Part) -> str:
    """Two runs on one machine, of two checkouts, leave each other's processes alone."""
    return f"{part.name}@{os.getpid()}"


def _started_by(part: Part) -> list[int]:
    """Processes that run and have the part's mark, in the order of their numbers."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended since, or somebody else's
            if f"{_MARK}={_mark(part)}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return sorted(found)


def _described(pid: int) -> str:
    """One line of a process: its number, state, where in the kernel it sleeps, seconds of processors, and command."""
    process, ticks = Path("/proc", str(pid)), os.sysconf("SC_CLK_TCK")
    try:
        state, *numbers = (process / "stat").read_text().rpartition(")")[2].split()
        used = (int(numbers[10]) + int(numbers[11])) / ticks
        command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return f"  {pid} {state} {(process / 'wchan').read_text() or '-'} {used:.1f} s {command[:160]}"
    except (OSError, ValueError, IndexError):
        return f"  {pid} ended meanwhile"


def check(parts: Sequence[Part]) -> None:
    """Raises ValueError when a part needs one that does not stand before it, or a name stands twice."""
    known: set[str] = set()
    for part in parts:
        if part.name in known:
            raise ValueError(f"there are two parts {part.name}")
        if unknown := set(part.needs) - known:
            raise ValueError(f"part {part.name} needs {', '.join(sorted(unknown))}, which must stand before it")
        known.add(part.name)


def run(
    parts: Sequence[Part],
    *,
    processors: int,
    folder: Path,
    environment: Mapping[str, str],
    limit_s: float = math.inf,
    said: Callable[[str], None] = lambda line: print(line, flush=True),
) -> list[Outcome]:
    """Runs all parts, for `limit_s` at most; their output is in `folder`/NAME.log. Outcomes come in the order in which
    the parts ended.

    Raises ValueError as check() does.
    """
    check(parts)
    folder.mkdir(parents=True, exist_ok=True)
    waiting, running, outcomes = list(parts), list[_Running](), list[Outcome]()
    end = time.monotonic() + limit_s
    try:
        while waiting or running:
            results = {outcome.name: outcome.result for outcome in outcomes}
            free = processors - sum(one.load for one in running)
            for part in list(waiting):
                lacking = [name for name in part.needs if results.get(name, "passed") != "passed"]
                if lacking or time.monotonic() > end:
                    waiting.remove(part)
                    outcomes.append(Outcome(part.name, "left out"))
                    said(f"{part.name}: left out, " + (f"it needs {', '.join(lacking)}" if lacking else "no time is left"))
                    break
                ready = all(name in results for name in part.needs)
                if ready and part.load(processors) <= free:
                    waiting.remove(part)
                    running.append(_start(part, processors, folder, environment, said))
                    said(f"{part.name}: started")
                    break
                if ready:  # it goes before what stands behind it, however small that is
                    free = 0
            else:
                _wait(running, outcomes, folder, end, said)
    finally:
        for one in running:
            one.end_rest()
            one.process.wait()
    return outcomes


def _start(part: Part, processors: int, folder: Path, environment: Mapping[str, str], said: Callable[[str], None]) -> _Running:
    with (folder / f"{part.name}.log").open("wb") as log:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", part.command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**environment, "JOBS": str(part.jobs(processors)), _MARK: _mark(part)},
            start_new_session=True,
        )
    return _Running(part, process, part.load(processors), said)


def _wait(running: list[_Running], outcomes: list[Outcome], folder: Path, end: float, said: Callable[[str], None]) -> None:
    """Waits until some part has ended, and reports it; of one that failed, with what it printed."""
    before = len(outcomes)
    while len(outcomes) == before:
        for one in list(running):
            one.check_limit(end)
            outcome = one.outcome()
            if outcome is None:
                continue
            running.remove(one)
            outcomes.append(outcome)
            if outcome.result != "passed":
                said((folder / f"{outcome.name}.log").read_text(errors="replace")[-_MOST_SHOWN:])
            limit = ""
            if outcome.result == "timed out":
                own = f"it may take {one.part.limit_s:.0f} s" if outcome.wall_s > one.part.limit_s else "no time is left for all"
                limit = f" (killed: {own})"
            said(f"{outcome.name}: {outcome.result} after {outcome.wall_s:.0f} s, {outcome.cpu_s:.0f} s of processors{limit}")
        if len(outcomes) == before:
            time.sleep(_POLL_S)


def table(outcomes: Sequence[Outcome], *, wall_s: float, before: Mapping[str, Mapping[str, float]] | None = None, most: int = 20) -> str:
    """The parts that took longest, one a line, with the sum of all; beside each what it took in the run `before`,
    where that is known."""
    before = before or {}
    lines = [f"{'part':24}{'wall s':>9}{'CPU s':>9}{'before':>9}"]
    for row in sorted(outcomes, key=lambda outcome: -outcome.wall_s)[:most]:
        earlier = f"{before[row.name]['cpu_s']:9.1f}" if row.name in before else " " * 9
        result = "" if row.result == "passed" else f"  {row.result}"
        lines.append(f"{row.name:24}{row.wall_s:9.1f}{row.cpu_s:9.1f}{earlier}{result}".rstrip())
    lines.append(f"{'all':24}{wall_s:9.1f}{sum(outcome.cpu_s for outcome in outcomes):9.1f}")
    return "\n".join(lines)
