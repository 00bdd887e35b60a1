# SPDX-License-Identifier: Apache-2.0
"""Runs what the journal does not have, on Dask, and keeps each result as it comes.

The journal is a line of JSON a run, in the order in which they ended, under a key that says what the run depends on: the machine as
resolved, what was asked, and the simulator itself. It is what makes a sweep resumable: after a kill, a full disk or a lost cluster the same
command runs only what is missing. The last line may be torn; it is cut off. A damaged line costs its own result and no other. Workers need
the installed package and nothing of the file system: results travel through Dask to the one process that writes.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import logging
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any, BinaryIO

from exanet.errors import InputError
from exanet.sweep.plan import Run

JOURNAL = "journal.jsonl"
_STEPS = 6  # of the bisection: 1/64 of what a link carries
_BEGINNING = b'{"key":"'  # of each line
_LOOK_S = 0.05  # between looks at what has ended


def measure(machine: dict[str, Any], load: float | None, asked: dict[str, Any]) -> dict[str, Any]:
    """On a worker: one run's figures, or the error that it ended with."""
    from exanet.jobs import Job, finish
    from exanet.report import network
    from exanet.sim import Asked, figures, simulate

    def point(offered: float) -> dict[str, Any]:
        return simulate(machine, offered=offered, asked=Asked(**asked))

    try:
        if "job" in asked:
            jobs = [Job.parse(part) for part in asked["job"].split(" + ")]
            done = finish(machine, jobs, mapping=asked["mapping"], packet_bytes=asked["packet_bytes"], seed=asked["seed"])
            return {"figures": _of_jobs(done), "network": network(done, done.get("watched_ps", 0)), "cpu_s": done["cpu_s"]}
        found = point(load) if load is not None else _saturation(point)
    except (InputError, ValueError, RuntimeError, MemoryError) as error:
        return {"error": " ".join(str(error).split()) or type(error).__name__}
    return {"figures": figures(found), "network": network(found, asked["measure_ps"]), "cpu_s": found["cpu_s"]}


def _of_jobs(done: dict[str, Any]) -> dict[str, Any]:
    """The figures of all jobs together, and of a job that runs alone its messages'."""
    use = done["links"]["use"]
    left_out = ("cpu_s", "memory_bytes", "events", "queued", "first_watched", "watched_ps")
    single = {key: value for key, value in done.items() if key not in left_out and not isinstance(value, dict | list)}
    if len(done["jobs"]) == 1:
        single |= {key: done["jobs"][0][key] for key in ("ranks", "messages", "message_ns", "message_p99_ns", "fairness")}
    return single | {"hottest_link_use": float(use.max()), "mean_link_use": float(use.mean())}


def _saturation(point: Callable[[float], dict[str, Any]]) -> dict[str, Any]:
    """The point at the highest load that is not saturated, to 1/64; the lowest one tried if all are."""
    best: dict[str, Any] = point(1.0)
    low, high = 0.0, 1.0
    for _ in range(_STEPS if best["saturated"] else 0):
        middle = (low + high) / 2
        tried = point(middle)
        if tried["saturated"]:
            high = middle
            best = tried if best["saturated"] else best
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
    """Results by key. Contract: one process at a time; nothing is written before `open`; `add` returns when the line is with the system."""

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
            raise InputError(f"cannot write {self.path}: {error.strerror}; make room there and give the same command again") from None
        if "error" not in result:
            self.found[run.key] = json.loads(line)["result"]  # as a later reader finds it

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


Tell = Callable[[int, int, Callable[[], int]], None]
"""What is told of a sweep now and then: runs done, runs failed, and how to count the workers."""


def execute(runs: Sequence[Run], journal: Journal, *, cluster: str, workers: int, tell: Tell) -> dict[str, str]:
    """Runs all that the journal lacks; the errors of those that failed, by key. Raises InputError if there is no cluster, or it is lost."""
    errors: dict[str, str] = {}
    if all(run.key in journal.found for run in runs):
        return errors
    with _client(cluster, workers) as client:
        from dask.distributed import as_completed

        journal.open()
        waiting = {run.key: run for run in runs if run.key not in journal.found}
        # Keys of one kind, for tasks that Dask takes for alike wait at the scheduler, and whichever worker is free takes the next.
        futures = {client.submit(measure, run.machine, run.load, run.asked, key=("run", key)): run for key, run in waiting.items()}
        done = len(runs) - len(waiting)
        tell(done, 0, lambda: _worker_count(client))
        ended = as_completed(list(futures), with_results=True, raise_errors=False)
        while futures:
            ready = ended.next_batch(block=False)
            for future, result in ready:
                run = futures.pop(future)
                if future.status in ("cancelled", "lost"):  # as those that wait are when the scheduler goes
                    raise _lost(cluster, runs, journal)
                if future.status != "finished":
                    result = {"error": _failure(future)}
                journal.add(run, result)
                if "error" in result:
                    errors[run.key] = result["error"]
                done += 1
                future.release()
            tell(done, len(errors), lambda: _worker_count(client))
            if not ready:
                if client.status != "running":
                    raise _lost(cluster, runs, journal)
                time.sleep(_LOOK_S)
    return errors


