# SPDX-License-Identifier: Apache-2.0
"""Machine descriptions: found, read, merged with what they extend, checked, and resolved to the numbers that the simulator wants.

A machine is a YAML file. `extends: NAME` starts from another one and lays the file's keys over it, mapping by mapping; lists and
constants (mappings with a `value`) are replaced whole, and a key set to null is taken out. All problems of a file are collected before any is reported, each with the place
of the offending text, even when that text stands in the extended file.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from exanet import located
from exanet.errors import InputError
from exanet.located import Located, Mark
from exanet.machine_schema import LINK_KINDS, Constant, Link, MachineFile, Package, dimension_of

_MAX_NODES = 1 << 22  # the node field of the global address has 22 bits
_QFDB_NODES = 4
_PACKET_LIMIT = 256  # bytes; the user library's largest packetizer message on any machine (EXANET_PACKET_MAX)
_LINE_WORD_LIMITS = (8, 4096)  # bits


@dataclass(frozen=True)
class Machine:
    """A checked machine description."""

    file: Path
    model: MachineFile
    bases: tuple[str, ...] = ()  # what it extends, nearest first

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def description(self) -> str:
        return self.model.description

    @property
    def nodes(self) -> int:
        return _nodes(self.model)

    @property
    def cores_per_node(self) -> int:
        return self.model.hardware.cores_per_node.value

    @property
    def cores(self) -> int:
        return self.nodes * self.cores_per_node

    @property
    def memory_per_node_bytes(self) -> int:
        return self.model.hardware.memory_per_node.value

    def resolve(self) -> dict[str, Any]:
        """The description as the simulator takes it: plain integers, times in picoseconds, the unit in each key's suffix."""
        model = self.model
        router = _resolved(model.router)
        router["cycle_ps"] = 10**12 // router.pop("clock_hz")
        links = [_resolve_link(name, model.links[name]) for name in LINK_KINDS[model.topology.kind]]
        return {
            "name": model.name,
            "cores_per_node": self.cores_per_node,
            "topology": {"kind": model.topology.kind, "shape": list(model.topology.shape.value)},
            "router": router,
            "links": links,
            "ni": _resolved(model.ni),
        }

    def link_rate(self, name: str) -> Fraction:
        """Bits per second that a link of this kind carries, pauses taken off."""
        link = self.model.links[name]
        pause = link.pause_every.value
        return Fraction(link.rate.value) * (Fraction(pause, pause + 1) if pause else 1)

    def constants(self) -> Iterator[tuple[str, Constant[Any]]]:
        """Every constant of the description with its dotted name."""
        return _constants(self.model, "")


def _resolve_link(name: str, link: Link) -> dict[str, Any]:
    plain = _resolved(link)
    word_time = Fraction(plain["word_bits"] * 10**12, plain.pop("rate_bit_per_s"))
    pause = plain.pop("pause_every_words")
    return {"name": name, **plain, "word_time_ps": int(word_time), "pause_every": pause}


def _resolved(part: BaseModel) -> dict[str, Any]:
    """A section's constants with their base unit as the suffix of the key."""
    out: dict[str, Any] = {}
    for key in type(part).model_fields:
        constant = getattr(part, key)
        dimension = dimension_of(type(constant))
        out[f"{key}_{dimension.base}" if dimension else key] = constant.value
    return out


def _constants(part: Any, prefix: str) -> Iterator[tuple[str, Constant[Any]]]:
    if isinstance(part, Constant):
        yield prefix, part
    elif isinstance(part, BaseModel):
        for key in type(part).model_fields:
            yield from _constants(getattr(part, key), f"{prefix}.{key}" if prefix else key)
    elif isinstance(part, dict):
        for key, child in part.items():
            yield from _constants(child, f"{prefix}.{key}")
    elif isinstance(part, list):
        for child in part:
            yield from _constants(child, f"{prefix}.{child.level}" if isinstance(child, Package) else prefix)


