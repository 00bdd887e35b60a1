# SPDX-License-Identifier: Apache-2.0
"""Machine descriptions: found, read, merged with what they extend, checked, and resolved to the numbers that the
simulator wants.

A machine is a YAML file. `extends: NAME` starts from another one and lays the file's keys over it, mapping by mapping;
lists and constants (mappings with a `value`) are replaced whole, and a key set to null is taken out. All problems of a
description are collected before any is reported, each with the place of the offending text, even when that text stands
in the extended file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from exanet.errors import InputError
from exanet.machine import balance, bridge, located
from exanet.machine.check import check, is_constant, keys_at, may_stand_alone
from exanet.machine.constant import Constant
from exanet.machine.finding import folders, is_path, shipped
from exanet.machine.located import Located, Mark
from exanet.machine.resolve import gateways, resolve, storages, with_channels
from exanet.machine.schema import LINK_KINDS, MachineFile, constants, node_count, rails_of
from exanet.near import nearest


@dataclass(frozen=True)
class Machine:
    """A checked machine description."""

    file: Path
    model: MachineFile
    bases: tuple[str, ...] = ()  # what it extends, nearest first
    faults: Mapping[str, Any] | None = None  # what fails in a run, as the simulator takes it (exanet.faults)
    faults_file: str = ""  # that says so
    faults_channels: int = 0  # virtual channels that routes around what fails need
    other: Machine | None = None  # whose network gateways join to this one's
    files: tuple[Path, ...] = ()  # that it was read from, those that it extends last

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def description(self) -> str:
        return self.model.description

    @property
    def nodes(self) -> int:
        return node_count(self.model) + (0 if self.other is None else self.other.nodes)

    @property
    def gateway_nodes(self) -> frozenset[int]:
        """Those on which no rank runs."""
        return bridge.gateway_nodes(self.model.gateway, node_count(self.model)) if self.model.gateway else frozenset()

    def halves(self) -> list[list[int]]:
        """The nodes of each network on which ranks may run."""
        ends = (0, node_count(self.model), self.nodes)
        usable = [[node for node in range(*own) if node not in self.gateway_nodes] for own in pairwise(ends)]
        return usable if self.other is not None else usable[:1]

    def one_network(self, what: str) -> None:
        """Raises InputError on a machine of two networks, which `what` does not take."""
        if self.other is not None:
            raise InputError(
                f"{what}: '{self.name}' is two networks that gateways join, which it does not take; take one of them, "
                f"e.g. -m {self.model.gateway.network if self.model.gateway else ''}"
            )

    @property
    def cores(self) -> int | None:
        """None where the file says nothing of hardware."""
        return None if self.model.hardware is None else self.nodes * self.model.hardware.cores_per_node.value

    @property
    def memory_bytes(self) -> int | None:
        """As cores."""
        if self.model.hardware is None:
            return None
        own = node_count(self.model) * self.model.hardware.memory_per_node.value
        return own + ((self.other.memory_bytes or 0) if self.other is not None else 0)

    def cores_for_programs(self) -> int:
        """Cores of a node. Raises InputError where the file describes a network alone, on which no program can run."""
        missing = [f"'{key}'" for key in ("hardware", "ni") if getattr(self.model, key) is None]
        if self.model.hardware is None or missing:
            raise InputError(
                Mark(str(self.file)).error(
                    f"this machine is a network alone: to run programs it needs {' and '.join(missing)}; "
                    "write that, or take it from a machine that has it, e.g. extends: exanest"
                )
            )
        return self.model.hardware.cores_per_node.value

    @property
    def label(self) -> str:
        """Rails, routing and failures, to stand behind the name, e.g. `, 2 rails, valiant routing, without
        links:3:1`."""
        topology = self.model.topology
        routed = "" if topology.routing in (None, "minimal") else f", {topology.routing} routing"
        failed = topology.failed or []
        without = ", ".join(failed) if len(failed) <= 4 else f"{len(failed)} nodes and links"
        several = f", {rails} rails" if (rails := rails_of(self.model)) > 1 else ""
        failing = f", faults of {Path(self.faults_file).name}" if self.faults_file else ""
        return several + routed + (f", without {without}" if failed else "") + failing

    def identity(self) -> dict[str, Any]:
        """The name and the label as data."""
        topology = self.model.topology
        several = {"rails": rails} if (rails := rails_of(self.model)) > 1 else {}
        return {
            "machine_name": self.name,
            **several,
            "routing": topology.routing or "minimal",
            "failed": list(topology.failed or []),
            **({"faults": self.faults_file} if self.faults_file else {}),
        }

    def resolve(self) -> dict[str, Any]:
        """The description as the simulator takes it: plain integers, times in picoseconds, the unit in each key's
        suffix."""
        resolved = resolve(self.model)
        if self.other is not None and self.model.gateway is not None:
            return bridge.joined(resolved, resolve(self.other.model), self.model.gateway, gateways(self.model.gateway))
        if self.faults is not None:
            router = with_channels(resolved["router"], max(resolved["router"]["virtual_channels"], self.faults_channels))
            resolved |= {"faults": dict(self.faults), "router": router}
        return resolved

    def storages(self) -> list[dict[str, Any]]:
        """The storages of its programs' files, as the simulator takes them."""
        return storages(self.model)

    def link_rate(self, name: str) -> Fraction:
        """Bits per second that a link of this kind carries, pauses taken off."""
        link = self.model.links[name]
        pause = link.pause_every.value
        return Fraction(link.rate.value) * (Fraction(pause, pause + 1) if pause else 1)

    def links(self) -> dict[str, tuple[int, Fraction]]:
        """The kinds of links: bits per second of each, without and with pauses. Those of two networks have its name
        before theirs."""
        own = {name: (link.rate.value, self.link_rate(name)) for name, link in self.model.links.items()}
        if self.other is None or self.model.gateway is None:
            return own
        both = zip(bridge.names(self.model.gateway), (own, self.other.links()), strict=True)
        passing = self.model.gateway.rate.value
        found = {f"{name}:{kind}": rates for name, kinds in both for kind, rates in kinds.items()}
        return found | {"gateway": (passing, Fraction(passing))}

    def slow_router(self) -> str | None:
        """That the router is slower than the links, as a sentence; None where it is not."""
        own = balance.slow_router(self.model.links, resolve(self.model))
        return own if own is not None or self.other is None else self.other.slow_router()

    def constants(self) -> Iterator[tuple[str, Constant[Any]]]:
        """Every constant of the description with its dotted name."""
        return constants(self.model)


