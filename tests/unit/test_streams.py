# SPDX-License-Identifier: Apache-2.0
"""Do standard streams that are closed or full, names that are not UTF-8, and a current folder that is gone lead to what
was asked for, or to one message?"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from synthetic_run import synthetic_meta, synthetic_run

import exanet
from exanet import encoding, results
from exanet.errors import InputError
from exanet.results import report
from exanet.trace import folder
from exanet.trace.write import Writer

FULL = "exanet: error: cannot write to standard output: No space left on device\n"


def shell(words: str, place: Path) -> subprocess.CompletedProcess[str]:
    own = f"PATH={Path(sys.executable).parent}:$PATH; {words}"
    return subprocess.run(["bash", "-c", own], cwd=place, capture_output=True, text=True, timeout=60)


def test_standard_errors_are_not_needed(tmp_path: Path) -> None:
    usual = shell("exanet machines", tmp_path)
    for closed in ("2>&-", "2>/dev/full", "2>&- <&-"):
        done = shell(f"exanet machines {closed}", tmp_path)
        assert (done.returncode, done.stdout) == (usual.returncode, usual.stdout) == (0, usual.stdout)
    refused = shell("exanet machines nothing 2>/dev/full", tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")


@pytest.mark.parametrize("words", ["machines", "machines torus-512", "compare run run", "run -h", "trace show trace", "--version"])
def test_output_that_cannot_be_written_ends_the_command_with_one_message(tmp_path: Path, words: str) -> None:
    results.write(tmp_path / "run", synthetic_run(), synthetic_meta())
    recorded(tmp_path / "trace")
    done = shell(f"exanet {words} >/dev/full", tmp_path)
    assert (done.returncode, done.stderr) == (2, FULL)
    assert shell(f"exanet {words} | head -c 1; exit ${{PIPESTATUS[0]}}", tmp_path).stderr == ""
    assert shell(f"exanet {words} >&-", tmp_path).returncode == 0


def recorded(place: Path) -> None:
    with Writer(str(place), 2, {"program": ["p"]}) as streams:
        for stream in streams:
            stream.collective("Barrier", 0)
            stream.end()


def test_a_simulation_s_results_are_there_though_its_table_cannot_be_written(tmp_path: Path) -> None:
    done = shell("exanet sim -m trenz-2x2 --load 0.1 --measure 2us -o s >/dev/full", tmp_path)
    assert (done.returncode, done.stderr) == (2, FULL)
    assert (tmp_path / "s" / "summary.json").is_file()


def test_a_current_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    for words in ("machines", "run -m exanest -n 2 -- /bin/true"):
        done = shell(f"mkdir gone; cd gone; rmdir ../gone; exanet {words}", tmp_path)
        said = "exanet: error: the current folder has been removed; change to one that exists\n"
        assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize(
    ("given", "shown"),
    [(b"caf\xe9.in", "caf\\xe9.in"), ("größe".encode(), "größe"), (b"\xff\xfe", "\\xff\\xfe"), (b"plain", "plain")],
)
def test_bytes_that_are_no_text_are_shown(given: bytes, shown: str, tmp_path: Path) -> None:
    in_any_locale = {given.decode("utf-8", "surrogateescape"), given.decode("ascii", "surrogateescape")}
    for number, name in enumerate(in_any_locale):
        assert encoding.shown(name) == shown
        place = results.write(tmp_path / str(number), synthetic_run(), synthetic_meta() | {"program": [name], "working_directory": name})
        assert json.loads((place / "summary.json").read_text(encoding="utf-8"))["run"]["program"] == [shown]
        assert json.loads((place / "run.json").read_text(encoding="utf-8"))["working_directory"] == shown
        report.write(place)
    assert encoding.shown("\ud800") == "\\ud800"


def test_results_and_traces_whose_names_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    place = tmp_path / os.fsdecode(b"d\xe9")
    for use in (exanet.load, folder.load, folder.prepare, lambda place: exanet.compare(place, place)):
        place.mkdir(exist_ok=True)
        with pytest.raises(InputError, match="the name is not UTF-8 under this locale"):
            use(place)
        assert list(place.iterdir()) == []
    shutil.rmtree(place)
    recorded(tmp_path / "trace")
    done = shell(
        "exanet trace convert trace $'t\\xe9.otf2'; exanet machines $'m\\xe9'; exanet sweep -m $'./m\\xe9.yaml' --load 0.1", tmp_path
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 3
    assert "t\\xe9.otf2: the name is not UTF-8" in done.stderr and "./m\\xe9.yaml: the name is not UTF-8" in done.stderr


@pytest.mark.parametrize(
    "words", ["trace cut trace -o loop --until 1", "replay trace -m exanest -o loop", "sim -m exanest --load 0.1 -o loop"]
)
def test_a_link_that_leads_nowhere_is_no_place_for_results(tmp_path: Path, words: str) -> None:
    recorded(tmp_path / "trace")
    (tmp_path / "loop").symlink_to("loop")
    done = shell(f"exanet {words}", tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "exanet: error: -o loop: " in done.stderr
