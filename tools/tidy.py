# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy (.clang-tidy) over the project's C and C++, tests aside; exit status 1 when it has anything to say.

usage: python tools/tidy.py COMPILE_COMMANDS [--jobs N] [options of findings] [FILE...]

Each file is looked at as COMPILE_COMMANDS compiles it: where that is a folder at once (EXANET_FOLDER_AT_ONCE), which takes a fifth of the
time, a FILE has its folder looked at. A file in which nothing was found is not looked at again until it, what it includes, its compilation
or a tool changes, where the options of findings say so (see tools/passed.py).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import passed

ROOT = Path(__file__).resolve().parent.parent
INCLUDED_FROM = ("", "runtime/include")
FOLDERS = ("core/", "runtime/", "exanet/")


def included(file: Path, found: set[Path] | None = None) -> set[Path]:
    """The file and the project's files that it includes, directly or not."""
    found = set() if found is None else found
    if file in found:
        return found
    found.add(file)
    for name in re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', file.read_text(), re.MULTILINE):
        for folder in (file.parent, *(ROOT / place for place in INCLUDED_FROM)):
            if (folder / name).is_file():
                included((folder / name).resolve(), found)
                break
    return found


def sources(file: Path) -> list[Path]:
    """The sources that compiling this file compiles: itself, or those of a folder that CMake has put into one."""
    if file.parent.name != "Unity":
        return [file]
    return [Path(name) for name in re.findall(r'^#include "([^"]+)"', file.read_text(), re.MULTILINE)]


def units(database: Path) -> dict[Path, str]:
    """The files to look at, with the command that compiles each."""
    entries = json.loads(database.read_text())
    commands = {Path(entry["file"]).resolve(): entry["command"] for entry in entries}
    return {
        file: command
        for file, command in sorted(commands.items())
        if any(source.is_relative_to(ROOT) and str(source.relative_to(ROOT)).startswith(FOLDERS) for source in sources(file))
        and not file.stem.endswith("_test")
    }


def look(file: Path, command: str, database: Path, kept: passed.Kept, compiler: str) -> str | None:
    """Words of clang-tidy, none when all is well; None when the file need not be looked at."""
    # CMake's file that includes a folder's sources is known by these: it names them by this checkout.
    read = set[Path]().union(*(included(source) for source in sources(file)))
    key = passed.key(
        files=[*read, ROOT / ".clang-tidy", Path(__file__)],
        distributions=["clang-tidy"],
        arguments=(command.replace(str(ROOT), ""), compiler),
    )
    if kept.find(key) == "clean":
        return None
    tidy = Path(sys.executable).parent / "clang-tidy"
    checks = [] if file.suffix == ".c" else ["--checks=-clang-analyzer-*"]
    run = subprocess.run([tidy, "-p", database.parent, "--quiet", *checks, file], cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode == 0:
        kept.keep(key, "clean")
        return ""
    return run.stdout + run.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs clang-tidy over the project's C and C++.")
    parser.add_argument("database", type=Path, metavar="COMPILE_COMMANDS")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    kept, words = passed.take(sys.argv[1:])
    given = parser.parse_intermixed_args(words)
    wanted = {file.resolve() for file in given.files}
    todo = {file: command for file, command in units(given.database).items() if not wanted or wanted & set(sources(file))}
    if not todo:
        parser.error(f"{given.database} compiles none of these files")
    compiler = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout
    failed, known = 0, 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for said in pool.map(lambda item: look(item[0], item[1], given.database, kept, compiler), todo.items()):
            known += said is None
            if said:
                failed += 1
                print(said, flush=True)
    if known:
        print(f"{known} compilations not looked at again: nothing that they depend on has changed since they were clean")
    print(f"{sum(len(sources(file)) for file in todo)} files under clang-tidy in {len(todo)} compilations, {failed} with messages")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
