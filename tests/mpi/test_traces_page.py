# SPDX-License-Identifier: Apache-2.0
"""Do the commands of docs/traces.md, and the lines of docs/python.md, work as they stand there, in an empty folder?"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from .conftest import Stack

ROOT = Path(__file__).parents[2]


def surroundings(mpich: Stack) -> dict[str, str]:
    return {**os.environ, **mpich.environment, "PATH": f"{Path(mpich.python).parent}:{os.environ['PATH']}"}


@pytest.mark.long
def test_the_lines_of_the_page_on_python_work(mpich: Stack, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
    assert len(blocks) == 2
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    words = [mpich.python, "-c", "\n".join(blocks)]
    done = subprocess.run(words, cwd=tmp_path, env=surroundings(mpich), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("shape: ") == 6


@pytest.mark.long
def test_the_first_commands_of_the_page_work(mpich: Stack, tmp_path: Path) -> None:
    block = re.search(r"```\n(exanet run .*?)```", (ROOT / "docs" / "traces.md").read_text(), re.DOTALL)
    assert block is not None
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert follow(mpich, tmp_path, block[1]) > 10


@pytest.mark.long
def test_all_other_commands_of_the_page_work(mpich: Stack, tmp_path: Path) -> None:
    """In their order; the files that it shows are written before."""
    page = (ROOT / "docs" / "traces.md").read_text()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    networks, torus = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "networks.yaml").write_text(networks)
    (tmp_path / "fast-torus.yaml").write_text(torus)
    blocks = re.findall(r"```(?:sh)?\n(exanet .*?)```", page, re.DOTALL)[1:]
    assert len(blocks) == 6
    assert sum(follow(mpich, tmp_path, block) for block in blocks) == 7
    assert (tmp_path / "networks" / "report.html").exists()


def follow(mpich: Stack, folder: Path, block: str) -> int:
    """Executes the commands of a block. Returns how many there are."""
    commands = [shlex.split(line, comments=True) for line in block.splitlines()]
    for words in commands:
        done = subprocess.run(words, cwd=folder, env=surroundings(mpich), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stderr}"
    return len(commands)
