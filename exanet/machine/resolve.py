# SPDX-License-Identifier: Apache-2.0
"""Resolves a description to the numbers that the simulator wants, and leads from a key of those back to the key of the
file.

A constant `mailbox: 20 ns` becomes `mailbox_ps`: the suffix is the base unit of its dimension, so a constant needs no
line here. Only what becomes another quantity (a clock's period, the time of a word) is in a list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from exanet import units
from exanet.machine.constant import Constant, dimension_of
from exanet.machine.devices import Hpu
from exanet.machine.schema import (
    Gateway,
    Link,
    MachineFile,
    NetworkInterface,
    Router,
    Topology,
    link_kinds,
    other_routes,
    queue_actions,
    topology_needs,
    topology_of,
)

# By section and key: the resolved key, and what it is.
_DERIVED: dict[tuple[type[BaseModel], str], tuple[str, Callable[[Any], int]]] = {
    (Router, "clock"): ("cycle_ps", lambda router: 10**12 // router.clock.value),
    (NetworkInterface, "clock"): ("clock_ps", lambda ni: 10**12 // ni.clock.value if ni.clock.value else 0),
    (Hpu, "clock"): ("cycle_ps", lambda hpu: 10**12 // hpu.clock.value),
    (Link, "rate"): ("word_time_ps", lambda link: int(Fraction(link.word.value * 10**12, link.rate.value))),
    (Link, "pause_every"): ("pause_every", lambda link: link.pause_every.value),
}
_UNRESOLVED = {(Router, "kind")}  # an input-queued router has a section 'switch'


def resolve(model: MachineFile) -> dict[str, Any]:
    """The description as the simulator takes it: plain integers, times in picoseconds, the unit in each key's
    suffix."""
    router = _section(model.router)
    if model.ni is not None and model.ni.congestion_control is not None and (actions := queue_actions(model.ni.congestion_control)):
        router.setdefault("queue_action", actions[0])
    if other_routes(model):
        router["virtual_channels"] = max(router["virtual_channels"], topology_needs(model).virtual_channels)
    kinds = link_kinds(model)
    power = {} if model.power is None else {"power": _power(model.power, kinds)}
    gpu = {} if model.gpu is None else {"gpu": _section(model.gpu)}
    hpu = {} if model.hpu is None else {"hpu": _section(model.hpu)}
    cores = {} if model.hardware is None else {"cores_per_node": model.hardware.cores_per_node.value}
    return {
        "name": model.name,
        **cores,
        "topology": topology_of(model),
        "router": router,
        "links": [{"name": name, **_section(model.links[name])} for name in kinds],
        **({} if model.ni is None else {"ni": _section(model.ni) | gpu | hpu}),
        **power,
    }


def gateways(gateway: Gateway) -> dict[str, Any]:
    """The costs of gateways between two networks, as the simulator takes them."""
    return {key: value for key, value in _section(gateway).items() if key not in ("network", "nodes", "names")}


def storages(model: MachineFile) -> list[dict[str, Any]]:
    """The storages that the file describes, as the simulator takes them."""
    return [{"name": name, **_section(storage)} for name, storage in model.storage.items()]


def with_channels(router: Mapping[str, Any], channels: int) -> dict[str, Any]:
    """A resolved router with so many virtual channels, the new ones with FIFOs of their own: the others keep what they
    have."""
    own = router["virtual_channels"]
    shares = own * (router["switch"]["classes"] if router.get("switch") else 1)
    out = {**router, "virtual_channels": channels}
    if channels != own and "header_fifo_words" in router:
        out["intra_header_fifo_words"] = router["header_fifo_words"]
    for key in ("inter_fifo_words", "header_fifo_words"):
        if key in router:
            out[key] = router[key] + router[key] // shares * (shares // own) * (channels - own)
    return out


def _section(part: BaseModel) -> dict[str, Any]:
    """A section's keys, resolved; without what is not said, and what is derived last."""
    out: dict[str, Any] = {}
    derived: dict[str, Any] = {}
    for key in type(part).model_fields:
        child = getattr(part, key)
        if child is None or (type(part), key) in _UNRESOLVED:
            continue
        if (type(part), key) in _DERIVED:
            name, value = _DERIVED[type(part), key]
            derived[name] = value(part)
        elif isinstance(child, Constant):
            out[resolved_key(type(part), key)] = child.value
        else:
            out[key] = _section(child) if isinstance(child, BaseModel) else child
    return out | derived


