# SPDX-License-Identifier: Apache-2.0
"""Is the committed type stub of exanet._core that of the module, and is it installed?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import exanet

ROOT = Path(__file__).parents[2]


def test_the_stub_is_current() -> None:
    done = subprocess.run([sys.executable, "-P", ROOT / "tools" / "stub.py"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    committed = (ROOT / "exanet" / "_core.pyi").read_text(encoding="utf-8")
    assert done.stdout == committed, "python -P tools/stub.py > exanet/_core.pyi"


def test_the_stub_is_installed_beside_the_module() -> None:
    installed = Path(exanet.__file__).with_name("_core.pyi").read_text(encoding="utf-8")
    assert "class Simulator:" in installed