def _nodes(model: MachineFile) -> int:
    groups = math.prod(model.topology.shape.value)
    return groups * _QFDB_NODES if model.topology.kind == "qfdb-torus" else groups


# -- finding ---------------------------------------------------------------------------------------------------------------------------


def _folders() -> list[Path]:
    here = Path(__file__).resolve().parent
    return [folder for folder in (here / "machines", here.parent / "machines") if folder.is_dir()]


def shipped() -> dict[str, Path]:
    """The machines that come with the package: name to file, in alphabetical order."""
    found: dict[str, Path] = {}
    for folder in reversed(_folders()):
        found |= {file.stem: file for file in folder.glob("*.yaml")}
    return dict(sorted(found.items()))


def names() -> list[str]:
    """Names of the machines that come with the package."""
    return list(shipped())


def load(name_or_path: str | Path) -> Machine:
    """The machine of that name, or described by that file (anything with a slash, or ending in .yaml or .yml).

    Raises:
        InputError: no such machine, or its description has errors (all of them are listed).
    """
    file, shown = _locate(name_or_path, None)
    tree, bases = _read_with_bases(file, shown, [])
    return Machine(file, _check(tree), tuple(bases))


def _locate(name: str | Path, relative_to: Path | None) -> tuple[Path, str]:
    text = str(name)
    if isinstance(name, Path) or os.sep in text or text.endswith((".yaml", ".yml")):
        path = Path(text).expanduser()
        if relative_to is not None and not path.is_absolute():
            path = relative_to / path
        return path, str(path)
    known = shipped()
    if text in known:
        return known[text], _short(known[text])
    close = difflib.get_close_matches(text, known, 1, 0.5)
    hint = f"did you mean '{close[0]}'? " if close else ""
    raise InputError(f"there is no machine '{text}': {hint}Machines: {', '.join(known) or 'none'}; a machine file of your own is given by its path")


