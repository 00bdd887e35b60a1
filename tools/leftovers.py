# SPDX-License-Identifier: Apache-2.0
"""Finds what the tests have left outside the project's folder.

Other programs of the same user write to these places at the same time, and nothing says of a file who made it. So it is
looked who holds what is new when it appears: what a process of ours has open, mapped, or works in is ours. What is held
too shortly to be seen is only reported, as what is new and may be somebody else's.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

_EVERY_S = 0.2
_LOOKS = 10
"""So often is looked who holds something new."""


def places() -> list[Path]:
    """The folders whose entries are looked at."""
    home = Path.home()
    return [Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), home, *(home / name for name in (".cache", ".config", ".local/share"))]


def entries(folders: list[Path]) -> set[Path]:
    """Files in these folders that belong to this user; folders that are not there or cannot be read count as empty."""
    found = set()
    for folder in folders:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            with contextlib.suppress(OSError):  # gone since
                if (folder / name).lstat().st_uid == os.getuid():
                    found.add(folder / name)
    return found


def held(variable: str | None = None) -> set[str]:
    """Paths that living processes have mapped, open, or as their working folder, as far as this user may see them.

    With `variable`, NAME=VALUE, those of processes alone that were started with it in their environment.
    """
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended since, or somebody else's
            if variable is not None and variable.encode() not in (process / "environ").read_bytes().split(b"\0"):
                continue
            found |= {line.split(maxsplit=5)[5] for line in (process / "maps").read_text().splitlines() if "/" in line}
            for link in (process / "cwd", *(process / "fd").iterdir()):
                with contextlib.suppress(OSError):  # closed since
                    found.add(os.readlink(link))
    return found


def among(path: Path, paths: set[str]) -> bool:
    """Whether one of them is the path or lies below it."""
    return any(name == str(path) or name.startswith(f"{path}/") for name in paths)


class Watch:
    """Looks at folders until `close`, from what is in them at its construction; `variable` (NAME=VALUE) marks our
    processes."""

    def __init__(self, folders: list[Path], variable: str) -> None:
        self._folders, self._variable = folders, variable
        self._before = entries(folders)
        self._looks: dict[Path, int] = {}
        self._ours: set[Path] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(_EVERY_S):
            for path in entries(self._folders) - self._before:
                self._looks.setdefault(path, _LOOKS)
            waiting = [path for path, looks in self._looks.items() if looks > 0 and path not in self._ours]
            if not waiting:
                continue
            ours = held(self._variable)
            for path in waiting:
                self._looks[path] -= 1
                if among(path, ours):
                    self._ours.add(path)

    def close(self) -> tuple[list[Path], list[Path]]:
        """Files that are there now, were not before, and are held by nobody: those surely ours, and those that may
        be somebody else's."""
        self._ended.set()
        self._thread.join()
        new = sorted(entries(self._folders) - self._before)
        if new:
            everybodys = held()
            new = [path for path in new if not among(path, everybodys)]
        return [path for path in new if path in self._ours], [path for path in new if path not in self._ours]
