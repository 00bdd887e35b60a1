# SPDX-License-Identifier: Apache-2.0
"""Names the folders of the core that have changed since their tests last passed under the sanitizers, as a CMake list.

usage: python tools/sanitized.py [--passed] [options of findings]     (see tools/passed.py)

`make test` takes the package's core and compiles these folders again with AddressSanitizer and UndefinedBehaviorSanitizer;
`make test-long` compiles the whole core with them. A folder counts as changed when a file in it has: a header's change is looked at in its
own folder, and in all that include it by `make test-long`. With `--passed`, all folders are kept as found clean.
"""

from __future__ import annotations

import sys
from pathlib import Path

import passed

ROOT = Path(__file__).resolve().parent.parent


def folders(core: Path = ROOT / "core") -> list[Path]:
    """Folders with sources."""
    return sorted({source.parent for source in core.rglob("*.cpp")})


def key(folder: Path) -> str:
    return passed.key(files=[file for file in folder.iterdir() if file.is_file()], arguments="sanitized")


def main() -> int:
    kept, words = passed.take(sys.argv[1:])
    if words not in ([], ["--passed"]):
        raise SystemExit(__doc__)
    if words:
        for folder in folders():
            kept.keep(key(folder), "clean")
    else:
        print(";".join(str(folder.relative_to(ROOT)) for folder in folders() if kept.find(key(folder)) != "clean"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
