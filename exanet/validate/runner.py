# SPDX-License-Identifier: Apache-2.0
"""Runs a measuring program under `exanet run`, as a user would, and brings back what it wrote.

Every program takes the path of its answer as its first argument and writes JSON there. Runs are kept by their
arguments, so that rows that rest on the same run share it. Computing takes no virtual time (`--compute off`): what is
measured is the machine, and it repeats exactly.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from exanet.errors import InputError
from exanet.gateware import build
from exanet.machine import Machine, load
from exanet.machine.located import Located

_PROGRAMS = Path(__file__).with_name("programs")
_LIMIT_S = 300
_GRACE_S = 10


class RunFailed(Exception):
    """A measuring program did not come to its end; the message says why."""


class Runner:
    """Runs programs and remembers their answers."""

    def __init__(self, report: Callable[[str], None] = lambda _: None) -> None:
        """`report` is called with what is being measured, within a row that takes long."""
        self.report = report
        self._answers: dict[tuple[str, ...], dict[str, Any] | RunFailed] = {}
        self._machines: dict[str, Machine] = {}

    def machine(self, name: str, changes: Mapping[str, Located] | None = None) -> Machine:
        """A machine's description; one with `changes` is read anew."""
        if changes:
            return load(name, changes)
        if name not in self._machines:
            self._machines[name] = load(name)
        return self._machines[name]

    def gateware(self) -> Path:
        """The folder that the gateware's sources are in. Raises RunFailed where this installation has none."""
        try:
            return build.sources() / "gateware"
        except InputError as error:
            raise RunFailed(str(error)) from None

    def run(
        self,
        program: str,
        machine: str,
        nodes: Sequence[int],
        *arguments: object,
        mpi: str = "mpich",
        changes: str = "",
        offload: str = "",
        handlers: str = "",
    ) -> dict[str, Any]:
        """The answer of PROGRAM with one rank on each of `nodes`; `changes` is YAML laid over the machine's
        description.

        `offload` is as `exanet run --offload` takes it, and `handlers` as --handlers does.

        The answer has one more key, "run": the summary of the simulator.

        Raises:
            RunFailed: the run did not succeed.
        """
        key = (program, machine, ",".join(map(str, nodes)), mpi, changes, offload, handlers, *map(str, arguments))
        if key not in self._answers:
            with tempfile.TemporaryDirectory(prefix="exanet-validate-") as folder:
                try:
                    self._answers[key] = _run(Path(folder), program, machine, nodes, arguments, mpi, changes, offload, handlers)
                except RunFailed as failure:
                    self._answers[key] = failure
        answer = self._answers[key]
        if isinstance(answer, RunFailed):
            raise answer
        return answer


def _run(
    folder: Path,
    program: str,
    machine: str,
    nodes: Sequence[int],
    arguments: Sequence[object],
    mpi: str,
    changes: str,
    offload: str,
    handlers: str,
) -> dict[str, Any]:
    if changes:
        changed = folder / "changed.yaml"
        changed.write_text(f"extends: {machine}\nname: {machine}-changed\n{changes}\n", encoding="utf-8")
        machine = str(changed)
    (folder / "map").write_text("".join(f"{node}\n" for node in nodes), encoding="utf-8")
    answer, results = folder / "answer.json", folder / "results"
    command = [sys.executable, "-P", "-m", "exanet", "run", "--quiet", "--no-report", "-m", machine, "-n", str(len(nodes))]
    command += ["--map", str(folder / "map"), "--compute", "off", "--mpi", mpi, "-o", str(results)]
    command += [*(("--offload", offload) if offload else ()), *(("--handlers", handlers) if handlers else ()), "--"]
    command += [sys.executable, str(_PROGRAMS / f"{program}.py"), str(answer), *map(str, arguments)]
    status, said = _finish(command)
    if status is None:
        raise RunFailed(f"{program} on {machine} did not end within {_LIMIT_S} s")
    if status != 0 or not answer.is_file():
        raise RunFailed(f"{program} on {machine} failed with status {status}: {' | '.join(said.splitlines()[-6:]) or 'it said nothing'}")
    found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    summary = results / "summary.json"
    found["run"] = json.loads(summary.read_text(encoding="utf-8")) if summary.is_file() else {}
    return found


def _finish(command: Sequence[str]) -> tuple[int | None, str]:
    """The exit status and messages of COMMAND; no status if it took too long. However we leave, the run is asked to
    end, then made to."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as run:
        try:
            _, said = run.communicate(timeout=_LIMIT_S)
            return run.returncode, said.strip()
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            if run.poll() is None:
                run.terminate()
                try:
                    run.communicate(timeout=_GRACE_S)
                except subprocess.TimeoutExpired:
                    run.kill()
