# SPDX-License-Identifier: Apache-2.0
"""`exanet run --fabric gateware`: can this machine's network be Verilated, and the library of nodes that it takes.

Source of the limits: gateware/router, gateware/link and the lines between them (gateware/node/model).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from exanet.errors import InputError

FABRICS = ("model", "gateware")

MOST_NODES = 128
"""The ExaNeSt prototype's. Each takes microseconds of processor time a cycle when its links are busy."""

_WORD_BITS, _LATENCY, _CHANNELS, _MOST_PAYLOAD = 128, 4, 2, 512
_CLASSES = 2  # bulk and priority, each with queues of its own
_FRAMING = {64: 2, 128: 1}  # words that frame a packet, by the bits of a line word
_MOST_DIMENSIONS, _MOST_INTRA = 3, 4
_QFDB, _QFDB_NODES, _QFDB_NODE_BITS = "qfdb-torus", 4, 2


def check(config: dict[str, Any], machine: str) -> None:
    """Raises InputError when the gateware cannot be the network of the machine of that resolved description; every
    reason is listed."""
    problems = list(_problems(config))
    if problems:
        raise InputError([f"--fabric gateware: {machine}: {problem}" for problem in problems])


def check_threads(threads: int, fabric: str) -> None:
    """Raises InputError when so many threads cannot step Verilated nodes, or there are none to step."""
    if not 1 <= threads <= MOST_NODES:
        raise InputError(f"--fabric-threads {threads}: give a whole number from 1 to {MOST_NODES}")
    if threads > 1 and fabric != "gateware":
        raise InputError(f"--fabric-threads {threads}: the threads of Verilated nodes; give --fabric gateware, or leave it out")


