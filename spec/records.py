# SPDX-License-Identifier: Apache-2.0
"""Records of spec/descriptors.yaml: layouts that are also C structures, each field as wide as an integer and aligned
to its width."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from layouts import Field, Layout
from ruamel.yaml import YAML


@dataclass(frozen=True)
class Value:
    name: str
    number: int
    meaning: str


@dataclass(frozen=True)
class Names:
    """An enum's values, or a set of flags, whose numbers are then masks."""

    name: str
    bits: int
    prefix: str
    meaning: str
    values: tuple[Value, ...]

    def c_name(self, value: Value) -> str:
        return f"{self.prefix}_{value.name.upper()}"


@dataclass(frozen=True)
class Record:
    """Fields behind the header; bits and positions count from the header's first bit."""

    layout: Layout
    kinds: dict[str, dict[str, Any]]  # of each field its line in the file
    payload: str


@dataclass(frozen=True)
class Family:
    """Descriptors, or completions: a header and the records that begin with it."""

    name: str
    header: Record
    records: tuple[Record, ...]


@dataclass(frozen=True)
class Records:
    constants: dict[str, dict[str, Any]]
    enums: tuple[Names, ...]
    flags: tuple[Names, ...]
    layouts: tuple[Record, ...]
    families: tuple[Family, ...]


def record(path: Path, name: str, entry: dict[str, Any], spec: dict[str, Any], first: int = 0) -> Record:
    """Raises ValueError when a field is no integer in C, is not aligned, or contradicts its enum or flags."""
    low, fields, kinds = first, [], {}
    for item in entry["fields"]:
        for group in ("enum", "flags"):
            if group in item and spec[group + ("s" if group == "enum" else "")][item[group]]["bits"] != item["bits"]:
                raise ValueError(f"{path}: {name}.{item['name']} has {item['bits']} bits, its {group} {item[group]} another number")
        bits = spec["layouts"][item["layout"]]["bits"] if "layout" in item else item["bits"]
        rest = item["name"] == "reserved"
        if not rest and (bits not in (8, 16, 32, 64) or low % bits):
            raise ValueError(f"{path}: {name}.{item['name']} has {bits} bits at bit {low}: no aligned integer")
        fields.append(Field(item["name"], bits, 1, low, item["meaning"], item.get("enum")))
        kinds[item["name"]] = item
        low += bits
    if low % 64 or low != entry.get("bits", low):
        raise ValueError(f"{path}: the fields of {name} have {low} bits, not {entry.get('bits', 'whole words')}")
    return Record(Layout(name, low, entry["meaning"], tuple(fields)), kinds, entry.get("payload", ""))


def load_records(path: Path, *, software: bool = True) -> Records:
    """The file's records, with or without those of the simulator alone. Raises ValueError as record() does."""
    spec: dict[str, Any] = YAML(typ="safe").load(path)
    for group in ("enums", "descriptors", "completions"):
        spec[group] = {name: entry for name, entry in spec[group].items() if software or not entry.get("software")}
    for family in ("descriptors", "completions"):
        clause = {name: re.split("[.;:,] |[.]$", entry["meaning"])[0] for name, entry in spec[family].items()}
        values = [{"name": name, "meaning": clause[name][0].lower() + clause[name][1:]} for name in spec[family] if name != "header"]
        spec["enums"][family[:-1] + "_kind"]["values"] = [{"name": "pad", "meaning": "skip to the ring's start"}, *values]
    enums, flags = (
        tuple(
            Names(
                name,
                item["bits"],
                item["prefix"],
                item["meaning"],
                tuple(Value(v["name"], number(i, item), v["meaning"]) for i, v in enumerate(item["values"])),
            )
            for name, item in spec[group].items()
        )
        for group, number in (("enums", lambda i, item: i + item.get("first", 0)), ("flags", lambda i, item: 1 << i))
    )
    layouts = tuple(record(path, name, entry, spec) for name, entry in spec["layouts"].items())
    families = []
    for name in ("descriptors", "completions"):
        header = record(path, f"{name[:-1]}_header", spec[name]["header"], spec)
        records = [record(path, f"{key}_{name[:-1]}", e, spec, header.layout.bits) for key, e in spec[name].items() if key != "header"]
        families.append(Family(name[:-1], header, tuple(records)))
    return Records(spec["constants"], enums, flags, layouts, tuple(families))
