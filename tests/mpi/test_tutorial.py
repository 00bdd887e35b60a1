# SPDX-License-Identifier: Apache-2.0
"""The tutorial's programs and commands, and those of libexanet's page, as they stand there: do they print what the page
prints?"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from exanet import results

from .conftest import Stack

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
PROGRAM, TABLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
LIBEXANET = (ROOT / "docs/openshmem.md").read_text(encoding="utf-8").partition("\n## libexanet\n")[2]
(MACHINE,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def shell(mpich: Stack, tmp_path: Path) -> Callable[[str], str]:
    """Runs a line of the page in a folder with its program; answers with the standard output."""
    (tmp_path / "ring.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{Path(mpich.python).parent}:{os.environ['PATH']}"}

    def run(line: str) -> str:
        done = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def command(part: str, page: str = PAGE) -> str:
    """The one command of the page that has this part."""
    (line,) = [line.strip() for line in page.splitlines() if line.startswith("    ") and part in line]
    return line


def printed(after: str) -> str:
    """The indented lines that follow this text, as a program prints them."""
    block = PAGE.partition(after)[2].lstrip("\n")
    return "".join(line.removeprefix("    ") + "\n" for line in block.partition("\n\n")[0].splitlines())


def test_the_path_of_a_newcomer(shell: Callable[[str], str], tmp_path: Path) -> None:
    """From the README to the first run, its report, one change after the other, a comparison, and a sweep."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "| an MPI user | the [tutorial](docs/tutorial.md)" in readme
    again = command("-o linear ").replace("--map linear      -o linear --record ring-trace", "-o ring")
    assert again == command("-o ring "), "one run does for both"
    assert shell(command("-o ring ").replace("-o ring", "-o ring --record ring-trace")) == printed("The program prints\n")
    (tmp_path / "linear").symlink_to("ring")
    assert "<title>ring.py, 16 ranks on exanest</title>" in (tmp_path / "ring/report.html").read_text(encoding="utf-8")
    (tmp_path / "tables.py").write_text(TABLES, encoding="utf-8")
    assert "payload_bytes" in shell("python tables.py")

    for name in ("spread", "random"):
        shell(command(f"-o {name} "))
    assert printed("say it in\nshort:\n") in shell(command("exanet compare linear spread"))
    assert (tmp_path / "placements/report.html").exists()

    (tmp_path / "what-if.yaml").write_text(MACHINE, encoding="utf-8")
    step = re.search(r"65536 bytes: *([0-9.]+) us", shell(command("-o what-if ")))
    said = re.search(r"The run takes ([0-9.]+) ms instead of [0-9.]+ ms: 65536 bytes take ([0-9.]+) µs", PAGE)
    assert step and said
    took = results.load(tmp_path / "what-if").summary["virtual_ps"] / 1e9
    assert (f"{took:.2f}", step.group(1)) == said.groups()
    assert "the machine differs: links.intra-qfdb.word_time_ps" in shell(command("exanet compare linear what-if"))

    assert printed("It ends with a table of all combinations:\n") in shell(command("exanet sweep"))
    assert (tmp_path / "sweep/report.html").exists()


def test_the_program_without_mpi(shell: Callable[[str], str], tmp_path: Path) -> None:
    installed = Path(sysconfig.get_path("platlib")) / "exanet"
    shell(f"D={installed}; {command('cc -I$D/include', LIBEXANET)}")
    line = command("--mpi none", LIBEXANET).replace("exanet run ", "exanet run -o pingpong-run ")
    (said,) = re.findall(r"The program prints `(.*)`", LIBEXANET)
    assert shell(line) == f"{said}\n"
    assert results.load(tmp_path / "pingpong-run").summary["after_last_call_percent"] == 0  # there are no MPI calls
