# SPDX-License-Identifier: Apache-2.0
"""Are lines of C and C++ of more than 120 columns refused, counted in characters?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def widths(*named: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, ROOT / "tools/widths.py", *named], capture_output=True, text=True)


def test_a_line_above_120_columns_is_refused_by_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "a.cpp"
    file.write_text("// " + "é" * 117 + "\n// " + "x" * 118 + "\n", encoding="utf-8")
    done = widths(file)
    assert done.returncode == 1
    assert done.stderr == f"{file}:2: error: 121 columns; a line has at most 120: break the comment or the macro\n"


def test_the_projects_own_lines_pass() -> None:
    done = widths()
    assert (done.returncode, done.stderr) == (0, "")
