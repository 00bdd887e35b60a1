# SPDX-License-Identifier: Apache-2.0
"""DUMPI traces of SST (exanet/trace/dumpi): read, not written."""

from __future__ import annotations

from pathlib import Path

from exanet.trace.formats import Format, LeftOut


def _read(file: Path, directory: Path) -> LeftOut:
    from exanet.trace.dumpi import read

    return read.read(file, directory)


def _found(place: Path) -> Path | None:
    from exanet.trace.dumpi import read

    return read.found(place)


FORMAT = Format(
    suffix="",
    name="DUMPI",
    title="DUMPI, the traces of SST",
    read_by="",
    found=_found,
    read=_read,
    source="a DUMPI trace (SST)",
    read_from="its calls, from the .meta file with the binary files of all ranks beside it, or from the folder around one; SST's "
    "library is not needed. Between calls a rank computes for as long as its wall clock says, or its processor's clock where there is no "
    "other. Datatypes have the sizes that the files say. Members of communicators are worked out from splits, groups and grids; a grid has "
    "the first ranks in their order. Each file's calls are counted against its footer. Refused are one-sided calls, MPI-IO, other "
    "programs, communicators of two groups, a second thread, and files before DUMPI 0.6.7",
    read_example="dumpi.meta",
)
