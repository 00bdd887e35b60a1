# SPDX-License-Identifier: Apache-2.0
"""Looks at what files of core/ and runtime/ use of each other: no file and no folder depends on itself, over however
many others.

In C++ that is what a file includes. A header in C says little of who calls whom, so the C files of runtime/ are
compiled, and the tables of their objects read: a file uses another one if it refers to a function or variable that the
other one defines.

Limits: what is called by a pointer is not seen, nor what an object of C++ refers to.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INCLUDE = re.compile(r'^#\s*include "((?:core|runtime)/[^"]+)"', re.MULTILINE)
ANY_INCLUDE = re.compile(r'^#\s*include [<"]([^">]+)[">]', re.MULTILINE)
Graph = dict[str, set[str]]

RECORDER = ("runtime/record/*.c", "runtime/lists/*.c", "runtime/persistent/*.c")
RANK = ("lib", "provider", "clock", "collectives", "sessions", "shmem", "simulated", "tolerance")
LINKED = {
    "exanet-fi": (*(f"runtime/{folder}/*.c" for folder in RANK), *RECORDER),
    "exanet-record": ("runtime/outside/*.c", "runtime/lib/host.c", "runtime/clock/calls.c", "runtime/clock/find.c", *RECORDER),
    "exanet-sockets": ("runtime/sockets/*.c",),
    "exanet-gpu": ("runtime/gpu/*.c",),
    "exanet-cpu": ("runtime/cpu/*.c",),
    "exanet-exec": tuple(f"runtime/exec/{name}.c" for name in ("exanet_exec", "ask", "sweep")),
}
"""C files that end up in one process, as in runtime/package.cmake: a name that two of them define, each in its own
process, is not the same."""
if platform.machine() == "x86_64":
    HOST = ("host", "load", "sweep", "worker", "worker_simulator", "workers", "interrupts", "registers")
    LINKED["exanet-host"] = tuple(f"runtime/exec/{name}.c" for name in HOST)


def includes(root: Path) -> Graph:
    """By source file of core/ and runtime/ except tests: the files that it includes, relative to `root`."""
    files = [p for folder in ("core", "runtime") for p in sorted((root / folder).rglob("*")) if p.suffix in (".hpp", ".cpp", ".h", ".c")]
    return {
        str(path.relative_to(root)): set(INCLUDE.findall(path.read_text()))
        for path in files
        if not path.stem.endswith(("_test", "_harness"))
    }


def by_folder(files: Mapping[str, set[str]]) -> Graph:
    """The same by folder: a model of core/network is one of its own, and so is the contract above it."""
    made: Graph = {}
    for file, included in files.items():
        here = str(Path(file).parent)
        made.setdefault(here, set()).update({str(Path(other).parent) for other in included} - {here})
    return made


def cycle(graph: Mapping[str, set[str]]) -> str:
    """A cycle as `a -> b -> a`, the one that includes first; "" where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " -> ".join(reversed(error.args[1]))
    return ""


def names(files: Iterable[Path], root: Path, objects: Path) -> tuple[Graph, Graph]:
    """By C file, relative to `root`: the names of functions and variables that it defines for others, and those that
    it refers to."""

    def table(file: Path) -> tuple[str, list[list[str]]]:
        made = objects / (str(file.relative_to(root)).replace("/", "-") + ".o")
        flags = ["-std=gnu11", "-O0", "-w", f"-I{root}", f"-I{root / 'runtime/include'}"]
        subprocess.run(["gcc", "-c", *flags, "-o", made, file], check=True)
        text = subprocess.run(["nm", "--extern-only", "--format=posix", made], check=True, capture_output=True, text=True).stdout
        return str(file.relative_to(root)), [line.split() for line in text.splitlines()]

    with ThreadPoolExecutor(os.cpu_count()) as workers:
        tables = dict(workers.map(table, files))
    defined = {file: {name for name, kind, *_ in rows if kind not in "Uwv"} for file, rows in tables.items()}
    return defined, {file: {name for name, kind, *_ in rows if kind in "Uwv"} for file, rows in tables.items()}


def uses(files: Iterable[str], defined: Mapping[str, set[str]], wanted: Mapping[str, set[str]]) -> Graph:
    """By file: those of the others, linked with it, that define what it refers to. No two define the same."""
    owner: dict[str, str] = {}
    for file in files:
        twice = owner.keys() & defined[file]
        assert not twice, f"{file} and {owner[min(twice)]} both define {min(twice)}"
        owner |= dict.fromkeys(defined[file], file)
    return {file: {owner[name] for name in wanted[file] if name in owner} - {file} for file in files}


@pytest.fixture(scope="module")
def files() -> Graph:
    return includes(ROOT)


@pytest.fixture(scope="module")
def linked() -> dict[str, list[str]]:
    return {whole: sorted({str(p.relative_to(ROOT)) for glob in globs for p in ROOT.glob(glob)}) for whole, globs in LINKED.items()}


