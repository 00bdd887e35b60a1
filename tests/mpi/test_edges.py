# SPDX-License-Identifier: Apache-2.0
"""Does a run leave its results, and end with the program's status, whatever its arguments are called and its standard
error is?"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import exanet

from .conftest import PROGRAMS, Stack

RUN = "exanet run -m exanest -n 2 --compute off"


@pytest.fixture(scope="module")
def place(mpich: Stack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("edges")
    subprocess.run([mpich.compiler, "-O2", "-Wall", "-o", made / "ring", PROGRAMS / "ring.c"], check=True)
    return made


def shell(words: str, place: Path) -> subprocess.CompletedProcess[bytes]:
    own = f"PATH={Path(sys.executable).parent}:$PATH; {words}"
    return subprocess.run(["bash", "-c", own], cwd=place, capture_output=True, timeout=120)


def test_names_that_are_not_utf_8_lose_no_results(place: Path) -> None:
    words = "mkdir $'d\\xe9'; cd $'d\\xe9'; cp ../ring $'r\\xe9'"
    done = shell(f"{words}; {RUN} -o out -- $'./r\\xe9' $'caf\\xe9.in'", place)
    assert done.returncode == 0, done.stderr
    out = next(place.glob("d*")) / "out"
    assert json.loads((out / "summary.json").read_text())["run"]["program"] == ["./r\\xe9", "caf\\xe9.in"]
    assert json.loads((out / "run.json").read_text())["working_directory"].endswith("/d\\xe9")
    assert (out / "report.html").is_file()
    refused = shell(f"{RUN} -q -o never --record $'t\\xe9' -- ./ring", place)
    assert refused.returncode == 2 and b"--record " in refused.stderr and b"the name is not UTF-8" in refused.stderr
    assert refused.stdout == b"" and not (place / "never").exists()


@pytest.mark.parametrize("errors", ["2>&-", "2>/dev/full"])
def test_a_run_does_not_need_standard_errors(place: Path, errors: str) -> None:
    name = "closed" if "&" in errors else "full"
    done = shell(f"{RUN} -o {name} -- ./ring {errors}", place)
    assert done.returncode == 0 and (place / name / "summary.json").is_file()


def test_a_run_from_python_leaves_other_children_alone(place: Path) -> None:
    """As in a notebook: one that runs on, and one whose status its owner wants to know."""
    lasting = subprocess.Popen(["sleep", "60"])
    brief = subprocess.Popen(["sh", "-c", "exit 7"])
    try:
        exanet.run([str(place / "ring")], "torus-2x2x2", ranks=2, compute="off", output=place / "beside")
        assert lasting.poll() is None
        assert brief.wait() == 7
    finally:
        lasting.kill()
        lasting.wait()
