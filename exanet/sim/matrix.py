# SPDX-License-Identifier: Apache-2.0
"""Traffic from files: `matrix:FILE`, with a row of weights for each source and a column for each destination, and lists
of flows, `flows:FILE` (flow_list.py).

A row's weights are scaled to one another: each source that has any offers the load, and sends to a destination with the
probability that its weight has in the row. A file of the name *.npy is NumPy's; any other has a row a line, its numbers
apart by commas or blanks, and what stands behind `#` is ignored. The simulator reads no files: it is handed the matrix
itself, as core/workload/pattern.hpp says.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Any

from exanet import _core
from exanet.errors import InputError
from exanet.machine.located import Mark, printable
from exanet.quantity import counted
from exanet.sim import flow_list

_NAME = "matrix:"
_FILES = (_NAME, "flows:")  # patterns with a file
_LARGEST = 1 << 30  # bytes
_WHAT = "give a row of weights for each endpoint, as CSV or as NumPy's .npy"


def relative(traffic: str, folder: Path | None) -> str:
    """The traffic, with its file named from `folder`."""
    if not traffic.startswith(_FILES) or folder is None:
        return traffic
    name, _, file = traffic.partition(":")
    return f"{name}:{folder / Path(file).expanduser()}"


def label(traffic: str) -> str:
    """The traffic for the name of a folder: of a file without the path to it."""
    name, _, file = traffic.partition(":")
    return f"{name}:{Path(file).stem}" if traffic.startswith(_FILES) else traffic


def lists_flows(traffic: str) -> bool:
    """Whether the traffic is a list of flows, which has their sizes and starts."""
    return isinstance(traffic, str) and traffic.startswith("flows:")


def in_full(traffic: str, machine: dict[str, Any]) -> str:
    """The traffic as the simulator takes it: with the matrix or list of flows in place of its file; all else as it is.

    `machine` is a resolved one. Raises InputError, with file and line, on what is no matrix of its endpoints.
    """
    if not isinstance(traffic, str) or not traffic.startswith(_FILES) or traffic.partition(":")[2].startswith("["):
        return traffic
    file = Path(traffic.partition(":")[2]).expanduser()
    shown = printable(str(file))
    endpoints = int(_core.topology_needs(machine["topology"])["endpoints"])
    if lists_flows(traffic):
        return f"flows:[{flow_list.in_core_text(file, endpoints)}]"
    rows = _read(file, shown)
    if len(rows) != endpoints:
        last = rows[-1][0] if rows else Mark(shown)
        raise InputError(last.error(f"{counted(len(rows), 'row')}, but the machine has {counted(endpoints, 'endpoint')}: {_WHAT}"))
    text = "".join(_row(source, mark, weights, endpoints) for source, (mark, weights) in enumerate(rows))
    if not text.strip(";"):
        raise InputError(Mark(shown).error("all weights are 0: nobody sends anything"))
    return f"{_NAME}[{text}]"


def _row(source: int, mark: Mark, weights: list[float], endpoints: int) -> str:
    if len(weights) != endpoints:
        raise InputError(
            mark.error(f"row {source} has {counted(len(weights), 'weight')}, but the machine has {counted(endpoints, 'endpoint')}: {_WHAT}")
        )
    for destination, weight in enumerate(weights):
        if not 0 <= weight < 1e300:
            raise InputError(mark.error(f"row {source}, to endpoint {destination}: {weight:g} is no weight; give a number from 0 on"))
    if weights[source]:
        raise InputError(
            mark.error(f"row {source} has a weight to itself, {weights[source]:g}; set it to 0: that traffic does not reach the network")
        )
    return ",".join(f"{destination} {weight!r}" for destination, weight in enumerate(weights) if weight) + ";"


def _read(file: Path, shown: str) -> list[tuple[Mark, list[float]]]:
    """Rows with their places. Raises InputError."""
    try:
        found = file.stat()
        if stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode):
            raise InputError(Mark(shown).error(f"a device, which may have no end; {_WHAT}"))
        if found.st_size > _LARGEST:
            raise InputError(Mark(shown).error("larger than 1 GiB; give a smaller matrix"))
        return _numpy(file, shown) if file.suffix == ".npy" else _lines(file.read_text(encoding="utf-8-sig"), shown)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is no such file"
        raise InputError(Mark(shown).error(f"cannot be read as a matrix: {why}; {_WHAT}")) from None


def _numpy(file: Path, shown: str) -> list[tuple[Mark, list[float]]]:
    import numpy as np

    matrix = np.load(file, allow_pickle=False)
    if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or matrix.dtype.kind not in "buif":
        raise InputError(Mark(shown).error(f"an array of {matrix.ndim} dimensions of {matrix.dtype}; {_WHAT}"))
    return [(Mark(shown), row) for row in matrix.astype(float).tolist()]


def _lines(text: str, shown: str) -> list[tuple[Mark, list[float]]]:
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        mark, words = Mark(shown, number), re.split(r"\s*[,;]\s*|\s+", content)
        try:
            rows.append((mark, [float(word) for word in words]))
        except ValueError:
            wrong = next(word for word in words if not _is_number(word))
            raise InputError(mark.error(f"'{wrong[:40]}' is no number; {_WHAT}, without headings")) from None
    return rows


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
