# SPDX-License-Identifier: Apache-2.0
"""Paje's format, for ViTE and PajeNG (exanet/trace/paje.py)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from exanet.trace.formats import Choices, Format, LeftOut

if TYPE_CHECKING:
    from exanet.trace.folder import Trace


def _write(trace: Trace, file: Path, choices: Choices) -> LeftOut:
    from exanet.trace import paje

    return paje.write(trace, file)


FORMAT = Format(
    suffix=".paje",
    name="Paje",
    title="slices and arrows for ViTE and PajeNG",
    read_by="ViTE",
    becomes="[Paje's format](https://github.com/schnorr/pajeng) for ViTE and PajeNG: a container a rank, a state for computing and "
    "for each call, and a link for each message that has an arrow in Perfetto.",
    cannot_hold="Links are left out as arrows are there",
    write=_write,
    remark="ViTE, PajeNG",
)
