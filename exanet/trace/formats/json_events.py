# SPDX-License-Identifier: Apache-2.0
"""Trace events in JSON, for Perfetto and chrome://tracing (exanet/trace/perfetto.py)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from exanet.trace.formats import Choices, Format, LeftOut

if TYPE_CHECKING:
    from exanet.trace.folder import Trace


def _write(trace: Trace, file: Path, choices: Choices) -> LeftOut:
    from exanet.trace import perfetto

    return perfetto.write(trace, file)


FORMAT = Format(
    suffix=".json",
    name="Perfetto",
    title="slices and arrows for Perfetto",
    read_by="https://ui.perfetto.dev",
    becomes="trace events for [Perfetto](https://ui.perfetto.dev): a slice a call and one for computing, and an arrow for each "
    "message point to point.",
    cannot_hold="Arrows of receives from any rank, by any tag, or persistent are left out, and so are those of collectives",
    write=_write,
    remark="Perfetto",
)
