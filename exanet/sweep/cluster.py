# SPDX-License-Identifier: Apache-2.0
"""The Dask cluster that a sweep runs on: processes here, jobs of a batch system, or a scheduler that runs already.

Workers die: of a run that takes more memory than there is, of a fault of the simulator, of a batch system's time limit.
As long as there is work another one takes the place of each.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from exanet import lightly
from exanet.errors import InputError

_LOOK_S = 5  # between looks at the jobs of a batch system

Tend = Callable[[int], None]
"""Starts workers in place of those that have died; to be called now and then with the number of runs that have
ended. Raises InputError."""

_SETTINGS = {
    "scheduler.allowed-failures": 0,  # whoever handed the run out counts
    "comm.timeouts.connect": "120s",
    "deploy.lost-worker-timeout": "5s",
}


@contextlib.contextmanager
def connected(cluster: str, workers: int) -> Iterator[tuple[Any, Tend]]:
    """A client of the cluster that the user named, and who tends its workers; what was started for it is ended with
    it."""
    with lightly.imports():
        import dask
        from dask.distributed import Client

    # A worker that dies is reported once, as a failed run, and a scheduler that is lost as an error.
    for name in ("distributed", "distributed.client", "tornado.application", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with dask.config.set({f"distributed.{key}": value for key, value in _SETTINGS.items()}):
        started = client = local = None
        try:
            try:
                with _interrupts_held():
                    started = _start(cluster)
                client = Client(started if started is not None else cluster, timeout=30)
                if cluster == "local":
                    local = _Processes(started.scheduler_address, workers)
            except (OSError, ValueError, RuntimeError, TimeoutError) as error:
                raise InputError(
                    f"--cluster {cluster}: cannot connect to the cluster: {' '.join(str(error).split())}; see docs/sweep.md"
                ) from None
            yield client, local.tend if local is not None else _Jobs(started, workers).tend
        finally:
            with _interrupts_held(), contextlib.suppress(Exception):
                if local is not None:
                    local.close()
                for opened in (client, started):
                    if opened is not None:
                        opened.close()


def threads(client: Any) -> list[int]:
    """Of each worker, how many runs it takes at a time: of ours one."""
    try:
        return list(client.sync(client.scheduler.ncores, callback_timeout=5).values())
    except Exception:  # the scheduler does not answer; what comes of its runs will show it
        return []


def deaths(error: BaseException) -> int:
    """Of how many workers a future that ended with this error reports: a scheduler of somebody else's may have tried
    several."""
    return int(getattr(error, "allowed_failures", 0)) + 1 if type(error).__name__ == "KilledWorker" else 0


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """No thread or process that begins in here ever hears of a Ctrl-C, for it inherits what is blocked; this thread
    does at the end.

    Workers stand in the terminal's process group, those too that are started later in place of one that died.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Processes:
    """Workers on this computer, exanet.sweep.worker. Contract: `close` ends them all, whatever they do."""

    def __init__(self, address: str, count: int) -> None:
        self._address = address
        self._folder = tempfile.TemporaryDirectory(prefix="exanet-sweep-", ignore_cleanup_errors=True)
        self._workers: list[subprocess.Popen[bytes] | None] = [None] * count
        self._ended = 0  # runs
        self._left = 0  # workers that may die before another run ends

    def tend(self, ended: int) -> None:
        if ended != self._ended or not self._left:
            # of each of as many runs two, and some killed by hand
            self._ended, self._left = ended, 3 * len(self._workers) + 8
        for number, worker in enumerate(self._workers):
            if worker is not None and worker.poll() is None:
                continue
            if worker is not None:
                self._left -= 1
                if not self._left:
                    raise InputError(f"workers end right after their start: {self._last_words(number)}")
            with _interrupts_held():
                self._workers[number] = self._start(number)

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-P", "-m", "exanet.sweep.worker", self._address, self._folder.name]
        here = os.pathsep.join(path or os.getcwd() for path in sys.path)  # what this process imports, and nothing else
        with self._log(number).open("wb") as log:
            worker = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log, env={**os.environ, "PYTHONPATH": here}
            )
        # When memory runs out, it is a worker that the system ends, and not the process that writes results.
        with contextlib.suppress(OSError):
            Path(f"/proc/{worker.pid}/oom_score_adj").write_text("1000", encoding="utf-8")
        return worker

    def _log(self, number: int) -> Path:
        return Path(self._folder.name) / f"worker-{number}.log"

    def _last_words(self, number: int) -> str:
        said = self._log(number).read_text(encoding="utf-8", errors="replace").strip()
        return said.splitlines()[-1] if said else "they say nothing"

    def close(self) -> None:
        for worker in self._workers:
            if worker is not None:
                worker.kill()
                worker.wait()
                if worker.stdin is not None:
                    worker.stdin.close()
        self._folder.cleanup()


class _Jobs:
    """Workers that a batch system runs; or, where there is none, those of somebody else's cluster, which are his to
    tend."""

    def __init__(self, cluster: Any, count: int) -> None:
        self._cluster, self._count = cluster, count
        self._next = 0.0

    def tend(self, ended: int) -> None:
        if self._cluster is not None and time.monotonic() >= self._next:
            self._next = time.monotonic() + _LOOK_S
            self._cluster.scale(self._count)  # asks for a job in place of each that has been lost


def _start(cluster: str) -> Any:
    """A scheduler, with what asks for workers where they are not ours; None where there is one."""
    if "://" in cluster:
        return None
    if cluster == "local":
        from dask.distributed import LocalCluster

        return LocalCluster(n_workers=0, processes=True, dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL)
    return _batch(cluster)


def _batch(cluster: str) -> Any:
    """A cluster of a batch system's jobs, none of which is asked for yet.

    What a job asks for stands in Dask's own configuration, ~/.config/dask/jobqueue.yaml. Raises InputError if there is
    no such system, or that configuration is not enough.
    """
    try:
        import dask_jobqueue
    except ImportError:
        raise InputError(f"--cluster {cluster}: needs dask-jobqueue: pip install 'dask-jobqueue>=0.9,<1'") from None
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
    """Script that would be submitted for each worker, without submitting it. Raises InputError."""
    if cluster == "local" or "://" in cluster:
        raise InputError(f"--script: --cluster {cluster} submits no jobs; name a batch system, e.g. --cluster slurm")
    started = _batch(cluster)
    try:
        return str(started.job_script())
    finally:
        started.close()
