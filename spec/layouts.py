# SPDX-License-Identifier: Apache-2.0
"""Layouts: named fields from bit 0 upwards, as spec/*.yaml list them, and their pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML


@dataclass(frozen=True)
class Field:
    name: str
    bits: int
    count: int
    low: int
    meaning: str
    enum: str | None
    formerly: str | None = None  # its name in the release before, which drivers may still use

    @property
    def high(self) -> int:
        return self.low + self.bits * self.count - 1


@dataclass(frozen=True)
class Layout:
    name: str
    bits: int
    meaning: str
    fields: tuple[Field, ...]


def load(path: Path) -> tuple[dict[str, Any], list[Layout]]:
    """The file as it is, and its layouts with positions. Raises ValueError when fields do not fill a layout."""
    spec: dict[str, Any] = YAML(typ="safe").load(path)
    layouts = []
    for name, entry in spec["layouts"].items():
        low, fields = 0, []
        for item in entry["fields"]:
            field = Field(item["name"], item["bits"], item.get("count", 1), low, item["meaning"], item.get("enum"), item.get("formerly"))
            if field.enum and spec["enums"][field.enum]["bits"] != field.bits:
                raise ValueError(f"{path}: {name}.{field.name} has {field.bits} bits, its enum {field.enum} another number")
            if field.bits > 64:
                assert field.bits == 128 and low == 0, "the C++ accessors hand out wider fields as four words from bit 0"
            fields.append(field)
            low = field.high + 1
        if low != entry["bits"]:
            raise ValueError(f"{path}: the fields of {name} have {low} bits, not {entry['bits']}")
        layouts.append(Layout(name, entry["bits"], entry["meaning"], tuple(fields)))
    return spec, layouts


def pascal(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def picture(layout: Layout, first: int = 0) -> list[str]:
    """Rows of 32 bits from bit `first` on, highest row last; a bit is four characters wide."""
    owner = {bit: field for field in layout.fields for bit in range(field.low, field.high + 1)}
    numbers = " ".join(f"{bit:>3}" if bit % 4 == 0 else "   " for bit in range(31, -1, -1))
    rule = "    +" + "-" * 127 + "+"
    rows = ["```", "bit " + numbers.rstrip(), rule]
    for base in range(first, layout.bits, 32):
        line, top = "", min(base + 31, layout.bits - 1)
        line += " " * (4 * (base + 31 - top))
        bit = top
        while bit >= base:
            field, end = owner[bit], max(owner[bit].low, base)
            width = 4 * (bit - end + 1) - 1
            line += "|" + field.name[:width].center(width)
            bit = end - 1
        rows.append(f"{base:>3} {line}|")
    return [*rows, rule, "```"]