def library(config: dict[str, Any]) -> Path:
    """The library of Verilated nodes for a machine that passed check(); built when there is none yet.

    Raises InputError when a tool is missing or the build fails.
    """
    from exanet.gateware import build

    router, qfdb, dimensions = config["router"], config["topology"]["kind"] == _QFDB, _dimensions(config["topology"])
    both = {
        "PayloadDepth": router["inter_fifo_words"] // _CHANNELS,
        "HeaderDepth": router["header_fifo_words"] // (_CHANNELS * _CLASSES),
        "MostWords": -(-router["max_payload_bytes"] * 8 // _WORD_BITS),
    }
    parameters = {
        "InterPorts": 2 * dimensions + (_QFDB_NODES - 1 if qfdb else 0),
        "IntraPorts": router["intra_ports"],
        "Dimensions": dimensions,
        "Qfdb": int(qfdb),
        "IntraDepth": router["intra_fifo_words"],
        "IntraHeaders": router["header_fifo_words"] // _CLASSES,
    }
    tops = {"exanet_router": both | parameters, "exanet_link": both | {"LineBits": config["links"][0]["word_bits"]}}
    interfaces, untrained = has_interfaces(config), "EXANET_UNTRAINED" in os.environ
    if interfaces:
        depths = {key: parameters[key] for key in ("IntraDepth", "IntraHeaders")}
        tops["node_interfaces"] = depths | {"NodeBits": _QFDB_NODE_BITS if qfdb else 0}
    recipe = build.Recipe(
        tops=tops,
        wrapper=["gateware/node/model/node_library.cpp"],
        defines=[
            f"EXANET_INTRA_PORTS={router['intra_ports']}",
            f"EXANET_QFDB={int(qfdb)}",
            f"EXANET_PACKET_BYTES={router['max_payload_bytes']}",
            f"EXANET_INTERFACES={int(interfaces)}",
        ],
        sources=[f"gateware/node/model/node_interfaces.{end}" for end in ("vlt", "sv")] if interfaces else (),
        training="" if untrained or interfaces else "gateware/node/model/train.cpp",
        optimisation="-O1" if untrained else "-O2",
    )
    return build.library(f"nodes-{'ni-' if interfaces else ''}{'qfdb-' if qfdb else ''}{dimensions}d", recipe)


def has_interfaces(config: dict[str, Any]) -> bool:
    """Whether the nodes are Verilated with their network interfaces: where the machine has all of these in the
    gateware's cycles."""
    return all(config["ni"].get(part) == "gateware" for part in ("messages", "transfers", "reductions"))


def _dimensions(topology: dict[str, Any]) -> int:
    """Dimensions that the router is built for: of QFDBs those up to the last one that has links, one at least."""
    shape = topology["shape"]
    if topology["kind"] != _QFDB:
        return len(shape)
    return max([d + 1 for d, side in enumerate(shape) if side > 1], default=1)


def _problems(config: dict[str, Any]) -> Iterator[str]:
    """Parts of the machine that the gateware cannot be, each with what to do."""
    kind, shape, router = config["topology"]["kind"], config["topology"]["shape"], config["router"]
    if "switch" in router:
        yield "its routers are ExaNet's, not input-queued switches; take --fabric model"
    if config["topology"].get("routing", "minimal") != "minimal" or config["topology"].get("failed"):
        yield "its routers know dimension order alone; take --fabric model, or leave routing and failures out"
    if kind not in ("mesh", "torus", _QFDB):
        yield f"its routers support meshes, tori and tori of QFDBs, not a {kind}; take --fabric model, or a machine like torus-2x2x2"
        return
    nodes = _QFDB_NODES if kind == _QFDB else 1
    for side in shape:
        nodes *= side
    if len(shape) > _MOST_DIMENSIONS:
        yield f"a shape of {len(shape)} dimensions; its routers know {_MOST_DIMENSIONS}"
    if nodes > MOST_NODES:
        yield f"{nodes} nodes; Verilated ones are too slow beyond {MOST_NODES}: take --fabric model, or a smaller shape"
    fixed = {
        "word_bits": _WORD_BITS, "header_words": 1, "footer_words": 1, "latency_cycles": _LATENCY, "virtual_channels": _CHANNELS,
    }  # fmt: skip
    yield from (f"router.{key} is {router[key]}; the gateware's is {value}" for key, value in fixed.items() if router[key] != value)
    for key in ("input_gap", "output_gap"):
        if cycles := router.get(f"{key}_cycles"):
            yield f"router.{key} is {cycles} cycles; the gateware has none, take it out"
    if router["max_payload_bytes"] > _MOST_PAYLOAD:
        yield f"router.max_payload is {router['max_payload_bytes']} B; the gateware's packets carry up to {_MOST_PAYLOAD} B"
    if router["intra_ports"] > _MOST_INTRA:
        yield f"router.intra_ports is {router['intra_ports']}; the gateware's router has up to {_MOST_INTRA}"
    for key, least in (("intra_fifo_words", 2), ("inter_fifo_words", 4), ("header_fifo_words", 2 * _CHANNELS * _CLASSES)):
        if router[key] & (router[key] - 1) or router[key] < least:
            yield f"router.{key} is {router[key]}; the gateware's FIFOs have a power of two, at least {least}"
    if has_interfaces(config) and config["ni"].get("pages_bytes"):
        yield "ni.pages: Verilated interfaces have physical addresses here; take --fabric model, or leave pages out"
    if config["ni"]["clock_ps"] != router["cycle_ps"]:
        yield "ni.clock is not the router's, at whose edges the gateware takes packets; give it the same value as router.clock"
    for link in config["links"]:
        yield from _link_problems(link, router["cycle_ps"])
    if len({link["word_bits"] for link in config["links"]}) > 1:
        yield "its links have words of several widths; the gateware's are all of one"


def _link_problems(link: dict[str, Any], cycle_ps: int) -> Iterator[str]:
    name = f"links.{link['name']}"
    framing = _FRAMING.get(link["word_bits"])
    if framing is None or link["word_time_ps"] != cycle_ps:
        yield f"{name}: the gateware's links carry 64 bit or 128 bit in each cycle of the router ({cycle_ps} ps)"
    elif link["framing_words"] != framing:
        yield f"{name}.framing is {link['framing_words']}; the gateware frames a packet with {framing} of {link['word_bits']} bit"
    if link["latency_ps"] % cycle_ps:
        below, above = (whole / 1000 for whole in _neighbours(link["latency_ps"], cycle_ps))
        yield (
            f"{name}.latency is {link['latency_ps'] / 1000:g} ns, no whole number of the router's cycles; "
            f"make it {below:g} ns or {above:g} ns, or take a machine like torus-2x2x2 or exanest-blade"
        )


def _neighbours(value: int, step: int) -> tuple[int, int]:
    return value // step * step, (value // step + 1) * step
