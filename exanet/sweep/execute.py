# SPDX-License-Identifier: Apache-2.0
"""Runs what the journal does not have, on Dask, and keeps each result as it comes.

The journal is a line of JSON a run, in the order in which they ended, under a key that says what the run depends on:
the machine as resolved, what was asked, and the simulator itself. It is what makes a sweep resumable: after a kill, a
full disk or a lost cluster the same command runs only what is missing. The last line may be torn; it is cut off. A
damaged line costs its own result and no other. Workers need the installed package and nothing of the file system:
results travel through Dask to the one process that writes.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from exanet.bounds import MOST_LOAD
from exanet.errors import InputError
from exanet.quantity import counted
from exanet.sweep import cluster as clusters
from exanet.sweep import replays
from exanet.sweep.plan import Run

JOURNAL = "journal.jsonl"
_STEPS = 5  # of the bisection between a load that is accepted and twice that: to 1/32 of the load found
_RANDOM = "poisson"  # arrivals of which loads may be above 1
_LEAST_LOAD = 1 / 4096  # that is tried
_BEGINNING = b'{"key":"'  # of each line
_LOOK_S = 0.02  # between looks at what has ended
_WORKERS_S = 0.2  # between looks at whether a worker has come back


def measure(machine: dict[str, Any], load: float | None, spec: dict[str, Any], programs: Sequence[Any] = ()) -> dict[str, Any]:
    """On a worker: one run's figures, or the error that it ended with."""
    from exanet.results.report import network
    from exanet.sim import TrafficSpec, figures, simulate
    from exanet.sim.jobs import Job, finish

    def point(offered: float) -> dict[str, Any]:
        return simulate(machine, offered=offered, spec=TrafficSpec(**spec))

    try:
        if programs:
            return replays.measure(machine, list(programs), spec["level"], network)
        if "job" in spec:
            jobs = [Job.parse(part) for part in spec["job"].split(" + ")]
            done = finish(machine, jobs, **{name: value for name, value in spec.items() if name != "job"})
            return {"figures": _of_jobs(done), "network": network(done, done.get("watched_ps", 0)), "cpu_s": done["cpu_s"]}
        most = MOST_LOAD if spec.get("arrivals", _RANDOM) == _RANDOM else 1.0
        found = point(load) if load is not None else _saturation(point, most)
    except (InputError, ValueError, RuntimeError, MemoryError) as error:
        return {"error": " ".join(str(error).split()) or type(error).__name__}
    return {"figures": figures(found), "network": network(found, spec["measure_ps"]), "cpu_s": found["cpu_s"]}


def _of_jobs(done: dict[str, Any]) -> dict[str, Any]:
    """The figures of all jobs together, and of a job that runs alone its messages'."""
    use = done["links"]["use"]
    left_out = ("cpu_s", "memory_bytes", "events", "queued", "first_watched", "watched_ps")
    single = {key: value for key, value in done.items() if key not in left_out and not isinstance(value, dict | list)}
    if len(done["jobs"]) == 1:
        single |= {key: done["jobs"][0][key] for key in ("ranks", "messages", "message_ns", "message_p99_ns", "fairness")}
    return single | {"hottest_link_use": float(use.max()), "mean_link_use": float(use.mean())}


def _saturation(point: Callable[[float], dict[str, Any]], most: float = MOST_LOAD) -> dict[str, Any]:
    """The point at the highest load that is not saturated, up to `most`, to 1/32 of it; the lowest one tried if all
    are. Raises InputError where a window is too short."""

    def judged(load: float) -> dict[str, Any]:
        found = point(load)
        if found["saturated"] is None:
            raise InputError(
                f"the window is too short to judge whether load {load:g} is saturated, and so to search for saturation: "
                f"let 'measure' be {found['wanted_window_ns'] / 1e3:.3g} us or more"
            )
        return found

    best: dict[str, Any] = judged(1.0)
    low = high = 1.0
    while best["saturated"] and high > _LEAST_LOAD:
        low, high = low / 2, low
        best = judged(low)
    while not best["saturated"] and low == high < most:
        high = min(2 * low, most)
        if not (tried := judged(high))["saturated"]:
            low, best = high, tried
    for _ in range(_STEPS if low < high and not best["saturated"] else 0):
        middle = (low + high) / 2
        tried = judged(middle)
        if tried["saturated"]:
            high = middle
        else:
            low, best = middle, tried
    return best


def simulator_digest() -> str:
    """Of the compiled simulator: results of another one are not taken over."""
    from exanet import _core

    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:16]


def _entry(line: bytes) -> tuple[str, str, dict[str, Any]] | None:
    """Key, simulator and result of a line, if it is a whole one of ours."""
    try:
        entry: Any = json.loads(line)
        key, simulator, result = entry["key"], entry["simulator"], entry["result"]
        if "error" in result:
            good = isinstance(result["error"], str)
        else:
            network = result["network"]
            good = isinstance(result["figures"], dict) and (network is None or isinstance(network, dict)) and result["cpu_s"] >= 0
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return (key, simulator, result) if good and isinstance(key, str) and isinstance(simulator, str) else None