# -- finding -----------------------------------------------------------------------------------------------------------


def names() -> list[str]:
    """Names of the machines that come with the package."""
    return list(shipped())


def like(tree: Located) -> str:
    """A machine that comes with the package, of the same kind of topology where there is one."""
    return next((name for name in shipped() if name.startswith(f"{_kind_of(tree)}-")), "exanest")


def _kind_of(tree: Located) -> str:
    """Of the topology; "" where the file says none."""
    topology = tree.value.get("topology")
    kind = topology.value.get("kind") if topology is not None and isinstance(topology.value, dict) else None
    return str(kind.value) if kind is not None else ""


def _with_kinds(tree: Located) -> Located:
    """`tree` in which each kind of links beyond the topology's own has the keys of the first of these where it says
    none of its own."""
    links = tree.value.get("links")
    own = LINK_KINDS.get(_kind_of(tree), ())
    first = links.value.get(own[0]) if links is not None and isinstance(links.value, dict) and own else None
    if links is None or first is None:
        return tree
    whole = {name: link if name in own else _overlay(first, link) for name, link in links.value.items()}
    return Located(tree.value | {"links": Located(whole, links.mark, links.keys)}, tree.mark, tree.keys)


def load(name_or_path: str | Path, changes: Mapping[str, Located] | None = None, *, packets: bool = True) -> Machine:
    """The machine of that name, or described by that file (anything with a slash, or ending in .yaml or .yml).

    `changes` are other values for some of its constants, by dotted name, e.g. `router.inter_fifo`, or of the keys of
    its topology that are no constants, e.g. `topology.routing`. Another `topology.kind` has the machine's last kind of
    link wherever it needs one, and as many virtual channels as its routing needs.
    Without `packets` its routers may be larger than the packet level takes: for the flow level.

    Raises:
        InputError: no such machine, or its description has errors (all of them are listed).
    """
    file, shown = _locate(name_or_path, None)
    tree, bases, extends, files = _read_with_bases(file, shown, [])
    advice = f"take them from a machine like it, e.g. extends: {like(tree)}, or begin with a file that is whole: exanet machines new NAME"
    for name, value in (changes or {}).items():
        before = _kind_of(tree)
        tree = _changed(tree, name.split("."), name, value)
        if name == "topology.kind" and value.value != before:
            tree = _relinked(tree, value)
    tree = _with_kinds(tree)
    model = check(tree, packets, changes or {}, extends, advice)
    return Machine(file, model, tuple(bases), other=_other(tree, model, packets), files=tuple(files))


