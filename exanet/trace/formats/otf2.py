# SPDX-License-Identifier: Apache-2.0
"""Archives of OTF2 (exanet/trace/otf2)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from exanet.trace.formats import Choices, Format, LeftOut

if TYPE_CHECKING:
    from exanet.trace.folder import Trace


def _write(trace: Trace, directory: Path, choices: Choices) -> LeftOut:
    from exanet.trace.otf2 import write

    return write.write(trace, directory)


def _read(file: Path, directory: Path) -> LeftOut:
    from exanet.trace.otf2 import read

    return read.read(file, directory, "TO")


def _found(place: Path) -> Path | None:
    from exanet.trace.otf2 import archive

    return archive.anchor(place)


FORMAT = Format(
    suffix=".otf2",
    name="OTF2",
    title="OTF2, the format of Score-P",
    read_by="Vampir and Scalasca",
    becomes="an archive of [OTF2](https://www.vi-hps.org/projects/score-p) (`traces.otf2` and its kin in the folder), as "
    "[Score-P](../traces/formats.md#score-p) writes it.",
    cannot_hold="Receives that were cancelled are left out; senders and tags of receives from any rank, or by any tag, are written as "
    "unknown",
    write=_write,
    is_folder=True,
    found=_found,
    read=_read,
    source="an archive of OTF2",
    read_from="its calls; the archive is ours or Score-P's, given by its `.otf2` or the folder around it",
    read_example="scorep-run",
)
