# SPDX-License-Identifier: Apache-2.0
"""Keeps what a check found, under a key made of everything that it depends on, so that it need not run again until some of that changes."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def key(*, files: Iterable[Path], distributions: Iterable[str] = (), arguments: object = None) -> str:
    """A name for: the names and bytes of these files, the versions of these Python distributions, and repr() of `arguments`.

    A distribution that is not installed counts as such. Raises OSError when a file cannot be read.
    """
    digest = hashlib.sha256()
    for file in sorted(set(files)):
        content = file.read_bytes()
        digest.update(f"{file}\0{len(content)}\0".encode() + content)
    for name in sorted(distributions):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            version = "none"
        digest.update(f"{name} {version}\0".encode())
    digest.update(repr(arguments).encode())
    return digest.hexdigest()


class Kept:
    """Findings in a folder, one file each. Without a folder nothing is kept or found. Findings are what JSON can say, not None."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def find(self, key: str) -> Any:
        """The text kept under that key, or None."""
        if self._folder is None:
            return None
        try:
            return json.loads((self._folder / f"{key}.json").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def keep(self, key: str, finding: Any) -> None:
        """Keeps it, whole or not at all."""
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        beside = self._folder / f"{key}.{os.getpid()}"
        beside.write_text(json.dumps(finding))
        beside.rename(self._folder / f"{key}.json")
