# SPDX-License-Identifier: Apache-2.0
"""Columns of whole numbers in a page: short, and quick to read.

Problem: a page holds millions of times, which JSON would make hundreds of megabytes of. Model: a column is as many
planes of bytes as its largest value has bytes, the lowest first, so that a browser fills a typed array plane by plane;
all columns are one deflate stream, whose compression finds the planes that hardly change, in base64. Limit: values are
below 2^53, the whole numbers that a script has.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from exanet.errors import InputError

_LEVEL = 6  # of the compression: a higher one takes several times as long for a few percent


def pack(columns: Mapping[str, npt.ArrayLike]) -> dict[str, Any]:
    """What report_page/packed.js reads: of each column its name, length and planes, and the text of all. Raises
    InputError on values that a script cannot have."""
    laid_out: list[tuple[str, int, int]] = []
    stream = zlib.compressobj(_LEVEL)
    pieces: list[bytes] = []
    for name, values in columns.items():
        whole = np.asarray(values, dtype=np.int64)
        if len(whole) and (whole.min() < 0 or whole.max() >= 1 << 53):
            raise InputError(f"{name}: a value is outside of 0 to 2^53 - 1, which the page cannot hold")
        planes = (int(whole.max()).bit_length() + 7) // 8 if len(whole) else 0
        laid_out.append((name, len(whole), planes))
        as_bytes = whole.astype("<u8").view(np.uint8).reshape(-1, 8)
        pieces += [stream.compress(np.ascontiguousarray(as_bytes[:, plane]).tobytes()) for plane in range(planes)]
    pieces.append(stream.flush())
    return {"columns": laid_out, "text": base64.b64encode(b"".join(pieces)).decode()}
