# SPDX-License-Identifier: Apache-2.0
"""Are the manual pages those of today's commands, does a formatter take them without a warning, and are they
installed?"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "man"
PAGES = sorted(FOLDER.glob("*.1"))


@pytest.fixture(scope="module")
def generator() -> Any:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        spec = importlib.util.spec_from_file_location("generate_man", ROOT / "docs" / "generate_man.py")
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(ROOT / "docs"))


def test_the_pages_are_those_of_the_commands(generator: Any) -> None:
    committed = {page.name: page.read_text() for page in PAGES}
    assert {"exanet.1", "exanet-run.1", "exanet-sim-load.1"} <= set(committed)
    assert committed == generator.pages(), "run: make man"


def test_a_page_of_a_command_that_is_gone_goes_too(generator: Any, tmp_path: Path) -> None:
    (tmp_path / "exanet-gone.1").write_text(".TH GONE 1\n")
    generator.main(tmp_path)
    assert sorted(page.name for page in tmp_path.iterdir()) == sorted(generator.pages())


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a --level of b\\c", "a \\-\\-level of b\\ec"),
        (".TH of a page", "\\&.TH of a page"),
        ("first\n'second", "first\n\\&'second"),
        ("10 µs, `LO|FA|MO`", "10 \\[u00B5]s, LO|FA|MO"),
    ],
)
def test_text_is_not_taken_for_requests(generator: Any, text: str, escaped: str) -> None:
    assert generator.roff(text) == escaped


def test_a_formatter_takes_the_pages_without_a_warning() -> None:
    if not (groff := shutil.which("groff")):
        pytest.skip("no groff here")
    for page in PAGES:
        made = subprocess.run([groff, "-man", "-ww", "-Tutf8", "-P-cbou", page], capture_output=True, text=True, check=False)
        assert (made.returncode, made.stderr) == (0, ""), page.name
        assert all(word in made.stdout for word in ("NAME", "SYNOPSIS", "OPTIONS")), page.name


def test_man_finds_the_pages_of_the_environment_that_is_used() -> None:
    installed = Path(sys.prefix) / "share" / "man" / "man1"
    assert {page.name for page in PAGES} <= {page.name for page in installed.glob("exanet*.1")}
