# SPDX-License-Identifier: Apache-2.0
"""Keeps what a check found, under a key made of everything that it depends on, so that it need not run again until some of that changes.

Findings are kept in a folder of one checkout (`--keep FOLDER`), and in a file that the repository holds (`--recorded FILE`), which
`--record FILE` writes. These are the "options of findings" of the gateware's scripts. One check in ten of those that the file holds runs
nevertheless: which ones is drawn from the commit, so every recorded finding is looked at again within some commits, and a run of one
commit can be repeated. Keys say nothing of the machine but the version of Python: two machines with the same sources and tools share them.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DRAWN_ONE_IN = 10


_COMMENT = re.compile(rb'"(?:\\.|[^"\\\n])*"|[ \t]*//[^\n]*|/\*.*?\*/', re.DOTALL)


def without_comments(text: bytes) -> bytes:
    """SystemVerilog with its comments taken out, and each token in the line where it was."""
    return _COMMENT.sub(lambda found: found[0] if found[0].startswith(b'"') else b"\n" * found[0].count(b"\n"), text)


def key(*, files: Iterable[Path], distributions: Iterable[str] = (), arguments: object = None, ignoring_comments: bool = False) -> str:
    """A name for: the names and bytes of these files, the versions of Python and of these distributions, and repr() of `arguments`.

    With `ignoring_comments`, a comment of a SystemVerilog file may be another one: what is proved, counted or placed stays the same. A
    distribution that is not installed counts as such; a file of the project goes by its path in the project. Raises OSError when a file
    cannot be read.
    """
    digest = hashlib.sha256(f"python {platform.python_version()}\0".encode())
    named = {str(file.relative_to(ROOT) if file.is_relative_to(ROOT) else file): file for file in files}
    for name, file in sorted(named.items()):
        content = file.read_bytes()
        if ignoring_comments and file.suffix in (".sv", ".svh"):
            content = without_comments(content)
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    for name in sorted(distributions):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            version = "none"
        digest.update(f"{name} {version}\0".encode())
    digest.update(repr(arguments).encode())
    return digest.hexdigest()


def commit() -> str:
    """The checked-out commit, from which the drawn tenth follows; "" outside a repository."""
    run = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return run.stdout.strip() if run.returncode == 0 else ""


def _number(key: str, seed: str) -> int:
    return int(hashlib.sha256(f"{seed} {key}".encode()).hexdigest(), 16)


def drawn(key: str, seed: str, one_in: int = DRAWN_ONE_IN) -> bool:
    return _number(key, seed) % one_in == 0


def drawn_of(keys: Iterable[str], name: str, seed: str, one_in: int) -> set[str]:
    """One in `one_in` of these keys: each as often as any other, and of so many or more of them at least one. `name` is what they have
    in common."""
    in_order = sorted(set(keys), key=lambda key: _number(key, seed))
    return set(in_order[: (len(in_order) + _number(name, seed) % one_in) // one_in])


class Kept:
    """Findings in a folder, one file each, and in the repository's record. Findings are what JSON can say, not None.

    Without `folder` and `recorded` nothing is found. With `record` what is kept is added to that file.
    """

    def __init__(
        self, folder: Path | None = None, recorded: Path | None = None, record: Path | None = None, seed: str | None = None
    ) -> None:
        self._folder, self._record = folder, record
        self._recorded = _read(recorded)
        self._held = _read(record)
        self._seed = commit() if seed is None else seed
        self._lock = threading.Lock()

    def find(self, key: str, drawn_by: str = "") -> Any:
        """What is kept under that key, or None: also where it is recorded, and drawn to be looked at again. Checks that share what takes
        long to build have the same `drawn_by`: they are drawn together."""
        if self._folder is not None:
            try:
                finding = json.loads((self._folder / f"{key}.json").read_text())
            except (FileNotFoundError, ValueError):
                pass
            else:
                self._write_down(key, finding)
                return finding
        return None if drawn(drawn_by or key, self._seed) else self._recorded.get(key)

    def keep(self, key: str, finding: Any) -> None:
        """Keeps it, whole or not at all."""
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            _write(self._folder / f"{key}.json", json.dumps(finding))
        self._write_down(key, finding)

    def _write_down(self, key: str, finding: Any) -> None:
        if self._record is not None:
            with self._lock:
                self._held[key] = finding
                lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in sorted(self._held.items())]
                _write(self._record, "{\n" + ",\n".join(lines) + "\n}\n")


def _read(record: Path | None) -> dict[str, Any]:
    return dict(json.loads(record.read_text())) if record is not None and record.exists() else {}


def _write(path: Path, text: str) -> None:
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_text(text)
    beside.rename(path)


def named(place: Path, findings: dict[str, str] | None = None) -> dict[str, str]:
    """What will have been found once what is built now has passed, by key. Without `findings`, what the build before
    has written there: sources may have changed since."""
    if findings is None:
        return dict(json.loads(place.read_text()))
    place.parent.mkdir(parents=True, exist_ok=True)
    _write(place, json.dumps(findings))
    return findings


def take(words: list[str]) -> tuple[Kept, list[str]]:
    """The findings that `--keep FOLDER`, `--recorded FILE` and `--record FILE` of a command line name, and its other words.

    Raises SystemExit where the path behind an option is missing.
    """
    rest, given = list(words), {}
    for name in ("keep", "recorded", "record"):
        if (option := f"--{name}") in rest:
            at = rest.index(option)
            if at + 1 == len(rest):
                raise SystemExit(f"error: {option} needs a path")
            given[name] = Path(rest[at + 1])
            del rest[at : at + 2]
    return Kept(given.get("keep"), given.get("recorded"), given.get("record")), rest
