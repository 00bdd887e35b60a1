# SPDX-License-Identifier: Apache-2.0
"""The stream of a rank's MPI calls: forms of records, their fields, and the codes of calls, as spec/trace.yaml lists
them.

What contradicts itself is refused when the file is read: two calls of one code, a field of a kind that there is not, a
list to the record's end that is not its last field.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML


@dataclass(frozen=True)
class Field:
    """One field of a form. `listed` is "" for a number, "counted" for a list with its length, "rest" for one to the
    record's end."""

    name: str
    kind: str
    listed: str
    what: str  # for messages of the reader
    below: str  # as C++ writes the limit
    below_number: int  # the number that it is below; 0 where that is the number of ranks
    member: str  # of TraceRecord
    as_many_as: str  # the list that must be as long, if any
    meaning: str


@dataclass(frozen=True)
class Flag:
    name: str
    c: str
    mask: int
    meaning: str


@dataclass(frozen=True)
class Call:
    """A call, or what else has a record: `c` is the name of its code in C behind EXANET_TRACE_."""

    name: str
    code: int
    c: str
    form: str
    is_call: bool
    meaning: str


@dataclass(frozen=True)
class Form:
    name: str
    c: str
    meaning: str
    fields: tuple[Field, ...]
    unequal: str  # message where lists that must be equally long are not


@dataclass(frozen=True)
class Traces:
    spec: dict[str, Any]
    times: tuple[Field, ...]
    forms: tuple[Form, ...]
    calls: tuple[Call, ...]  # by code
    flags: dict[str, tuple[Flag, ...]]

    @property
    def persistent(self) -> list[tuple[Call, Call]]:
        """Each collective that has a persistent form, and the nonblocking one whose record its start writes."""
        by_name = {call.name: call for call in self.calls}
        collective = [call for call in self.calls if call.form in ("collective", "neighbours")]
        return [(call, by_name[other]) for call in collective if (other := f"I{call.name.lower()}") in by_name]

    @property
    def nonblocking(self) -> int:
        """From the code of a blocking collective to that of its nonblocking form: the same for all, but for those
        among neighbours."""
        return next(other.code - call.code for call, other in self.persistent if call.form == "collective")


def limit(below: int | str) -> str:
    if isinstance(below, str):
        return f"ranks() + {below.partition('+')[2].strip()}" if "+" in below else "ranks()"
    exponent = below.bit_length() - 1
    if below < 1 << 16:
        return str(below)
    return (
        f"std::uint64_t{{1}} << {exponent}" if below == 1 << exponent else f"(std::uint64_t{{1}} << {exponent}) + {below - (1 << exponent)}"
    )


def _field(path: Path, form: str, item: dict[str, Any], spec: dict[str, Any]) -> Field:
    kind = item["kind"]
    if kind not in spec["kinds"] and kind not in spec["flags"]:
        raise ValueError(f"{path}: {form}.{item['name']} is of the kind {kind}, which there is not")
    of_flags = kind in spec["flags"]
    entry = spec["flags"][kind] if of_flags else spec["kinds"][kind]
    below = 1 << len(entry["values"]) if of_flags else entry["below"]
    what, meaning = item.get("what", entry["what"]), item.get("meaning", "")
    number = 0 if isinstance(below, str) else below
    return Field(item["name"], kind, item.get("list", ""), what, limit(below), number, item["cpp"], item.get("as_many_as", ""), meaning)


def _form(path: Path, name: str, entry: dict[str, Any], spec: dict[str, Any]) -> Form:
    fields = tuple(_field(path, name, item, spec) for item in entry["fields"])
    names = [field.name for field in fields]
    if len(set(names)) < len(names):
        raise ValueError(f"{path}: {name} has two fields of one name")
    if any(field.listed == "rest" for field in fields[:-1]):
        raise ValueError(f"{path}: {name} has a list to the record's end that is not its last field")
    if any(field.as_many_as and field.as_many_as not in names for field in fields):
        raise ValueError(f"{path}: {name} has a list that must be as long as none of its fields")
    return Form(name, entry["c"], entry["meaning"], fields, entry.get("unequal", ""))


def load_traces(path: Path) -> Traces:
    """The file's forms and calls. Raises ValueError where a form or a code contradicts another."""
    spec: dict[str, Any] = YAML(typ="safe").load(path)
    calls = []
    for form, entry in spec["forms"].items():
        calls += [Call(name, code, name, form, True, "") for name, code in entry.get("calls", {}).items()]
        others = entry.get("records", {}).items()
        calls += [Call(name, other["code"], other["c"], form, False, other["meaning"]) for name, other in others]
    calls.sort(key=lambda call: call.code)
    codes = [call.code for call in calls]
    if len(set(codes)) < len(codes) or not all(0 < code < 256 for code in codes):
        raise ValueError(f"{path}: codes are bytes other than 0, each of one call")
    flags = {
        name: tuple(Flag(value["name"], value["c"], 1 << bit, value["meaning"]) for bit, value in enumerate(entry["values"]))
        for name, entry in spec["flags"].items()
    }
    traces = Traces(spec, (), (), tuple(calls), flags)
    if any(other.code - call.code != traces.nonblocking for call, other in traces.persistent if call.form == "collective"):
        raise ValueError(f"{path}: the codes of nonblocking collectives lie {traces.nonblocking} behind those of the blocking ones")
    times = tuple(_field(path, "times", item, spec) for item in spec["times"])
    return replace(traces, times=times, forms=tuple(_form(path, name, entry, spec) for name, entry in spec["forms"].items()))