def _other(tree: Located, model: MachineFile, packets: bool) -> Machine | None:
    """The machine whose network gateways join to that of `model`. Raises InputError."""
    if model.gateway is None:
        return None
    mark = tree.find(("gateway", "network"))
    try:
        other = load(model.gateway.network, packets=packets)
    except InputError as error:
        raise InputError([mark.error(f"cannot join '{model.gateway.network}'"), *error.messages]) from None
    if found := [tree.find(path).error(text) for path, text in bridge.problems(model, other.model)]:
        raise InputError(found)
    return other


_PLAIN = (
    "topology.kind", "topology.order", "topology.routing", "topology.arrangement", "topology.failed", "name", "description",
    "router.arbitration", "router.vc_allocation", "router.queue_action",
    "ni.messages", "ni.transfers", "ni.reductions", "ni.congestion_control", "ni.acc_start", "ni.acc_messages", "ni.load_balancing",
    "router.switch.queues", "router.switch.arbitration", "router.switch.flow_control", "router.switch.buffer",
)  # fmt: skip


def _relinked(tree: Located, kind: Located) -> Located:
    """`tree` with the kinds of links that this kind of topology has."""
    links = tree.value.get("links")
    wanted = LINK_KINDS.get(str(kind.value), ())
    if links is None or not isinstance(links.value, dict) or not links.value or not wanted:
        return tree
    last = list(links.value.values())[-1]
    made = Located({name: links.value.get(name, last) for name in wanted}, links.mark, links.keys)
    power = tree.value.get("power")
    drawn = power.value.get("links") if power is not None and isinstance(power.value, dict) else None
    powered: dict[str, Located] = {}
    if drawn is not None and isinstance(drawn.value, dict) and drawn.value:
        last = list(drawn.value.values())[-1]
        kept = Located({name: drawn.value.get(name, last) for name in wanted}, drawn.mark, drawn.keys)
        powered = {"power": Located(power.value | {"links": kept}, power.mark, power.keys)}
    topology = tree.value["topology"]
    plain = {key: child for key, child in topology.value.items() if key not in ("order", "file", "failed")}
    return Located(
        tree.value
        | powered
        | {"links": made, "packaging": Located([], links.mark), "topology": Located(plain, topology.mark, topology.keys)},
        tree.mark,
        tree.keys,
    )


def _changed(tree: Located, path: Sequence[str], name: str, value: Located) -> Located:
    """`tree` with another value for the constant at `path`; the rest is shared with it."""
    here = tree.value if isinstance(tree.value, dict) else {}
    if name in _PLAIN and len(path) == 1:
        return Located(here | {path[0]: value}, tree.mark, tree.keys | {path[0]: value.mark})
    if not path:
        if "value" not in here and not is_constant(name.split(".")):
            raise InputError(value.mark.error(f"the machine has no constant '{name}'; `exanet machines NAME` lists its constants"))
        place = value.mark
        made = {"value": value, "source": Located("varied", place), "kind": Located("chosen", place)}
        return Located(made, place, dict.fromkeys(made, place))
    keys = name.split(".")
    absent = keys[: len(keys) - len(path) + 1]
    if path[0] not in here and not may_stand_alone(absent):
        raise InputError(value.mark.error(_without(here, absent, name)))
    inner = here.get(path[0], Located({}, value.mark))
    return Located(here | {path[0]: _changed(inner, path[1:], name, value)}, tree.mark, {path[0]: value.mark} | tree.keys)