@pytest.fixture(scope="module")
def tables(linked: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, Graph]:
    return names((ROOT / file for file in set().union(*linked.values())), ROOT, tmp_path_factory.mktemp("objects"))


def test_every_include_names_a_file(files: Graph) -> None:
    assert len(files) > 100
    missing = {f"{file}: {other}" for file, included in files.items() for other in included if not (ROOT / other).exists()}
    assert not missing


def test_no_file_includes_itself_over_others(files: Graph) -> None:
    assert cycle(files) == ""


def test_no_folder_depends_on_itself_over_others(files: Graph) -> None:
    assert cycle(by_folder(files)) == ""


def test_a_planted_cycle_is_found(tmp_path: Path) -> None:
    for file, included in {
        "core/a/one.hpp": "core/b/two.hpp",
        "core/b/two.hpp": "core/c/three.hpp",
        "core/c/other.hpp": "core/a/more.hpp",
        "core/c/three.hpp": "core/c/own.hpp",
        "core/a/one_test.cpp": "core/a/one.hpp",
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(f'#include "{included}"\n')
    found = includes(tmp_path)
    assert "core/a/one_test.cpp" not in found
    assert cycle(found) == ""  # each file for itself is in order, the folders are not
    assert set(cycle(by_folder(found)).split(" -> ")) == {"core/a", "core/b", "core/c"}
    (tmp_path / "core/c/own.hpp").write_text('#include "core/a/one.hpp"\n')
    found = includes(tmp_path)
    assert set(cycle(found).split(" -> ")) == {"core/a/one.hpp", "core/b/two.hpp", "core/c/three.hpp", "core/c/own.hpp"}
    assert cycle(found).count(" -> ") == 4


def test_every_c_file_of_the_runtime_is_looked_at(linked: dict[str, list[str]]) -> None:
    here = {str(p.relative_to(ROOT)) for p in (ROOT / "runtime").rglob("*.c")}
    if "exanet-host" not in LINKED:
        here = {file for file in here if not file.startswith("runtime/exec/")}
    assert not here - {file for some in linked.values() for file in some}


@pytest.mark.parametrize("whole", LINKED)
def test_no_c_file_uses_itself_over_others(whole: str, linked: dict[str, list[str]], tables: tuple[Graph, Graph]) -> None:
    called = uses(linked[whole], *tables)
    assert sum(map(len, called.values())) > 1
    assert cycle(called) == ""


def test_no_folder_of_the_runtime_uses_itself_over_others(linked: dict[str, list[str]], tables: tuple[Graph, Graph]) -> None:
    """By names of its own, in a simulated rank: what stands in front of the C library's functions does so for every
    folder."""
    defined, wanted = tables
    own = {file: {name for name in some if name.startswith(("exanet_", "exn_"))} for file, some in defined.items()}
    assert cycle(by_folder(uses(linked["exanet-fi"], own, wanted))) == ""


def test_neither_core_nor_runtime_includes_gateware() -> None:
    sources = [p for folder in ("core", "runtime") for p in (ROOT / folder).rglob("*") if p.suffix in (".hpp", ".cpp", ".h", ".c")]
    found = {f"{p.relative_to(ROOT)}: {name}" for p in sources for name in ANY_INCLUDE.findall(p.read_text()) if "gateware/" in name}
    assert not found


def test_a_planted_cycle_of_names_is_found(tmp_path: Path) -> None:
    sources = {
        "low.c": "int depth; int lowest(void) { return depth; }",
        "middle.c": "int lowest(void); static int high(void) { return 1; } int middle(void) { return lowest() + high(); }",
        "high.c": "int middle(void); int high(void) { return middle(); } long read(int f) { return f; }",
        "apart.c": "int middle(void) { return 2; }",
    }

    def look(some: Iterable[str]) -> Graph:
        for name, text in sources.items():
            (tmp_path / name).write_text(text)
        return uses(some, *names((tmp_path / name for name in sources), tmp_path, tmp_path))

    whole = ["low.c", "middle.c", "high.c"]
    # a static function is the file's own
    assert look(whole) == {"low.c": set(), "middle.c": {"low.c"}, "high.c": {"middle.c"}}
    assert cycle(look(whole)) == ""
    with pytest.raises(AssertionError, match="both define middle"):
        look([*whole, "apart.c"])
    sources["low.c"] += " int high(void); int lower(void) { return high(); }"  # a function
    assert set(cycle(look(whole)).split(" -> ")) == {"low.c", "middle.c", "high.c"}
    sources["low.c"] = "extern int count; int lowest(void) { return count; }"  # a variable
    sources["middle.c"] += " int count;"
    assert set(cycle(look(whole)).split(" -> ")) == {"low.c", "middle.c"}
    # a function of the C library that is interposed
    sources["low.c"] = "long read(int); int lowest(void) { return (int)read(0); }"
    assert set(cycle(look(whole)).split(" -> ")) == {"low.c", "middle.c", "high.c"}
