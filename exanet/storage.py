# SPDX-License-Identifier: Apache-2.0
"""Storages of programs (`--storage`): folders of the host whose files are on a storage that the machine describes.

The text is a path and the name of a storage, `/scratch=nvme`. Files below the path are the host's, as ever; what a
program reads and writes there takes the time of that storage.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from exanet.errors import InputError
from exanet.near import nearest

if TYPE_CHECKING:
    from exanet.machine import Machine

_FORM = "give FOLDER=NAME, e.g. /scratch=nvme"
_MOST = 16  # of a run, as the ranks' library takes them
ENVIRONMENT = "EXANET_STORAGE"
"""Says to the ranks which folders are on which storage."""


def mounts(texts: Sequence[str], described: Machine) -> list[tuple[str, str]]:
    """The folders, without links in their paths, each with the name of its storage. Raises InputError."""
    found: dict[str, str] = {}
    for text in texts:
        folder, equals, name = text.rpartition("=")
        if not equals or not folder or not name:
            raise InputError(f"--storage {text}: {_FORM}")
        if name not in described.model.storage:
            raise InputError(f"--storage {text}: {_unknown(name, described)}")
        real = os.path.realpath(folder)
        if not os.path.isdir(real):
            raise InputError(f"--storage {text}: there is no folder {folder}; make it, or name another one")
        if real == "/" or "\n" in real:
            raise InputError(f"--storage {text}: name a folder below /, without a line break in its path")
        if real in found:
            raise InputError(f"--storage {text}: the folder is named twice; leave one of them out")
        found[real] = name
    if len(found) > _MOST:
        raise InputError(f"--storage: {len(found)} folders are named, and a run takes up to {_MOST}")
    return list(found.items())


def _unknown(name: str, described: Machine) -> str:
    known = list(described.model.storage)
    if not known:
        return f"the machine {described.name} has no storage; add a section storage to its file (docs/storage.md)"
    meant = nearest(name, known)
    hint = f"did you mean '{meant}'?" if meant else f"it has {', '.join(known)}"
    return f"the machine {described.name} has no storage '{name}'; {hint}"


def resolved(chosen: Sequence[tuple[str, str]], described: Machine) -> dict[str, Any]:
    """The storages of these folders as a key of the resolved machine, as the simulator takes it; none without
    folders."""
    if not chosen:
        return {}
    every = {each["name"]: each for each in described.storages()}
    names = [name for _, name in chosen]
    servers = [every[name]["behind"] for name in names if "behind" in every[name]]
    return {"storage": [every[name] for name in dict.fromkeys([*names, *servers])]}


def environment(chosen: Sequence[tuple[str, str]], described: Machine) -> dict[str, str]:
    """The environment variable for the ranks: a line for each folder, the deepest first, with marks on caches and on
    storages whose metadata take time."""
    names = list(dict.fromkeys(name for _, name in chosen))
    every = {each["name"]: each for each in described.storages()}
    behind = {name: every.get(each.get("behind", name), each) for name, each in every.items()}
    marks = {name: "+" * (each["kind"] == "cache") + "m" * ("metadata_latency_ps" in behind[name]) for name, each in every.items()}
    lines = [f"{names.index(name)}{marks[name]} {folder}" for folder, name in sorted(chosen, key=lambda each: -len(each[0]))]
    return {ENVIRONMENT: "\n".join(lines)} if lines else {}