def _without(here: Mapping[str, Located], absent: Sequence[str], name: str) -> str:
    """What to say where the machine has no key `absent`, of those in `here`, which leads to `name`."""
    known = keys_at(absent[:-1])
    if absent[-1] not in known:
        meant = nearest(absent[-1], [*here, *known])
        hint = f"did you mean '{meant}'?" if meant else f"there are {', '.join(key for key in here if key != 'value') or 'none'}"
    elif name in _PLAIN or is_constant(name.split(".")):
        hint = "write it in its file, with the keys that it needs, or take a machine that has it"
    else:
        return f"the machine has no constant '{name}'; `exanet machines NAME` lists its constants"
    return f"the machine has no '{absent[-1]}' of '{name}'; {hint}"


def _locate(name: str | Path, relative_to: Path | None) -> tuple[Path, str]:
    text = str(name)
    if isinstance(name, Path) or is_path(text):
        path = Path(text).expanduser()
        if relative_to is not None and not path.is_absolute():
            path = relative_to / path
        return path, str(path)
    known = shipped()
    if text in known:
        return known[text], _short(known[text])
    meant = nearest(text, known)
    hint = f"; did you mean '{meant}'?" if meant else "."
    if Path(text).is_file():
        hint = "; the file of that name here is not a machine file (.yaml): -m names the machine, and the program follows --."
    listed = ", ".join(known) or "none"
    shown = located.printable(text if len(text) <= 80 else text[:77] + "...")
    raise InputError(f"there is no machine '{shown}'{hint} The machines are {listed}. Give a machine file of your own by its path")


def _short(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def _read_with_bases(file: Path, shown: str, seen: list[Path]) -> tuple[Located, list[str], Mark | None, list[Path]]:
    """The tree of the file and all that it extends, their names, the place where this one says so, and the files."""
    if not nameable(shown):
        raise InputError("a file name cannot contain a zero byte or characters that UTF-8 cannot encode")
    read = _read_shipped if file.parent in folders() else located.read
    tree = read(file, located.printable(shown))
    if not isinstance(tree.value, dict):
        raise InputError(tree.mark.error("a machine description is a mapping of keys to values, e.g. 'name: my-machine'"))
    base = tree.value.get("extends")
    tree = _anchored(tree, file.parent)
    if base is None:
        return tree, [], None, [file]
    tree = Located({key: child for key, child in tree.value.items() if key != "extends"}, tree.mark, tree.keys)
    if not isinstance(base.value, str) or not base.value:
        raise InputError(base.mark.error("'extends' takes the name of a machine or the path of a machine file"))
    if file.resolve() in seen or len(seen) > 20:
        raise InputError(
            base.mark.error(f"'{base.value}' extends itself, directly or through other files; remove one 'extends' of the cycle")
        )
    try:
        path, name = _locate(base.value, file.parent)
    except InputError as error:
        raise InputError(base.mark.error(f"cannot extend '{base.value}': {error}")) from None
    try:
        below, bases, _, files = _read_with_bases(path, name, [*seen, file.resolve()])
    except InputError as error:
        raise InputError([base.mark.error(f"cannot extend '{base.value}'"), *error.messages]) from None
    return _overlay(below, tree), [base.value, *bases], base.mark, [file, *files]


def nameable(text: str) -> bool:
    """Whether a file can have that name."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


@lru_cache(maxsize=64)
def _read_shipped(file: Path, shown: str) -> Located:
    """As located.read, of a file that others extend. Its tree has several users, so nobody changes it."""
    return located.read(file, shown)


def _anchored(tree: Located, folder: Path) -> Located:
    """`tree`, in which a graph's file, and that of another network, are named from the folder of the machine file that
    names them."""
    for section, key in (("topology", "file"), ("gateway", "network")):
        part = tree.value.get(section)
        named = part.value.get(key) if part is not None and isinstance(part.value, dict) else None
        if named is None or not isinstance(named.value, str) or "\0" in named.value or (key == "network" and not is_path(named.value)):
            continue
        placed = Located(str(folder / Path(named.value).expanduser()), named.mark)
        whole = Located(part.value | {key: placed}, part.mark, part.keys)
        tree = Located(tree.value | {section: whole}, tree.mark, tree.keys)
    return tree


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
