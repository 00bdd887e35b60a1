# SPDX-License-Identifier: Apache-2.0
"""Reads what a linker has made of handlers: an executable for RISC-V of 32 bits (ELF-32, System V ABI, chapter 4)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from exanet.errors import InputError

_HEADER = struct.Struct("<16sHHIIIIIHHHHHH")
_SECTION = struct.Struct("<10I")
_SYMBOL = struct.Struct("<IIIBBH")
_RISCV, _SYMBOLS, _NO_BITS = 243, 2, 8


@dataclass(frozen=True)
class Section:
    """One that is in memory."""

    address: int
    size: int
    content: bytes  # without it: zeros


@dataclass(frozen=True)
class Executable:
    """Sections by name, and the addresses of symbols."""

    sections: dict[str, Section]
    symbols: dict[str, int]


def read(path: Path) -> Executable:
    """Raises InputError where the file is no such executable."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    try:
        return _read(content)
    except (struct.error, ValueError, IndexError):
        raise InputError(f"{path}: this is no executable for RISC-V of 32 bits") from None


def _read(content: bytes) -> Executable:
    ident, _, machine, _, _, _, sections_at, _, _, _, _, size, count, names_in, *_ = _HEADER.unpack_from(content)
    if ident[:6] != b"\x7fELF\x01\x01" or machine != _RISCV or size != _SECTION.size:
        raise ValueError
    rows = [_SECTION.unpack_from(content, sections_at + i * size) for i in range(count)]
    names_at = rows[names_in][4]
    sections: dict[str, Section] = {}
    symbols: dict[str, int] = {}
    for name, kind, flags, address, at, length, link, *_ in rows:
        text = _text(content, names_at + name)
        if flags & 2:
            sections[text] = Section(address, length, b"" if kind == _NO_BITS else content[at : at + length])
        if kind == _SYMBOLS:
            strings = rows[link][4]
            for each in range(at, at + length, _SYMBOL.size):
                symbol, value, _, _, _, where = _SYMBOL.unpack_from(content, each)
                if where != 0:
                    symbols[_text(content, strings + symbol)] = value
    return Executable(sections, symbols)


def _text(content: bytes, at: int) -> str:
    return content[at : content.index(b"\0", at)].decode()
