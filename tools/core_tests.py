# SPDX-License-Identifier: Apache-2.0
"""Names the tests of core and runtime that have to run, and the core's folders that they run with sanitizers, as CMake's options.

usage: python tools/core_tests.py [--passed] [options of findings]     (see tools/passed.py)

`make test` takes the package's core. A folder in which a file has changed since its tests last passed is compiled again with
AddressSanitizer and UndefinedBehaviorSanitizer, with its tests; a header's change is looked at in its own folder. The tests of a
folder run when one of them, or a source that it depends on, has changed since they last passed; `extended` (what every implementation
in a registry and the patches of examples/extend have to fulfil) and `runtime` when a source of the core or the runtime has. Nothing is
printed when none has to run. With `--passed`, all that the last call has named or left out are kept as passed. `make test-long`
compiles and runs everything with sanitizers.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import passed

ROOT = Path(__file__).resolve().parent.parent
INCLUDED = re.compile(r'^#include "(core/[^"]+)"', re.MULTILINE)
NAMED = ROOT / "build/core_tests.json"
BUILT_BY = [ROOT / "CMakeLists.txt", ROOT / "tests/tests.cmake", ROOT / "tests/doctest_main.cpp"]


def folders(core: Path = ROOT / "core") -> list[Path]:
    """Folders with sources."""
    return sorted({source.parent for source in core.rglob("*.cpp")})


def below(*names: str) -> list[Path]:
    return [file for name in names for file in (ROOT / name).rglob("*") if file.is_file() and "__pycache__" not in file.parts]


@cache
def sources(folder: Path) -> tuple[Path, ...]:
    """Its files that are no tests."""
    return tuple(sorted(file for file in folder.iterdir() if file.is_file() and not file.name.endswith("_test.cpp")))


@cache
def _next_to(folder: Path) -> frozenset[Path]:
    """The folders whose headers its files include, and those below it where a registry names what they have."""
    texts = (file.read_text() for file in sources(folder) if file.suffix in (".cpp", ".hpp"))
    found = {(ROOT / name).parent for text in texts for name in INCLUDED.findall(text)}
    if any(file.stem == "registry" for file in sources(folder)):
        found |= {below.parent for below in folder.rglob("*.cpp")}
    return frozenset(found)


def reached(folders: Iterable[Path]) -> list[Path]:
    """These folders of the core, and all that their code depends on, directly or not."""
    found: set[Path] = set()
    new = set(folders)
    while new:
        found |= new
        new = {there for folder in new for there in _next_to(folder)} - found
    return sorted(found)


def depends_on(folders: Iterable[Path]) -> list[Path]:
    """The sources that the code of these folders depends on, their own among them."""
    return [file for folder in reached(folders) for file in sources(folder)]


def sanitized(folder: Path) -> str:
    return passed.key(files=[file for file in folder.iterdir() if file.is_file()], arguments="sanitized")


def parts() -> Iterator[tuple[str, str]]:
    """Folders with tests, `extended` and `runtime`, each with the key of all that the outcome of its tests follows from."""
    for folder in folders():
        if own := list(folder.glob("*_test.cpp")):
            included = {(ROOT / name).parent for test in own for name in INCLUDED.findall(test.read_text())}
            files = [*depends_on({folder, *included}), *below("spec"), *BUILT_BY, *own]
            yield str(folder.relative_to(ROOT)), passed.key(files=files, arguments="tests")
    everything = [*below("core", "runtime", "spec"), *BUILT_BY]
    yield "extended", passed.key(files=[*everything, *below("examples/extend")], arguments="extended")
    yield "runtime", passed.key(files=[*everything, ROOT / "examples/pingpong.c"], arguments="runtime")


def main() -> int:
    kept, words = passed.take(sys.argv[1:])
    if words not in ([], ["--passed"]):
        raise SystemExit(__doc__)
    if words:
        for key, finding in passed.named(NAMED).items():
            kept.keep(key, finding)
        return 0
    clean = {str(folder.relative_to(ROOT)): sanitized(folder) for folder in folders()}
    runs = dict(parts())
    passed.named(NAMED, dict.fromkeys(clean.values(), "clean") | dict.fromkeys(runs.values(), "passed"))
    # A folder is drawn for both at once: with sanitizers its tests are compiled, too.
    changed = [name for name, key in clean.items() if kept.find(key, name) != "clean"]
    to_run = [name for name, key in runs.items() if kept.find(key, name) != "passed"]
    if changed or to_run:
        print(f"-DEXANET_SANITIZED_FOLDERS={';'.join(changed)} -DEXANET_TESTED_FOLDERS={';'.join(to_run) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
