# SPDX-License-Identifier: Apache-2.0
"""The library of OTF2: had only when it is needed, and silent, since what it says of a file's errors is reported in
one message here."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from exanet import optional
from exanet.errors import InputError

PS_IN_S = 10**12

# Attributes of events for what a trace holds and OTF2 does not.
INSIDE, FLAGS, ELEMENT, BLOCKS_SENT, BLOCKS_RECEIVED, BYTES, WINDOW, NEIGHBOURS, COMPLETED = range(9)
ATTRIBUTES = (
    ("exanet::inside_ps", "what the MPI library computed in the call, in picoseconds"),
    ("exanet::flags", "flags of a collective, a communicator, an access to a window and its synchronisation"),
    ("exanet::element_bytes", "bytes of an element of a collective"),
    ("exanet::blocks_sent", "bytes sent, by rank of the communicator"),
    ("exanet::blocks_received", "bytes received, by rank of the communicator"),
    ("exanet::window_bytes", "the rank's own memory in a window"),
    ("exanet::window", "the window of a test that was false"),
    (
        "exanet::neighbours",
        "of a collective among neighbours: communicator, request, sources, bytes of each, destinations, bytes of each",
    ),
    ("exanet::completed", "requests of collectives among neighbours that are over in the call"),
)
BLOCKS = (BLOCKS_SENT, BLOCKS_RECEIVED)
STRINGS = (*BLOCKS, NEIGHBOURS, COMPLETED)  # the others are whole numbers
MPI = "EXANET::MPI"  # property of an archive: the MPI that was recorded

_HANDLER = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p
)


_silent = _HANDLER(lambda data, file, line, function, code, text, values: code)


def load() -> Any:
    """The functions of the library. Raises InputError where the package is missing."""
    if absent := optional.missing(["otf2"]):
        raise InputError(absent[0])
    import _otf2
    from _otf2.Config import conf

    register = conf.lib.OTF2_Error_RegisterCallback
    register.argtypes, register.restype = [_HANDLER, ctypes.c_void_p], ctypes.c_void_p
    register(_silent, None)
    return _otf2


@contextlib.contextmanager
def errors_of(library: Any, file: Path, what: str) -> Iterator[None]:
    """Reports an error of the library as one of `file`. Raises InputError."""
    try:
        yield
    except library.Error as error:
        why = f": {error.description}" if error.code.value > 1 else ""  # the first one is of no kind
        raise InputError(f"{file}: {what}{why}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: {what}: it has text that is not UTF-8") from None
