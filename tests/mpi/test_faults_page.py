# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/broken-links.md on what a broken link costs a program: do they print what the page says?"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from .conftest import Stack

ROOT = Path(__file__).parents[2]
PAGE = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("faults.md", "broken-links.md"))


def indented(after: str) -> str:
    """The indented lines that follow this text."""
    return textwrap.dedent("\n".join(PAGE.partition(after)[2].lstrip("\n").partition("\n\n")[0].splitlines())) + "\n"


def test_what_a_broken_link_costs_a_program(mpich: Stack, tmp_path: Path) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    (tmp_path / "exanest-end-to-end.yaml").write_text(indented("`-m exanest-end-to-end.yaml`:"))
    (tmp_path / "broken.yaml").write_text(indented("Save the file of faults as `broken.yaml`:"))
    environment = {**os.environ, "PATH": f"{Path(mpich.python).parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
    said = ""
    for line in indented("Then run both:").splitlines():
        done = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        said += done.stdout + done.stderr
    for line in indented("The second run says where the time went:").splitlines():
        assert line in said, said
    assert "4.12 ms" in said and "3.32 ms" in said
