# SPDX-License-Identifier: Apache-2.0
"""Where a file of an archive ends: OTF2's library stops at the last event that the definitions count, and so would not
see what stands behind it.

Model: a file is chunks of one size, of which the last one is written as far as it is used. A chunk has a header and
records; a record, its type, its length and so many bytes, but among events the times have no length. The last chunk
ends with the record of the file's end and that of the chunk's (OTF2 3.0, its buffers).
"""

from __future__ import annotations

from pathlib import Path

from exanet.errors import InputError

_CHUNK_END, _FILE_END, _CHUNK_HEADER, _TIMESTAMP = 1, 2, 3, 5
_HEADER_BYTES = 18
_LONG = 255  # a length that stands in the next eight bytes
_LITTLE = 0x42


def check(file: Path, chunk_bytes: int) -> None:
    """Raises InputError where the file does not end as one of an archive; OSError."""
    size = file.stat().st_size
    begin = max(size - 1, 0) // chunk_bytes * chunk_bytes
    with file.open("rb") as opened:
        opened.seek(begin)
        chunk = opened.read(chunk_bytes)
    if len(chunk) < _HEADER_BYTES or chunk[0] != _CHUNK_HEADER:
        raise InputError(f"{file}: from byte {begin} on it is no part of an archive of OTF2: the file is damaged; copy it again")
    end = _end(chunk, file.suffix == ".evt")
    if end is None:
        raise InputError(f"{file}: it ends early, or is damaged after byte {begin}; copy it again")
    if end < len(chunk):
        raise InputError(f"{file}: {len(chunk) - end} bytes follow its end, at byte {begin + end}: the file is damaged; copy it again")


def _end(chunk: bytes, of_events: bool) -> int | None:
    """Behind the last record of the file's last chunk; None where there is no such record."""
    order = "little" if chunk[1] == _LITTLE else "big"
    at = _HEADER_BYTES
    try:
        while True:
            kind = chunk[at]
            if kind == _FILE_END:
                return at + 2 if chunk[at + 1] == _CHUNK_END else None
            if kind == _TIMESTAMP and of_events:
                at += 9
            elif kind <= _CHUNK_HEADER:
                return None
            elif (length := chunk[at + 1]) == _LONG:
                at += 10 + int.from_bytes(chunk[at + 2 : at + 10], order)  # type: ignore[arg-type]
            else:
                at += 2 + length
    except IndexError:
        return None
