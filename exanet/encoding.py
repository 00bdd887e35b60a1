# SPDX-License-Identifier: Apache-2.0
"""Output where the locale, or a name, is not UTF-8: letters that the locale lacks are replaced, bytes of names that are
no text are shown as such, and names that libraries cannot take are refused.

Tables have signs such as µ and ±. Python writes them in the encoding of the locale or of PYTHONIOENCODING, and raises
an error in the middle of a table where that has none. Polars takes the names of files as UTF-8 only, whatever the
locale.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from pathlib import Path

from exanet.errors import InputError

_SIGNS = {"µ": "u", "\u03bc": "u", "±": "+/-", "×": "x", "–": "-", "−": "-", "…": "...", "→": "->", "≤": "<=", "≥": ">="}  # noqa: RUF001
_BYTES = re.compile("[\ud800-\udfff]+")
"""What Python has in the place of bytes that are no text in the locale's encoding."""


def adapt_streams() -> None:
    """Has standard output and errors replace letters that their encoding lacks: µ becomes u, an unknown one its code
    point."""
    codecs.register_error("exanet", _replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="exanet")


def shown(text: str, backslash: str = "\\") -> str:
    """The text with bytes that are not UTF-8 as \\xe9, for a file in UTF-8. In another locale, what is UTF-8 is text
    again."""
    return _BYTES.sub(lambda found: _bytes(found[0]).decode("utf-8", "backslashreplace").replace("\\", backslash), text)


def check_name(path: Path, what: str = "-o") -> None:
    """Raises InputError if the file's name, as bytes, is not the UTF-8 of its text: another file would be read than
    was written. `what` stands in front of the name."""
    try:
        same = os.fsencode(path) == str(path).encode()
    except UnicodeEncodeError:
        same = False
    if not same:
        name = f"{what} {path}".lstrip()
        raise InputError(f"{name}: the name is not UTF-8 under this locale; choose a name in ASCII, or set LC_ALL=C.UTF-8")


def name_in(error: UnicodeEncodeError) -> str:
    """The word that is not UTF-8. Raises the error if it is about other letters."""
    word = next(word[0] for word in re.finditer(r"[^\s\[\]\"',]+", error.object) if word.end() > error.start)
    if not _BYTES.search(word):
        raise error
    return word


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(_SIGNS.get(letter) or _ascii(letter) for letter in letters), error.end


def _ascii(letter: str) -> str:
    return (_bytes(letter) if _BYTES.match(letter) else letter.encode("ascii", "backslashreplace")).decode("ascii", "backslashreplace")


def _bytes(letters: str) -> bytes:
    """What they stand for; of others that are no text, as \\ud800."""
    try:
        return letters.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return letters.encode("ascii", "backslashreplace")