class Journal:
    """Results by key. Contract: one process at a time; nothing is written before `open`; `add` returns when the line
    is with the system."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / JOURNAL
        self.found: dict[str, dict[str, Any]] = {}
        self.others = 0  # results of another simulator
        self.damaged = 0  # lines that are no results
        self._simulator = simulator_digest()
        self._file: BinaryIO | None = None
        if self.path.exists():
            self.open()

    def open(self) -> None:
        """Takes the journal for this process, and makes it if there is none. Raises InputError."""
        if self._file is not None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("a+b")
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{self.path}: another sweep is writing here; wait for it, or choose another folder with -o") from None
        except OSError as error:
            raise InputError(f"cannot write {self.path}: {error.strerror}; choose another place with -o") from None
        self._read(self._file)

    def _read(self, file: BinaryIO) -> None:
        file.seek(0)
        whole = ours = 0
        torn = b""
        for line in file:
            if not line.endswith(b"\n"):
                torn = line
                break
            whole += len(line)
            entry = _entry(line)
            if entry is None:
                self.damaged += 1
                continue
            ours += 1
            key, simulator, result = entry
            if simulator != self._simulator:
                self.others += 1
            elif "error" not in result:  # what failed is tried again
                self.found[key] = result
        if not ours and (whole or torn[: len(_BEGINNING)] != _BEGINNING[: len(torn)]):
            file.close()
            raise InputError(f"{self.path}: it holds no results of a sweep; choose another folder with -o, or take the file away")
        if torn:
            file.truncate(whole)

    def add(self, run: Run, result: dict[str, Any]) -> None:
        assert self._file is not None
        line = json.dumps({"key": run.key, "simulator": self._simulator, "result": result}, separators=(",", ":")) + "\n"
        try:
            self._file.write(line.encode())
            self._file.flush()
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.close()
            raise InputError(f"cannot write {self.path}: {error.strerror}; make space there and give the same command again") from None
        if "error" not in result:
            self.found[run.key] = json.loads(line)["result"]  # as a later reader finds it

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


Report = Callable[[int, int, Callable[[], int]], None]
"""Reports on a sweep now and then: runs done, runs failed, and how to count the workers."""


def execute(runs: Sequence[Run], journal: Journal, *, cluster: str, workers: int, report: Report) -> dict[str, str]:
    """Runs all that the journal lacks; the errors of those that failed, by key. Raises InputError if there is no
    cluster, or it is lost.

    As many runs are handed out as there are workers, so that one that kills its worker takes no other with it. Such a
    run is tried again; when it has killed two, it has failed.
    """
    errors: dict[str, str] = {}
    if all(run.key in journal.found for run in runs):
        return errors
    with clusters.connected(cluster, workers) as (client, tend):
        from dask.distributed import as_completed

        journal.open()
        waiting = deque({run.key: run for run in runs if run.key not in journal.found}.values())
        done = len(runs) - len(waiting)
        deaths: Counter[str] = Counter()  # of workers, by run
        futures: dict[Any, Run] = {}
        ended = as_completed([], with_results=True, raise_errors=False)
        look_at = 0.0
        report(done, 0, lambda: len(clusters.threads(client)))
        while futures or waiting:
            tend(done)
            ready = ended.next_batch(block=False)
            for future, result in ready:
                run = futures.pop(future)
                if future.status in ("cancelled", "lost"):  # as those that wait are when the scheduler goes
                    raise _lost(cluster, runs, journal)
                if future.status != "finished":
                    error = future.exception()
                    deaths[run.key] += clusters.deaths(error)
                    if deaths[run.key] == 1:
                        waiting.appendleft(run)
                        continue
                    result = {"error": _failure(error)}
                journal.add(run, result)
                if "error" in result:
                    errors[run.key] = result["error"]
                done += 1
            report(done, len(errors), lambda: len(clusters.threads(client)))
            if waiting and (ready or time.monotonic() >= look_at):
                look_at = time.monotonic() + _WORKERS_S
                for _ in range(min(len(waiting), sum(clusters.threads(client)) - len(futures))):
                    run = waiting.popleft()
                    future = client.submit(measure, run.machine, run.load, run.spec, run.programs, key=("run", run.key, deaths[run.key]))
                    futures[future] = run
                    ended.add(future)
            if not ready:
                if client.status != "running":
                    raise _lost(cluster, runs, journal)
                time.sleep(_LOOK_S)
    return errors


def _lost(cluster: str, runs: Sequence[Run], journal: Journal) -> InputError:
    safe = sum(run.key in journal.found for run in runs)
    return InputError(
        f"the cluster at {cluster} was lost; {safe} of {counted(len(runs), 'run')} are safe in {journal.path}: "
        f"give the same command with -o {journal.path.parent} again"
    )


def _failure(error: BaseException) -> str:
    if clusters.deaths(error):
        return "the worker died each time that it tried: out of memory, or a fault of the simulator"
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
