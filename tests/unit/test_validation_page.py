# SPDX-License-Identifier: Apache-2.0
"""docs/validation.md: made of a run of the rows that there are."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from exanet.validate import table
from exanet.validate.registry import experiments, published
from exanet.validate.runner import Runner

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/validation.md"


def test_the_page_has_every_row_once_with_its_kind() -> None:
    text = PAGE.read_text(encoding="utf-8")
    measured = dict(re.findall(r"^\| ([A-Z]\d\d) \|.*\| (\w+) \| [\w ]* \|$", text, re.MULTILINE))
    reasons = re.findall(r"^- ([A-Z]\d\d): (.*)$", text.replace("Off, and why:", ""), re.MULTILINE)
    absent = {row for row, said in reasons if "not_reproduced" in published()[row] and published()[row]["not_reproduced"] in said}
    later = {row for line in re.findall(r"^Not measured in this run.*: (.*)\.$", text, re.MULTILINE) for row in line.split(", ")}
    assert measured.keys() | absent | later == set(published())
    assert not measured.keys() & absent and not measured.keys() & later
    known = experiments()
    assert {row: kind for row, kind in measured.items() if known[row].kind != kind} == {}
    assert {row for row in later if not known[row].long} == set()
    assert "| failed |\n" not in text.split("## ", 2)[2], "no row has failed"


def test_the_page_is_made_of_what_validate_prints(tmp_path: Path) -> None:
    rows = [table.measure(experiments()[row], Runner()) for row in ("E13", "E15", "E39", "P01")]
    (tmp_path / "validate.json").write_text(json.dumps(rows), encoding="utf-8")
    made = subprocess.run(
        [sys.executable, "-P", str(ROOT / "docs/generate_validation.py"), str(tmp_path / "validate.json")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    cores = "64, 576, 1728 cores"
    assert f"| E15 | cores of blade, chassis and rack, Track-1 | {cores} | {cores} | +0.0 % | structural | passed |" in made
    assert "- E13: a QFDB of the model has" in made and "- E39: " in made
    assert "|  | or: the abstract at arXiv | 256 MPSoCs, 4 TB | 128 MPSoCs, 2.048 TB | -50.0 % |  | off |" in made
