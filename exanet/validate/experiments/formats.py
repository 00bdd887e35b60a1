# SPDX-License-Identifier: Apache-2.0
"""Packets, FIFOs, addresses and routes: widths of the formats and parameters of the gateware, and what machines have
of both."""

from __future__ import annotations

import itertools
import re

from exanet import _core
from exanet.karma.layouts import LAYOUTS
from exanet.validate.experiments.bare_packets import ONE_HOP, TWO_HOPS, one_way_ns
from exanet.validate.registry import Measured, experiment
from exanet.validate.runner import RunFailed, Runner

_ISLANDS = 16
_MACHINE, _FURTHER = "exanest", "torus-512"
_ROUTER, _PACKAGE = "router/rtl/exanet_router.sv", "common/rtl/exanet_pkg.sv"
_CLASSES = 2
"""Bulk and priority, each with its queues of headers."""


def _source(runner: Runner, path: str) -> str:
    return (runner.gateware() / path).read_text(encoding="utf-8")


def _parameter(runner: Runner, path: str, name: str) -> int:
    """A whole number that the gateware's source has for a parameter."""
    found = re.search(rf"param(?:eter)? int unsigned\s+{name}\s*=\s*(\d+)", _source(runner, path))
    if found is None:
        raise RunFailed(f"gateware/{path} has no parameter {name}")
    return int(found[1])


def _bits(layout: str, *fields: str) -> int:
    """Of a format, or of some of its fields."""
    width, where = LAYOUTS[layout]
    return sum(where[field][1] for field in fields) if fields else width


def _alike(what: str, first: int, second: int) -> int:
    """A figure that the gateware and a machine have both."""
    if first != second:
        raise RunFailed(f"{what}: the gateware has {first}, the machine {second}")
    return first


