# SPDX-License-Identifier: Apache-2.0
"""Who imports whom in the package: no cycle, and every folder uses only what lies below it.

All imports count, wherever they stand: one within a function does not make a cycle any better.
"""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

from exanet import lightly, machine
from exanet.machine import located
from exanet.machine.located import Located

PACKAGE = Path(__file__).parents[2] / "exanet"

ORDER = (
    *(
        "callable",
        "errors",
        "keys",
        "encoding",
        "streams",
        "renamed",
        "release",
        "lightly",
        "near",
        "units",
        "quantity",
        "bounds",
        "progress",
        "terminal",
        "directory",
        "memory",
        "files",
        "background",
        "gpu",
    ),
    *("registries", "mpi", "optional"),
    *(
        "machine",
        "faults",
        "level",
        "results",
        "gateware",
        "karma",
        "trace",
        "sim",
        "background_traffic",
        "storage",
        "cpu",
        "spin",
        "bridge",
        "run",
        "record",
        "programs",
        "replay",
        "advise",
        "sweep",
        "compare",
        "validate",
        "jobs",
        "messages",
    ),
    *("messages", "api", "commands", "cli", "__main__"),
)
"""Folders and single files of the package: each may use what stands before it, and nothing behind it."""


def sources() -> dict[str, str]:
    """The text of each module, by its dotted name; programs that `exanet validate` runs are none."""
    files = (file for file in PACKAGE.rglob("*.py") if "programs" not in file.parts)
    return {".".join(("exanet", *file.relative_to(PACKAGE).with_suffix("").parts)): file.read_text() for file in files}


def imports(modules: Mapping[str, str]) -> dict[str, set[str]]:
    """The modules that each one imports; a package stands as PACKAGE.__init__."""

    def module(name: str) -> str | None:
        return next((known for known in (name, f"{name}.__init__") if known in modules), None)

    found: dict[str, set[str]] = {}
    for name, text in modules.items():
        named: list[str | None] = []
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                named += [module(alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                named += [module(f"{node.module}.{alias.name}") or module(node.module) for alias in node.names]
        found[name] = {other for other in named if other is not None} - {name}
    return found


def folder(module: str) -> str:
    """The folder that a module stands in, or the module itself where it stands in none."""
    return module.split(".")[1]


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """The nodes of a cycle, each using the next one; none if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def upward(graph: Mapping[str, set[str]]) -> list[str]:
    """The imports that lead from a folder to one that stands behind it in ORDER."""
    return [
        f"{name} imports {other}"
        for name, others in graph.items()
        for other in sorted(others)
        if folder(other) != folder(name) and folder(other) != "__init__" and ORDER.index(folder(other)) > ORDER.index(folder(name))
    ]


def test_no_module_imports_itself_in_the_end() -> None:
    graph = imports(sources())
    assert len(graph) > 60
    assert " imports ".join(cycle(graph)) == ""


def test_folders_use_what_lies_below_them() -> None:
    graph = imports(sources())
    assert {folder(name) for name in graph} - {"__init__"} == set(ORDER)
    assert upward(graph) == []


@pytest.mark.parametrize(
    "text", ["from exanet.sim import jobs", "def late():\n    import exanet.sim.jobs", "from exanet.sim.jobs import Job"]
)
def test_a_cycle_is_found(text: str) -> None:
    graph = imports({**sources(), "exanet.machine.resolve": text})
    found = cycle(graph)
    assert found[0] == found[-1]
    assert "exanet.machine.resolve" in found
    assert all(other in graph[name] for name, other in pairwise(found))
    assert "exanet.machine.resolve imports exanet.sim.jobs" in upward(graph)


def test_an_import_that_leads_upward_is_found_without_a_cycle() -> None:
    planted = {**sources(), "exanet.errors": "from exanet.run import pmi1"}
    assert "exanet.errors imports exanet.run.pmi1" in upward(imports(planted))


@pytest.mark.parametrize("page", ["--help", "run --help", "sim jobs --help", "sweep --help"])
def test_help_reads_neither_tables_nor_machines(page: str) -> None:
    """Modules that take a quarter of a second to read are read by the commands that use them, when they run."""
    code = "import sys\nfrom exanet.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-P", "-c", code, *page.split()], capture_output=True, text=True, check=True)
    heavy = {"numpy", "polars", "ruamel.yaml", "rich.console", "distributed", "exanet.machine", "exanet.results", "exanet.sweep"}
    assert "Usage" in done.stdout and heavy & set(done.stderr.split()) == set()


_RUN = ["run", "-m", "exanest", "-n", "2"]


@pytest.mark.parametrize("words", [[*_RUN, "--", "/bin/true"], [*_RUN, "--quiet", "--", "/bin/true"], ["machines", "exanest", "--json"]])
def test_what_a_command_reads_starts_no_threads_and_leaves_the_environment_alone(words: list[str]) -> None:
    """Threads of numpy's OpenBLAS, a search for garbage among modules, and packages that are for other commands:
    half of a run's start."""
    code = """
import gc, os, sys
before = dict(os.environ)
from exanet.cli import main
try:
    main()
finally:
    names = [open(f"/proc/self/task/{thread}/comm").read() for thread in os.listdir("/proc/self/task")]
    facts = gc.get_freeze_count() > 20_000, gc.isenabled(), os.environ == before
    print("then", names.count(open("/proc/self/comm").read()), *facts, *sys.modules, file=sys.stderr)
"""
    environment = {name: value for name, value in os.environ.items() if name not in ("OPENBLAS_NUM_THREADS", "_RJEM_MALLOC_CONF")}
    done = subprocess.run([sys.executable, "-P", "-c", code, *words], capture_output=True, text=True, env=environment)
    then = done.stderr.splitlines()[-1].split()
    assert then[:5] == ["then", "1", "True", "True", "True"]
    others = {"distributed", "dask", "pandas", "pyarrow", "networkx", "exanet.sim", "exanet.sweep", "exanet.karma", "exanet.validate"}
    assert others & set(then) == set()
    commands = {"run", "record", "machines", "check", "karma", "sweep", "validate", "sim.group"}
    assert {name for name in commands if f"exanet.commands.{name}" in then} == {words[0]}
    assert "--quiet" not in words or "rich.console" not in then


def test_each_file_of_a_machine_is_read_once_in_a_list_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []

    def count(path: Path, shown: str | None = None) -> Located:
        read.append(path)
        return real(path, shown)

    real = located.read
    machine.machine._read_shipped.cache_clear()
    monkeypatch.setattr(located, "read", count)
    assert [machine.load(name).name for name in machine.names()] == machine.names()
    assert sorted(read) == sorted(machine.shipped().values())


def test_an_interrupt_is_served_when_modules_have_been_read() -> None:
    read = False
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt), lightly.imports():
            os.kill(os.getpid(), signal.SIGINT)
            read = True
    finally:
        signal.signal(signal.SIGINT, before)
    assert read