def _short(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def _read_with_bases(file: Path, shown: str, seen: list[Path]) -> tuple[Located, list[str]]:
    if "\0" in shown:
        raise InputError("a file name cannot hold a zero byte")
    tree = located.read(file, shown)
    if not isinstance(tree.value, dict):
        raise InputError(tree.mark.error("a machine description is a mapping of keys to values, e.g. 'name: my-machine'"))
    base = tree.value.pop("extends", None)
    if base is None:
        return tree, []
    if not isinstance(base.value, str) or not base.value:
        raise InputError(base.mark.error("'extends' takes the name of a machine or the path of a machine file"))
    if file.resolve() in seen or len(seen) > 20:
        raise InputError(base.mark.error(f"'{base.value}' extends, in the end, itself; break the circle"))
    try:
        path, name = _locate(base.value, file.parent)
        below, bases = _read_with_bases(path, name, [*seen, file.resolve()])
    except InputError as error:
        raise InputError([base.mark.error(f"cannot extend '{base.value}'"), *error.messages]) from None
    return _overlay(below, tree), [base.value, *bases]


def _overlay(below: Located, above: Located) -> Located:
    """`above` laid over `below`. A constant is replaced whole, or its source would speak of another value."""
    if not isinstance(below.value, dict) or not isinstance(above.value, dict) or "value" in above.value or "value" in below.value:
        return above
    merged = dict(below.value)
    for key, child in above.value.items():
        if child.value is None and key in merged:
            del merged[key]
        else:
            merged[key] = _overlay(merged[key], child) if key in merged else child
    return Located(merged, above.mark, below.keys | above.keys)


# -- checking --------------------------------------------------------------------------------------------------------------------------


def _check(tree: Located) -> MachineFile:
    try:
        model = MachineFile.model_validate(tree.plain(), strict=False)
    except ValidationError as error:
        problems = {_problem(tree, detail) for detail in error.errors(include_url=False, include_context=True)}
        raise InputError([mark.error(text) for mark, text in sorted(problems)]) from None
    problems = {(tree.find(path), text) for path, text in _contradictions(model)}
    if problems:
        raise InputError([mark.error(text) for mark, text in sorted(problems)])
    return model


def _problem(tree: Located, detail: Any) -> tuple[Mark, str]:
    path: tuple[str | int, ...] = detail["loc"]
    kind, last = detail["type"], str(path[-1]) if path else ""
    if kind == "extra_forbidden":
        return tree.find(path, key=True), _unknown(last, path[:-1])
    if kind == "missing":
        return tree.find(path[:-1], key=True), f"'{last}' is missing{_inside(path[:-1])}; {_how(path)}"
    mark = tree.find(path)
    if kind in ("model_type", "model_attributes_type"):
        return mark, f"'{_owner(path)}' takes a mapping; {_how(path)}" if path else "a machine description is a mapping of keys to values"
    if kind == "literal_error":
        return mark, f"'{last}' must be one of {detail['ctx']['expected'].replace(' or ', ', ')}"
    if kind == "exanet":
        return mark, f"'{_owner(path)}': {detail['msg']}"
    text = str(detail["msg"])
    if kind == "string_pattern_mismatch":
        text = "use lower-case letters, digits, dots, dashes and underscores, at most 63, starting with a letter or digit"
    return mark, f"'{_owner(path)}': {text[0].lower() + text[1:]}"


def _owner(path: tuple[str | int, ...]) -> str:
    return ".".join(str(step) for step in path if step != "value")


def _inside(path: tuple[str | int, ...]) -> str:
    return f" in '{_owner(path)}'" if path else ""


def _unknown(key: str, parent: tuple[str | int, ...]) -> str:
    owner = _type_at(parent)
    known = list(owner.model_fields) if owner else []
    if not parent:
        known.append("extends")
    close = difflib.get_close_matches(key, known, 1, 0.6)
    shown = key if len(key) <= 60 else key[:57] + "..."
    advice = f"did you mean '{close[0]}'?" if close else f"known keys: {', '.join(known)}"
    return f"unknown key '{shown}'{_inside(parent)}; {advice}"


def _how(path: tuple[str | int, ...]) -> str:
    """How to write what `path` names."""
    kind = _type_at(path)
    if kind is not None and issubclass(kind, Constant):
        dimension = dimension_of(kind)
        example = dimension.example if dimension else "[4, 4, 2]" if path[-1] == "shape" else "2"
        return f"write {path[-1]}: {{value: {example}, source: where it comes from, kind: published|derived|calibrated|chosen}}"
    if kind is not None:
        return f"give it the keys {', '.join(kind.model_fields)}"
    return "every constant has a value, a source and a kind" if path[-1] in ("value", "source", "kind") else "add it"


def _type_at(path: tuple[str | int, ...]) -> type[BaseModel] | None:
    """The model that describes the value at `path`, if a model does."""
    here: Any = MachineFile
    for step in path:
        if get_origin(here) in (dict, list):
            here = get_args(here)[-1]
        elif isinstance(here, type) and issubclass(here, BaseModel) and step in here.model_fields:
            here = here.model_fields[str(step)].annotation
            options = [arg for arg in get_args(here) if isinstance(arg, type) and issubclass(arg, BaseModel)]
            if get_origin(here) not in (dict, list) and options:
                here = options[0]
        else:
            return None
    return here if isinstance(here, type) and issubclass(here, BaseModel) else None


def _contradictions(model: MachineFile) -> Iterator[tuple[tuple[str, ...], str]]:
    """What no single key shows: each as the path to blame and a message."""
    yield from _topology_problems(model)
    router, ni = model.router, model.ni
    if router.clock.value == 0 or 10**12 % router.clock.value:
        yield ("router", "clock"), "the clock's period is not a whole number of picoseconds; choose a frequency whose period is, e.g. 156.25 MHz"
    for path, bits in ((("router", "word"), router.word.value), *((("links", name, "word"), link.word.value) for name, link in model.links.items())):
        if bits % 8 or not _LINE_WORD_LIMITS[0] <= bits <= _LINE_WORD_LIMITS[1]:
            yield path, "a word is a whole number of bytes, from 8 bit to 4096 bit"
    for name, link in model.links.items():
        if link.rate.value == 0 or (link.word.value * 10**12) % link.rate.value:
            yield ("links", name, "rate"), f"a word of {link.word.value} bit takes no whole number of picoseconds at this rate; choose a rate or word that does"
    if not 1 <= ni.packet_max.value <= min(_PACKET_LIMIT, router.max_payload.value):
        yield ("ni", "packet_max"), f"must be from 1 B to {min(_PACKET_LIMIT, router.max_payload.value)} B (the library's and the router's largest packet)"
    if ni.envelope.value + ni.eager_max.value > ni.packet_max.value:
        yield ("ni", "eager_max"), f"envelope and eager payload together exceed packet_max ({ni.packet_max.value} B)"
    if not 16 <= router.max_payload.value <= 4096:
        yield ("router", "max_payload"), "must be from 16 B to 4096 B"
    for name, limit in (("intra_fifo", router.intra_fifo), ("inter_fifo", router.inter_fifo)):
        if router.word.value and limit.value * router.word.value < router.max_payload.value * 8:
            yield ("router", name), "must hold at least one packet of max_payload (virtual cut-through)"
    if router.header_fifo.value < router.header.value + router.footer.value:
        yield ("router", "header_fifo"), "must hold at least one header and footer"
    if router.virtual_channels.value != 2:
        yield ("router", "virtual_channels"), "must be 2: routing on a torus is free of deadlock with the two that the APErouter has"
    if not 1 <= router.intra_ports.value <= 8:
        yield ("router", "intra_ports"), "must be from 1 to 8"
    if ni.dma_block.value < router.max_payload.value or ni.dma_block.value > 1 << 24:
        yield ("ni", "dma_block"), "must be from one packet's max_payload to 16 MiB"
    if not 1 <= ni.dma_window.value <= 65536:
        yield ("ni", "dma_window"), "must be from 1 to 65536 blocks"
    if ni.test_step.value == 0:
        yield ("ni", "test_step"), "must be above zero, or a program that polls would stop simulated time"
    yield from _too_long(model)


def _topology_problems(model: MachineFile) -> Iterator[tuple[tuple[str, ...], str]]:
    topology = model.topology
    shape = topology.shape.value
    if topology.kind == "qfdb-torus" and len(shape) != 3:
        yield ("topology", "shape", "value"), f"a qfdb-torus has 3 dimensions, e.g. [4, 4, 2]; this shape has {len(shape)}"
    if _nodes(model) > _MAX_NODES:
        yield ("topology", "shape", "value"), f"{_nodes(model)} nodes; the global address reaches {_MAX_NODES}"
    cores = model.hardware.cores_per_node.value
    if not 1 <= cores <= 4096:
        yield ("hardware", "cores_per_node"), "must be from 1 to 4096"
    wanted = LINK_KINDS[topology.kind]
    for name in model.links:
        if name not in wanted:
            yield ("links", name), f"a {topology.kind} has no links of the kind '{name}'; its links are {', '.join(wanted)}"
    for name in wanted:
        if name not in model.links:
            yield ("links",), f"a {topology.kind} needs links of the kind '{name}'; add it"


def _too_long(model: MachineFile) -> Iterator[tuple[tuple[str, ...], str]]:
    """Costs beyond a second and sizes beyond 32 bits are slips of the unit, and would overflow the simulator's arithmetic."""
    for name, constant in _constants(model, ""):
        if not name.startswith(("router.", "links.", "ni.")) or not isinstance(constant.value, int):
            continue
        dimension = dimension_of(type(constant))
        base = dimension.base if dimension else ""
        if base == "ps" and constant.value > 10**12:
            yield tuple(name.split(".")), "is longer than 1 s; is its unit right?"
        elif base in ("bytes", "bits", "words", "cycles", "blocks") and constant.value >= 1 << 31:
            yield tuple(name.split(".")), f"is {constant.value} {base}; at most {(1 << 31) - 1}; is its unit right?"
