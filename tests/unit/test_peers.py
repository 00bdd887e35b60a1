# SPDX-License-Identifier: Apache-2.0
"""docs/peers.md and docs/gallery.md: does the machine for users of BookSim2 give the figures of the comparison, and
does what the commands name exist?"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from exanet import _core, machine

ROOT = Path(__file__).parents[2]
PEERS = (ROOT / "docs/peers.md").read_text(encoding="utf-8")
GALLERY = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
STUDIES = re.findall(r"^### (.+?)\n(.*?)(?=^##|\Z)", GALLERY, re.DOTALL | re.MULTILINE)


@pytest.fixture
def booksim_torus(tmp_path: Path) -> Path:
    (text,) = re.findall(r"```yaml\n(name: booksim-torus\n.*?)```", PEERS, re.DOTALL)
    file = tmp_path / "booksim-torus.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def bench() -> Any:
    spec = importlib.util.spec_from_file_location("booksim", ROOT / "bench/booksim.py")
    assert spec and spec.loader
    module = sys.modules["booksim"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_machine_for_users_of_booksim_is_that_of_the_comparison(booksim_torus: Path) -> None:
    booksim = bench()
    ours, compared = machine.load(booksim_torus).resolve(), booksim.described(booksim.NETWORKS[0])
    assert ours["router"] == compared["router"]
    assert [{**link, "name": ""} for link in ours["links"]] == [{**link, "name": ""} for link in compared["links"]]
    assert (ours["topology"]["kind"], ours["topology"]["shape"]) == ("torus", [8, 8])


def test_its_command_prints_what_the_page_says(booksim_torus: Path) -> None:
    (line,) = re.findall(r"^    exanet (sim -m booksim-torus\.yaml .*)$", PEERS, re.MULTILINE)
    low, high = re.findall(r"The table ends with ([\d.]+) ns \(cycles\) at load 0.01 and ([\d.]+) accepted", PEERS)[0]
    command = [sys.executable, "-P", "-m", "exanet", *line.split(), "-o", "loads"]
    done = subprocess.run(command, cwd=booksim_torus.parent, capture_output=True, text=True, check=True)
    rows = [row.split() for row in done.stdout.splitlines() if re.match(r" *[01]\.\d\d\d ", row)]
    assert [row[0] for row in rows] == ["0.010", "1.000"]
    assert (rows[0][3], rows[1][1]) == (low, high)


def test_jobs_machines_and_traffic_of_the_page_exist() -> None:
    jobs = set(re.findall(r"--job ([\w-]+)", PEERS)) | set(re.findall(r"`(broadcast|reduce|barrier)[:`]", PEERS))
    assert len(jobs) >= 7
    assert jobs <= set(_core.program_names())
    named = set(re.findall(r"exanet (?:sim|replay|run)[^`\n|]* -m ([\w-]+)(?![\w.-])", PEERS)) - {"MACHINE", "booksim-torus", "tree"}
    assert named <= set(machine.names()), "machines that come with ExaNet"


@pytest.mark.parametrize(("title", "study"), STUDIES, ids=[title for title, _ in STUDIES])
def test_a_study_has_a_command_whose_files_exist_its_time_and_a_page(title: str, study: str) -> None:
    commands = re.findall(r"^    (\S.*)$", study, re.MULTILINE)
    assert any(re.match(r"exanet |python examples/", line) for line in commands)
    files = [word for line in commands for word in line.split() if re.match(r"(examples|tests|docs)/", word)]
    assert [file for file in files if not (ROOT / file).exists()] == []
    assert re.search(r"\bTime: |takes minutes", study)
    assert re.search(r"\]\((?!images/)[\w/.#-]+\)", study)


def test_there_are_studies_of_programs_networks_papers_and_gateware() -> None:
    assert re.findall(r"^## (.+)$", GALLERY, re.MULTILINE) == ["Programs", "Networks", "Published figures", "Gateware", "Notebooks"]
    assert len(STUDIES) >= 15
