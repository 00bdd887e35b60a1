# SPDX-License-Identifier: Apache-2.0
"""Accepted throughput and zero-load latency of wormhole routers beside BookSim2's, where the routers are alike:
docs/booksim.md.

    python bench/booksim.py [--booksim PROGRAM]

Prints a table in Markdown. Without a BookSim (`booksim` on the PATH, or --booksim) its columns stay empty. Both sides:
packets of 16 flits, 2 virtual channels of 32 flits (3 of 256 on the dragonfly), three stages before the crossbar, a
cycle on the crossbar and one on the channel. Permutations are handed to both as BookSim defines them. The last of three
columns is our figure as BookSim counts it: `counted`.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exanet import machine, sim

FLITS, DEPTH, STAGES, CYCLE_PS = 16, 32, 3, 1000
LOW, HIGH = 0.01, 1.0
Destination = Callable[[int], int]


@dataclass(frozen=True)
class Network:
    name: str
    kind: str
    shape: list[int]
    theirs: dict[str, Any]  # BookSim's settings of it
    patterns: dict[str, Destination | None]  # by BookSim's name; None: uniform
    channels: int = 2
    routing: str = ""
    depth: int = DEPTH
    latency: list[int] = field(default_factory=lambda: [1])  # of each of our kinds of links, in cycles
    kinds: list[str] = field(default_factory=list)  # beside those of the topology
    place: Destination = lambda endpoint: endpoint  # our number of BookSim's endpoint


def transpose(endpoint: int) -> int:
    return endpoint % 8 * 8 + endpoint // 8


def tornado(radix: int, digits: int) -> Destination:
    """Just short of half way round in each digit of the endpoint's number."""

    def destination(endpoint: int) -> int:
        to = 0
        for digit in range(digits):
            to += (endpoint // radix**digit + (radix + 1) // 2 - 1) % radix * radix**digit
        return to

    return destination


def quarter(endpoint: int) -> int:
    """BookSim's endpoints stand in an 8x8 array, the four of a router in a square of it; ours of a router follow
    each other."""
    x, y = endpoint % 8, endpoint // 8
    return (y // 2 * 4 + x // 2) * 4 + y % 2 * 2 + x % 2


GRID = {"uniform": None, "transpose": transpose, "tornado": tornado(8, 2)}
NETWORKS = [
    Network("8x8 torus", "torus", [8, 8], {"topology": "torus", "k": 8, "n": 2, "routing_function": "dim_order"}, GRID),
    Network("8x8 mesh", "mesh", [8, 8], {"topology": "mesh", "k": 8, "n": 2, "routing_function": "dim_order"}, GRID),
    Network(
        "4,3 fat tree", "fat-tree", [4, 4, 4], {"topology": "fattree", "k": 4, "n": 3, "routing_function": "nca"},
        {"uniform": None, "transpose": transpose, "tornado": tornado(4, 3)}, routing="spray",
    ),
    Network(
        "64-node flattened butterfly", "hyperx", [4, 4, 4],
        {"topology": "flatfly", "c": 4, "k": 4, "n": 2, "x": 4, "y": 4, "xr": 2, "yr": 2, "routing_function": "ran_min"},
        {"uniform": None, "transpose": transpose, "tornado": tornado(8, 2)}, place=quarter,
    ),
    Network(
        "72-node dragonfly", "dragonfly", [2], {"topology": "dragonflynew", "k": 2, "n": 1, "routing_function": "min"},
        {"uniform": None}, channels=3, depth=256, latency=[1, 10, 100], kinds=["host"],
    ),
]  # fmt: skip


def described(network: Network) -> dict[str, Any]:
    """The network as the simulator takes it."""
    made = machine.load("torus-512").resolve()
    switch = {
        "switching": "wormhole", "queues": "fifo", "arbitration": "round-robin", "flow_control": "credits", "buffer": "per-lane",
        "speed_up_percent": 100, "classes": 1,
    }  # fmt: skip
    made["router"] |= {
        "cycle_ps": CYCLE_PS, "latency_cycles": STAGES, "word_bits": 64, "header_words": 1, "footer_words": 0, "intra_fifo_words": 1024,
        "inter_fifo_words": network.depth * network.channels, "virtual_channels": network.channels, "vc_allocation": "occupancy",
        "switch": switch,
    }  # fmt: skip
    if network.kind not in ("torus", "mesh"):
        made["router"]["endpoint_latency_cycles"] = 1
    made["topology"] = {"kind": network.kind, "shape": network.shape, "routing": network.routing}
    if network.kinds:
        made["topology"]["link_kinds"] = network.kinds
    link = {"word_bits": 64, "framing_words": 0, "word_time_ps": CYCLE_PS, "pause_every": 0}
    made["links"] = [{"name": f"link{i}", **link, "latency_ps": cycles * CYCLE_PS} for i, cycles in enumerate(network.latency)]
    return made


def traffic(network: Network, pattern: str, endpoints: int) -> str:
    destination = network.patterns[pattern]
    if destination is None:
        return "uniform"
    ours = {network.place(src): network.place(destination(src)) for src in range(endpoints)}
    return "matrix:[" + "".join(f"{ours[src]} 1;" if ours[src] != src else ";" for src in range(endpoints)) + "]"


def ours(network: Network, pattern: str) -> tuple[float, float]:
    """Accepted flits a cycle and endpoint beyond saturation, and mean latency in cycles at the lowest load."""
    made = described(network)
    spec = sim.TrafficSpec(
        traffic(network, pattern, 72 if network.kind == "dragonfly" else 64), packet_bytes=(FLITS - 1) * 8, arrivals="bernoulli",
        warm_up_ps=15_000_000, measure_ps=30_000_000,
    )  # fmt: skip
    low, high = (sim.simulate(made, offered=load, spec=spec) for load in (LOW, HIGH))
    return high["accepted_load"], low["latency_ns"] * 1000 / CYCLE_PS


def counted(network: Network, pattern: str, accepted: float, latency: float) -> tuple[float, float]:
    """Our figures as BookSim's would be of the same network.

    There packets to their own sender go through its router, are taken as fast as they come, and count: one in as many
    as there are endpoints, or all of those whom a permutation maps to themselves. And latency begins and ends
    elsewhere: routers have channels of a cycle from and to their terminals, and a terminal reads in the cycle after.
    Ours begin in the router, or, where there are switches, in an endpoint of a cycle with a link like all others.
    """
    destination, endpoints = network.patterns[pattern], 72 if network.kind == "dragonfly" else 64
    own = 1 if destination is None else sum(destination(source) == source for source in range(endpoints))
    share = own / endpoints
    taken = accepted / (1 - share) if destination is None else (1 - share) * accepted + share
    apart = 3 if network.kind in ("torus", "mesh") else -3
    return taken, (1 - share) * (latency + apart) + share * (FLITS + 2 * STAGES)


def theirs(program: str, network: Network, pattern: str) -> tuple[float, float]:
    settings = {
        "num_vcs": network.channels, "vc_buf_size": network.depth, "packet_size": FLITS, "traffic": pattern, "injection_rate_uses_flits": 1,
        "sample_period": 5000, "max_samples": 6, "latency_thres": 1e12, "use_noc_latency": 0,
    } | network.theirs  # fmt: skip

    def run(load: float, kind: str) -> str:
        with tempfile.TemporaryDirectory(prefix="exanet-bench-") as folder:
            file = Path(folder) / "config"
            lines = settings | {"injection_rate": load, "sim_type": kind}
            file.write_text("".join(f"{key} = {value};\n" for key, value in lines.items()))
            return subprocess.run([program, file], capture_output=True, text=True, timeout=300, check=False).stdout

    def last(text: str, what: str) -> float:
        found = re.findall(rf"{what} average = ([0-9.e+-]+)", text)
        return float(found[-1]) if found else float("nan")

    return last(run(HIGH, "throughput"), "Accepted flit rate"), last(run(LOW, "latency"), "Packet latency")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--booksim", default=shutil.which("booksim"), help="the program (default: booksim on the PATH)")
    program = parser.parse_args().booksim
    if program and not shutil.which(program):
        parser.error(f"--booksim {program}: there is no such program; build booksim of booksim/booksim2, and name it")
    print("| network | traffic | accepted at load 1, BookSim2 | ours | counted | | latency in cycles, BookSim2 | ours | counted | |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for network in NETWORKS:
        for pattern in network.patterns:
            mine = ours(network, pattern)
            other = theirs(program, network, pattern) if program else (float("nan"),) * 2
            columns = zip(other, mine, counted(network, pattern, *mine), (".3f", ".1f"), strict=True)
            cells = [f"{o:{form}} | {m:{form}} | {c:{form}} | {c / o - 1:+.1%}" for o, m, c, form in columns]
            print(f"| {network.name} | {pattern} | {' | '.join(cells)} |".replace("+nan%", "").replace("nan", ""), flush=True)


if __name__ == "__main__":
    main()
