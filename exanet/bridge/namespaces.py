# SPDX-License-Identifier: Apache-2.0
"""Network namespaces of bridges, and who has made them: what a bridge leaves that was killed is found and removed.

Model: beside each namespace, which `ip netns` knows by its name, a file names the process that has made it, and when
that started. A namespace whose process is gone is a leftover. Limits: programs in a namespace live on; it goes with the
last one, and only its name goes before.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from exanet.errors import InputError

RECORDS = Path("/run/exanet-bridge")
_NAMED = Path("/run/netns")


def ip(*words: str) -> None:
    """Runs iproute2's `ip`, which does not hear a Ctrl-C. Raises InputError with what it says."""
    try:
        done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False, timeout=30, start_new_session=True)
    except FileNotFoundError:
        raise InputError("exanet bridge needs iproute2's command ip, which is not installed: apt install iproute2") from None
    if done.returncode != 0:
        raise InputError(f"ip {' '.join(words)}: {done.stderr.strip() or f'status {done.returncode}'}")


def exists(name: str) -> bool:
    """Whether `ip netns` knows it."""
    return (_NAMED / name).exists()


def create(name: str) -> None:
    """A new one, which is this process's. Raises InputError where there is one of this name."""
    if exists(name):
        raise InputError(
            f"there is a network namespace {name} already; choose another name of the interface, or say netns={name} to use it"
        )
    RECORDS.mkdir(parents=True, exist_ok=True)
    (RECORDS / name).write_text(f"{_identity('self')}\n", encoding="utf-8")  # before it is there: whatever is there has a record
    ip("netns", "add", name)
    ip("-n", name, "link", "set", "lo", "up")


def remove(name: str) -> None:
    """Takes away one that create() has made, as far as it is there."""
    if exists(name):
        ip("netns", "delete", name)
    (RECORDS / name).unlink(missing_ok=True)


def clean() -> list[str]:
    """Removes what bridges have left that are gone: the names."""
    left = [record for record in sorted(RECORDS.glob("*")) if not _lives(record)]
    for record in left:
        remove(record.name)
    return [record.name for record in left]


def _lives(record: Path) -> bool:
    try:
        process, _, _ = (identity := record.read_text(encoding="utf-8").strip()).partition(" ")
    except FileNotFoundError:
        return True  # another command has just removed it
    return process.isdecimal() and _identity(process) == identity


def _identity(process: str) -> str:
    """Number and start of a process, which no later one has; "" where there is none."""
    try:
        number, _, rest = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").partition(" ")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return f"{number} {rest.rpartition(') ')[2].split()[19]}"
