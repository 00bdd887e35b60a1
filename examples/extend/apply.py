# SPDX-License-Identifier: Apache-2.0
"""Applies patches to copies of the files that they touch: python apply.py SOURCE DESTINATION PATCH...

The patches beside this file are the examples of docs/extend.md. The build of the tests applies them with this, compiles
what they touch and runs its tests (CMakeLists.txt); tests/unit/test_extend.py does the rest.
What is generated from `spec/` is made anew when a patch touches that.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path


def touched(patch: Path) -> list[str]:
    """The files that a patch changes or adds."""
    return re.findall(r"^\+\+\+ b/(\S+)$", patch.read_text(), re.MULTILINE)


def is_test(name: str) -> bool:
    """Whether a file is the test of a thing, and no place of it."""
    return name.endswith(("_test.cpp", "_test.c")) or name.startswith("tests/")


def places(patch: Path) -> list[str]:
    """The files that a thing takes, without its test."""
    return [name for name in touched(patch) if not is_test(name)]


def apply(source: Path, destination: Path, patches: list[Path]) -> None:
    """Leaves the patched files, and no others but what is generated, below `destination`.

    Raises CalledProcessError when a patch does not fit.
    """
    shutil.rmtree(destination, ignore_errors=True)
    names = dict.fromkeys(name for patch in patches for name in touched(patch))
    if generates := any(name.startswith("spec/") for name in names):
        shutil.copytree(source / "spec", destination / "spec", ignore=shutil.ignore_patterns("__pycache__"))
    for name in names:
        (destination / name).parent.mkdir(parents=True, exist_ok=True)
        if (source / name).exists():
            shutil.copy(source / name, destination / name)
    for patch in patches:
        subprocess.run(["patch", "-p1", "--silent", "--no-backup-if-mismatch", "-d", destination, "-i", patch.resolve()], check=True)
    if generates:
        subprocess.run([sys.executable, destination / "spec" / "generate.py"], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    apply(Path(sys.argv[1]), Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]])
