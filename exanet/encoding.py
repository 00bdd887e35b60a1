# SPDX-License-Identifier: Apache-2.0
"""Output where the locale is not UTF-8: letters that it lacks are replaced, file names that libraries cannot take are
refused.

Tables have signs such as µ and ±. Python writes them in the encoding of the locale or of PYTHONIOENCODING, and raises
an error in the middle of a table where that has none. Polars takes the names of files as UTF-8 only, whatever the
locale.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from pathlib import Path

from exanet.errors import InputError

_SIGNS = {"µ": "u", "\u03bc": "u", "±": "+/-", "×": "x", "–": "-", "−": "-", "…": "...", "→": "->", "≤": "<=", "≥": ">="}  # noqa: RUF001


def adapt_streams() -> None:
    """Has standard output and errors replace letters that their encoding lacks: µ becomes u, an unknown one its code
    point."""
    codecs.register_error("exanet", _replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="exanet")


def check_name(path: Path) -> None:
    """Raises InputError if the file's name, as bytes, is not the UTF-8 of its text: another file would be read than
    was written."""
    try:
        same = os.fsencode(path) == str(path).encode()
    except UnicodeEncodeError:
        same = False
    if not same:
        shown = str(path).encode("ascii", "backslashreplace").decode()
        raise InputError(f"-o {shown}: the name is not UTF-8 under this locale; choose a name in ASCII, or set LC_ALL=C.UTF-8")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(_SIGNS.get(letter) or letter.encode("ascii", "backslashreplace").decode() for letter in letters), error.end
