# SPDX-License-Identifier: Apache-2.0
"""docs/validation.md: made of a run of the rows that there are."""

from __future__ import annotations

import json
import re
import shutil
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


def made_by(script: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-P", str(script), *map(str, arguments)], capture_output=True, text=True, check=False)


def test_rows_that_take_long_stay_on_the_page_with_the_date_of_their_run(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    script = tmp_path / "docs/generate_validation.py"
    shutil.copy(ROOT / "docs/generate_validation.py", script)
    (tmp_path / ".git").write_text(f"gitdir: {git_folder()}\n", encoding="utf-8")
    quick, long = tmp_path / "quick.json", tmp_path / "long.json"
    quick.write_text(json.dumps([table.measure(experiments()["E13"], Runner())]), encoding="utf-8")
    row = {**json.loads(quick.read_text(encoding="utf-8"))[0], "id": "E32", "kind": "bound", "published": 1024, "ours": 1024}
    long.write_text(json.dumps([row | {"verdict": "passed", "cause": None, "quantity": "largest run"}]), encoding="utf-8")
    assert made_by(script, "--keep", quick).stderr == "generate_validation: --keep: none of these rows takes long\n"
    assert made_by(script, "--keep", long).returncode == 0
    page = made_by(script, quick).stdout
    assert "| E32 | largest run | 1024 GB/s | 1024 GB/s |" in page
    assert re.search(r"^Measured in runs of their own.*\n\n- E32: \d+ \w+ 20\d\d, commit [0-9a-f]{7,}, .* cores\.$", page, re.MULTILINE)
    assert "2 rows: 1 passed (1 bound), 1 off." in page
    kept = tmp_path / "docs/validation-long.json"
    kept.write_text(kept.read_text(encoding="utf-8").replace('"bound"', '"shape"'), encoding="utf-8")
    refused = made_by(script, quick)
    assert refused.returncode == 1
    assert "E32 of validation-long.json is measured otherwise now; measure it again and give it with --keep" in refused.stderr


def git_folder() -> str:
    return subprocess.run(["git", "rev-parse", "--absolute-git-dir"], capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()


def test_the_page_is_made_of_what_validate_prints(tmp_path: Path) -> None:
    rows = [table.measure(experiments()[row], Runner()) for row in ("E13", "E15", "E39", "P01")]
    (tmp_path / "validate.json").write_text(json.dumps(rows), encoding="utf-8")
    made = made_by(ROOT / "docs/generate_validation.py", tmp_path / "validate.json").stdout
    cores = "64, 576, 1728 cores"
    assert f"| E15 | cores of blade, chassis and rack, Track-1 | {cores} | {cores} | +0.0 % | structural | passed |" in made
    assert "- E13: a QFDB of the model has" in made and "- E39: " in made
    assert "|  | or: the abstract at arXiv | 256 MPSoCs, 4 TB | 128 MPSoCs, 2.048 TB | -50.0 % |  | off |" in made
