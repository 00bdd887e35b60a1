# SPDX-License-Identifier: Apache-2.0
"""Do `exanet trace convert`, `replay` and `sim` go straight from folder to folder, and never back to one that was left?

A folder counts with those below it, or `exanet` for the steps that stand in none (replay.py, programs.py). It is
entered where a function of a module of another folder calls one of its functions. Consecutive entries into one folder
are one. A return is an entry into a folder that was entered before. Not counted are helpers, which are no steps (the
single files that stand before all folders in the order of test_imports.py), and methods, which are of the values that
folders hand on: a machine's numbers, a trace's streams.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from typer.testing import CliRunner

import exanet
from exanet import cli
from exanet.trace import written

PACKAGE = Path(exanet.__file__).parent
STEPS = ("jobs", "messages", "programs", "record", "replay")  # single files that are no helpers
MOST_FOLDERS = 8


def folder(file: str) -> str:
    """The folder of a source file; "" of a helper, of the command line's entry, and of what is not in the package."""
    try:
        parts = Path(file).relative_to(PACKAGE).with_suffix("").parts
    except ValueError:
        return ""
    return parts[0] if len(parts) > 1 else "exanet" if parts[0] in STEPS else ""


def entered(run: Callable[[], object]) -> list[str]:
    """The folders that are entered while it runs, in their order."""
    found: list[str] = []

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or "." in frame.f_code.co_qualname or frame.f_code.co_qualname.startswith("<"):
            return
        here = folder(frame.f_code.co_filename)
        if not here:
            return
        caller = frame.f_back
        while caller is not None and not folder(caller.f_code.co_filename):
            caller = caller.f_back
        if (caller is None or folder(caller.f_code.co_filename) != here) and found[-1:] != [here]:
            found.append(here)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(before)
    return found


def returns(found: list[str]) -> int:
    return len(found) - len(set(found))


def command(*words: str) -> Callable[[], object]:
    return lambda: CliRunner().invoke(cli.app, list(words), catch_exceptions=False)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    written.broadcasts(tmp_path / "trace", 2, 3, 64)
    command("trace", "convert", "trace", "trace.txt")()
    command("trace", "convert", "trace", "trace.goal")()
    return tmp_path


COMMANDS = {
    "convert to a schedule": "trace convert trace out.goal --collective bcast=binomial --overwrite",
    "convert to a folder": "trace convert trace out.simgrid --overwrite",
    "convert to slices": "trace convert trace out.json --overwrite",
    "convert from text": "trace convert trace.txt out --overwrite",
    "convert from a schedule": "trace convert trace.goal out --overwrite",
    "replay": "replay trace -m torus-2x2x2 -o out",
    "replay of several": "replay trace trace:start=1us -m torus-2x2x2 --job alltoall:ranks=2 --alone -o out",
    "replay of flows": "replay trace -m torus-2x2x2 --level flow --rules open-mpi -o out",
    "sim load": "sim load -m torus-2x2x2 --load 0.1,0.2 --measure 5us -o out",
    "sim messages": "sim messages -m torus-2x2x2 --message 4KiB -o out",
    "sim messages of flows": "sim messages -m torus-2x2x2 --level flow -o out",
    "sim jobs": "sim jobs -m torus-2x2x2 --job stencil-2d:ranks=4 --job incast -o out",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_enters_few_folders_and_none_twice(name: str, place: Path) -> None:
    run = command(*COMMANDS[name].split())
    run()  # imports
    found = entered(run)
    assert found[0] == "commands"
    assert 1 < len(found) <= MOST_FOLDERS, found
    assert returns(found) == 0, found


def test_a_return_and_a_folder_too_many_are_found() -> None:
    """As a command would go that asks a machine in the middle of a conversion."""
    from exanet import machine, programs, units
    from exanet.trace import formats

    def wander() -> None:
        formats.schedules()
        units.parse("1 us", units.TIME)  # a helper
        formats.targets()
        machine.names()
        formats.sources()
        programs.is_word("linear")

    assert entered(wander) == ["trace", "machine", "trace", "exanet"]
    assert returns(entered(wander)) == 1
