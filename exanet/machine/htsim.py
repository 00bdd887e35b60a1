# SPDX-License-Identifier: Apache-2.0
"""Machine files from topology files of htsim, the simulator of Ultra Ethernet: `exanet machines new NAME --from
FILE.topo`.

A file has `Nodes`, `Tiers` and `Podsize`, then a section for each `Tier`, 0 those switches to which endpoints are
linked: `Downlink_speed_Gbps`, `Radix_Down`, `Radix_Up`, `Downlink_Latency_ns`, `Switch_Latency_ns`, `Oversubscribed`,
`Bundle`, `Queue_Up`, `Queue_Down`. The network becomes a fat tree (`xgft`) of input-queued switches, with the queues,
marks and trimming that htsim has by default: queues of a bandwidth-delay product, marks from 20 to 80 % of it.

Limits: links of one rate and latency in both directions of a tier; no bundles, and no queues of own sizes.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path

from exanet.errors import InputError
from exanet.machine.located import Mark, printable

_LARGEST = 1 << 20  # bytes
_KEYS = ("downlink_speed_gbps", "radix_down", "radix_up", "downlink_latency_ns", "switch_latency_ns", "oversubscribed", "bundle")
_QUEUES = ("queue_up", "queue_down")
_PACKET_WORDS = 259  # of 4080 bytes and 64 of headers, near htsim's 4150 bytes
_PAYLOAD_WORDS = 255
_WORD_BYTES = 16
_CONTROL_BYTES = 64


@dataclass
class Tier:
    """A level of switches."""

    mark: Mark
    values: dict[str, int] = field(default_factory=dict)

    def __getitem__(self, key: str) -> int:
        if key not in self.values:
            raise InputError(self.mark.error(f"this tier has no {key}; add it"))
        return self.values[key]


@dataclass
class Topology:
    """What a file says."""

    mark: Mark
    header: dict[str, int]
    tiers: list[Tier]

    def shape(self) -> list[int]:
        """Children by level, then parents, as an xgft has them. Raises InputError on figures that do not fit."""
        tiers, nodes, pod = self.tiers, self.header["nodes"], self.header["podsize"]
        down = [tier["radix_down"] for tier in tiers]
        up = [tier["radix_up"] for tier in tiers[:-1]]
        if len(tiers) == 2 and pod != nodes:
            raise InputError(self.mark.error(f"Podsize {pod} of {nodes} nodes: with two tiers all nodes are one pod; make both the same"))
        self._divides("Podsize", pod, "Radix_Down of tier 0", down[0])
        self._divides("Nodes", nodes, "Podsize", pod)
        children = [down[0], pod // down[0]] + ([nodes // pod] if len(tiers) == 3 else [])
        for level in range(1, len(tiers)):
            if down[level] != children[level]:
                what = (
                    f"Radix_Down {down[level]}, but a switch of tier {level} has {children[level]} switches below it by Nodes and Podsize"
                )
                raise InputError(tiers[level].mark.error(f"{what}; make them the same (bundles are not built)"))
        return [*children, 1, *up]

    def _divides(self, what: str, number: int, by: str, divisor: int) -> None:
        if number % divisor:
            raise InputError(self.mark.error(f"{what} {number} is no multiple of {by}, {divisor}; change one of them"))

    def bandwidth_delay_packets(self) -> int:
        """Packets in flight on the longest path, as htsim counts them: both ways, with the time of a packet and of an
        acknowledgement on each link."""
        tiers = self.tiers
        one_way = 2 * sum(t["downlink_latency_ns"] for t in tiers) + sum(t.values.get("switch_latency_ns", 0) for t in tiers[:-1]) * 2
        one_way += tiers[-1].values.get("switch_latency_ns", 0)
        bytes_per_ns = tiers[0]["downlink_speed_gbps"] / 8
        packet = _PACKET_WORDS * _WORD_BYTES
        trip = 2 * one_way + 2 * len(tiers) * (packet + _CONTROL_BYTES) / bytes_per_ns
        return math.ceil(trip * bytes_per_ns / packet)


def read(file: Path) -> Topology:
    """The topology in `file`. Raises InputError, with file and line."""
    shown = printable(str(file))
    try:
        if file.stat().st_size > _LARGEST:
            raise InputError(Mark(shown).error("larger than 1 MiB; give a topology file of htsim"))
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise InputError(Mark(shown).error(f"cannot be read: {why}; give a topology file of htsim")) from None
    found = Topology(Mark(shown), {}, [])
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if words and not words[0].startswith("#"):
            _line(found, Mark(shown, number), words)
    for key in ("nodes", "tiers", "podsize"):
        if key not in found.header:
            raise InputError(found.mark.error(f"{key.capitalize()} is missing; add '{key.capitalize()} N'"))
    if found.header["tiers"] not in (2, 3) or len(found.tiers) != found.header["tiers"]:
        said = f"Tiers {found.header['tiers']}, with {len(found.tiers)} sections 'Tier N'"
        raise InputError(found.mark.error(f"{said}; give 2 or 3, and as many sections"))
    return found


def _line(found: Topology, mark: Mark, words: list[str]) -> None:
    key = words[0].lower()
    if len(words) != 2 or not re.fullmatch(r"\d{1,9}", words[1]):
        raise InputError(mark.error(f"'{' '.join(words)[:60]}': give a key and a whole number"))
    value = int(words[1])
    if key == "tier":
        if value != len(found.tiers):
            raise InputError(mark.error(f"Tier {value}; tiers come in order, so give Tier {len(found.tiers)}"))
        found.tiers.append(Tier(mark))
        return
    place = found.tiers[-1].values if found.tiers else found.header
    known = _KEYS if found.tiers else ("nodes", "tiers", "podsize")
    if key in _QUEUES:
        raise InputError(mark.error(f"{words[0]}: queues of own sizes are not built; leave it out"))
    if key not in known:
        raise InputError(mark.error(f"'{words[0][:40]}' is no key here; there are {', '.join(known)}"))
    if key in place:
        raise InputError(mark.error(f"{words[0]} comes twice; leave one out"))
    if key == "bundle" and value != 1:
        raise InputError(mark.error("bundles of links between two switches are not built; give Bundle 1"))
    if value == 0 and key not in ("switch_latency_ns", "downlink_latency_ns"):
        raise InputError(mark.error(f"{words[0]} 0; give at least 1"))
    place[key] = value


def machine_text(file: Path, name: str) -> str:
    """A machine file of this name with the network of a topology file. Raises InputError."""
    topology = read(file)
    shape, tiers, packets = topology.shape(), topology.tiers, topology.bandwidth_delay_packets()
    source = f"source: {printable(file.name)}, kind: chosen"
    latency = max(tier.values.get("switch_latency_ns", 0) for tier in tiers)
    kinds = [("link", tiers[1]), ("host", tiers[0]), *((f"level-{n + 1}", tier) for n, tier in enumerate(tiers[2:], 2))]
    links = "".join(_LINK.format(kind=kind, source=source, **tier.values) + (_WORDS if kind == "link" else "") for kind, tier in kinds)
    nodes = topology.header["nodes"]
    return _TEXT.format(
        name=name, file=printable(file.name), nodes=nodes, shape=shape, source=source, links=links,
        latency=f"{latency} ns" if latency else "2 cycles", limit=packets * _PAYLOAD_WORDS,
        kmin=math.ceil(0.2 * packets) * _PAYLOAD_WORDS, kmax=math.ceil(0.8 * packets) * _PAYLOAD_WORDS, packets=packets,
    )  # fmt: skip


_LINK = """\
  {kind}:
    rate: {{value: {downlink_speed_gbps} Gb/s, {source}}}
    latency: {{value: {downlink_latency_ns} ns, {source}}}
