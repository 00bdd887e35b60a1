# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/machine-files.md from the schema: `python -m exanet.machine.reference >
docs/reference/machine-files.md`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel

from exanet.machine.constant import DIMENSIONS, Constant, OneOf, dimension_of
from exanet.machine.devices import Gpu, Hpu, Storage
from exanet.machine.schema import (
    LINK_KINDS,
    Gateway,
    Hardware,
    Link,
    LinkPower,
    MachineFile,
    NetworkInterface,
    Package,
    PartPower,
    Power,
    Router,
    Switch,
    Topology,
)

_INTRODUCTION = """<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Written by `python -m exanet.machine.reference`; edit exanet/machine/schema.py instead. -->
# Machine files

A machine is a YAML 1.2 file. `exanet run -m FILE` takes it by its path, and `exanet machines FILE` describes it.
`extends: NAME` (or the path of a file beside it) starts from another machine, so the file contains only what differs. A
key set to `null` is removed.

A constant is a value, or a mapping of its value, its source and its kind:

```yaml
extends: exanest
name: my-machine
description: The prototype with links four times as fast
links:
  inter-qfdb:
    rate: 40 Gb/s
    latency: {value: 100 ns, source: "data sheet, table 3", kind: published}
```

`kind` is `published` (a source states it), `derived` (computed from published facts), `calibrated` (fixed by a
published measurement, see docs/calibration.md) or `chosen` (not published; our choice). A value alone is `chosen`, by
`the user`.

A network that is only simulated (`sim`, `sweep`, `check`) needs neither `hardware` nor `ni`; programs (`exanet run`)
and `--nic exanet` do. To begin, `exanet machines new NAME` writes NAME.yaml, a network with a comment on each key.

A quantity carries its unit; a bare number other than 0 is an error. `b` is bit, `B` is byte, `k` is 1000, `Ki` is 1024.
Values are exact: a time has to be a whole number of picoseconds. A time may be given in cycles of `router.clock`, and a
number of cycles as a time, if the result is whole: `latency: 40 ns` or `latency: 20 cycles`. The examples here and in
messages show how to write a value. They are not defaults; find a machine's values in its documents.

Ranks of one node reach each other through the node's interface, whose router returns their packets, unless the machine
says `ni.shared_memory_rate` and `ni.shared_memory_latency`. No machine here says them: whether the prototype's MPI copied
through memory is not published, so the default is ours. A message one way (`--compute off`, MPICH, a ping-pong's half),
and a copy through memory with 100 ns and 32 Gb/s for comparison:

| bytes | `exanest`, one node | neighbours | `exanest-ni`, one node | neighbours | `exanest` with memory, one node |
|---|---|---|---|---|---|
| 0 | 0.93 µs | 1.26 µs | 0.92 µs | 1.25 µs | 0.87 µs |
| 64 | 2.65 µs | 3.62 µs | 2.10 µs | 3.08 µs | 1.71 µs |
| 4096 | 4.45 µs | 7.54 µs | 4.34 µs | 7.22 µs | 2.72 µs |
| 1 MiB | 477.7 µs | 1030.8 µs | 448.2 µs | 949.7 µs | 263.8 µs |

| quantity | example | units |
|---|---|---|
"""


def text() -> str:
    """The page."""
    lines = [_INTRODUCTION.rstrip("\n")]
    for dimension in DIMENSIONS.values():
        known = ", ".join(f"`{unit}`" for unit in dimension.units if unit != "\u03bcs")
        lines.append(f"| {dimension.name} | `{dimension.example}` | {known} |")
    lines += ["", "## The file", "", *_table(MachineFile)]
    sections: tuple[tuple[str, type[BaseModel]], ...] = (
        ("hardware", Hardware),
        ("packaging (a list)", Package),
        ("topology", Topology),
        ("router", Router),
        ("router.switch", Switch),
        ("links.KIND", Link),
        ("ni", NetworkInterface),
        ("gateway", Gateway),
        ("gpu", Gpu),
        ("hpu", Hpu),
        ("storage.NAME", Storage),
        ("power", Power),
        ("power.router, power.ni", PartPower),
        ("power.links.KIND", LinkPower),
    )
    for title, model in sections:
        lines += ["", f"## {title}", "", (model.__doc__ or "").strip(), "", *_table(model)]
    kinds = "; ".join(f"{kind}: {', '.join(f'`{name}`' for name in names)}" for kind, names in LINK_KINDS.items())
    lines += ["", f"Kinds of links by topology: {kinds}."]
    return "\n".join(lines) + "\n"


def _table(model: type[BaseModel]) -> list[str]:
    lines = ["| key | takes | meaning |", "|---|---|---|"]
    for key, field in model.model_fields.items():
        meaning = field.description or f"{(_inner(field.annotation).__doc__ or '').strip()} See below."
        needed = "" if field.is_required() else " (optional)"
        lines.append(f"| `{key}` | {_takes(field.rebuild_annotation())}{needed} | {' '.join(meaning.split())} |")
    return lines


def _inner(annotation: Any) -> Any:
    options = [arg for arg in get_args(annotation) if isinstance(arg, type) and issubclass(arg, BaseModel)]
    return options[0] if options else annotation


def _takes(annotation: Any) -> str:
    inner = _inner(annotation)
    origin = get_origin(annotation)
    if isinstance(inner, type) and issubclass(inner, Constant):
        dimension = dimension_of(inner)
        return dimension.name if dimension else "list of whole numbers" if "list" in str(inner) else "whole number"
    if isinstance(inner, type) and issubclass(inner, BaseModel):
        return {dict: "mapping of mappings", list: "list of mappings"}.get(origin, "mapping")
    for choice in (annotation, *get_args(annotation)):
        names = _names(choice)
        if names:
            return " \\| ".join(f"`{name}`" for name in names)
        if get_origin(choice) is list:
            return "list of whole numbers" if int in get_args(get_args(choice)[0]) else "list of texts"
    return "text"


def _names(annotation: Any) -> tuple[str, ...]:
    """The names of which a value is one; none if it may be another."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    marks = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return next((mark.names for mark in marks if isinstance(mark, OneOf)), ())


if __name__ == "__main__":
    print(text(), end="")
