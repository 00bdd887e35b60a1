# SPDX-License-Identifier: Apache-2.0
"""Refuses lines of C and C++ that have more than 120 columns.

usage: python tools/widths.py [FILE...]

clang-format breaks code at 120 columns, but leaves comments and macros as they are, so it accepts longer ones. A column
is a character, not a byte. Files that .clang-format-ignore names are generated and are not read. Without FILE: all
files of git in FOLDERS. Prints `file:line: error: ...` for each line; exit status 1 when there is one.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("core", "gateware", "runtime", "bench", "tests", "exanet", "examples")
SUFFIXES = (".c", ".h", ".cpp", ".hpp")
LIMIT = 120


def too_long(path: str, lines: list[str]) -> Iterator[str]:
    """A message for each line that is too long."""
    for number, line in enumerate(lines, 1):
        if len(line) > LIMIT:
            yield f"{path}:{number}: error: {len(line)} columns; a line has at most {LIMIT}: break the comment or the macro"


def files() -> list[str]:
    """Files of git in FOLDERS that people write."""
    generated = (ROOT / ".clang-format-ignore").read_text(encoding="utf-8").split()
    listed = subprocess.run(["git", "ls-files", *FOLDERS], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [path for path in listed if path.endswith(SUFFIXES) and not any(fnmatch(path, pattern) for pattern in generated)]


def main(named: list[str]) -> int:
    found = [
        message
        for path in named or files()
        if (ROOT / path).is_file()
        for message in too_long(path, (ROOT / path).read_text(encoding="utf-8").splitlines())
    ]
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