"""
_WORDS = """\
    word: 128 bit
    pause_every: 0
    framing: 0 words
"""
_TEXT = """\
# The network of {file}, a topology file of htsim, with queues as htsim has them by default: of a bandwidth-delay product,
# {packets} packets of 4144 bytes. Switches forward as soon as a header is there; htsim's store whole packets.
extends: torus-512
name: {name}
description: Fat tree of {nodes} nodes as in {file}
topology:
  kind: xgft
  shape: {{value: {shape}, {source}}}
  routing: spray
router:
  kind: input-queued
  clock: 1 GHz
  latency: {latency}
  endpoint_latency: 2 cycles
  word: 128 bit
  header: 3 words           # with the footer 64 bytes, as htsim's headers
  footer: 1 word
  max_payload: 4080 B
  intra_fifo: 1100 words    # two packets of each class: a source chooses what goes next as late as it can
  inter_fifo: 1000000 words # never full: queues end at their limit
  virtual_channels: 1
  queue_action: ecn-trim
  queue_limit: {limit} words
  queue_threshold: {kmin} words
  queue_threshold_max: {kmax} words
  marking_probability: 100 %
  switch:
    queues: virtual-output
    arbitration: round-robin
    flow_control: credits
    buffer: shared
    speed_up: 1000 %        # as a switch with queues at its outputs
    output_fifo: 520 words
    classes: 2
links:
{links}ni:
  congestion_control: nscc
  load_balancing: mixed
"""