def resolved_key(section: type[BaseModel], key: str) -> str:
    """Name of a file's key in the resolved description."""
    if (section, key) in _DERIVED:
        return _DERIVED[section, key][0]
    if (section, key) == (Topology, "file"):
        return "graph"
    kind = _inner(section.model_fields[key].annotation)
    dimension = dimension_of(kind) if isinstance(kind, type) and issubclass(kind, Constant) else None
    return f"{key}_{dimension.base}" if dimension else key


def _inner(annotation: Any) -> Any:
    """The model in `annotation`: of an optional one, or of a list's or mapping's items."""
    models = [arg for arg in get_args(annotation) if isinstance(arg, type) and issubclass(arg, BaseModel)]
    return models[0] if models else annotation


def described_path(path: str) -> tuple[str, ...]:
    """The keys that lead to what the file says of the resolved key at `path`, e.g. `links.link.word_time_ps`:
    `("links", "link", "rate")`.

    Ends where the file has nothing of that name.
    """
    if path == "topology.link_kinds":
        return ("links",)
    path = path.removeprefix("ni.") if path.startswith(("ni.gpu", "ni.hpu")) else path
    if path.startswith(_OF_GATEWAYS):
        return _gateway_path(path)
    here: Any = MachineFile
    found: list[str] = []
    items = False
    for step in path.split(".") if path else ():
        if items:  # named by whoever wrote the file
            found.append(step)
            items = False
            continue
        if not (isinstance(here, type) and issubclass(here, BaseModel)):
            break
        key = next((key for key in here.model_fields if resolved_key(here, key) == step), None)
        if key is None:
            break
        annotation = here.model_fields[key].annotation
        found.append(key)
        items = get_origin(annotation) is dict
        here = _inner(annotation)
    return tuple(found)


_OF_GATEWAYS = ("networks", "topology.networks", "topology.network_names", "topology.gateways", "ni.networks", "ni.gateway", "gateway")


def _gateway_path(path: str) -> tuple[str, ...]:
    """The same of a key of two networks that gateways join."""
    last = path.rpartition(".")[2]
    own = {"network_names": "names", "gateways": "nodes"}
    costs = {resolved_key(Gateway, key): key for key in Gateway.model_fields}
    key = own.get(last) or (costs.get(last) if path.startswith(("ni.gateway.", "gateway.")) else None)
    return ("gateway", key or "network")


def _power(power: Any, kinds: Sequence[str]) -> dict[str, Any]:
    """The section `power` of a machine file as the simulator's table: whole numbers, 0 where the file says nothing."""

    def figures(part: Any) -> dict[str, int]:
        given = {name: getattr(part, name, None) for name in ("idle", "packet", "bit")}
        values = {name: 0 if constant is None else constant.value for name, constant in given.items()}
        return {f"idle_{units.POWER.base}": values["idle"], f"packet_{units.ENERGY.base}": values["packet"],
                f"bit_{units.ENERGY_PER_BIT.base}": values["bit"]}  # fmt: skip

    def of_link(link: Any) -> dict[str, int]:
        asleep = getattr(link, "asleep", None)
        return figures(link) | ({} if asleep is None else {f"asleep_{units.POWER.base}": asleep.value})

    return {"router": figures(power.router), "links": [of_link(power.links.get(kind)) for kind in kinds], "ni": figures(power.ni)}
