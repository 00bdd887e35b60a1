# SPDX-License-Identifier: Apache-2.0
"""A machine of two networks that gateways join: what its description becomes, and what the two must have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exanet.machine.schema import Gateway, MachineFile, node_count, rails_of

_WORD_BITS = 64  # of what stands for a link in the place of a gateway's processor

SHARED = (
    "packet_max", "eager_max", "envelope", "ip_mtu", "ip_encapsulation", "ip_send", "ip_receive", "ip_window", "shared_memory_latency",
    "shared_memory_rate",
)  # fmt: skip
"""Keys of `ni` that both networks have alike: what both ends of a message have to agree on."""


def problems(first: MachineFile, second: MachineFile) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What does not go together, each with the key of the first one's file to blame."""
    gateway = first.gateway
    if gateway is None:
        return
    if second.gateway is not None:
        yield ("gateway", "network"), "this machine has gateways itself; name one of a single network"
        return
    yield from _nodes(gateway, first, second)
    if gateway.rate.value == 0:
        yield ("gateway", "rate"), "must be above zero, e.g. 80 Gb/s"
    if not 1 <= gateway.fragment.value < 1 << 31:
        yield ("gateway", "fragment"), "must be from 1 B to 2 GiB"
    if gateway.window is not None and gateway.window.value >= 1 << 32:
        yield ("gateway", "window"), "must be less than 2^32"
    for model, whose in ((first, "this machine's"), (second, "its")):
        path = ("topology",) if model is first else ("gateway", "network")
        if rails_of(model) > 1:
            yield path, f"gateways join networks of one rail, and {whose} endpoints have several; take 'rails' out"
        if model.topology.failed:
            yield path, f"nothing of networks that gateways join may have failed, and {whose} 'topology' says 'failed'; take it out"
    if first.ni is None or second.ni is None or first.hardware is None or second.hardware is None:
        yield ("gateway", "network"), "both networks need 'hardware' and 'ni'; write that, or take it from a machine that has it"
        return
    if first.hardware.cores_per_node.value != second.hardware.cores_per_node.value:
        yield ("gateway", "network"), "its nodes have another number of cores; write the same 'hardware.cores_per_node' in both"
    differ = [key for key in SHARED if _value(getattr(first.ni, key)) != _value(getattr(second.ni, key))]
    if differ:
        yield (
            ("gateway", "network"),
            f"its 'ni' differs in {', '.join(differ)}, on which both ends of a message agree; write the same values in both machines",
        )


def _nodes(gateway: Gateway, first: MachineFile, second: MachineFile) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for side, model in enumerate((first, second)):
        nodes, seen = node_count(model), set[int]()
        for number, pair in enumerate(gateway.nodes):
            path, whose = ("gateway", "nodes", number, side), ("this machine", "the other machine")[side]
            if pair[side] >= nodes:
                yield path, f"{whose} has no node {pair[side]}; give a number from 0 to {nodes - 1}"
            elif pair[side] in seen:
                yield path, f"node {pair[side]} of {whose} is in another gateway; give each gateway nodes of its own"
            seen.add(pair[side])


def _value(given: Any) -> Any:
    return getattr(given, "value", given)


def names(gateway: Gateway) -> list[str]:
    """What stands before the names of the nodes of each network."""
    return list(gateway.names or ("first", "second"))


def gateway_nodes(gateway: Gateway, first_nodes: int) -> frozenset[int]:
    """The nodes of the whole machine on which no rank runs."""
    return frozenset(node for here, there in gateway.nodes for node in (here, first_nodes + there))


def joined(first: Mapping[str, Any], second: Mapping[str, Any], gateway: Gateway, resolved: Mapping[str, Any]) -> dict[str, Any]:
    """Both resolved descriptions as one; `resolved` is the section of the gateways as the simulator takes it."""
    prefix = names(gateway)
    networks = [{key: each[key] for key in ("router", "links")} for each in (first, second)]
    links = [{**link, "name": f"{name}:{link['name']}"} for name, each in zip(prefix, networks, strict=True) for link in each["links"]]
    passing = {"name": "gateway", "word_bits": _WORD_BITS, "word_time_ps": max(1, round(_WORD_BITS * 10**12 / gateway.rate.value)),
               "pause_every": 0, "framing_words": 0, "latency_ps": 0}  # fmt: skip
    topology = {
        "kind": "bridged",
        "shape": [],
        "networks": [first["topology"], second["topology"]],
        "network_names": prefix,
        "gateways": [list(pair) for pair in gateway.nodes],
    }
    return {
        **{key: value for key, value in first.items() if key != "power"},
        "topology": topology,
        "links": [*links, passing],
        "networks": networks,
        "ni": {**first["ni"], "networks": [first["ni"], second["ni"]], "gateway": dict(resolved)},
    }