def _lost(cluster: str, runs: Sequence[Run], journal: Journal) -> InputError:
    safe = sum(run.key in journal.found for run in runs)
    return InputError(
        f"the cluster at {cluster} was lost; {safe} of {len(runs)} runs are safe in {journal.path}: "
        f"give the same command with -o {journal.path.parent} again"
    )


def _worker_count(client: Any) -> int:
    try:
        return len(client.sync(client.scheduler.ncores, callback_timeout=5))
    except Exception:  # the scheduler does not answer; what comes of its runs will tell
        return 0


def _failure(future: Any) -> str:
    error = future.exception()
    if type(error).__name__ == "KilledWorker":
        return "the worker died each time that it tried: out of memory, or a fault of the simulator"
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """No thread or process that begins in here ever hears of a Ctrl-C, for it inherits what is blocked; this thread does at the end.

    Workers stand in the terminal's process group, those too that are started later in place of one that died.
    """
    resource_tracker.ensure_running()  # or it would be started in here, and let interrupts through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _client(cluster: str, workers: int) -> Iterator[Any]:
    """A client of the cluster that the user named; what was started for it is ended with it."""
    import dask
    from dask.distributed import Client

    # A worker that dies is told of once, as a failed run, and a scheduler that is lost as an error.
    for name in ("distributed", "distributed.client", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # One run at a time on a worker: one that kills its worker takes no other with it.
    settings = {"scheduler.worker-saturation": 1.0, "scheduler.allowed-failures": 1, "comm.timeouts.connect": "120s"}
    with dask.config.set({f"distributed.{key}": value for key, value in settings.items()}):
        started = client = None
        try:
            try:
                with _interrupts_held():
                    started = _start(cluster, workers)
                client = Client(started if started is not None else cluster, timeout=30)
            except (OSError, ValueError, RuntimeError, TimeoutError) as error:
                raise InputError(f"--cluster {cluster}: no cluster there: {' '.join(str(error).split())}; see docs/sweep.md") from None
            yield client
        finally:
            with _interrupts_held(), contextlib.suppress(Exception):
                for opened in (client, started):
                    if opened is not None:
                        opened.close()


def _start(cluster: str, workers: int) -> Any:
    if "://" in cluster:
        return None
    if cluster == "local":
        from dask.distributed import LocalCluster

        return LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL)
    started = _batch(cluster)
    started.scale(workers)
    return started


def _batch(cluster: str) -> Any:
    """A cluster of a batch system's jobs, none of which is asked for yet.

    What a job asks for stands in Dask's own configuration, ~/.config/dask/jobqueue.yaml. Raises InputError if there is no such system, or
    that configuration is not enough.
    """
    try:
        import dask_jobqueue
    except ImportError:
        raise InputError(f"--cluster {cluster}: needs dask-jobqueue: pip install 'exanet[jobqueue]'") from None
    kinds = {
        name.removesuffix("Cluster").lower(): name for name in dir(dask_jobqueue) if name.endswith("Cluster") and name != "JobQueueCluster"
    }
    if cluster not in kinds:
        raise InputError(f"--cluster {cluster}: give local, the address of a scheduler (tcp://…), or one of {', '.join(sorted(kinds))}")
    try:
        return getattr(dask_jobqueue, kinds[cluster])()
    except (OSError, ValueError, RuntimeError) as error:
        why = str(error).partition(", for example")[0].partition("\n")[0]
        raise InputError(
            f"--cluster {cluster}: {why}: write at least cores and memory, and the queue and account that your site asks for, under "
            f"jobqueue: {cluster}: in ~/.config/dask/jobqueue.yaml; see docs/sweep.md"
        ) from None


def job_script(cluster: str) -> str:
    """What would be submitted for each worker, without submitting it. Raises InputError."""
    if cluster == "local" or "://" in cluster:
        raise InputError(f"--script: --cluster {cluster} submits no jobs; name a batch system, e.g. --cluster slurm")
    started = _batch(cluster)
    try:
        return str(started.job_script())
    finally:
        started.close()
