# SPDX-License-Identifier: Apache-2.0
"""Names the gateware's tests that have to run, with the Verilated modules that they need, as CMake's options.

usage: python tools/gateware_tests.py [--passed] [options of findings]     (see tools/passed.py)

A test is a file `*_test.cpp` below gateware/. It has to run again when something that its outcome follows from has
changed since it last passed: a SystemVerilog file that its Verilated modules need, the file itself or what it
includes, and, where it compares with a model of the core or runs one, a source of the core that it depends on.
`EXANET_GATEWARE_TESTS=FILE,...` names them instead, and `EXANET_GATEWARE_TESTS=all` all of them. Nothing is printed
when none has to run. With `--passed`, all that the last call has named or left out are kept as passed. `make test-long`
runs all of them.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from pathlib import Path

import core_tests
import passed

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "gateware"))

import sources  # noqa: E402

GATEWARE = ROOT / "gateware"
NAMED = ROOT / "build/gateware_tests.json"
INCLUDED = re.compile(r'^#include "((?:core|gateware)/[^"]+)"', re.MULTILINE)
VERILATED = re.compile(r'^#include "V(\w+?)(?:___\w+)?\.h"', re.MULTILINE)
VERILATE = re.compile(r"^ *exanet_verilate\(([\w${}]+) (\w+)(.*)\)$", re.MULTILINE)
LIBRARIES = {
    "EXANET_NODES_3D": ("nodes_3d", "exanet_link"),
    "EXANET_NODES_INTERFACES": ("nodes_interfaces", "node_interfaces", "exanet_link"),
}
"""Modules of the nodes that a test loads as `exanet run --fabric gateware` does, by the macro that names their file."""
VARIANTS = ("qfdb_test.cpp", "wide_link_test.cpp", "small_packets_test.cpp")
"""Tests of other shapes, which only `make test-long` builds."""
ALONE = ("core/spec/", "core/units/", "core/engine/random.hpp", "core/network/line_faults.hpp")
"""What tests of the gateware alone include of the core: it has no source of its own."""


def tests(gateware: Path = GATEWARE) -> list[Path]:
    return sorted(file for file in gateware.rglob("*_test.cpp") if file.name not in VARIANTS)


@cache
def includes(file: Path) -> frozenset[Path]:
    """The file and all that it includes of this project, directly or not; what the build generates is left out."""
    found = {file}
    for name in INCLUDED.findall(file.read_text()):
        if (ROOT / name).exists() and ROOT / name not in found:
            found |= includes(ROOT / name)
    return frozenset(found)


def modules(test: Path) -> set[str]:
    """Verilated modules that the test needs, by their names in gateware/CMakeLists.txt."""
    needed: set[str] = set()
    for file in includes(test):
        text = file.read_text()
        needed.update(VERILATED.findall(text), *(parts for macro, parts in LIBRARIES.items() if re.search(rf"\b{macro}\b", text)))
    return needed


@cache
def hardware(names: frozenset[str]) -> str:
    """Of what these Verilated modules are made of, how they are built, and how libraries of nodes load them."""
    verilated = {name: (top, words) for name, top, words in VERILATE.findall((GATEWARE / "CMakeLists.txt").read_text())}
    files = list(GATEWARE.rglob("*.vlt"))
    for name in names:
        top, words = verilated.get(name) or verilated["nodes_${name}"]
        own = [ROOT / word for word in words.split() if word.endswith(".sv")]
        files += [*own, *sources.needed(*(own or [top]))]
    files += [GATEWARE / "CMakeLists.txt", ROOT / "CMakeLists.txt", ROOT / "tools/verilator.sh", ROOT / "tests/doctest_main.cpp"]
    files += (GATEWARE / "node/model").glob("*.?pp")
    return passed.key(files=files, distributions=["verilator"], ignoring_comments=True)


def key(test: Path) -> str:
    own = includes(test)
    of_core = {file for file in own if file.is_relative_to(ROOT / "core")}
    with_model = any(not str(file.relative_to(ROOT)).startswith(ALONE) for file in of_core)
    model = core_tests.depends_on(file.parent for file in of_core) if with_model else []
    return passed.key(files={*own, *model}, arguments=(test.name, hardware(frozenset(modules(test)))))


def main() -> int:
    kept, words = passed.take(sys.argv[1:])
    if words not in ([], ["--passed"]):
        raise SystemExit(__doc__)
    named = os.environ.get("EXANET_GATEWARE_TESTS")
    chosen = tests() if named in (None, "", "all") else [ROOT / name for name in named.split(",")]
    if words:
        for name, finding in passed.named(NAMED).items():
            kept.keep(name, finding)
        return 0
    keys = {test: key(test) for test in chosen}
    passed.named(NAMED, dict.fromkeys(keys.values(), "passed"))
    if not named:
        # To compile a module takes longer than most of its tests: those of the same modules are drawn together.
        chosen = [test for test in chosen if kept.find(keys[test], " ".join(sorted(modules(test)))) != "passed"]
    if chosen:
        needed = sorted(set().union(*map(modules, chosen)))
        print(f"-DEXANET_GATEWARE_TESTS={';'.join(str(test) for test in chosen)} -DEXANET_GATEWARE_MODULES={';'.join(needed)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
