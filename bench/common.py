# SPDX-License-Identifier: Apache-2.0
"""Finds programs for the benchmarks, runs them, and says what is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT_S = 300


class Failure(Exception):
    """A program is missing, or a run failed; the message says what to do."""


def tool(name: str, package: str) -> str:
    """Full path of a program: that of this virtual environment first."""
    beside = Path(sys.prefix) / "bin" / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        raise Failure(f"{name} is missing: install {package}")
    return found


def execute(command: list[str], *, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