@experiment("K01", kind="structural")
def packet(runner: Runner) -> Measured:
    """Widths of header and footer, and the largest payloads of the machine exanest and of the gateware."""
    router = runner.machine(_MACHINE).resolve()["router"]
    words = {part: router[f"{part}_words"] * router["word_bits"] for part in ("header", "footer")}
    ends = [_alike(f"bits of a {part}", _bits(part), bits) // 8 for part, bits in words.items()]
    most = _parameter(runner, _PACKAGE, "MaxPayloadWords") * _parameter(runner, _PACKAGE, "WordBits") // 8
    return Measured((*ends, router["max_payload_bytes"], most), f"payload of {_MACHINE} and of the gateware's largest packet")


@experiment("K02", kind="structural")
def fifos(runner: Runner) -> Measured:
    """Parameters of the gateware's router, summed over channels and classes, and those of the machine exanest."""
    router = runner.machine(_MACHINE).resolve()["router"]
    channels = _parameter(runner, _PACKAGE, "VirtualChannels")
    depth = {name: _parameter(runner, _ROUTER, name) for name in ("HeaderDepth", "IntraDepth", "PayloadDepth")}
    headers = _alike("FIFO of headers", channels * _CLASSES * depth["HeaderDepth"], router["header_fifo_words"])
    local = _alike("FIFO of a local port", depth["IntraDepth"], router["intra_fifo_words"])
    link = _alike("FIFO of a link port", channels * depth["PayloadDepth"], router["inter_fifo_words"])
    kib = " and ".join(f"{words * router['word_bits'] // 8192} KiB" for words in (headers, local, link))
    return Measured((headers, local, link), f"the gateware's router and machines/{_MACHINE}.yaml; {kib}")


@experiment("K03", kind="structural")
def clock(runner: Runner) -> Measured:
    """The clock at which the gateware's link words fill the machine's links, and the machine's own."""
    machine = runner.machine("trenz-2x2")
    link, router = machine.model.links["link"], machine.model.router
    mhz = link.rate.value / _parameter(runner, _PACKAGE, "LinkBits") / 1e6
    own = router.clock.value / 1e6
    if mhz != own:
        raise RunFailed(f"words of a link take {mhz:g} MHz, the routers have {own:g}")
    return Measured(mhz, f"{link.rate.value / 1e9:g} Gb/s of links by words of {_bits('control')} bits; the router's clock is the same")


@experiment("K15", kind="structural")
def reliability(runner: Runner) -> Measured:
    """Check bits of header and footer, and the words with which the gateware's links control each other."""
    ecc, crc = _bits("header", "ecc"), _bits("footer", "crc32")
    kinds = re.findall(r"ControlKind(\w+) =", _source(runner, _PACKAGE))
    return Measured(
        crc,
        f"{ecc} check bits of the header, a CRC of {crc} bits in the footer; control words of links are {', '.join(kinds)}, so no link "
        "acknowledges a packet or asks for it again. The header's bits detect errors and correct none",
        holds=ecc > 0 and crc == 32 and set(kinds) == {"Reserved", "Start", "Credit"},
        text=f"{ecc} bits and CRC-{crc}, no acknowledgement",
    )


@experiment("K16", kind="structural")
def routing(runner: Runner) -> Measured:
    """The order of a route's hops on a torus, and whether a hop takes a long packet as long as a short one."""
    machine = runner.machine(_FURTHER)
    channels = _alike("virtual channels", _parameter(runner, _PACKAGE, "VirtualChannels"), machine.resolve()["router"]["virtual_channels"])
    x, y, _ = machine.model.topology.shape.value
    route = _core.route(machine.resolve(), 0, 1 + x * (1 + y))
    names = {1: "X", x: "Y", x * y: "Z"}
    order = "".join(names.get(b - a, "?") for a, b in itertools.pairwise(route))
    near, far = one_way_ns(runner, ONE_HOP), one_way_ns(runner, TWO_HOPS)
    hops = {size: far[size] - near[size] for size in (8, 256)}
    through = abs(hops[256] - hops[8]) < 0.05 * hops[8]
    return Measured(
        channels,
        f"a route over three dimensions of {_FURTHER} passes them as {order}; a further hop on trenz-2x2 takes {hops[8]:.1f} ns with 8 B "
        f"and {hops[256]:.1f} with 256 B, so that a packet is not stored before it goes on",
        holds=channels == 2 and order == "ZYX" and through,
        text=f"{channels}, {' before '.join(order)}, {'cut-through' if through else 'store and forward'}",
        data={"route": route, "hop_ns": hops},
    )


@experiment("E11", kind="bound")
def remote_window(runner: Runner) -> Measured:
    """Memory of 16 nodes that the addresses of a packet reach."""
    gigabytes = _ISLANDS * (1 << _bits("header", "dmadd")) / 10**9
    nodes = 1 << _bits("header", "dcid")
    return Measured(
        gigabytes,
        f"{_bits('header', 'dmadd')} bits of address at each of {_ISLANDS} nodes, of {nodes} that a packet can name",
        holds=gigabytes >= 448 and nodes >= _ISLANDS,
        text=f"{gigabytes:.0f} GB",
    )


@experiment("R56", kind="bound")
def nodes_of_a_network(runner: Runner) -> Measured:
    """Nodes that the address in a packet's header can name."""
    nodes = 1 << _bits("header", "dcid")
    return Measured(nodes, f"{_bits('header', 'dcid')} bits of a header name the node; R55 simulates 114,582", holds=nodes >= 65536)


def _ceiling(runner: Runner, payload_bytes: int) -> float:
    """The share of payload in a packet's words, in percent."""
    router = runner.machine(_MACHINE).resolve()["router"]
    words = payload_bytes * 8 // router["word_bits"]
    return float(100 * words / (words + router["header_words"] + router["footer_words"]))


@experiment("D01", kind="structural")
def router_ceiling(runner: Runner) -> Measured:
    """Words of the gateware's largest packet."""
    payload = _parameter(runner, _PACKAGE, "MaxPayloadWords") * _parameter(runner, _PACKAGE, "WordBits") // 8
    return Measured(_ceiling(runner, payload), f"{payload} B between header and footer of machines/{_MACHINE}.yaml; K10 measures it")


@experiment("D02", kind="structural")
def router_ceiling_small(runner: Runner) -> Measured:
    """Words of the machine's largest packet."""
    payload = runner.machine(_MACHINE).resolve()["router"]["max_payload_bytes"]
    return Measured(_ceiling(runner, payload), f"{payload} B, the largest payload of machines/{_MACHINE}.yaml")


@experiment("R19", kind="structural")
def correcting_code(runner: Runner) -> Measured:
    """What the decoder of gateware/ethernet takes and gives in the steps of a codeword, in symbols of its field."""
    decoder, steps = _source(runner, "ethernet/rtl/eth_fec_decoder.sv"), _source(runner, "ethernet/rtl/eth_fec_syndromes.sv")
    lanes = re.search(r"logic \[(\d+):0\]\[(\d+):0\] lanes_i", decoder)
    chunk = re.search(r"logic \[(\d+):0\] +chunk_o", decoder)
    last = re.search(r"at_o == 4'd(\d+) \? '0", steps)
    field = re.search(r"typedef logic \[(\d+):0\] symbol_t", _source(runner, "ethernet/rtl/eth_fec_pkg.sv"))
    if lanes is None or chunk is None or last is None or field is None:
        raise RunFailed("gateware/ethernet has no decoder whose widths can be read")
    symbol, number = int(field[1]) + 1, int(last[1]) + 1
    codeword = (int(lanes[1]) + 1) * (int(lanes[2]) + 1) * number // symbol
    message = (int(chunk[1]) + 1) * number // symbol
    return Measured(
        codeword,
        f"{codeword} symbols of {symbol} bits go into the decoder of gateware/ethernet and {message} come out; "
        f"its tests correct {(codeword - message) // 2}",
        holds=(codeword, message, symbol) == (528, 514, 10),
        text=f"RS({codeword},{message})",
    )
